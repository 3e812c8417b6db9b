//! What the gateway keeps in the slot that a client has for signatures.
//!
//! Clients send reasoning back verbatim, with a signature that means nothing to them. Where the
//! reasoning's maker is not the one whom the client's wire and model would be taken for (it speaks
//! another wire, or is a member of a council), its own signature, raw item and origin are sealed
//! into that slot, and restored when they come back: so the maker gets its reasoning as it gave it.
//! Progress, which nobody reasoned, is marked in the same slot and taken out.
//!
//! The slots, by the client's wire:
//!
//! | wire | slot | what it holds |
//! |---|---|---|
//! | Anthropic | `signature` of a thinking block, `data` of a redacted one | the signature, the text beside it |
//! | Responses | `encrypted_content` of a reasoning item | the signature, the text beside it |
//! | Gemini | `thoughtSignature` of the call or text that follows | all reasoning before it with its text, which clients drop |
//! | Chat | `extra_content` of the call that follows | the same; after an answer without a call, nothing |
//!
//! The wire of Chat Completions knows no signatures. `extra_content` is where Google's endpoint of this
//! wire puts its own, and clients that keep what they do not know keep it; those that do not lose the
//! reasoning, and nothing else.
//!
//! Gemini signs calls and texts instead of thoughts, and OpenAI says of a text which phase of the answer it belongs to. To
//! clients of Anthropic's and OpenAI's wires what is to be kept of a call goes ahead of it, in reasoning that says
//! nothing, and with it what is to be kept of the texts before it; of a text that ends an answer nothing is kept there,
//! since whoever asks takes what comes last for the answer.

mod open;
mod seal;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use junto_llm::{Content, Origin, Part, Thinking, Wire};
use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::progress;

pub(crate) use open::open_all;
pub(crate) use seal::Sealer;

/// The signature of progress: `junto:progress` in base64, since clients expect that.
pub(crate) const PROGRESS: &str = "anVudG86cHJvZ3Jlc3M=";
/// Where the slot is within what a client of Chat Completions keeps beside a call.
const EXTRA: &str = "extra_content";
const EXTRA_FIELD: &str = "junto";
/// What every signature of the gateway's begins with: `junto:` in base64.
const PREFIX: &str = "anVudG86";
/// The same, decoded.
const DECODED_PREFIX: &[u8] = b"junto:";

/// One thing that is sealed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sealed {
    origin: Origin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw: Option<Value>,
    /// Reasoning that only its maker can read, which has no text at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    redacted: Option<String>,
    /// The reasoning's text, where it does not stand in the client's own item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Whether the answer had begun before it, of what lies between two slots.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    late: bool,
    /// The call whose raw item this is; it is no reasoning then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    /// The text whose raw item this is; it is no reasoning then either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    said: Option<String>,
}

impl Sealed {
    fn new(origin: &Origin) -> Self {
        let origin = origin.clone();
        Self {
            origin,
            signature: None,
            raw: None,
            redacted: None,
            text: None,
            late: false,
            call: None,
            said: None,
        }
    }

    /// Whether there is nothing in it that the client's own item would not hold.
    fn is_empty(&self) -> bool {
        self.signature.is_none() && self.raw.is_none() && self.redacted.is_none()
    }

    fn write(&self) -> Option<String> {
        write(self)
    }

    /// What a slot holds; nothing if it is damaged.
    fn read(slot: &str) -> Vec<Self> {
        let Ok(bytes) = STANDARD.decode(slot) else { return Vec::new() };
        let Some(json) = bytes.strip_prefix(DECODED_PREFIX) else { return Vec::new() };
        if json.starts_with(b"[") {
            return serde_json::from_slice(json).unwrap_or_default();
        }
        serde_json::from_slice(json).map(|one| vec![one]).unwrap_or_default()
    }

    /// The reasoning as its maker gave it; `text` is what stands in the client's item.
    fn restore(self, text: &str) -> Part {
        let content = match self.redacted {
            Some(data) => Content::RedactedThinking(data),
            None => Content::Thinking(Thinking {
                text: self.text.unwrap_or_else(|| text.to_owned()),
                signature: self.signature,
            }),
        };
        Part::received(content, Arc::new(self.origin), self.raw)
    }
}

/// A slot that holds this: one, or a list of them.
fn write(sealed: &(impl Serialize + ?Sized)) -> Option<String> {
    let json = serde_json::to_vec(sealed).ok()?;
    Some(STANDARD.encode([DECODED_PREFIX, &json].concat()))
}

/// Whether a request's body may hold something of ours.
pub(crate) fn may_be_in(wire: Wire, body: &[u8]) -> bool {
    memmem::find(body, PREFIX.as_bytes()).is_some() || progress::may_be_in(wire, body)
}

#[cfg(test)]
mod tests;
