//! What a program orders, as a line of JSON.

use junto::core::{Addressed, Change, Command};
use serde::Deserialize as _;
use serde_json::Value;

/// The order in a line. A field that nobody knows is an error here, because a program that misspells one
/// would wait for what it never asked for.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(line: &str) -> Result<Addressed, String> {
    let given: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let order = Addressed::deserialize(&given).map_err(|error| error.to_string())?;
    let taken = serde_json::to_value(&order).map_err(|error| error.to_string())?;
    if let Some(field) = unknown(&given, &taken) {
        return Err(format!("it has a field `{field}` that is unknown"));
    }
    match &order.command {
        Command::Configure { change } if *change == Change::default() => {
            Err("the change is empty, so it would change nothing".to_owned())
        }
        _ => Ok(order),
    }
}

/// The first field that was given and not taken. What says nothing may be left out of what was taken.
fn unknown(given: &Value, taken: &Value) -> Option<String> {
    match (given, taken) {
        (Value::Object(given), Value::Object(taken)) => given.iter().find_map(|(name, value)| {
            let says_nothing = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            match taken.get(name) {
                Some(taken) => unknown(value, taken).map(|inner| format!("{name}.{inner}")),
                None if says_nothing => None,
                None => Some(name.clone()),
            }
        }),
        (Value::Array(given), Value::Array(taken)) => {
            given.iter().zip(taken).find_map(|(given, taken)| unknown(given, taken))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_with_whom_they_are_for() {
        let check = |line: &str, agent: Option<&str>, name: &str| {
            let order = parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!(order.agent.as_ref().map(|id| id.0.as_str()), agent, "{line}");
            assert_eq!(serde_json::to_value(&order).unwrap()["command"], name);
        };
        check(r#"{"command":"interrupt"}"#, None, "interrupt");
        check(r#"{"command":"submit","input":{"text":"a","images":[]}}"#, None, "submit");
        check(r#"{"agent":"x","command":"steer","input":{"text":"a"},"when":"now"}"#, Some("x"), "steer");
        check(r#"{"agent":null,"command":"configure","change":{"model":"m"}}"#, None, "configure");
        check(
            r#"{"command":"answer","ask":"1","decision":{"answer":"allow","remember":null}}"#,
            None,
            "answer",
        );
    }

    #[test]
    fn what_is_no_order_is_explained() {
        let check = |line: &str, said: &str| {
            let error = parse(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        };
        check("hello", "expected");
        check("[]", "");
        check(r#"{"command":"fly"}"#, "unknown variant `fly`");
        check(r#"{"command":"steer","input":{"text":"a"},"bogus":1}"#, "`bogus`");
        check(r#"{"command":"interrupt","now":true}"#, "`now`");
        check(r#"{"command":"submit","input":{"text":"a","image":["b"]}}"#, "`input.image`");
        check(r#"{"command":"configure","change":{"nope":1}}"#, "`change.nope`");
        check(r#"{"command":"configure","change":{}}"#, "the change is empty");
        check(r#"{"command":"configure","change":{"nope":null}}"#, "the change is empty");
    }
}
