//! Anthropic Messages: what the API refuses.

mod blocks;
mod read;
mod tools;
mod turns;

#[cfg(test)]
mod session_tests;
#[cfg(test)]
mod tests;

use http::HeaderMap;
use junto_llm::Wire;
use serde_json::Value;

use super::schema::{self, Strictness};
use super::{Cx, Refusal, Verdict, json, model};

pub(super) use read::read;

/// The fields of a request, those of the betas included.
const FIELDS: &[&str] = &[
    "betas",
    "cache_control",
    "compaction",
    "container",
    "context_management",
    "diagnostics",
    "fallback_credit_token",
    "fallbacks",
    "inference_geo",
    "max_tokens",
    "mcp_servers",
    "messages",
    "metadata",
    "model",
    "output_config",
    "output_format",
    "safeguards",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "thread",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
    "user_profile_id",
    "workspace_id",
];

/// The versions of the API. The names are dates, so their order is that of time.
const VERSIONS: &[&str] = &["2026-10-21", "2023-06-01", "2023-01-01"];
/// The fields that the newest version no longer takes, whatever their value.
const REMOVED: &[&str] = &["temperature", "top_p", "top_k"];
const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];
const MAX_BREAKPOINTS: usize = 4;
const MIN_BUDGET: u64 = 1024;

/// Refuses what the Messages API refuses.
pub(super) fn check(body: &Value, mut cx: Cx<'_>) -> Verdict {
    let version = version(cx.headers)?;
    if !body.is_object() {
        return Err(bad("Input should be an object"));
    }
    known("", body, FIELDS)?;
    if version >= "2026-10-21" {
        no_longer_taken(body)?;
    }
    match body.get("model") {
        Some(Value::String(name)) if !name.is_empty() => model::exists(Wire::Anthropic, name)?,
        Some(Value::String(_)) => return Err(bad("model: String should have at least 1 character")),
        Some(_) => return Err(bad("model: Input should be a valid string")),
        None => return Err(bad("model: Field required")),
    }
    let max_tokens = max_tokens(body, cx.counting)?;
    sampling(body)?;
    thinking(body, max_tokens, cx.headers)?;
    output(body)?;
    tools::check(body)?;
    blocks::system(body)?;
    breakpoints(body)?;
    turns::check(body, &mut cx)
}

/// Anthropic's 400.
fn bad(message: impl AsRef<str>) -> Refusal {
    Refusal::anthropic(message)
}

/// Refuses a field that is not among the known ones; `at` is the way to the object.
fn known(at: &str, object: &Value, fields: &[&str]) -> Verdict {
    match json::unknown(object, fields) {
        Some(name) if at.is_empty() => Err(bad(format!("{name}: Extra inputs are not permitted"))),
        Some(name) => Err(bad(format!("{at}.{name}: Extra inputs are not permitted"))),
        None => Ok(()),
    }
}

fn version(headers: &HeaderMap) -> Result<&str, Refusal> {
    match headers.get("anthropic-version").map(|v| v.to_str().unwrap_or_default()) {
        None => Err(bad("anthropic-version: header is required")),
        Some(version) if !VERSIONS.contains(&version) => {
            Err(bad(format!("anthropic-version: \"{version}\" is not a valid version")))
        }
        Some(version) => Ok(version),
    }
}

/// Refuses what version 2026-10-21 took away: sampling parameters, documents in the assistant's
/// messages, and citations in the user's.
fn no_longer_taken(body: &Value) -> Verdict {
    if let Some(name) = REMOVED.iter().find(|name| body.get(**name).is_some()) {
        return Err(bad(format!("{name}: Extra inputs are not permitted")));
    }
    for (i, message) in body["messages"].as_array().into_iter().flatten().enumerate() {
        for (j, block) in message["content"].as_array().into_iter().flatten().enumerate() {
            let at = format!("messages.{i}.content.{j}");
            match (json::text(message, "role"), json::text(block, "type")) {
                (Some("assistant"), Some("document")) => {
                    return Err(bad(format!("{at}: `document` blocks can only be in `user` messages")));
                }
                (Some("user"), Some("text"))
                    if block["citations"].as_array().is_some_and(|c| !c.is_empty()) =>
                {
                    return Err(bad(format!("{at}.text.citations: not permitted in `user` messages")));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn max_tokens(body: &Value, counting: bool) -> Result<Option<u64>, Refusal> {
    match body.get("max_tokens") {
        None if counting => Ok(None),
        None => Err(bad("max_tokens: Field required")),
        Some(value) => match value.as_i64() {
            Some(n) if n >= 1 => Ok(Some(n.unsigned_abs())),
            Some(_) => Err(bad("max_tokens: must be greater than or equal to 1")),
            None => Err(bad("max_tokens: Input should be a valid integer")),
        },
    }
}

fn sampling(body: &Value) -> Verdict {
    for name in ["temperature", "top_p"] {
        match json::field(body, name).map(Value::as_f64) {
            Some(Some(x)) if !(0.0..=1.0).contains(&x) => return Err(bad(format!("{name}: range: 0..1"))),
            Some(None) => return Err(bad(format!("{name}: Input should be a valid number"))),
            _ => {}
        }
    }
    if json::field(body, "stream").is_some_and(|v| !v.is_boolean()) {
        return Err(bad("stream: Input should be a valid boolean"));
    }
    if let Some(stops) = json::field(body, "stop_sequences") {
        let Some(stops) = stops.as_array() else {
            return Err(bad("stop_sequences: Input should be a valid list"));
        };
        if stops.iter().any(|stop| stop.as_str().is_none_or(|text| text.trim().is_empty())) {
            return Err(bad("stop_sequences: each stop sequence must contain non-whitespace"));
        }
    }
    if let Some(metadata) = json::field(body, "metadata") {
        known("metadata", metadata, &["user_id"])?;
    }
    Ok(())
}

/// Whether the request turns thinking on.
fn thinks(body: &Value) -> bool {
    body.get("thinking")
        .and_then(|t| json::text(t, "type"))
        .is_some_and(|t| t == "enabled" || t == "adaptive")
}

fn thinking(body: &Value, max_tokens: Option<u64>, headers: &HeaderMap) -> Verdict {
    let Some(config) = json::field(body, "thinking") else { return Ok(()) };
    match json::text(config, "type") {
        Some("enabled") => {
            known("thinking.enabled", config, &["type", "budget_tokens", "display", "block_binding"])?;
            let budget = config
                .get("budget_tokens")
                .ok_or_else(|| bad("thinking.enabled.budget_tokens: Field required"))?;
            let budget = budget.as_u64().unwrap_or(0);
            if budget < MIN_BUDGET {
                return Err(bad(
                    "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
                ));
            }
            // Interleaved thinking spreads its budget over all the rounds of a turn.
            let interleaved = headers
                .get_all("anthropic-beta")
                .iter()
                .any(|beta| beta.to_str().is_ok_and(|beta| beta.contains("interleaved-thinking")));
            if !interleaved && max_tokens.is_some_and(|most| budget >= most) {
                return Err(bad("`max_tokens` must be greater than `thinking.budget_tokens`."));
            }
        }
        Some("adaptive") => known("thinking.adaptive", config, &["type", "display", "block_binding"])?,
        Some("disabled") => known("thinking.disabled", config, &["type"])?,
        Some("between_tools") => known("thinking.between_tools", config, &["type"])?,
        other => {
            return Err(bad(format!(
                "thinking: Input tag '{}' found using 'type' does not match any of the expected tags: \
                 'adaptive', 'between_tools', 'disabled', 'enabled'",
                other.unwrap_or_default()
            )));
        }
    }
    if !thinks(body) {
        return Ok(());
    }
    if json::field(body, "temperature")
        .and_then(Value::as_f64)
        .is_some_and(|t| (t - 1.0).abs() > f64::EPSILON)
    {
        return Err(bad("`temperature` may only be set to 1 when thinking is enabled."));
    }
    if json::field(body, "top_p").and_then(Value::as_f64).is_some_and(|p| p < 0.95) {
        return Err(bad("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."));
    }
    if json::field(body, "top_k").is_some() {
        return Err(bad("`top_k` must be unset when thinking is enabled."));
    }
    let choice = body.get("tool_choice").and_then(|choice| json::text(choice, "type"));
    if matches!(choice, Some("any" | "tool")) {
        return Err(bad("Thinking may not be enabled when tool_choice forces tool use."));
    }
    Ok(())
}

fn output(body: &Value) -> Verdict {
    if let Some(config) = json::field(body, "output_config") {
        known("output_config", config, &["effort", "format", "task_budget"])?;
        if let Some(effort) = json::field(config, "effort")
            && !effort.as_str().is_some_and(|name| EFFORTS.contains(&name))
        {
            return Err(bad(format!(
                "output_config.effort: Input should be one of {}",
                json::choices(EFFORTS)
            )));
        }
        if let Some(format) = json::field(config, "format") {
            output_format("output_config.format", format)?;
        }
    }
    json::field(body, "output_format").map_or(Ok(()), |format| output_format("output_format", format))
}

fn output_format(at: &str, format: &Value) -> Verdict {
    if json::text(format, "type") != Some("json_schema") {
        return Err(bad(format!("{at}.type: Input should be 'json_schema'")));
    }
    let Some(shape) = json::field(format, "schema") else {
        return Err(bad(format!("{at}.schema: Field required")));
    };
    if !schema::is_schema(shape) {
        return Err(bad(format!("{at}.schema: JSON schema is invalid. It must match draft 2020-12")));
    }
    match schema::strict_fault(shape, Strictness::Closed) {
        Some((_, fault)) => Err(bad(format!("{at}.schema: {fault}"))),
        None => Ok(()),
    }
}

/// Every `cache_control` of a request, in the order of the prompt.
fn breakpoints(body: &Value) -> Verdict {
    let mut found: Vec<&Value> = Vec::new();
    let blocks = json::list(body, "tools")
        .iter()
        .chain(json::list(body, "system"))
        .chain(json::list(body, "messages").iter().flat_map(|message| json::list(message, "content")));
    for block in blocks {
        found.extend(
            json::list(block, "content").iter().filter_map(|inner| json::field(inner, "cache_control")),
        );
        found.extend(json::field(block, "cache_control"));
    }
    found.extend(json::field(body, "cache_control"));
    if found.len() > MAX_BREAKPOINTS {
        return Err(bad(format!(
            "A maximum of 4 blocks with cache_control may be provided. Found {}.",
            found.len()
        )));
    }
    let mut short = false;
    for control in found {
        if json::text(control, "type") != Some("ephemeral") {
            return Err(bad("cache_control.type: Input should be 'ephemeral'"));
        }
        match json::text(control, "ttl") {
            None | Some("5m") => short = true,
            Some("1h") if short => {
                return Err(bad("a ttl='1h' cache_control block must not come after a ttl='5m' block"));
            }
            Some("1h") => {}
            Some(_) => return Err(bad("cache_control.ephemeral.ttl: Input should be '5m' or '1h'")),
        }
    }
    Ok(())
}
