//! What `junto doctor` tells of kernels for code.

use std::path::PathBuf;

use junto::kernel::{Interpreter, Maker, Python, Standing};
use serde_json::{Value, json};

use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::{code, guard};

/// Whether a kernel can be had.
pub(super) enum Found {
    /// There is a Python for it: the user's, or in an environment of ours, which is whole.
    Ready { python: Python, environment: Option<PathBuf> },
    /// It is made when it is first needed, with this program, in this folder; perhaps for another that is not whole.
    ToBeMade { maker: Maker, environment: PathBuf, is_broken: bool },
    /// It cannot be had, and why.
    Missing(String),
}

/// Looks for the Python of kernels; makes none.
///
/// # Errors
/// If there is no place for one.
pub(super) async fn look(config: &Config, environment: &Environment) -> Result<Found, Failure> {
    let local = guard::local(environment.directory(), environment, &guard::inherit(config));
    let env = local.build().map_err(|error| guard::cannot_hold(&error))?;
    let home = match code::interpreter(config, environment)? {
        Interpreter::Kept(home) => home,
        Interpreter::At(program) => {
            return Ok(match Python::at(&program, &env).await {
                Ok(python) => Found::Ready { python, environment: None },
                Err(error) => Found::Missing(error.to_string()),
            });
        }
    };
    let (environment, is_broken) = match Python::standing(&home) {
        (environment, Standing::Whole(python)) => {
            return Ok(Found::Ready { python, environment: Some(environment) });
        }
        (environment, standing) => (environment, standing == Standing::Broken),
    };
    Ok(match Python::maker(&env).await {
        Ok(maker) => Found::ToBeMade { maker, environment, is_broken },
        Err(error) => Found::Missing(error.to_string()),
    })
}

/// For people.
pub(super) fn to_text(found: &Found) -> String {
    let state = match found {
        Found::Ready { python, environment } => {
            let (major, minor) = python.version();
            let program = python.program().display();
            let whole = environment.as_ref().map(|_| ", whole").unwrap_or_default();
            format!("ready, Python {major}.{minor}, {program}{whole}")
        }
        Found::ToBeMade { maker: Maker { program, version }, environment, is_broken } => {
            let state = if *is_broken { "not whole: made anew" } else { "not made yet: made" };
            format!(
                "{state} with {program} {version} before the first run with --code, which takes the network once\n  \
                 environment: {}",
                environment.display()
            )
        }
        Found::Missing(why) => format!("NOT to be had: {why}"),
    };
    format!("\nCode (junto run --code)\n  kernel: {state}\n")
}

/// For programs.
pub(super) fn to_json(found: &Found) -> Value {
    match found {
        Found::Ready { python, environment } => {
            let (major, minor) = python.version();
            let version = format!("{major}.{minor}");
            let program = python.program();
            json!({"kernel": "ready", "python": program, "version": version, "environment": environment})
        }
        Found::ToBeMade { maker: Maker { program, version }, environment, is_broken } => json!({
            "kernel": "to_be_made", "with": program, "version": version, "environment": environment,
            "is_broken": is_broken
        }),
        Found::Missing(why) => json!({"kernel": "missing", "why": why}),
    }
}
