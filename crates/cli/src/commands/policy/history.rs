//! Past sessions, judged by the rules of now.

use std::fmt::Write as _;
use std::path::Path;

use junto::agent::profile::{Dialect, Profile};
use junto::agent::{Past, ToolRegistry, tools};
use junto::core::Decision;
use junto::llm::SessionId;
use junto::store::{Filter, Store};
use junto::{PastCall, Then, past_calls};
use serde_json::{Value, json};

use super::word;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::Output;
use crate::output::paint::fit;
use crate::{commands, guard, saved};

/// How much of a call is shown.
const SHOWN: usize = 80;

/// What would become of past calls.
#[derive(Default)]
pub(super) struct Report {
    sessions: usize,
    /// The calls that were judged.
    judged: usize,
    /// The calls of tools that are not known any more.
    unknown: usize,
    changes: Vec<Change>,
}

/// A call that would fare otherwise.
struct Change {
    session: SessionId,
    turn: u32,
    tool: String,
    about: String,
    then: &'static str,
    now: &'static str,
    why: String,
}

/// Judges the calls of the sessions of this folder, or of all.
///
/// # Errors
/// If the sessions cannot be read.
pub(super) async fn check(
    config: &Config,
    environment: &Environment,
    all: bool,
    output: &Output,
) -> Result<Report, Failure> {
    let mut report = Report::default();
    let Some(store) = saved::open_existing(config, environment)? else { return Ok(report) };
    let folder = saved::folder(environment);
    let filter = Filter { workdir: (!all).then(|| folder.display().to_string()), ..Filter::default() };
    let rows = store.index().and_then(|index| index.sessions(&filter));
    for row in rows.map_err(|error| saved::failure(&error))? {
        if let Err(why) = session(&store, &row.id, config, environment, &mut report).await {
            output.warning(&format!("session {} was not judged: {why}", saved::short(&row.id)));
        }
    }
    Ok(report)
}

async fn session(
    store: &Store,
    id: &SessionId,
    config: &Config,
    environment: &Environment,
    report: &mut Report,
) -> Result<(), String> {
    let past = Past::new(store.read(id).map_err(|error| error.to_string())?.events);
    let calls = past_calls(past.events());
    if calls.is_empty() {
        return Ok(());
    }
    let here = past.workdir().unwrap_or_else(|| environment.directory().to_owned());
    let (_, held) =
        guard::to_judge(config, environment, &here).map_err(|failure| failure.errors.join("; "))?;
    let tools = tools_of(&past, environment);
    report.sessions += 1;
    for past in calls {
        let Some(actions) = past.actions(&tools, &held.env).await else {
            report.unknown += 1;
            continue;
        };
        report.judged += 1;
        let explained = held.judge.explain_call(&past.call.name, &actions);
        let (then, now) = (before(&past.then), word(&explained.verdict));
        if then.0 != now {
            let why = explained.steps.iter().max_by_key(|step| step.answer);
            report.changes.push(Change {
                session: id.clone(),
                turn: past.turn,
                tool: past.call.name.clone(),
                about: about(&past, &here),
                then: then.1,
                now,
                why: why.map(|step| format!("{}: {}", step.by, step.why)).unwrap_or_default(),
            });
        }
    }
    Ok(())
}

/// What was decided then, as the policies say it, and in words.
fn before(then: &Then) -> (&'static str, &'static str) {
    match then {
        Then::Allowed => ("allow", "allowed"),
        Then::Asked { answer: Some(Decision::Allow { .. }), .. } => ("ask", "asked, and allowed"),
        Then::Asked { answer: Some(Decision::Reject { .. }), .. } => ("ask", "asked, and refused"),
        Then::Asked { .. } => ("ask", "asked"),
        Then::Denied => ("deny", "denied"),
    }
}

/// The tools that a session had, by the names it knew them by.
fn tools_of(past: &Past, environment: &Environment) -> ToolRegistry {
    let mut registry = ToolRegistry::from(tools::all());
    let setup = past.setup();
    if let Some(name) = setup.and_then(|setup| setup.profile.as_deref())
        && let Ok(profile) = commands::profile::find(name, environment)
    {
        let native = setup.and_then(|setup| setup.dialect.as_deref()) == Some(Dialect::Native.name());
        let profile: Profile = profile.with_dialect(if native { Dialect::Native } else { Dialect::Spec });
        registry.extend(profile.tools.iter().cloned());
    }
    registry
}

/// What a call is about, in one line.
fn about(past: &PastCall, here: &Path) -> String {
    let arguments = &past.call.arguments;
    let main = ["command", "cmd", "file_path", "path", "pattern", "url"];
    let text = main.iter().find_map(|name| arguments.get(name).and_then(Value::as_str));
    let text = text.map_or_else(|| arguments.to_string(), str::to_owned);
    let text = text.replace(&format!("{}/", here.display()), "").replace('\n', " ");
    fit(&text, SHOWN).into_owned()
}

impl Report {
    pub(super) fn in_words(&self) -> String {
        let mut text = String::new();
        for change in &self.changes {
            let Change { session, turn, tool, about, then, now, why } = change;
            let _ = writeln!(text, "{} turn {turn}  {tool} {about}", saved::short(session));
            let _ = writeln!(text, "    {then} then, {now} now: {why}");
        }
        let Self { sessions, judged, unknown, changes } = self;
        let _ = write!(
            text,
            "{judged} calls of {sessions} sessions judged, {} would fare otherwise",
            changes.len()
        );
        if *unknown > 0 {
            let _ = write!(text, "; {unknown} of tools that are not known were not judged");
        }
        text.push('\n');
        text
    }

    pub(super) fn to_json(&self) -> String {
        let changes: Vec<Value> = self
            .changes
            .iter()
            .map(|change| {
                json!({
                    "session": change.session,
                    "turn": change.turn,
                    "tool": change.tool,
                    "about": change.about,
                    "then": change.then,
                    "now": change.now,
                    "why": change.why,
                })
            })
            .collect();
        let Self { sessions, judged, unknown, .. } = self;
        let report = json!({"sessions": sessions, "judged": judged, "unknown": unknown, "changes": changes});
        format!("{report:#}\n")
    }
}
