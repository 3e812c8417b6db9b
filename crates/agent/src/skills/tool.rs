//! `skill`: what a skill says.

use std::sync::Arc;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_llm::names::nearest;
use junto_llm::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::Skills;
use crate::function::arguments;

/// Gives the text of a skill. It does nothing else: the host has read the text when the session was made.
pub(crate) struct LoadSkill {
    spec: ToolSpec,
    skills: Arc<Skills>,
}

#[derive(Deserialize)]
struct Arguments {
    name: String,
}

impl LoadSkill {
    /// The name of the tool.
    pub(crate) const NAME: &str = "skill";

    pub(crate) fn new(skills: Arc<Skills>) -> Self {
        let spec = ToolSpec::foreign(
            Self::NAME,
            "Load a skill: instructions for a kind of work, by one of the names in the list of skills.",
            json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The name of the skill"}
                },
                "required": ["name"]
            }),
        );
        Self { spec, skills }
    }

    fn load(&self, call: &ToolCall) -> Result<String, ToolError> {
        let Arguments { name } = arguments(call)?;
        let name = name.trim_start_matches('/');
        if let Some(skill) = self.skills.get(name).filter(|skill| skill.is_listed) {
            return Ok(skill.told());
        }
        let names: Vec<&str> =
            self.skills.iter().filter(|skill| skill.is_listed).map(|skill| skill.name.as_str()).collect();
        let near = nearest(name, names.iter().copied()).map(|near| format!("; did you mean `{near}`?"));
        let near = near.unwrap_or_else(|| format!(". There are: {}", names.join(", ")));
        Err(ToolError(format!("there is no skill `{name}`{near}")))
    }
}

impl Tool for LoadSkill {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, _: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        let known = self.load(call).map(|_| Vec::new());
        Box::pin(std::future::ready(known))
    }

    fn run<'a>(&'a self, permit: Permit, _: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        let outcome = self.load(permit.call()).into();
        Box::pin(std::future::ready(outcome))
    }
}
