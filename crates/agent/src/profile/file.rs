//! Profiles from files: what a user wrote, or what was captured from an installed agent.
//!
//! ```toml
//! [profile]
//! id = "terse"                 # its name
//! extends = "anthropic"        # what holds where the file says nothing; absent: the family named `id`
//! dialect = "native"
//! model = "claude-opus-5-5"
//! effort = "high"
//! base = "You mend programs."  # the first layer of the system prompt, instead of the family's
//! documents = ["CLAUDE.md"]    # beside AGENTS.md
//! shell_timeout_ms = 60000
//! tools = ["Read", "grep"]     # of those we have, by either dialect's name
//!
//! [profile.capabilities]
//! parallel_tool_calls = false
//!
//! [profile.options.anthropic]
//! beta_headers = ["context-1m-2025-08-07"]
//!
//! [[tool]]                     # a tool as the model shall see it
//! name = "Bash"
//! description = "Runs a command."
//! use = "shell"                # what runs it; absent: the tool named `name`
//! parameters = '{"type": "object", "properties": {"command": {"type": "string"}}}'
//! ```
//!
//! With `tools` or `[[tool]]` these are all tools there are; with neither they are the family's.

use std::sync::Arc;
use std::time::Duration;

use junto_core::{Action, AgentError, AgentErrorKind, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_llm::{Effort, ToolCall, ToolKind, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Dialect, Family, Profile, builtin, native};
use crate::tools::Timeouts;

/// A profile as a file has it. [`ProfileFile::to_toml`] writes what [`Profile::from_toml`] reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileFile {
    /// Everything but the tools' definitions.
    pub profile: ProfileHead,
    /// Tools as the model shall see them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool: Vec<ToolEntry>,
}

/// Everything in a profile's file but its tools' definitions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileHead {
    /// Its name.
    pub id: String,
    /// The family that it builds on; absent: the one that `id` names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extends: Option<Family>,
    /// The dialect of the tools that are named and not defined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// The model to ask where nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard it shall think where nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The first layer of the system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Project documents to read beside `AGENTS.md`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documents: Option<Vec<String>>,
    /// How long a command may take where nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell_timeout_ms: Option<u64>,
    /// Tools that we have, by either dialect's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// What the model can do.
    #[serde(skip_serializing_if = "CapabilitiesEntry::is_empty")]
    pub capabilities: CapabilitiesEntry,
    /// Fields for the request, by wire; they go over the family's.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
}

/// What a file says that a model can do; what it does not say is as the family has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "they are those of `Capabilities`")]
pub struct CapabilitiesEntry {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}

impl CapabilitiesEntry {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A tool as the model shall see it. Of `parameters`, `format` and `hosted` at most one says how it is
/// called; with none it is called like the tool that runs it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolEntry {
    /// The name the model calls it by.
    pub name: String,
    /// What it does, for the model; absent: as the tool that runs it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Which of our tools runs it, by either dialect's name; absent: the one called `name`.
    #[serde(default, rename = "use", skip_serializing_if = "Option::is_none")]
    pub runs: Option<String>,
    /// The JSON Schema of its arguments: a table, or JSON in a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// The format of a tool that takes free text: a table, JSON in a text, or an empty text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Value>,
    /// A tool that the provider runs, as its wire spells it: a table, or JSON in a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosted: Option<Value>,
}

impl ProfileFile {
    /// The file's text.
    ///
    /// # Errors
    /// `invalid` if something in it cannot be said in TOML: a `null` among the options.
    pub fn to_toml(&self) -> Result<String, AgentError> {
        toml::to_string_pretty(self)
            .map_err(|error| invalid(format!("the profile cannot be written: {error}")))
    }
}

impl ToolEntry {
    /// A definition as it went over a wire, with its schema or format as JSON in a text, since TOML has
    /// no `null`.
    pub fn of(spec: &ToolSpec, runs: Option<String>) -> Self {
        let text = |value: &Value| Some(Value::String(format!("{value:#}")));
        let entry = Self {
            name: spec.name.clone(),
            description: Some(spec.description.clone()),
            runs,
            ..Self::default()
        };
        match &spec.kind {
            ToolKind::Function { parameters, .. } => Self { parameters: text(parameters), ..entry },
            ToolKind::Custom { format: Some(format) } => Self { format: text(format), ..entry },
            ToolKind::Custom { format: None } => Self { format: Some("".into()), ..entry },
            ToolKind::Hosted { item, .. } => Self { hosted: text(item), ..entry },
        }
    }
}

impl Profile {
    /// A profile from the text of a file.
    ///
    /// # Errors
    /// `invalid`, with the line or the tool, if it is no profile, or names a tool that we have not.
    pub fn from_toml(text: &str) -> Result<Self, AgentError> {
        let file = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
            invalid(format!("the profile, line {line}: {}", error.message()))
        })?;
        Self::from_file(file)
    }

    /// A profile from what a file says. A tool that it defines without saying what runs it, and that we
    /// have not, is left out, and named in [`Profile::left_out`].
    ///
    /// # Errors
    /// As [`Profile::from_toml`].
    pub fn from_file(file: ProfileFile) -> Result<Self, AgentError> {
        let ProfileFile { profile: head, tool: entries } = file;
        let Some(family) = head.extends.or_else(|| Family::named(&head.id)) else {
            return Err(no_family(&head.id));
        };
        let mut profile = Self::of(family).with_dialect(head.dialect.unwrap_or_default());
        if let Some(timeout) = head.shell_timeout_ms {
            profile = profile.with_shell_timeout(Duration::from_millis(timeout));
        }
        if head.tools.is_some() || !entries.is_empty() {
            let listed = Listed { named: head.tools.unwrap_or_default(), defined: entries };
            let Found { tools, left_out } = listed.make(&profile)?;
            profile.made = tools.into();
            profile.tools = profile.made.clone();
            (profile.listed, profile.left_out) = (Some(listed), left_out);
        }
        profile.id = head.id;
        profile.model = head.model;
        profile.effort = head.effort;
        profile.base = head.base.unwrap_or(profile.base);
        profile.documents = head.documents.unwrap_or(profile.documents);
        lay_over(&mut profile.options, head.options);
        let (own, said) = (&mut profile.capabilities, head.capabilities);
        own.reasoning = said.reasoning.unwrap_or(own.reasoning);
        own.streaming = said.streaming.unwrap_or(own.streaming);
        own.parallel_tool_calls = said.parallel_tool_calls.unwrap_or(own.parallel_tool_calls);
        own.context_window = said.context_window.or(own.context_window);
        Ok(profile)
    }

    /// One of our tools by either dialect's name: the profile's own first, since two vendors may call
    /// different things the same.
    fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let timeouts = Timeouts::of(Some(self.shell_timeout()), None);
        let named = |tools: Vec<Arc<dyn Tool>>| tools.into_iter().find(|tool| tool.spec().name == name);
        let of_vendor = |family| native::tool(family, name, timeouts);
        named(super::tools(self.family(), self.dialect(), self.shell_timeout()))
            .or_else(|| named(native::tools(self.family(), timeouts)))
            .or_else(|| builtin::named(name, timeouts))
            .or_else(|| of_vendor(self.family()))
            .or_else(|| Family::ALL.into_iter().find_map(of_vendor))
    }

    /// The tool that a file defines; none if we have nothing that could run it.
    fn defined(&self, entry: &ToolEntry) -> Result<Option<Arc<dyn Tool>>, AgentError> {
        let ToolEntry { name, description, runs, parameters, format, hosted } = entry.clone();
        let wrong = |what: String| invalid(format!("the profile's tool `{name}`: {what}"));
        if [&parameters, &format, &hosted].into_iter().flatten().count() > 1 {
            return Err(wrong("only one of `parameters`, `format` and `hosted` can hold".to_owned()));
        }
        if let Some(item) = hosted {
            let Some(wire) = self.family().wire() else {
                return Err(wrong("a compatible endpoint runs no tools by itself".to_owned()));
            };
            let kind = ToolKind::Hosted { wire, item: json(item).map_err(wrong)? };
            let spec = ToolSpec { name, description: description.unwrap_or_default(), kind };
            return Ok(Some(Arc::new(Hosted(spec))));
        }
        let tool = match &runs {
            Some(runs) => self.find(runs).ok_or_else(|| no_tool(runs))?,
            None => match self.find(&name) {
                Some(tool) => tool,
                None => return Ok(None),
            },
        };
        let kind = match (parameters, format) {
            (Some(parameters), _) => {
                ToolKind::Function { parameters: json(parameters).map_err(wrong)?.into(), strict: None }
            }
            (None, Some(Value::String(none))) if none.is_empty() => ToolKind::Custom { format: None },
            (None, Some(format)) => ToolKind::Custom { format: Some(json(format).map_err(wrong)?) },
            (None, None) => tool.spec().kind.clone(),
        };
        let description = description.unwrap_or_else(|| tool.spec().description.clone());
        Ok(Some(Arc::new(Defined { spec: ToolSpec { name, description, kind }, tool })))
    }
}

/// The tools that a file lists.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    named: Vec<String>,
    defined: Vec<ToolEntry>,
}

/// What can be made of them.
pub(super) struct Found {
    pub(super) tools: Vec<Arc<dyn Tool>>,
    /// The names of those that cannot.
    left_out: Vec<String>,
}

impl Listed {
    /// Makes them for a profile.
    ///
    /// # Errors
    /// `invalid` if the file makes no sense.
    pub(super) fn make(&self, profile: &Profile) -> Result<Found, AgentError> {
        let named = self.named.iter().map(|name| profile.find(name).ok_or_else(|| no_tool(name)));
        let mut tools = named.collect::<Result<Vec<_>, _>>()?;
        let mut left_out = Vec::new();
        for entry in &self.defined {
            match profile.defined(entry)? {
                Some(tool) => tools.push(tool),
                None => left_out.push(entry.name.clone()),
            }
        }
        Ok(Found { tools, left_out })
    }
}

/// A value that may stand in the file as JSON in a text.
fn json(value: Value) -> Result<Value, String> {
    match value {
        Value::String(text) => serde_json::from_str(&text).map_err(|error| format!("not JSON: {error}")),
        value => Ok(value),
    }
}

/// Lays a file's options over a family's: field by field, for each wire.
pub(super) fn lay_over(options: &mut Map<String, Value>, over: Map<String, Value>) {
    for (wire, fields) in over {
        match (options.get_mut(&wire), fields) {
            (Some(Value::Object(old)), Value::Object(new)) => old.extend(new),
            (_, fields) => drop(options.insert(wire, fields)),
        }
    }
}

fn invalid(message: String) -> AgentError {
    AgentError::new(AgentErrorKind::Invalid, message)
}

fn no_family(id: &str) -> AgentError {
    let families = Family::ALL.map(Family::name).join(", ");
    invalid(format!("the profile `{id}` does not say what it builds on"))
        .with_hint(format!("set `extends` under `[profile]` to one of {families}"))
}

fn no_tool(name: &str) -> AgentError {
    let ours: Vec<String> = crate::tools::all().iter().map(|tool| tool.spec().name.clone()).collect();
    invalid(format!("the profile names the tool `{name}`, and there is none"))
        .with_hint(format!("there are {}, and those of the vendors' own agents", ours.join(", ")))
}

/// One of our tools under another definition.
struct Defined {
    spec: ToolSpec,
    tool: Arc<dyn Tool>,
}

impl Tool for Defined {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        self.tool.actions(call, cx)
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        self.tool.run(permit, cx)
    }
}

/// A tool that the provider runs.
struct Hosted(ToolSpec);

const NOT_HERE: &str = "this tool is run by the provider and cannot be called";

impl Tool for Hosted {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(&'a self, _: &'a ToolCall, _: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async { Err(ToolError(NOT_HERE.to_owned())) })
    }

    fn run<'a>(&'a self, _: Permit, _: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async { ToolOutcome::error(NOT_HERE) })
    }
}

#[cfg(test)]
mod tests;
