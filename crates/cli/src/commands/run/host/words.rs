//! Questions and answers in words.

use junto::core::{Action, ApprovalRequest, Question, Reply};

use crate::commands::run::view::diff::{self, Line};
use crate::output::paint::visible;

/// A question as a person sees it, and what stands before the answer.
pub(super) fn in_words(question: &Question) -> (String, String) {
    let options = (1..).zip(&question.options).map(|(n, option)| match &option.description {
        Some(description) => format!("\n    {n}. {}: {description}", option.label),
        None => format!("\n    {n}. {}", option.label),
    });
    let how = match (question.options.is_empty(), question.several) {
        (true, _) => "",
        (false, false) => "a number, or ",
        (false, true) => "numbers with commas, or ",
    };
    let options: String = options.collect();
    let prompt = format!("Answer ({how}your own words; nothing to decline): ");
    (format!("The agent asks: {}{options}", question.text), prompt)
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

/// Arguments that the actions tell already.
const SHOWN: &[&str] = &["command", "file_path"];
/// What our own lines begin with.
const OURS: &[&str] = &["in", "reach", "read", "run", "write"];
/// Arguments that the lines which go and come tell, where there are such.
const DIFFED: &[&str] = &["old_string", "new_string", "content", "patch", "input", "edits"];
/// How many letters beyond ASCII are named.
const MOST_LETTERS: usize = 8;

/// What is asked about, uncut and with nothing hidden: nobody shall allow what they have not seen.
pub(super) fn whole(request: &ApprovalRequest) -> String {
    let mut lines: Vec<String> = request.actions.iter().flat_map(action).collect();
    let diff = diff::whole(&request.call);
    let told = |name: &str| SHOWN.contains(&name) || (!diff.is_empty() && DIFFED.contains(&name));
    // A cell, or a line of one.
    let is_action = |value: &str| {
        request.actions.iter().any(|action| match action {
            Action::Code { code: text } | Action::Shell { line: text, .. } => text == value,
            _ => false,
        })
    };
    let arguments = request.call.arguments.as_object().into_iter().flatten();
    // A name that could be taken for one of ours is set in quotes.
    let named = |name: &String| {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if plain && !OURS.contains(&name.as_str()) { name.clone() } else { format!("argument {name:?}") }
    };
    let untold = arguments.filter(|(name, value)| !told(name) && !value.as_str().is_some_and(is_action));
    lines.extend(untold.map(|(name, value)| match value.as_str() {
        Some(text) => format!("{}: {text}", named(name)),
        None => format!("{}: {value}", named(name)),
    }));
    lines.extend(diff.into_iter().map(|line| match line {
        Line::Removed(text) => format!("- {text}"),
        Line::Added(text) => format!("+ {text}"),
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
