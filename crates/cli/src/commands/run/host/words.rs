//! Questions and answers in words.

use junto::core::{Action, ApprovalRequest, Question, Reply};

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

/// What is asked about, uncut: nobody shall allow what they have not seen.
pub(super) fn whole(request: &ApprovalRequest) -> String {
    let actions = request.actions.iter().map(|action| match action {
        Action::Shell { line, .. } => format!("run: {line}"),
        Action::Write { path } => format!("write: {path}"),
        Action::Read { path } => format!("read: {path}"),
        other => serde_json::to_string(other).unwrap_or_else(|_| request.call.name.clone()),
    });
    let arguments = request.call.arguments.as_object().into_iter().flatten();
    let arguments = arguments.filter(|(name, _)| !SHOWN.contains(&name.as_str()));
    let arguments = arguments.map(|(name, value)| match value.as_str() {
        Some(text) => format!("{name}: {text}"),
        None => format!("{name}: {value}"),
    });
    // Set in, so that nothing in there can pass for a line of ours.
    let lines = actions.chain(arguments).map(|line| format!("\n    {}", line.replace('\n', "\n    ")));
    format!("The agent wants to use {}:{}", request.call.name, lines.collect::<String>())
}
