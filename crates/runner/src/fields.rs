//! Lines of JSON, read without believing them.

use serde_json::Value;

use crate::CliEvent;

/// How much of a line that is no event is shown.
const SHOWN: usize = 200;

/// Reads lines as JSON, and says once that one is none of what is expected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    /// Set once something was said that could not be read.
    unreadable: bool,
}

impl Objects {
    /// The value of a line, if it is what is expected.
    pub(crate) fn read(
        &mut self,
        line: &[u8],
        is_expected: impl Fn(&Value) -> bool,
        events: &mut Vec<CliEvent>,
    ) -> Option<Value> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        if let Ok(value) = serde_json::from_slice::<Value>(line)
            && is_expected(&value)
        {
            return Some(value);
        }
        // Said once: whoever prints one such line prints many.
        if !std::mem::replace(&mut self.unreadable, true) {
            let shown = String::from_utf8_lossy(line.get(..SHOWN).unwrap_or(line));
            let message = format!("a line is no event: {shown}");
            events.push(CliEvent::Warning { code: "unreadable_output", message });
        }
        None
    }
}

/// A field that is text; empty where it is not.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// A field that is a count; 0 where it is not.
pub(crate) fn number(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_default()
}

/// A field that is a list; empty where it is not.
pub(crate) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A field that is an HTTP status.
pub(crate) fn status(value: &Value, field: &str) -> Option<u16> {
    value[field].as_u64().and_then(|status| u16::try_from(status).ok())
}

/// A tool's answer as text: a string, or blocks of which only some are text.
pub(crate) fn blocks(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| match block["text"].as_str() {
                Some(text) => text.to_owned(),
                None => format!("[{}]", text(block, "type")),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
