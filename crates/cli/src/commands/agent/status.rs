//! `junto agent list` and `junto agent status`.

use std::fmt::Write as _;

use junto::llm::Cost;
use junto::store::{
    AgentInput, AgentRun, AgentSession, AgentSetup, Agents, InputState, NamedAgent, RunStatus, Suppression,
};
use serde_json::{Value, json};

use super::{kept, open_existing, to_json, waiting};
use crate::args::StatusArgs;
use crate::commands::models::columns;
use crate::config::duration_text;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::output::paint::fit;
use crate::{saved, when};

/// The longest text in a table.
const WIDEST: usize = 60;

/// An agent, and everything that is known of it.
struct Known {
    agent: NamedAgent,
    running: Option<AgentRun>,
    queue: Vec<AgentInput>,
    runs: Vec<AgentRun>,
    sessions: Vec<AgentSession>,
}

impl Known {
    fn read(agents: &Agents, agent: NamedAgent, runs: u32) -> Result<Self, Failure> {
        let name = &agent.name;
        let read = || -> junto::store::Result<_> {
            let latest = agents.runs(name, runs.max(1))?;
            Ok((agents.running(name)?, agents.queue(name)?, latest, agents.sessions(name)?))
        };
        let (running, queue, runs, sessions) = read().map_err(|error| kept(&error))?;
        Ok(Self { agent, running, queue, runs, sessions })
    }

    fn count(&self, state: InputState) -> usize {
        self.queue.iter().filter(|input| input.state == state).count()
    }

    fn state(&self) -> &'static str {
        if self.running.is_some() { "running" } else { "idle" }
    }

    /// How its last finished run went.
    fn health(&self) -> &'static str {
        match self.runs.iter().find(|run| run.status != RunStatus::Running).map(|run| run.status) {
            Some(RunStatus::Failed) => "error",
            Some(_) => "ok",
            None => "unknown",
        }
    }

    fn to_json(&self, agents: &Agents, suppressed: &[Suppression]) -> Value {
        let mut value = to_json(&self.agent, agents);
        let more = json!({
            "state": self.state(),
            "health": self.health(),
            "pid": self.running.as_ref().and_then(|run| run.pid),
            "waiting": waiting(&self.queue, self.running.as_ref()),
            "given_up": self.count(InputState::GivenUp),
            "queue": self.queue,
            "running": self.running,
            "runs": self.runs,
            "sessions": self.sessions,
            "suppressed": suppressed,
        });
        if let (Some(value), Value::Object(more)) = (value.as_object_mut(), more) {
            value.extend(more);
        }
        value
    }
}

/// Runs `junto agent list`.
pub(super) fn list(as_json: bool, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let agents = open_existing(environment)?;
    let (all, suppressed) = match &agents {
        Some(agents) => {
            let all = agents.list().map_err(|error| kept(&error))?;
            let all = all.into_iter().map(|agent| Known::read(agents, agent, 1));
            (all.collect::<Result<Vec<_>, _>>()?, aside(agents)?)
        }
        None => (Vec::new(), Vec::new()),
    };
    if as_json {
        let rows: Vec<Value> =
            agents.iter().flat_map(|agents| all.iter().map(|known| known.to_json(agents, &[]))).collect();
        output.exact(&format!("{:#}\n", json!({"agents": rows, "suppressed": suppressed})))?;
    } else if all.is_empty() {
        output.data("there are no agents yet; `junto agent add NAME` adds one\n")?;
    } else {
        let mut text = table(&all);
        for one in &suppressed {
            let _ = writeln!(text, "{}", left_alone(one));
        }
        output.data(&text)?;
    }
    Ok(Exit::Done)
}

/// Runs `junto agent status`.
pub(super) fn status(args: &StatusArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let agents = super::open(environment)?;
    let agent = agents.get(&args.name).map_err(|error| kept(&error))?;
    let known = Known::read(&agents, agent, args.runs)?;
    let suppressed = aside(&agents)?;
    if args.json {
        output.exact(&format!("{:#}\n", known.to_json(&agents, &suppressed)))?;
    } else {
        output.data(&to_text(&known, &agents, &suppressed))?;
    }
    Ok(Exit::Done)
}

fn aside(agents: &Agents) -> Result<Vec<Suppression>, Failure> {
    agents.suppressed(Environment::now()).map_err(|error| kept(&error))
}

fn left_alone(one: &Suppression) -> String {
    format!("{} is left alone until {} UTC ({})", one.provider, when::minute(one.until), one.class)
}

fn table(all: &[Known]) -> String {
    let heads =
        ["NAME", "STATE", "WAITING", "LAST RUN", "CONTEXT", "PROVIDER", "WORKSPACE"].map(str::to_owned);
    let mut lines = vec![heads.to_vec()];
    lines.extend(all.iter().map(|known| {
        let last = known.runs.first();
        vec![
            known.agent.name.clone(),
            known.state().to_owned(),
            waiting(&known.queue, known.running.as_ref()).to_string(),
            last.map_or_else(
                || "none yet".to_owned(),
                |run| format!("{} {}", when::minute(run.started), run.status.as_str()),
            ),
            tokens(last.and_then(|run| run.result.context)),
            known.agent.setup.provider.clone(),
            known.agent.setup.workspace.display().to_string(),
        ]
    }));
    columns(&lines)
}

fn tokens(count: Option<u64>) -> String {
    count.map_or_else(|| "?".to_owned(), |count| count.to_string())
}

fn to_text(known: &Known, agents: &Agents, suppressed: &[Suppression]) -> String {
    let Known { agent, running, queue, runs, sessions } = known;
    let mut text = String::new();
    let mut line = |key: &str, value: String| {
        let _ = writeln!(text, "{key:<14} {value}");
    };
    line("name", agent.name.clone());
    let pid =
        running.as_ref().and_then(|run| run.pid).map(|pid| format!(" (process {pid})")).unwrap_or_default();
    line("state", format!("{}{pid}, health {}", known.state(), known.health()));
    for (key, value) in setup(&agent.setup) {
        line(key, value);
    }
    line("own folder", agents.folder(&agent.name).display().to_string());
    for session in sessions {
        let id = session.handle.data["session"].as_str().unwrap_or("?");
        let since = when::minute(session.created);
        line(
            "conversation",
            format!("{} {id}, since {since}, {} tokens", session.provider, tokens(session.context)),
        );
    }
    for one in suppressed {
        line("left alone", left_alone(one));
    }
    for input in queue {
        let state = match input.state {
            InputState::Leased if running.is_some() => "at work".to_owned(),
            InputState::Leased => "was cut off, and waits".to_owned(),
            InputState::GivenUp => "given up".to_owned(),
            _ if input.attempts > 0 => {
                format!("failed {} of 3 times, again from {}", input.attempts, when::minute(input.due))
            }
            _ => "waits".to_owned(),
        };
        let first = input.text.lines().next().unwrap_or_default();
        line("input", format!("{} {state}: {}", input.id.0, fit(first, WIDEST)));
    }
    if runs.is_empty() {
        line("runs", "none yet".to_owned());
        return text;
    }
    let heads = ["RUN", "STARTED", "STATUS", "PROVIDER", "CONTEXT", "COST", "SESSION", "WHAT CAME OF IT"]
        .map(str::to_owned);
    let rows = runs.iter().map(row);
    let _ = write!(text, "\n{}", columns(&std::iter::once(heads.to_vec()).chain(rows).collect::<Vec<_>>()));
    text
}

fn row(run: &AgentRun) -> Vec<String> {
    let result = &run.result;
    let cost = match result.cost {
        Some(Cost::Unknown) | None => "?".to_owned(),
        Some(cost) => cost.to_string(),
    };
    let what = result.error.as_deref().unwrap_or(&result.text).lines().next().unwrap_or_default();
    vec![
        run.id.0.to_string(),
        when::minute(run.started),
        run.status.as_str().to_owned(),
        run.provider.clone(),
        tokens(result.context),
        cost,
        run.journal.as_ref().map_or_else(|| "none".to_owned(), |id| saved::short(id).to_owned()),
        fit(what, WIDEST).into_owned(),
    ]
}

/// What was set, and what holds otherwise.
fn setup(setup: &AgentSetup) -> Vec<(&'static str, String)> {
    let AgentSetup { provider, model, effort, workspace, instructions, directories, mode, fallback, refresh } =
        setup;
    let mut lines = vec![("provider", provider.clone()), ("workspace", workspace.display().to_string())];
    let mut add = |key, value: Option<String>| lines.extend(value.map(|value| (key, value)));
    add("model", model.clone());
    add("effort", effort.clone());
    add("instructions", instructions.as_deref().map(|text| fit(text, WIDEST).into_owned()));
    let folders: Vec<String> = directories.iter().map(|folder| folder.display().to_string()).collect();
    add("directories", Some(folders.join(", ")).filter(|folders| !folders.is_empty()));
    add("policy", mode.map(super::super::run::policy_of));
    add(
        "fallback",
        fallback.as_ref().map(|kinds| if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") }),
    );
    add("max context", refresh.max_context.map(|tokens| format!("{tokens} tokens")));
    add("daily reset", refresh.daily_at.map(|time| time.to_string()));
    let idle = refresh.idle.and_then(|time| std::time::Duration::try_from(time).ok());
    add("idle timeout", idle.map(duration_text));
    lines
}
