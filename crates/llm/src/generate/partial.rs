//! JSON that is not finished yet.

use serde_json::Value;

/// What can be read of a JSON text that breaks off anywhere: open strings, arrays and objects are
/// closed, a key without a value and a literal that is cut in two are left out. `None` while there
/// is nothing to read, or if the text is no JSON at all.
///
/// ```
/// use junto_llm::generate::parse_partial;
/// use serde_json::json;
/// assert_eq!(parse_partial(r#"{"city": "Ro"#), Some(json!({"city": "Ro"})));
/// assert_eq!(parse_partial(r#"{"a": [1, 2, tr"#), Some(json!({"a": [1, 2]})));
/// assert_eq!(parse_partial(r#"{"a": 1, "b"#), Some(json!({"a": 1})));
/// ```
pub fn parse(text: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let scan = Scan::of(text)?;
    // First as much as possible; if the cut is inside a literal or an escape, back to the last place
    // where a value was whole.
    scan.close(text, text.len()).or_else(|| scan.close(text, scan.whole))
}

/// Where a text stands when it breaks off.
struct Scan {
    /// What is open at the end, and where each was opened.
    open: Vec<(usize, u8)>,
    in_string: bool,
    /// The end of the last complete member or element, with nothing dangling behind it.
    whole: usize,
}

impl Scan {
    /// `None` if brackets do not match.
    fn of(text: &str) -> Option<Self> {
        let mut scan = Self { open: Vec::new(), in_string: false, whole: 0 };
        let mut escaped = false;
        for (at, byte) in text.bytes().enumerate() {
            if scan.in_string {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => scan.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => scan.in_string = true,
                b'{' | b'[' => {
                    scan.open.push((at, byte));
                    scan.whole = at + 1;
                }
                b'}' | b']' => {
                    let (_, opener) = scan.open.pop()?;
                    if (opener == b'{') != (byte == b'}') {
                        return None;
                    }
                    scan.whole = at + 1;
                }
                b',' => scan.whole = at,
                _ => {}
            }
        }
        Some(scan)
    }

    /// The text up to `end`, closed and parsed.
    fn close(&self, text: &str, end: usize) -> Option<Value> {
        let mut candidate = text.get(..end)?.to_owned();
        if end == text.len() && self.in_string {
            candidate.push('"');
        }
        for (at, opener) in self.open.iter().rev() {
            if *at < end {
                candidate.push(if *opener == b'{' { '}' } else { ']' });
            }
        }
        serde_json::from_str(&candidate).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn reads_what_is_there() {
        let check = |text: &str, expected: Option<Value>| assert_eq!(parse(text), expected, "{text}");
        check("", None);
        check("{", Some(json!({})));
        check("{\"a", Some(json!({})));
        check("{\"a\":", Some(json!({})));
        check("{\"a\": 1", Some(json!({"a": 1})));
        check("{\"a\": 1, \"b\": [\"x\", \"y", Some(json!({"a": 1, "b": ["x", "y"]})));
        check("{\"a\": \"x\\", Some(json!({})));
        check("{\"a\": \"x\\u00", Some(json!({})));
        check("{\"a\": {\"b\": tru", Some(json!({"a": {}})));
        check("{\"a\": 1}", Some(json!({"a": 1})));
        check("[1}", None);
        check("no json", None);
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-z\"\\\\\u{e9}{}\\[\\]:,]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::hash_map("[a-z]{1,3}", inner, 0..4)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_prefix_of_an_object_reads(value in json(), cut in 0usize..200) {
            let text = json!({"root": value}).to_string();
            let cut = (0..=cut.min(text.len())).rev().find(|c| text.is_char_boundary(*c)).unwrap_or(0);
            if cut > 0 {
                prop_assert!(parse(&text[..cut]).is_some_and(|v| v.is_object()), "{}", &text[..cut]);
            }
        }

        #[test]
        fn arbitrary_text_never_panics(text in "\\PC{0,60}") {
            let _ = parse(&text);
        }
    }
}
