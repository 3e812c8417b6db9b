//! What a request is for, and whose it is: from its headers and body, and nothing else.

mod view;
mod workdir;

use std::path::PathBuf;

use http::HeaderMap;
use junto_llm::{CallCx, Chore, SessionId, Traffic, Wire};
use serde_json::Value;

use view::{Speaker, View};

/// Where clients say which session a request belongs to; the first that is there counts.
const SESSION_HEADERS: [&str; 3] = ["x-claude-code-session-id", "session-id", "thread-id"];
/// Where a client says which of a session's agents asks.
const AGENT_HEADER: &str = "x-claude-code-agent-id";
/// What the work of an agent below a client's own is called.
const SUBAGENT: &str = "subagent";
/// Where clients say that an agent below their own asks.
const SUBAGENT_HEADERS: [&str; 2] = [AGENT_HEADER, "x-openai-subagent"];
/// What requests for a summary say beside `<summary>`: the answer shall be text, and no call.
const TEXT_ONLY: [&str; 4] = ["text only", "only text", "plain text", "not call any tool"];
/// What a request for a summary says where it is to be handed to the next model.
const HANDOFF: &str = "handoff summary";
/// A longer id is no id.
const LONGEST_ID: usize = 128;

/// What is known of a request before it is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classified {
    /// What it is for.
    pub traffic: Traffic,
    /// The client's own name for the session; an agent of a session has a session of its own, since
    /// it has a conversation of its own.
    pub session: Option<SessionId>,
    /// The directory that the client says it works in; absolute, not checked to exist.
    pub workdir: Option<PathBuf>,
}

impl Classified {
    pub(crate) fn apply(self, cx: &mut CallCx) {
        cx.traffic = self.traffic;
        cx.session = self.session;
        cx.workdir = self.workdir;
    }
}

/// Classifies a request for this model that came on this wire. Pure; a body that makes no sense is a
/// question about which nothing is known.
pub fn classify(wire: Wire, model: &str, headers: &HeaderMap, body: &Value) -> Classified {
    let view = View::of(wire, model, body);
    Classified {
        traffic: traffic(&view, headers),
        session: session(headers, body),
        workdir: workdir::find(&view),
    }
}

fn traffic(view: &View<'_>, headers: &HeaderMap) -> Traffic {
    if let Some(chore) = chore(view) {
        return Traffic::Background(chore);
    }
    if SUBAGENT_HEADERS.iter().any(|name| headers.contains_key(*name)) {
        return Traffic::Background(Chore::Other(SUBAGENT.to_owned()));
    }
    match view.last_input() {
        Some(turn) if turn.has_results => Traffic::Continuation,
        _ => Traffic::Ask,
    }
}

/// Whether a session is free to ask for this as often as it likes: chores are few, but what an agent below the
/// client's own does is work like the client's.
pub(crate) fn is_free(traffic: &Traffic) -> bool {
    matches!(traffic, Traffic::Background(chore) if !matches!(chore, Chore::Other(name) if name == SUBAGENT))
}

/// The chore, if the request has the shape of one. Clients do them with any model, so the shape
/// comes before the model's name.
fn chore(view: &View<'_>) -> Option<Chore> {
    if view.max_tokens == Some(1) {
        return Some(Chore::Probe);
    }
    let asks_title = view.schema.is_some_and(|schema| schema["properties"].get("title").is_some());
    if view.tools.is_empty() && asks_title {
        return Some(Chore::Title);
    }
    if let [tool] = view.tools.as_slice()
        && tool.starts_with("web_search_")
    {
        return Some(Chore::Other("web_search".to_owned()));
    }
    if asks_summary(view) {
        return Some(Chore::Compaction);
    }
    Chore::of_model(view.model)
}

/// Whether the conversation's last word is a demand to sum it up.
fn asks_summary(view: &View<'_>) -> bool {
    let has_history = view.turns.iter().any(|turn| turn.speaker == Speaker::Assistant);
    let last = view.last_input().filter(|_| has_history);
    last.and_then(|turn| turn.texts.last()).is_some_and(|text| {
        let text = text.to_ascii_lowercase();
        let marked = text.contains("<summary>") && TEXT_ONLY.iter().any(|words| text.contains(words));
        marked || text.contains(HANDOFF)
    })
}

fn session(headers: &HeaderMap, body: &Value) -> Option<SessionId> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).and_then(id);
    let session = SESSION_HEADERS.into_iter().find_map(header).or_else(|| session_of_user(body))?;
    Some(SessionId(match header(AGENT_HEADER) {
        Some(agent) => format!("{session}/{agent}"),
        None => session,
    }))
}

/// The session in `metadata.user_id`, which is JSON in a string, or once was `user_…_session_ID`.
fn session_of_user(body: &Value) -> Option<String> {
    let user = body["metadata"]["user_id"].as_str()?;
    if let Ok(user) = serde_json::from_str::<Value>(user) {
        return user["session_id"].as_str().and_then(id);
    }
    user.rsplit_once("_session_").and_then(|(_, session)| id(session))
}

/// An id as clients write them; anything else must not become a key or a label anywhere.
fn id(text: &str) -> Option<String> {
    let text = text.trim();
    let fits = (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    fits.then(|| text.to_owned())
}

#[cfg(test)]
mod tests;
