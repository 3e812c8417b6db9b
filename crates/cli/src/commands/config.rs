//! `junto config`: what is set, where it came from, and what is wrong with it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use junto::policy::Rules;
use serde_json::json;

use crate::args::ConfigCommand;
use crate::commands::trust;
use crate::config::{
    CONFIG, Config, Files, KeyPath, Problem, ProjectFiles, Setting, Standing, Value, circles, file_layer,
    in_order, of_project, problems_failure,
};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;

/// Runs the command.
pub(crate) async fn run(
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
            let config = Config::load(environment, &[])?;
            notes(&config, output);
            // What nobody has trusted is read as well: whoever is to trust it wants it right first.
            let waiting = config.untrusted().filter(|project| project.text(CONFIG).is_some());
            if let Some(project) = waiting {
                let layer = project.layer();
                let problems = [layer.problems, circles(&layer.settings)].concat();
                if !problems.is_empty() {
                    return Err(problems_failure(&problems));
                }
                let file = project.project.file.display();
                output.note(&format!("the configuration is valid; so is {file}, which is not in force"));
            } else {
                output.note("the configuration is valid");
            }
        }
        ConfigCommand::Trust { path } => trust::trust(path, true, environment, output).await?,
        ConfigCommand::Untrust { path } => trust::revoke(path, environment, output)?,
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
    let mut rules = String::new();
    for rule in config.rules.iter().flat_map(Rules::iter) {
        let place = rule.place().map(|(file, line)| format!("# {}:{line}\n", file.display()));
        let _ = write!(rules, "\n{}{}", place.unwrap_or_default(), rule.to_toml());
    }
    text + &models + &rules
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
    let rules: Vec<String> = config.rules.iter().flat_map(Rules::iter).map(ToString::to_string).collect();
    format!("{:#}\n", json!({"settings": settings, "rules": rules}))
}

/// The files considered, weakest first.
fn paths(files: &Files) -> Result<String, Failure> {
    let presence = |path: &Path| if path.exists() { "exists" } else { "absent" };
    let mut text = String::new();
    match &files.user {
        Some(user) => {
            let named = files.user_named_by.map(|name| format!(", named by {name}")).unwrap_or_default();
            let _ = writeln!(text, "user     {} ({}{named})", user.display(), presence(user));
        }
        None => text.push_str("user     none: neither HOME nor XDG_CONFIG_HOME is set\n"),
    }
    match &files.project {
        Some(project) => {
            let file = of_project(files).map_err(|problem| problems_failure(&[problem]))?;
            let trusted = match file.filter(ProjectFiles::needs_trust).map(|file| file.standing) {
                Some(Standing::Trusted) => "trusted",
                Some(Standing::Changed) => "changed since it was trusted",
                Some(Standing::Unknown) | None => "not trusted",
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
