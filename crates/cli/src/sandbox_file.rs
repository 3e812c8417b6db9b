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
/// If there is no such file, or it has another form.
pub(crate) fn described(
    sandbox: Sandbox,
    config: &Config,
    environment: &Environment,
) -> Result<Sandbox, Failure> {
    let Some(path) = code::path("policy.sandbox_config", config, environment) else { return Ok(sandbox) };
    sandbox_from_file(&path, sandbox).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => "name a file that exists with --sandbox-config or policy.sandbox_config",
            _ => "see `--sandbox-config` in the guide on code actions",
        };
        Failure::usage(error.to_string(), hint)
    })
}
