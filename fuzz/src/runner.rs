//! What must hold for any bytes that a command-line agent prints.

use junto_runner::{ClaudeParser, CliEvent, CodexParser, GeminiParser, Line, Lines, Parser};

/// Small, so that short inputs reach it.
const LINE: usize = 64 << 10;

/// Reads any bytes as what `claude` prints.
pub fn claude(data: &[u8]) {
    output(|| Box::new(ClaudeParser::new()), data);
}

/// Reads any bytes as what `codex` prints.
pub fn codex(data: &[u8]) {
    output(|| Box::new(CodexParser::new()), data);
}

/// Reads any bytes as what `gemini` prints.
pub fn gemini(data: &[u8]) {
    output(|| Box::new(GeminiParser::new()), data);
}

/// A parser never panics, ends what it begins, says no more than a small multiple of what it was told, and
/// does not care how the bytes are cut.
pub fn output(parser: impl Fn() -> Box<dyn Parser>, data: &[u8]) {
    let whole = events(parser(), data.len().max(1), data);
    assert_paired(&whole);
    let said: usize = whole.iter().map(size).sum();
    assert!(said <= 16 * data.len() + 4096, "{said} bytes of text come of {}", data.len());
    for cut in [1, 7] {
        let pieces = events(parser(), cut, data);
        assert_eq!(
            format!("{whole:?}"),
            format!("{pieces:?}"),
            "cutting into pieces of {cut} changed the events"
        );
    }
}

fn events(mut parser: Box<dyn Parser>, cut: usize, data: &[u8]) -> Vec<CliEvent> {
    let mut events = Vec::new();
    let mut lines = Lines::new(LINE);
    let mut take = |line: Line<'_>| {
        if let Line::Whole(line) = line {
            parser.line(line, &mut events);
        }
    };
    for piece in data.chunks(cut) {
        lines.push(piece, &mut take);
    }
    lines.finish(&mut take);
    parser.finish(&mut events);
    events
}

/// Every start has one end; no other text is open meanwhile, and its deltas join to it.
pub fn assert_paired(events: &[CliEvent]) {
    let mut open: Option<(&str, String)> = None;
    let mut running: Vec<&str> = Vec::new();
    for event in events {
        match (event, &mut open) {
            (CliEvent::TextStart, None) => open = Some(("text", String::new())),
            (CliEvent::ReasoningStart, None) => open = Some(("reasoning", String::new())),
            (CliEvent::TextDelta(more), Some(("text", joined)))
            | (CliEvent::ReasoningDelta(more), Some(("reasoning", joined))) => joined.push_str(more),
            (CliEvent::TextEnd(whole), Some(("text", joined)))
            | (CliEvent::ReasoningEnd(whole), Some(("reasoning", joined))) => {
                assert_eq!(whole, joined, "the deltas do not join to the whole");
                open = None;
            }
            (CliEvent::Abandoned, None) => {}
            (
                CliEvent::TextStart
                | CliEvent::TextDelta(_)
                | CliEvent::TextEnd(_)
                | CliEvent::ReasoningStart
                | CliEvent::ReasoningDelta(_)
                | CliEvent::ReasoningEnd(_)
                | CliEvent::Abandoned,
                open,
            ) => panic!("{event:?} while {open:?} is open, in {events:#?}"),
            (CliEvent::ToolStart(call), _) => {
                assert!(!running.contains(&call.id.as_str()), "{} begins twice", call.id);
                running.push(&call.id);
            }
            (CliEvent::ToolEnd { call_id, .. }, _) => {
                let at = running.iter().position(|id| id == call_id);
                running.remove(at.unwrap_or_else(|| panic!("{call_id} ends and has not begun")));
            }
            _ => {}
        }
    }
    assert_eq!(open, None, "a text has no end: {events:#?}");
    assert!(running.is_empty(), "tools have no end: {running:?}");
}

/// The text that an event brings.
fn size(event: &CliEvent) -> usize {
    match event {
        CliEvent::TextDelta(text)
        | CliEvent::TextEnd(text)
        | CliEvent::ReasoningDelta(text)
        | CliEvent::ReasoningEnd(text)
        | CliEvent::Progress(text)
        | CliEvent::Excuse(text) => text.len(),
        CliEvent::Session { id, model } => id.len() + model.as_ref().map_or(0, String::len),
        CliEvent::ToolStart(call) => call.id.len() + call.name.len() + call.raw_arguments.len(),
        CliEvent::ToolEnd { call_id, output, .. } => call_id.len() + output.len(),
        CliEvent::Plan(plan) => plan.steps.iter().map(|step| step.step.len()).sum(),
        CliEvent::Retry { error, .. } => error.message().len(),
        CliEvent::Warning { message, .. } => message.len(),
        CliEvent::Report(report) => report.text.len(),
        CliEvent::TextStart
        | CliEvent::ReasoningStart
        | CliEvent::Abandoned
        | CliEvent::Turn
        | CliEvent::Context(_) => 1,
    }
}
