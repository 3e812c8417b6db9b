//! Notices when a model goes in circles: the same calls with the same results, again and again.

mod steady;

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use junto_llm::{Media, MediaSource, ToolCall, ToolResult};
use serde_json::Value;

use steady::steady;

/// The longest pattern that is looked for, in calls.
const LONGEST: usize = 5;

/// Watches the tool calls of one input after another.
#[derive(Debug)]
pub(crate) struct Loops {
    rules: Rules,
    /// What the last calls were and what came of them; never more than the window.
    recent: VecDeque<u64>,
    /// Whether the model was told during this input.
    warned: bool,
}

/// When to notice, and what to do then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) enabled: bool,
    /// How many calls must fit a pattern.
    pub(crate) window: usize,
    /// Whether the input ends when it happens again after the warning.
    pub(crate) stop: bool,
}

/// What to do about a model that goes in circles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Circle {
    /// Tell the model.
    Warn(String),
    /// End the input.
    Stop(String),
}

impl Loops {
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules, recent: VecDeque::new(), warned: false }
    }

    /// An input begins. Doing the same again because somebody asked for it is no circle.
    pub(crate) fn begin_input(&mut self) {
        self.recent.clear();
        self.warned = false;
    }

    /// Takes note of a round of calls. After a warning the calls are counted anew: it takes as many again
    /// to be noticed a second time, and that is the last time during one input.
    pub(crate) fn note<'a>(
        &mut self,
        round: impl Iterator<Item = (&'a ToolCall, &'a ToolResult)>,
    ) -> Option<Circle> {
        let Rules { enabled, window, stop } = self.rules;
        if !enabled {
            return None;
        }
        for (call, result) in round {
            self.recent.push_back(signature(call, result));
        }
        while self.recent.len() > window {
            self.recent.pop_front();
        }
        if !repeats(self.recent.make_contiguous(), window) {
            return None;
        }
        self.recent.clear();
        let told = std::mem::replace(&mut self.warned, true);
        let loop_detected =
            format!("Loop detected: the last {window} tool calls follow a repeating pattern.");
        match (told, stop) {
            (false, _) => Some(Circle::Warn(format!("{loop_detected} Try a different approach."))),
            (true, true) => Some(Circle::Stop(format!("{loop_detected} It was warned before."))),
            (true, false) => None,
        }
    }
}

/// Whether the last calls repeat a pattern of up to [`LONGEST`] calls: as many whole repetitions as fit
/// into the window, and at least two. With fewer calls than the window nothing is said. A pattern that is
/// itself made of a shorter one does not count: of the shorter one more must have been seen.
fn repeats(recent: &[u64], window: usize) -> bool {
    recent.len() >= window
        && (1..=LONGEST).any(|length| {
            let spanned = window / length * length;
            let Some(last) = recent.len().checked_sub(spanned).and_then(|start| recent.get(start..)) else {
                return false;
            };
            let shorter = |n: usize| length.is_multiple_of(n) && has_period(last, n);
            spanned >= 2 * length && has_period(last, length) && !(1..length).any(shorter)
        })
}

fn has_period(calls: &[u64], length: usize) -> bool {
    calls.iter().zip(calls.iter().skip(length)).all(|(a, b)| a == b)
}

/// What a call was and what came of it: equal for two calls if name, arguments and result are, but for
/// what is new in every result.
fn signature(call: &ToolCall, result: &ToolResult) -> u64 {
    let mut hash = DefaultHasher::new();
    call.name.hash(&mut hash);
    if call.is_well_formed() {
        hash_value(&call.arguments, &mut hash);
    } else {
        call.raw_arguments.hash(&mut hash);
    }
    result.is_error.hash(&mut hash);
    steady(&result.output.to_text()).hash(&mut hash);
    for image in &result.images {
        hash_media(image, &mut hash);
    }
    hash.finish()
}

/// Hashes a value so that the order of an object's fields does not matter.
fn hash_value(value: &Value, hash: &mut DefaultHasher) {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_unstable();
            ('{', names.len()).hash(hash);
            for name in names {
                name.hash(hash);
                fields.get(name).into_iter().for_each(|field| hash_value(field, hash));
            }
        }
        Value::Array(items) => {
            ('[', items.len()).hash(hash);
            for item in items {
                hash_value(item, hash);
            }
        }
        leaf @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            ('=', leaf.to_string()).hash(hash);
        }
    }
}

fn hash_media(media: &Media, hash: &mut DefaultHasher) {
    match &media.source {
        MediaSource::Url(url) => url.hash(hash),
        MediaSource::Bytes(bytes) => bytes.hash(hash),
        MediaSource::Path(path) => path.hash(hash),
    }
}

#[cfg(test)]
mod tests;
