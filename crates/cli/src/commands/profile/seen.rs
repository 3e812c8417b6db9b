//! What an agent's request says of its profile: the instructions, and the tools.

use std::sync::Arc;

use junto::llm::wire::Incoming;
use junto::llm::{Origin, Role, ToolSpec, Wire};
use junto::twin::Received;

/// The first line of a note that Claude Code puts before its instructions, for its vendor's books.
const BILLING: &str = "x-anthropic-billing-header:";

/// What a request says.
#[derive(Debug, PartialEq)]
pub(super) struct Seen {
    /// The program that asked, as it calls itself.
    pub(super) client: Option<String>,
    /// The instructions that come first.
    pub(super) system: String,
    /// The tools that it declares.
    pub(super) tools: Vec<ToolSpec>,
}

/// Reads an agent's request for an answer.
///
/// # Errors
/// In a few words, why this is none: agents also ask for titles, or whether the server is there.
pub(super) fn read(received: &Received, wire: Wire) -> Result<Seen, String> {
    // A path that no wire has was answered so.
    let known = received.status != 404;
    if !known || received.method != "POST" || received.wire != wire {
        return Err(format!("it is no request on the wire {}", wire.name()));
    }
    let origin = Arc::new(Origin { provider: wire.name().to_owned(), model: String::new(), wire });
    let incoming = Incoming { path: &received.path, body: &received.body };
    let (request, _) = wire.codec().decode_request(incoming, &origin).map_err(|error| error.to_string())?;
    if request.tools.is_empty() {
        return Err("it declares no tools".to_owned());
    }
    // Only the first: what else is there in the place of instructions is about this folder and this day.
    let first = request.messages.first().filter(|first| matches!(first.role, Role::System | Role::Developer));
    let first = first.ok_or("it begins without instructions")?;
    let texts = first.content.iter().filter_map(|part| part.as_text());
    let texts: Vec<&str> = texts.map(str::trim).filter(|text| !text.starts_with(BILLING)).collect();
    let system = texts.join("\n\n").trim().to_owned();
    if system.is_empty() {
        return Err("its instructions are empty".to_owned());
    }
    let client = received.header("user-agent").map(str::to_owned);
    Ok(Seen { client, system, tools: request.tools })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn received(wire: Wire, path: &str, body: Value) -> Received {
        Received {
            number: 1,
            wire,
            method: "POST".to_owned(),
            path: path.to_owned(),
            headers: vec![("user-agent".to_owned(), "agent/1.0".to_owned())],
            body,
            status: 200,
            usage: None,
            step: None,
        }
    }

    #[track_caller]
    fn check(wire: Wire, path: &str, body: Value, system: &str, tools: &[&str]) {
        let seen = read(&received(wire, path, body), wire).unwrap();
        assert_eq!(seen.system, system);
        assert_eq!(seen.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), tools);
        assert_eq!(seen.client.as_deref(), Some("agent/1.0"));
    }

    #[test]
    fn claude_has_its_instructions_in_blocks() {
        let body = json!({
            "model": "m", "max_tokens": 1, "stream": true,
            "system": [
                {"type": "text", "text": "x-anthropic-billing-header: cc_version=1;"},
                {"type": "text", "text": "You are an agent."},
                {"type": "text", "text": "Be short.\n", "cache_control": {"type": "ephemeral"}},
            ],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Say OK."}]},
                {"role": "system", "content": "# Environment\n - Primary working directory: /x"},
            ],
            "tools": [{"name": "Bash", "description": "Runs.", "input_schema": {"type": "object"}}],
        });
        let path = "/v1/messages?beta=true";
        check(Wire::Anthropic, path, body, "You are an agent.\n\nBe short.", &["Bash"]);
    }

    #[test]
    fn codex_has_them_apart_or_as_the_first_message() {
        let tools = json!([
            {"type": "function", "name": "exec_command", "parameters": {"type": "object"}},
            {"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}},
            {"type": "web_search"},
        ]);
        let names = ["exec_command", "apply_patch", "web_search"];
        let said = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
        let apart = json!({"model": "m", "instructions": "Be good.", "input": [said("developer", "Here."), said("user", "OK")], "tools": tools});
        check(Wire::Responses, "/v1/responses", apart, "Be good.", &names);
        let first = json!({"model": "m", "input": [said("developer", "Be good."), said("developer", "Here."), said("user", "OK")], "tools": tools});
        check(Wire::Responses, "/v1/responses", first, "Be good.", &names);
    }

    #[test]
    fn gemini_has_them_in_a_field() {
        let body = json!({
            "contents": [{"role": "user", "parts": [{"text": "Say OK."}]}],
            "systemInstruction": {"role": "user", "parts": [{"text": "Be good."}]},
            "tools": [{"functionDeclarations": [{"name": "replace", "description": "Edits.", "parametersJsonSchema": {"type": "object"}}]}],
        });
        let path = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse";
        check(Wire::Gemini, path, body, "Be good.", &["replace"]);
    }

    #[test]
    fn what_is_no_request_for_an_answer_says_why() {
        let wire = Wire::Anthropic;
        let user = json!([{"role": "user", "content": "x"}]);
        let tools = json!([{"name": "Bash", "input_schema": {"type": "object"}}]);
        for (body, why) in [
            (json!({"model": "m", "system": "x", "messages": user}), "declares no tools"),
            (json!({"model": "m", "tools": tools, "messages": user}), "without instructions"),
            (json!({"model": "m", "tools": tools, "system": " ", "messages": user}), "are empty"),
            (json!({"model": "m", "tools": 3, "messages": user}), "tools"),
            (json!("what is this?"), "body"),
            (Value::Null, "body"),
        ] {
            let error = read(&received(wire, "/v1/messages", body.clone()), wire).unwrap_err();
            assert!(error.contains(why), "{error} for {body}");
        }
        let elsewhere = json!({"model": "m", "tools": tools, "system": "x", "messages": user});
        let unknown = Received { status: 404, ..received(wire, "/v9/talk", elsewhere) };
        let other = received(Wire::Gemini, "/v1beta/models/x:generateContent", json!({}));
        for request in [unknown, other] {
            assert!(read(&request, wire).unwrap_err().contains("no request on the wire anthropic"));
        }
    }
}
