//! `junto profile list` and `junto profile show`.

use std::fmt::Write as _;

use junto::agent::profile::{Dialect, Family, Profile};
use serde_json::{Value, json};

use super::find;
use crate::args::DialectName;
use crate::commands::models::columns;
use crate::config::duration_text;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;

/// Whose a profile is, if it is one of ours.
const OURS: &str = "built in";

/// Lists the profiles, by the names that `--profile` takes.
pub(super) fn list(json: bool, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let ours = Family::ALL.map(|family| (family.name().to_owned(), Profile::of(family), OURS.to_owned()));
    let mut profiles = ours.to_vec();
    for (name, path) in find::own(environment) {
        let from = path.display().to_string();
        let name = match find::shadowed(&name, environment) {
            None => name,
            Some(path) => {
                output.warning(&find::in_the_shadow(&path));
                from.clone()
            }
        };
        match find::read(&path) {
            Ok(profile) => profiles.push((name, profile, from)),
            Err(failure) => output.warning(&failure.errors.join("; ")),
        }
    }
    if json {
        let all: Vec<Value> = profiles
            .iter()
            .map(|(name, profile, from)| {
                let mut entry = to_json(profile, from);
                entry["name"] = name.as_str().into();
                entry
            })
            .collect();
        output.exact(&format!("{:#}\n", Value::from(all)))?;
        return Ok(Exit::Done);
    }
    let heads = ["PROFILE", "FOR", "DIALECT", "TOOLS", "COMMANDS MAY TAKE", "DOCUMENTS", "FROM"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(profiles.iter().map(|(name, profile, from)| {
        let mut documents = vec!["AGENTS.md".to_owned()];
        documents.extend(profile.documents.iter().cloned());
        vec![
            name.clone(),
            profile.family().name().to_owned(),
            dialect(profile).to_owned(),
            profile.tools.names().count().to_string(),
            duration_text(profile.shell_timeout()),
            documents.join(" "),
            from.clone(),
        ]
    }));
    output.data(&columns(&rows))?;
    Ok(Exit::Done)
}

/// Prints one profile.
pub(super) fn show(
    name: &str,
    dialect: Option<DialectName>,
    json: bool,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let profile = find::find(name, environment)?;
    let profile = match dialect {
        None => profile,
        Some(_) if Family::named(name).is_none() => {
            return Err(Failure::usage(
                "--dialect is for the built-in profiles: a file defines its tools itself",
                "leave it out",
            ));
        }
        Some(DialectName::Spec) => profile.with_dialect(Dialect::Spec),
        Some(DialectName::Native) => profile.with_dialect(Dialect::Native),
    };
    if json {
        output.exact(&format!("{:#}\n", to_json(&profile, name)))?;
    } else {
        output.data(&in_words(&profile))?;
    }
    Ok(Exit::Done)
}

fn dialect(profile: &Profile) -> &'static str {
    match profile.dialect() {
        Dialect::Spec => "spec",
        Dialect::Native => "native",
    }
}

fn to_json(profile: &Profile, from: &str) -> Value {
    let tools: Vec<Value> = profile
        .tools
        .definitions()
        .iter()
        .map(|tool| {
            let mut entry = json!({"name": tool.name, "description": tool.description});
            if let Some(parameters) = tool.parameters() {
                entry["parameters"] = parameters.clone();
            }
            entry
        })
        .collect();
    json!({
        "id": profile.id,
        "family": profile.family().name(),
        "dialect": dialect(profile),
        "from": from,
        "model": profile.model,
        "documents": profile.documents,
        "options": profile.options,
        "capabilities": profile.capabilities,
        "tools": tools,
        "left_out": profile.left_out,
        "base": profile.base,
    })
}

fn in_words(profile: &Profile) -> String {
    let mut text =
        format!("{}, for {} models, dialect {}\n", profile.id, profile.family().name(), dialect(profile));
    if let Some(model) = &profile.model {
        let _ = writeln!(text, "Model: {model}");
    }
    let _ = writeln!(
        text,
        "Project documents: {}",
        [&["AGENTS.md".to_owned()], &*profile.documents].concat().join(", ")
    );
    let _ = writeln!(
        text,
        "A command may take {} unless the model says otherwise",
        duration_text(profile.shell_timeout())
    );
    if !profile.options.is_empty() {
        let _ = writeln!(text, "Options: {}", Value::Object(profile.options.clone()));
    }
    if !profile.left_out.is_empty() {
        let _ = writeln!(text, "Declared in its file, and not to be had: {}", profile.left_out.join(", "));
    }
    text.push_str("\nTools\n");
    let tools = profile.tools.definitions();
    let rows: Vec<Vec<String>> = tools
        .iter()
        .map(|tool| vec![format!("  {}", tool.name), first_sentence(&tool.description)])
        .collect();
    text.push_str(&columns(&rows));
    let _ = write!(text, "\nBase instructions\n\n{}\n", profile.base.trim_end());
    text
}

/// What a description begins with; all of it is in the JSON.
fn first_sentence(description: &str) -> String {
    let line = description.trim().lines().next().unwrap_or_default();
    line.split_inclusive(". ").next().unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_shown_by_their_first_sentence() {
        for (description, expected) in [
            ("", ""),
            ("Reads.", "Reads."),
            ("Reads a file. Long ones in part.", "Reads a file."),
            ("\nReads a file\nin part.", "Reads a file"),
            ("Takes e.g.\tthis. And that.", "Takes e.g.\tthis."),
        ] {
            assert_eq!(first_sentence(description), expected);
        }
    }
}
