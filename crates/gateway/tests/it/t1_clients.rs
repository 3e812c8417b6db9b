//! Requests in the shape in which today's coding agents send them, on every wire behind the gateway.

use http::{HeaderMap, HeaderValue};
use junto_llm::Wire;
use junto_twin::{Call, Play, Step};
use serde_json::{Value, json};

use crate::support::{Raw, Stand, asked, translated};

fn play() -> Play {
    Play::of([Step::text("Done.")])
}

async fn send(s: &Stand, surface: Wire, body: &Value) -> Raw {
    let mut headers = HeaderMap::new();
    headers.insert(
        "anthropic-beta",
        HeaderValue::from_static("interleaved-thinking-2025-05-14,effort-2025-11-24"),
    );
    s.house.send(surface, headers, body.to_string()).await
}

/// Sends a body to a twin on each wire; each must take what comes out of the gateway.
async fn check(surface: Wire, body: Value) {
    for wire in Wire::ALL {
        for stream in [true, false] {
            let s = translated(wire, play()).await;
            let mut body = body.clone();
            body["model"] = asked(surface).into();
            body["stream"] = stream.into();
            let raw = send(&s, surface, &body).await;
            assert_eq!(raw.status, 200, "{wire:?}, stream {stream}: {}", raw.text());
            assert!(raw.text().contains("Done."), "{wire:?}: {}", raw.text());
        }
    }
}

fn claude(messages: Value) -> Value {
    let cached = json!({"type": "ephemeral"});
    let schema =
        json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]});
    json!({
        "max_tokens": 32000,
        "system": [
            {"type": "text", "text": "x-billing: version=1; entrypoint=cli;"},
            {"type": "text", "text": "Who you are.", "cache_control": cached},
            {"type": "text", "text": "How you work.", "cache_control": cached},
        ],
        "tools": [
            {"name": "Bash", "description": "Runs a command", "input_schema": schema},
            {"name": "mcp__server__look-up", "description": "Looks it up", "input_schema": schema, "defer_loading": true},
        ],
        "metadata": {"user_id": "{\"device_id\":\"d\",\"session_id\":\"s\"}"},
        "thinking": {"type": "adaptive", "display": "updates"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "medium"},
        "messages": messages,
    })
}

fn first_turn() -> Vec<Value> {
    vec![
        json!({"role": "user", "content": [
            {"type": "text", "text": "<system-reminder>\nRules of the project.\n</system-reminder>"},
            {"type": "text", "text": "Fix the bug.", "cache_control": {"type": "ephemeral"}},
        ]}),
        json!({"role": "system", "content": "# Environment\n - Primary working directory: /home/ada/work\n"}),
    ]
}

#[tokio::test]
async fn the_first_turn_of_a_messages_agent() {
    check(Wire::Anthropic, claude(json!(first_turn()))).await;
}

#[tokio::test]
async fn a_tool_round_of_a_messages_agent() {
    let mut messages = first_turn();
    messages.extend([
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Unsigned.", "signature": ""},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
            {"type": "tool_use", "id": "toolu_2", "name": "mcp__server__look-up", "input": {"command": "x"}},
        ]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "found"}]},
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Exit code 3", "is_error": true},
        ]}),
        json!({"role": "system", "content": [{"type": "text", "text": "# Environment update"}]}),
        json!({"role": "system", "content": []}),
    ]);
    check(Wire::Anthropic, claude(json!(messages))).await;
}

/// An agent searches in a request of its own, whose one tool is the provider's.
#[tokio::test]
async fn a_search_of_the_web_is_the_providers_own_or_refused() {
    let mut body = claude(json!([{"role": "user", "content": "Search for rust."}]));
    body["tools"] = json!([{"type": "web_search_20250305", "name": "web_search", "max_uses": 8}]);
    body["model"] = asked(Wire::Anthropic).into();
    for choice in [None, Some(json!({"type": "tool", "name": "web_search"})), Some(json!({"type": "any"}))] {
        if let Some(choice) = &choice {
            body["tool_choice"] = choice.clone();
            body.as_object_mut().unwrap().shift_remove("thinking");
        }
        let seen = async |wire: Wire| {
            let s = translated(wire, play()).await;
            let raw = send(&s, Wire::Anthropic, &body).await;
            let sent = s.twin.requests().first().map(|request| request.body.clone());
            // Asked to call a tool, the twin would have to call one that it runs itself.
            assert!(choice.is_some() || wire == Wire::Chat || raw.status == 200, "{wire:?}: {}", raw.text());
            (raw.status, sent, raw.text())
        };
        let (_, sent, _) = seen(Wire::Anthropic).await;
        assert_eq!(sent.unwrap()["tools"], body["tools"]);
        let (_, sent, _) = seen(Wire::Responses).await;
        let sent = sent.unwrap();
        assert_eq!(sent["tools"], json!([{"type": "web_search"}]));
        assert_eq!(sent["tool_choice"], if choice.is_some() { json!("required") } else { Value::Null });
        let (_, sent, _) = seen(Wire::Gemini).await;
        let sent = sent.unwrap();
        assert_eq!(sent["tools"], json!([{"googleSearch": {}}]));
        assert!(sent.get("toolConfig").is_none(), "{sent}");
        let (status, sent, said) = seen(Wire::Chat).await;
        assert_eq!((status, sent), (400, None), "{said}");
        assert!(said.contains("web_search"), "{said}");
    }
    // Beside tools that the agent runs itself it is left out.
    let mut body = claude(json!(first_turn()));
    body["tools"].as_array_mut().unwrap().push(json!({"type": "web_search_20250305", "name": "web_search"}));
    check(Wire::Anthropic, body).await;
}

/// What an agent found is for every model to read.
#[tokio::test]
async fn what_was_found_reaches_every_model() {
    for wire in Wire::ALL {
        let s = translated(wire, play()).await;
        let found = json!({"type": "search_result", "source": "https://x.org/y", "title": "A page",
            "content": [{"type": "text", "text": "It says so."}]});
        let mut body =
            claude(json!([{"role": "user", "content": [found, {"type": "text", "text": "Is it so?"}]}]));
        body["model"] = asked(Wire::Anthropic).into();
        let raw = send(&s, Wire::Anthropic, &body).await;
        let seen = s.twin.requests()[0].body.to_string();
        assert_eq!(raw.status, 200, "{wire:?}: {}", raw.text());
        assert!(seen.contains("https://x.org/y") && seen.contains("It says so."), "{wire:?}: {seen}");
    }
}

fn codex(input: Value) -> Value {
    let schema = json!({"type": "object", "properties": {"cmd": {"type": "string"}, "yield_time_ms": {"type": "number"}},
        "required": ["cmd"], "additionalProperties": false});
    json!({
        "input": input,
        "tools": [
            {"type": "function", "name": "exec_command", "description": "Runs a command", "strict": false, "parameters": schema},
            {"type": "custom", "name": "apply_patch", "description": "Applies a patch",
             "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}},
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": true,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "0199-thread",
        "text": {"verbosity": "low"},
        "client_metadata": {"installation": "i"},
    })
}

fn opening() -> Vec<Value> {
    let said = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
    vec![
        said("developer", "How you work."),
        said("user", "<environment_context>\n  <cwd>/home/ada/work</cwd>\n</environment_context>"),
        said("user", "Fix the bug."),
    ]
}

#[tokio::test]
async fn the_first_turn_of_a_responses_agent() {
    check(Wire::Responses, codex(json!(opening()))).await;
}

/// A model that is not told of the grammar does not know what to write.
#[tokio::test]
async fn the_grammar_of_a_custom_tool_reaches_every_model() {
    for surface in [Wire::Responses, Wire::Chat] {
        for wire in Wire::ALL {
            let s = translated(wire, play()).await;
            let (syntax, definition) = ("lark", "start: \"*** Begin\" /.+/");
            let mut body = codex(json!(opening()));
            body["tools"][1]["format"]["definition"] = definition.into();
            if surface == Wire::Chat {
                let format =
                    json!({"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}});
                let tool = json!({"name": "apply_patch", "description": "Applies a patch", "format": format});
                body = json!({
                    "messages": [{"role": "user", "content": "Fix the bug."}],
                    "tools": [{"type": "custom", "custom": tool}],
                });
            }
            body["model"] = asked(surface).into();
            let raw = send(&s, surface, &body).await;
            assert_eq!(raw.status, 200, "{surface:?} on {wire:?}: {}", raw.text());
            let seen = &s.twin.requests()[0].body;
            let escaped = json!(definition).to_string();
            assert!(seen.to_string().contains(escaped.trim_matches('"')), "{surface:?} on {wire:?}: {seen}");
            if wire == Wire::Responses {
                let tools = seen["tools"].as_array().unwrap();
                let flat = json!({"type": "grammar", "syntax": syntax, "definition": definition});
                assert!(tools.iter().any(|tool| tool["format"] == flat), "{surface:?}: {seen}");
            }
        }
    }
}

#[tokio::test]
async fn a_tool_round_of_a_responses_agent() {
    let mut input = opening();
    input.extend([
        json!({"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
            "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}]}),
        json!({"type": "function_call", "call_id": "call_1", "name": "exec_command", "arguments": "{\"cmd\":\"ls\"}"}),
        json!({"type": "custom_tool_call", "call_id": "call_2", "name": "apply_patch", "input": "*** Begin Patch"}),
        json!({"type": "function_call_output", "call_id": "call_1", "output": "a.rs"}),
        json!({"type": "custom_tool_call_output", "call_id": "call_2", "output": "Exit code: 0"}),
    ]);
    check(Wire::Responses, codex(json!(input))).await;
}

/// What the newer agents send: no `tools`, but an item of the conversation that has them, in namespaces.
fn lite(input: impl IntoIterator<Item = Value>) -> Value {
    let parameters = json!({"type": "object", "properties": {"message": {"type": "string"}}});
    let tools = json!([
        {"type": "namespace", "name": "functions", "description": "", "tools": [
            {"type": "custom", "name": "exec", "description": "Runs JavaScript",
             "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}},
            {"type": "function", "name": "wait", "description": "Waits", "strict": false, "parameters": parameters},
        ]},
        {"type": "namespace", "name": "collaboration", "description": "Other agents", "tools": [
            {"type": "function", "name": "spawn_agent", "description": "Starts an agent", "strict": false,
             "parameters": parameters},
        ]},
    ]);
    let declared = json!({"type": "additional_tools", "role": "developer", "tools": tools});
    let mut body = codex(json!(std::iter::once(declared).chain(input).collect::<Vec<Value>>()));
    let fields = body.as_object_mut().unwrap();
    fields.shift_remove("tools");
    fields.insert("parallel_tool_calls".into(), false.into());
    body
}

fn declared(wire: Wire, body: &Value) -> Vec<String> {
    let tools = match wire {
        Wire::Gemini => &body["tools"][0]["functionDeclarations"],
        _ => &body["tools"],
    };
    let name = |tool: &Value| {
        let tool = if wire == Wire::Chat { &tool["function"] } else { tool };
        tool["name"].as_str().unwrap_or_default().to_owned()
    };
    tools.as_array().into_iter().flatten().map(name).collect()
}

/// The items of an answer, whether it came whole or in pieces.
fn output(raw: &Raw, stream: bool) -> Vec<Value> {
    let last = if stream {
        let text = raw.text();
        let line = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap();
        serde_json::from_str::<Value>(line).unwrap()["response"].clone()
    } else {
        raw.json()
    };
    last["output"].as_array().unwrap().clone()
}

#[tokio::test]
async fn tools_in_the_conversation_of_a_responses_agent() {
    check(Wire::Responses, lite(opening())).await;
    for wire in [Wire::Anthropic, Wire::Gemini, Wire::Chat] {
        for stream in [true, false] {
            let spawn = match wire {
                Wire::Gemini => "collaboration::spawn_agent",
                _ => "collaboration__spawn_agent",
            };
            let exec = Step::calls([Call::new("exec", json!({"input": "text(1)"}))]);
            let agent = Step::calls([Call::new(spawn, json!({"message": "look"}))]);
            let s = translated(wire, Play::of([exec, agent, Step::text("Done.")])).await;
            let mut said = opening();
            let mut called = Vec::new();
            for (class, answers) in
                [("custom_tool_call", "custom_tool_call_output"), ("function_call", "function_call_output")]
            {
                let mut body = lite(said.clone());
                body["model"] = asked(Wire::Responses).into();
                body["stream"] = stream.into();
                let items = output(&send(&s, Wire::Responses, &body).await, stream);
                let call = items.iter().find(|item| item["type"] == class).cloned();
                let call = call.unwrap_or_else(|| panic!("{wire:?}: no {class} in {items:?}"));
                said.extend(items);
                said.push(json!({"type": answers, "call_id": call["call_id"], "output": "well"}));
                called.push(call);
            }
            assert_eq!((&called[0]["name"], &called[0]["input"]), (&json!("exec"), &json!("text(1)")));
            assert_eq!(called[0].get("namespace"), None);
            assert_eq!(
                (&called[1]["name"], &called[1]["namespace"]),
                (&json!("spawn_agent"), &json!("collaboration"))
            );
            let mut body = lite(said);
            body["model"] = asked(Wire::Responses).into();
            let raw = send(&s, Wire::Responses, &body).await;
            assert!(raw.text().contains("Done."), "{wire:?}: {}", raw.text());
            let seen = s.twin.requests();
            for request in &seen {
                assert_eq!(declared(wire, &request.body), ["exec", "wait", spawn], "{wire:?}");
            }
            // Declared and called, and on Gemini's wire named by the result as well.
            let named = seen[2].body.to_string().matches(spawn).count();
            assert_eq!(named, if wire == Wire::Gemini { 3 } else { 2 }, "{}", seen[2].body);
        }
    }
}
