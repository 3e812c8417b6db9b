//! `junto config`: what is set, where it came from, and what is wrong with it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::args::ConfigCommand;
use crate::config::{
    Config, Files, KeyPath, Problem, Project, Setting, Trust, Value, circles, file_layer, in_order,
    is_trusted, problems_failure,
};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;

/// Runs the command.
pub(crate) fn run(
    command: ConfigCommand,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        ConfigCommand::Show { settings, json } => {
            let config = Config::load(environment, &settings.values())?;
            notes(&config, output);
            if json { output.exact(&show_json(&config))? } else { output.data(&show(&config))? }
        }
        ConfigCommand::Path => output.data(&paths(&Files::find(environment))?)?,
        ConfigCommand::Validate { file: Some(file) } => validate(&file, output)?,
        ConfigCommand::Validate { file: None } => {
            notes(&Config::load(environment, &[])?, output);
            output.note("the configuration is valid");
        }
        ConfigCommand::Trust { path } => trust(path, environment, output, Trusting::Begin)?,
        ConfigCommand::Untrust { path } => trust(path, environment, output, Trusting::End)?,
    }
    Ok(Exit::Done)
}

fn notes(config: &Config, output: &Output) {
    for note in &config.notes {
        output.note(note);
    }
}

/// The settings as TOML, each with its origin as a comment.
fn show(config: &Config) -> String {
    let (mut lines, mut models) = (Vec::new(), String::new());
    for (path, setting) in in_order(&config.settings) {
        match &setting.value {
            Value::Model(model) => {
                let entry = toml::to_string(&BTreeMap::from([("models", [model])])).unwrap_or_default();
                let _ = write!(models, "\n# {}\n{entry}", setting.origin);
            }
            value => lines.push((format!("{path} = {value}"), &setting.origin)),
        }
    }
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for key in config.unset() {
        let _ = writeln!(text, "# {} is not set: {}", key.path, key.about);
    }
    for (line, origin) in lines {
        let _ = writeln!(text, "{line:width$}  # {origin}");
    }
    text + &models
}

fn show_json(config: &Config) -> String {
    let settings: Vec<serde_json::Value> = in_order(&config.settings)
        .into_iter()
        .map(|(path, setting): (&KeyPath, &Setting)| {
            json!({
                "key": path.to_string(),
                "value": setting.value.to_json(),
                "origin": setting.origin.to_json(),
            })
        })
        .collect();
    format!("{:#}\n", json!({"settings": settings}))
}

/// The files considered, weakest first.
fn paths(files: &Files) -> Result<String, Failure> {
    let presence = |path: &Path| if path.exists() { "exists" } else { "absent" };
    let mut text = String::new();
    match &files.user {
        Some(user) => {
            let named = if files.user_is_named { ", named by JUNTO_CONFIG" } else { "" };
            let _ = writeln!(text, "user     {} ({}{named})", user.display(), presence(user));
        }
        None => text.push_str("user     none: neither HOME nor XDG_CONFIG_HOME is set\n"),
    }
    match &files.project {
        Some(project) => {
            let trusted = match is_trusted(files, project) {
                Ok(true) => "trusted",
                Ok(false) => "not trusted",
                Err(problem) => return Err(problems_failure(&[problem])),
            };
            let file = &project.file;
            let _ = writeln!(text, "project  {} ({}, {trusted})", file.display(), presence(file));
        }
        None => text.push_str("project  none: no folder from here up has .junto or .git\n"),
    }
    if let Some(trust) = &files.trust {
        let _ = writeln!(text, "trust    {} ({})", trust.display(), presence(trust));
    }
    Ok(text)
}

/// Checks one file.
fn validate(file: &Path, output: &Output) -> Result<(), Failure> {
    let problems = if file.exists() {
        let layer = file_layer(file);
        [layer.problems, circles(&layer.settings)].concat()
    } else {
        vec![Problem::in_file(file, "there is no such file")]
    };
    if problems.is_empty() {
        output.note(&format!("{} is valid", file.display()));
        Ok(())
    } else {
        Err(problems_failure(&problems))
    }
}

/// Whether trust begins or ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trusting {
    Begin,
    End,
}

fn trust(
    path: Option<PathBuf>,
    environment: &Environment,
    output: &Output,
    trusting: Trusting,
) -> Result<(), Failure> {
    let folder = path.map_or_else(|| environment.directory().to_owned(), |p| environment.directory().join(p));
    let Some(file) = Files::find(environment).trust else {
        return Err(Failure::usage(
            "there is no place for the list of trusted projects",
            "set HOME or XDG_CONFIG_HOME",
        ));
    };
    // A project that is gone can still be removed from the list.
    let root = match Project::around(&folder) {
        Some(project) => project.root,
        None if trusting == Trusting::End => folder,
        None => {
            return Err(Failure::usage(
                format!("{} is not in a project", folder.display()),
                "a project is a folder that has .junto or .git",
            ));
        }
    };
    let mut list = Trust::read(&file).map_err(|problem| problems_failure(&[problem]))?;
    let changed = match trusting {
        Trusting::Begin => list.add(&root),
        Trusting::End => list.remove(&root),
    };
    let changed = changed.map_err(|error| {
        Failure::new(
            Exit::Failed,
            format!("cannot write {}: {error}", file.display()),
            "check the permissions of that folder",
        )
    })?;
    let now = match (trusting, changed) {
        (Trusting::Begin, true) => "is trusted now",
        (Trusting::Begin, false) => "was trusted already",
        (Trusting::End, true) => "is trusted no more",
        (Trusting::End, false) => "was not trusted",
    };
    output.note(&format!("{} {now}", root.display()));
    Ok(())
}
