//! Tools as a model sees them: a name, a description, a schema. What they do is not known here.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Wire, names, schema};

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name the model calls it by.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// How it is called.
    pub kind: ToolKind,
}

/// How a tool is called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolKind {
    /// With a JSON object that fits a schema.
    Function {
        /// A JSON Schema with an object root.
        parameters: Arc<Value>,
        /// Whether the provider shall enforce the schema; absent = the provider's default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
    },
    /// With free text, optionally bound by a grammar (OpenAI's custom tools). Where a wire has no
    /// such tools it becomes a function with one string parameter, `input`.
    Custom {
        /// The provider's format object, for instance a grammar.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<Value>,
    },
    /// A tool that the provider runs by itself, as its wire spells it. Beside other tools other wires
    /// leave it out with a warning; alone, or demanded, a search of the web becomes theirs and anything
    /// else is refused.
    Hosted {
        /// The wire the item belongs to.
        wire: Wire,
        /// The tool's entry, sent verbatim.
        item: Value,
    },
}

impl ToolSpec {
    /// A function tool of our own making.
    ///
    /// # Errors
    /// `configuration` if the name is not `[A-Za-z][A-Za-z0-9_]*` of at most 64 characters, or the
    /// schema's root is not an object.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
    ) -> Result<Self, Error> {
        let name = name.into();
        names::check_own(&name)?;
        schema::check_object_root(&name, &parameters)?;
        Ok(Self::foreign(name, description, parameters))
    }

    /// A function tool whose name comes from outside (an MCP server, a gateway's client) and may be
    /// anything: it is mapped to what the target wire allows, and back.
    pub fn foreign(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            kind: ToolKind::Function { parameters: Arc::new(parameters), strict: None },
        }
    }

    /// The parameter schema of a function tool.
    pub fn parameters(&self) -> Option<&Value> {
        match &self.kind {
            ToolKind::Function { parameters, .. } => Some(parameters),
            _ => None,
        }
    }
}

/// Whether and which tool the model must call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// No call, though the tools stay declared (dropping them would break the cached prefix).
    None,
    /// Some call.
    Required,
    /// A call of this tool.
    Named(String),
}
