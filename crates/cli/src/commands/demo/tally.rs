//! What an agent did, as it is shown: line by line while it works, and summed up in the end.

use std::collections::BTreeMap;
use std::time::Duration;

use junto::core::{Body, Event, Seq};
use junto::llm::{ToolCall, Usage};

/// How many characters of an argument or an output are shown.
const WIDTH: usize = 60;

/// What an agent did so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The tools it used, in the order in which it first did.
    tools: Vec<String>,
    /// Rounds of tool calls.
    rounds: u32,
    /// Whether a model has answered since the last call of a tool.
    answered: bool,
    /// What the model calls used together.
    usage: Usage,
    /// The calls under way, by their start.
    calls: BTreeMap<Seq, String>,
}

impl Tally {
    /// Takes note of an event; gives what there is to say of it.
    pub(super) fn take(&mut self, event: &Event) -> Option<String> {
        match &event.body {
            Body::Call { usage, .. } => {
                self.usage += usage;
                self.answered = true;
                None
            }
            Body::ToolCallStart { call, .. } => {
                self.rounds += u32::from(std::mem::take(&mut self.answered));
                if !self.tools.contains(&call.name) {
                    self.tools.push(call.name.clone());
                }
                self.calls.insert(event.seq, describe(call));
                None
            }
            Body::ToolCallEnd { of, name, output, is_error, .. } => {
                let call = of.and_then(|start| self.calls.remove(&start)).unwrap_or_else(|| name.clone());
                let word = if *is_error { "failed" } else { "ok" };
                Some(format!("{call}: {word}{}", last_line(&output.preview())))
            }
            Body::InputEnd { text, .. } => Some(text.preview().trim().to_owned()),
            Body::Error { error } => Some(format!("error: {}", error.message)),
            Body::Warning { message, .. } => Some(format!("warning: {message}")),
            _ => None,
        }
    }

    /// As a row of the table, below [`HEADS`].
    pub(super) fn row(&self, profile: &str, green: bool, time: Duration) -> Vec<String> {
        vec![
            profile.to_owned(),
            self.tools.join(" "),
            self.rounds.to_string(),
            format!("{} in, {} out", self.usage.input, self.usage.output),
            if green { "yes" } else { "no" }.to_owned(),
            format!("{} ms", time.as_millis()),
        ]
    }
}

/// What stands above the rows.
pub(super) const HEADS: [&str; 6] = ["PROFILE", "TOOLS USED", "ROUNDS", "TOKENS", "TESTS GREEN", "TIME"];

/// A tool call in a few words: the tool, and what it is used on.
fn describe(call: &ToolCall) -> String {
    let text = |name: &str| call.arguments.get(name)?.as_str().map(str::to_owned);
    let list = |name: &str| {
        let all: Vec<&str> =
            call.arguments.get(name)?.as_array()?.iter().filter_map(|v| v.as_str()).collect();
        Some(all.join(" "))
    };
    let patched = || {
        let patch = text("patch")?;
        let file = patch.lines().find_map(|line| line.strip_prefix("*** Update File: "))?;
        Some(file.to_owned())
    };
    let named = ["command", "file_path", "pattern", "path"].into_iter().find_map(text);
    let on = named.or_else(|| list("paths")).or_else(patched).unwrap_or_default();
    format!("{} {}", call.name, cut(&on)).trim_end().to_owned()
}

/// The last line that says something, which of what a tool says tells most. Notes in brackets, such as
/// the exit code, and marks of what is left out say nothing that is not known.
fn last_line(output: &str) -> String {
    let says = |line: &&str| !line.trim_start().starts_with('[') && line.contains(char::is_alphanumeric);
    let line = output.lines().rfind(says);
    line.map(|line| format!(", {}", cut(line.trim()))).unwrap_or_default()
}

fn cut(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(line)),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_in_a_few_words() {
        let check = |name: &str, arguments: &str, expected: &str| {
            assert_eq!(describe(&ToolCall::function("c", name, arguments)), expected);
        };
        check("shell", r#"{"command":"sh test.sh"}"#, "shell sh test.sh");
        check("edit_file", r#"{"file_path":"a.rs","old_string":"x"}"#, "edit_file a.rs");
        check("grep", r#"{"pattern":"x+","path":"src"}"#, "grep x+");
        check("read_many_files", r#"{"paths":["a","b"]}"#, "read_many_files a b");
        check(
            "apply_patch",
            r#"{"patch":"*** Begin Patch\n*** Update File: sum.sh\n"}"#,
            "apply_patch sum.sh",
        );
        check("update_plan", "{}", "update_plan");
        check("shell", "not json", "shell");
        check(
            "shell",
            &format!(r#"{{"command":"{}"}}"#, "é".repeat(61)),
            &format!("shell {}…", "é".repeat(60)),
        );
    }

    #[test]
    fn of_an_output_the_last_line_is_told() {
        for (output, expected) in
            [("", ""), ("\n \n", ""), ("a\nb\n\n", ", b"), (" a \n...\n[exit code 1]", ", a")]
        {
            assert_eq!(last_line(output), expected, "{output:?}");
        }
    }
}
