//! What a tool call would do to the world: what a policy judges.

use jiff::Timestamp;
use junto_env::RealPath;
use junto_llm::ToolCall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AgentSpec, AskId};

/// One thing a tool call would do. The policy judges these, not the names of tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Run a line in the shell.
    Shell {
        /// The exact line.
        line: String,
        /// Where.
        #[schemars(with = "String")]
        cwd: RealPath,
    },
    /// Read a file or directory.
    Read {
        /// Which.
        #[schemars(with = "String")]
        path: RealPath,
    },
    /// Read a directory with everything below it, by searching for instance.
    ReadAll {
        /// Which.
        #[schemars(with = "String")]
        path: RealPath,
    },
    /// Write, remove or rename a file.
    Write {
        /// Which.
        #[schemars(with = "String")]
        path: RealPath,
    },
    /// Reach out to a host.
    Net {
        /// Which.
        host: String,
    },
    /// Run code in a kernel.
    Code {
        /// The exact code.
        code: String,
    },
    /// Use a tool whose doings are not known (an MCP server's).
    Tool {
        /// Its name.
        name: String,
        /// Its arguments.
        args: Value,
    },
    /// Start an agent.
    Spawn {
        /// Which.
        spec: AgentSpec,
    },
}

impl Action {
    /// Whether it only looks at files.
    pub fn only_reads(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::ReadAll { .. })
    }
}

/// Through which door a call came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// The model asked in the loop.
    #[default]
    Loop,
    /// Code in a kernel, or another process, asked through a tool host.
    Cell,
    /// A child agent asked.
    Child,
}

impl Via {
    /// Whether the model asked in the loop, so that the result is part of its conversation.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields over by reference")]
    pub(crate) fn is_loop(&self) -> bool {
        *self == Self::Loop
    }
}

/// A question for approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRequest {
    /// Names the question.
    pub ask: AskId,
    /// Through which door the call came.
    pub via: Via,
    /// The call.
    #[schemars(with = "Value")]
    pub call: ToolCall,
    /// What it would do.
    pub actions: Vec<Action>,
    /// Rules that would spare the next such question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proposed: Vec<Rule>,
    /// Why it is asked; empty where there is nothing to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// When the question is answered with no by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub expires: Option<Timestamp>,
}

/// A rule for a policy to keep, in the policy's own notation; several, if it has several lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Rule(pub String);
