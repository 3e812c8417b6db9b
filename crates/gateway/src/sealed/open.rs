//! Opening what was sealed, on the way back in.

use std::collections::BTreeMap;
use std::sync::Arc;

use junto_llm::{Content, Message, Part, Role, Thinking, Wire};
use serde_json::Value;

use super::{EXTRA, EXTRA_FIELD, PREFIX, PROGRESS, Sealed};
use crate::progress;

/// Restores what was sealed in a conversation that came on this wire, and takes out what nobody
/// could read: progress, what is damaged, and on Anthropic's wire thinking without a signature (of a
/// wire that has none, or cut off before it came), which the API refuses.
pub(crate) fn open_all(wire: Wire, messages: &mut Vec<Message>) {
    if wire == Wire::Gemini {
        join(messages);
    }
    messages.retain_mut(|message| {
        let before = message.content.len();
        let parts = std::mem::take(&mut message.content).into_iter();
        message.content = match wire {
            Wire::Anthropic => own_slots(parts.filter(|part| !is_unsigned(part))),
            Wire::Responses => own_slots(parts),
            Wire::Gemini | Wire::Chat => late_slots(parts.filter_map(without_progress)),
        };
        // A message that was nothing but progress was never said.
        before == 0 || !message.content.is_empty()
    });
}

/// Makes one message of what the model said in a row: clients of Gemini's wire keep each chunk of a
/// stream as a message of its own.
fn join(messages: &mut Vec<Message>) {
    messages.dedup_by(|next, last| {
        let both = next.role == Role::Assistant && last.role == Role::Assistant;
        if both {
            last.content.append(&mut next.content);
        }
        both
    });
}

/// The parts of a message on a wire where reasoning has a slot of its own.
fn own_slots(parts: impl Iterator<Item = Part>) -> Vec<Part> {
    let mut out = Vec::new();
    let mut calls = BTreeMap::new();
    for part in parts {
        let Some((text, slot)) = slot(&part) else {
            out.push(with_raw(part, &mut calls));
            continue;
        };
        for mut sealed in Sealed::read(slot).into_iter().filter(|_| slot != PROGRESS) {
            match (sealed.call.take(), sealed.said.take()) {
                (Some(call), _) => drop(calls.insert(call, sealed)),
                (None, Some(said)) => restore_text(said, sealed, &mut out),
                (None, None) => out.push(sealed.restore(text)),
            }
        }
    }
    out
}

/// The text and the slot of a part that holds something of ours.
fn slot(part: &Part) -> Option<(&str, &str)> {
    let (text, slot) = match part.content() {
        Content::Thinking(Thinking { text, signature: Some(signature) }) => (text.as_str(), signature),
        Content::RedactedThinking(data) => ("", data),
        _ => return None,
    };
    slot.starts_with(PREFIX).then_some((text, slot))
}

/// A call as its maker gave it, if that was sealed.
fn with_raw(part: Part, calls: &mut BTreeMap<String, Sealed>) -> Part {
    let Content::ToolCall(call) = part.content() else { return part };
    match calls.remove(&call.id) {
        Some(sealed) => Part::received(part.into_content(), Arc::new(sealed.origin), sealed.raw),
        None => part,
    }
}

/// Makes the text that was said what its maker gave. One that said nothing may not have come back.
fn restore_text(said: String, sealed: Sealed, parts: &mut Vec<Part>) {
    let at = parts.iter().rposition(|part| part.as_text() == Some(&said));
    let is_lost = at.is_none() && !said.is_empty();
    let part = Part::received(Content::Text(said), Arc::new(sealed.origin), sealed.raw);
    match at.and_then(|at| parts.get_mut(at)) {
        Some(place) => *place = part,
        None if is_lost => {}
        None => parts.push(part),
    }
}

/// The parts of a message on a wire where a slot stands on a part that follows what it holds.
fn late_slots(parts: impl Iterator<Item = Part>) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::new();
    // Behind the last slot.
    let mut from = 0;
    for part in parts {
        let Some(slot) = late_slot(&part) else {
            out.push(part);
            continue;
        };
        // What the slot holds has its text; what came along of it unsigned says the same again.
        let said = out.split_off(from.min(out.len()));
        let mut said: Vec<Part> = said.into_iter().filter(|part| !is_unsigned(part)).collect();
        let (signed, others): (Vec<_>, Vec<_>) =
            Sealed::read(slot).into_iter().partition(|sealed| sealed.call.is_some());
        let (texts, reasoned): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|sealed| sealed.said.is_some());
        for mut sealed in texts {
            if let Some(text) = sealed.said.take() {
                restore_text(text, sealed, &mut said);
            }
        }
        let (late, early): (Vec<_>, Vec<_>) = reasoned.into_iter().partition(|sealed| sealed.late);
        let mut signed = signed.into_iter().filter_map(|one| Some((one.call.clone()?, one))).collect();
        let restore = |sealed: Sealed| sealed.restore("");
        out.extend(early.into_iter().map(restore));
        out.extend(said);
        out.extend(late.into_iter().map(restore));
        out.extend(without_slot(part).map(|part| with_raw(part, &mut signed)));
        from = out.len();
    }
    out
}

/// The slot on a part, if it holds something of ours.
fn late_slot(part: &Part) -> Option<&str> {
    let slot = if let Content::Thinking(thinking) = part.content() {
        thinking.signature.as_deref()
    } else {
        let raw = part.raw_for(part.origin()?)?;
        let signature = raw.get("thoughtSignature").or_else(|| raw.get("thought_signature"));
        signature.or_else(|| raw.get(EXTRA)?.get(EXTRA_FIELD)).and_then(Value::as_str)
    };
    slot.filter(|slot| slot.starts_with(PREFIX))
}

/// The part without its slot; nothing is left of one that was there for it.
fn without_slot(part: Part) -> Option<Part> {
    let says_something = match part.content() {
        Content::Text(text) => !text.is_empty(),
        Content::Thinking(_) => false,
        _ => true,
    };
    let origin = part.origin().cloned();
    says_something.then(|| match origin {
        Some(origin) => Part::received(part.into_content(), origin, None),
        None => part,
    })
}

/// Reasoning without what is marked as progress; nothing of what was nothing else.
fn without_progress(part: Part) -> Option<Part> {
    let Content::Thinking(thinking) = part.content() else { return Some(part) };
    let text = progress::strip(&thinking.text);
    if text.len() == thinking.text.len() {
        return Some(part);
    }
    let thinking = Thinking { text: text.into_owned(), signature: thinking.signature.clone() };
    if thinking.text.trim().is_empty() && thinking.signature.is_none() {
        return None;
    }
    Some(match part.origin() {
        Some(origin) => Part::received(Content::Thinking(thinking), Arc::clone(origin), None),
        None => Part::new(Content::Thinking(thinking)),
    })
}

fn is_unsigned(part: &Part) -> bool {
    matches!(part.content(), Content::Thinking(thinking) if thinking.signature.is_none())
}
