//! Results: how a turn ended.

use junto_llm::{Error, ErrorKind};
use serde_json::Value;

use super::{ClaudeParser, text};
use crate::{CliEvent, Report, Used, Verdict};

impl ClaudeParser {
    pub(super) fn report(&mut self, result: &Value, events: &mut Vec<CliEvent>) {
        if let Some(message) = denied(&result["permission_denials"]) {
            events.push(CliEvent::Warning { code: "permission_denied", message });
        }
        let verdict = verdict(result);
        let words = text(result, "result");
        // What a failed result says is an error and not an answer.
        let answered = matches!(verdict, Verdict::Done) && !words.is_empty();
        events.push(CliEvent::Report(Box::new(Report {
            verdict,
            text: if answered { words.to_owned() } else { self.answer.text.clone() },
            stop_reason: result["stop_reason"].as_str().map(str::to_owned),
            used: Used::Turn(self.accounts.take(result, &self.model)),
            last: false,
        })));
    }
}

fn verdict(result: &Value) -> Verdict {
    let subtype = text(result, "subtype");
    if matches!(subtype, "error_max_turns" | "error_max_budget_usd") {
        return Verdict::Limit(words(result));
    }
    if text(result, "terminal_reason").starts_with("aborted") {
        return Verdict::Interrupted;
    }
    // A call to the API that failed is a `success` with `is_error`.
    if result["is_error"] == false && subtype == "success" {
        return Verdict::Done;
    }
    Verdict::Failed(failure(result))
}

fn failure(result: &Value) -> Error {
    let status = result["api_error_status"].as_u64().and_then(|status| u16::try_from(status).ok());
    let kind = match (text(result, "terminal_reason"), text(result, "stop_reason"), status) {
        ("prompt_too_long", _, _) => ErrorKind::ContextLength,
        (_, "refusal", _) => ErrorKind::ContentFilter,
        (_, _, Some(status)) => ErrorKind::from_status(status),
        _ => ErrorKind::Unknown,
    };
    let mut error = Error::new(kind, words(result));
    if let Some(status) = status {
        error = error.with_status(status);
    }
    match text(result, "api_error_type") {
        "" => error,
        code => error.with_code(code),
    }
}

/// What the client says about it.
fn words(result: &Value) -> String {
    let errors = result["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let errors: Vec<&str> = errors.iter().filter_map(Value::as_str).collect();
    match (text(result, "result"), errors.is_empty()) {
        ("", true) => format!("it ended with {:?}", text(result, "subtype")),
        ("", false) => errors.join("; "),
        (words, _) => words.to_owned(),
    }
}

/// The tools that the agent wanted and was not allowed.
fn denied(denials: &Value) -> Option<String> {
    let mut names: Vec<&str> = denials.as_array()?.iter().map(|denial| text(denial, "tool_name")).collect();
    names.dedup();
    if names.is_empty() { None } else { Some(format!("not allowed: {}", names.join(", "))) }
}
