//! Input as lines of `stream-json`: messages of the user, and requests of whoever runs the program.
//!
//! Like the real one it begins with the first message, hears others while it works, answers requests, ends its turn
//! when it is interrupted, and ends when its input does.

use std::io::{self, BufRead as _};
use std::path::PathBuf;
use std::process::exit;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use serde_json::{Value, json};

/// How many messages may wait to be heard.
const WAITING: usize = 16;

/// What the user says.
pub(super) struct Dialogue {
    messages: Receiver<String>,
}

impl Dialogue {
    /// Listens from now on, on a thread of its own. `interrupted` is how a turn ends that is interrupted.
    pub(super) fn listen(interrupted: String, told: Option<PathBuf>) -> Self {
        let (sender, messages) = sync_channel(WAITING);
        std::thread::spawn(move || hear(&sender, &interrupted, told));
        Self { messages }
    }

    /// The next message; `None` at the end of the input.
    pub(super) fn next(&self) -> Option<String> {
        self.messages.recv().ok()
    }

    /// Waits for the end of the input.
    pub(super) fn wait(self) {
        while self.next().is_some() {}
    }
}

fn hear(messages: &SyncSender<String>, interrupted: &str, told: Option<PathBuf>) {
    let mut over = false;
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        if over {
            continue;
        }
        let Ok(value) = serde_json::from_str::<Value>(&line) else { exit(1) };
        match (value["type"].as_str(), value["request"]["subtype"].as_str()) {
            (Some("user"), _) => {
                let content = &value["message"]["content"];
                let text = content[0]["text"].as_str().or(content.as_str()).unwrap_or_default();
                if messages.send(text.to_owned()).is_err() {
                    return;
                }
            }
            (Some("control_request"), Some("interrupt")) => {
                answer(&value, &json!({"subtype": "success", "response": {"still_queued": []}}));
                // The test that looks for it fails if it is not there.
                let _ = super::note(told.as_deref(), interrupted);
                let _ = super::say_line(interrupted);
                over = true;
            }
            (Some("control_request"), Some("initialize")) => {
                answer(&value, &json!({"subtype": "success", "response": {"commands": []}}));
            }
            (Some("control_request"), _) => {
                answer(&value, &json!({"subtype": "error", "error": "unsupported_request"}));
            }
            _ => {}
        }
    }
    if over {
        // Whatever the turn was doing, it is over, and the program ends with its input.
        exit(1);
    }
}

fn answer(request: &Value, response: &Value) {
    let mut response = response.clone();
    response["request_id"] = request["request_id"].clone();
    // The reader may be gone.
    let _ = super::say_line(&json!({"type": "control_response", "response": response}).to_string());
}
