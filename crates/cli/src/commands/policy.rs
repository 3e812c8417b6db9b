//! `junto policy`: what is in force, what would become of a command, and what rules would have changed.

mod history;

use std::fmt::Write as _;

use junto::core::{Action, Rule, Verdict};
use junto::env::ExecutionEnvironment as _;
use junto::policy::{By, Explanation, Origin, PolicyRule, Rules};
use junto::{Guard, Held};
use serde_json::{Value, json};

use crate::args::PolicyCommand;
use crate::config::{Config, Files, problems_failure, replace_file, with_rule};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::{guard, saved};

/// Runs the command.
pub(crate) async fn run(
    command: PolicyCommand,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        PolicyCommand::Explain { line, mode, json } => {
            let config = load(environment, &mode.values(), output)?;
            let (guard, held) = guard::to_judge(&config, environment, environment.directory())?;
            let cwd = held.env.facts().cwd.clone();
            let explained = held.judge.explain(&[Action::Shell { line: line.clone(), cwd }]);
            let text = if json {
                explained_json(&line, &guard, &explained)
            } else {
                in_words(&guard, &held, &explained)
            };
            output.data(&text)?;
        }
        PolicyCommand::Show { mode, json } => {
            let config = load(environment, &mode.values(), output)?;
            let (guard, held) = guard::to_judge(&config, environment, environment.directory())?;
            output.data(&if json {
                shown_json(&config, &guard, &held)
            } else {
                shown(&config, &guard, &held)
            })?;
        }
        PolicyCommand::Check { history: _, all, mode, json } => {
            let config = load(environment, &mode.values(), output)?;
            let report = history::check(&config, environment, all, output).await?;
            output.data(&if json { report.to_json() } else { report.in_words() })?;
        }
        PolicyCommand::Add { rule } => add(&rule, environment, output)?,
    }
    Ok(Exit::Done)
}

fn load(
    environment: &Environment,
    flags: &[crate::config::FlagValue],
    output: &Output,
) -> Result<Config, Failure> {
    let config = Config::load(environment, flags)?;
    for note in &config.notes {
        output.note(note);
    }
    Ok(config)
}

/// The verdict in a word.
fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow(_) => "allow",
        Verdict::Ask { .. } => "ask",
        Verdict::Deny { .. } => "deny",
    }
}

fn in_words(guard: &Guard, held: &Held, explained: &Explanation) -> String {
    let mut text = explained.to_string();
    let _ = writeln!(text, "{}", guard::words(guard, held));
    if let Verdict::Ask { proposed, .. } = &explained.verdict {
        for Rule(rule) in proposed {
            let _ = writeln!(text, "to allow it: junto policy add '{}'", rule.replace('\'', "'\\''"));
        }
    }
    text
}

fn explained_json(line: &str, guard: &Guard, explained: &Explanation) -> String {
    let steps: Vec<Value> = explained
        .steps
        .iter()
        .map(|step| {
            let by = match &step.by {
                By::Rule(rule) => rule_json(rule),
                By::Mode(mode) => json!({"mode": mode.name()}),
            };
            json!({"what": step.what, "decision": step.answer.name(), "by": by, "why": step.why})
        })
        .collect();
    let (proposed, reason) = match &explained.verdict {
        Verdict::Allow(_) => (Vec::new(), None),
        Verdict::Ask { proposed, reason } => (proposed.clone(), Some(reason)),
        Verdict::Deny { reason } => (Vec::new(), Some(reason)),
    };
    let explained = json!({
        "line": line,
        "mode": guard.mode.name(),
        "decision": word(&explained.verdict),
        "reason": reason,
        "steps": steps,
        "proposed": proposed,
    });
    format!("{explained:#}\n")
}

fn rule_json(rule: &PolicyRule) -> Value {
    let (file, line) = rule.place().map(|(file, line)| (file.display().to_string(), line)).unzip();
    json!({"rule": rule.to_string(), "origin": rule.origin().to_string(), "file": file, "line": line})
}

fn shown(config: &Config, guard: &Guard, held: &Held) -> String {
    let origin = config.text("policy.mode").map_or("default".to_owned(), |(_, origin)| origin.to_string());
    let mut text = format!("{} ({origin})\n", guard::words(guard, held));
    text.extend(guard::gaps(held).map(|gaps| gaps + "\n"));
    let mut rules = config.rules.iter().flat_map(Rules::iter).peekable();
    if rules.peek().is_none() {
        text.push_str("no rules\n");
    }
    for rule in rules {
        let place = rule.place().map(|(file, line)| format!("  # {}:{line}", file.display()));
        let _ = writeln!(text, "{rule}{}", place.unwrap_or_default());
    }
    text
}

fn shown_json(config: &Config, guard: &Guard, held: &Held) -> String {
    let rules: Vec<Value> = config.rules.iter().flat_map(Rules::iter).map(rule_json).collect();
    let origin = config.setting("policy.mode").map(|setting| setting.origin.to_json());
    let gaps: Vec<String> = held.gaps.iter().map(ToString::to_string).collect();
    let shown = json!({
        "mode": guard.mode.name(),
        "origin": origin,
        "enforced": held.is_confined,
        "gaps": gaps,
        "rules": rules,
    });
    format!("{shown:#}\n")
}

/// Adds a rule to the user's own file.
fn add(rule: &str, environment: &Environment, output: &Output) -> Result<(), Failure> {
    let hint = "write it as in `junto policy add 'allow command \"cargo test *\"'`";
    let read = PolicyRule::read(rule, Origin::User);
    let rule = read.map_err(|error| Failure::usage(error.to_string(), hint))?;
    let Some(file) = Files::find(environment).user else {
        return Err(Failure::usage("there is no file of yours to add it to", "set HOME or XDG_CONFIG_HOME"));
    };
    let text = with_rule(&file, &rule.to_toml()).map_err(|problem| problems_failure(&[problem]))?;
    let done = match text {
        Some(text) => {
            replace_file(&file, &text).map_err(|error| {
                let message = format!("cannot write {}: {error}", file.display());
                Failure::new(Exit::Failed, message, saved::ROOM)
            })?;
            "added to"
        }
        None => "was already in",
    };
    output.note(&format!("{rule} {done} {}", file.display()));
    Ok(())
}
