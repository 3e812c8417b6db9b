//! Runs that nobody follows.

use junto_core::{AgentError, AgentErrorKind, AgentSpec};
use junto_runner::background::{Background, Errand, Job};
use tokio_util::sync::CancellationToken;

use super::Workshop;
use crate::Kind;

impl Workshop {
    /// Puts a task at the end of a line of runs: a command-line agent is given it, and asked for its final text and
    /// nothing else. It is recorded like any other session.
    ///
    /// # Errors
    /// As [`Background::submit`]; `invalid` if the kind is unknown or none of a command-line agent.
    pub async fn background(
        &self,
        line: &Background,
        spec: AgentSpec,
        task: impl Into<String>,
        cancel: CancellationToken,
    ) -> Result<Job, AgentError> {
        let Kind::Cli(cli) = self.kind(&spec.kind)? else {
            let message =
                format!("`{}` is no command-line agent: it cannot work in the background", spec.kind);
            return Err(
                AgentError::new(AgentErrorKind::Invalid, message).with_hint("start it, and do not follow it")
            );
        };
        let parent = self.nobody(cancel);
        // First what may fail, so that no session is left that never began.
        let (host, told) = self.host(cli, spec.clone(), &parent).await?;
        let log = self.log(&spec, &parent)?;
        let errand = Errand {
            definition: cli.definition.clone(),
            host,
            mode: told.mode,
            model: told.model,
            workdir: None,
            prompt: task.into(),
        };
        line.submit(errand, parent, log).await
    }
}
