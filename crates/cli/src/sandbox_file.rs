//! The file that describes the sandbox, as the configuration names it.

use junto::env::{ErrorKind, Sandbox};
use junto::sandbox_from_file;

use crate::code;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;

/// The sandbox, with what the file says that the configuration names.
///
/// # Errors
/// If there is no such file, it has another form, or names what is not there.
pub(crate) fn described(
    sandbox: Sandbox,
    config: &Config,
    environment: &Environment,
) -> Result<Sandbox, Failure> {
    let Some(path) = code::path("policy.sandbox_config", config, environment) else { return Ok(sandbox) };
    let sandbox = sandbox_from_file(&path, sandbox).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => "name a file that exists with --sandbox-config or policy.sandbox_config",
            _ => "see `--sandbox-config` in the guide on code actions",
        };
        Failure::usage(error.to_string(), hint)
    })?;
    let home = environment.path("HOME").filter(|home| home.is_absolute());
    sandbox.check_named(environment.directory(), home.as_deref()).map_err(|error| {
        let hint = format!("let `writable` and `hide` in {} name what is there", path.display());
        Failure::usage(error.to_string(), hint)
    })?;
    Ok(sandbox)
}
