//! The placeholders in a play's texts.

use serde_json::Value;

use crate::strict::Seen;

/// Fills in the placeholders. What is filled in is not looked at again, and double braces with
/// another name stay as they are.
pub(crate) fn render(text: &str, seen: &Seen) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let known = after.split_once("}}").and_then(|(name, tail)| Some((value(name.trim(), seen)?, tail)));
        let (text, tail) = known.unwrap_or_else(|| ("{{".to_owned(), after));
        out.push_str(&text);
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// Fills in the placeholders of every text inside a JSON value.
pub(crate) fn render_value(value: &Value, seen: &Seen) -> Value {
    match value {
        Value::String(text) => Value::String(render(text, seen)),
        Value::Array(items) => items.iter().map(|item| render_value(item, seen)).collect(),
        Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), render_value(v, seen))).collect(),
        other => other.clone(),
    }
}

fn value(name: &str, seen: &Seen) -> Option<String> {
    match name {
        "last_user" => Some(seen.last_user.clone()),
        "last_result" => Some(seen.last_results.last().cloned().unwrap_or_default()),
        "model" => Some(seen.model.clone()),
        "round" => Some(seen.round.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::seen;
    use serde_json::json;

    #[test]
    fn placeholders_are_filled_in_once() {
        let seen = Seen {
            model: "m".into(),
            round: 2,
            last_results: vec!["r1".into(), "r2".into()],
            ..seen("{{model}}")
        };
        for (text, expected) in [
            ("plain", "plain"),
            ("{{last_user}}!", "{{model}}!"),
            ("{{ model }}/{{round}}", "m/2"),
            ("{{last_result}}", "r2"),
            ("{{other}} {{ {{model}}", "{{other}} {{ m"),
            ("{{", "{{"),
        ] {
            assert_eq!(render(text, &seen), expected, "{text}");
        }
        assert_eq!(
            render_value(&json!({"a": ["{{model}}", 1], "b": null}), &seen),
            json!({"a": ["m", 1], "b": null})
        );
    }
}
