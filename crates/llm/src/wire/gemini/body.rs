//! The body of an answer, or one chunk of it: borrowed, and typed as far as it is read.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::part::WirePart;
use crate::{Error, ErrorKind, Finish, FinishReason, Usage};

/// A string that is borrowed where it has no escapes.
#[derive(Debug)]
pub(super) struct Str<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Str<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E>(self, text: String) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow)]
    pub(super) response_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) model_version: Option<Str<'a>>,
    /// Kept as text: a stream repeats it in every chunk, and only the last one counts.
    #[serde(borrow)]
    pub(super) usage_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt_feedback: Option<PromptFeedback<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    content: Option<Parts>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) grounding_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) url_context_metadata: Option<&'a RawValue>,
}

#[derive(Debug, serde::Deserialize)]
struct Parts {
    parts: Option<Vec<WirePart>>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback<'a> {
    #[serde(borrow)]
    block_reason: Option<Str<'a>>,
    #[serde(borrow)]
    block_reason_message: Option<Str<'a>>,
}

impl<'a> Body<'a> {
    /// The first candidate, the only one that is read.
    pub(super) fn take_candidate(&mut self) -> Option<Candidate<'a>> {
        self.candidates.take()?.into_iter().next()
    }

    /// Why the prompt was refused, if it was.
    pub(super) fn refusal(&self) -> Option<Error> {
        let feedback = self.prompt_feedback.as_ref()?;
        let Str(reason) = feedback.block_reason.as_ref()?;
        let message = match &feedback.block_reason_message {
            Some(Str(message)) => format!("the prompt was blocked: {message}"),
            None => format!("the prompt was blocked: {reason}"),
        };
        Some(Error::new(ErrorKind::ContentFilter, message).with_code(&**reason))
    }
}

impl Candidate<'_> {
    /// The parts; empty ones are left out.
    pub(super) fn take_parts(&mut self) -> impl Iterator<Item = WirePart> + use<> {
        let parts = self.content.take().and_then(|content| content.parts).unwrap_or_default();
        parts.into_iter().filter(|part| !part.is_empty())
    }
}

/// The API's finish reasons and ours. The first of each of ours is the one that is written.
const REASONS: [(&str, Finish); 18] = [
    ("STOP", Finish::Stop),
    ("MAX_TOKENS", Finish::Length),
    ("SAFETY", Finish::ContentFilter),
    ("RECITATION", Finish::ContentFilter),
    ("BLOCKLIST", Finish::ContentFilter),
    ("PROHIBITED_CONTENT", Finish::ContentFilter),
    ("SPII", Finish::ContentFilter),
    ("IMAGE_SAFETY", Finish::ContentFilter),
    ("IMAGE_PROHIBITED_CONTENT", Finish::ContentFilter),
    ("IMAGE_RECITATION", Finish::ContentFilter),
    ("MALFORMED_FUNCTION_CALL", Finish::Error),
    ("UNEXPECTED_TOOL_CALL", Finish::Error),
    ("TOO_MANY_TOOL_CALLS", Finish::Error),
    ("MALFORMED_RESPONSE", Finish::Error),
    ("OTHER", Finish::Other),
    ("LANGUAGE", Finish::Other),
    ("NO_IMAGE", Finish::Other),
    ("IMAGE_OTHER", Finish::Other),
];

/// Why the model stopped. The wire has no word for a stop to call tools: the parts tell.
pub(super) fn finish(raw: &str, has_calls: bool) -> FinishReason {
    let unified = REASONS.iter().find(|(name, _)| *name == raw).map_or(Finish::Other, |(_, finish)| *finish);
    let unified = if unified == Finish::Stop && has_calls { Finish::ToolCalls } else { unified };
    FinishReason::with_raw(unified, raw)
}

/// The wire's word for a reason: its own, where it has one that fits.
pub(super) fn finish_word(reason: &FinishReason) -> &str {
    let unified = match reason.unified {
        Finish::ToolCalls => Finish::Stop,
        // There is no general word for a failure, and the special ones would claim too much.
        Finish::Error if reason.raw.is_none() => Finish::Other,
        unified => unified,
    };
    let fits = |raw: &&str| REASONS.contains(&(raw, unified));
    let first = || REASONS.iter().find(|(_, finish)| *finish == unified).map_or("OTHER", |(name, _)| name);
    reason.raw.as_deref().filter(fits).unwrap_or_else(first)
}

/// Token counts. The API leaves out zeros, and counts thoughts apart from the answer.
pub(super) fn usage(raw: &str) -> Usage {
    let Ok(raw) = serde_json::from_str::<Value>(raw) else { return Usage::default() };
    let count = |key: &str| raw.get(key).and_then(Value::as_u64);
    let sum = |a: &str, b: &str| count(a).unwrap_or(0).saturating_add(count(b).unwrap_or(0));
    let input = sum("promptTokenCount", "toolUsePromptTokenCount");
    let output = sum("candidatesTokenCount", "thoughtsTokenCount");
    Usage {
        total: count("totalTokenCount").unwrap_or(input.saturating_add(output)),
        reasoning: count("thoughtsTokenCount"),
        cache_read: count("cachedContentTokenCount"),
        raw: Some(raw),
        ..Usage::new(input, output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finish_reasons_are_unified() {
        let check = |raw: &str, calls: bool, expected: Finish| {
            let reason = finish(raw, calls);
            assert_eq!(reason, FinishReason::with_raw(expected, raw));
            if raw != "NEW" {
                assert_eq!(finish_word(&reason), raw);
            }
        };
        check("STOP", false, Finish::Stop);
        check("STOP", true, Finish::ToolCalls);
        check("MAX_TOKENS", true, Finish::Length);
        check("SPII", false, Finish::ContentFilter);
        check("UNEXPECTED_TOOL_CALL", false, Finish::Error);
        check("LANGUAGE", false, Finish::Other);
        check("NEW", false, Finish::Other);
    }

    #[test]
    fn foreign_finish_reasons_get_a_word() {
        let check = |unified: Finish, raw: Option<&str>, expected: &str| {
            let reason = FinishReason { unified, raw: raw.map(str::to_owned) };
            assert_eq!(finish_word(&reason), expected);
        };
        check(Finish::Stop, Some("end_turn"), "STOP");
        check(Finish::ToolCalls, Some("tool_use"), "STOP");
        check(Finish::Length, None, "MAX_TOKENS");
        check(Finish::ContentFilter, Some("refusal"), "SAFETY");
        check(Finish::Error, None, "OTHER");
        check(Finish::Other, None, "OTHER");
    }

    #[test]
    fn usage_is_inclusive() {
        let check = |raw: &str, expected: Usage| {
            let expected = Usage { raw: serde_json::from_str(raw).ok(), ..expected };
            assert_eq!(usage(raw), expected, "{raw}");
        };
        check("{}", Usage::default());
        check(r#"{"promptTokenCount":7}"#, Usage::new(7, 0));
        check(
            r#"{"promptTokenCount":10,"toolUsePromptTokenCount":2,"candidatesTokenCount":3,"thoughtsTokenCount":4,"cachedContentTokenCount":8,"totalTokenCount":19}"#,
            Usage { reasoning: Some(4), cache_read: Some(8), ..Usage::new(12, 7) },
        );
        check(r#"{"promptTokenCount":-1,"candidatesTokenCount":"x"}"#, Usage::default());
    }
}
