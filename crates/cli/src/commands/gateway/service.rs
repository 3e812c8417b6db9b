//! `junto gateway install` and `uninstall`: the gateway as a service of the user.

mod unit;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use junto::env::variables::Inherit;
use junto::env::{CommandSpec, LocalEnvironment, exec};
use tokio_util::sync::CancellationToken;

use self::unit::{MARK, Manager, Unit};
use super::setup::{Entry, lines, quoted};
use super::{key_variable, keys};
use crate::args::InstallArgs;
use crate::config::{Config, Who, replace_file};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;

/// How long the system's own program may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// What is known of the service.
pub(super) struct Standing {
    /// Its file.
    pub(super) file: PathBuf,
    /// Whether that is there.
    pub(super) is_installed: bool,
    /// Whether the system says that it runs; none if it does not say.
    pub(super) is_running: Option<bool>,
}

/// Looks at the service.
///
/// # Errors
/// If the user has no place for services.
pub(super) async fn look(environment: &Environment) -> Result<Standing, Failure> {
    let manager = Manager::of_machine();
    let file = manager.file(environment)?;
    let is_installed = file.exists();
    let is_running = if is_installed {
        execute(&manager.ask(), environment).await.ok().map(|done| done.success)
    } else {
        None
    };
    Ok(Standing { file, is_installed, is_running })
}

/// Writes the service's file and the file for its keys; starts it if that is asked for.
///
/// # Errors
/// If a file cannot be written or is somebody else's, or the service does not start.
pub(super) async fn install(
    args: &InstallArgs,
    config: &Config,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    let manager = Manager::of_machine();
    let file = manager.file(environment)?;
    own(&file)?;
    let keys = keys::file(environment)?;
    let unit = Unit {
        program: keys::program()?,
        keys: keys.clone(),
        path: environment.get("PATH").map(str::to_owned),
        config: environment.path("JUNTO_CONFIG").map(|path| environment.directory().join(path)),
    };
    furnish(&keys, args, config, environment, output)?;
    let text = manager.text(&unit);
    replace_file(&file, &text).map_err(|error| unwritten(&file, &error))?;
    output.note(&format!("wrote {}", file.display()));
    if !has_somebody(&keys, config) {
        output.note(&format!(
            "the service has no key of a provider yet: write VARIABLE=VALUE into {}, or install it again \
             with --with-keys",
            keys.display()
        ));
    }
    let steps = manager.start(&file);
    if !args.now {
        output.note(&format!("to start it, now and after each login: {}", shown(&steps)));
        output.note("`junto gateway install --now` does that");
        return Ok(());
    }
    for step in &steps {
        let done = execute(step, environment).await?;
        if !done.success {
            return Err(Failure::new(
                Exit::Failed,
                format!("{} failed: {}", step.join(" "), done.said),
                "the service is installed; start it yourself, or run `junto gateway`",
            ));
        }
    }
    output.note("started; `junto gateway status` tells how it is");
    Ok(())
}

/// Stops the service and removes its file. The file with the keys stays.
///
/// # Errors
/// If the file is somebody else's, or cannot be removed.
pub(super) async fn uninstall(environment: &Environment, output: &Output) -> Result<(), Failure> {
    let manager = Manager::of_machine();
    let file = manager.file(environment)?;
    if !file.exists() {
        output.note(&format!("there is no service: {} is not there", file.display()));
        return Ok(());
    }
    own(&file)?;
    for step in manager.stop(&file) {
        // One that does not run cannot be stopped; that is no reason to leave it there.
        match execute(&step, environment).await {
            Ok(done) if done.success => {}
            Ok(done) => output.warning(&format!("{} failed: {}", step.join(" "), done.said)),
            Err(failure) => output.warning(&failure.errors.join("; ")),
        }
    }
    fs::remove_file(&file).map_err(|error| {
        let message = format!("cannot remove {}: {error}", file.display());
        Failure::new(Exit::Failed, message, "check who owns it")
    })?;
    output.note(&format!("removed {}", file.display()));
    let keys = keys::file(environment)?;
    if keys.exists() {
        output.note(&format!("the keys stay in {}", keys.display()));
    }
    Ok(())
}

/// Checks that a file is not there, or is one that was written here.
fn own(file: &Path) -> Result<(), Failure> {
    match fs::read_to_string(file) {
        Ok(text) if text.contains(MARK) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(_) => Err(Failure::usage(
            format!("{} was not written by junto", file.display()),
            "move it away if you do not need it",
        )),
        Err(error) => {
            Err(Failure::usage(format!("cannot read {}: {error}", file.display()), "check who owns it"))
        }
    }
}

/// Makes the file for the keys, with those that are in the environment if that is wanted.
fn furnish(
    file: &Path,
    args: &InstallArgs,
    config: &Config,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    let before = match fs::read_to_string(file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(unwritten(file, &error)),
    };
    let text =
        before.clone().unwrap_or_else(|| "# VARIABLE=VALUE, one in a line, for the service.\n".to_owned());
    let mut entries = Vec::new();
    for name in variables(config).into_iter().filter(|_| args.with_keys) {
        let Some(value) = environment.get(&name) else { continue };
        if value.contains(['\'', '\n', '\r']) {
            output.warning(&format!("{name} cannot be written in one line; write it there yourself"));
            continue;
        }
        entries.push(Entry::set(&[&name], format!("'{value}'")));
    }
    let text = lines(&text, &entries);
    if before.as_ref() == Some(&text) && !keys::is_open(file) {
        return Ok(());
    }
    keys::write_private(file, &text).map_err(|error| unwritten(file, &error))?;
    output.note(&format!("wrote {}, which only you can read", file.display()));
    Ok(())
}

/// The variables that the gateway takes keys from.
fn variables(config: &Config) -> Vec<String> {
    let providers = config.providers().into_iter().filter_map(|provider| provider.key_variable);
    let clients = key_variable(config).0.to_owned();
    providers.chain([clients]).collect()
}

/// Whether the service finds anybody to ask.
fn has_somebody(keys: &Path, config: &Config) -> bool {
    let is_usable = |variable: Option<String>| variable.is_none_or(|name| keys::kept(keys, &name).is_some());
    let (routes, _) = config.routes();
    config.providers().into_iter().any(|provider| is_usable(provider.key_variable))
        || routes.iter().any(|route| matches!(route.who, Who::Cli(..)))
}

/// What a program of the system's did.
struct Done {
    success: bool,
    /// What it said.
    said: String,
}

async fn execute(argv: &[String], environment: &Environment) -> Result<Done, Failure> {
    let failed = |error: junto::env::Error| {
        let message = format!("cannot run {}: {error}", argv.join(" "));
        Failure::new(Exit::Failed, message, "this system may have no services of users; run `junto gateway`")
    };
    let local = LocalEnvironment::builder("/").variables(environment.all()).inherit(Inherit::All);
    let local = local.build().map_err(failed)?;
    let command = CommandSpec::argv(argv.iter().map(String::as_str));
    let result =
        exec(&local, command, PATIENCE, &CancellationToken::new(), &mut |_| {}).await.map_err(failed)?;
    let said = result.both.text(|_| " … ".to_owned());
    Ok(Done { success: result.exit.success(), said: said.trim().to_owned() })
}

fn shown(steps: &[Vec<String>]) -> String {
    let line =
        |step: &Vec<String>| step.iter().map(|word| quoted(Path::new(word))).collect::<Vec<_>>().join(" ");
    steps.iter().map(line).collect::<Vec<_>>().join(" && ")
}

fn unwritten(file: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("cannot write {}: {error}", file.display()), "check who owns it")
}
