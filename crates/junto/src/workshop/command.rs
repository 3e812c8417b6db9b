//! What command-line agents are run with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto_agent::prompt::project_documents;
use junto_core::{AgentError, AgentErrorKind, AgentSpec, Mode, Parent, Workdir};
use junto_env::{Access, Error, ExecutionEnvironment, LocalBuilder, RealPath};
use junto_runner::{Home, Host};

use super::Workshop;
use crate::{Cli, Guard};

/// Makes an environment in a directory from which nothing is changed but what the access lets, and what is in
/// these folders.
pub(super) type MakeCage =
    Arc<dyn Fn(&Path, Access, Vec<PathBuf>) -> Result<Arc<dyn ExecutionEnvironment>, Error> + Send + Sync>;

/// The cages of a guard.
pub(super) fn cages(
    guard: Arc<Guard>,
    local: Arc<impl Fn(&Path) -> LocalBuilder + Send + Sync + 'static>,
) -> MakeCage {
    Arc::new(move |directory, access, writable| guard.cage(local(directory), access, writable))
}

impl Workshop {
    /// What a command-line agent is run with, and the spec as it is left then.
    pub(super) async fn host(
        &self,
        cli: &Cli,
        spec: AgentSpec,
        parent: &Parent,
    ) -> Result<(Host, AgentSpec), AgentError> {
        let invalid = |message: String| AgentError::new(AgentErrorKind::Invalid, message);
        let env = self.env(&spec.workdir, parent)?;
        // It has rules of its own, and can do nothing without the network.
        let env = env.unconfined().unwrap_or(env);
        let mut directories = Vec::new();
        for directory in cli.directories.iter().chain(&spec.directories) {
            let path =
                directory.to_str().ok_or_else(|| invalid(format!("{} is no text", directory.display())))?;
            directories.push(env.resolve(path).await.map_err(|e| invalid(e.to_string()))?);
        }
        if let Home::Isolated(folder) = &cli.home {
            let failed = |e| invalid(format!("cannot make the home {}: {e}", folder.display()));
            cli.definition.home.furnish(folder).map_err(failed)?;
        }
        let instructions = instructions(cli, spec.instructions.as_deref(), &*env).await;
        let held = self.held(cli, spec.mode, env, &directories)?;
        let effort = spec.effort.clone().or_else(|| cli.effort.clone());
        let catalog = self.0.catalog.clone();
        let host = Host { effort, instructions, directories, catalog, ..cli.host(held) };
        let model = spec.model.clone().or_else(|| cli.model.clone());
        // The environment was made for the directory, and what the host says is not said twice.
        let (effort, instructions, directories) = (None, None, Vec::new());
        Ok((host, AgentSpec { workdir: Workdir::Shared, model, effort, instructions, directories, ..spec }))
    }

    /// The environment, or one that holds the agent to a mode that it does not keep to by itself.
    fn held(
        &self,
        cli: &Cli,
        mode: Mode,
        env: Arc<dyn ExecutionEnvironment>,
        directories: &[RealPath],
    ) -> Result<Arc<dyn ExecutionEnvironment>, AgentError> {
        if cli.definition.enforces(mode) {
            return Ok(env);
        }
        let kind = &cli.definition.kind;
        let Some(make) = &self.0.make_cage else {
            let message =
                format!("{kind} does not keep to what it may do by itself, and nothing here holds it");
            return Err(AgentError::new(AgentErrorKind::Unsupported, message)
                .with_hint("let it do anything, or make the workshop with a guard"));
        };
        let access = match mode {
            Mode::ReadOnly => Access::ReadOnly,
            Mode::WorkspaceWrite | Mode::Full => Access::Workspace,
        };
        let own = match &cli.home {
            Home::Isolated(folder) => Some(folder.clone()),
            Home::Own => None,
        };
        let writable = directories.iter().map(|path| path.as_path().to_owned()).chain(own).collect();
        let cage = make(env.facts().cwd.as_path(), access, writable);
        cage.map_err(|e| AgentError::new(AgentErrorKind::Unsupported, e.to_string()))
    }
}

/// What the project's documents say that the agent does not read by itself, then what the user says, of all agents of
/// this kind and of this one.
async fn instructions(cli: &Cli, own: Option<&str>, env: &dyn ExecutionEnvironment) -> Option<String> {
    let names = &cli.definition.documents;
    let documents = if cli.reads_documents && !names.is_empty() {
        project_documents(env, names).await.text
    } else {
        String::new()
    };
    let said = [Some(documents.as_str()), cli.instructions.as_deref(), own];
    let all: Vec<&str> = said.into_iter().flatten().map(str::trim).filter(|text| !text.is_empty()).collect();
    (!all.is_empty()).then(|| all.join("\n\n"))
}
