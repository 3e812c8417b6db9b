//! The keys of the service: a file of variables that only the user reads.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use junto::llm::Secret;

use super::setup::assigned;
use super::{client_key, key_variable};
use crate::config::{Config, Files, Origin};
use crate::environment::Environment;
use crate::failure::Failure;

/// The key that the gateway wants of its clients, and where clients find it.
pub(super) struct ClientKey {
    /// The variable that holds it.
    pub(super) variable: String,
    pub(super) secret: Secret,
    /// The program that tells it.
    pub(super) program: PathBuf,
}

/// The file with the keys of the service.
///
/// # Errors
/// If the user has no place for configuration.
pub(super) fn file(environment: &Environment) -> Result<PathBuf, Failure> {
    let folder = Files::find(environment).trust.and_then(|trust| trust.parent().map(Path::to_owned));
    folder
        .map(|folder| folder.join("gateway.env"))
        .ok_or_else(|| Failure::usage("neither HOME nor XDG_CONFIG_HOME is set", "set one of them"))
}

/// The key that clients must show: from the environment, else from the service's file.
///
/// # Errors
/// If it is in neither.
pub(super) fn token(config: &Config, environment: &Environment) -> Result<Secret, Failure> {
    if let Ok(Some(key)) = client_key(config, environment) {
        return Ok(key);
    }
    let (name, _) = key_variable(config);
    let file = file(environment)?;
    kept(&file, name).ok_or_else(|| {
        Failure::usage(
            format!("the gateway wants no key: {name} is neither set nor in {}", file.display()),
            format!("set {name} to the key that clients shall show"),
        )
    })
}

/// The key that the gateway would want of a client; none if it would want none.
///
/// # Errors
/// If somebody named a variable for it, and it is nowhere.
pub(super) fn wanted(config: &Config, environment: &Environment) -> Result<Option<ClientKey>, Failure> {
    let (variable, origin) = key_variable(config);
    match token(config, environment) {
        Ok(secret) => Ok(Some(ClientKey { variable: variable.to_owned(), secret, program: program()? })),
        Err(_) if *origin == Origin::Default => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// This program.
///
/// # Errors
/// If the system does not tell.
pub(super) fn program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::usage(format!("cannot tell where junto is installed: {error}"), "start it by its full path")
    })
}

/// A variable of the service's file.
pub(super) fn kept(file: &Path, name: &str) -> Option<Secret> {
    let text = fs::read_to_string(file).ok()?;
    let value = text.lines().rev().find_map(|line| assigned(line, name))?;
    let inner = ['\'', '"'].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    Some(inner.unwrap_or(value)).filter(|value| !value.is_empty()).map(Secret::new)
}

/// Writes a file that only its owner reads, as a whole. Makes the folder it needs.
///
/// # Errors
/// What the system says.
pub(super) fn write_private(file: &Path, text: &str) -> io::Result<()> {
    // A file that is a link stays one.
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let draft = file.with_extension(format!("{}.part", std::process::id()));
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .and_then(|mut draft| {
            draft.write_all(text.as_bytes())?;
            draft.sync_all()
        })
        .and_then(|()| fs::rename(&draft, &file));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Whether others can read a file.
pub(super) fn is_open(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}
