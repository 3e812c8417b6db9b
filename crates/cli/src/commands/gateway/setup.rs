//! `junto gateway setup`: pointing a client at the gateway.

mod clients;
mod edit;

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub(super) use self::clients::{Client, points_at};
use self::clients::{Form, Plan};
use super::{configured_url, keys};
use crate::args::SetupClientArgs;
use crate::config::{Config, replace_file};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;

pub(super) use self::edit::{Entry, assigned, lines};

/// Runs the command.
pub(super) fn run(
    args: &SetupClientArgs,
    config: &Config,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    let client = Client {
        name: args.client,
        url: args
            .url
            .as_deref()
            .map_or_else(|| configured_url(config), |url| url.trim_end_matches('/').to_owned()),
        key: keys::wanted(config, environment)?,
        model: args.model.clone(),
    };
    let plans = client.plans(environment)?;
    if !args.write {
        return print(&client, &plans, output);
    }
    // All are made before any is written.
    let drafts = plans.iter().map(Draft::of).collect::<Result<Vec<_>, _>>()?;
    let mut undo = Vec::new();
    for draft in &drafts {
        undo.extend(draft.write(output)?);
    }
    if undo.is_empty() {
        output.note(&format!("{} is set up already; nothing was changed", client.title()));
        return Ok(());
    }
    output.note(&format!("{} asks {} from now on", client.title(), client.url));
    if let Some(advice) = client.advice() {
        output.note(&advice);
    }
    output.note(&format!("to take it back: {}", undo.join(" && ")));
    Ok(())
}

/// Prints what would be written, with the places on standard error so that the rest can be piped.
fn print(client: &Client, plans: &[Plan], output: &Output) -> Result<(), Failure> {
    for plan in plans {
        output.note(&format!("# {}", plan.file.display()));
        output.data(&plan.shown()?)?;
    }
    if let Some(advice) = client.advice() {
        output.note(&advice);
    }
    output.note("`--write` puts it there; everything else in the file stays");
    Ok(())
}

/// A file as it is and as it shall be.
struct Draft<'a> {
    plan: &'a Plan,
    before: Option<String>,
    after: String,
}

impl<'a> Draft<'a> {
    /// # Errors
    /// If the file is there and is not what the client reads.
    fn of(plan: &'a Plan) -> Result<Self, Failure> {
        let before = match fs::read_to_string(&plan.file) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(refused(&plan.file, &format!("cannot be read: {error}"))),
        };
        let text = before.as_deref().unwrap_or_default();
        let after = plan.apply(text).map_err(|why| refused(&plan.file, &why))?;
        Ok(Self { plan, before, after })
    }

    /// Writes it, if it is another, and says how that is undone.
    fn write(&self, output: &Output) -> Result<Option<String>, Failure> {
        let file = &self.plan.file;
        if self.before.as_deref() == Some(&self.after) {
            return Ok(None);
        }
        let failed = |error: std::io::Error| {
            Failure::new(
                Exit::Failed,
                format!("cannot write {}: {error}", file.display()),
                "check who owns it; without --write it is only printed",
            )
        };
        let undo = if self.before.is_some() {
            let backup = backup(file);
            fs::copy(file, &backup).map_err(failed)?;
            format!("mv {} {}", quoted(&backup), quoted(file))
        } else {
            format!("rm {}", quoted(file))
        };
        match self.plan.form {
            Form::Lines => keys::write_private(file, &self.after),
            Form::Json | Form::Toml => replace_file(file, &self.after),
        }
        .map_err(failed)?;
        output.note(&format!("wrote {}", file.display()));
        Ok(Some(undo))
    }
}

/// Where a file is kept as it was. Never where something is already.
fn backup(file: &Path) -> PathBuf {
    let time = Environment::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let named = |number: u32| {
        let mut backup = format!("{name}.{time}");
        if number > 0 {
            let _ = write!(backup, "-{number}");
        }
        file.with_file_name(format!("{backup}.bak"))
    };
    (0..u32::MAX).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(0))
}

fn refused(file: &Path, why: &str) -> Failure {
    Failure::usage(
        format!("{} {why}; nothing was changed", file.display()),
        "correct it, or run this without --write and put it there by hand",
    )
}

/// A path as a shell takes it.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
