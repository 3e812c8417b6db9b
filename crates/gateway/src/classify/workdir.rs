//! Where the client works, as far as the client itself says so.
//!
//! Clients write their working directory into what they tell the model. It is read only where a
//! client writes by itself; what a person typed or a tool answered could hold any such line.

use std::path::{Component, Path, PathBuf};

use super::view::{Speaker, View};

/// What stands before the directory, in lower case; after it comes a colon.
const LABELS: [&str; 4] =
    ["primary working directory", "current working directory", "working directory", "cwd"];
/// What clients put around text of their own in a person's message.
const REMINDER: &str = "<system-reminder>";
const ENVIRONMENT: &str = "<environment_context>";
const SESSION: &str = "<session_context>";
/// What stands above a list of directories, of which the first is the one.
const LIST: &str = "workspace directories";

/// The directory: what the system said last, since clients announce changes there; else what the
/// client's own part of a person's message says.
pub(super) fn find(view: &View<'_>) -> Option<PathBuf> {
    let system = view.turns.iter().filter(|turn| turn.speaker == Speaker::System);
    let told = system.flat_map(|turn| &turn.texts).flat_map(|text| stated(text)).last();
    told.or_else(|| {
        let user = || view.turns.iter().filter(|turn| turn.speaker == Speaker::User);
        // It changes from turn to turn, so the last one holds.
        let environment = user().flat_map(|turn| &turn.texts).filter(|text| is_wrapped(text, ENVIRONMENT));
        environment.flat_map(|text| stated(text)).last().or_else(|| {
            // Reminders may quote files of the project; the client's own line comes before them,
            // at the start of the conversation.
            let first = user().next()?;
            let wrapped = |tag| first.texts.iter().filter(move |text| is_wrapped(text, tag));
            let stated = wrapped(REMINDER).flat_map(|text| stated(text)).next();
            stated.or_else(|| wrapped(SESSION).find_map(|text| listed(text)))
        })
    })
}

fn is_wrapped(text: &str, tag: &str) -> bool {
    text.trim_start().starts_with(tag)
}

/// The directories that a text states, in order.
fn stated(text: &str) -> impl Iterator<Item = PathBuf> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        let tagged = line.strip_prefix("<cwd>").and_then(|rest| rest.strip_suffix("</cwd>"));
        directory(tagged.or_else(|| labelled(line))?)
    })
}

/// The first directory of a text's list of them.
fn listed(text: &str) -> Option<PathBuf> {
    let mut lines = text.lines().skip_while(|line| !line.to_ascii_lowercase().contains(LIST)).skip(1);
    directory(lines.next()?.trim().strip_prefix("- ")?)
}

/// What a line like ` - Primary working directory: /path (was /other)` states.
fn labelled(line: &str) -> Option<&str> {
    let (label, value) = line.trim_start_matches(['-', '*', ' ']).split_once(':')?;
    let known = LABELS.iter().any(|known| label.trim().eq_ignore_ascii_case(known));
    let value = value.trim();
    let value = value.split_once(" (was ").map_or(value, |(now, _)| now);
    known.then_some(value)
}

/// A path that can only mean one place.
fn directory(text: &str) -> Option<PathBuf> {
    let path = Path::new(text.trim());
    let plain = path.components().all(|c| matches!(c, Component::RootDir | Component::Normal(_)));
    (path.is_absolute() && plain && !text.contains('\0')).then(|| path.to_owned())
}
