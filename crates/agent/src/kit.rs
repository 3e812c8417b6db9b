//! The tools of a session, ready to be called.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use junto_core::{AgentError, AgentErrorKind, Tool};
use junto_llm::names::nearest;
use junto_llm::schema::{self, Validator};
use junto_llm::{ToolCall, ToolSpec};
use serde_json::{Value, json};

use crate::{ToolRegistry, alias};

/// How many characters are shown before the place where arguments stop being JSON.
const SHOWN: usize = 40;

/// The tools of a session, ready to be called. Does not change: another registry is another kit.
pub(crate) struct Kit {
    registry: ToolRegistry,
    entries: Vec<Arc<Entry>>,
    specs: Vec<ToolSpec>,
}

pub(crate) struct Entry {
    pub(crate) tool: Arc<dyn Tool>,
    /// Of a tool that takes an object. Made when the tool is first called: most are not, and to make
    /// it takes longer than most calls.
    validator: OnceLock<Result<Option<Validator>, String>>,
}

impl Kit {
    /// # Errors
    /// `invalid` if a tool's schema has no object at its root. One that is no schema for another reason
    /// is told to whoever calls the tool.
    pub(crate) fn new(registry: ToolRegistry) -> Result<Self, AgentError> {
        let entries = registry.iter().map(Entry::new).collect::<Result<_, AgentError>>()?;
        let specs = registry.definitions();
        Ok(Self { registry, entries, specs })
    }

    pub(crate) fn registry(&self) -> &ToolRegistry {
        &self.registry
    }

    pub(crate) fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// The tool for a call, if the arguments fit it.
    ///
    /// # Errors
    /// What to tell the model.
    pub(crate) fn find(&self, call: &ToolCall) -> Result<Arc<Entry>, String> {
        match self.entries.iter().find(|entry| entry.tool.spec().name == call.name) {
            Some(entry) => entry.check(call).map(|()| Arc::clone(entry)),
            None => self.find_alias(call),
        }
    }

    /// The first tool that a name may mean and whose schema the arguments fit. They are made for the call:
    /// most sessions never need one.
    fn find_alias(&self, call: &ToolCall) -> Result<Arc<Entry>, String> {
        let mut fault = None;
        for tool in alias::meant(&self.registry, &call.name) {
            let entry = Entry::new(&tool).map_err(|error| error.to_string())?;
            match entry.check(call) {
                Ok(()) => return Ok(entry),
                Err(why) => fault = fault.or(Some(why)),
            }
        }
        Err(fault.unwrap_or_else(|| self.unknown(&call.name)))
    }

    fn unknown(&self, name: &str) -> String {
        let near = nearest(name, self.registry.names()).map(|near| format!("; did you mean `{near}`?"));
        let known: Vec<&str> = self.registry.names().collect();
        format!(
            "there is no tool named `{name}`{} There are: {}",
            near.as_deref().unwrap_or("."),
            known.join(", ")
        )
    }
}

impl Entry {
    pub(crate) fn new(tool: &Arc<dyn Tool>) -> Result<Arc<Self>, AgentError> {
        let spec = tool.spec();
        if let Some(parameters) = spec.parameters() {
            schema::has_object_root(&spec.name, parameters)
                .map_err(|error| AgentError::new(AgentErrorKind::Invalid, error.to_string()))?;
        }
        Ok(Arc::new(Self { tool: Arc::clone(tool), validator: OnceLock::new() }))
    }

    /// Checks the arguments of a call.
    fn check(&self, call: &ToolCall) -> Result<(), String> {
        well_formed(call)?;
        match self.faults(&call.arguments).as_slice() {
            [] => Ok(()),
            faults => Err(format!("`{}` cannot be called like this: {}", call.name, faults.join("; "))),
        }
    }

    /// What is wrong with the arguments of a call.
    fn faults(&self, arguments: &Value) -> Vec<String> {
        let spec = self.tool.spec();
        let made = self.validator.get_or_init(|| {
            let compile = |parameters| schema::compile(&spec.name, &closed(parameters));
            spec.parameters().map(compile).transpose().map_err(|error| error.to_string())
        });
        match made {
            Ok(Some(validator)) => validator.faults(arguments),
            Ok(None) => Vec::new(),
            Err(error) => vec![error.clone()],
        }
    }
}

/// A schema that refuses fields it does not list, which a model has misspelt or made up. The model sees
/// the schema as the tool has it. One that says itself what may be there beside its fields, or lists
/// none, stays as it is.
fn closed(parameters: &Value) -> Cow<'_, Value> {
    const OWN_RULES: &[&str] = &[
        "additionalProperties",
        "unevaluatedProperties",
        "patternProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "$ref",
    ];
    let Some(object) = parameters.as_object() else { return Cow::Borrowed(parameters) };
    if !object.contains_key("properties") || OWN_RULES.iter().any(|rule| object.contains_key(*rule)) {
        return Cow::Borrowed(parameters);
    }
    let mut object = object.clone();
    object.insert("additionalProperties".to_owned(), json!(false));
    Cow::Owned(Value::Object(object))
}

/// Checks that a function was called with an object.
fn well_formed(call: &ToolCall) -> Result<(), String> {
    if call.is_well_formed() {
        return Ok(());
    }
    let name = &call.name;
    match serde_json::from_str::<Value>(&call.raw_arguments) {
        Ok(_) => Err(format!("the arguments of `{name}` are JSON, but not a JSON object")),
        Err(error) if error.is_eof() => Err(format!(
            "the arguments of `{name}` are not a JSON object: they end too early, at {}",
            place(&error, &call.raw_arguments)
        )),
        Err(error) => {
            let message = error.to_string();
            let what = message.split(" at line ").next().unwrap_or_default();
            Err(format!(
                "the arguments of `{name}` are not a JSON object: {what} at {}",
                place(&error, &call.raw_arguments)
            ))
        }
    }
}

/// Where it went wrong, for someone who knows the text and cannot count its columns.
fn place(error: &serde_json::Error, text: &str) -> String {
    let (line, column) = (error.line(), error.column());
    let in_line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let end = in_line.floor_char_boundary(column.min(in_line.len()));
    let before = in_line.split_at(end).0;
    let start = before.char_indices().rev().nth(SHOWN - 1).map_or(0, |(at, _)| at);
    format!("line {line}, column {column}, after `{}`", before.split_at(start).1)
}

#[cfg(test)]
mod tests {
    use junto_core::ToolCx;
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;
    use crate::tool;

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is looked at")]
    struct Run {
        command: String,
        timeout_ms: Option<u32>,
    }

    fn kit() -> Kit {
        let run = |name: &str| Arc::new(tool(name, "", |_: Run, _: ToolCx| async { "" })) as Arc<dyn Tool>;
        Kit::new(vec![run("shell"), run("run_tests")].into()).unwrap()
    }

    #[test]
    fn calls_that_make_no_sense_are_explained() {
        let check = |name: &str, arguments: &str, expected: &str| match kit()
            .find(&ToolCall::function("c", name, arguments))
        {
            Ok(_) => panic!("{name} takes {arguments}"),
            Err(told) => assert_eq!(told, expected, "{name} {arguments}"),
        };
        check(
            "shel",
            "{}",
            "there is no tool named `shel`; did you mean `shell`? There are: shell, run_tests",
        );
        check("fly", "{}", "there is no tool named `fly`. There are: shell, run_tests");
        check(
            "shell",
            r#"{"cmd": "ls", "timeout_ms": "soon", "why": 1}"#,
            "`shell` cannot be called like this: `timeout_ms` must be null or an integer, not the string \
             \"soon\"; `cmd` is unknown; did you mean `command`?; `why` is unknown; there are `command`, \
             `timeout_ms`; `command` is missing (it is a string)",
        );
        check("shell", "[1]", "the arguments of `shell` are JSON, but not a JSON object");
        check("shell", "null", "the arguments of `shell` are JSON, but not a JSON object");
        check(
            "shell",
            r#"{"command": "l"#,
            "the arguments of `shell` are not a JSON object: they end too early, at line 1, column 14, after \
             `{\"command\": \"l`",
        );
        check(
            "shell",
            "{\n  \"command\": ls\n}",
            "the arguments of `shell` are not a JSON object: expected value at line 2, column 14, after `  \
             \"command\": l`",
        );
        let long = format!("{{\"command\": \"{}\" x}}", "é".repeat(100));
        check(
            "shell",
            &long,
            &format!(
                "the arguments of `shell` are not a JSON object: expected `,` or `}}` at line 1, column 216, \
                 after `{}\" x`",
                "é".repeat(37)
            ),
        );
    }

    #[test]
    fn a_schema_may_allow_what_it_does_not_list() {
        let check = |schema: Value, refuses: bool| {
            let closed = closed(&schema).into_owned();
            let validator = schema::compile("t", &closed).unwrap();
            assert_eq!(!validator.faults(&json!({"x": 1})).is_empty(), refuses, "{schema}");
        };
        check(json!({"type": "object", "properties": {"a": {}}}), true);
        check(json!({"type": "object", "properties": {}}), true);
        check(json!({"type": "object"}), false);
        check(json!({"type": "object", "properties": {"a": {}}, "additionalProperties": true}), false);
        check(json!({"type": "object", "properties": {"a": {}}, "anyOf": [{}]}), false);
    }

    #[test]
    fn a_schema_that_is_none_is_refused() {
        let text = tool("t", "", |_: String, _: ToolCx| async { "" });
        let Err(error) = Kit::new(vec![Arc::new(text) as Arc<dyn Tool>].into()) else { panic!("it is none") };
        assert!(
            error.kind() == AgentErrorKind::Invalid && error.to_string().contains("no object"),
            "{error}"
        );
    }
}
