//! Makes a step into an answer: pure.

mod calls;
mod limit;

use junto_llm::{Content, Finish, FinishReason, Part, Response, Thinking, ToolCall, ToolChoice, Usage, Wire};

use crate::minimal;
use crate::play::{Step, Stop, UsageOverride};
use crate::reasoning::{Reasoning, reasoning};
use crate::strict::Seen;
use crate::template::{render, render_value};
use crate::tokens;

/// What the model says when it wants tools and may not have them.
const WITHOUT_TOOLS: &str = "I answer without tools.";
/// What the model says when there is no text to echo.
const NOTHING_SAID: &str = "There was no text to answer.";

/// An answer before it is put together.
struct Draft {
    reasoning: Option<Reasoning>,
    text: String,
    calls: Vec<ToolCall>,
}

/// The answer of this step to this request, unsigned. `number` makes its ids unlike all others.
///
/// # Errors
/// If the step does not go with the request, in words that follow "step N of the play".
pub(crate) fn build(step: &Step, seen: &Seen, number: u64) -> Result<Response, String> {
    let calls = calls::calls(step, seen, number)?;
    let text = text(step, seen, &calls);
    let mut draft = Draft { reasoning: reasoning(step, seen), text, calls };
    let is_cut = seen.max_tokens.is_some_and(|max| limit::apply(&mut draft, max));
    let finish = match step.finish {
        Some(Stop::Length) => Finish::Length,
        Some(Stop::ContentFilter) => Finish::ContentFilter,
        None if is_cut => Finish::Length,
        None if !draft.calls.is_empty() => Finish::ToolCalls,
        Some(Stop::Stop) | None => Finish::Stop,
    };
    let mut response = Response::empty("twin", seen.model.clone());
    response.id = response_id(seen.wire, number);
    response.finish_reason = FinishReason::new(finish);
    response.usage = usage(&draft, seen, &step.usage);
    response.message.content = draft.into_parts();
    Ok(response)
}

impl Draft {
    fn into_parts(self) -> Vec<Part> {
        let thinking = self.reasoning.and_then(|r| r.shown);
        let thinking = thinking.map(|text| Content::Thinking(Thinking { text, signature: None }));
        let text = (!self.text.is_empty()).then_some(Content::Text(self.text));
        let calls = self.calls.into_iter().map(Content::ToolCall);
        thinking.into_iter().chain(text).chain(calls).map(Part::new).collect()
    }
}

fn text(step: &Step, seen: &Seen, calls: &[ToolCall]) -> String {
    if let Some(text) = &step.text {
        return render(text, seen).repeat(step.repeat.unwrap_or(1) as usize);
    }
    if !calls.is_empty() {
        return String::new();
    }
    if let Some(object) = &step.object {
        return render_value(object, seen).to_string();
    }
    if let Some(schema) = &seen.schema {
        return minimal::value(schema).to_string();
    }
    if !step.is_silent() && seen.tool_choice == Some(ToolChoice::None) {
        return WITHOUT_TOOLS.to_owned();
    }
    if seen.last_user.is_empty() { NOTHING_SAID.to_owned() } else { seen.last_user.clone() }
}

fn usage(draft: &Draft, seen: &Seen, given: &UsageOverride) -> Usage {
    let reasoning = draft.reasoning.as_ref().map(|r| r.tokens);
    let calls: u64 = draft.calls.iter().map(call_tokens).sum();
    let output = reasoning.unwrap_or(0) + tokens::count(&draft.text) + calls;
    Usage {
        reasoning: given.reasoning.or(reasoning),
        cache_read: Some(given.cache_read.unwrap_or(seen.cache_read)),
        cache_write: given.cache_write.or((seen.wire == Wire::Anthropic).then_some(seen.cache_write)),
        ..Usage::new(given.input.unwrap_or(seen.input_tokens), given.output.unwrap_or(output))
    }
}

fn call_tokens(call: &ToolCall) -> u64 {
    tokens::count(&call.name) + tokens::count(&call.raw_arguments)
}

fn response_id(wire: Wire, number: u64) -> String {
    let prefix = match wire {
        Wire::Anthropic => "msg_",
        Wire::Responses => "resp_",
        Wire::Chat => "chatcmpl-",
        Wire::Gemini => "",
    };
    format!("{prefix}twin{number:06}")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::play::{Call, Play, Think};
    use crate::strict::SeenTool;
    use junto_llm::wire::Mode;
    use serde_json::{Value, json};

    /// A plain request with this user text.
    pub(crate) fn seen(last_user: &str) -> Seen {
        Seen {
            wire: Wire::Chat,
            model: "model".into(),
            mode: Mode::Complete,
            tools: Vec::new(),
            last_user: last_user.into(),
            last_results: Vec::new(),
            round: 0,
            turn: 1,
            thinking: true,
            schema: None,
            max_tokens: None,
            tool_choice: None,
            input_tokens: 10,
            cache_read: 4,
            cache_write: 2,
            body: Value::Null,
        }
    }

    /// A function tool.
    pub(crate) fn tool(name: &str, schema: Value) -> SeenTool {
        SeenTool { name: name.into(), custom: false, schema: Some(schema) }
    }

    fn check_text(step: &Step, seen: &Seen, expected: &str) {
        let response = build(step, seen, 1).unwrap();
        assert_eq!((response.text().as_str(), response.finish_reason.unified), (expected, Finish::Stop));
    }

    #[test]
    fn a_step_becomes_text() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let silent = Step::default();
        check_text(&Step::text("hi {{last_user}}"), &seen("you"), "hi you");
        check_text(&Step { repeat: Some(3), ..Step::text("ab") }, &seen("x"), "ababab");
        check_text(&Step::text(""), &seen("x"), "");
        check_text(&Play::default().steps[0], &seen("echo me"), "echo me");
        check_text(&silent, &seen(""), NOTHING_SAID);
        check_text(&Step::object(json!({"a": "{{last_user}}"})), &seen("x"), r#"{"a":"x"}"#);
        check_text(&silent, &Seen { schema: Some(schema.clone()), ..seen("x") }, r#"{"n":0}"#);
        check_text(&Step::text("no json"), &Seen { schema: Some(schema), ..seen("x") }, "no json");
        let forbidden = Seen { tool_choice: Some(ToolChoice::None), ..seen("x") };
        check_text(&Step::calls([Call::bare("f")]), &forbidden, WITHOUT_TOOLS);
    }

    #[test]
    fn reasoning_comes_first_and_calls_last() {
        let step = Step { think: Think::Text("hm".into()), ..Step::call("f", json!({"a": 1})) };
        let step = Step { text: Some("let me see".into()), ..step };
        let request = Seen { tools: vec![tool("f", json!({}))], ..seen("x") };
        let response = build(&step, &request, 7).unwrap();
        let expected = [
            Content::Thinking(Thinking { text: "hm".into(), signature: None }),
            Content::Text("let me see".into()),
            Content::ToolCall(ToolCall::function("call_twin00000700", "f", r#"{"a":1}"#)),
        ];
        assert_eq!(response.message.content, expected.map(Part::new));
        assert_eq!(response.finish_reason.unified, Finish::ToolCalls);
        assert_eq!(response.id, "chatcmpl-twin000007");
    }

    #[test]
    fn usage_is_counted_or_as_the_play_says() {
        let step = Step { think: Think::Text("thought".into()), ..Step::text("some answer") };
        let response = build(&step, &seen("x"), 1).unwrap();
        let (thought, text) = (tokens::count("thought"), tokens::count("some answer"));
        let counted =
            Usage { reasoning: Some(thought), cache_read: Some(4), ..Usage::new(10, thought + text) };
        assert_eq!(response.usage, counted);
        let usage = UsageOverride {
            input: Some(100),
            output: Some(20),
            reasoning: Some(5),
            cache_read: Some(50),
            cache_write: Some(30),
        };
        let told = build(&Step { usage, ..step }, &seen("x"), 1).unwrap().usage;
        let expected =
            Usage { reasoning: Some(5), cache_read: Some(50), cache_write: Some(30), ..Usage::new(100, 20) };
        assert_eq!(told, expected);
        let anthropic = Seen { wire: Wire::Anthropic, thinking: false, ..seen("x") };
        let usage = build(&Step::text("a"), &anthropic, 1).unwrap().usage;
        assert_eq!((usage.reasoning, usage.cache_write), (None, Some(2)));
    }

    #[test]
    fn the_play_can_say_why_the_model_stops() {
        for (stop, finish) in [
            (Stop::Length, Finish::Length),
            (Stop::ContentFilter, Finish::ContentFilter),
            (Stop::Stop, Finish::Stop),
        ] {
            let step = Step { finish: Some(stop), ..Step::text("a") };
            assert_eq!(build(&step, &seen("x"), 1).unwrap().finish_reason.unified, finish);
        }
    }
}
