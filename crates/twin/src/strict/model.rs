//! The model: where a request names it, whether it exists, and how much it can read.

use junto_llm::Wire;
use junto_llm::wire::Mode;
use serde_json::Value;

use super::{Refusal, Verdict, json};

/// The one model that no twin has; any other id is welcome.
const ABSENT: &str = "no-such-model";

/// What a request is about, from its path and body.
pub(super) struct Route {
    pub(super) model: String,
    pub(super) mode: Mode,
    /// Whether tokens are to be counted only.
    pub(super) counting: bool,
}

impl Route {
    pub(super) fn of(wire: Wire, path: &str, body: &Value) -> Self {
        let path = path.split('?').next().unwrap_or_default();
        if wire == Wire::Gemini {
            let last = path.rsplit('/').next().unwrap_or_default();
            let (model, method) = last.rsplit_once(':').unwrap_or((last, ""));
            let mode = if method.starts_with("stream") { Mode::Stream } else { Mode::Complete };
            return Self { model: model.to_owned(), mode, counting: method == "countTokens" };
        }
        let mode = if json::is_true(body, "stream") { Mode::Stream } else { Mode::Complete };
        let counting = path.ends_with("/count_tokens") || path.ends_with("/input_tokens");
        Self { model: json::text(body, "model").unwrap_or_default().to_owned(), mode, counting }
    }
}

/// Refuses the one model that does not exist.
pub(super) fn exists(wire: Wire, model: &str) -> Verdict {
    if model != ABSENT {
        return Ok(());
    }
    let message = match wire {
        Wire::Anthropic => format!("model: {model}"),
        Wire::Responses => format!("The requested model '{model}' does not exist."),
        Wire::Chat => format!("The model `{model}` does not exist or you do not have access to it."),
        Wire::Gemini => {
            format!(
                "models/{model} is not found for API version v1beta, or is not supported for this method."
            )
        }
    };
    Err(Refusal::new(wire, 404, message))
}

/// What a tiny model can read unless its id says how much.
const TINY: u64 = 1000;

/// Input windows by how a model's id begins; the first that fits counts. OpenAI's reasoning models keep
/// room for the answer free.
const WINDOWS: &[(&str, u64)] = &[
    ("claude-opus-4-6", 1_000_000),
    ("claude-opus-4-7", 1_000_000),
    ("claude-opus-4-8", 1_000_000),
    ("claude-sonnet-4-6", 1_000_000),
    ("claude-opus-5", 1_000_000),
    ("claude-sonnet-5", 1_000_000),
    ("claude-fable-5", 1_000_000),
    ("claude-haiku-5", 1_000_000),
    ("gemini-", 1_048_576),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-5.4-mini", 272_000),
    ("gpt-5.4-nano", 272_000),
    ("gpt-5.4", 922_000),
    ("gpt-5.5", 922_000),
    ("gpt-5.6", 922_000),
    ("gpt-5", 272_000),
    ("gpt-6", 922_000),
];

/// The most tokens the model can read. Ids that contain `tiny` have a thousand, or as many as follow
/// (`tiny-4000`), so that tests can overflow them cheaply; ids not in the table have 200 000.
fn window(model: &str) -> u64 {
    if let Some((_, size)) = model.split_once("tiny") {
        let digits = size.strip_prefix('-').unwrap_or_default();
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        return digits.get(..end).and_then(|digits| digits.parse().ok()).unwrap_or(TINY);
    }
    WINDOWS.iter().find(|(start, _)| model.starts_with(start)).map_or(200_000, |(_, tokens)| *tokens)
}

/// Refuses a request that is too long for its model.
pub(super) fn fits(wire: Wire, model: &str, tokens: u64) -> Verdict {
    let most = window(model);
    if tokens <= most {
        return Ok(());
    }
    Err(match wire {
        Wire::Anthropic => {
            Refusal::anthropic(format!("prompt is too long: {tokens} tokens > {most} maximum"))
        }
        Wire::Responses => Refusal::openai(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "input",
            "context_length_exceeded",
        ),
        Wire::Chat => Refusal::openai(
            format!(
                "This model's maximum context length is {most} tokens. However, your messages resulted in \
                 {tokens} tokens."
            ),
            "messages",
            "context_length_exceeded",
        ),
        Wire::Gemini => Refusal::gemini(format!(
            "The input token count ({tokens}) exceeds the maximum number of tokens allowed ({most})."
        )),
    })
}

/// Whether this is one of OpenAI's reasoning models, as far as its id tells; `None` for ids that are
/// not OpenAI's.
pub(super) fn reasons(model: &str) -> Option<bool> {
    let starts = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
    if starts(&["gpt-5-chat", "gpt-4", "gpt-3.5", "chatgpt-"]) {
        return Some(false);
    }
    starts(&["gpt-5", "gpt-6", "o1", "o3", "o4", "codex-"]).then_some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows() {
        for (model, tokens) in [
            ("gpt-4o-mini", 128_000),
            ("somebody-else", 200_000),
            ("gemini-tiny", 1000),
            ("claude-tiny-4000", 4000),
            ("tiny-6000-preview", 6000),
            ("tiny-preview", 1000),
        ] {
            assert_eq!(window(model), tokens, "{model}");
        }
    }
}
