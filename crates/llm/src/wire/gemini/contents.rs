//! Writes a conversation as `contents`: user and model take turns, results come first and in the
//! order of their calls.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::part::{arguments, write_media};
use super::{SKIP_SIGNATURE, is_made_id};
use crate::wire::{EncodeCx, Wire};
use crate::{
    Content, Error, ErrorKind, ForeignThinking, Message, Part, Request, ResultOutput, Role, ToolCall,
    ToolResult, Warning,
};

/// Writes the messages of one request.
pub(super) struct Writer<'a> {
    cx: &'a EncodeCx<'a>,
    foreign_thinking: ForeignThinking,
    calls: HashMap<&'a str, Call<'a>>,
    pub(super) warnings: Vec<Warning>,
}

/// What a result must know of its call.
struct Call<'a> {
    name: &'a str,
    /// The id, if it goes over the wire.
    id: Option<&'a str>,
    order: usize,
}

/// The wire's two roles.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    User,
    Model,
}

impl Side {
    fn of(message: &Message) -> Self {
        if message.role == Role::Assistant { Self::Model } else { Self::User }
    }

    fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Model => "model",
        }
    }
}

impl<'a> Writer<'a> {
    pub(super) fn new(request: &'a Request, cx: &'a EncodeCx<'a>) -> Self {
        let parts = request.messages.iter().flat_map(|message| &message.content);
        let calls = parts
            .filter_map(|part| match part.content() {
                Content::ToolCall(call) => Some((part, call)),
                _ => None,
            })
            .enumerate()
            .map(|(order, (part, call))| {
                let id = wire_id(part, call, cx);
                (call.id.as_str(), Call { name: &call.name, id, order })
            })
            .collect();
        Self { cx, foreign_thinking: request.foreign_thinking, calls, warnings: Vec::new() }
    }

    /// The parts of system and developer messages, in order.
    ///
    /// # Errors
    /// For what the wire cannot say.
    pub(super) fn system(&mut self, messages: &[Message]) -> Result<Vec<Value>, Error> {
        let mut out = Vec::new();
        for part in messages.iter().flat_map(|message| &message.content) {
            self.part(part, &mut out)?;
        }
        Ok(out)
    }

    /// The turns. Neighbours of the same role are one.
    ///
    /// # Errors
    /// `invalid_request` for a result whose call is not in the conversation.
    pub(super) fn contents(&mut self, messages: &[Message]) -> Result<Vec<Value>, Error> {
        let mut turns: Vec<(Side, Vec<Value>)> = Vec::new();
        for run in messages.chunk_by(|a, b| Side::of(a) == Side::of(b)) {
            let side = run.first().map_or(Side::User, Side::of);
            let parts = match side {
                Side::User => self.user(run)?,
                Side::Model => self.model(run)?,
            };
            match turns.last_mut() {
                _ if parts.is_empty() => {}
                // The turn between the two had nothing to say on this wire.
                Some((last, earlier)) if *last == side => earlier.extend(parts),
                _ => turns.push((side, parts)),
            }
        }
        Ok(turns.into_iter().map(|(side, parts)| json!({"role": side.name(), "parts": parts})).collect())
    }

    fn user(&mut self, run: &[Message]) -> Result<Vec<Value>, Error> {
        let parts = || run.iter().flat_map(|message| &message.content);
        let mut results: Vec<(usize, &Part)> = parts()
            .filter_map(|part| match part.content() {
                Content::ToolResult(result) => {
                    let order = self.calls.get(result.call_id.as_str()).map_or(usize::MAX, |call| call.order);
                    Some((order, part))
                }
                _ => None,
            })
            .collect();
        results.sort_by_key(|(order, _)| *order);
        let others = parts().filter(|part| !matches!(part.content(), Content::ToolResult(_)));
        let mut out = Vec::new();
        for part in results.into_iter().map(|(_, part)| part).chain(others) {
            self.part(part, &mut out)?;
        }
        Ok(out)
    }

    fn model(&mut self, run: &[Message]) -> Result<Vec<Value>, Error> {
        let mut out = Vec::new();
        let mut first_call = true;
        for part in run.iter().flat_map(|message| &message.content) {
            self.part(part, &mut out)?;
            if first_call && matches!(part.content(), Content::ToolCall(_)) {
                first_call = false;
                if !part.is_from(self.cx.origin)
                    && let Some(Value::Object(item)) = out.last_mut()
                {
                    item.insert("thoughtSignature".to_owned(), SKIP_SIGNATURE.into());
                }
            }
        }
        Ok(out)
    }

    fn part(&mut self, part: &Part, out: &mut Vec<Value>) -> Result<(), Error> {
        match part.raw_for(self.cx.origin) {
            // A result with pictures came as several parts.
            Some(Value::Array(items)) => {
                out.extend(items.iter().cloned());
                return Ok(());
            }
            Some(item) => {
                out.push(item.clone());
                return Ok(());
            }
            None => {}
        }
        let own = part.is_from(self.cx.origin);
        match part.content() {
            // The API refuses a part that says nothing.
            Content::Text(text) if text.is_empty() => {}
            Content::Text(text) => out.push(json!({"text": text})),
            Content::Image(media) | Content::Audio(media) | Content::Document(media) => {
                out.push(write_media(media)?);
            }
            Content::ToolCall(call) => {
                let item =
                    function_call(call, wire_id(part, call, self.cx), self.cx.names.to_wire(&call.name));
                out.push(item);
            }
            Content::ToolResult(result) => self.result(result, out)?,
            Content::Thinking(thinking) if own => {
                let mut item = json!({"text": thinking.text, "thought": true});
                if let Some(signature) = &thinking.signature {
                    item["thoughtSignature"] = signature.as_str().into();
                }
                out.push(item);
            }
            Content::Thinking(thinking) => match self.foreign_thinking {
                ForeignThinking::AsText if !thinking.text.is_empty() => {
                    out.push(json!({"text": thinking.text}));
                }
                ForeignThinking::AsText | ForeignThinking::Drop => {}
            },
            Content::RedactedThinking(_) => {}
            Content::Other(item) if own => out.push(item.clone()),
            Content::Other(_) => self.warnings.push(Warning::new(
                "part_dropped",
                "an item that only another provider understands was left out",
            )),
        }
        Ok(())
    }

    fn result(&self, result: &ToolResult, out: &mut Vec<Value>) -> Result<(), Error> {
        let Some(call) = self.calls.get(result.call_id.as_str()) else {
            let message =
                format!("a tool result answers the call `{}`, which was never made", result.call_id);
            return Err(Error::new(ErrorKind::InvalidRequest, message)
                .with_hint("send the assistant's message with the call before its result"));
        };
        let mut item = Map::new();
        if let Some(id) = call.id {
            item.insert("id".to_owned(), id.into());
        }
        item.insert("name".to_owned(), self.cx.names.to_wire(call.name).into());
        item.insert("response".to_owned(), response(result));
        out.push(json!({"functionResponse": item}));
        for image in &result.images {
            out.push(write_media(image)?);
        }
        Ok(())
    }
}

/// A call's part.
pub(super) fn function_call(call: &ToolCall, id: Option<&str>, name: &str) -> Value {
    let mut item = Map::new();
    if let Some(id) = id {
        item.insert("id".to_owned(), id.into());
    }
    item.insert("name".to_owned(), name.into());
    item.insert("args".to_owned(), arguments(call));
    json!({"functionCall": item})
}

/// The id under which a call goes over the wire, if the API gave it one.
fn wire_id<'a>(part: &'a Part, call: &'a ToolCall, cx: &EncodeCx<'_>) -> Option<&'a str> {
    if let Some(raw) = part.raw_for(cx.origin) {
        let call = raw.get("functionCall").or_else(|| raw.get("function_call"))?;
        return call.get("id")?.as_str();
    }
    let from_here = part.origin().is_some_and(|origin| origin.wire == Wire::Gemini);
    (from_here && !is_made_id(&call.id)).then_some(call.id.as_str())
}

/// A result as the object this wire demands.
fn response(result: &ToolResult) -> Value {
    let key = if result.is_error { "error" } else { "output" };
    match &result.output {
        ResultOutput::Json(object @ Value::Object(_)) if !result.is_error => object.clone(),
        ResultOutput::Json(value) => json!({ key: value }),
        ResultOutput::Text(text) => json!({ key: text }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::round_trip::{origin, other_origin, received, with_cx};
    use super::*;
    use crate::{Media, Thinking};

    fn contents(request: &Request) -> Result<(Vec<Value>, Vec<Warning>), Error> {
        with_cx(request, |cx| {
            let mut writer = Writer::new(request, cx);
            let contents = writer.contents(&request.messages)?;
            Ok((contents, writer.warnings))
        })
    }

    #[track_caller]
    fn check(messages: &[Message], expected: Value) {
        let (contents, warnings) = contents(&Request::of(messages)).unwrap();
        assert_eq!(Value::Array(contents), expected);
        assert!(warnings.is_empty());
    }

    fn call(id: &str, args: &str) -> Part {
        Part::new(Content::ToolCall(ToolCall::function(id, "f", args)))
    }

    fn thinking(text: &str, signature: &str) -> Content {
        Content::Thinking(Thinking { text: text.into(), signature: Some(signature.into()) })
    }

    #[test]
    fn neighbours_of_one_role_merge() {
        check(
            &[
                Message::user("a"),
                Message::system("note"),
                Message::user(""),
                Message::assistant("b"),
                Message::assistant("c"),
                Message::developer("d"),
            ],
            json!([
                {"role": "user", "parts": [{"text": "a"}, {"text": "note"}]},
                {"role": "model", "parts": [{"text": "b"}, {"text": "c"}]},
                {"role": "user", "parts": [{"text": "d"}]},
            ]),
        );
    }

    #[test]
    fn a_turn_without_words_joins_its_neighbours() {
        let silent = Message::new(Role::Assistant, vec![Part::new(thinking("x", "s"))]);
        check(
            &[Message::user("a"), silent, Message::user("b")],
            json!([{"role": "user", "parts": [{"text": "a"}, {"text": "b"}]}]),
        );
    }

    #[test]
    fn foreign_calls_have_no_id_and_the_first_gets_the_stand_in() {
        let foreign =
            received(Content::ToolCall(ToolCall::function("toolu_2", "f", "{}")), other_origin(), None);
        check(
            &[
                Message::new(Role::Assistant, vec![Part::text("so"), call("c1", "{\"a\":1}"), foreign]),
                Message::tool_results([ToolResult::text("c1", "one"), ToolResult::text("toolu_2", "two")]),
            ],
            json!([
                {"role": "model", "parts": [
                    {"text": "so"},
                    {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": SKIP_SIGNATURE},
                    {"functionCall": {"name": "f", "args": {}}},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "f", "response": {"output": "one"}}},
                    {"functionResponse": {"name": "f", "response": {"output": "two"}}},
                ]},
            ]),
        );
    }

    #[test]
    fn own_calls_go_back_verbatim_with_their_ids() {
        let raw = json!({"functionCall": {"id": "g1", "name": "f", "args": {}}, "thoughtSignature": "c2ln"});
        let signed =
            received(Content::ToolCall(ToolCall::function("g1", "f", "{}")), origin(), Some(raw.clone()));
        let plain =
            received(Content::ToolCall(ToolCall::function("junto_call_1", "f", "{}")), origin(), None);
        check(
            &[
                Message::new(Role::Assistant, vec![signed, plain]),
                Message::tool_results([ToolResult::text("junto_call_1", "2"), ToolResult::text("g1", "1")]),
            ],
            json!([
                {"role": "model", "parts": [raw, {"functionCall": {"name": "f", "args": {}}}]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "g1", "name": "f", "response": {"output": "1"}}},
                    {"functionResponse": {"name": "f", "response": {"output": "2"}}},
                ]},
            ]),
        );
    }

    #[test]
    fn another_models_call_keeps_its_id_but_not_its_signature() {
        let raw = json!({"functionCall": {"id": "g1", "name": "f", "args": {}}, "thoughtSignature": "c2ln"});
        let earlier = crate::Origin { model: "gemini-y".into(), ..origin() };
        let part = received(Content::ToolCall(ToolCall::function("g1", "f", "{}")), earlier, Some(raw));
        check(
            &[
                Message::new(Role::Assistant, vec![part]),
                Message::tool_results([ToolResult::error("g1", "no")]),
            ],
            json!([
                {"role": "model", "parts": [
                    {"functionCall": {"id": "g1", "name": "f", "args": {}}, "thoughtSignature": SKIP_SIGNATURE},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "g1", "name": "f", "response": {"error": "no"}}},
                ]},
            ]),
        );
    }

    #[test]
    fn results_come_first_and_are_objects() {
        let png = Media { media_type: Some("image/png".into()), ..Media::bytes(vec![1, 2, 3]) };
        let with_image = ToolResult { images: vec![png], ..ToolResult::json("c1", json!({"k": 1})) };
        let failed = ToolResult { is_error: true, ..ToolResult::json("c3", json!({"code": 2})) };
        let answer = |response: Value| json!({"functionResponse": {"name": "f", "response": response}});
        check(
            &[
                Message::new(Role::Assistant, vec![call("c1", ""), call("c2", ""), call("c3", "")]),
                Message::system("hurry"),
                Message::tool_results([failed, ToolResult::json("c2", json!([1]))]),
                Message::tool_results([with_image]),
            ],
            json!([
                {"role": "model", "parts": [
                    {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": SKIP_SIGNATURE},
                    {"functionCall": {"name": "f", "args": {}}},
                    {"functionCall": {"name": "f", "args": {}}},
                ]},
                {"role": "user", "parts": [
                    answer(json!({"k": 1})),
                    {"inlineData": {"mimeType": "image/png", "data": "AQID"}},
                    answer(json!({"output": [1]})),
                    answer(json!({"error": {"code": 2}})),
                    {"text": "hurry"},
                ]},
            ]),
        );
        let lost = Request::of([Message::tool_results([ToolResult::text("nobody", "x")])]);
        let error = contents(&lost).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidRequest && error.message().contains("nobody"));
    }

    #[test]
    fn thinking_holds_for_its_maker_only() {
        let message = |origin| {
            Message::new(
                Role::Assistant,
                vec![received(thinking("t", "c2ln"), origin, None), Part::text("a")],
            )
        };
        let thought = json!({"text": "t", "thought": true, "thoughtSignature": "c2ln"});
        check(&[message(origin())], json!([{"role": "model", "parts": [thought, {"text": "a"}]}]));
        check(&[message(other_origin())], json!([{"role": "model", "parts": [{"text": "a"}]}]));
        let mut request = Request::of([message(other_origin())]);
        request.foreign_thinking = ForeignThinking::AsText;
        let (as_text, _) = contents(&request).unwrap();
        assert_eq!(as_text, [json!({"role": "model", "parts": [{"text": "t"}, {"text": "a"}]})]);
    }

    #[test]
    fn foreign_items_are_left_out_with_a_warning() {
        let item = |origin| received(Content::Other(json!({"executableCode": {}})), origin, None);
        let request =
            Request::of([Message::new(Role::Assistant, vec![item(other_origin()), item(origin())])]);
        let (contents, warnings) = contents(&request).unwrap();
        assert_eq!(contents, [json!({"role": "model", "parts": [{"executableCode": {}}]})]);
        assert_eq!(warnings[0].code, "part_dropped");
    }

    #[test]
    fn custom_calls_are_functions_with_one_input() {
        let custom = Part::new(Content::ToolCall(ToolCall::custom("c", "edit", "*** Begin")));
        check(
            &[Message::new(Role::Assistant, vec![custom])],
            json!([{"role": "model", "parts": [
                {"functionCall": {"name": "edit", "args": {"input": "*** Begin"}}, "thoughtSignature": SKIP_SIGNATURE},
            ]}]),
        );
    }
}
