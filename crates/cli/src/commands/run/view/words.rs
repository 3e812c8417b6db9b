//! Events in words, for one line each.

use std::collections::HashMap;
use std::time::Duration;

use junto::core::{AgentId, Body, Event, StepStatus};
use junto::llm::ToolCall;
use junto::patch::{Operation, Patch};

use crate::config::duration_text;
use crate::output::paint::fit;

/// The longest line about a tool call where there is no terminal.
pub(super) const WIDTH: usize = 100;
/// How many lines are shown of what a tool says.
const RESULT_LINES: usize = 2;
/// The arguments that say most of a call, the first that is there.
const MAIN: &[&str] = &["command", "cmd", "file_path", "path", "pattern", "query", "url", "question", "task"];

/// What a tool call is about, in one line.
pub(super) fn about(call: &ToolCall) -> String {
    let text = |name: &&str| match call.arguments.get(name)? {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(|word| word.as_str()).collect();
            words.map(|words| words.join(" "))
        }
        _ => None,
    };
    let whole = || match call.arguments.as_str() {
        Some(text) => text.to_owned(),
        None if call.arguments.as_object().is_some_and(serde_json::Map::is_empty) => String::new(),
        None => call.arguments.to_string(),
    };
    let patch = call.arguments.as_str().or(call.arguments.get("patch").and_then(serde_json::Value::as_str));
    let about = patch.and_then(patched).or_else(|| MAIN.iter().find_map(text)).unwrap_or_else(whole);
    first_line(&about)
}

/// The files that a patch names; none if it is no patch.
fn patched(patch: &str) -> Option<String> {
    let file = |operation: &Operation| match operation {
        Operation::Update { path, moved_to: Some(to), .. } => format!("{path} → {to}"),
        Operation::Add { path, .. } | Operation::Delete { path } | Operation::Update { path, .. } => {
            path.clone()
        }
    };
    let files: Vec<String> = Patch::parse(patch).ok()?.operations.iter().map(file).collect();
    (!files.is_empty()).then(|| files.join(", "))
}

/// What an event that is only told of says; none for others. How the agent's own inputs ended is told elsewhere; of a
/// child nobody else may tell it.
pub(super) fn told(event: &Event, own: bool) -> Option<Told> {
    Some(match &event.body {
        Body::SteeringInjected { input, .. } => Told::Note(format!("told: {}", first_line(&input.text))),
        Body::Configured { change } => {
            Told::Note(format!("from now on: {}", serde_json::to_string(change).unwrap_or_default()))
        }
        Body::Progress { text } => Told::Note(text.clone()),
        Body::Retry { attempt, delay_ms, error } => Told::Note(format!(
            "{}; trying again in {} (retry {attempt})",
            error.message,
            duration_text(Duration::from_millis(*delay_ms))
        )),
        Body::Compacted { tokens_before, tokens_after, .. } => Told::Note(format!(
            "the conversation was made shorter: about {tokens_after} tokens instead of {tokens_before}"
        )),
        Body::Error { error } if !own => Told::Warning(error.message.clone()),
        Body::TurnLimit { limit, .. } if !own => Told::Warning(format!("stopped at a limit: {limit}")),
        Body::LoopDetection { message, .. } | Body::Warning { message, .. } => Told::Warning(message.clone()),
        _ => return None,
    })
}

/// Something that a person is told.
pub(super) enum Told {
    /// As it is.
    Note(String),
    /// As a warning.
    Warning(String),
}

/// What stands before a step of a plan.
pub(super) fn tick_box(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Pending => "[ ]",
        StepStatus::InProgress => "[>]",
        StepStatus::Completed => "[x]",
    }
}

/// What children are called.
#[derive(Default)]
pub(super) struct Names(HashMap<AgentId, String>);

impl Names {
    /// Notes the name of a child that was started.
    pub(super) fn note(&mut self, event: &Event) {
        if let Body::Child { agent, name, .. } = &event.body
            && !name.is_empty()
        {
            self.0.insert(agent.clone(), name.clone());
        }
    }

    /// What its parent calls it, else the end of its id: ids that were made together differ there.
    pub(super) fn of<'a>(&'a self, agent: &'a AgentId) -> &'a str {
        let end = || agent.0.get(agent.0.len().saturating_sub(4)..).unwrap_or(&agent.0);
        self.0.get(agent).map_or_else(end, String::as_str)
    }
}

/// The first line that says something, and how many more there are.
pub(super) fn first_line(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = fit(lines.next().unwrap_or_default().trim(), WIDTH);
    match lines.count() {
        0 => first.into_owned(),
        1 => format!("{first} (and 1 more line)"),
        more => format!("{first} (and {more} more lines)"),
    }
}

/// The last lines that say something: of what a tool says, the end tells most.
pub(super) fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(RESULT_LINES);
    lines.into_iter().skip(from).map(|line| fit(line.trim_end(), WIDTH).into_owned()).collect()
}

/// The last line that is not a tool's own remark.
pub(super) fn last_words(text: &str) -> Option<&str> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('['))
}

/// A time as a person reads it: `0.3 s`, `2 m 05 s`.
pub(super) fn took(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{} m {:02} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_become_one_line() {
        let check = |text: &str, expected: &str| assert_eq!(first_line(text), expected);
        check("", "");
        check("\n  one\n", "one");
        check("one\n\ntwo", "one (and 1 more line)");
        check("one\ntwo\nthree", "one (and 2 more lines)");
        check(&"é".repeat(WIDTH), &"é".repeat(WIDTH));
        check(&"é".repeat(WIDTH + 1), &format!("{}…", "é".repeat(WIDTH - 1)));
        assert_eq!(last_lines("a\nb\n\n c\n"), ["b", " c"]);
        assert!(last_lines("").is_empty());
        assert_eq!(last_words("all pass\n\n[exit code 0]"), Some("all pass"));
        assert_eq!(last_words("[exit code 0]"), None);
    }

    #[test]
    fn calls_are_told_by_what_they_are_about() {
        let check = |arguments: &str, expected: &str| {
            assert_eq!(about(&ToolCall::function("c", "tool", arguments)), expected);
        };
        check(r#"{"timeout_ms":1,"command":"ls\ncat"}"#, "ls (and 1 more line)");
        check(r#"{"command":["bash","-lc","ls"]}"#, "bash -lc ls");
        check(r#"{"file_path":"a.rs","content":"x"}"#, "a.rs");
        check(r#"{"x":1}"#, r#"{"x":1}"#);
        check("{}", "");
        let patch = r#"{"patch":"*** Begin Patch\n*** Delete File: a\n *** Add File: b\n+y\n*** End Patch"}"#;
        check(patch, "a, b");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(took(Duration::from_millis(340)), "0.3 s");
        assert_eq!(took(Duration::from_secs(125)), "2 m 05 s");
    }
}
