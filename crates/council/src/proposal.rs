//! What members propose: whether it can be done, and whether they agree.

use junto_llm::{
    Error, ErrorKind, Finish, Request, Response, ResponseFormat, ToolCall, ToolCallKind, schema,
};
use serde_json::Value;

/// Checks that every call is of a declared tool with arguments that fit, and that a structured
/// answer fits its schema.
///
/// # Errors
/// `invalid_tool_call` or `no_object`, naming what does not fit.
pub(crate) fn check(request: &Request, response: &Response) -> Result<(), Error> {
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

/// Whether all of these say the same: the same calls, or without calls the same text or object.
pub(crate) fn agree<'a>(request: &Request, responses: impl IntoIterator<Item = &'a Response>) -> bool {
    let mut substances = responses.into_iter().map(|response| Substance::of(request, response));
    let Some(first) = substances.next() else { return true };
    substances.all(|other| other == first)
}

/// What of an answer matters. Spacing of prose does not; the order of an object's keys does not
/// either (that is how JSON values compare); everything inside an argument does.
#[derive(Debug, PartialEq)]
enum Substance {
    Calls(Vec<(String, Value)>),
    Object(Value),
    Text(String),
}

impl Substance {
    fn of(request: &Request, response: &Response) -> Self {
        let calls: Vec<_> =
            response.tool_calls().map(|call| (call.name.clone(), call.arguments.clone())).collect();
        if !calls.is_empty() {
            return Self::Calls(calls);
        }
        let text = response.text();
        let structured = matches!(
            request.response_format,
            Some(ResponseFormat::JsonObject | ResponseFormat::JsonSchema { .. })
        );
        match serde_json::from_str(&text) {
            Ok(object) if structured => Self::Object(object),
            _ => Self::Text(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use junto_llm::{FinishReason, ToolSpec};
    use serde_json::json;

    use super::*;
    use crate::scripted::{call, calls, text};

    fn request() -> Request {
        let schema =
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
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
        let refusal = Response { finish_reason: FinishReason::new(Finish::ContentFilter), ..text("No.") };
        check(&structured(), &refusal, None);
    }

    #[test]
    fn agreement_is_about_substance() {
        let check = |request: &Request, a: Response, b: Response, expected: bool| {
            assert_eq!(agree(request, [&a, &b]), expected, "{a:?} and {b:?}");
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
