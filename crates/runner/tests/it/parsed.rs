//! What a parser makes of a whole output, checked against its contract.

use junto_llm::{Cost, Usage, Usd};
use junto_runner::{ClaudeParser, CliEvent, CodexParser, GeminiParser, Line, Lines, Parser, Report, Verdict};

use crate::t0_fuzz::targets;

/// A kind of command: its name, and what makes a parser of its output.
pub(crate) type Kind = (&'static str, fn() -> Box<dyn Parser>);

pub(crate) const CLAUDE: Kind = ("claude", || Box::new(ClaudeParser::new()));
pub(crate) const CODEX: Kind = ("codex", || Box::new(CodexParser::new()));
pub(crate) const GEMINI: Kind = ("gemini", || Box::new(GeminiParser::new()));
pub(crate) const KINDS: [Kind; 3] = [CLAUDE, CODEX, GEMINI];

/// The events of an output.
#[track_caller]
pub(crate) fn parse((_, parser): Kind, output: &[u8]) -> Vec<CliEvent> {
    let events = parse_in_pieces(parser, &[output]);
    assert_paired(&events);
    events
}

/// The events of an output that comes in pieces.
pub(crate) fn parse_in_pieces(parser: fn() -> Box<dyn Parser>, pieces: &[&[u8]]) -> Vec<CliEvent> {
    let mut parser = parser();
    let mut events = Vec::new();
    let mut lines = Lines::new(junto_runner::LINE_LIMIT);
    let mut take = |line: Line<'_>| {
        if let Line::Whole(line) = line {
            parser.line(line, &mut events);
        }
    };
    for piece in pieces {
        lines.push(piece, &mut take);
    }
    lines.finish(&mut take);
    parser.finish(&mut events);
    events
}

/// Every start has one end, nothing else is open meanwhile, and the deltas join to the end.
#[track_caller]
pub(crate) fn assert_paired(events: &[CliEvent]) {
    targets::assert_paired(events);
}

/// Lines of JSON.
pub(crate) fn output(lines: &[serde_json::Value]) -> Vec<u8> {
    lines.iter().map(serde_json::Value::to_string).collect::<Vec<_>>().join("\n").into_bytes()
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
