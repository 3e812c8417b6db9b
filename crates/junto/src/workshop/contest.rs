//! Councils of agents: where their members work, and who judges what they do there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto_core::{Agent, AgentError, AgentErrorKind, AgentSpec, Fut, Parent, Policy, Spawner as _, Workdir};
use junto_council::contest::{ContestSetup, Crew, Dirty};
use junto_env::{Error, ExecutionEnvironment, LocalBuilder};

use super::{Inner, Workshop};
use crate::{Guard, Kind, Rivals};

/// Makes the judge of what is done in a directory.
pub(super) type MakePolicy = Arc<dyn Fn(&Path) -> Result<Arc<dyn Policy>, Error> + Send + Sync>;

/// The judges of a guard.
pub(super) fn judges(
    guard: Arc<Guard>,
    local: Arc<impl Fn(&Path) -> LocalBuilder + Send + Sync + 'static>,
) -> MakePolicy {
    Arc::new(move |directory| Ok(guard.hold(local(directory))?.policy(&guard)))
}

impl Workshop {
    /// The same workshop in another directory: its agents work there, and are judged by what they do there.
    ///
    /// # Errors
    /// If there is no such directory, or its guard cannot be had there.
    pub fn at(&self, directory: impl Into<PathBuf>) -> Result<Self, Error> {
        let workdir = directory.into();
        let policy = match &self.0.make_policy {
            Some(make) => make(&workdir)?,
            None => Arc::clone(&self.0.policy),
        };
        Ok(Self(Arc::new(Inner { workdir, policy, ..Inner::clone(&self.0) })))
    }

    /// What a council of agents is made of. One that is somebody's child begins with what its parent has done and
    /// not committed.
    pub(super) fn contest(
        &self,
        rivals: &Rivals,
        spec: &AgentSpec,
        parent: &Parent,
    ) -> Result<ContestSetup, AgentError> {
        let directory = self.env(&spec.workdir, parent)?.facts().cwd.as_path().to_owned();
        let crew: Arc<dyn Crew> = Arc::new(self.clone());
        let mut setup = ContestSetup::new(directory, rivals.runs.clone(), crew, rivals.members.clone());
        setup.kind.clone_from(&spec.kind);
        if let Some(adjust) = &rivals.adjust {
            setup = adjust(setup);
        }
        if parent.log.is_some() {
            setup.dirty = Dirty::Include;
        }
        for member in setup.members.iter_mut().chain(&mut setup.synthesis) {
            member.spec.mode = spec.mode;
            if !matches!(self.kind(&member.spec.kind)?, Kind::Native(_) | Kind::Cli(_)) {
                let message = format!("`{}` is a council itself, and cannot be a member", member.spec.kind);
                return Err(AgentError::new(AgentErrorKind::Invalid, message)
                    .with_hint("name its members in its place"));
            }
        }
        Ok(setup)
    }
}

impl Crew for Workshop {
    fn environment(&self, directory: &Path) -> Result<Arc<dyn ExecutionEnvironment>, Error> {
        (self.0.make_env)(directory)
    }

    fn start<'a>(
        &'a self,
        spec: AgentSpec,
        directory: &'a Path,
        parent: Parent,
    ) -> Fut<'a, Result<Arc<dyn Agent>, AgentError>> {
        Box::pin(async move {
            let there = self.at(directory);
            let there = there.map_err(|error| AgentError::new(AgentErrorKind::Invalid, error.to_string()))?;
            there.spawn(AgentSpec { workdir: Workdir::Shared, ..spec }, Parent { env: None, ..parent }).await
        })
    }
}

/// A council of agents has no conversation to go on with.
pub(super) fn never_resumed(kind: &str) -> AgentError {
    let message = format!("a session of the kind `{kind}` cannot be gone on with");
    AgentError::new(AgentErrorKind::Unsupported, message)
        .with_hint("give the council another task; `junto apply` takes what its runs came to")
}
