//! Events written out for people, one a line.

use std::fmt::Write as _;

use junto_core::StepStatus;
use junto_llm::{Cost, Error, Usage};
use junto_runner::{CliEvent, ModelUse, Report, Used, Verdict};

/// All that events say, one a line; what belongs to a report is indented below it.
pub(crate) fn listing(events: &[CliEvent]) -> String {
    let mut text = String::new();
    for event in events {
        line(event, &mut text);
        text.push('\n');
    }
    text
}

fn line(event: &CliEvent, out: &mut String) {
    let written = match event {
        CliEvent::Session { id, model: None } => write!(out, "session {id}"),
        CliEvent::Session { id, model: Some(model) } => write!(out, "session {id} of {model}"),
        CliEvent::Turn => write!(out, "turn"),
        CliEvent::TextStart => write!(out, "text"),
        CliEvent::TextDelta(text) => write!(out, "text + {text:?}"),
        CliEvent::TextEnd(text) => write!(out, "text = {text:?}"),
        CliEvent::ReasoningStart => write!(out, "reasoning"),
        CliEvent::ReasoningDelta(text) => write!(out, "reasoning + {text:?}"),
        CliEvent::ReasoningEnd(text) => write!(out, "reasoning = {text:?}"),
        CliEvent::Abandoned => write!(out, "abandoned"),
        CliEvent::ToolStart(call) => write!(out, "tool {} {} {}", call.id, call.name, call.raw_arguments),
        CliEvent::ToolEnd { call_id, output, is_error } => {
            write!(out, "tool {call_id} {} {output:?}", if *is_error { "failed" } else { "answered" })
        }
        CliEvent::Plan(plan) => {
            let steps = plan.steps.iter().map(|step| match step.status {
                StepStatus::Pending => format!("[ ] {}", step.step),
                StepStatus::InProgress => format!("[.] {}", step.step),
                StepStatus::Completed => format!("[x] {}", step.step),
            });
            write!(out, "plan {}", steps.collect::<Vec<_>>().join(" "))
        }
        CliEvent::Context(tokens) => write!(out, "context {tokens}"),
        CliEvent::Progress(text) => write!(out, "progress {text:?}"),
        CliEvent::Retry { attempt, delay_ms, error } => {
            write!(out, "retry {attempt} in {delay_ms} ms: {}", failure(error))
        }
        CliEvent::Warning { code, message } => write!(out, "warning {code}: {message:?}"),
        CliEvent::Excuse(words) => write!(out, "excuse {words:?}"),
        CliEvent::Report(report) => {
            report_lines(report, out);
            Ok(())
        }
    };
    written.unwrap();
}

fn report_lines(report: &Report, out: &mut String) {
    let verdict = match &report.verdict {
        Verdict::Done => "done".to_owned(),
        Verdict::Limit(limit) => format!("at a limit: {limit:?}"),
        Verdict::Interrupted => "interrupted".to_owned(),
        Verdict::Failed(error) => format!("failed: {}", failure(error)),
    };
    let last = if report.last { " (last)" } else { "" };
    write!(out, "report{last} {verdict}\n    text {:?}", report.text).unwrap();
    if let Some(reason) = &report.stop_reason {
        write!(out, "\n    stopped by {reason}").unwrap();
    }
    match &report.used {
        Used::Turn(models) | Used::Part(models) => {
            for ModelUse { model, usage, cost } in models {
                write!(out, "\n    used {model}: {}, {}", tokens(usage), money(*cost)).unwrap();
            }
            if let Used::Part(_) = &report.used {
                write!(out, "\n    used beside that: untold").unwrap();
            }
        }
        Used::SessionTotal { usage, cost } => {
            let cost = cost.map_or(Cost::Unknown, Cost::Reported);
            write!(out, "\n    used by the session: {}, {}", tokens(usage), money(cost)).unwrap();
        }
        Used::Untold => write!(out, "\n    used: untold").unwrap(),
    }
}

fn failure(error: &Error) -> String {
    let status = error.status().map(|status| format!(" {status}")).unwrap_or_default();
    let class = error.class().map(|class| format!(" ({class})")).unwrap_or_default();
    let code = error.code().map(|code| format!(" {code}")).unwrap_or_default();
    format!("{}{class}{status}{code} {:?}", error.kind().as_str(), error.message())
}

fn tokens(usage: &Usage) -> String {
    let mut text = format!("{} in", usage.input);
    for (part, name) in [(usage.cache_read, "read from a cache"), (usage.cache_write, "written to a cache")] {
        if let Some(part) = part.filter(|part| *part > 0) {
            write!(text, " ({part} {name})").unwrap();
        }
    }
    write!(text, ", {} out", usage.output).unwrap();
    if let Some(reasoning) = usage.reasoning.filter(|reasoning| *reasoning > 0) {
        write!(text, " ({reasoning} reasoning)").unwrap();
    }
    text
}

fn money(cost: Cost) -> String {
    match cost {
        Cost::Reported(usd) => format!("{} nano-dollars", usd.0),
        Cost::Estimated(usd) => format!("about {} nano-dollars", usd.0),
        Cost::Unknown => "cost unknown".to_owned(),
    }
}
