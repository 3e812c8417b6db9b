//! What the fake says when it has no recording to replay.

use serde_json::{Value, json};

/// The session of a run that resumes none.
pub(super) const SESSION: &str = "00000000-0000-4000-8000-000000000001";

const MODEL: &str = "claude-opus-5-5";
const MESSAGE: &str = "msg_scripted";

/// What is no event, and events that nobody knows. None of it is an answer.
pub(super) const GARBAGE: &[u8] = b"warning: this is not JSON\n\
    \xff\xfe\x00\x01\n\
    \n\
    [1, 2, 3]\n\
    {\"type\": \"from_the_future\", \"result\": \"not an answer\"}\n\
    {\"type\": 7}\n\
    {\"type\": \"assistant\", \"message\": \"not an object\"}\n\
    {\"type\": \"system\", \"subtype\": \"from_the_future\"}\n\
    {\"type\": \"result\"\n";

/// The answer to a prompt.
pub(super) fn words(prompt: &str) -> String {
    format!("You said: {prompt}")
}

/// Repeats the prompt as an answer, in events.
pub(super) fn answer(session: &str, prompt: &str, partial: bool) -> Vec<String> {
    let text = words(prompt);
    let mut lines = vec![json!({
        "type": "system", "subtype": "init", "session_id": session, "model": MODEL, "tools": [],
    })];
    let stream = |event: Value| json!({"type": "stream_event", "event": event, "parent_tool_use_id": null});
    if partial {
        let half = text.floor_char_boundary(text.len() / 2);
        lines.push(stream(json!({"type": "message_start", "message": {"id": MESSAGE, "model": MODEL}})));
        let block = json!({"type": "text", "text": ""});
        lines.push(stream(json!({"type": "content_block_start", "index": 0, "content_block": block})));
        for piece in [&text[..half], &text[half..]] {
            let delta = json!({"type": "text_delta", "text": piece});
            lines.push(stream(json!({"type": "content_block_delta", "index": 0, "delta": delta})));
        }
    }
    let content = json!([{"type": "text", "text": text}]);
    lines.push(json!({
        "type": "assistant",
        "message": {"id": MESSAGE, "model": MODEL, "role": "assistant", "content": content},
        "parent_tool_use_id": null,
    }));
    if partial {
        lines.push(stream(json!({"type": "content_block_stop", "index": 0})));
        lines.push(stream(json!({"type": "message_stop"})));
    }
    let mut end = result(session);
    end["subtype"] = json!("success");
    end["is_error"] = json!(false);
    end["result"] = json!(text);
    end["stop_reason"] = json!("end_turn");
    end["terminal_reason"] = json!("completed");
    lines.push(end);
    lines.iter().map(Value::to_string).collect()
}

/// Repeats what the user said while it worked.
pub(super) fn steered(message: &str) -> String {
    let content = json!([{"type": "text", "text": format!("And: {message}")}]);
    let message = json!({"id": "msg_steered", "model": MODEL, "role": "assistant", "content": content});
    json!({"type": "assistant", "message": message, "parent_tool_use_id": null}).to_string()
}

/// The end of a turn that was interrupted while its tools ran.
pub(super) fn interrupted(session: &str) -> String {
    let mut end = result(session);
    end["subtype"] = json!("error_during_execution");
    end["is_error"] = json!(true);
    end["errors"] = json!(["interrupted"]);
    end["terminal_reason"] = json!("aborted_tools");
    end.to_string()
}

fn result(session: &str) -> Value {
    let used = json!({
        "inputTokens": 100, "outputTokens": 10, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0,
        "costUSD": 0.0006, "costBasis": "list",
    });
    json!({
        "type": "result", "session_id": session, "num_turns": 1, "total_cost_usd": 0.0006,
        "usage": {"input_tokens": 100, "output_tokens": 10},
        "modelUsage": {MODEL: used}, "model_usage_since_last_result": {MODEL: used},
    })
}
