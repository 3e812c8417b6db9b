//! How large the conversation is that the main model reads.

use serde_json::Value;

use crate::CliEvent;
use crate::fields::number;

/// The last call of the main model. What a message says of it at first has the true prompt and a placeholder
/// for the output; the true output comes with the end of the message, or with a result that tells of this
/// call alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Context {
    message: String,
    size: Size,
    /// Whether the output is the true one.
    exact: bool,
    /// How many calls there were since the last result.
    calls: u32,
    /// Whether it was told.
    told: bool,
}

/// Tokens, each in one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    input: u64,
    cache_read: u64,
    cache_write: u64,
    output: u64,
}

impl Size {
    fn of(usage: &Value) -> Self {
        Self {
            input: number(usage, "input_tokens"),
            cache_read: number(usage, "cache_read_input_tokens"),
            cache_write: number(usage, "cache_creation_input_tokens"),
            output: number(usage, "output_tokens"),
        }
    }

    /// What is said anew, in the place of what was said before; an end of a message may leave fields out.
    fn updated(self, usage: &Value) -> Self {
        let new = Self::of(usage);
        let or = |field: &str, new, old| if usage[field].is_u64() { new } else { old };
        Self {
            input: or("input_tokens", new.input, self.input),
            cache_read: or("cache_read_input_tokens", new.cache_read, self.cache_read),
            cache_write: or("cache_creation_input_tokens", new.cache_write, self.cache_write),
            output: or("output_tokens", new.output, self.output),
        }
    }

    fn prompt(self) -> Self {
        Self { output: 0, ..self }
    }

    fn total(self) -> u64 {
        [self.input, self.cache_read, self.cache_write, self.output].into_iter().fold(0, u64::saturating_add)
    }
}

impl Context {
    /// A message of the main model tells its use.
    pub(super) fn call(&mut self, message: &str, usage: &Value, exact: bool) {
        if message.is_empty() || !usage.is_object() {
            return;
        }
        if self.message != message {
            *self =
                Self { message: message.to_owned(), calls: self.calls.saturating_add(1), ..Self::default() };
        }
        if exact || !self.exact {
            self.exact |= exact;
            self.set(self.size.updated(usage));
        }
    }

    /// A result tells the use of all calls before it.
    pub(super) fn result(&mut self, usage: &Value) {
        let size = Size::of(usage);
        let alone = self.calls == 1 || size.prompt() == self.size.prompt();
        if alone && !self.message.is_empty() && !self.exact && size.output > 0 {
            self.exact = true;
            self.set(size);
        }
        self.calls = 0;
    }

    fn set(&mut self, size: Size) {
        self.told &= self.size == size;
        self.size = size;
    }

    /// Tells the size, unless that was done or there was no call.
    pub(super) fn tell(&mut self, events: &mut Vec<CliEvent>) {
        if self.size.total() > 0 && !std::mem::replace(&mut self.told, true) {
            events.push(CliEvent::Context(self.size.total()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn usage(input: u64, cached: u64, output: u64) -> Value {
        json!({"input_tokens": input, "cache_read_input_tokens": cached, "output_tokens": output})
    }

    #[track_caller]
    fn told(context: &mut Context, expected: Option<u64>) {
        let mut events = Vec::new();
        context.tell(&mut events);
        let told = events.first().map(|event| match event {
            CliEvent::Context(size) => *size,
            other => panic!("{other:?}"),
        });
        assert_eq!(told, expected);
    }

    #[test]
    fn the_end_of_a_message_has_the_true_output() {
        let mut context = Context::default();
        told(&mut context, None);
        context.call("a", &usage(10, 5, 1), false);
        context.call("a", &json!({"output_tokens": 70}), true);
        context.call("a", &usage(10, 5, 1), false);
        told(&mut context, Some(85));
        told(&mut context, None);
    }

    #[test]
    fn a_result_of_one_call_has_the_true_output() {
        let mut context = Context::default();
        context.call("a", &usage(10, 5, 1), false);
        context.result(&usage(12, 5, 70));
        told(&mut context, Some(87));
        context.call("b", &usage(20, 5, 1), false);
        context.call("c", &usage(30, 5, 1), false);
        context.result(&usage(50, 10, 140));
        told(&mut context, Some(36));
        context.result(&usage(30, 5, 60));
        told(&mut context, Some(95));
    }

    #[test]
    fn a_result_that_tells_nothing_changes_nothing() {
        let mut context = Context::default();
        context.result(&usage(10, 0, 70));
        context.call("a", &usage(10, 5, 1), false);
        context.result(&usage(0, 0, 0));
        told(&mut context, Some(16));
    }
}
