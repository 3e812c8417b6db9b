//! What a parser makes of a whole output, checked against its contract.

use junto_llm::{Cost, Usage, Usd};
use junto_runner::{ClaudeParser, CliEvent, Line, Lines, Parser, Report, Verdict};

/// The events of an output.
#[track_caller]
pub(crate) fn parse(output: &[u8]) -> Vec<CliEvent> {
    let mut parser = ClaudeParser::new();
    let mut events = Vec::new();
    let mut lines = Lines::new(1 << 20);
    let mut take = |line: Line<'_>| {
        if let Line::Whole(line) = line {
            parser.line(line, &mut events);
        }
    };
    lines.push(output, &mut take);
    lines.finish(&mut take);
    parser.finish(&mut events);
    assert_paired(&events);
    events
}

/// Every start has one end, nothing else is open meanwhile, and the deltas join to the end.
#[track_caller]
pub(crate) fn assert_paired(events: &[CliEvent]) {
    let mut open: Option<(&str, String)> = None;
    for event in events {
        match (event, &mut open) {
            (CliEvent::TextStart, None) => open = Some(("text", String::new())),
            (CliEvent::ReasoningStart, None) => open = Some(("reasoning", String::new())),
            (CliEvent::TextDelta(more), Some(("text", joined)))
            | (CliEvent::ReasoningDelta(more), Some(("reasoning", joined))) => joined.push_str(more),
            (CliEvent::TextEnd(whole), Some(("text", joined)))
            | (CliEvent::ReasoningEnd(whole), Some(("reasoning", joined))) => {
                assert_eq!(whole, joined);
                open = None;
            }
            (
                CliEvent::TextStart
                | CliEvent::TextDelta(_)
                | CliEvent::TextEnd(_)
                | CliEvent::ReasoningStart
                | CliEvent::ReasoningDelta(_)
                | CliEvent::ReasoningEnd(_)
                | CliEvent::Abandoned,
                open @ (None | Some(_)),
            ) if !(matches!(event, CliEvent::Abandoned) && open.is_none()) => {
                panic!("{event:?} while {open:?} is open, in {events:#?}");
            }
            _ => {}
        }
    }
    assert_eq!(open, None, "{events:#?}");
}

pub(crate) fn reports(events: &[CliEvent]) -> Vec<&Report> {
    let reports = events.iter().filter_map(|event| match event {
        CliEvent::Report(report) => Some(report.as_ref()),
        _ => None,
    });
    reports.collect()
}

/// Everything that was used, and what it cost.
pub(crate) fn used(events: &[CliEvent]) -> (Usage, Cost) {
    let mut sum = (Usage::default(), Cost::Reported(Usd::ZERO));
    for used in reports(events).iter().flat_map(|report| report.used.since(None, true).unwrap_or_default()) {
        sum = (&sum.0 + &used.usage, sum.1 + used.cost);
    }
    sum
}

pub(crate) fn verdict(report: &Report) -> &'static str {
    match report.verdict {
        Verdict::Done => "done",
        Verdict::Limit(_) => "limit",
        Verdict::Interrupted => "interrupted",
        Verdict::Failed(_) => "failed",
    }
}

/// The events in short, for comparing.
pub(crate) fn short(events: &[CliEvent]) -> Vec<String> {
    let words = events.iter().map(|event| match event {
        CliEvent::Session { id, .. } => format!("session {id}"),
        CliEvent::Turn => "turn".to_owned(),
        CliEvent::TextStart | CliEvent::ReasoningStart => "(".to_owned(),
        CliEvent::TextDelta(text) | CliEvent::ReasoningDelta(text) => format!("+{text}"),
        CliEvent::TextEnd(text) | CliEvent::ReasoningEnd(text) => format!("){text}"),
        CliEvent::Abandoned => "abandoned".to_owned(),
        CliEvent::ToolStart(call) => format!("tool {} {}", call.name, call.raw_arguments),
        CliEvent::ToolEnd { output, is_error, .. } => {
            format!("{} {output}", if *is_error { "error" } else { "output" })
        }
        CliEvent::Plan(plan) => format!("plan {}", plan.steps.len()),
        CliEvent::Context(tokens) => format!("context {tokens}"),
        CliEvent::Progress(text) => format!("progress {text}"),
        CliEvent::Retry { attempt, error, .. } => format!("retry {attempt} {error}"),
        CliEvent::Warning { code, .. } => format!("warning {code}"),
        CliEvent::Excuse(words) => format!("excuse {words}"),
        CliEvent::Report(report) => format!("{} {}", verdict(report), report.text),
    });
    words.collect()
}
