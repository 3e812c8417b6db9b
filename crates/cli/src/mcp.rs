//! The MCP servers that agents use: which files say so, which of them count, and where the servers run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto::env::ExecutionEnvironment;
use junto::mcp::config::{Parsed, ServerConfig, parse};
use junto::mcp::{Hub, Places};
use junto::policy::Mode;
use junto::{Enforcement, Guard};

use crate::config::{Config, Files, Project, Standing, Trust, digest, problems_failure, read_file};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::guard;
use crate::output::paint::visible;

/// The file of a project.
pub(crate) const PROJECT_FILE: &str = ".mcp.json";
/// The file of the user, in the folder of the configuration.
const USER_FILE: &str = "mcp.json";

/// A server, and the file that has it.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) server: ServerConfig,
    pub(crate) file: PathBuf,
}

/// What the files say.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    /// Those that count, the user's first. Of two with one name the project's is there.
    pub(crate) known: Vec<Known>,
    /// What is wrong in the files, and was passed over.
    pub(crate) warnings: Vec<String>,
    /// The file of the project, if it does not count.
    pub(crate) untrusted: Option<ProjectServers>,
}

/// The file of a project, and what is thought of it.
#[derive(Clone, Debug)]
pub(crate) struct ProjectServers {
    pub(crate) file: PathBuf,
    pub(crate) text: String,
    pub(crate) standing: Standing,
}

impl ProjectServers {
    /// What the user is told of one that does not count.
    pub(crate) fn note(&self) -> String {
        let why = match self.standing {
            Standing::Changed => "has changed since it was trusted",
            Standing::Trusted | Standing::Unknown => "is not trusted",
        };
        let root = self.file.parent().unwrap_or(Path::new(".")).display();
        format!(
            "note: the MCP servers of {} are not started because it {why}; `junto trust {root}` shows what they \
             are, and lets them",
            self.file.display()
        )
    }

    /// What it would start, as a person is shown it.
    ///
    /// # Errors
    /// If it has no such form.
    pub(crate) fn shown(&self, environment: &Environment) -> Result<String, Failure> {
        let Parsed { servers, .. } = read(&self.file, &self.text, environment)?;
        // One line each, whatever is in it.
        let line = |server: &ServerConfig| {
            let line = format!("{}: {}", server.name, server.reach).replace('\n', "\\n");
            format!("    + {}", visible(&line))
        };
        let lines: Vec<String> = servers.iter().map(line).collect();
        Ok(format!("{} would let agents start these MCP servers:\n{}", self.file.display(), lines.join("\n")))
    }
}

/// The user's own file, which need not exist.
pub(crate) fn user_file(files: &Files) -> Option<PathBuf> {
    files.trust.as_deref()?.parent().map(|folder| folder.join(USER_FILE))
}

/// A project's file, which need not exist.
pub(crate) fn project_file(project: &Project) -> PathBuf {
    project.root.join(PROJECT_FILE)
}

/// The file of the project, if there is one, and what is thought of it.
///
/// # Errors
/// If it, or the list of what is trusted, cannot be read.
pub(crate) fn of_project(files: &Files) -> Result<Option<ProjectServers>, Failure> {
    let Some(project) = &files.project else { return Ok(None) };
    let file = project_file(project);
    let problem = |problem| problems_failure(&[problem]);
    let Some(text) = read_file(&file).map_err(problem)? else { return Ok(None) };
    let standing = match &files.trust {
        // Each file is trusted by itself.
        Some(list) => Trust::read(list).map_err(problem)?.standing(&file, &digest(&text)),
        None => Standing::Unknown,
    };
    Ok(Some(ProjectServers { file, text, standing }))
}

/// The servers for agents that work here.
///
/// # Errors
/// If a file that counts has no such form.
pub(crate) fn servers(environment: &Environment) -> Result<Servers, Failure> {
    let files = Files::find(environment);
    let mut all = Servers::default();
    if let Some(file) = user_file(&files)
        && let Some(text) = read_file(&file).map_err(|problem| problems_failure(&[problem]))?
    {
        all.take(&file, &text, environment)?;
    }
    match of_project(&files)? {
        Some(of_project) if of_project.standing == Standing::Trusted => {
            all.take(&of_project.file, &of_project.text, environment)?;
        }
        other => all.untrusted = other,
    }
    Ok(all)
}

impl Servers {
    fn take(&mut self, file: &Path, text: &str, environment: &Environment) -> Result<(), Failure> {
        let Parsed { servers, warnings } = read(file, text, environment)?;
        self.warnings.extend(warnings.into_iter().map(|warning| format!("{}: {warning}", file.display())));
        for server in servers {
            self.known.retain(|known| known.server.name != server.name);
            self.known.push(Known { server, file: file.to_owned() });
        }
        Ok(())
    }
}

fn read(file: &Path, text: &str, environment: &Environment) -> Result<Parsed, Failure> {
    let variables = |name: &str| environment.get(name).map(str::to_owned);
    parse(text, &variables).map_err(|why| {
        Failure::usage(
            format!("{}: {why}", file.display()),
            "the form is {\"mcpServers\": {\"time\": {\"command\": \"uvx\", \"args\": [\"mcp-server-time\"]}}}",
        )
    })
}

/// A hub of these servers for agents that work in a directory.
///
/// # Errors
/// If nobody can work in the directory.
pub(crate) fn hub(
    servers: Vec<ServerConfig>,
    config: &Config,
    environment: &Environment,
    directory: &Path,
) -> Result<Hub, Failure> {
    let local = || guard::local(directory, environment, &guard::inherit(config));
    let open = local().build().map_err(|error| guard::cannot_hold(&error))?;
    let mut places = Places::open(Arc::new(open));
    if servers.iter().any(|server| server.sandboxed) {
        let guard = guard::guard(config, environment);
        // Whoever wants a server in the sandbox wants it whatever agents may do.
        let mode = if guard.mode == Mode::ReadOnly { Mode::ReadOnly } else { Mode::Workspace };
        let held = Guard { mode, enforcement: Enforcement::Auto, ..guard }.hold(local());
        if let Some(env) = held.ok().filter(|held| held.is_confined).map(|held| held.env) {
            places = places.with_sandbox(env as Arc<dyn ExecutionEnvironment>);
        }
    }
    Ok(Hub::new(servers, places))
}
