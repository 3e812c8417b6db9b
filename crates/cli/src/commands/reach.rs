//! `junto skills`, `junto commands` and `junto hooks`: what agents have of them here.

use std::fmt::Write as _;

use junto::agent::SlashCommand;
use serde_json::{Value, json};

use crate::args::ListArgs;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::reach::{Kit, Loaded, load};

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    /// Skills.
    Skills,
    /// Slash commands.
    Commands,
    /// Hooks.
    Hooks,
}

/// Lists what there is, and tells what is wrong with the rest.
///
/// # Errors
/// What is wrong with the configuration.
pub(crate) fn run(
    listed: Listed,
    args: &ListArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let config = Config::load(environment, &[])?;
    for note in &config.notes {
        output.note(note);
    }
    let Loaded { kit, waiting, faults, unused } = load(&config, environment);
    let rows = [rows(listed, &kit, true), rows(listed, &waiting, false)].concat();
    if args.json {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let name = match listed {
            Listed::Skills => "skills",
            Listed::Commands => "commands",
            Listed::Hooks => "hooks",
        };
        let rows: Vec<&Value> = rows.iter().map(|(_, _, row)| row).collect();
        output.exact(&format!("{:#}\n", json!({name: rows, "faults": faults})))?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for (name, about, _) in &rows {
        let _ = writeln!(text, "{name}\n    {about}");
    }
    output.data(if text.is_empty() { "there are none here\n" } else { &text })?;
    for fault in faults {
        output.warning(&format!("{fault}; it is left out"));
    }
    for note in unheeded(listed, &kit.and(waiting)) {
        output.note(&note);
    }
    if listed == Listed::Hooks && !unused.is_empty() {
        output.note(&format!(
            "hooks of these events are never run, because junto has no such event: {}",
            unused.join(", ")
        ));
    }
    Ok(Exit::Done)
}

/// What files say that changes nothing here, though it may elsewhere.
fn unheeded(listed: Listed, kit: &Kit) -> Vec<String> {
    let skills = kit.skills.iter().filter(|skill| !skill.allowed_tools.is_empty());
    let skills: Vec<String> = skills.map(|skill| skill.name.clone()).collect();
    let named = |has: fn(&SlashCommand) -> bool| -> Vec<String> {
        kit.commands
            .iter()
            .filter(|command| has(command))
            .map(|command| format!("/{}", command.name))
            .collect()
    };
    let leave = "allows nothing here, since rules say what is allowed (`junto policy add`)";
    let model = "is not asked, since the session's model answers (`--model`)";
    let all = match listed {
        Listed::Skills => vec![("allowed-tools", skills, leave)],
        Listed::Commands => vec![
            ("allowed-tools", named(|command| !command.allowed_tools.is_empty()), leave),
            ("model", named(|command| command.model.is_some()), model),
        ],
        Listed::Hooks => Vec::new(),
    };
    let all = all.into_iter().filter(|(_, names, _)| !names.is_empty());
    all.map(|(key, names, why)| format!("`{key}` of {} {why}", names.join(", "))).collect()
}

/// A line with the name, one with what it is about, and all of it.
type Row = (String, String, Value);

fn rows(listed: Listed, kit: &Kit, in_force: bool) -> Vec<Row> {
    let state = if in_force { "" } else { " (not trusted)" };
    match listed {
        Listed::Skills => kit
            .skills
            .iter()
            .map(|skill| {
                let row = json!({
                    "name": skill.name, "description": skill.description, "license": skill.license,
                    "compatibility": skill.compatibility, "allowed_tools": skill.allowed_tools,
                    "file": skill.file, "in_force": in_force,
                });
                (format!("{}{state}", skill.name), short(&skill.description), row)
            })
            .collect(),
        Listed::Commands => kit
            .commands
            .iter()
            .map(|command| {
                let row = json!({
                    "name": command.name, "description": command.description,
                    "argument_hint": command.argument_hint, "allowed_tools": command.allowed_tools,
                    "model": command.model, "file": command.file, "in_force": in_force,
                });
                let hint = command.argument_hint.as_ref().map(|hint| format!(" {hint}")).unwrap_or_default();
                (format!("/{}{hint}{state}", command.name), short(&command.description), row)
            })
            .collect(),
        Listed::Hooks => kit
            .hooks
            .iter()
            .map(|hook| {
                let row = json!({
                    "event": hook.event.name(), "matcher": hook.matcher(), "command": hook.command, "args": hook.args,
                    "timeout": hook.timeout.map(|time| time.as_secs_f64()), "file": hook.file, "line": hook.line,
                    "in_force": in_force,
                });
                let about = if hook.matcher().is_empty() { String::new() } else { format!(" {}", hook.matcher()) };
                (format!("{}{about}{state}", hook.event.name()), short(&format!("{} ({hook})", hook.command)), row)
            })
            .collect(),
    }
}

/// One line of a text, without its end if it is long.
fn short(text: &str) -> String {
    const MOST: usize = 160;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", line.split_at(at).0),
        None => line,
    }
}
