//! Native sessions as what they are, and by the ids that somebody gives them.

use std::sync::Arc;

use junto_agent::{Past, Session};
use junto_core::{AgentError, AgentErrorKind, AgentSpec, EventLog, Parent};
use junto_llm::SessionId;
use tokio_util::sync::CancellationToken;

use super::Workshop;
use crate::{Kept, Kind, Native};

impl Workshop {
    /// Starts a native session of its own, as what it is: with a tool host.
    ///
    /// # Errors
    /// As [`Spawner::spawn`](junto_core::Spawner::spawn); `invalid` if the kind is not a native one.
    pub async fn start_session(
        &self,
        spec: AgentSpec,
        cancel: CancellationToken,
    ) -> Result<Session, AgentError> {
        let (native, parent) = (self.native(&spec)?, self.nobody(cancel));
        let log = self.log(&spec, &parent)?;
        Session::start(self.config(native, &spec, &parent, log, None)?).await
    }

    /// Starts a native session of its own that is kept by this id.
    ///
    /// # Errors
    /// As [`Workshop::start_session`]; `invalid` if the workshop keeps no sessions; `journal` if there is such a
    /// session, or its id is none.
    pub async fn start_session_as(
        &self,
        session: SessionId,
        spec: AgentSpec,
        cancel: CancellationToken,
    ) -> Result<Session, AgentError> {
        let (native, parent) = (self.native(&spec)?, self.nobody(cancel));
        let store = self.0.store.as_ref().ok_or_else(|| {
            let message = "a session has no id of its own where sessions are not kept";
            AgentError::new(AgentErrorKind::Invalid, message).with_hint("give the workshop a store")
        })?;
        let log = self.log_of(session, store, &spec, &parent)?;
        Session::start(self.config(native, &spec, &parent, log, None)?).await
    }

    /// Brings a native session back, as what it is. See [`Workshop::resume`].
    ///
    /// # Errors
    /// As [`Workshop::resume`]; `invalid` if the kind is not a native one.
    pub async fn resume_session(
        &self,
        spec: AgentSpec,
        kept: Kept,
        cancel: CancellationToken,
    ) -> Result<Session, AgentError> {
        let (native, parent) = (self.native(&spec)?, self.nobody(cancel));
        let (log, past) = self.reopened(&spec, kept, &parent)?;
        let config = self.config(native, &spec, &parent, log, Some(&past))?;
        Session::resume(config, past).await
    }

    fn native(&self, spec: &AgentSpec) -> Result<&Native, AgentError> {
        match self.kind(&spec.kind)? {
            Kind::Native(native) => Ok(native),
            Kind::Cli(_) | Kind::Contest(_) => {
                Err(AgentError::new(AgentErrorKind::Invalid, format!("`{}` is not a native kind", spec.kind)))
            }
        }
    }

    /// The log of a session that was kept, and what is in it.
    pub(super) fn reopened(
        &self,
        spec: &AgentSpec,
        kept: Kept,
        parent: &Parent,
    ) -> Result<(EventLog, Past), AgentError> {
        let env = self.env(&spec.workdir, parent)?;
        let (session, last) = (kept.session().clone(), kept.last());
        let (journal, past) = kept.into_parts();
        let journal = self.snapshotting(journal, &session, &spec.kind, env);
        Ok((EventLog::new(session, journal, last, Arc::clone(&self.0.clock)), past))
    }
}
