//! Starting programs and naming what went wrong.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Outcome;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The cargo that runs us, in the workspace's root, as if it were called by hand: a build script that
/// looks at what `cargo run` tells us of ourselves would run again, and all that depends on it.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.current_dir(root());
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(tells_of_us) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether cargo sets the variable for the package that it runs.
fn tells_of_us(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "CARGO_BIN_NAME"
}

/// Runs to the end and shows the output as it comes.
pub(crate) fn run(command: &mut Command) -> Outcome {
    if succeeds(command)? { Ok(()) } else { Err(format!("`{}` failed", show(command))) }
}

/// Runs to the end, shows the output as it comes, and tells whether the program was content.
pub(crate) fn succeeds(command: &mut Command) -> Outcome<bool> {
    eprintln!("$ {}", show(command));
    let status = command.status().map_err(|e| format!("could not start `{}`: {e}", show(command)))?;
    Ok(status.success())
}

/// Runs to the end and returns what it wrote to its standard output; errors go where ours go.
pub(crate) fn capture(command: &mut Command) -> Outcome<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("could not start `{}`: {e}", show(command)))?;
    if !output.status.success() {
        return Err(format!("`{}` failed", show(command)));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{}` did not write text", show(command)))
}

/// Whether the program starts and ends well; nothing of it is shown.
pub(crate) fn quietly(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// What the program wrote to its standard output if it ended well; nothing of it is shown.
pub(crate) fn said(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok().filter(|_| output.status.success())
}

/// The command as one would type it, the program by its short name.
fn show(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned()];
    for arg in command.get_args() {
        let arg = arg.to_string_lossy();
        let is_plain = arg.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./:".contains(c));
        words.push(if is_plain { arg.into_owned() } else { format!("'{}'", arg.trim()) });
    }
    words.join(" ")
}
