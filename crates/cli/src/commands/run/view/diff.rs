//! What a tool call changes in a text, shortly.

use junto::llm::ToolCall;
use serde_json::Value;

/// How many lines are shown.
const MOST: usize = 12;

/// A line that goes or comes, or a word about others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands::run) enum Line {
    Removed(String),
    Added(String),
    /// The file, or how many lines are left out.
    Remark(String),
}

/// What a call changes, as its arguments tell; empty for calls that change nothing in a text, whatever
/// the tool's name is.
pub(super) fn of_call(call: &ToolCall) -> Vec<Line> {
    shortened(whole(call))
}

/// The same, uncut.
pub(in crate::commands::run) fn whole(call: &ToolCall) -> Vec<Line> {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    let patch = call.arguments.as_str().or(text("patch")).or(text("input"));
    if let Some(patch) = patch.filter(|patch| patch.contains("*** Begin Patch")) {
        of_patch(patch)
    } else if let (Some(old), Some(new)) = (text("old_string"), text("new_string")) {
        between(old, new)
    } else if let Some(edits) = call.arguments.get("edits").and_then(Value::as_array) {
        let edit = |edit: &Value| {
            Some(between(edit.get("old_string")?.as_str()?, edit.get("new_string")?.as_str()?))
        };
        edits.iter().filter_map(edit).flatten().collect()
    } else if let (Some(content), true) = (text("content"), text("file_path").is_some()) {
        content.lines().map(|line| Line::Added(line.to_owned())).collect()
    } else {
        Vec::new()
    }
}

/// The lines that differ: those that both begin or end with are left out.
fn between(old: &str, new: &str) -> Vec<Line> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = |lines: &[&str]| lines.iter().skip(same).map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let (mut old, mut new) = (rest(&old), rest(&new));
    while old.last().is_some() && old.last() == new.last() {
        old.pop();
        new.pop();
    }
    old.into_iter().map(Line::Removed).chain(new.into_iter().map(Line::Added)).collect()
}

fn of_patch(patch: &str) -> Vec<Line> {
    let line = |line: &str| {
        if let Some(file) = line.strip_prefix("*** ") {
            let is_frame = ["Begin Patch", "End Patch", "End of File"].contains(&file.trim());
            return (!is_frame).then(|| Line::Remark(file.to_owned()));
        }
        let removed = line.strip_prefix('-').map(|text| Line::Removed(text.to_owned()));
        removed.or_else(|| line.strip_prefix('+').map(|text| Line::Added(text.to_owned())))
    };
    patch.lines().filter_map(line).collect()
}

fn shortened(mut lines: Vec<Line>) -> Vec<Line> {
    // A remark takes a line, too.
    if lines.len() > MOST + 1 {
        let more = lines.len() - MOST;
        lines.truncate(MOST);
        lines.push(Line::Remark(format!("… {more} more lines")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(arguments: &Value) -> Vec<String> {
        let call = ToolCall::function("c", "any", arguments.to_string());
        of_call(&call)
            .into_iter()
            .map(|line| match line {
                Line::Removed(text) => format!("-{text}"),
                Line::Added(text) => format!("+{text}"),
                Line::Remark(text) => text,
            })
            .collect()
    }

    #[test]
    fn edits_show_what_differs() {
        let check = |old: &str, new: &str, expected: &[&str]| {
            assert_eq!(shown(&json!({"file_path": "f", "old_string": old, "new_string": new})), expected);
        };
        check("a\nb\nc", "a\nx\ny\nc", &["-b", "+x", "+y"]);
        check("a", "", &["-a"]);
        check("", "a\nb", &["+a", "+b"]);
        check("a\na", "a", &["-a"]);
        check("a", "a", &[]);
    }

    #[test]
    fn patches_name_their_files() {
        let patch = "*** Begin Patch\n*** Update File: a\n@@ fn\n b\n-c\n+d\n*** End Patch\n";
        assert_eq!(shown(&json!({"patch": patch})), ["Update File: a", "-c", "+d"]);
        assert_eq!(shown(&json!(patch)), ["Update File: a", "-c", "+d"]);
    }

    #[test]
    fn other_forms_and_long_ones() {
        let edits = json!([{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]);
        assert_eq!(shown(&json!({"file_path": "f", "edits": edits})), ["-a", "+b", "-c", "+d"]);
        let content = "x\n".repeat(20);
        let written = shown(&json!({"file_path": "f", "content": content}));
        assert_eq!((written.len(), written.last().unwrap().as_str()), (13, "… 8 more lines"));
        assert!(shown(&json!({"command": "ls"})).is_empty());
    }
}
