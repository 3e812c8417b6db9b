//! What a server says, read with some patience: a message that does not fit costs the call that it answers, not the
//! connection.

use rmcp::model::{
    CustomResult, ErrorCode, ErrorData, JsonRpcResponse, NumberOrString, ServerJsonRpcMessage, ServerResult,
    Tool,
};
use serde_json::Value;

use super::lines::Line;

/// The message of a line; `None` if it is none for us.
pub(super) fn message(line: &Line) -> Option<ServerJsonRpcMessage> {
    match line {
        Line::Whole(bytes) => match serde_json::from_slice(bytes) {
            Ok(ServerJsonRpcMessage::Response(JsonRpcResponse {
                id,
                result: ServerResult::CustomResult(result),
                ..
            })) => Some(ServerJsonRpcMessage::response(tools_in(result), id)),
            Ok(message) => Some(message),
            Err(error) => mended(bytes, &error.to_string()),
        },
        Line::TooLong { bytes, head, tail } => {
            let id = id_in(tail).or_else(|| id_in(head))?;
            let why = format!("the answer has {bytes} bytes, which is more than is taken at once");
            Some(failed(id, why))
        }
    }
}

/// What can be made of a message that does not have its form.
fn mended(bytes: &[u8], why: &str) -> Option<ServerJsonRpcMessage> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let id: NumberOrString = serde_json::from_value(value.get("id")?.clone()).ok()?;
    value.get("result").or_else(|| value.get("error"))?;
    Some(failed(id, format!("the answer does not have the form of the protocol: {why}")))
}

/// A list of tools, without those that are described wrongly: one does not take the others with it. Anything else of
/// a form that is not known stays what it is.
fn tools_in(mut result: CustomResult) -> ServerResult {
    if let Some(tools) = result.0.get_mut("tools").and_then(Value::as_array_mut) {
        tools.retain(|tool| serde_json::from_value::<Tool>(tool.clone()).is_ok());
        if let Ok(list) = serde_json::from_value(result.0.clone()) {
            return ServerResult::ListToolsResult(list);
        }
    }
    ServerResult::CustomResult(result)
}

/// That a call failed, for this reason.
pub(super) fn failed(id: NumberOrString, why: String) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::INTERNAL_ERROR, why, None), Some(id))
}

/// The id in a piece of a message: what stands after the last `"id":`.
fn id_in(piece: &[u8]) -> Option<NumberOrString> {
    let text = String::from_utf8_lossy(piece);
    let (_, after) = text.rsplit_once("\"id\"")?;
    let after = after.trim_start().strip_prefix(':')?.trim_start();
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    if let Ok(number) = digits.parse::<i64>() {
        return Some(NumberOrString::Number(number));
    }
    let (name, _) = after.strip_prefix('"')?.split_once('"')?;
    Some(NumberOrString::String(name.into()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Option<Value> {
        message(&Line::Whole(text.as_bytes().to_vec())).map(|message| serde_json::to_value(message).unwrap())
    }

    #[test]
    fn one_wrong_tool_does_not_take_the_others_with_it() {
        let tools = json!([{"name": "a", "inputSchema": {}}, {"name": "b"}, {"name": "c", "inputSchema": 7}]);
        let said = read(&json!({"jsonrpc": "2.0", "id": 3, "result": {"tools": tools}}).to_string()).unwrap();
        assert_eq!(said["result"]["tools"].as_array().unwrap().len(), 1, "{said}");
    }

    #[test]
    fn an_answer_without_its_form_is_an_error_of_its_call() {
        let said = read(r#"{"jsonrpc": "2.0", "id": 3, "error": "no"}"#).unwrap();
        assert!(said["id"] == 3 && said["error"]["message"].as_str().unwrap().contains("form"), "{said}");
        assert_eq!(read("Listening on port 3000"), None);
        assert_eq!(read(r#"{"level": "info"}"#), None);
    }

    #[test]
    fn an_answer_that_is_too_long_is_an_error_of_its_call() {
        let check = |head: &str, tail: &str, expected: Value| {
            let (head, tail) = (head.as_bytes().to_vec(), tail.as_bytes().to_vec());
            let said = message(&Line::TooLong { bytes: 50_000_000, head, tail });
            let id = said.map(|message| serde_json::to_value(message).unwrap()["id"].clone());
            assert_eq!(id.unwrap_or_default(), expected);
        };
        check(r#"{"jsonrpc":"2.0","id":12,"result":{"#, "xxx\"}]}}", json!(12));
        check("{\"result\":{", r#"xx"}]},"jsonrpc":"2.0","id": 7}"#, json!(7));
        check(r#"{"id":"a-1","result":{"#, "", json!("a-1"));
        check("{\"method\":\"x\"", "}", Value::Null);
    }
}
