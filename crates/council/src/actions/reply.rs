//! Reading a JSON action out of what somebody wrote.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// What a reply says.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    Answer(String),
    /// At least one.
    Calls(Vec<Proposed>),
}

/// A call as it was written.
#[derive(Debug, PartialEq)]
pub(super) struct Proposed {
    pub(super) name: String,
    pub(super) arguments: Value,
}

/// The first action in a text: the text as a whole, or an object in it that says it is an action.
pub(super) fn read(text: &str) -> Option<Reply> {
    let whole = unfenced(text);
    if let Some(reply) = object(whole).and_then(|fields| action(&fields)) {
        return Some(reply);
    }
    objects(text).filter_map(object).filter(names_itself).find_map(|fields| action(&fields))
}

/// Whether a text that is no action seems to have been meant as one.
pub(super) fn means_to_act(text: &str) -> bool {
    let text = text.trim_start();
    let begins = text.starts_with('{') || text.starts_with("```");
    begins && (text.contains("\"action\"") || text.contains("\"calls\""))
}

/// A text without a fence around it.
pub(super) fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let Some(inner) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else { return text };
    // The fence's first line may name a language.
    inner.split_once('\n').map_or(inner, |(_, body)| body).trim()
}

fn object(text: &str) -> Option<Map<String, Value>> {
    let parsed = serde_json::from_str(text).or_else(|_| serde_json::from_str(&without_trailing_commas(text)));
    match parsed {
        Ok(Value::Object(fields)) => Some(fields),
        _ => None,
    }
}

fn names_itself(fields: &Map<String, Value>) -> bool {
    kind(fields).is_some()
}

fn kind(fields: &Map<String, Value>) -> Option<&str> {
    fields.get("action").or_else(|| fields.get("kind")).and_then(Value::as_str)
}

fn action(fields: &Map<String, Value>) -> Option<Reply> {
    let calls = || -> Option<Reply> {
        let calls = match fields.get("calls") {
            Some(Value::Array(list)) => list.iter().map(|call| proposed(call.as_object()?)).collect(),
            Some(_) => None,
            None => proposed(fields).map(|call| vec![call]),
        };
        calls.filter(|calls| !calls.is_empty()).map(Reply::Calls)
    };
    let answer = || fields.get("text").and_then(Value::as_str).map(|text| Reply::Answer(text.to_owned()));
    match kind(fields) {
        Some("call" | "calls" | "tool") => calls(),
        Some("answer") => answer(),
        Some(_) => None,
        None => calls().or_else(|| if fields.len() == 1 { answer() } else { None }),
    }
}

fn proposed(fields: &Map<String, Value>) -> Option<Proposed> {
    let name = fields.get("name")?.as_str()?.to_owned();
    let arguments = fields.get("arguments").or_else(|| fields.get("input"))?.clone();
    Some(Proposed { name, arguments })
}

/// The outermost braces in a text that balance, as they follow each other.
fn objects(text: &str) -> impl Iterator<Item = &str> {
    let mut scan = Scan::default();
    let mut start = None;
    text.bytes().enumerate().filter_map(move |(at, byte)| {
        // Quotes outside of an object are prose.
        let depth = scan.depth;
        if depth == 0 && byte != b'{' {
            return None;
        }
        scan.step(byte);
        match (depth, scan.depth) {
            (0, 1) => start = Some(at),
            (1, 0) => return start.take().and_then(|start| text.get(start..=at)),
            _ => {}
        }
        None
    })
}

/// Where in JSON a byte stands.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Scan {
    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.in_string = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' => self.depth += 1,
            b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

fn without_trailing_commas(text: &str) -> Cow<'_, str> {
    if !text.contains(',') {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut scan = Scan::default();
    // A comma, and the space behind it, wait for what follows.
    let mut waiting = String::new();
    for c in text.chars() {
        let outside = !scan.in_string;
        scan.step(u8::try_from(c).unwrap_or(b'?'));
        if outside && (c == ',' || (!waiting.is_empty() && c.is_whitespace())) {
            if c == ',' {
                kept.push_str(&std::mem::take(&mut waiting));
            }
            waiting.push(c);
            continue;
        }
        if !(outside && matches!(c, '}' | ']')) {
            kept.push_str(&waiting);
        }
        waiting.clear();
        kept.push(c);
    }
    kept.push_str(&waiting);
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn calls(calls: &[(&str, Value)]) -> Reply {
        let call = |(name, arguments): &(&str, Value)| Proposed {
            name: (*name).to_owned(),
            arguments: arguments.clone(),
        };
        Reply::Calls(calls.iter().map(call).collect())
    }

    fn answer(text: &str) -> Reply {
        Reply::Answer(text.to_owned())
    }

    #[test]
    fn actions_are_found_in_what_is_written() {
        let check = |text: &str, expected: Option<Reply>| assert_eq!(read(text), expected, "{text}");
        let f = || Some(calls(&[("f", json!({"n": 1}))]));
        check(r#"{"action":"call","calls":[{"name":"f","arguments":{"n":1}}]}"#, f());
        check(r#"{"calls":[{"name":"f","arguments":{"n":1}}]}"#, f());
        check(r#"{"name":"f","arguments":{"n":1}}"#, f());
        check(r#"{"kind":"tool","name":"f","input":{"n":1},"reason":"so"}"#, f());
        check(
            "```json\n{\"action\":\"call\",\"calls\":[{\"name\":\"f\",\"arguments\":{\"n\":1,},},],}\n```",
            f(),
        );
        check("I would do this: {\"action\":\"call\",\"name\":\"f\",\"arguments\":{\"n\":1}} and so on", f());
        check(
            r#"First {braces}, a "quote" and then {"action":"answer","text":"a } in it"}"#,
            Some(answer("a } in it")),
        );
        check(
            r#"{"action":"call","calls":[{"name":"f","arguments":{}},{"name":"g","arguments":"{}"}]}"#,
            Some(calls(&[("f", json!({})), ("g", json!("{}"))])),
        );
        check(r#"{"action":"answer","text":"Done, truly.","reason":"x"}"#, Some(answer("Done, truly.")));
        check(r#"{"text":"Done."}"#, Some(answer("Done.")));
        check(r#"{"text":"Done.","more":1}"#, None);
        check(r#"{"action":"call","calls":[]}"#, None);
        check(r#"{"action":"call","calls":[{"name":"f"}]}"#, None);
        check(r#"{"action":"think"}"#, None);
        // An object within prose that does not say it is an action is part of the prose.
        check(r#"Write {"name":"f","arguments":{}} into the file."#, None);
        check("It is noon.", None);
        check("", None);
        check("{\"action\":\"call\",", None);
    }

    #[test]
    fn commas_go_only_where_nothing_follows() {
        let check = |text: &str, expected: &str| assert_eq!(without_trailing_commas(text), expected);
        check(r#"{"a": [1, 2, ], }"#, r#"{"a": [1, 2]}"#);
        check(r#"{"a": ",}", "b": "\",]"}"#, r#"{"a": ",}", "b": "\",]"}"#);
        check("[1,,]", "[1,]");
        check("ä, ö", "ä, ö");
    }

    #[test]
    fn what_was_meant_as_an_action_is_no_answer() {
        assert!(means_to_act("{\"action\": \"call\", \"calls\": [}"));
        assert!(means_to_act("```json\n{\"calls\": ["));
        assert!(!means_to_act("The \"action\" field is an object."));
    }
}
