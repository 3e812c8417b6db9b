//! Results: how a turn ended.

use junto_llm::Error;
use serde_json::Value;

use super::ClaudeParser;
use crate::fields::{list, status, text};
use crate::{CliEvent, Report, Used, Verdict, failure};

/// How a turn ended that was interrupted while the model was asked.
const CUT_OFF: &str = "aborted_streaming";

impl ClaudeParser {
    pub(super) fn report(&mut self, result: &Value, events: &mut Vec<CliEvent>) {
        if let Some(message) = denied(&result["permission_denials"]) {
            events.push(CliEvent::Warning { code: "permission_denied", message });
        }
        let verdict = verdict(result, self.limit.as_ref());
        let words = text(result, "result");
        // What a failed result says is an error and not an answer.
        let answered = matches!(verdict, Verdict::Done) && !words.is_empty();
        // Told once: a later result without a text of its own adds nothing.
        let last_text = std::mem::take(&mut self.answer.text);
        let used = self.accounts.take(result, &self.model);
        // A call that was cut off is not counted, and was not for nothing; the first may not have been heard of.
        let began = std::mem::take(&mut self.began);
        let cut_off = text(result, "terminal_reason") == CUT_OFF || began && used.is_empty();
        events.push(CliEvent::Report(Box::new(Report {
            verdict,
            text: if answered { words.to_owned() } else { last_text },
            stop_reason: result["stop_reason"].as_str().map(str::to_owned),
            used: Used::of_turn(used, cut_off),
            last: false,
        })));
    }
}

/// A limit of the account that was reached.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    /// Which, as the client calls it.
    kind: String,
    /// When it is over, in seconds since 1970.
    reset: Option<u64>,
}

impl Limit {
    /// The limit that an event tells, if it is reached; it is told as a warning if it is only near.
    pub(super) fn told(info: &Value, events: &mut Vec<CliEvent>) -> Option<Self> {
        let (state, kind) = (text(info, "status"), text(info, "rateLimitType"));
        if matches!(state, "" | "allowed") {
            return None;
        }
        let reset = info["resetsAt"].as_u64();
        let until = reset.map(|reset| format!(" until {reset}")).unwrap_or_default();
        let message = format!("the limit {kind} is {state}{until}");
        events.push(CliEvent::Warning { code: "rate_limit", message });
        (state == "rejected").then(|| Self { kind: kind.to_owned(), reset })
    }
}

fn verdict(result: &Value, limit: Option<&Limit>) -> Verdict {
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
    Verdict::Failed(failed(result, limit))
}

fn failed(result: &Value, limit: Option<&Limit>) -> Error {
    let (code, status) = (text(result, "api_error_type"), status(result, "api_error_status"));
    let kind = match (text(result, "terminal_reason"), text(result, "stop_reason")) {
        (reason @ "prompt_too_long", _) | (_, reason @ "refusal") => reason,
        _ => code,
    };
    let limit =
        limit.filter(|_| matches!(status, None | Some(429)) && matches!(kind, "" | "rate_limit_error"));
    let error = match limit {
        Some(Limit { kind, reset }) => {
            let reset = reset.map(|reset| format!("|{reset}")).unwrap_or_default();
            failure::classify(kind, &format!("{}{reset}", words(result)), status)
        }
        None => failure::classify(kind, &words(result), status),
    };
    if code.is_empty() || error.code().is_some() { error } else { error.with_code(code) }
}

/// What the client says about it.
fn words(result: &Value) -> String {
    let errors: Vec<&str> = list(result, "errors").iter().filter_map(Value::as_str).collect();
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
