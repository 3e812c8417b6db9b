//! What `junto doctor` tells of kernels for code.

use junto::kernel::{Interpreter, Python};
use serde_json::{Value, json};

use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::{code, guard};

/// Whether a kernel can be had.
pub(super) enum Found {
    /// There is a Python for it.
    Ready(Python),
    /// It is made when it is first needed, with this program.
    ToBeMade(&'static str),
    /// It cannot be had, and why.
    Missing(String),
}

/// What a Python can be made with.
const MAKERS: [&str; 2] = ["uv", "python3"];

/// Looks for the Python of kernels; makes none.
///
/// # Errors
/// If there is no place for one.
pub(super) async fn look(config: &Config, environment: &Environment) -> Result<Found, Failure> {
    let home = match code::interpreter(config, environment)? {
        Interpreter::Kept(home) => home,
        Interpreter::At(program) => {
            let local = guard::local(environment.directory(), environment, &guard::inherit(config));
            let env = local.build().map_err(|error| guard::cannot_hold(&error))?;
            return Ok(match Python::at(&program, &env).await {
                Ok(python) => Found::Ready(python),
                Err(error) => Found::Missing(error.to_string()),
            });
        }
    };
    if let Some(python) = Python::made(&home) {
        return Ok(Found::Ready(python));
    }
    let maker = MAKERS.into_iter().find(|name| environment.has_program(name));
    Ok(maker.map_or_else(
        || Found::Missing("there is neither uv nor python3 to make one with; install one of them".to_owned()),
        Found::ToBeMade,
    ))
}

/// For people.
pub(super) fn to_text(found: &Found) -> String {
    let state = match found {
        Found::Ready(python) => {
            let (major, minor) = python.version();
            format!("ready, Python {major}.{minor}, {}", python.program().display())
        }
        Found::ToBeMade(maker) => {
            format!("made with {maker} at the first cell, which takes the network once")
        }
        Found::Missing(why) => format!("NOT to be had: {why}"),
    };
    format!("\nCode (junto run --code)\n  kernel: {state}\n")
}

/// For programs.
pub(super) fn to_json(found: &Found) -> Value {
    match found {
        Found::Ready(python) => {
            let (major, minor) = python.version();
            json!({"kernel": "ready", "python": python.program(), "version": format!("{major}.{minor}")})
        }
        Found::ToBeMade(maker) => json!({"kernel": "to_be_made", "with": maker}),
        Found::Missing(why) => json!({"kernel": "missing", "why": why}),
    }
}
