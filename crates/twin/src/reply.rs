//! What a request is answered with.

use bytes::Bytes;
use http::HeaderMap;
use jiff::fmt::rfc2822::DateTimePrinter;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use junto_llm::wire::Mode;
use junto_llm::{Usage, Wire};

use crate::events::{DEFAULT_CHUNK, Events};
use crate::exchange::Shared;
use crate::fault::{Fault, RetryAfter};
use crate::frames::{Frames, Framing};
use crate::models;
use crate::play::{PlayError, Step};
use crate::route::What;
use crate::send::Pace;
use crate::strict::{Refusal, Seen, envelope};

/// The header that asks for a fault.
const FAULT_HEADER: &str = "x-twin-fault";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream; charset=utf-8";
/// The limits that the twin reports.
const REQUESTS_LIMIT: u64 = 1_000_000;
const TOKENS_LIMIT: u64 = 10_000_000;

/// A request, read and routed.
pub(crate) struct Asked<'a> {
    pub(crate) number: u64,
    pub(crate) wire: Wire,
    pub(crate) what: What,
    /// With its query.
    pub(crate) path: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a Bytes,
}

/// A reply, ready to be sent.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) frames: Frames,
    pub(crate) pace: Pace,
    pub(crate) fault: Fault,
    pub(crate) usage: Option<Usage>,
    /// What of it the first frame tells.
    pub(crate) usage_at_start: Option<Usage>,
    pub(crate) step: Option<usize>,
    pub(crate) wire: Wire,
    content_type: &'static str,
}

/// Answers a request.
pub(crate) fn to(shared: &Shared, asked: &Asked<'_>) -> Reply {
    let wire = asked.wire;
    let reply = match &asked.what {
        What::Answer => answer(shared, asked),
        What::Count => count(shared, asked),
        What::Models => list(shared, asked, Some(models::list(wire))),
        What::Model(id) => list(shared, asked, models::one(wire, id)),
        What::WrongMethod => Err(refusal(wire, 405, "This path takes another method.")),
        What::Nothing => Err(refusal(wire, 404, "There is no such path.")),
    };
    reply.unwrap_or_else(|refusal| Reply::whole(wire, refusal.status, &refusal.body, Fault::default()))
}

fn refusal(wire: Wire, status: u16, message: &str) -> Refusal {
    Refusal { status, body: envelope(wire, status, message) }
}

fn answer(shared: &Shared, asked: &Asked<'_>) -> Result<Reply, Refusal> {
    let seen = shared.checker.check(asked.wire, asked.path, asked.headers, asked.body)?;
    let outside = outside_fault(shared, asked)?;
    let fails = |fault: &Fault| fault.error_event.is_some() && seen.mode == Mode::Complete;
    let play = |number| {
        let mut scene = shared.stage.play(&seen, number, outside)?;
        if !scene.fault.as_ref().is_some_and(fails)
            && let Some(response) = &mut scene.response
        {
            shared.checker.issue(&seen, response);
        }
        Ok(scene)
    };
    let scene = shared
        .again
        .answer(asked.path, asked.body, asked.number, play)
        .map_err(|error: PlayError| refusal(asked.wire, 500, &error.to_string()))?;
    let fault = scene.fault.unwrap_or_default();
    let pace = shared.stage.step(scene.step).map(Pace::of).unwrap_or_default();
    let reply = match scene.response {
        Some(response) if !fails(&fault) => {
            let usage = Some(response.usage.clone());
            match seen.mode {
                Mode::Complete => {
                    let body = asked.wire.codec().encode_response(&response);
                    Reply { usage, ..Reply::whole(asked.wire, 200, &body, fault) }
                }
                Mode::Stream => {
                    let chunk = shared.stage.step(scene.step).and_then(|step: &Step| step.chunk);
                    let events = Events::new(response, chunk.unwrap_or(DEFAULT_CHUNK));
                    let usage_at_start = usage.as_ref().filter(|_| asked.wire == Wire::Anthropic).map(read);
                    Reply { usage, usage_at_start, ..Reply::stream(&seen, asked.path, events, fault) }
                }
            }
        }
        _ => failure(asked.wire, fault),
    };
    Ok(Reply { pace, step: Some(scene.step), ..reply })
}

/// What a request used before anything was answered.
fn read(usage: &Usage) -> Usage {
    Usage { output: 0, total: usage.input, reasoning: None, ..usage.clone() }
}

fn count(shared: &Shared, asked: &Asked<'_>) -> Result<Reply, Refusal> {
    let seen = shared.checker.check(asked.wire, asked.path, asked.headers, asked.body)?;
    let tokens = seen.input_tokens;
    let body = match asked.wire {
        Wire::Gemini => json!({
            "totalTokens": tokens,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}],
        }),
        _ => json!({"input_tokens": tokens}),
    };
    Ok(plain(asked.wire, &body, outside_fault(shared, asked)?))
}

fn list(shared: &Shared, asked: &Asked<'_>, body: Option<Value>) -> Result<Reply, Refusal> {
    shared.checker.check_key(asked.wire, asked.path, asked.headers)?;
    let body = body.ok_or_else(|| refusal(asked.wire, 404, "There is no such model."))?;
    Ok(plain(asked.wire, &body, outside_fault(shared, asked)?))
}

/// A whole body, unless a fault answers instead.
fn plain(wire: Wire, body: &Value, fault: Option<Fault>) -> Reply {
    match fault {
        Some(fault) if fault.status.is_some() || fault.error_event.is_some() => failure(wire, fault),
        fault => Reply::whole(wire, 200, body, fault.unwrap_or_default()),
    }
}

fn outside_fault(shared: &Shared, asked: &Asked<'_>) -> Result<Option<Fault>, Refusal> {
    let header = asked.headers.get(FAULT_HEADER).map(|value| value.to_str().unwrap_or_default());
    let refuse = |e: String| refusal(asked.wire, 400, &format!("{FAULT_HEADER}: {e}"));
    shared.faults.next(header).map_err(refuse)
}

/// The reply of a fault that answers instead of the play.
fn failure(wire: Wire, fault: Fault) -> Reply {
    let status = fault.status.unwrap_or(500);
    let told = format!("The twin was told to fail with status {status}.");
    let message = fault.message.as_deref().unwrap_or(&told);
    let body = fault.body.clone().unwrap_or_else(|| envelope(wire, status, message));
    Reply::whole(wire, status, &body, fault)
}

impl Reply {
    /// A refusal in the wire's form.
    pub(crate) fn refused(wire: Wire, status: u16, message: &str) -> Self {
        Self::whole(wire, status, &envelope(wire, status, message), Fault::default())
    }

    fn whole(wire: Wire, status: u16, body: &Value, fault: Fault) -> Self {
        let frames = Frames::whole(body, &fault);
        Self::of(wire, status, JSON, frames, fault)
    }

    fn stream(seen: &Seen, path: &str, events: Events, fault: Fault) -> Self {
        let framing = framing(seen, path);
        let frames = Frames::stream(seen.wire, events, framing, &fault);
        let content_type = if framing == Framing::Array { JSON } else { EVENTS };
        Self::of(seen.wire, 200, content_type, frames, fault)
    }

    fn of(wire: Wire, status: u16, content_type: &'static str, frames: Frames, fault: Fault) -> Self {
        Self {
            status,
            frames,
            pace: Pace::default(),
            fault,
            usage: None,
            usage_at_start: None,
            step: None,
            wire,
            content_type,
        }
    }

    /// The headers, for the request with this number.
    pub(crate) fn headers(&self, number: u64) -> Vec<(&'static str, String)> {
        let content_type = self.fault.content_type.clone().unwrap_or_else(|| self.content_type.to_owned());
        let mut headers = vec![("content-type", content_type)];
        let id = format!("req_twin{number:06}");
        let requests = (REQUESTS_LIMIT, REQUESTS_LIMIT.saturating_sub(number));
        let used = self.usage.as_ref().map_or(0, |usage| usage.total);
        let tokens = (TOKENS_LIMIT, TOKENS_LIMIT.saturating_sub(used));
        match self.wire {
            Wire::Anthropic => headers.extend([
                ("request-id", id),
                ("anthropic-ratelimit-requests-limit", requests.0.to_string()),
                ("anthropic-ratelimit-requests-remaining", requests.1.to_string()),
                ("anthropic-ratelimit-tokens-limit", tokens.0.to_string()),
                ("anthropic-ratelimit-tokens-remaining", tokens.1.to_string()),
            ]),
            Wire::Responses | Wire::Chat => headers.extend([
                ("x-request-id", id),
                ("x-ratelimit-limit-requests", requests.0.to_string()),
                ("x-ratelimit-remaining-requests", requests.1.to_string()),
                ("x-ratelimit-limit-tokens", tokens.0.to_string()),
                ("x-ratelimit-remaining-tokens", tokens.1.to_string()),
            ]),
            Wire::Gemini => {}
        }
        let wait = match &self.fault.retry_after {
            Some(RetryAfter::Seconds(seconds)) => Some(seconds.to_string()),
            Some(RetryAfter::Text(text)) => Some(text.clone()),
            None => self.fault.retry_after_date.map(http_date),
        };
        headers.extend(wait.map(|wait| ("retry-after", wait)));
        headers.extend(self.fault.retry_after_ms.map(|ms| ("retry-after-ms", ms.to_string())));
        headers
    }
}

/// The HTTP date this many seconds from now.
#[expect(clippy::disallowed_methods, reason = "the client that reads the date compares it with its clock")]
fn http_date(seconds: u32) -> String {
    let then = Timestamp::now().saturating_add(SignedDuration::from_secs(seconds.into()));
    then.ok()
        .and_then(|then| DateTimePrinter::new().timestamp_to_rfc9110_string(&then).ok())
        .unwrap_or_default()
}

fn framing(seen: &Seen, path: &str) -> Framing {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    match seen.wire {
        Wire::Gemini if !query.split('&').any(|pair| pair == "alt=sse") => Framing::Array,
        Wire::Chat if seen.body["stream_options"]["include_usage"] != true => Framing::SseWithoutUsage,
        _ => Framing::Sse,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::seen;
    use crate::fault::After;

    fn headers(fault: Fault) -> Vec<(&'static str, String)> {
        Reply::whole(Wire::Gemini, 200, &Value::Null, fault).headers(1)
    }

    #[test]
    fn a_client_is_asked_to_wait_in_every_form() {
        let seconds = Fault { retry_after: Some(RetryAfter::Seconds(3)), ..Fault::default() };
        assert_eq!(headers(seconds)[1], ("retry-after", "3".to_owned()));
        let text = Fault { retry_after: Some(RetryAfter::Text("soon".into())), ..Fault::default() };
        assert_eq!(headers(text)[1], ("retry-after", "soon".to_owned()));
        let ms = Fault { retry_after_ms: Some(250), ..Fault::default() };
        assert_eq!(headers(ms)[1], ("retry-after-ms", "250".to_owned()));
        let date = Fault { retry_after_date: Some(60), ..Fault::default() };
        let (name, value) = headers(date).remove(1);
        assert_eq!(name, "retry-after");
        assert!(value.len() == 29 && value.ends_with(" GMT"), "{value}");
    }

    #[test]
    fn the_content_type_can_be_wrong() {
        let fault = Fault { content_type: Some("text/html".into()), ..Fault::default() };
        assert_eq!(headers(fault)[0], ("content-type", "text/html".to_owned()));
        assert_eq!(headers(Fault::default())[0], ("content-type", JSON.to_owned()));
    }

    #[test]
    fn a_failure_has_the_envelope_of_the_wire_or_the_body_it_is_given() {
        let text =
            |reply: Reply| reply.frames.map(|f| String::from_utf8_lossy(&f).into_owned()).collect::<String>();
        let told = Fault { message: Some("too much".into()), ..Fault::status(429) };
        let reply = failure(Wire::Chat, told);
        assert_eq!(reply.status, 429);
        assert_eq!(text(reply), envelope(Wire::Chat, 429, "too much").to_string());
        let body = json!({"error": {"code": "insufficient_quota"}});
        let given = Fault { body: Some(body.clone()), ..Fault::status(429) };
        assert_eq!(text(failure(Wire::Chat, given)), body.to_string());
        let event = Fault { error_event: Some(After(1)), ..Fault::default() };
        assert_eq!(failure(Wire::Chat, event).status, 500);
    }

    #[test]
    fn framing_follows_the_request() {
        let on = |wire, body| Seen { wire, body, ..seen("x") };
        let with_usage = json!({"stream_options": {"include_usage": true}});
        for (seen, path, expected) in [
            (on(Wire::Chat, json!({})), "/", Framing::SseWithoutUsage),
            (on(Wire::Chat, with_usage), "/", Framing::Sse),
            (on(Wire::Gemini, json!({})), "/m:streamGenerateContent", Framing::Array),
            (on(Wire::Gemini, json!({})), "/m:streamGenerateContent?key=k&alt=sse", Framing::Sse),
            (on(Wire::Anthropic, json!({})), "/", Framing::Sse),
        ] {
            assert_eq!(framing(&seen, path), expected, "{path}");
        }
    }
}
