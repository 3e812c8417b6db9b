//! The modules: one for the tools of a server, and one for the types of each tool.

use std::fmt::Write as _;

use junto_core::{ToolKind, ToolSpec};
use serde_json::Value;

use super::text::{docstring, quoted};
use super::types::{Class, Field, Types};

/// How many characters of a description stand in a list.
const SUMMARY: usize = 120;

/// A tool with its name in Python.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModuleTool<'a> {
    /// What it is called in Python.
    pub(crate) name: &'a str,
    pub(crate) spec: &'a ToolSpec,
    /// The schema of what it gives; absent if that is text.
    pub(crate) output: Option<&'a Value>,
}

/// The types of a tool, with what stands before the names of classes.
struct Shape {
    /// Absent if it takes free text.
    parameters: Option<Vec<Field>>,
    /// Whether it takes more than is listed.
    is_open: bool,
    classes: Vec<Class>,
    /// The type of what it gives; the class, if it is one.
    result: Option<String>,
}

impl Shape {
    fn of(tool: ModuleTool<'_>, prefix: &str) -> Self {
        let mut classes = Vec::new();
        let is_open = tool.spec.parameters().is_some_and(is_open);
        let parameters = match &tool.spec.kind {
            ToolKind::Function { parameters, .. } => {
                let mut types = Types::new(parameters, prefix, &[]);
                let fields = types.fields(parameters, 0);
                classes.append(&mut types.classes);
                Some(fields)
            }
            ToolKind::Custom { .. } | ToolKind::Hosted { .. } => None,
        };
        let taken: Vec<String> = classes.iter().map(|class| class.name.clone()).collect();
        let result = tool.output.map(|schema| {
            let mut types = Types::new(schema, prefix, &taken);
            let fields = types.fields(schema, 0);
            if fields.is_empty() {
                let kind = types.of(schema, "value", 0);
                classes.append(&mut types.classes);
                return kind;
            }
            classes.append(&mut types.classes);
            let doc = schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
            classes.push(Class { name: "Result".to_owned(), doc, fields });
            format!("{prefix}Result")
        });
        Self { parameters, is_open, classes, result }
    }
}

/// The source of the module with the tools of a server, or with our own.
pub(crate) fn of_server(doc: &str, tools: &[ModuleTool<'_>]) -> String {
    let mut source = docstring(doc, 0);
    source.push_str("from __future__ import annotations\n\nfrom junto_code import tool as _tool\n");
    let names: Vec<String> = tools.iter().map(|tool| quoted(tool.name)).collect();
    let _ = writeln!(source, "\n__all__ = [{}]", names.join(", "));
    for tool in tools {
        let prefix = format!("{}.", tool.name);
        let shape = Shape::of(*tool, &prefix);
        let _ = write!(
            source,
            "\n\n@_tool({}{})\n{}",
            quoted(&tool.spec.name),
            marks(&shape),
            head(*tool, &shape)
        );
        source.push_str(&docstring(&doc_of(*tool, &shape), 4));
    }
    source
}

/// What the decorator has to know beside the signature.
fn marks(shape: &Shape) -> String {
    let mut marks = String::new();
    match &shape.parameters {
        None => marks.push_str(", free=True"),
        Some(fields) => {
            let renamed: Vec<String> = fields
                .iter()
                .filter(|field| field.name != field.wire)
                .map(|field| format!("{}: {}", quoted(&field.name), quoted(&field.wire)))
                .collect();
            if !renamed.is_empty() {
                let _ = write!(marks, ", wire={{{}}}", renamed.join(", "));
            }
            // None in place of anything else that may be left out means that it is.
            let left_out: Vec<String> = fields
                .iter()
                .filter(|field| !field.is_required && !field.is_nullable)
                .map(|field| quoted(&field.name))
                .collect();
            if !left_out.is_empty() {
                let _ = write!(marks, ", optional=[{}]", left_out.join(", "));
            }
        }
    }
    if shape.result.is_some() {
        marks.push_str(", typed=True");
    }
    marks
}

/// The line with the signature.
fn head(tool: ModuleTool<'_>, shape: &Shape) -> String {
    let mut parameters: Vec<String> = match &shape.parameters {
        None => vec!["text: str".to_owned()],
        Some(fields) => fields
            .iter()
            .map(|field| {
                let default = if field.is_required { "" } else { " = ..." };
                format!("{}: {}{default}", field.name, field.kind)
            })
            .collect(),
    };
    if shape.is_open {
        parameters.push("**_more: Any".to_owned());
    }
    let result = shape.result.as_deref().unwrap_or("str");
    format!("def {}({}) -> {result}:\n", tool.name, parameters.join(", "))
}

/// Whether arguments beside those that are listed are taken.
fn is_open(schema: &Value) -> bool {
    const OWN_RULES: &[&str] =
        &["patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "$ref"];
    match schema.get("additionalProperties") {
        Some(more) => *more != Value::Bool(false),
        None => schema.get("properties").is_none() || OWN_RULES.iter().any(|rule| schema.get(rule).is_some()),
    }
}

fn doc_of(tool: ModuleTool<'_>, shape: &Shape) -> String {
    let mut doc = tool.spec.description.trim().to_owned();
    let told = shape.parameters.iter().flatten().filter_map(described).collect::<Vec<_>>();
    if !told.is_empty() {
        let _ = write!(doc, "\n\n{}", told.join("\n"));
    }
    doc
}

/// What is said of a field beside its type; absent if that is nothing.
fn described(field: &Field) -> Option<String> {
    let default = field.default.as_ref().map(|value| format!("default {value}"));
    let doc = (!field.doc.is_empty()).then(|| field.doc.replace('\n', " "));
    let told: Vec<String> = doc.into_iter().chain(default).collect();
    (!told.is_empty()).then(|| format!("{}: {}", field.name, told.join("; ")))
}

/// The source of the module with the types of a tool.
pub(crate) fn of_types(tool: ModuleTool<'_>) -> String {
    let mut shape = Shape::of(tool, "");
    if let Some(fields) = shape.parameters.take() {
        let doc = String::new();
        shape.classes.push(Class { name: "Params".to_owned(), doc, fields });
    }
    let mut source = docstring(&format!("The types of {}.", tool.name), 0);
    source.push_str(
        "from __future__ import annotations\n\nfrom typing import Any, Literal\n\nfrom junto_types import Model, field\n",
    );
    for class in &shape.classes {
        source.push_str(&class_source(class));
    }
    match shape.result.as_deref() {
        Some("Result") => {}
        Some(kind) => {
            let _ = write!(source, "\n\nResult = {kind}\n");
        }
        None => source.push_str("\n\nResult = str\n"),
    }
    source
}

fn class_source(class: &Class) -> String {
    let mut source = format!("\n\nclass {}(Model):\n", class.name);
    let told: Vec<String> = class.fields.iter().filter_map(described).collect();
    let doc = [class.doc.trim().to_owned(), told.join("\n")].join("\n\n");
    if !doc.trim().is_empty() {
        source.push_str(&docstring(&doc, 4));
    }
    if class.fields.is_empty() {
        source.push_str("    pass\n");
    }
    for field in &class.fields {
        let kind = match field {
            Field { is_required: false, is_nullable: false, kind, .. } => format!("{kind} | None"),
            Field { kind, .. } => kind.clone(),
        };
        let value = match (field.is_required, field.name == field.wire) {
            (true, true) => String::new(),
            (false, true) => " = None".to_owned(),
            (true, false) => format!(" = field({})", quoted(&field.wire)),
            (false, false) => format!(" = field({}, None)", quoted(&field.wire)),
        };
        let _ = writeln!(source, "    {}: {kind}{value}", field.name);
    }
    source
}

/// What a tool is called with and what it gives, as code writes it, with what is said of it.
pub(crate) fn signature(module: &str, tool: ModuleTool<'_>) -> String {
    let shape = Shape::of(tool, "");
    let mut told = format!("from {module} import {}\n\n{}", tool.name, head(tool, &shape));
    told.push_str(&docstring(&doc_of(tool, &shape), 4));
    for class in &shape.classes {
        told.push_str(class_source(class).trim_start_matches('\n'));
    }
    told
}

/// The first sentence or line of a description.
pub(crate) fn summary(description: &str) -> String {
    let line = description.trim().lines().next().unwrap_or_default();
    let sentence = line.split_inclusive(". ").next().unwrap_or_default().trim_end();
    if sentence.chars().count() <= SUMMARY {
        return sentence.to_owned();
    }
    sentence.chars().take(SUMMARY - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn issue() -> ToolSpec {
        let schema = json!({"type": "object", "required": ["title"], "properties": {
            "title": {"type": "string", "description": "What it is\nabout"},
            "from": {"type": "string"},
            "labels": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "limit": {"type": ["integer", "null"], "default": 10}
        }});
        ToolSpec::foreign("github__create-issue", "Create an issue. It \"\"\" is seen.", schema)
    }

    #[test]
    fn a_server_becomes_functions() {
        let output =
            json!({"type": "object", "required": ["number"], "properties": {"number": {"type": "integer"}}});
        let spec = issue();
        let free = ToolSpec {
            name: "free".into(),
            description: String::new(),
            kind: ToolKind::Custom { format: None },
        };
        let tools = [
            ModuleTool { name: "create_issue", spec: &spec, output: Some(&output) },
            ModuleTool { name: "free", spec: &free, output: None },
        ];
        let expected = r#""""Tools."""
from __future__ import annotations

from junto_code import tool as _tool

__all__ = ["create_issue", "free"]


@_tool("github__create-issue", wire={"from_": "from"}, optional=["from_", "labels"], typed=True)
def create_issue(title: str, from_: str = ..., labels: list[create_issue.LabelsItem] = ..., limit: int | None = ...) -> create_issue.Result:
    """Create an issue. It "\"\" is seen.

    title: What it is about
    limit: default 10"""


@_tool("free", free=True)
def free(text: str) -> str:
    """"""
"#;
        assert_eq!(of_server("Tools.", &tools), expected);
        let expected = r#""""The types of create_issue."""
from __future__ import annotations

from typing import Any, Literal

from junto_types import Model, field


class LabelsItem(Model):
    name: str | None = None


class Result(Model):
    number: int


class Params(Model):
    """title: What it is about
    limit: default 10"""
    title: str
    from_: str | None = field("from", None)
    labels: list[LabelsItem] | None = None
    limit: int | None = None
"#;
        assert_eq!(of_types(tools[0]), expected);
        assert!(of_types(tools[1]).ends_with("\n\nResult = str\n"));
        let told = signature("mcptools.github", tools[0]);
        assert!(
            told.starts_with("from mcptools.github import create_issue\n\ndef create_issue(title: str, "),
            "{told}"
        );
        assert!(
            told.contains("class LabelsItem(Model):\n    name: str | None = None\nclass Result"),
            "{told}"
        );
    }

    #[test]
    fn what_takes_anything_can_be_given_anything() {
        for (schema, open) in [
            (json!({"type": "object"}), true),
            (json!({"type": "object", "properties": {}}), false),
            (json!({"type": "object", "properties": {}, "additionalProperties": true}), true),
            (json!({"type": "object", "properties": {}, "additionalProperties": false, "anyOf": []}), false),
            (json!({"type": "object", "properties": {}, "anyOf": []}), true),
        ] {
            let spec = ToolSpec::foreign("t", "", schema.clone());
            let told = signature("m", ModuleTool { name: "t", spec: &spec, output: None });
            assert_eq!(told.contains("def t(**_more: Any)"), open, "{schema}: {told}");
        }
    }

    #[test]
    fn a_list_has_the_first_sentence() {
        let long = "x".repeat(200);
        for (description, expected) in [
            ("", String::new()),
            ("One. Two.", "One.".to_owned()),
            ("\n A line\nmore", "A line".to_owned()),
            (&long, format!("{}…", "x".repeat(119))),
        ] {
            assert_eq!(summary(description), expected, "{description}");
        }
    }
}
