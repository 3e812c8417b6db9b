//! Arguments as models write them.

use serde_json::{Map, Value};

/// A text.
pub(super) fn text<'a>(args: &'a Value, key: &str) -> Option<&'a str> {
    args.get(key).and_then(Value::as_str)
}

/// A text without which the call makes no sense.
pub(super) fn required<'a>(args: &'a Value, key: &str) -> Result<&'a str, String> {
    text(args, key).ok_or_else(|| format!("`{key}` is missing (it is a string)"))
}

/// A whole number of at least 0; models also write `1000.0`.
pub(super) fn number(args: &Value, key: &str) -> Option<u64> {
    let value = args.get(key)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float that is cast saturates"
    )]
    value.as_u64().or_else(|| value.as_f64().map(|number| number as u64))
}

/// A switch; off unless it is on.
pub(super) fn flag(args: &Value, key: &str) -> bool {
    args.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// The items of a list; none if there is no such list.
pub(super) fn list<'a>(args: &'a Value, key: &str) -> &'a [Value] {
    args.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Those of the arguments that have these names, under others: `(theirs, ours)`.
pub(super) fn renamed(args: &Value, names: &[(&str, &str)]) -> Value {
    let kept = names.iter().filter_map(|(theirs, ours)| {
        let value = args.get(theirs).filter(|value| !value.is_null())?;
        Some(((*ours).to_owned(), value.clone()))
    });
    Value::Object(kept.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_read_generously() {
        let args = json!({"a": "x", "n": 1000.0, "m": 7, "minus": -3, "on": true, "nothing": null, "l": [1]});
        assert_eq!((text(&args, "a"), text(&args, "n")), (Some("x"), None));
        assert_eq!(required(&args, "b"), Err("`b` is missing (it is a string)".to_owned()));
        assert_eq!(
            ["n", "m", "minus", "a", "z"].map(|key| number(&args, key)),
            [Some(1000), Some(7), Some(0), None, None]
        );
        assert_eq!((flag(&args, "on"), flag(&args, "a")), (true, false));
        assert_eq!((list(&args, "l").len(), list(&args, "a").len()), (1, 0));
        let names = [("a", "text"), ("nothing", "nothing"), ("z", "z"), ("m", "m")];
        assert_eq!(renamed(&args, &names), json!({"text": "x", "m": 7}));
    }
}
