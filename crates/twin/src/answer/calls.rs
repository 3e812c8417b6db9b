//! The tool calls of an answer: what the play asks for, as far as the request allows it.

use std::borrow::Cow;

use serde_json::{Value, json};

use junto_llm::{ToolCall, ToolChoice, Wire};

use crate::minimal;
use crate::play::{Call, Step, ToolRef};
use crate::strict::{Seen, SeenTool};
use crate::template::{render, render_value};

/// The calls of this step. The request's tool choice is obeyed: no calls if it forbids them, a call
/// of the play's making if it insists on one that the step does not have, and one call if it rules
/// out several.
///
/// # Errors
/// If the step asks for a tool that the request does not declare.
pub(super) fn calls(step: &Step, seen: &Seen, number: u64) -> Result<Vec<ToolCall>, String> {
    if seen.tool_choice == Some(ToolChoice::None) {
        return Ok(Vec::new());
    }
    let both = [Call::bare("*"), Call::bare("*")];
    let wanted = if step.calls.is_empty() && step.loop_rounds.is_some() { &both[..] } else { &step.calls };
    let mut chosen = Vec::with_capacity(wanted.len());
    for (place, call) in wanted.iter().enumerate() {
        let tool = match (&call.tool, find(&call.tool, place, seen)) {
            (ToolRef::Name(name), Err(_)) if call.undeclared => Cow::Owned(made_up(name)),
            (_, found) => Cow::Borrowed(found?),
        };
        chosen.push((tool, arguments(call)));
    }
    let forced = Arguments::of_forced(step);
    match &seen.tool_choice {
        Some(ToolChoice::Named(name)) => {
            chosen.retain(|(tool, _)| tool.name == *name);
            if chosen.is_empty() {
                chosen.push((Cow::Borrowed(find(&ToolRef::Name(name.clone()), 0, seen)?), forced));
            }
        }
        Some(ToolChoice::Required) if chosen.is_empty() => {
            chosen.push((Cow::Borrowed(find(&ToolRef::Any, 0, seen)?), forced));
        }
        _ => {}
    }
    if only_one(seen) {
        chosen.truncate(1);
    }
    let made = chosen.into_iter().enumerate();
    Ok(made.map(|(place, (tool, args))| make(call_id(seen.wire, number, place), &tool, args, seen)).collect())
}

/// A tool that nobody declared.
fn made_up(name: &str) -> SeenTool {
    SeenTool { name: name.to_owned(), custom: false, schema: None }
}

fn find<'a>(tool: &ToolRef, place: usize, seen: &'a Seen) -> Result<&'a SeenTool, String> {
    let declared = &seen.tools;
    let (found, asked) = match tool {
        ToolRef::Name(name) => (declared.iter().find(|t| t.name == *name), format!("the tool `{name}`")),
        ToolRef::Index(index) => (declared.get(*index), format!("the tool at place {index}")),
        ToolRef::Any => (declared.get(place % declared.len().max(1)), "a tool".to_owned()),
    };
    found.ok_or_else(|| {
        let names: Vec<String> = declared.iter().map(|t| format!("`{}`", t.name)).collect();
        let names = if names.is_empty() { "no tools".to_owned() } else { names.join(", ") };
        format!("calls {asked}, but the request declares {names}")
    })
}

/// What a call is made with.
enum Arguments<'a> {
    Json(&'a Value),
    Raw(&'a str),
    Input(&'a str),
    Minimal,
}

impl<'a> Arguments<'a> {
    /// For a call that the request insists on and the step does not have.
    fn of_forced(step: &'a Step) -> Self {
        step.object.as_ref().map_or(Self::Minimal, Self::Json)
    }
}

fn arguments(call: &Call) -> Arguments<'_> {
    match call {
        Call { raw_args: Some(raw), .. } => Arguments::Raw(raw),
        Call { input: Some(input), .. } => Arguments::Input(input),
        Call { args: Some(args), .. } => Arguments::Json(args),
        _ => Arguments::Minimal,
    }
}

/// A custom tool takes the text that a function made of it would take as `input`, and the other way
/// round, so that one play works on wires with custom tools and on wires without.
fn make(id: String, tool: &SeenTool, arguments: Arguments<'_>, seen: &Seen) -> ToolCall {
    let name = &tool.name;
    if tool.custom {
        let input = match arguments {
            Arguments::Raw(raw) => raw.to_owned(),
            Arguments::Input(input) => render(input, seen),
            Arguments::Json(args) => {
                let text = args.get("input").unwrap_or(args);
                text.as_str().map_or_else(|| text.to_string(), |text| render(text, seen))
            }
            Arguments::Minimal => String::new(),
        };
        return ToolCall::custom(id, name, input);
    }
    let raw = match arguments {
        Arguments::Raw(raw) => raw.to_owned(),
        Arguments::Input(input) => json!({ "input": render(input, seen) }).to_string(),
        Arguments::Json(args) => render_value(args, seen).to_string(),
        Arguments::Minimal => {
            let made = tool.schema.as_ref().map(minimal::value).filter(Value::is_object);
            made.unwrap_or_else(|| json!({})).to_string()
        }
    };
    ToolCall::function(id, name, raw)
}

/// Whether the request rules out several calls in one answer.
fn only_one(seen: &Seen) -> bool {
    match seen.wire {
        Wire::Anthropic => seen.body["tool_choice"]["disable_parallel_tool_use"] == true,
        Wire::Responses | Wire::Chat => seen.body["parallel_tool_calls"] == false,
        Wire::Gemini => false,
    }
}

fn call_id(wire: Wire, number: u64, place: usize) -> String {
    let prefix = if wire == Wire::Anthropic { "toolu" } else { "call" };
    format!("{prefix}_twin{number:06}{place:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::{seen, tool};
    use junto_llm::ToolCallKind;

    fn request(choice: Option<ToolChoice>) -> Seen {
        let schema = json!({"type": "object", "properties": {"p": {"type": "string"}}, "required": ["p"]});
        let patch = SeenTool { name: "patch".into(), custom: true, schema: None };
        Seen { tools: vec![tool("f", schema), tool("g", json!({})), patch], tool_choice: choice, ..seen("u") }
    }

    /// The calls of a step as `name arguments`.
    fn check(step: &Step, request: &Seen, expected: &[&str]) {
        let made = calls(step, request, 1).unwrap();
        let said: Vec<String> = made.iter().map(|c| format!("{} {}", c.name, c.raw_arguments)).collect();
        assert_eq!(said, expected);
        let mut ids: Vec<&str> = made.iter().map(|c| c.id.as_str()).collect();
        ids.dedup();
        assert_eq!(ids.len(), made.len(), "every call has an id of its own");
    }

    #[test]
    fn calls_are_made_as_written() {
        let auto = request(None);
        check(&Step::call("f", json!({"p": "{{last_user}}", "n": [1]})), &auto, &[r#"f {"p":"u","n":[1]}"#]);
        check(&Step::calls([Call::raw("f", "{\"p\": tru")]), &auto, &["f {\"p\": tru"]);
        check(&Step::calls([Call::bare("f"), Call::bare("g")]), &auto, &[r#"f {"p":""}"#, "g {}"]);
        check(&Step::calls([Call::bare("*"), Call::bare("*")]), &auto, &[r#"f {"p":""}"#, "g {}"]);
        let index = Call { tool: ToolRef::Index(1), ..Call::bare("x") };
        check(&Step::calls([index]), &auto, &["g {}"]);
        check(&Step::text("no calls"), &auto, &[]);
    }

    #[test]
    fn custom_tools_take_text() {
        let auto = request(None);
        let input = |tool: &str| Call { input: Some("*** {{last_user}}".into()), ..Call::bare(tool) };
        check(&Step::calls([input("patch"), input("g")]), &auto, &["patch *** u", r#"g {"input":"*** u"}"#]);
        check(&Step::call("patch", json!({"input": "text"})), &auto, &["patch text"]);
        check(&Step::calls([Call::bare("patch")]), &auto, &["patch "]);
        let made = calls(&Step::calls([input("patch")]), &auto, 1).unwrap();
        assert_eq!(made[0].kind, ToolCallKind::Custom);
    }

    #[test]
    fn a_loop_without_calls_makes_two_side_by_side() {
        let step = Step { loop_rounds: Some(1), ..Step::default() };
        check(&step, &request(None), &[r#"f {"p":""}"#, "g {}"]);
        let one = Seen { tools: vec![tool("g", json!({}))], ..seen("u") };
        check(&step, &one, &["g {}", "g {}"]);
    }

    #[test]
    fn the_tool_choice_is_obeyed() {
        let both = Step::calls([Call::bare("f"), Call::bare("g")]);
        check(&both, &request(Some(ToolChoice::None)), &[]);
        check(&Step::calls([Call::bare("h")]), &request(Some(ToolChoice::None)), &[]);
        check(&Step::text("a"), &request(Some(ToolChoice::Required)), &[r#"f {"p":""}"#]);
        check(&both, &request(Some(ToolChoice::Named("g".into()))), &["g {}"]);
        let named = request(Some(ToolChoice::Named("f".into())));
        check(&Step::text("a"), &named, &[r#"f {"p":""}"#]);
        check(&Step::object(json!({"p": "o"})), &named, &[r#"f {"p":"o"}"#]);
    }

    #[test]
    fn several_calls_can_be_ruled_out() {
        let both = Step::calls([Call::bare("f"), Call::bare("g")]);
        let chat = Seen { body: json!({"parallel_tool_calls": false}), ..request(None) };
        check(&both, &chat, &[r#"f {"p":""}"#]);
        let body = json!({"tool_choice": {"type": "auto", "disable_parallel_tool_use": true}});
        check(&both, &Seen { wire: Wire::Anthropic, body, ..request(None) }, &[r#"f {"p":""}"#]);
    }

    #[test]
    fn a_tool_can_be_made_up_on_purpose() {
        let made_up = Call::new("h", json!({"p": "{{last_user}}"})).undeclared();
        check(
            &Step::calls([made_up, Call::bare("g").undeclared()]),
            &request(None),
            &[r#"h {"p":"u"}"#, "g {}"],
        );
    }

    #[test]
    fn an_undeclared_tool_is_a_mistake() {
        let refused = |step: &Step, request: &Seen| calls(step, request, 1).unwrap_err();
        let error = refused(&Step::calls([Call::bare("h")]), &request(None));
        assert!(error.contains("`h`") && error.contains("`f`, `g`, `patch`"), "{error}");
        let far = Call { tool: ToolRef::Index(9), ..Call::bare("x") };
        assert!(refused(&Step::calls([far]), &request(None)).contains("place 9"));
        assert!(refused(&Step::calls([Call::bare("*")]), &seen("u")).contains("no tools"));
    }
}
