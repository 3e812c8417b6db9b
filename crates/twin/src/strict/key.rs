//! The key: where each wire carries it and how a wrong one is refused. Nothing here repeats a key.

use http::HeaderMap;
use junto_llm::Wire;
use serde_json::json;

use super::{Refusal, Verdict};

/// Checks the key a request carries.
pub(super) fn check(wire: Wire, key: &str, path: &str, headers: &HeaderMap) -> Verdict {
    let given = match wire {
        Wire::Anthropic => header(headers, "x-api-key").or_else(|| bearer(headers)),
        Wire::Responses | Wire::Chat => bearer(headers),
        Wire::Gemini => header(headers, "x-goog-api-key").or_else(|| query(path, "key")),
    };
    match given {
        Some(given) if given == key => Ok(()),
        Some(_) => Err(wrong(wire)),
        None => Err(missing(wire)),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = header(headers, "authorization")?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn query<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = path.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn wrong(wire: Wire) -> Refusal {
    match wire {
        Wire::Anthropic => Refusal::new(wire, 401, "invalid x-api-key"),
        Wire::Responses | Wire::Chat => Refusal::new(wire, 401, "Incorrect API key provided."),
        Wire::Gemini => {
            Refusal::gemini("API key not valid. Please pass a valid API key.").with_detail(json!({
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
                "metadata": {"service": "generativelanguage.googleapis.com"}
            }))
        }
    }
}

fn missing(wire: Wire) -> Refusal {
    match wire {
        Wire::Anthropic => Refusal::new(wire, 401, "x-api-key header is required"),
        Wire::Responses | Wire::Chat => Refusal::new(
            wire,
            401,
            "You didn't provide an API key: it goes into the Authorization header as a bearer token.",
        ),
        Wire::Gemini => Refusal::new(
            wire,
            403,
            "Method doesn't allow unregistered callers. Please use an API key to call this API.",
        ),
    }
}
