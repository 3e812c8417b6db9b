//! What members propose: whether it can be done, and whether they agree.

use std::fmt::Write as _;

use junto_llm::{
    Error, ErrorKind, Finish, Request, Response, ResponseFormat, ToolCall, ToolCallKind, ToolChoice,
    ToolSpec, schema,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Checks that every call is of a declared tool with arguments that fit, and that a structured
/// answer fits its schema.
///
/// # Errors
/// `invalid_tool_call` or `no_object`, naming what does not fit.
pub(crate) fn check(request: &Request, response: &Response) -> Result<(), Error> {
    check_choice(request, response)?;
    let mut calls = response.tool_calls().peekable();
    if calls.peek().is_some() {
        return calls.try_for_each(|call| check_call(request, call));
    }
    match &request.response_format {
        Some(ResponseFormat::JsonSchema { name, schema, .. }) if !is_weak(response) => {
            let fault = |e: serde_json::Error| {
                Error::new(ErrorKind::NoObject, format!("the answer is not JSON: {e}"))
            };
            let object = serde_json::from_str(&response.text()).map_err(fault)?;
            fits(name, schema, &object, ErrorKind::NoObject, "the answer")
        }
        _ => Ok(()),
    }
}

/// Whether tools were called as the client demanded.
fn check_choice(request: &Request, response: &Response) -> Result<(), Error> {
    let mut names = response.tool_calls().map(|call| call.name.as_str()).peekable();
    let fault = |message: String| Err(Error::new(ErrorKind::InvalidToolCall, message));
    match &request.tool_choice {
        Some(ToolChoice::None) if names.peek().is_some() => {
            fault("it calls a tool where none may be called".to_owned())
        }
        // Who refuses calls nothing, and is weighed as a refusal.
        Some(ToolChoice::Required | ToolChoice::Named(_)) if names.peek().is_none() && !is_weak(response) => {
            fault("it calls nothing where a call was demanded".to_owned())
        }
        Some(ToolChoice::Named(name)) if names.any(|called| called != name) => {
            fault(format!("it calls something else than `{name}`"))
        }
        _ if request.parallel_tool_calls == Some(false) && names.count() > 1 => {
            fault("it makes several calls where one at a time was asked for".to_owned())
        }
        _ => Ok(()),
    }
}

fn check_call(request: &Request, call: &ToolCall) -> Result<(), Error> {
    let fault = |message: String| Error::new(ErrorKind::InvalidToolCall, message);
    let name = &call.name;
    let Some(spec) = request.tools.iter().find(|spec| &spec.name == name) else {
        return Err(fault(format!("there is no tool named `{name}`")));
    };
    if !call.is_well_formed() {
        return Err(fault(format!("the arguments of `{name}` are not a JSON object")));
    }
    match spec.parameters() {
        Some(parameters) if call.kind == ToolCallKind::Function => {
            let what = format!("the arguments of `{name}`");
            fits(name, parameters, &call.arguments, ErrorKind::InvalidToolCall, &what)
        }
        _ => Ok(()),
    }
}

fn fits(name: &str, schema: &Value, value: &Value, kind: ErrorKind, what: &str) -> Result<(), Error> {
    match schema::compile(name, schema) {
        Ok(validator) => validator.check(value, kind, what),
        // A schema that is none is the client's mistake and no member's.
        Err(_) => Ok(()),
    }
}

/// Whether this is a refusal, a failure or nothing at all: an answer only if nobody has a better one.
pub(crate) fn is_weak(response: &Response) -> bool {
    matches!(response.finish_reason.unified, Finish::ContentFilter | Finish::Error)
        || (response.tool_calls().next().is_none() && response.text().trim().is_empty())
}

/// Whether the answer must have a form, which only the whole of it has.
pub(crate) fn is_formal(request: &Request) -> bool {
    matches!(request.response_format, Some(ResponseFormat::JsonObject | ResponseFormat::JsonSchema { .. }))
}

/// What of an answer matters, as text: equal for answers that agree. Spacing of prose does not matter, nor
/// does the order of an object's keys, how a number is written, or whether an argument that has its default
/// is given; everything else inside an argument does.
pub(crate) fn substance(request: &Request, response: &Response) -> String {
    let calls: Vec<Value> =
        response.tool_calls().map(|call| json!([call.name, arguments(request, call)])).collect();
    if !calls.is_empty() {
        return json!({"calls": calls}).to_string();
    }
    let text = response.text();
    match serde_json::from_str(&text) {
        Ok(object) if is_formal(request) => json!({"object": canonical(&object)}).to_string(),
        _ => json!({"text": text.split_whitespace().collect::<Vec<_>>().join(" ")}).to_string(),
    }
}

/// What stands for an answer's substance in the books.
pub(crate) fn digest(substance: &str) -> String {
    let hash = Sha256::digest(substance.as_bytes());
    hash.iter().take(8).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn arguments(request: &Request, call: &ToolCall) -> Value {
    let mut arguments = canonical(&call.arguments);
    let spec = request.tools.iter().find(|spec| spec.name == call.name);
    if let (Value::Object(fields), Some(parameters)) = (&mut arguments, spec.and_then(ToolSpec::parameters)) {
        fields.retain(|name, value| {
            let default = parameters["properties"][name.as_str()].get("default");
            default.is_none_or(|default| canonical(default) != *value)
        });
    }
    arguments
}

/// A value with its keys in order and its whole numbers as such.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> =
                fields.iter().map(|(name, value)| (name.clone(), canonical(value))).collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::Number(number) => match number.as_f64() {
            // Beyond this a float cannot tell whole numbers apart.
            #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small enough")]
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                (float as i64).into()
            }
            _ => value.clone(),
        },
        value => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use junto_llm::FinishReason;

    use super::*;
    use crate::scripted::{call, calls, text};

    fn request() -> Request {
        let schema = json!({"type": "object", "properties": {
                "city": {"type": "string"}, "unit": {"type": "string", "default": "C"},
            }, "required": ["city"]});
        Request::prompt("?").tools([
            ToolSpec::new("weather", "", schema).unwrap(),
            ToolSpec::foreign("odd", "", json!({"type": "no such type"})),
        ])
    }

    fn structured() -> Request {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let format = ResponseFormat::JsonSchema { name: "o".into(), schema, strict: true };
        Request { response_format: Some(format), ..Request::prompt("?") }
    }

    #[test]
    fn what_can_be_done_passes() {
        let check = |request: &Request, response: &Response, fault: Option<&str>| {
            let found = super::check(request, response).err().map(|e| e.message().to_owned());
            match (&found, fault) {
                (Some(found), Some(fault)) => assert!(found.contains(fault), "{found}"),
                _ => assert_eq!(found.as_deref(), fault),
            }
        };
        check(&request(), &text("no calls"), None);
        check(&request(), &call("weather", r#"{"city": "Rome"}"#), None);
        check(&request(), &call("weather", "{}"), Some("does not fit"));
        check(&request(), &call("weather", r#"{"city": "#), Some("not a JSON object"));
        check(&request(), &call("wether", r#"{"city": "Rome"}"#), Some("no tool named `wether`"));
        check(&request(), &call("odd", "{}"), None);
        let second_bad = calls(&[("weather", r#"{"city": "Rome"}"#), ("weather", r#"{"city": 3}"#)]);
        check(&request(), &second_bad, Some("`city` must be a string"));
        check(&structured(), &text(r#"{"n": 1}"#), None);
        check(&structured(), &text(r#"{"n": "x"}"#), Some("does not fit"));
        check(&structured(), &text("n is 1"), Some("not JSON"));
        let choosing = |choice| Request { tool_choice: Some(choice), ..request() };
        let rome = || call("weather", r#"{"city": "Rome"}"#);
        check(&choosing(ToolChoice::None), &rome(), Some("none may be called"));
        check(&choosing(ToolChoice::None), &text("so"), None);
        check(&choosing(ToolChoice::Required), &text("so"), Some("a call was demanded"));
        check(&choosing(ToolChoice::Required), &rome(), None);
        check(&choosing(ToolChoice::Named("weather".into())), &rome(), None);
        check(&choosing(ToolChoice::Named("odd".into())), &rome(), Some("something else than `odd`"));
        let one = Request { parallel_tool_calls: Some(false), ..request() };
        check(&one, &rome(), None);
        let twice = calls(&[("weather", r#"{"city": "Rome"}"#), ("weather", r#"{"city": "Bari"}"#)]);
        check(&one, &twice, Some("one at a time"));
        check(&request(), &twice, None);
        let refusal = Response { finish_reason: FinishReason::new(Finish::ContentFilter), ..text("No.") };
        check(&structured(), &refusal, None);
    }

    #[test]
    fn agreement_is_about_substance() {
        let check = |request: &Request, a: Response, b: Response, expected: bool| {
            assert_eq!(substance(request, &a) == substance(request, &b), expected, "{a:?} and {b:?}");
        };
        let free = request();
        check(&free, text("It is  so.\n"), text(" It is so."), true);
        check(&free, text("It is so."), text("It is not so."), false);
        check(
            &free,
            call("f", r#"{"a":1,"b":{"c":2,"d":3}}"#),
            call("f", r#"{ "b": {"d":3, "c":2}, "a": 1 }"#),
            true,
        );
        check(&free, call("f", r#"{"n":1.0}"#), call("f", r#"{"n":1}"#), true);
        check(&free, call("f", r#"{"n":1.5}"#), call("f", r#"{"n":1}"#), false);
        let unit = |city: &str, more: &str| call("weather", &format!(r#"{{"city":"{city}"{more}}}"#));
        check(&free, unit("Rome", r#","unit":"C""#), unit("Rome", ""), true);
        check(&free, unit("Rome", r#","unit":"F""#), unit("Rome", ""), false);
        check(&free, call("f", r#"{"code":"a  b"}"#), call("f", r#"{"code":"a b"}"#), false);
        check(&free, call("f", "{}"), call("g", "{}"), false);
        check(&free, calls(&[("f", "{}"), ("g", "{}")]), call("f", "{}"), false);
        check(&free, call("f", "{}"), text("f"), false);
        check(&free, text(r#"{"n":1}"#), text(r#"{ "n": 1 }"#), false);
        check(&structured(), text(r#"{"n":1,"m":2}"#), text(r#"{ "m": 2, "n": 1 }"#), true);
    }

    #[test]
    fn refusals_and_silence_are_weak() {
        assert!(is_weak(&text(" \n")));
        assert!(is_weak(&Response {
            finish_reason: FinishReason::new(Finish::ContentFilter),
            ..text("No.")
        }));
        assert!(!is_weak(&text("Yes.")));
        assert!(!is_weak(&call("f", "{}")));
    }
}
