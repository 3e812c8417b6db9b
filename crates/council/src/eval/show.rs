//! Reports as tables, for a terminal and for a page.

use std::fmt::Write as _;

use super::report::{Lift, Report, Row};
use super::stats::{Rate, Shown};

/// A table, with words below it.
struct Section {
    title: &'static str,
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

/// The report as text in columns.
pub fn table(report: &Report) -> String {
    let mut text = String::new();
    for section in sections(report) {
        if !text.is_empty() {
            text.push('\n');
        }
        let lines: Vec<&Vec<String>> = std::iter::once(&section.heads).chain(&section.rows).collect();
        if !section.rows.is_empty() {
            text.push_str(&columns(&lines));
        }
        for note in &section.notes {
            let _ = writeln!(text, "{note}");
        }
    }
    text
}

/// The report as Markdown.
pub fn markdown(report: &Report) -> String {
    let mut text = String::from("# Evaluation\n");
    for section in sections(report) {
        let _ = write!(text, "\n## {}\n\n", section.title);
        if !section.rows.is_empty() {
            let line = |cells: &[String]| {
                let cells = cells.iter().map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>();
                format!("| {} |\n", cells.join(" | "))
            };
            text.push_str(&line(&section.heads));
            text.push_str(&line(&vec!["---".to_owned(); section.heads.len()]));
            for row in &section.rows {
                text.push_str(&line(row));
            }
        }
        for note in &section.notes {
            let _ = write!(text, "\n{note}\n");
        }
    }
    text
}

fn sections(report: &Report) -> Vec<Section> {
    let mut sections = vec![contenders(report)];
    if !report.lifts.is_empty() {
        sections.push(lifts(report));
    }
    sections.push(tasks(report));
    if !report.skipped.is_empty() {
        sections.push(skipped(report));
    }
    sections
}

fn owned(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|&cell| cell.to_owned()).collect()
}

fn contenders(report: &Report) -> Section {
    let heads = ["CONTENDER", "PASSED", "RATE", "95% INTERVAL", "$/RUN", "$/PASS", "TIME", "TOKENS/RUN"];
    let mut notes = Vec::new();
    if report.done < report.wanted {
        notes.push(format!("{} of {} runs are done.", report.done, report.wanted));
    }
    for row in report.contenders.iter().filter(|row| row.troubled > 0) {
        notes.push(format!(
            "{}: {} of its runs failed on the way or ran into a limit; they count as they were judged.",
            row.contender, row.troubled
        ));
    }
    Section {
        title: "Contenders",
        heads: owned(&heads),
        rows: report.contenders.iter().map(contender).collect(),
        notes,
    }
}

fn contender(row: &Row) -> Vec<String> {
    let of = |pass: Rate| format!("{}/{}", pass.passed, pass.of);
    let usd = match (row.usd_per_run, row.unknown_costs) {
        (Some(usd), _) => dollars(usd),
        (None, 0) => dash(),
        (None, unknown) => format!("unknown ({unknown})"),
    };
    vec![
        row.contender.clone(),
        row.pass.map_or_else(dash, of),
        row.pass.map_or_else(dash, |pass| percent(pass.rate)),
        row.pass.map_or_else(dash, |pass| format!("{} to {}", percent(pass.low), percent(pass.high))),
        usd,
        row.usd_per_pass.map_or_else(dash, dollars),
        row.seconds_median.map_or_else(dash, seconds),
        row.tokens_per_run.map_or_else(dash, |tokens| format!("{tokens:.0}")),
    ]
}

fn lifts(report: &Report) -> Section {
    let heads =
        ["COUNCIL", "AGAINST", "LIFT", "95% INTERVAL", "SHOWN", "POSSIBLE", "COST", "TIME", "DECIDED"];
    let rows = report.lifts.iter().map(|lift| council(lift, report)).collect();
    let notes = vec![
        "Lift: the council's rate less that of its best member, in points of a hundred, over the same tasks and \
         repetitions. Possible: how often one of the members alone would have passed."
            .to_owned(),
    ];
    Section { title: "Councils", heads: owned(&heads), rows, notes }
}

fn council(lift: &Lift, report: &Report) -> Vec<String> {
    let shown = match lift.shown {
        Shown::Better => "better",
        Shown::Worse => "worse",
        Shown::Nothing => "nothing",
    };
    let times = |times: Option<f64>| times.map_or_else(dash, |times| format!("{times:.1}x"));
    let decided = report.row(&lift.council).map(|row| row.deliberations).filter(|all| !all.is_empty());
    let decided = decided.map_or_else(dash, |all| {
        let parts = [
            (all.agreed, "agreed"),
            (all.selected, "selected"),
            (all.synthesized, "synthesized"),
            (all.alone, "alone"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        parts.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
    });
    vec![
        lift.council.clone(),
        lift.against.clone(),
        points(lift.difference.difference),
        format!("{} to {}", points(lift.difference.low), points(lift.difference.high)),
        shown.to_owned(),
        lift.possible.map_or_else(dash, |possible| percent(possible.rate)),
        times(lift.times_cost),
        times(lift.times_time),
        decided,
    ]
}

fn tasks(report: &Report) -> Section {
    let heads = ["TASK", "LANGUAGE"].map(str::to_owned).into_iter();
    let heads = heads.chain(report.contenders.iter().map(|row| row.contender.clone())).collect();
    let rows = report.tasks.iter().map(|task| {
        let cells = [task.task.clone(), task.language.clone().unwrap_or_else(dash)];
        let passed =
            task.passed.iter().map(|(passed, of)| if *of == 0 { dash() } else { format!("{passed}/{of}") });
        cells.into_iter().chain(passed).collect()
    });
    Section { title: "Tasks", heads, rows: rows.collect(), notes: Vec::new() }
}

fn skipped(report: &Report) -> Section {
    let rows = report.skipped.iter().map(|skipped| vec![skipped.task.clone(), skipped.why.clone()]).collect();
    Section { title: "Skipped", heads: owned(&["SKIPPED", "WHY"]), rows, notes: Vec::new() }
}

fn dash() -> String {
    "–".to_owned()
}

fn percent(part: f64) -> String {
    format!("{:.0}%", part * 100.0)
}

fn points(part: f64) -> String {
    format!("{:+.0}", part * 100.0)
}

fn dollars(usd: f64) -> String {
    if usd == 0.0 || usd >= 0.01 { format!("{usd:.3}") } else { format!("{usd:.6}") }
}

fn seconds(seconds: f64) -> String {
    if seconds < 100.0 { format!("{seconds:.1} s") } else { format!("{:.1} min", seconds / 60.0) }
}

/// Lines whose cells stand below each other.
fn columns(rows: &[&Vec<String>]) -> String {
    let count = rows.iter().map(|row| row.len()).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
