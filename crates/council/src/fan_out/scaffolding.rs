//! What a person wrote last, without what clients put around it.

use junto_llm::{Message, Request, Role};

/// Elements that clients put into what the user says: reminders, the state of the editor or of the
/// machine, instructions from files.
const TAGS: [&str; 9] = [
    "system-reminder",
    "ide_selection",
    "ide_opened_file",
    "ide_diagnostics",
    "environment_context",
    "user_instructions",
    "INSTRUCTIONS",
    "permissions instructions",
    "subagent_notification",
];

/// The last thing a user said in a request. Where nothing but scaffolding was said, that.
pub(crate) fn last_user_text(request: &Request) -> String {
    let said =
        || request.messages.iter().rev().filter(|message| message.role == Role::User).map(Message::text);
    let bare = said().map(|text| stripped(&text)).find(|text| !text.is_empty());
    bare.or_else(|| said().find(|text| !text.trim().is_empty())).unwrap_or_default()
}

/// A text without scaffolding: elements with what is in them, tags that stand alone, and the empty lines
/// that are left.
fn stripped(text: &str) -> String {
    let mut kept = text.to_owned();
    for tag in TAGS {
        if kept.contains(tag) {
            kept = without(&kept, tag);
        }
    }
    let mut lines: Vec<&str> = Vec::new();
    for line in kept.trim().lines().map(str::trim_end) {
        if !(line.is_empty() && lines.last().is_some_and(|last| last.is_empty())) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

fn without(text: &str, tag: &str) -> String {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(&open) {
        kept.push_str(before);
        // A tag that nothing closes goes alone.
        rest = after.split_once(&close).map_or(after, |(_, after)| after);
    }
    kept.push_str(rest);
    kept.replace(&close, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(messages: &[&str], expected: &str) {
        let messages: Vec<Message> = messages.iter().map(|text| Message::user(*text)).collect();
        assert_eq!(last_user_text(&Request::of(messages)), expected);
    }

    #[test]
    fn scaffolding_goes_and_words_stay() {
        check(&["hello"], "hello");
        check(&["<system-reminder>\nlong\n\nreminder\n</system-reminder>\nhello"], "hello");
        check(&["a<system-reminder>x</system-reminder>b<system-reminder>y</system-reminder>c"], "abc");
        check(&["<ide_selection>fn f()</ide_selection>\n\n\n\nexplain\n\n\nthis"], "explain\n\nthis");
        check(&["hi </system-reminder> there <ide_selection>"], "hi  there");
        check(&["<environment_context><cwd>/x</cwd></environment_context>", "fix it"], "fix it");
        check(&["fix it", "<environment_context>later</environment_context>"], "fix it");
        check(&["<system-reminder>only</system-reminder>"], "<system-reminder>only</system-reminder>");
        check(&["<b>bold</b> stays"], "<b>bold</b> stays");
        check(&[], "");
    }

    #[test]
    fn what_others_say_does_not_count() {
        let messages = [Message::user("mine"), Message::assistant("yours"), Message::system("theirs")];
        assert_eq!(last_user_text(&Request::of(messages)), "mine");
    }
}
