//! What the gateway keeps in the slot that a client has for signatures.
//!
//! Clients send reasoning back verbatim, with a signature that means nothing to them. Where the
//! reasoning's maker is not the one whom the client's wire and model would be taken for (it speaks
//! another wire, or is a member of a council), its own signature, raw item and origin are sealed
//! into that slot, and restored when they come back: so the maker gets its reasoning as it gave it.
//! Progress, which nobody reasoned, is marked in the same slot and taken out.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use junto_llm::{Content, Message, Origin, Part, Response, StreamEvent, Thinking, Wire};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The signature of progress: `junto:progress` in base64, since clients expect that.
pub(crate) const PROGRESS: &str = "anVudG86cHJvZ3Jlc3M=";
/// What every signature of the gateway's begins with: `junto:` in base64.
const PREFIX: &str = "anVudG86";
/// The same, decoded.
const DECODED_PREFIX: &[u8] = b"junto:";

/// What is sealed. The text is not: it stands in the client's own item.
#[derive(Debug, Serialize, Deserialize)]
struct Sealed {
    origin: Origin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw: Option<Value>,
    /// Reasoning that only its maker can read, which has no text at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    redacted: Option<String>,
}

impl Sealed {
    fn write(&self) -> Option<String> {
        let json = serde_json::to_vec(self).ok()?;
        Some(STANDARD.encode([DECODED_PREFIX, &json].concat()))
    }

    fn read(signature: &str) -> Option<Self> {
        let bytes = STANDARD.decode(signature).ok()?;
        serde_json::from_slice(bytes.strip_prefix(DECODED_PREFIX)?).ok()
    }

    /// The part as its maker gave it.
    fn restore(self, text: &str) -> Part {
        let content = match self.redacted {
            Some(data) => Content::RedactedThinking(data),
            None => Content::Thinking(Thinking { text: text.to_owned(), signature: self.signature }),
        };
        Part::received(content, Arc::new(self.origin), self.raw)
    }
}

/// Seals the reasoning of one answer.
#[derive(Debug)]
pub(crate) struct Sealer {
    /// Whom the parts will be taken for when they come back.
    expected: Arc<Origin>,
    /// Whose the streamed parts are.
    maker: Option<Arc<Origin>>,
}

impl Sealer {
    pub(crate) fn new(expected: Arc<Origin>) -> Self {
        Self { expected, maker: None }
    }

    /// Seals what a whole answer holds.
    pub(crate) fn seal_all(&self, response: &mut Response) {
        for part in &mut response.message.content {
            if let Some(sealed) = self.sealed(part) {
                *part = sealed;
            }
        }
    }

    /// Seals what an event of a stream holds; the events come in order.
    pub(crate) fn seal(&mut self, event: &mut StreamEvent) {
        match event {
            StreamEvent::StreamStart { origin, .. } => self.maker.clone_from(origin),
            StreamEvent::ReasoningEnd { signature, raw, .. } => {
                let Some(maker) = self.foreign(self.maker.as_ref()) else { return };
                if signature.is_some() || raw.is_some() {
                    let origin = maker.as_ref().clone();
                    let sealed =
                        Sealed { origin, signature: signature.take(), raw: raw.take(), redacted: None };
                    *signature = sealed.write();
                }
            }
            StreamEvent::Part { part } => {
                if let Some(sealed) = self.sealed(part) {
                    *part = sealed;
                }
            }
            _ => {}
        }
    }

    /// A part whose signature the client can keep, if it has one that has to be sealed.
    fn sealed(&self, part: &Part) -> Option<Part> {
        let maker = self.foreign(part.origin())?;
        let raw = part.raw_for(maker).cloned();
        let (text, signature, redacted) = match part.content() {
            Content::Thinking(thinking) => (thinking.text.clone(), thinking.signature.clone(), None),
            Content::RedactedThinking(data) => (String::new(), None, Some(data.clone())),
            _ => return None,
        };
        if signature.is_none() && raw.is_none() && redacted.is_none() {
            return None;
        }
        let sealed = Sealed { origin: maker.as_ref().clone(), signature, raw, redacted };
        Some(Part::new(Content::Thinking(Thinking { text, signature: sealed.write() })))
    }

    fn foreign<'a>(&self, maker: Option<&'a Arc<Origin>>) -> Option<&'a Arc<Origin>> {
        maker.filter(|maker| **maker != self.expected)
    }
}

/// Whether a request's body may hold something of ours.
pub(crate) fn may_be_in(body: &[u8]) -> bool {
    // A body that is no UTF-8 is no JSON and comes to nothing anyway.
    std::str::from_utf8(body).is_ok_and(|text| text.contains(PREFIX))
}

/// Restores what was sealed in a conversation that came on this wire, and takes out what nobody
/// could read: progress, what is damaged, and on Anthropic's wire thinking without a signature (of a
/// wire that has none, or cut off before it came), which the API refuses.
pub(crate) fn open_all(wire: Wire, messages: &mut Vec<Message>) {
    messages.retain_mut(|message| {
        let before = message.content.len();
        let parts = std::mem::take(&mut message.content);
        let readable = parts.into_iter().filter(|part| wire != Wire::Anthropic || !is_unsigned(part));
        message.content = readable.filter_map(open).collect();
        // A message that was nothing but progress was never said.
        before == 0 || !message.content.is_empty()
    });
}

fn is_unsigned(part: &Part) -> bool {
    matches!(part.content(), Content::Thinking(thinking) if thinking.signature.is_none())
}

/// The text and the signature of a part that holds something of ours.
fn slot(part: &Part) -> Option<(&str, &str)> {
    match part.content() {
        Content::Thinking(Thinking { text, signature: Some(signature) }) if signature.starts_with(PREFIX) => {
            Some((text, signature))
        }
        _ => None,
    }
}

fn open(part: Part) -> Option<Part> {
    match slot(&part) {
        None => Some(part),
        Some((_, PROGRESS)) => None,
        Some((text, signature)) => Sealed::read(signature).map(|sealed| sealed.restore(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use junto_llm::{Role, SegmentId};
    use serde_json::json;

    fn origin(wire: Wire, provider: &str) -> Arc<Origin> {
        Arc::new(Origin { wire, provider: provider.into(), model: "m".into() })
    }

    fn thinking(text: &str, signature: Option<&str>) -> Content {
        Content::Thinking(Thinking { text: text.into(), signature: signature.map(str::to_owned) })
    }

    /// Seals an answer of one part, and opens it as the client sends it back.
    fn round_trip(expected: &Arc<Origin>, part: Part) -> (Part, Option<Part>) {
        let mut response = Response::empty("p", "m");
        response.message.content = vec![part];
        Sealer::new(Arc::clone(expected)).seal_all(&mut response);
        let kept = response.message.content.remove(0);
        // The client knows text and signature only.
        let back =
            Part::received(kept.content().clone(), Arc::clone(expected), Some(json!({"type": "its own"})));
        let mut messages = vec![Message::new(Role::Assistant, vec![back])];
        open_all(expected.wire, &mut messages);
        (kept, messages.pop().map(|mut message| message.content.remove(0)))
    }

    #[test]
    fn reasoning_of_others_comes_back_as_it_was() {
        let expected = origin(Wire::Anthropic, "route");
        for maker in [origin(Wire::Responses, "route"), origin(Wire::Anthropic, "member")] {
            for part in [
                Part::received(thinking("hm", Some("sig")), Arc::clone(&maker), None),
                Part::received(thinking("", Some("sig")), Arc::clone(&maker), Some(json!({"id": "rs_1"}))),
                Part::received(thinking("hm", None), Arc::clone(&maker), Some(json!({"id": "rs_1"}))),
                Part::received(Content::RedactedThinking("xx".into()), Arc::clone(&maker), None),
            ] {
                let (kept, back) = round_trip(&expected, part.clone());
                assert!(slot(&kept).is_some() && kept.origin().is_none(), "{kept:?}");
                assert_eq!(back, Some(part));
            }
        }
    }

    #[test]
    fn what_needs_no_seal_gets_none() {
        let expected = origin(Wire::Anthropic, "route");
        let foreign = origin(Wire::Gemini, "route");
        for part in [
            Part::received(thinking("hm", Some("sig")), Arc::clone(&expected), None),
            Part::received(thinking("hm", None), Arc::clone(&foreign), None),
            Part::received(Content::Text("hi".into()), foreign, Some(json!(1))),
            Part::new(thinking("hm", Some("sig"))),
        ] {
            assert_eq!(round_trip(&expected, part.clone()).0, part);
        }
    }

    #[test]
    fn streams_are_sealed_alike() {
        let mut sealer = Sealer::new(origin(Wire::Anthropic, "route"));
        let maker = origin(Wire::Responses, "route");
        sealer.maker = Some(Arc::clone(&maker));
        let raw = Some(json!({"id": "rs_1"}));
        let mut end =
            StreamEvent::ReasoningEnd { id: SegmentId(0), signature: Some("s".into()), raw: raw.clone() };
        sealer.seal(&mut end);
        let StreamEvent::ReasoningEnd { signature: Some(signature), raw: None, .. } = end else {
            panic!("{end:?}")
        };
        let part = Sealed::read(&signature).unwrap().restore("hm");
        assert_eq!(part, Part::received(thinking("hm", Some("s")), maker, raw));

        let mut bare = StreamEvent::ReasoningEnd { id: SegmentId(0), signature: None, raw: None };
        sealer.seal(&mut bare);
        assert_eq!(bare, StreamEvent::ReasoningEnd { id: SegmentId(0), signature: None, raw: None });
    }

    #[test]
    fn progress_and_what_is_damaged_is_taken_out() {
        let damaged = format!("{PREFIX}e30=");
        let part = |signature: Option<&str>| Part::new(thinking("hm", signature));
        let mut messages = vec![
            Message::user("q"),
            Message::new(Role::Assistant, vec![part(Some(PROGRESS)), part(Some("s")), Part::text("a")]),
            Message::new(Role::Assistant, vec![part(Some(PROGRESS)), part(Some(&damaged))]),
            Message::new(Role::System, vec![]),
            Message::new(Role::Assistant, vec![part(None), Part::text("a")]),
        ];
        let mut check = |wire, expected: &[usize]| {
            open_all(wire, &mut messages);
            assert_eq!(messages.iter().map(|m| m.content.len()).collect::<Vec<_>>(), expected);
        };
        check(Wire::Responses, &[1, 2, 0, 2]);
        check(Wire::Anthropic, &[1, 2, 0, 1]);
    }

    #[test]
    fn bodies_with_something_of_ours_are_known() {
        assert!(may_be_in(format!("{{\"signature\":\"{PROGRESS}\"}}").as_bytes()));
        assert!(PROGRESS.starts_with(PREFIX) && STANDARD.decode(PREFIX).unwrap() == DECODED_PREFIX);
        let sealed = Sealed {
            origin: origin(Wire::Chat, "p").as_ref().clone(),
            signature: None,
            raw: None,
            redacted: None,
        };
        assert!(sealed.write().unwrap().starts_with(PREFIX));
        assert!(!may_be_in(b"{}") && !may_be_in(b"\xff"));
    }
}
