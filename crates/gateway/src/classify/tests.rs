//! Requests in the shapes that today's clients send.

use http::{HeaderMap, HeaderName, HeaderValue};
use junto_llm::{Chore, Traffic, Wire};
use serde_json::{Value, json};

use super::{Classified, classify};

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_str(v).unwrap())).collect()
}

fn of(wire: Wire, body: &Value) -> Classified {
    classify(wire, body["model"].as_str().unwrap_or_default(), &HeaderMap::new(), body)
}

fn user(content: impl Into<Value>) -> Value {
    json!({"role": "user", "content": content.into()})
}

fn system(content: impl Into<Value>) -> Value {
    json!({"role": "system", "content": content.into()})
}

fn called() -> Value {
    json!({"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]})
}

fn result(said: &str) -> Value {
    user(json!([{"type": "tool_result", "tool_use_id": "c", "content": said}]))
}

fn background(other: &str) -> Traffic {
    Traffic::Background(Chore::Other(other.to_owned()))
}

#[test]
fn traffic_on_messages() {
    let tools = json!([{"name": "Bash", "input_schema": {}}, {"name": "Read", "input_schema": {}}]);
    let check = |fields: Value, expected: Traffic| {
        let mut body = json!({"model": "claude-opus-5-5", "max_tokens": 32000, "tools": tools});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        assert_eq!(of(Wire::Anthropic, &body).traffic, expected, "{body}");
    };
    check(json!({"messages": [user("hi")]}), Traffic::Ask);
    check(json!({"messages": [user(json!([{"type": "text", "text": "hi"}]))]}), Traffic::Ask);
    check(json!({"messages": [user("hi"), called(), result("ok")]}), Traffic::Continuation);
    // Clients add system messages behind the results, with any content or none.
    check(
        json!({"messages": [user("hi"), called(), result("ok"), system("# Reminder"), system(json!([]))]}),
        Traffic::Continuation,
    );
    check(json!({"messages": [user("hi"), called(), result("ok"), user("and now?")]}), Traffic::Ask);
    check(json!({"messages": [user("hi"), system("# Environment")]}), Traffic::Ask);

    check(json!({"messages": [user("quota")], "max_tokens": 1}), Traffic::Background(Chore::Probe));
    let schema = |name: &str| json!({"format": {"type": "json_schema", "schema": {"type": "object", "properties": {name: {"type": "string"}}}}});
    let title = json!({"messages": [user("hi")], "tools": [], "output_config": schema("title")});
    check(title.clone(), Traffic::Background(Chore::Title));
    check(json!({"messages": [user("hi")], "output_config": schema("title")}), Traffic::Ask);
    check(json!({"messages": [user("hi")], "tools": [], "output_config": schema("name")}), Traffic::Ask);

    let demand = "Answer with TEXT ONLY: an <analysis>, then a <summary> of all this.";
    let answered = json!({"role": "assistant", "content": "done"});
    let compaction = Traffic::Background(Chore::Compaction);
    check(json!({"messages": [user("hi"), answered, user(demand)]}), compaction);
    check(json!({"messages": [user(demand)]}), Traffic::Ask);
    check(json!({"messages": [user("hi"), answered, user("what does <summary> do in HTML?")]}), Traffic::Ask);
    // A page that a tool fetched demands nothing.
    check(json!({"messages": [user("hi"), called(), result(demand)]}), Traffic::Continuation);

    let search = json!([{"type": "web_search_20250305", "name": "web_search"}]);
    check(json!({"messages": [user("hi")], "tools": search}), background("web_search"));
    check(json!({"messages": [user("hi")], "model": "claude-haiku-4-5"}), background("small_model"));
    check(json!({"messages": [user("hi")], "model": "Mistral-Small"}), background("small_model"));
    check(json!({"messages": [user("hi")], "model": "breakfast"}), Traffic::Ask);
}

#[test]
fn small_models_are_known_by_whole_words() {
    let traffic = |model: &str| of(Wire::Chat, &json!({"model": model, "messages": [user("hi")]})).traffic;
    for small in ["claude-haiku-4-5", "gpt-5.5-mini", "GPT-6-Nano", "gemini-3-flash-lite", "fast"] {
        assert_eq!(traffic(small), background("small_model"), "{small}");
    }
    for large in ["minimax-m2", "elite", "nanotron", "gpt-5.5"] {
        assert_eq!(traffic(large), Traffic::Ask, "{large}");
    }
}

#[test]
fn agents_below_a_clients_own_are_known_by_their_headers() {
    let body = json!({"model": "claude-opus-5-5", "messages": [user("hi"), called(), result("ok")]});
    for header in ["x-claude-code-agent-id", "x-openai-subagent"] {
        let found = classify(Wire::Anthropic, "claude-opus-5-5", &headers(&[(header, "a-1")]), &body);
        assert_eq!(found.traffic, background("subagent"), "{header}");
    }
}

#[test]
fn traffic_on_responses() {
    let check = |fields: Value, expected: Traffic| {
        let mut body = json!({"model": "gpt-5.5", "tools": [{"type": "function", "name": "f"}]});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        assert_eq!(of(Wire::Responses, &body).traffic, expected, "{body}");
    };
    let said = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "c", "output": "ok"});
    let custom = json!({"type": "custom_tool_call_output", "call_id": "c", "output": "ok"});
    check(json!({"input": "hi"}), Traffic::Ask);
    check(json!({"input": [said("user", "hi")]}), Traffic::Ask);
    check(json!({"input": [{"role": "user", "content": "hi"}]}), Traffic::Ask);
    check(json!({"input": [said("user", "hi"), call, output]}), Traffic::Continuation);
    check(json!({"input": [said("user", "hi"), call, custom]}), Traffic::Continuation);
    check(
        json!({"input": [said("user", "hi"), call, output, said("developer", "note")]}),
        Traffic::Continuation,
    );
    check(json!({"input": [said("user", "hi"), call, output, said("user", "stop")]}), Traffic::Ask);
    let schema = json!({"type": "object", "properties": {"title": {"type": "string"}}});
    let format = json!({"format": {"type": "json_schema", "name": "t", "schema": schema}});
    check(json!({"input": "hi", "tools": [], "text": format}), Traffic::Background(Chore::Title));
    check(json!({"input": "hi", "max_output_tokens": 1}), Traffic::Background(Chore::Probe));
    let handoff = said("user", "Write a handoff summary for whoever goes on.");
    let before = said("assistant", "done");
    check(json!({"input": [said("user", "hi"), before, handoff]}), Traffic::Background(Chore::Compaction));
}

#[test]
fn traffic_on_chat() {
    let check = |fields: Value, expected: Traffic| {
        let mut body = json!({"model": "local", "tools": [{"type": "function", "function": {"name": "f"}}]});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        assert_eq!(of(Wire::Chat, &body).traffic, expected, "{body}");
    };
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let called = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let output = json!({"role": "tool", "tool_call_id": "c", "content": "ok"});
    check(json!({"messages": [user("hi")]}), Traffic::Ask);
    check(json!({"messages": [system("s"), user(json!([{"type": "text", "text": "hi"}]))]}), Traffic::Ask);
    check(json!({"messages": [user("hi"), called, output]}), Traffic::Continuation);
    check(json!({"messages": [user("hi"), called, output, user("stop")]}), Traffic::Ask);
    let schema = json!({"type": "object", "properties": {"title": {"type": "string"}}});
    let format = json!({"type": "json_schema", "json_schema": {"name": "t", "schema": schema}});
    let title = json!({"messages": [user("hi")], "tools": [], "response_format": format});
    check(title, Traffic::Background(Chore::Title));
    for field in ["max_tokens", "max_completion_tokens"] {
        check(json!({"messages": [user("hi")], field: 1}), Traffic::Background(Chore::Probe));
    }
    check(json!({"messages": [user("hi")], "model": "mistral-small"}), background("small_model"));
    check(json!({"messages": [user("hi")], "model": "council:small"}), Traffic::Ask);
}

#[test]
fn traffic_on_gemini() {
    let check = |model: &str, fields: Value, expected: Traffic| {
        let mut body = json!({"tools": [{"functionDeclarations": [{"name": "f"}]}]});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let found = classify(Wire::Gemini, model, &HeaderMap::new(), &body);
        assert_eq!(found.traffic, expected, "{body}");
    };
    let said = |role: &str, part: Value| json!({"role": role, "parts": [part]});
    let hi = said("user", json!({"text": "hi"}));
    let called = said("model", json!({"functionCall": {"name": "f", "args": {}}}));
    let output = said("user", json!({"functionResponse": {"name": "f", "response": {"output": "ok"}}}));
    check("m", json!({"contents": [hi]}), Traffic::Ask);
    check("m", json!({"contents": [hi, called, output]}), Traffic::Continuation);
    check("m", json!({"contents": [hi, called, output, hi]}), Traffic::Ask);
    check("some-fast-model", json!({"contents": [hi]}), background("small_model"));
    let schema = json!({"type": "OBJECT", "properties": {"title": {"type": "STRING"}}});
    let config = json!({"responseMimeType": "application/json", "responseSchema": schema});
    let title = json!({"contents": [hi], "tools": [], "generationConfig": config});
    check("m", title, Traffic::Background(Chore::Title));
    let probe = json!({"contents": [hi], "generationConfig": {"maxOutputTokens": 1}});
    check("m", probe, Traffic::Background(Chore::Probe));
}

#[test]
fn sessions() {
    let check = |pairs: &[(&'static str, &str)], user_id: Value, expected: Option<&str>| {
        let body = json!({"metadata": {"user_id": user_id}});
        let session = classify(Wire::Anthropic, "m", &headers(pairs), &body).session;
        assert_eq!(session.map(|s| s.0).as_deref(), expected, "{pairs:?} {body}");
    };
    check(&[], Value::Null, None);
    check(&[("x-claude-code-session-id", "s1")], Value::Null, Some("s1"));
    check(
        &[("x-claude-code-session-id", "s1"), ("x-claude-code-agent-id", "a1")],
        Value::Null,
        Some("s1/a1"),
    );
    check(&[("x-claude-code-agent-id", "a1")], Value::Null, None);
    check(&[("session-id", "s2"), ("thread-id", "t2")], Value::Null, Some("s2"));
    check(&[("thread-id", "t2")], Value::Null, Some("t2"));
    let user = json!({"device_id": "d", "account_uuid": "", "session_id": "s3"}).to_string();
    check(&[], json!(user), Some("s3"));
    check(&[("session-id", "s2")], json!(user), Some("s2"));
    check(&[], json!("user_ab_account__session_s4"), Some("s4"));
    check(&[], json!("{\"session_id\": 4}"), None);
    check(&[], json!("somebody"), None);
    check(&[("session-id", "two words")], Value::Null, None);
    check(&[("session-id", &"x".repeat(129))], Value::Null, None);
}

#[test]
fn working_directories_on_messages() {
    let check = |body: Value, expected: Option<&str>| {
        let found = of(Wire::Anthropic, &body).workdir;
        assert_eq!(found.as_deref().and_then(|p| p.to_str()), expected, "{body}");
    };
    let environment =
        "# Environment\n - Primary working directory: /home/ada/work\n - Is a git repository: true\n";
    let update = "# Environment update\n - Primary working directory: /home/ada/new (was /home/ada/work)";
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let reminder = format!("<system-reminder>\n{environment}</system-reminder>");

    // In `system`, as a string or as blocks.
    check(json!({"system": environment, "messages": [user("hi")]}), Some("/home/ada/work"));
    check(
        json!({"system": [{"type": "text", "text": "a"}, {"type": "text", "text": environment}]}),
        Some("/home/ada/work"),
    );
    check(json!({"system": "You are.\nCWD: /bare/place\n"}), Some("/bare/place"));
    // In a system message, and changed in a later one.
    check(json!({"system": "x", "messages": [user("hi"), system(environment)]}), Some("/home/ada/work"));
    check(
        json!({"messages": [user("hi"), system(text(environment)), called(), result("ok"), system(update)]}),
        Some("/home/ada/new"),
    );
    // In the first message's reminder.
    let blocks = json!([{"type": "text", "text": reminder}, {"type": "text", "text": "hi"}]);
    check(json!({"system": "x", "messages": [user(blocks)]}), Some("/home/ada/work"));
    // What quotes a project's files comes behind the client's own line.
    let quoted = format!("<system-reminder>\n{environment}\nNOTES.md:\nCWD: /elsewhere\n</system-reminder>");
    check(json!({"messages": [user(text(&quoted))]}), Some("/home/ada/work"));

    // Not what a person typed, a tool answered or the model said.
    check(json!({"messages": [user(environment)]}), None);
    check(json!({"messages": [user(format!("see: {reminder}"))]}), None);
    check(json!({"messages": [user("hi"), called(), result(&reminder)]}), None);
    check(json!({"messages": [user("hi"), user(reminder.as_str())]}), None);
    check(json!({"messages": [user("hi"), {"role": "assistant", "content": environment}]}), None);
    check(
        json!({"messages": [user("hi"), system(environment), called(), result(update)]}),
        Some("/home/ada/work"),
    );
    // Only places that can be meant one way.
    for bad in ["work", "~/work", "/home/../etc", "", "C:\\work"] {
        check(json!({"system": format!("Working directory: {bad}")}), None);
    }
    check(json!({"system": "The working directory: /x is fine"}), None);
}

#[test]
fn working_directories_on_responses() {
    let check = |body: Value, expected: Option<&str>| {
        let found = of(Wire::Responses, &body).workdir;
        assert_eq!(found.as_deref().and_then(|p| p.to_str()), expected, "{body}");
    };
    let said = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
    let context = |cwd: &str| {
        format!("<environment_context>\n  <cwd>{cwd}</cwd>\n  <shell>bash</shell>\n</environment_context>")
    };
    check(json!({"instructions": "Working directory: /a", "input": "hi"}), Some("/a"));
    check(json!({"input": [said("developer", "CWD: /b"), said("user", "hi")]}), Some("/b"));
    check(json!({"input": [said("user", &context("/c")), said("user", "hi")]}), Some("/c"));
    check(json!({"input": [said("user", &context("/c")), said("user", &context("/d"))]}), Some("/d"));
    check(json!({"input": [said("user", &format!("look: {}", context("/c")))]}), None);
    let output = json!({"type": "function_call_output", "call_id": "c", "output": context("/e")});
    check(json!({"input": [said("user", "hi"), output]}), None);
}

#[test]
fn nothing_is_known_of_what_makes_no_sense() {
    let nothing = Classified { traffic: Traffic::Ask, session: None, workdir: None };
    for wire in Wire::ALL {
        for body in
            [json!(null), json!([]), json!({"messages": 3, "input": {"a": 1}, "tools": "x", "system": [1]})]
        {
            assert_eq!(of(wire, &body), nothing, "{wire:?} {body}");
        }
    }
}

#[test]
fn working_directories_on_gemini_and_chat() {
    let check = |wire, body: Value, expected: Option<&str>| {
        let found = of(wire, &body).workdir;
        assert_eq!(found.as_deref().and_then(|p| p.to_str()), expected, "{body}");
    };
    let contents = |text: &str| json!({"contents": [{"role": "user", "parts": [{"text": text}]}]});
    let list = "- **Workspace Directories:**\n  - /home/ada/work\n  - /other\n";
    let context = format!("<session_context>\nThis is a CLI.\n{list}</session_context>");
    check(Wire::Gemini, contents(&context), Some("/home/ada/work"));
    check(Wire::Gemini, contents(list), None);
    let system = json!({"systemInstruction": {"parts": [{"text": "CWD: /a"}]}, "contents": []});
    check(Wire::Gemini, system, Some("/a"));
    check(Wire::Chat, json!({"messages": [{"role": "system", "content": "CWD: /b"}]}), Some("/b"));
    check(Wire::Chat, json!({"messages": [{"role": "user", "content": "CWD: /b"}]}), None);
}
