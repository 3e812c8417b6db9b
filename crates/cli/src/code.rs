//! Code actions, as flags and configuration ask for them.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use junto::kernel::{Interpreter, Meaning};
use junto::llm::{Endpoint, Timeouts, Wire};
use junto::{Code, Embeddings, KernelState};

use crate::config::{Config, Origin, Value};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::saved;

/// Where sockets are if nowhere else: their paths must be short.
const TEMPORARY: &str = "/tmp";
/// How long a search of tools waits for embeddings before it goes by words alone.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest path of a folder below which there is room for them.
const LONGEST: usize = 56;

/// Code actions for agents that work here; none if they are not wanted.
///
/// # Errors
/// If there is no place for a Python.
pub(crate) fn code(config: &Config, environment: &Environment) -> Result<Option<Code>, Failure> {
    if !config.flag("code.enabled") {
        return Ok(None);
    }
    let megabytes = |count: u64| count.saturating_mul(1024 * 1024);
    Ok(Some(Code {
        variables: variables(config),
        within: config.duration("code.timeout"),
        memory: config.count("code.memory").filter(|count| *count > 0).map(megabytes),
        images: path("code.images", config, environment),
        gentools: path("code.gentools", config, environment),
        meaning: meaning(config, environment)?,
        state: match config.text("code.resume") {
            Some(("replay", _)) => KernelState::Replay,
            Some(("snapshot", _)) => KernelState::Snapshot,
            _ => KernelState::Fresh,
        },
        ..Code::new(interpreter(config, environment)?, run_dir(environment))
    }))
}

/// What finds tools by what they mean, if there is a server for that.
///
/// # Errors
/// If it is not said which model it has.
fn meaning(config: &Config, environment: &Environment) -> Result<Option<Meaning>, Failure> {
    let text = |key: &str| config.text(key).map(|(text, _)| text);
    let Some(base_url) = text("code.embeddings.base_url") else { return Ok(None) };
    let Some(model) = text("code.embeddings.model") else {
        let message = "code.embeddings has a base_url and no model";
        return Err(Failure::usage(message, "name the model with code.embeddings.model"));
    };
    let key = text("code.embeddings.key_env").and_then(|name| environment.get(name));
    let timeouts = Timeouts { connect: PATIENCE, request: PATIENCE, idle: PATIENCE };
    let endpoint = Endpoint::new("embeddings", Wire::Chat, base_url).timeouts(timeouts);
    let endpoint = match key {
        Some(key) => endpoint.key(key),
        None => endpoint,
    };
    let embeddings = Embeddings::new(endpoint, model);
    let embeddings = embeddings.map_err(|error| Failure::usage(error.to_string(), "see code.embeddings"))?;
    Ok(Some(Meaning::new(embeddings)))
}

/// A folder for what kernels have while they run. Not one for temporary files, if another can be had: sandboxes let
/// commands write there, and those of one session have no business with the kernels of another.
fn run_dir(environment: &Environment) -> PathBuf {
    let own = saved::root(environment).ok().map(|root| root.join("run"));
    let fits = |dir: &PathBuf| {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        dir.as_os_str().len() <= LONGEST && made.is_ok()
    };
    own.filter(fits).unwrap_or_else(|| PathBuf::from(TEMPORARY))
}

/// Which Python kernels are: the user's, or the one that junto keeps.
///
/// # Errors
/// If there is no place for the latter.
pub(crate) fn interpreter(config: &Config, environment: &Environment) -> Result<Interpreter, Failure> {
    match path("code.python", config, environment) {
        Some(program) => Ok(Interpreter::At(program)),
        None => Ok(Interpreter::Kept(saved::root(environment)?)),
    }
}

/// A path: from the folder of the file that names it, from the home with `~`, or from here.
pub(crate) fn path(key: &str, config: &Config, environment: &Environment) -> Option<PathBuf> {
    let (text, origin) = config.text(key)?;
    if let (Some(below), Some(home)) = (text.strip_prefix("~/"), environment.path("HOME")) {
        return Some(home.join(below));
    }
    let from = match origin {
        Origin::File { file, .. } => file.parent().unwrap_or(Path::new("/")),
        Origin::Default | Origin::Variable(_) | Origin::Flag(_) => environment.directory(),
    };
    Some(from.join(text))
}

fn variables(config: &Config) -> BTreeMap<String, String> {
    let own = config.settings.iter().filter_map(|(path, setting)| match (path.segments(), &setting.value) {
        ([section, table, name], Value::Text(text)) if section == "code" && table == "env" => {
            Some((name.clone(), text.clone()))
        }
        _ => None,
    });
    own.collect()
}
