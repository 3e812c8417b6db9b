//! A place where the fake `claude` runs.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use junto_core::{
    Agent, AgentError, AgentSpec, Body, Command, EndReason, Event, EventLog, Item, Parent, ResumeHandle,
    Subscription,
};
use junto_env::{LocalEnvironment, survivors};
use junto_llm::catalog::{Catalog, ModelInfo, Price};
use junto_llm::{Secret, Unlimited};
use junto_runner::{CliAgent, CliProvider, Definition, Home, Host, Patience};
use junto_testkit::fake_claude::Behaviour;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Longer than anything healthy takes on a busy machine.
const LONG: Duration = Duration::from_mins(1);

/// A directory, an environment in it, and a fake that behaves as asked.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
    env: Arc<LocalEnvironment>,
    pub(crate) definition: Definition,
    pub(crate) host: Host,
}

impl Stage {
    pub(crate) fn new(behaviour: Behaviour) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let env = Arc::new(LocalEnvironment::new(folder.path()).unwrap());
        let behaviour = Behaviour { record: Some(folder.path().join("runs.jsonl")), ..behaviour };
        let mut definition = Definition::shipped("claude").unwrap();
        definition.command.splice(..1, [fake_claude().to_str().unwrap().to_owned()]);
        definition.variables.allow.push(Behaviour::VARIABLE.to_owned());
        let variables = behaviour.variables().into_iter().map(|(name, value)| (name, Secret::new(value)));
        let host = Host {
            variables: variables.collect(),
            patience: Patience { idle: LONG, hard: None, grace: LONG },
            ..Host::new(env.clone())
        };
        Self { folder, env, definition, host }
    }

    /// A `codex` whose program is a shell script. It runs in the stage's directory, and finds the recordings of
    /// the real one in `$RECORDINGS`.
    pub(crate) fn codex(script: &str) -> Self {
        Self::scripted("codex", script)
    }

    /// The same, and it writes down one call of 1000 and 10 tokens of the model `gpt-5.5` in the thread of the recording
    /// `plain` before it does the rest.
    pub(crate) fn codex_that_writes_down(script: &str) -> Self {
        let tokens = json!({"input_tokens": 1000, "output_tokens": 10});
        let info = json!({"total_token_usage": tokens, "last_token_usage": tokens});
        let lines = [
            ("event_msg", json!({"type": "task_started", "turn_id": "one"})),
            ("turn_context", json!({"turn_id": "one", "model": "gpt-5.5"})),
            ("event_msg", json!({"type": "token_count", "info": info})),
        ];
        let line =
            |(kind, payload): (&str, Value)| format!("{}\n", json!({"type": kind, "payload": payload}));
        let stage = Self::codex(&format!(
            r#"cat > /dev/null
            thread=$(head -n 1 "$RECORDINGS/plain.jsonl" | cut -d '"' -f 8)
            mkdir -p "$CODEX_HOME/sessions/2026/11/15"
            cp written.jsonl "$CODEX_HOME/sessions/2026/11/15/rollout-2026-11-15T01-02-03-$thread.jsonl"
            {script}"#
        ));
        std::fs::write(stage.path().join("written.jsonl"), lines.map(line).concat()).unwrap();
        stage
    }

    /// The same, where the model `gpt-5.5` costs so many dollars for a million tokens of input, and the rest nothing.
    pub(crate) fn at_a_price(mut self, dollars: f64) -> Self {
        let known = Catalog::builtin().get("gpt-5.5").unwrap().clone();
        let price = Price { input: dollars, ..Price::default() };
        self.host.catalog = Catalog::empty().overlay(vec![ModelInfo { price: Some(price), ..known }]);
        self
    }

    /// The same for any kind.
    pub(crate) fn scripted(kind: &str, script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let env = Arc::new(LocalEnvironment::new(folder.path()).unwrap());
        let program = folder.path().join("fake");
        let recordings = junto_testkit::recording(&format!("{kind}/plain"));
        let recordings = recordings.parent().unwrap().to_str().unwrap();
        std::fs::write(&program, format!("#!/bin/sh\nRECORDINGS='{recordings}'\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let mut definition = Definition::shipped(kind).unwrap();
        definition.command.splice(..1, [program.to_str().unwrap().to_owned()]);
        // The script would play its part for whoever asks.
        definition.versions.ask.clear();
        let host = Host {
            variables: [("PATH".to_owned(), Secret::new("/usr/bin:/bin"))].into(),
            patience: Patience { idle: LONG, hard: None, grace: LONG },
            // Nobody's rollouts are looked at.
            home: Home::Isolated(folder.path().join("home")),
            ..Host::new(env.clone())
        };
        Self { folder, env, definition, host }
    }

    pub(crate) fn with_patience(mut self, change: impl FnOnce(&mut Patience)) -> Self {
        change(&mut self.host.patience);
        self
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) async fn agent(&self) -> CliAgent {
        self.agent_of(AgentSpec::default()).await.unwrap()
    }

    pub(crate) async fn agent_of(&self, spec: AgentSpec) -> Result<CliAgent, AgentError> {
        self.agent_below(spec, parent()).await
    }

    pub(crate) async fn agent_below(&self, spec: AgentSpec, parent: Parent) -> Result<CliAgent, AgentError> {
        let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
        CliAgent::start(self.definition.clone(), self.host.clone(), spec, parent, log).await
    }

    pub(crate) fn provider(&self) -> CliProvider {
        CliProvider::new(self.definition.clone(), self.host.clone())
    }

    /// What the fake was given, run by run.
    pub(crate) fn runs(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("runs.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits until the fake has begun.
    pub(crate) async fn until_it_runs(&self) {
        while self.runs().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Fails if a process lives that was started here.
    #[track_caller]
    pub(crate) fn assert_no_survivors(&self) {
        assert_eq!(survivors::after(&self.env, LONG), []);
    }

    /// Submits one input, waits for its end, closes the agent, and gives the checked log.
    pub(crate) async fn play(&self, input: &str) -> Vec<Event> {
        let agent = self.agent().await;
        submit(&agent, input).await;
        self.end(agent).await
    }

    /// Closes the agent and gives the checked log.
    pub(crate) async fn end(&self, agent: CliAgent) -> Vec<Event> {
        agent.close().await;
        self.assert_no_survivors();
        junto_testkit::finished(agent.log()).await
    }
}

pub(crate) fn parent() -> Parent {
    Parent { log: None, env: None, depth: 0, cancel: CancellationToken::new(), budget: Arc::new(Unlimited) }
}

pub(crate) fn fake_claude() -> PathBuf {
    program("fake_claude")
}

/// A program that cargo built beside this test.
pub(crate) fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let program = own.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    assert!(program.exists(), "`cargo build --examples -p junto-runner` makes {}", program.display());
    program
}

/// Submits an input and waits for its end.
pub(crate) async fn submit(agent: &CliAgent, input: &str) -> EndReason {
    let mut reader = agent.log().subscribe(agent.log().last().next());
    agent.send(Command::Submit { input: input.into() }).await.unwrap();
    input_end(&mut reader).await
}

/// Waits for the next end of an input.
pub(crate) async fn input_end(reader: &mut Subscription) -> EndReason {
    let end = until(reader, |body| matches!(body, Body::InputEnd { .. })).await;
    let Body::InputEnd { reason, .. } = end else { unreachable!() };
    reason
}

/// Reads on to an event.
pub(crate) async fn until(reader: &mut Subscription, wanted: impl Fn(&Body) -> bool) -> Body {
    loop {
        if let Item::Event(event) = reader.next().await.unwrap()
            && wanted(&event.body)
        {
            return event.body.clone();
        }
    }
}

pub(crate) fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.body.name()).collect()
}

/// The one end of an input in a log: its reason and text.
#[track_caller]
pub(crate) fn the_end(events: &[Event]) -> (EndReason, String) {
    let ends: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            Body::InputEnd { reason, text } => Some((reason.clone(), text.preview())),
            _ => None,
        })
        .collect();
    assert_eq!(ends.len(), 1, "{:?}", names(events));
    ends.into_iter().next().unwrap()
}

/// What the runs in a log are said to have been: context, billing (input, output), exit, class.
pub(crate) fn runs_of(events: &[Event]) -> Vec<RunFacts> {
    let facts = events.iter().filter_map(|event| match &event.body {
        Body::RunEnd { context, billing, exit, class, .. } => {
            let billing = billing.as_ref().map(|usage| (usage.input, usage.output));
            Some((*context, billing, *exit, class.clone()))
        }
        _ => None,
    });
    facts.collect()
}

pub(crate) type RunFacts = (Option<u64>, Option<(u64, u64)>, Option<i32>, Option<String>);

/// The codes of the warnings in a log.
pub(crate) fn warnings(events: &[Event]) -> Vec<String> {
    let codes = events.iter().filter_map(|event| match &event.body {
        Body::Warning { code, .. } => Some(code.clone()),
        _ => None,
    });
    codes.collect()
}

/// The last handle in a log.
pub(crate) fn handle(events: &[Event]) -> Option<ResumeHandle> {
    events.iter().rev().find_map(|event| match &event.body {
        Body::Handle { handle } => Some(handle.clone()),
        _ => None,
    })
}

/// The error of the one input in a log: its kind and message.
#[track_caller]
pub(crate) fn the_failure(events: &[Event]) -> (String, String) {
    match the_end(events).0 {
        EndReason::Failed { error } => (error.kind, error.message),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn count(events: &[Event], name: &str) -> usize {
    names(events).iter().filter(|other| **other == name).count()
}

/// A named pipe on which the fake waits until it is released.
pub(crate) struct Hold(PathBuf);

impl Hold {
    pub(crate) fn new(folder: &tempfile::TempDir) -> Self {
        let path = folder.path().join("hold");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.clone()
    }

    /// Lets the fake go on; waits until it is there.
    pub(crate) async fn release(self) {
        let open = move || drop(std::fs::OpenOptions::new().write(true).open(self.0).unwrap());
        tokio::task::spawn_blocking(open).await.unwrap();
    }
}

/// A map of variables that a host has.
pub(crate) fn with_variable(host: &mut Host, name: &str, value: &str) {
    let variables: &mut BTreeMap<String, Secret> = &mut host.variables;
    variables.insert(name.to_owned(), Secret::new(value));
}
