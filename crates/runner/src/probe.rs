//! What is known of an installed command before it is run: where it is, which version, who is signed in. Nothing
//! here asks a network.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use junto_env::CommandSpec;
use junto_llm::{Error, Secret};
use serde::Deserialize;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::{CommandLine, Definition, Endpoint, Home, Host, Standing, Version, environment};

/// How long a program may take to say its version. Gemini CLI takes seconds on a slow machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many folders above a program its package may be.
const ABOVE: usize = 4;

/// What commands said of their versions, for as long as this process lives. Each is asked by one at a time, and the
/// others wait for what it says.
static ASKED: LazyLock<Mutex<BTreeMap<Vec<String>, Said>>> = LazyLock::new(Mutex::default);

/// What one said, once it has.
type Said = Arc<OnceCell<Option<Version>>>;

/// What is known of an installed command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The program; absent: it was not found.
    pub program: Option<PathBuf>,
    /// Its version, as far as it is known.
    pub version: Option<Version>,
    /// What is thought of the version.
    pub standing: Option<Standing>,
    /// Whether its user is signed in.
    pub sign_in: SignIn,
}

/// Whether a user is signed in, as far as can be told without asking anybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignIn {
    /// By this variable.
    Variable(String),
    /// By an API key in this variable, which children get here.
    Key(String),
    /// By a key for another server, which is at this address.
    Endpoint(String),
    /// By this file.
    File(PathBuf),
    /// If so, it is in the keychain of the system.
    Keychain,
    /// No.
    No,
}

impl Probe {
    /// Looks for a command without starting it. The version is known only where the package or the name of the
    /// program tells it.
    pub fn look(definition: &Definition, host: &Host) -> Self {
        let path = host.variables.get("PATH").map(Secret::expose);
        let program = find(definition.program(), path, host.env.facts().cwd.as_path());
        // Of what a wrapper starts, its own package says nothing.
        let alone = program.as_deref().filter(|_| definition.starter().len() == 1);
        let version = alone.and_then(|program| installed_version(program, definition.program()));
        Self {
            program,
            version,
            standing: version.map(|version| definition.versions.standing(version)),
            sign_in: signed_in(definition, host),
        }
    }

    /// Looks for a command, and asks it for its version if nothing else tells it; once, for as long as this process
    /// lives.
    pub async fn ask(definition: &Definition, host: &Host) -> Self {
        let mut probe = Self::look(definition, host);
        if let (Some(program), None) = (&probe.program, probe.version) {
            probe.version = asked_version(definition, host, program).await;
            probe.standing = probe.version.map(|version| definition.versions.standing(version));
        }
        probe
    }

    /// What a user should know before the command is run; nothing, if all is well or nothing is known.
    ///
    /// # Errors
    /// `configuration` if it would be misunderstood.
    pub fn doubt(&self, definition: &Definition) -> Result<Option<String>, Error> {
        let (Some(version), Some(standing)) = (self.version, self.standing) else { return Ok(None) };
        let kind = &definition.kind;
        let tested = definition.versions.tested.map(|range| format!("; tested: {range}")).unwrap_or_default();
        match standing {
            Standing::Tested => Ok(None),
            Standing::Untested => Ok(Some(format!("{kind} {version} was not tested{tested}"))),
            Standing::TooOld => {
                let message = format!("{kind} {version} is too old to be understood{tested}");
                let hint = definition.install.as_ref().map(|install| format!("update it: {install}"));
                Err(Error::configuration(message).with_hint(hint.unwrap_or_else(|| "update it".to_owned())))
            }
        }
    }
}

/// The first program of this name in the PATH, or at this path.
fn find(name: &str, path: Option<&str>, cwd: &Path) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(cwd.join(name)).filter(is_program);
    }
    std::env::split_paths(path?).map(|folder| cwd.join(folder).join(name)).find(is_program)
}

/// The version of a program by how it is installed: that of its npm package, or its name, which some installers
/// make the version.
fn installed_version(program: &Path, name: &str) -> Option<Version> {
    #[derive(Deserialize)]
    struct Package {
        version: String,
        bin: serde_json::Value,
    }
    let real = program.canonicalize().ok()?;
    if let Some(version) = real.file_name().and_then(OsStr::to_str).and_then(|name| name.parse().ok()) {
        return Some(version);
    }
    let above = real.ancestors().skip(1).take(ABOVE);
    above.take_while(|folder| folder.file_name() != Some(OsStr::new("node_modules"))).find_map(|folder| {
        let package: Package =
            serde_json::from_slice(&std::fs::read(folder.join("package.json")).ok()?).ok()?;
        // Another's package may lie above the program, too.
        let is_its = package.bin.get(name).is_some_and(|bin| {
            let bin = bin.as_str().map(|bin| folder.join(bin));
            bin.and_then(|bin| bin.canonicalize().ok()).is_some_and(|bin| bin == real)
        });
        if is_its { Version::find(&package.version) } else { None }
    })
}

async fn asked_version(definition: &Definition, host: &Host, program: &Path) -> Option<Version> {
    // Below another agent nothing of it is started, not even this.
    if definition.versions.ask.is_empty() || environment::fuse(definition, host).is_err() {
        return None;
    }
    let mut argv = vec![program.to_string_lossy().into_owned()];
    argv.extend(definition.starter().iter().skip(1).chain(&definition.versions.ask).cloned());
    let said =
        Arc::clone(ASKED.lock().unwrap_or_else(PoisonError::into_inner).entry(argv.clone()).or_default());
    // It is seldom asked; whoever starts it shall not carry that along.
    *said.get_or_init(|| Box::pin(say_version(definition, host, argv))).await
}

/// What a command says when it is asked for its version.
async fn say_version(definition: &Definition, host: &Host, argv: Vec<String>) -> Option<Version> {
    let line = CommandLine::default();
    let command = CommandSpec {
        variables: environment::variables(definition, host, &line, &host.token()),
        inherits: false,
        ..CommandSpec::argv(argv)
    };
    let done = junto_env::exec(&*host.env, command, PATIENCE, &CancellationToken::new(), &mut |_| {}).await;
    let done = done.ok().filter(|done| done.exit.success())?;
    Version::find(&done.stdout.text(|_| String::new()))
}

fn signed_in(definition: &Definition, host: &Host) -> SignIn {
    let rule = &definition.sign_in;
    if let Some(Endpoint { url, key: Some(_) }) = &host.endpoint {
        return SignIn::Endpoint(url.clone());
    }
    let given = |name: &&String| host.variables.get(*name).is_some_and(|value| !value.expose().is_empty());
    if let Some(name) = rule.variables.iter().find(given) {
        return SignIn::Variable(name.clone());
    }
    let home = home(definition, host);
    let file = rule.files.iter().filter_map(|file| Some(home.as_ref()?.join(file)));
    let holds =
        |file: &PathBuf| std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() > 2);
    if let Some(file) = file.into_iter().find(holds) {
        return SignIn::File(file);
    }
    if host.pass_keys
        && let Some(name) = definition.variables.keys.iter().find(given)
    {
        return SignIn::Key(name.clone());
    }
    let has_keychain = host.env.facts().platform == "macos" && host.home == Home::Own;
    if rule.keychain && has_keychain { SignIn::Keychain } else { SignIn::No }
}

/// The folder in which a command keeps its sessions and its login.
pub(crate) fn home(definition: &Definition, host: &Host) -> Option<PathBuf> {
    let rule = &definition.home;
    match &host.home {
        Home::Isolated(folder) => Some(folder.clone()),
        Home::Own => {
            let named = rule.variable.as_ref().and_then(|name| host.variables.get(name));
            let named = named.map(Secret::expose).filter(|path| !path.is_empty()).map(PathBuf::from);
            named.or_else(|| {
                let home = host.variables.get("HOME").map(Secret::expose).filter(|home| !home.is_empty())?;
                Some(Path::new(home).join(&rule.usual))
            })
        }
    }
}

#[cfg(test)]
mod tests;
