//! A call that waits for an answer.

use std::fmt;
use std::sync::Arc;

use junto_core::{AgentError, AgentErrorKind, ApprovalRequest as Asked, Decision};
use serde_json::Value;

use crate::Approval;

/// A code action or tool call that waits for an answer, and is not executed before. Clones are the same request.
///
/// The first answer counts: what is said later changes nothing, and is no error. A request that nobody answers in
/// time ([`Config::approval_timeout`](super::Config::approval_timeout)), or whose turn ends, is not approved.
#[derive(Clone)]
pub struct ApprovalRequest(Arc<Approval>);

impl ApprovalRequest {
    pub(super) fn new(approval: Approval) -> Self {
        Self(Arc::new(approval))
    }

    /// The tool: `execute_code` for a code action, `cell_shell` for a line that code wants to run in a shell.
    pub fn tool_name(&self) -> &str {
        self.0.tool_name()
    }

    /// Its arguments.
    pub fn tool_args(&self) -> &Value {
        self.0.tool_args()
    }

    /// Whether running code calls it (a programmatic tool call), and not the model itself.
    pub fn ptc(&self) -> bool {
        self.0.is_programmatic()
    }

    /// The whole question: what exactly would be done, why it is asked, and until when.
    pub fn request(&self) -> &Asked {
        self.0.request()
    }

    /// Lets it be executed, or rejects it and so ends the turn: after the code that is running, whatever the code
    /// makes of the rejection.
    ///
    /// # Errors
    /// `closed` if the agent was stopped.
    pub async fn approve(&self, decision: bool) -> Result<(), AgentError> {
        first(self.0.approve(decision).await)
    }

    /// Rejects it and tells the model why, which goes on; to running code it is an exception with this message.
    ///
    /// # Errors
    /// As [`Self::approve`].
    pub async fn reject_with(&self, message: impl Into<String>) -> Result<(), AgentError> {
        first(self.0.decide(Decision::Reject { reason: Some(message.into()) }).await)
    }

    /// Waits until it is answered, by whomever, and says whether it may be executed.
    ///
    /// # Errors
    /// `journal` if the events cannot be read.
    pub async fn approved(&self) -> Result<bool, AgentError> {
        self.0.approved().await
    }
}

/// What came of an answer, of which only the first counts.
fn first(answered: Result<(), AgentError>) -> Result<(), AgentError> {
    match answered {
        // It was answered before, or withdrawn.
        Err(error) if error.kind() == AgentErrorKind::Invalid => Ok(()),
        answered => answered,
    }
}

impl fmt::Debug for ApprovalRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalRequest")
            .field("tool_name", &self.tool_name())
            .field("tool_args", self.tool_args())
            .field("ptc", &self.ptc())
            .finish_non_exhaustive()
    }
}
