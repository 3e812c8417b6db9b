//! `junto mcp add` and `junto mcp remove`.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::args::AddServerArgs;
use crate::commands::trust;
use crate::config::{Files, SERVERS, of_project, problems_failure, read_file, replace_file};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::{mcp, saved};

/// Adds a server to a file. What else is in the file stays.
pub(super) fn add(args: &AddServerArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let files = Files::find(environment);
    let file = place(args.project, &files)?;
    let before = read_file(&file).map_err(|problem| problems_failure(&[problem]))?;
    let entry = entry(args)?;
    let text = with_entry(&file, before.as_deref(), &args.name, entry)?;
    keep(&file, &text, args.project, &files)?;
    output.note(&format!("{} is in {}; `junto mcp test {}` starts it", args.name, file.display(), args.name));
    Ok(Exit::Done)
}

/// Takes a server out of a file. What else is in the file stays.
pub(super) fn remove(
    name: &str,
    project: bool,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let files = Files::find(environment);
    let file = place(project, &files)?;
    let before = read_file(&file).map_err(|problem| problems_failure(&[problem]))?;
    let Some(text) = without_entry(&file, before.as_deref(), name)? else {
        let message = format!("there is no MCP server \"{name}\" in {}", file.display());
        let hint = "`junto mcp list` lists them with their files; --project means .mcp.json of this project";
        return Err(Failure::usage(message, hint));
    };
    keep(&file, &text, project, &files)?;
    output.note(&format!("{name} is no longer in {}", file.display()));
    Ok(Exit::Done)
}

/// Writes a file with servers. A project that was trusted as it was is trusted as it is then.
fn keep(file: &Path, text: &str, project: bool, files: &Files) -> Result<(), Failure> {
    // What a project brings that was not trusted must not count because of one server that was added to it.
    let of_project = |files: &Files| of_project(files).map_err(|problem| problems_failure(&[problem]));
    let counts = of_project(files)?.is_none_or(|project| !project.needs_trust() || project.is_trusted());
    replace_file(file, text).map_err(|error| {
        let message = format!("cannot write {}: {error}", file.display());
        Failure::new(Exit::Failed, message, saved::ROOM)
    })?;
    if project
        && counts
        && let Some(project) = of_project(files)?
    {
        trust::add(files, &project)?;
    }
    Ok(())
}

fn place(project: bool, files: &Files) -> Result<PathBuf, Failure> {
    if project {
        let project = files.project.as_ref().map(|project| project.root.join(SERVERS));
        return project.ok_or_else(|| {
            Failure::usage("this is not in a project", "a project is a folder that has .junto or .git")
        });
    }
    let none = || Failure::usage("there is no place for your configuration", "set HOME or XDG_CONFIG_HOME");
    mcp::user_file(files).ok_or_else(none)
}

fn entry(args: &AddServerArgs) -> Result<Value, Failure> {
    let mut entry = Map::new();
    let pairs = |texts: &[String]| {
        let pair = |text: &String| match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), json!(value))),
            _ => {
                Err(Failure::usage(format!("`{text}` is not NAME=VALUE"), "as in --env TOKEN='${MY_TOKEN}'"))
            }
        };
        texts.iter().map(pair).collect::<Result<Map<String, Value>, Failure>>()
    };
    if let Some(url) = &args.url {
        entry.insert("type".to_owned(), json!("http"));
        entry.insert("url".to_owned(), json!(url));
        let headers = pairs(&args.header)?;
        if !headers.is_empty() {
            entry.insert("headers".to_owned(), Value::Object(headers));
        }
    }
    if let Some((command, rest)) = args.command.split_first() {
        entry.insert("command".to_owned(), json!(command));
        entry.insert("args".to_owned(), json!(rest));
        let variables = pairs(&args.env)?;
        if !variables.is_empty() {
            entry.insert("env".to_owned(), Value::Object(variables));
        }
    }
    if let Some(cwd) = &args.cwd {
        entry.insert("cwd".to_owned(), json!(cwd.display().to_string()));
    }
    if args.sandbox {
        entry.insert("sandbox".to_owned(), json!(true));
    }
    for (key, tools) in [("enabledTools", &args.allow), ("disabledTools", &args.deny)] {
        if !tools.is_empty() {
            entry.insert(key.to_owned(), json!(tools));
        }
    }
    Ok(Value::Object(entry))
}

/// The text of a file with a server in it.
fn with_entry(file: &Path, before: Option<&str>, name: &str, entry: Value) -> Result<String, Failure> {
    let put = |servers: &mut Map<String, Value>| {
        servers.insert(name.to_owned(), entry);
    };
    changed(file, before, put).map(|(text, ())| text)
}

/// The text of a file without a server; none if it is not there.
fn without_entry(file: &Path, before: Option<&str>, name: &str) -> Result<Option<String>, Failure> {
    let (text, known) = changed(file, before, |servers| servers.shift_remove(name).is_some())?;
    Ok(known.then_some(text))
}

/// The text of a file whose servers were changed, and what the change says.
fn changed<T>(
    file: &Path,
    before: Option<&str>,
    change: impl FnOnce(&mut Map<String, Value>) -> T,
) -> Result<(String, T), Failure> {
    let wrong = |why: String| {
        let message = format!("{}: {why}", file.display());
        Failure::usage(message, "correct the file first; nothing was changed")
    };
    let text = before.filter(|text| !text.trim().is_empty()).unwrap_or("{}");
    let mut whole: Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let object = whole.as_object_mut().ok_or_else(|| wrong("it is no object".to_owned()))?;
    let key = if object.contains_key("servers") && !object.contains_key("mcpServers") {
        "servers"
    } else {
        "mcpServers"
    };
    let servers = object.entry(key).or_insert_with(|| json!({}));
    let servers = servers.as_object_mut().ok_or_else(|| wrong(format!("`{key}` is no object")))?;
    let said = change(servers);
    Ok((format!("{whole:#}\n"), said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_else_is_in_the_file_stays() {
        let check = |before: Option<&str>, expected: Value| {
            let text = with_entry(Path::new("f"), before, "b", json!({"command": "p"})).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
        };
        check(None, json!({"mcpServers": {"b": {"command": "p"}}}));
        check(Some(" \n"), json!({"mcpServers": {"b": {"command": "p"}}}));
        check(
            Some(r#"{"x": 1, "mcpServers": {"a": {}, "b": {"url": "u"}}}"#),
            json!({"x": 1, "mcpServers": {"a": {}, "b": {"command": "p"}}}),
        );
        check(Some(r#"{"servers": {}}"#), json!({"servers": {"b": {"command": "p"}}}));
        for bad in ["[", "[]", r#"{"mcpServers": []}"#] {
            assert!(with_entry(Path::new("f"), Some(bad), "b", json!({})).is_err(), "{bad}");
            assert!(without_entry(Path::new("f"), Some(bad), "b").is_err(), "{bad}");
        }
        let left = |before: Option<&str>| {
            let text = without_entry(Path::new("f"), before, "b").unwrap();
            text.map(|text| serde_json::from_str::<Value>(&text).unwrap())
        };
        let all = r#"{"x": 1, "mcpServers": {"a": {}, "b": {}, "c": {}}}"#;
        assert_eq!(left(Some(all)), Some(json!({"x": 1, "mcpServers": {"a": {}, "c": {}}})));
        assert_eq!(left(Some(r#"{"servers": {"b": {}}}"#)), Some(json!({"servers": {}})));
        assert_eq!(left(Some(r#"{"servers": {"a": {}}}"#)), None);
        assert_eq!(left(None), None);
    }
}
