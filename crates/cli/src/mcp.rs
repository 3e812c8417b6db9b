//! The MCP servers that agents use: which files say so, which of them count, and where the servers run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto::core::AgentId;
use junto::env::left::RUN;
use junto::env::{ExecutionEnvironment, Means};
use junto::mcp::config::{Parsed, Reach, ServerConfig, parse};
use junto::mcp::{Hub, Places};
use junto::policy::Mode;
use junto::runner::sweep::{Entry, Roster};
use junto::{Enforcement, Guard};

use crate::config::{Config, Files, ProjectFiles, SERVERS, anchor, problems_failure, read_file};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::guard;

/// The file of the user, in the folder of the configuration.
const USER_FILE: &str = "mcp.json";

/// A server, and the file that has it.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) server: ServerConfig,
    pub(crate) file: PathBuf,
    /// How it is reached, with variables by their names: what they stand for may be keys.
    pub(crate) shown: String,
}

/// What the files say.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    /// Those that count, the user's first. Of two with one name the user's is there.
    pub(crate) known: Vec<Known>,
    /// What is wrong in the files, and was passed over.
    pub(crate) warnings: Vec<String>,
}

/// The user's own file, which need not exist.
pub(crate) fn user_file(files: &Files) -> Option<PathBuf> {
    files.folder.as_deref().map(|folder| folder.join(USER_FILE))
}

/// The servers for agents that work here: the user's, and those of the project if it is trusted.
///
/// # Errors
/// If the user's file has no such form.
pub(crate) fn servers(config: &Config, environment: &Environment) -> Result<Servers, Failure> {
    let mut all = Servers::default();
    if let Some(file) = user_file(&Files::find(environment))
        && let Some(text) = read_file(&file).map_err(|problem| problems_failure(&[problem]))?
    {
        all.take(&file, &text, environment, None)?;
    }
    if let Some(project) = config.project.as_ref().filter(|project| project.is_trusted())
        && let Some(text) = project.text(SERVERS)
    {
        let file = project.project.root.join(SERVERS);
        // A project that is broken is no reason not to work in it.
        if let Err(failure) = all.take(&file, text, environment, Some(project)) {
            all.warnings.extend(failure.errors);
        }
    }
    Ok(all)
}

impl Servers {
    fn take(
        &mut self,
        file: &Path,
        text: &str,
        environment: &Environment,
        project: Option<&ProjectFiles>,
    ) -> Result<(), Failure> {
        let root = project.map(|project| project.project.root.as_path());
        let Parsed { servers, warnings } = read(file, text, environment, root)?;
        self.warnings.extend(warnings.into_iter().map(|warning| format!("{}: {warning}", file.display())));
        let plain =
            parse(text, &|name| Some(format!("${{{name}}}"))).map(|plain| plain.servers).unwrap_or_default();
        for mut server in servers {
            if let Some(project) = project {
                // What was looked at is what runs, whatever an agent makes of it meanwhile.
                anchor(&project.project.root, &mut server);
                server.pins = project.pins(&server.name);
            }
            let name = &server.name;
            if let Some(other) = self.known.iter().find(|known| known.server.name == *name) {
                let theirs = other.file.display();
                let shown = file.display();
                self.warnings
                    .push(format!("{shown}: the server {name} does not count, since {theirs} has one"));
                continue;
            }
            let shown = plain.iter().find(|plain| plain.name == *name).map(|plain| plain.reach.to_string());
            self.known.push(Known { file: file.to_owned(), shown: shown.unwrap_or_default(), server });
        }
        Ok(())
    }
}

fn read(file: &Path, text: &str, environment: &Environment, root: Option<&Path>) -> Result<Parsed, Failure> {
    let variables = |name: &str| match (name, root) {
        ("CLAUDE_PROJECT_DIR" | "JUNTO_PROJECT_DIR", Some(root)) => Some(root.display().to_string()),
        _ => environment.get(name).map(str::to_owned),
    };
    parse(text, &variables).map_err(|why| {
        Failure::usage(
            format!("{}: {why}", file.display()),
            "the form is {\"mcpServers\": {\"time\": {\"command\": \"uvx\", \"args\": [\"mcp-server-time\"]}}}",
        )
    })
}

/// Writes down that the programs of these servers run, so that a later host ends what this one leaves behind if it is
/// killed. It holds as long as what is returned.
pub(crate) fn note(servers: &mut [ServerConfig], roster: Option<Arc<Roster>>) -> Option<Entry> {
    let launches = servers.iter_mut().filter_map(|server| match &mut server.reach {
        Reach::Program(launch) => Some(launch),
        Reach::Http(_) => None,
    });
    let mut launches = launches.peekable();
    launches.peek()?;
    let run = format!("mcp-{}", AgentId::fresh());
    // Whoever cannot write it down has been told so.
    let entry = roster?.enter(&run).ok()?;
    for launch in launches {
        launch.variables.insert(RUN.to_owned(), run.clone());
    }
    Some(entry)
}

/// A hub of these servers for agents that work in a directory, and what the user should know of it.
///
/// # Errors
/// If nobody can work in the directory.
pub(crate) fn hub(
    servers: Vec<ServerConfig>,
    config: &Config,
    environment: &Environment,
    directory: &Path,
) -> Result<(Hub, Option<String>), Failure> {
    let mut warning = None;
    let local = || guard::local(directory, environment, &guard::inherit(config));
    let open = local().build().map_err(|error| guard::cannot_hold(&error))?;
    let mut places = Places::open(Arc::new(open));
    if servers.iter().any(|server| server.sandboxed) {
        let guard = guard::guard(config, environment);
        // Whoever wants a server in the sandbox wants it whatever agents may do.
        let mode = if guard.mode == Mode::ReadOnly { Mode::ReadOnly } else { Mode::Workspace };
        let path = environment.path("PATH");
        let means = Some(Means::find(path.as_deref().map(Path::as_os_str)));
        // And it wants the whole of it: a server that is kept less than its entry says is not kept.
        places = match (Guard { mode, enforcement: Enforcement::Whole, means, ..guard }.hold(local())) {
            Ok(held) => places.with_sandbox(held.env as Arc<dyn ExecutionEnvironment>),
            Err(error) => {
                let why = format!(
                    "{error}; `junto doctor` says what is missing, and without `\"sandbox\": true` in its entry it \
                     runs unconfined"
                );
                let kept =
                    servers.iter().filter(|server| server.sandboxed).map(|server| server.name.as_str());
                let names: Vec<&str> = kept.collect();
                warning = Some(format!("MCP servers that are not started ({}): {why}", names.join(", ")));
                places.without_sandbox(why)
            }
        };
    }
    Ok((Hub::new(servers, places), warning))
}
