//! What a tool call changes in a text: shortly as it happens, and in whole for whoever is asked for leave.

use junto::llm::ToolCall;
use junto::patch::{Hunk, LastNewline, Line as PatchLine, Operation, Patch};
use serde_json::Value;

/// How many lines are shown.
const MOST: usize = 12;

const NO_NEWLINE: &str = "no newline at the end of the line above";

/// A line that goes or comes, or a word about others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands::run) enum Line {
    Removed(String),
    Added(String),
    /// Stays, and says where the others are.
    Kept(String),
    /// Where the lines are, or how they end.
    Place(String),
    /// What is done with which file, or how many lines are left out.
    Remark(String),
}

/// All that a call changes.
pub(in crate::commands::run) struct Whole {
    pub(in crate::commands::run) lines: Vec<Line>,
    /// The arguments that the lines tell completely.
    pub(in crate::commands::run) told: &'static [&'static str],
}

/// What a call changes, as its arguments tell; empty for calls that change nothing in a text, whatever
/// the tool's name is.
pub(super) fn of_call(call: &ToolCall) -> Vec<Line> {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    let patch = call.arguments.as_str().or(text("patch")).or(text("input"));
    let lines = if let Some(patch) = patch.and_then(read) {
        of_patch(&patch)
    } else if let (Some(old), Some(new)) = (text("old_string"), text("new_string")) {
        between(old, new)
    } else if let Some(edits) = call.arguments.get("edits").and_then(Value::as_array) {
        let edit = |edit: &Value| {
            Some(between(edit.get("old_string")?.as_str()?, edit.get("new_string")?.as_str()?))
        };
        edits.iter().filter_map(edit).flatten().collect()
    } else if let (Some(content), true) = (text("content"), text("file_path").is_some()) {
        of_text(content)
    } else {
        Vec::new()
    };
    shortened(lines)
}

/// The same uncut, as the tool itself takes it. How a tool of another name takes its arguments is not known: it has no
/// such lines.
pub(in crate::commands::run) fn whole(call: &ToolCall) -> Whole {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    let shown = match call.name.as_str() {
        "apply_patch" => match (call.arguments.as_str(), text("patch"), text("input")) {
            (Some(patch), ..) => read(patch).map(|patch| (of_patch(&patch), &[] as _)),
            (_, Some(patch), None) => read(patch).map(|patch| (of_patch(&patch), &["patch"] as _)),
            (_, None, Some(patch)) => read(patch).map(|patch| (of_patch(&patch), &["input"] as _)),
            _ => None,
        },
        "edit_file" | "Edit" | "replace" => text("old_string")
            .zip(text("new_string"))
            .map(|(old, new)| (between(old, new), &["old_string", "new_string"] as _)),
        "write_file" | "Write" => text("content").map(|content| (of_text(content), &["content"] as _)),
        _ => None,
    };
    match shown {
        Some((lines, told)) if !lines.is_empty() => Whole { lines, told },
        _ => Whole { lines: Vec::new(), told: &[] },
    }
}

/// A patch as the tool reads it; none if it does not.
fn read(patch: &str) -> Option<Patch> {
    Patch::parse(patch).ok().filter(|patch| !patch.operations.is_empty())
}

/// The lines of a text, each with the carriage return that it may end with.
fn lines(text: &str) -> impl Iterator<Item = String> {
    text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line).to_owned())
}

/// The lines of a text that comes as a whole.
fn of_text(text: &str) -> Vec<Line> {
    let mut all: Vec<Line> = lines(text).map(Line::Added).collect();
    if all.is_empty() {
        all.push(Line::Place("nothing in it".to_owned()));
    } else if !text.ends_with('\n') {
        all.push(Line::Place(NO_NEWLINE.to_owned()));
    }
    all
}

/// What is between two pieces of a text: those lines stay that both begin or end with.
fn between(old: &str, new: &str) -> Vec<Line> {
    // Where both end within a line, what follows in the file is the same.
    let plain = !old.is_empty() && !new.is_empty() && !old.ends_with('\n') && !new.ends_with('\n');
    let ended = |text: &str| !plain && !text.is_empty() && !text.ends_with('\n');
    let pieces = |text: &str| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
    let (mut before, mut after) = (pieces(old), pieces(new));
    let same = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let (rest, mut end) = (before.split_off(same), Vec::new());
    let (start, mut before, mut after) = (before, rest, after.split_off(same));
    while before.last().is_some() && before.last() == after.last() {
        end.extend(before.pop());
        after.pop();
    }
    end.reverse();
    let bare = |line: String| line.strip_suffix('\n').map(str::to_owned).unwrap_or(line);
    let mark = |marked: bool| marked.then(|| Line::Place(NO_NEWLINE.to_owned()));
    let (old_ends, new_ends) = (ended(old) && !before.is_empty(), ended(new) && !after.is_empty());
    let kept = start.into_iter().map(|line| Line::Kept(bare(line)));
    let removed = before.into_iter().map(|line| Line::Removed(bare(line))).chain(mark(old_ends));
    let added = after.into_iter().map(|line| Line::Added(bare(line))).chain(mark(new_ends));
    kept.chain(removed).chain(added).chain(end.into_iter().map(|line| Line::Kept(bare(line)))).collect()
}

/// Every operation of a patch. What the text of the patch looks like does not count: the tool does what was read.
fn of_patch(patch: &Patch) -> Vec<Line> {
    patch.operations.iter().flat_map(of_operation).collect()
}

fn of_operation(operation: &Operation) -> Vec<Line> {
    match operation {
        Operation::Add { path, text } => {
            [Line::Remark(format!("add the file: {path}"))].into_iter().chain(of_text(text)).collect()
        }
        Operation::Delete { path } => vec![Line::Remark(format!("delete the file: {path}"))],
        Operation::Update { path, moved_to, hunks } => {
            let head = match moved_to {
                Some(_) => format!("move the file: {path}"),
                None => format!("update the file: {path}"),
            };
            let target = moved_to.iter().map(|target| Line::Remark(format!("to: {target}")));
            let hunks = hunks.iter().zip(1..).flat_map(|(hunk, number)| of_hunk(hunk, number));
            [Line::Remark(head)].into_iter().chain(target).chain(hunks).collect()
        }
    }
}

fn of_hunk(hunk: &Hunk, number: usize) -> Vec<Line> {
    let mut lines: Vec<Line> =
        hunk.contexts.iter().map(|context| Line::Place(format!("after the line: {context}"))).collect();
    if hunk.at_end {
        lines.push(Line::Place("at the end of the file".to_owned()));
    }
    if lines.is_empty() && number > 1 {
        lines.push(Line::Place("and elsewhere in it".to_owned()));
    }
    lines.extend(hunk.lines.iter().map(|line| match line {
        PatchLine::Keep(text) => Line::Kept(text.clone()),
        PatchLine::Remove(text) => Line::Removed(text.clone()),
        PatchLine::Insert(text) => Line::Added(text.clone()),
    }));
    let end = match hunk.last_newline {
        LastNewline::AsBefore => None,
        LastNewline::Added => Some("a newline comes to the end of the file"),
        LastNewline::Dropped => Some("no newline at the end of the file"),
    };
    lines.extend(end.map(|end| Line::Place(end.to_owned())));
    lines
}

fn shortened(lines: Vec<Line>) -> Vec<Line> {
    let is_change = |line: &Line| !matches!(line, Line::Kept(_) | Line::Place(_));
    // The end of a line is no news where nobody is asked.
    let plain = |line: Line| match line {
        Line::Removed(text) => Line::Removed(text.trim_end_matches('\r').to_owned()),
        Line::Added(text) => Line::Added(text.trim_end_matches('\r').to_owned()),
        other => other,
    };
    let mut lines: Vec<Line> = lines.into_iter().filter(is_change).map(plain).collect();
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
                Line::Remark(text) | Line::Kept(text) | Line::Place(text) => text,
            })
            .collect()
    }

    fn uncut(name: &str, arguments: &Value) -> Vec<Line> {
        whole(&ToolCall::function("c", name, arguments.to_string())).lines
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
        assert_eq!(shown(&json!({"patch": patch})), ["update the file: a", "-c", "+d"]);
        assert_eq!(shown(&json!(patch)), ["update the file: a", "-c", "+d"]);
    }

    #[test]
    fn the_whole_has_where_it_is_and_how_lines_end() {
        let (removed, added) =
            (|text: &str| Line::Removed(text.into()), |text: &str| Line::Added(text.into()));
        let (kept, place) = (|text: &str| Line::Kept(text.into()), |text: &str| Line::Place(text.into()));
        let remark = |text: &str| Line::Remark(text.into());
        let patch = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@ fn\n b\n-c\n+d\n@@\n+e\n\\ No newline\n\
                     *** Add File: c\n  *** Delete File: v\n*** End Patch\n";
        assert_eq!(
            uncut("apply_patch", &json!({"patch": patch})),
            [
                remark("move the file: a"),
                remark("to: b"),
                place("after the line: fn"),
                kept("b"),
                removed("c"),
                added("d"),
                place("and elsewhere in it"),
                added("e"),
                place("no newline at the end of the file"),
                remark("add the file: c"),
                place("nothing in it"),
                remark("delete the file: v"),
            ]
        );
        let edit = |old: &str, new: &str| uncut("edit_file", &json!({"old_string": old, "new_string": new}));
        assert_eq!(edit("a\nb\nc", "a\nx\nc"), [kept("a"), removed("b"), added("x"), kept("c")]);
        assert_eq!(edit("a\r\nb\n", "a\nb\n"), [removed("a\r"), added("a"), kept("b")]);
        assert_eq!(edit("a\n", "a"), [removed("a"), added("a"), place(NO_NEWLINE)]);
        assert_eq!(edit("a", ""), [removed("a"), place(NO_NEWLINE)]);
        assert_eq!(edit("a\n", ""), [removed("a")]);
        let write = |content: &str| uncut("write_file", &json!({"content": content}));
        assert_eq!(write("a\r\nb"), [added("a\r"), added("b"), place(NO_NEWLINE)]);
        assert_eq!(write("a\n"), [added("a")]);
    }

    /// What another tool does with such arguments nobody knows here.
    #[test]
    fn the_whole_is_what_this_very_tool_takes() {
        let all = json!({"file_path": "f", "content": "c", "old_string": "a", "new_string": "b"});
        assert_eq!(uncut("write_file", &all)[0], Line::Added("c".to_owned()));
        assert_eq!(uncut("edit_file", &all)[0], Line::Removed("a".to_owned()));
        assert!(uncut("server__write", &all).is_empty());
        let patch = "*** Begin Patch\n*** Delete File: v\n*** End Patch";
        assert!(uncut("apply_patch", &json!({"patch": patch, "input": patch})).is_empty());
        assert!(uncut("apply_patch", &json!({"patch": "*** Begin Patch\n*** Delete File: v"})).is_empty());
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
