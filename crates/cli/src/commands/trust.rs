//! `junto trust`: lets a project's own configuration count, after showing what it would change.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use junto::policy::Rules;
use serde_json::json;

use crate::args::TrustArgs;
use crate::config::{
    CONFIG, Config, Files, Layer, Problem, Project, ProjectFiles, Settings, Standing, Trust, in_order,
    of_project, problems_failure,
};
use crate::consent;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::output::paint::visible;

/// Runs the command.
pub(crate) async fn run(
    args: TrustArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    if args.list {
        output.data(&list(environment, args.json)?)?;
    } else if args.revoke {
        revoke(args.path, environment, output)?;
    } else {
        trust(args.path, args.yes, environment, output).await?;
    }
    Ok(Exit::Done)
}

/// Trusts the project around a folder as its file is now. A person is asked after seeing what it changes,
/// unless the yes was given.
///
/// # Errors
/// If there is no project, its file is wrong, the person says no, or the list cannot be written.
pub(crate) async fn trust(
    path: Option<PathBuf>,
    yes: bool,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    let folder = folder(path, environment);
    let there = environment.in_directory(&folder);
    let files = Files::find(&there);
    let Some(project) = &files.project else {
        return Err(Failure::usage(
            format!("{} is not in a project", folder.display()),
            "a project is a folder that has .junto or .git",
        ));
    };
    let brought = of_project(&files).map_err(problem)?;
    for fault in brought.iter().flat_map(ProjectFiles::faults) {
        output.warning(&format!("{fault}; it is left out"));
    }
    let Some(file) = brought.filter(ProjectFiles::needs_trust) else {
        return Err(Failure::usage(
            format!("{} has no configuration of its own to trust", project.root.display()),
            format!("it would be {}", project.file.display()),
        ));
    };
    if file.standing == Standing::Trusted {
        output.note(&format!("{} was trusted already, as it is", project.root.display()));
        return Ok(());
    }
    let shown = shown(&file, &there)?;
    if !yes && consent::is_possible() {
        if !consent::yes(output, &shown, "Trust it?").await {
            return Err(Failure::new(
                Exit::Rejected,
                "it is not trusted, and not in force",
                "answer y, or correct the file first",
            ));
        }
    } else {
        output.note(&shown);
    }
    add(&files, &file)?;
    output.note(&format!("{} is trusted now", project.root.display()));
    Ok(())
}

/// Trusts a project as its file is.
///
/// # Errors
/// If the list cannot be written.
pub(crate) fn add(files: &Files, file: &ProjectFiles) -> Result<(), Failure> {
    let list = list_file(files)?;
    let mut trust = Trust::read(list).map_err(problem)?;
    trust.add(&file.project.root, &file.digest()).map_err(|error| not_written(list, &error))?;
    Ok(())
}

/// What a project's file would change, as a person is shown it.
///
/// # Errors
/// If something in it is wrong.
pub(crate) fn shown(file: &ProjectFiles, environment: &Environment) -> Result<String, Failure> {
    let without = Config::load(environment, &[])?;
    let layer = file.layer();
    if !layer.problems.is_empty() {
        return Err(problems_failure(&layer.problems));
    }
    let lines = |lines: Vec<String>| -> Vec<String> {
        lines.iter().map(|line| format!("    {}", visible(&line.replace('\n', " ⏎ ")))).collect()
    };
    let mut parts = Vec::new();
    if file.text(CONFIG).is_some() {
        let changes = lines(differences(&without.settings, &layer));
        let path = file.project.file.display();
        parts.push(if changes.is_empty() {
            format!("{path} changes nothing")
        } else {
            format!("{path} would change this:\n{}", changes.join("\n"))
        });
    }
    let brought = lines(file.told());
    if !brought.is_empty() {
        parts.push(format!("{} brings this:\n{}", file.project.root.display(), brought.join("\n")));
    }
    Ok(parts.join("\n"))
}

/// What a layer changes, line by line: `-` is taken away, `+` comes.
fn differences(before: &Settings, layer: &Layer) -> Vec<String> {
    let mut lines = Vec::new();
    for (path, setting) in in_order(&layer.settings) {
        match before.get(path) {
            Some(known) if known.value == setting.value => {}
            Some(known) => {
                lines.push(format!("- {path} = {}", known.value));
                lines.push(format!("+ {path} = {}", setting.value));
            }
            None => lines.push(format!("+ {path} = {}", setting.value)),
        }
    }
    lines.extend(layer.rules.iter().flat_map(Rules::iter).map(|rule| format!("+ {rule}")));
    lines
}

/// Trusts a project no more. One that is gone can still be taken out of the list.
///
/// # Errors
/// If the list cannot be read or written.
pub(crate) fn revoke(
    path: Option<PathBuf>,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    let folder = folder(path, environment);
    let root = Project::around(&folder).map_or(folder, |project| project.root);
    let files = Files::find(environment);
    let list = list_file(&files)?;
    let removed = Trust::read(list).map_err(problem)?.remove(&root);
    let removed = removed.map_err(|error| not_written(list, &error))?;
    let now = if removed { "is trusted no more" } else { "was not trusted" };
    output.note(&format!("{} {now}", root.display()));
    Ok(())
}

/// The projects that are trusted, and whether their files are still what was trusted.
fn list(environment: &Environment, as_json: bool) -> Result<String, Failure> {
    let files = Files::find(environment);
    let trust = Trust::read(list_file(&files)?).map_err(problem)?;
    let mut rows = Vec::new();
    for (root, _) in trust.entries() {
        let there =
            Files { project: Project::around(&root).filter(|project| project.root == root), ..files.clone() };
        let state = match of_project(&there) {
            Ok(Some(file)) if !file.needs_trust() => "has no file",
            Ok(Some(file)) if file.standing == Standing::Trusted => "in force",
            Ok(Some(_)) => "changed since",
            Ok(None) => "has no file",
            Err(_) => "cannot be read",
        };
        rows.push((root, state));
    }
    if as_json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(root, state)| json!({"path": root.display().to_string(), "state": state}))
            .collect();
        return Ok(format!("{:#}\n", json!({"projects": rows})));
    }
    let mut text = String::new();
    for (root, state) in &rows {
        let _ = writeln!(text, "{} ({state})", root.display());
    }
    Ok(if text.is_empty() { "no project is trusted\n".to_owned() } else { text })
}

fn folder(path: Option<PathBuf>, environment: &Environment) -> PathBuf {
    path.map_or_else(|| environment.directory().to_owned(), |path| environment.directory().join(path))
}

fn list_file(files: &Files) -> Result<&Path, Failure> {
    files.trust.as_deref().ok_or_else(|| {
        Failure::usage("there is no place for the list of trusted projects", "set HOME or XDG_CONFIG_HOME")
    })
}

fn problem(problem: Problem) -> Failure {
    problems_failure(&[problem])
}

fn not_written(file: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        Exit::Failed,
        format!("cannot write {}: {error}", file.display()),
        "check the permissions of that folder",
    )
}
