//! Questions and answers in words.

use std::path::Path;

use junto::core::{Action, ApprovalRequest, Question, Reply};
use serde_json::Value;

use crate::commands::run::view::diff::{self, Line, Whole};
use crate::output::paint::visible;

/// A question as a person sees it, and what stands before the answer. Its words are the model's: nothing in there can
/// pass for a line of ours.
pub(super) fn in_words(question: &Question) -> (String, String) {
    let theirs = |text: &str| visible(text).replace('\n', "\n    | ");
    let options = (1..).zip(&question.options).map(|(n, option)| match &option.description {
        Some(description) => format!("\n    {n}. {}: {}", theirs(&option.label), theirs(description)),
        None => format!("\n    {n}. {}", theirs(&option.label)),
    });
    let how = match (question.options.is_empty(), question.several) {
        (true, _) => "",
        (false, false) => "a number, or ",
        (false, true) => "numbers with commas, or ",
    };
    let options: String = options.collect();
    let prompt = format!("Answer ({how}your own words; nothing to decline): ");
    (format!("The agent asks: {}{options}", theirs(&question.text)), prompt)
}

/// What a line says in answer to a question. Numbers stand for options.
pub(super) fn reply(question: &Question, line: &str) -> Reply {
    let line = line.trim();
    if line.is_empty() {
        return Reply::Declined { reason: None };
    }
    let option = |number: &str| {
        let number: usize = number.trim().parse().ok()?;
        question.options.get(number.checked_sub(1)?).map(|option| option.label.as_str())
    };
    let chosen: Option<Vec<&str>> = if question.several {
        line.split(',').map(option).collect()
    } else {
        option(line).map(|one| vec![one])
    };
    let text = chosen.map_or_else(|| line.to_owned(), |labels| labels.join(", "));
    Reply::Said { text }
}

/// What our own lines begin with.
const OURS: &[&str] = &["in", "reach", "read", "run", "write"];
/// How many letters beyond ASCII are named.
const MOST_LETTERS: usize = 8;

/// What is asked about, uncut and with nothing hidden: nobody shall allow what they have not seen.
pub(super) fn whole(request: &ApprovalRequest) -> String {
    let mut lines: Vec<String> = request.actions.iter().flat_map(action).collect();
    let Whole { lines: diff, told } = diff::whole(&request.call);
    let is_told = |name: &str, value: &Value| {
        told.contains(&name) || value.as_str().is_some_and(|text| is_in_actions(&request.actions, name, text))
    };
    // A name that could be taken for one of ours is set in quotes.
    let named = |name: &String| {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if plain && !OURS.contains(&name.as_str()) { name.clone() } else { format!("argument {name:?}") }
    };
    let arguments = request.call.arguments.as_object().into_iter().flatten();
    let untold = arguments.filter(|(name, value)| !is_told(name, value));
    lines.extend(untold.map(|(name, value)| match value.as_str() {
        Some(text) => format!("{}: {text}", named(name)),
        None => format!("{}: {value}", named(name)),
    }));
    // The input of a freeform tool.
    match &request.call.arguments {
        Value::String(text) if diff.is_empty() && !is_in_actions(&request.actions, "", text) => {
            lines.push(format!("input: {text}"));
        }
        Value::Object(_) | Value::String(_) | Value::Null => {}
        other => lines.push(format!("input: {other}")),
    }
    lines.extend(diff.into_iter().map(|line| match line {
        Line::Removed(text) => format!("- {text}"),
        Line::Added(text) => format!("+ {text}"),
        Line::Kept(text) => format!("  {text}"),
        Line::Place(text) => format!("@@ {text}"),
        Line::Remark(text) => format!("*** {text}"),
    }));
    if !request.reason.is_empty() {
        lines.push(format!("why you are asked: {}", request.reason));
    }
    let name = visible(&request.call.name).replace('\n', " ");
    // Set in, and deeper where one goes on, so that nothing in there can pass for a line of ours.
    let lines = lines.iter().map(|line| format!("\n    {}", visible(line).replace('\n', "\n        ")));
    format!("The agent wants to use {name}:{}", lines.collect::<String>())
}

/// Whether the actions tell an argument: a cell, a line, or the file.
fn is_in_actions(actions: &[Action], name: &str, value: &str) -> bool {
    actions.iter().any(|action| match action {
        Action::Code { code: text } | Action::Shell { line: text, .. } => text == value,
        Action::Read { path } | Action::Write { path } => {
            name == "file_path" && path.as_path().ends_with(Path::new(value))
        }
        _ => false,
    })
}

/// What would be done.
fn action(action: &Action) -> Vec<String> {
    match action {
        Action::Shell { line, cwd } => {
            let letters = letters_beyond_ascii(line);
            [format!("run: {line}"), format!("in: {cwd}")].into_iter().chain(letters).collect()
        }
        Action::Write { path } => vec![format!("write: {path}")],
        Action::Read { path } => vec![format!("read: {path}")],
        Action::ReadAll { path } => vec![format!("read: {path} and what is below it")],
        Action::Net { host } => vec![format!("reach: {host}")],
        Action::Code { code } => vec![format!("run code: {code}")],
        other => vec![serde_json::to_string(other).unwrap_or_default()],
    }
}

/// The letters of a line that are easily taken for others.
fn letters_beyond_ascii(line: &str) -> Option<String> {
    let mut letters: Vec<char> = line.chars().filter(|c| !c.is_ascii()).collect();
    letters.sort_unstable();
    letters.dedup();
    let named = letters.iter().take(MOST_LETTERS).map(|c| format!("{c} (U+{:04X})", u32::from(*c)));
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| format!("not plain letters in it: {}", named.join(", ")))
}
