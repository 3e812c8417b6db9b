//! The control protocol of `claude --input-format stream-json`.
//!
//! Lines of JSON go both ways. Ours are messages of the user, which enter the conversation after the current round
//! of tools, and requests (`initialize`, `interrupt`), which are answered in lines that nobody needs. Its own
//! requests are about what was not asked for (hooks, servers, leave for a tool); they are all refused, so that it
//! does not wait for an answer: what it may do was said before it started.

use serde_json::{Value, json};

/// No request is longer; what is, is an answer of a tool.
const LONGEST_REQUEST: usize = 256 << 10;

/// What was said so far.
#[derive(Default)]
pub(super) struct Claude {
    requests: u32,
}

impl Claude {
    pub(super) fn begin(&mut self, prompt: &str, out: &mut Vec<u8>) {
        self.request("initialize", out);
        say(&user(prompt), out);
    }

    pub(super) fn steer(text: &str, out: &mut Vec<u8>) {
        say(&user(text), out);
    }

    pub(super) fn interrupt(&mut self, out: &mut Vec<u8>) {
        self.request("interrupt", out);
    }

    pub(super) fn hear(line: &[u8], out: &mut Vec<u8>) {
        if let Some(answer) = answer(line) {
            say(&answer, out);
        }
    }

    fn request(&mut self, subtype: &str, out: &mut Vec<u8>) {
        self.requests += 1;
        let id = format!("junto-{}", self.requests);
        let request = json!({"subtype": subtype});
        say(&json!({"type": "control_request", "request_id": id, "request": request}), out);
    }
}

fn user(text: &str) -> Value {
    json!({
        "type": "user",
        "message": {"role": "user", "content": [{"type": "text", "text": text}]},
        "parent_tool_use_id": null,
    })
}

/// The refusal of a request; `None` if a line is none.
fn answer(line: &[u8]) -> Option<Value> {
    let mentions = |word: &[u8]| line.windows(word.len()).any(|window| window == word);
    if line.len() > LONGEST_REQUEST || !mentions(b"\"control_request\"") {
        return None;
    }
    let value: Value = serde_json::from_slice(line).ok()?;
    if value["type"] != "control_request" {
        return None;
    }
    let id = &value["request_id"];
    let response = match value["request"]["subtype"].as_str() {
        Some("can_use_tool") => {
            let decision = json!({"behavior": "deny", "message": "Nobody can be asked. Do without it."});
            json!({"subtype": "success", "request_id": id, "response": decision})
        }
        _ => json!({"subtype": "error", "request_id": id, "error": "not supported"}),
    };
    Some(json!({"type": "control_response", "response": response}))
}

fn say(value: &Value, out: &mut Vec<u8>) {
    out.extend_from_slice(value.to_string().as_bytes());
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(out: &[u8]) -> Vec<Value> {
        let text = std::str::from_utf8(out).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn what_is_said() {
        let (mut claude, mut out) = (Claude::default(), Vec::new());
        claude.begin("-do\nit", &mut out);
        Claude::steer("faster", &mut out);
        claude.interrupt(&mut out);
        let [first, prompt, steered, last] = &lines(&out)[..] else { panic!("{out:?}") };
        assert_eq!(first["request"]["subtype"], "initialize");
        assert_eq!(prompt["message"]["content"][0]["text"], "-do\nit");
        assert_eq!(steered["message"]["content"][0]["text"], "faster");
        assert_eq!(last["request"]["subtype"], "interrupt");
        assert_ne!(first["request_id"], last["request_id"]);
    }

    #[test]
    fn requests_are_refused_and_nothing_else_is_answered() {
        let hear = |line: &Value| {
            let mut out = Vec::new();
            Claude::hear(line.to_string().as_bytes(), &mut out);
            lines(&out)
        };
        let request = |subtype: &str| json!({"type": "control_request", "request_id": "7", "request": {"subtype": subtype}});
        let refused = &hear(&request("can_use_tool"))[0]["response"];
        assert_eq!((&refused["request_id"], &refused["response"]["behavior"]), (&json!("7"), &json!("deny")));
        assert_eq!(hear(&request("hook_callback"))[0]["response"]["subtype"], "error");
        assert!(hear(&json!({"type": "control_response", "response": {}})).is_empty());
        assert!(hear(&json!({"type": "user", "text": "\"control_request\""})).is_empty());
    }
}
