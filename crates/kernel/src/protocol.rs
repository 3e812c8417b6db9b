//! What is said over a tool socket.

use std::sync::Arc;

use junto_core::{Media, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::discovery::ModuleSource;

/// The version of the protocol.
pub(crate) const VERSION: u32 = 1;

/// The client's first line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) v: u32,
    pub(crate) token: String,
}

/// The socket's answer to it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Welcome {
    pub(crate) v: u32,
    /// How many calls a connection may have under way.
    pub(crate) calls: usize,
    /// How many bytes a line may have.
    pub(crate) line: usize,
}

/// Names a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Id {
    Number(u64),
    Text(String),
}

/// A request.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) id: Id,
    #[serde(flatten)]
    pub(crate) op: Op,
}

/// What is asked for.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(crate) enum Op {
    /// Which tools there are.
    List,
    /// To call one: with an object, or with a text if it takes free text.
    Call {
        name: String,
        #[serde(default = "no_arguments")]
        arguments: Value,
    },
    /// The source of a Python module with tools.
    Module { name: String },
    /// Which modules with tools there are.
    Categories,
    /// Which tools are in one.
    Tools { module: String },
    /// How one is called.
    Signature { name: String },
    /// Which fit some words best.
    Search {
        query: String,
        #[serde(default = "few")]
        limit: usize,
    },
    /// To end the call with this id.
    Cancel,
}

fn few() -> usize {
    10
}

fn no_arguments() -> Value {
    Value::Object(Map::new())
}

/// An answer.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reply {
    pub(crate) id: Option<Id>,
    pub(crate) ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<Vec<ToolSpec>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) is_error: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) images: Vec<Media>,
    /// What a call gave, as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Arc<Value>>,
    /// Whether a call was not allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) rejected: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<ModuleSource>,
    /// What was found: modules, tools, or a signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) found: Option<Value>,
}

impl Reply {
    pub(crate) fn error(id: Option<Id>, message: impl Into<String>) -> Self {
        Self { id, error: Some(message.into()), ..Self::default() }
    }

    pub(crate) fn tools(id: Id, tools: Vec<ToolSpec>) -> Self {
        Self { id: Some(id), ok: true, tools: Some(tools), ..Self::default() }
    }

    pub(crate) fn output(id: Id, output: String) -> Self {
        Self { id: Some(id), ok: true, output: Some(output), is_error: Some(false), ..Self::default() }
    }

    /// A module, or why there is none.
    pub(crate) fn source(id: Id, source: Result<ModuleSource, String>) -> Self {
        match source {
            Ok(source) => Self { id: Some(id), ok: true, source: Some(source), ..Self::default() },
            Err(message) => Self::error(Some(id), message),
        }
    }

    /// What was found, or why nothing could be.
    pub(crate) fn found(id: Id, found: Result<impl Serialize, String>) -> Self {
        let found = found.and_then(|found| serde_json::to_value(found).map_err(|error| error.to_string()));
        match found {
            Ok(found) => Self { id: Some(id), ok: true, found: Some(found), ..Self::default() },
            Err(message) => Self::error(Some(id), message),
        }
    }
}

/// Why something is not done, and the id of the request if it has one.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) id: Option<Id>,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(id: Option<Id>, message: impl Into<String>) -> Self {
        Self { id, message: message.into() }
    }
}

impl From<Refusal> for Reply {
    fn from(Refusal { id, message }: Refusal) -> Self {
        Self::error(id, message)
    }
}

/// Reads a request.
///
/// # Errors
/// Why it is none.
pub(crate) fn read_request(line: &[u8]) -> Result<Request, Refusal> {
    let value: Value = serde_json::from_slice(line).map_err(|e| unread(line, &e))?;
    let id = value.get("id").and_then(|id| Id::deserialize(id).ok());
    if id.is_none() {
        let message = "not a request: it needs an `id`, a string or a number from 0";
        return Err(Refusal::new(None, message));
    }
    Request::deserialize(value).map_err(|e| Refusal::new(id, format!("not a request: {e}")))
}

/// Why a line cannot be read. Where it is JSON all the same, with more in it than is taken, only what it asks for is
/// refused: whoever sent it has other calls under way.
fn unread(line: &[u8], error: &serde_json::Error) -> Refusal {
    /// Passes over everything else, however deep or large it is.
    #[derive(Deserialize)]
    struct Named {
        id: Id,
    }
    match serde_json::from_slice::<Named>(line) {
        Ok(Named { id }) => {
            let message = format!(
                "the arguments cannot be taken: {error}. A number must fit into 64 bits, or into a float, and values \
                 be nested less than 128 deep"
            );
            Refusal::new(Some(id), message)
        }
        Err(_) => Refusal::new(None, format!("not JSON: {error}")),
    }
}

/// A message as a line.
pub(crate) fn line(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// A reply as a line of at most `most` bytes; what is longer becomes an error.
pub(crate) fn reply_line(reply: Reply, most: usize) -> Vec<u8> {
    let instead = match line(&reply) {
        Ok(line) if line.len() <= most => return line,
        Ok(line) => format!("the answer has {} bytes, more than the {most} that can be sent", line.len()),
        Err(error) => format!("the answer cannot be written: {error}"),
    };
    // An id long enough to break the limit by itself is left out.
    let id = reply.id.filter(|id| !matches!(id, Id::Text(text) if text.len() > most / 8));
    line(&Reply::error(id, instead)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_are_read_or_refused_with_their_id() {
        let check = |line: &str, expected: Result<(Id, Op), (Option<Id>, &str)>| match (
            read_request(line.as_bytes()),
            expected,
        ) {
            (Ok(request), expected) => assert_eq!(Ok((request.id, request.op)), expected, "{line}"),
            (Err(refusal), Err((id, part))) => {
                assert!(refusal.id == id && refusal.message.contains(part), "{line}: {refusal:?}");
            }
            (Err(refusal), Ok(_)) => panic!("{line}: {refusal:?}"),
        };
        let one = || Id::Number(1);
        check(r#"{"id":1,"op":"list"}"#, Ok((one(), Op::List)));
        check(r#"{"id":"x","op":"cancel"}"#, Ok((Id::Text("x".into()), Op::Cancel)));
        let call = Op::Call { name: "f".into(), arguments: json!({"a": [1]}) };
        check(r#"{"op":"call","arguments":{"a":[1]},"name":"f","id":1}"#, Ok((one(), call)));
        let bare = Op::Call { name: "f".into(), arguments: json!({}) };
        check(r#"{"id":1,"op":"call","name":"f"}"#, Ok((one(), bare)));
        let search = Op::Search { query: "x".into(), limit: few() };
        check(r#"{"id":1,"op":"search","query":"x"}"#, Ok((one(), search)));
        check(r#"{"id":1,"op":"module","name":"m"}"#, Ok((one(), Op::Module { name: "m".into() })));
        check("", Err((None, "not JSON")));
        check("{", Err((None, "not JSON")));
        check("3", Err((None, "needs an `id`")));
        check("[]", Err((None, "needs an `id`")));
        check(r#"{"op":"list"}"#, Err((None, "needs an `id`")));
        check(r#"{"id":-1,"op":"list"}"#, Err((None, "needs an `id`")));
        check(r#"{"id":{},"op":"list"}"#, Err((None, "needs an `id`")));
        check(r#"{"id":1}"#, Err((Some(one()), "op")));
        check(r#"{"id":1,"op":"lust"}"#, Err((Some(one()), "lust")));
        check(r#"{"id":1,"op":"call"}"#, Err((Some(one()), "name")));
        check(&"[".repeat(100_000), Err((None, "not JSON")));
        // What is JSON and more than is taken is refused by its id.
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let vast = format!("1{}", "0".repeat(400));
        for (odd, why) in [(deep, "recursion limit"), (vast, "out of range")] {
            let line = format!(r#"{{"op":"call","name":"f","arguments":{{"a":{odd}}},"id":1}}"#);
            check(&line, Err((Some(one()), why)));
        }
        assert_eq!(read_request(b"\xff\xfe").unwrap_err().id, None);
    }

    #[test]
    fn answers_that_are_too_long_become_errors() {
        let outcome = |output: &str| Reply::output(Id::Number(1), output.to_owned());
        assert_eq!(
            reply_line(outcome("x"), 200),
            b"{\"id\":1,\"ok\":true,\"output\":\"x\",\"is_error\":false}\n"
        );
        let long: Reply = serde_json::from_slice(&reply_line(outcome(&"x".repeat(500)), 200)).unwrap();
        assert_eq!((long.id, long.ok), (Some(Id::Number(1)), false));
        assert!(long.error.unwrap().contains("more than the 200"));
        let vast = Reply::error(Some(Id::Text("i".repeat(500))), "no");
        let vast: Reply = serde_json::from_slice(&reply_line(vast, 200)).unwrap();
        assert_eq!(vast.id, None);
    }
}
