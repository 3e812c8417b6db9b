//! What a request is for, by its shape: clients do their chores with any model.

use junto_llm::{CallCx, Chore, Message, Request, ResponseFormat, Role, ToolKind, Traffic};

/// What requests for a summary say beside `<summary>`: the answer shall be text, and no call.
const TEXT_ONLY: [&str; 4] = ["text only", "only text", "plain text", "not call any tool"];
/// What a request for a summary says where it is to be handed to the next model.
const HANDOFF: &str = "handoff summary";
/// What a client writes into the instructions of an agent below its own.
const SUBAGENT: &str = "cc_is_subagent=true";

/// What a request is for. What the host knows of it comes first: it saw the wire.
pub(super) fn traffic(request: &Request, cx: &CallCx, council: &str) -> Traffic {
    if cx.traffic != Traffic::Ask {
        return cx.traffic.clone();
    }
    if let Some(chore) = chore(request, council) {
        return Traffic::Background(chore);
    }
    let last = request.messages.iter().rev().find(|message| is_input(message));
    if last.is_some_and(|message| message.results().next().is_some()) {
        return Traffic::Continuation;
    }
    Traffic::Ask
}

fn is_input(message: &Message) -> bool {
    matches!(message.role, Role::User | Role::Tool)
}

fn chore(request: &Request, council: &str) -> Option<Chore> {
    if request.max_tokens == Some(1) {
        return Some(Chore::Probe);
    }
    if request.tools.is_empty() && asks_title(request) {
        return Some(Chore::Title);
    }
    if searches_the_web(request) {
        return Some(Chore::Other("web_search".to_owned()));
    }
    if asks_summary(request) {
        return Some(Chore::Compaction);
    }
    if is_of_subagent(request) {
        return Some(Chore::Other("subagent".to_owned()));
    }
    // A council's own name says nothing about what it is asked.
    request.model.as_deref().filter(|model| *model != council).and_then(Chore::of_model)
}

fn asks_title(request: &Request) -> bool {
    match &request.response_format {
        Some(ResponseFormat::JsonSchema { schema, .. }) => schema["properties"].get("title").is_some(),
        _ => false,
    }
}

/// Whether the one tool is the provider's own search.
fn searches_the_web(request: &Request) -> bool {
    let [tool] = request.tools.as_slice() else { return false };
    match &tool.kind {
        ToolKind::Hosted { item, .. } => {
            item["type"].as_str().is_some_and(|kind| kind.starts_with("web_search_"))
        }
        ToolKind::Function { .. } | ToolKind::Custom { .. } => false,
    }
}

/// Whether the conversation's last word is a demand to sum it up.
fn asks_summary(request: &Request) -> bool {
    let has_history = request.messages.iter().any(|message| message.role == Role::Assistant);
    let last = request.messages.iter().rev().find(|message| is_input(message)).filter(|_| has_history);
    last.is_some_and(|message| {
        let text = message.content.iter().filter_map(|part| part.as_text()).next_back().unwrap_or_default();
        let text = text.to_ascii_lowercase();
        let marked = text.contains("<summary>") && TEXT_ONLY.iter().any(|words| text.contains(words));
        marked || text.contains(HANDOFF)
    })
}

fn is_of_subagent(request: &Request) -> bool {
    let mut instructions = request.messages.iter().take_while(|message| message.role == Role::System);
    instructions.any(|message| message.content.iter().any(|part| part.as_text().is_some_and(is_marked)))
}

/// The mark stands in a first line of its own.
fn is_marked(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.contains(SUBAGENT))
}

#[cfg(test)]
mod tests {
    use junto_llm::{ToolSpec, Wire};
    use serde_json::json;

    use super::*;
    use crate::scripted::results;

    fn check(request: Request, expected: Traffic) {
        assert_eq!(traffic(&request, &CallCx::new(), "quick-fast"), expected, "{request:?}");
    }

    fn other(name: &str) -> Traffic {
        Traffic::Background(Chore::Other(name.to_owned()))
    }

    fn after(last: &str) -> Request {
        Request::of([Message::user("hi"), Message::assistant("ho"), Message::user(last)])
    }

    #[test]
    fn names_count_as_whole_words() {
        for small in
            ["claude-haiku-4-5", "gpt-5.5-mini", "GPT-6-Nano", "gemini-3-flash-lite", "fast", "my_small_one"]
        {
            check(Request::prompt("hi").model(small), other("small_model"));
        }
        for large in [
            "claude-opus-5-5",
            "gemini-3-pro",
            "breakfast",
            "minimax-m2",
            "elite",
            "quick-fast",
            "council:fast",
        ] {
            check(Request::prompt("hi").model(large), Traffic::Ask);
        }
    }

    #[test]
    fn chores_have_shapes() {
        let format = |field: &str| {
            let schema = json!({"type": "object", "properties": {field: {"type": "string"}}});
            Some(ResponseFormat::JsonSchema { name: "o".into(), schema, strict: true })
        };
        let ask = || Request::prompt("hi");
        check(Request { response_format: format("title"), ..ask() }, Traffic::Background(Chore::Title));
        check(Request { response_format: format("name"), ..ask() }, Traffic::Ask);
        check(ask().max_tokens(1), Traffic::Background(Chore::Probe));
        let search = ToolSpec {
            name: "web_search".into(),
            description: String::new(),
            kind: ToolKind::Hosted { wire: Wire::Anthropic, item: json!({"type": "web_search_20250305"}) },
        };
        check(ask().tools([search.clone()]), other("web_search"));
        let tool = ToolSpec::foreign("web_search_x", "", json!({"type": "object"}));
        check(ask().tools([tool.clone()]), Traffic::Ask);
        check(ask().tools([search, tool]), Traffic::Ask);
        let summary = Traffic::Background(Chore::Compaction);
        check(after("Respond with TEXT ONLY: a <summary> of all this"), summary.clone());
        check(after("Write a handoff summary for another model"), summary);
        check(after("What does <summary> mean in HTML?"), Traffic::Ask);
        check(Request::prompt("Write a handoff summary"), Traffic::Ask);
        let marked = "x-anthropic-billing-header: cc_version=2; cc_is_subagent=true;";
        check(Request::of([Message::system(marked), Message::user("hi")]), other("subagent"));
        check(Request::of([Message::user(marked)]), Traffic::Ask);
    }

    #[test]
    fn results_go_on_with_a_tool_loop() {
        check(results("hi"), Traffic::Continuation);
        let mut asked_on = results("hi");
        asked_on.messages.push(Message::user("and now?"));
        check(asked_on, Traffic::Ask);
    }

    #[test]
    fn the_host_knows_better() {
        let cx = CallCx { traffic: other("chore"), ..CallCx::new() };
        assert_eq!(traffic(&Request::prompt("Why?"), &cx, "c"), other("chore"));
        let cx = CallCx { traffic: Traffic::Continuation, ..CallCx::new() };
        assert_eq!(traffic(&Request::prompt("Why?"), &cx, "c"), Traffic::Continuation);
    }
}
