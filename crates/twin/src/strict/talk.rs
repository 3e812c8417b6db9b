//! Where a conversation stands, told alike for every wire.

use serde_json::Value;

use super::json;

/// What somebody says in a request, in order. Instructions are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Saying {
    /// A user's text; empty for a picture and the like.
    User(String),
    /// Anything of the model's.
    Model,
    /// A tool's result.
    Result(String),
}

/// Openings of texts that coding agents put into user messages beside what the user said.
const HARNESS: &[&str] = &[
    "<system-reminder>",
    "<environment_context>",
    "<session_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
    "<hand-over>",
];

impl Saying {
    /// A user's text, unless a harness wrote it.
    pub(super) fn user(text: &str) -> Option<Self> {
        let opening = text.trim_start();
        let harness = HARNESS.iter().any(|tag| opening.starts_with(tag));
        (!harness).then(|| Self::User(text.to_owned()))
    }

    /// What a user's message says whose content is a string or a list of parts.
    pub(super) fn user_content(message: &Value) -> Vec<Self> {
        match message.get("content") {
            Some(Value::String(text)) => Self::user(text).into_iter().collect(),
            Some(Value::Array(parts)) => parts
                .iter()
                .filter_map(|part| Self::user(json::text(part, "text").unwrap_or_default()))
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// Where a conversation stands.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    /// The last user message's text; neighbouring user messages are one.
    pub last_user: String,
    /// Results since the model's last word.
    pub last_results: Vec<String>,
    /// How often the model has spoken since the last user message.
    pub round: u32,
    /// User messages; neighbouring ones count once.
    pub turn: u32,
}

/// Sums a conversation up.
///
/// Wires differ in how they cut one answer or one question into messages, and some demand that
/// neighbours be merged. So runs are counted: all that a user says until the model speaks is one
/// message, and so is all that the model says until it gets an answer.
pub(super) fn summary(talk: &[Saying]) -> Summary {
    let mut at = Summary::default();
    let mut before = None;
    let mut user_run = false;
    for saying in talk {
        match saying {
            Saying::User(text) => {
                if !user_run {
                    at.last_user.clear();
                    at.turn = at.turn.saturating_add(1);
                }
                if !at.last_user.is_empty() && !text.is_empty() {
                    at.last_user.push('\n');
                }
                at.last_user.push_str(text);
                at.round = 0;
                user_run = true;
            }
            Saying::Model => {
                if before != Some(&Saying::Model) {
                    at.round = at.round.saturating_add(1);
                }
                at.last_results.clear();
                user_run = false;
            }
            Saying::Result(text) => at.last_results.push(text.clone()),
        }
        before = Some(saying);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `u:` a user's text, `m` the model, `r:` a result.
    fn check(talk: &[&str], last_user: &str, last_results: &[&str], round: u32, turn: u32) {
        let sayings: Vec<Saying> = talk
            .iter()
            .filter_map(|line| match line.split_once(':') {
                Some(("u", text)) => Saying::user(text),
                Some((_, text)) => Some(Saying::Result(text.to_owned())),
                None => Some(Saying::Model),
            })
            .collect();
        let expected = Summary {
            last_user: last_user.to_owned(),
            last_results: last_results.iter().map(ToString::to_string).collect(),
            round,
            turn,
        };
        assert_eq!(summary(&sayings), expected, "{talk:?}");
    }

    #[test]
    fn runs_are_counted() {
        check(&[], "", &[], 0, 0);
        check(&["u:a"], "a", &[], 0, 1);
        check(&["u:a", "u:b"], "a\nb", &[], 0, 1);
        check(&["u:a", "m", "m", "r:1", "r:2"], "a", &["1", "2"], 1, 1);
        check(&["u:a", "m", "r:1", "m", "r:2"], "a", &["2"], 2, 1);
        check(&["u:a", "m", "u:b"], "b", &[], 0, 2);
        check(&["u:a", "m", "r:1", "u:wait"], "wait", &["1"], 0, 2);
        check(&["u:<system-reminder>x", "u:a"], "a", &[], 0, 1);
        check(&["u:a", "m", "r:1", "u: <system-reminder>x"], "a", &["1"], 1, 1);
    }
}
