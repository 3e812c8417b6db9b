//! A code-action agent over a scripted model, and its turns as lines.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use junto::code_action::{Agent, AgentEvent, AgentEventKind, ApprovalRequest, Config, Options, Turn};
use junto::core::{AgentError, EndReason};
use junto::kernel::Interpreter;
use junto::llm::retry;
use junto::prelude::{Endpoint, HttpProvider, LocalEnvironment, Wire};
use junto::twin::{Play, Step, Twin};
use junto::{Code, Native};
use tempfile::TempDir;

/// For what must not hang; far more than anything takes.
pub(crate) const HANG: Duration = Duration::from_mins(2);

/// Says that it can be a kernel, and cannot.
const STANDIN: &str = "#!/bin/sh\nfor word; do :; done\n\
    printf '\\n%s{\"version\": [3, 12], \"kernel\": \"7.0.0\", \"why\": null}\\n' \"$word\"\n";

/// A folder to work in, one for sockets, and a model.
pub(crate) struct Coder {
    pub(crate) dir: TempDir,
    pub(crate) twin: Twin,
}

impl Coder {
    pub(crate) fn new(steps: impl Into<Vec<Step>>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["work", "run"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let standin = dir.path().join("python");
        std::fs::write(&standin, STANDIN).unwrap();
        std::fs::set_permissions(&standin, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { dir, twin: Twin::start(Play::of(steps), junto::twin::Options::default()).unwrap() }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// What an agent is made of whose kernel is never started.
    pub(crate) fn config(&self) -> Config {
        self.config_with(&self.dir.path().join("python"))
    }

    /// What an agent is made of whose kernel is of this Python.
    pub(crate) fn config_with(&self, python: &Path) -> Config {
        let native = self.native("anthropic", Wire::Anthropic, "claude-opus-5-5");
        let code = Code::new(Interpreter::At(python.to_owned()), self.dir.path().join("run"));
        let home = self.dir.path().to_str().unwrap().to_owned();
        Config {
            local: Arc::new(move |dir| {
                LocalEnvironment::builder(dir).variables([("PATH", "/usr/bin:/bin"), ("HOME", &home)])
            }),
            ..Config::new(native, code, self.work())
        }
    }

    /// The loop over the scripted model on a wire.
    pub(crate) fn native(&self, name: &str, wire: Wire, model: &str) -> Native {
        let endpoint = Endpoint::new(name, wire, self.twin.base_url(wire)).key(self.twin.key());
        let provider = Arc::new(HttpProvider::new(endpoint).unwrap());
        let native = Native { model: Some(model.to_owned()), ..Native::new(provider) };
        native.adjusted(|config| junto::agent::SessionConfig {
            retry: retry::Policy { max_retries: 0, ..retry::Policy::default() },
            ..config
        })
    }

    pub(crate) async fn start(&self, change: impl FnOnce(Config) -> Config) -> Agent {
        let agent = Agent::new(change(self.config()), Options::default()).unwrap();
        agent.start().await.unwrap();
        agent
    }

    /// The requests so far, as texts.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.twin.requests().iter().map(|request| request.body.to_string()).collect()
    }
}

/// What is answered to a request.
pub(crate) enum Answer {
    Yes,
    No,
    Told(&'static str),
}

/// A turn from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) events: Vec<AgentEvent>,
    pub(crate) end: Result<EndReason, AgentError>,
}

impl Whole {
    /// The events without chunks, a line each.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.events.iter().filter_map(|event| line(&event.kind)).collect()
    }
}

pub(crate) fn line(kind: &AgentEventKind) -> Option<String> {
    Some(match kind {
        AgentEventKind::Response { content } => format!("says {content}"),
        AgentEventKind::Thoughts { content } => format!("thinks {content}"),
        AgentEventKind::ApprovalRequest(request) => format!("asks {}", request.tool_name()),
        AgentEventKind::CodeExecutionOutput { text, .. } => {
            format!("ran {}", text.as_deref().unwrap_or("nothing").trim_end())
        }
        AgentEventKind::ToolOutput { content, is_error, .. } => {
            format!("{} {}", if *is_error { "failed" } else { "gave" }, content.trim_end())
        }
        AgentEventKind::Cancelled { phase } => format!("cancelled {phase:?}"),
        _ => return None,
    })
}

/// Runs a turn to its end, with these answers in turn; then all is allowed.
pub(crate) async fn run(turn: &mut Turn, answers: impl IntoIterator<Item = Answer>) -> Whole {
    let mut answers = answers.into_iter();
    let mut events = Vec::new();
    loop {
        match tokio::time::timeout(HANG, turn.next()).await.expect("the turn goes on") {
            Some(Ok(event)) => {
                if let AgentEventKind::ApprovalRequest(request) = &event.kind {
                    answer(request, answers.next().unwrap_or(Answer::Yes)).await;
                }
                events.push(event);
            }
            Some(Err(error)) => return Whole { events, end: Err(error) },
            None => return Whole { events, end: Ok(turn.ended().expect("it has ended").clone()) },
        }
    }
}

async fn answer(request: &ApprovalRequest, answer: Answer) {
    let answered = match answer {
        Answer::Yes => request.approve(true).await,
        Answer::No => request.approve(false).await,
        Answer::Told(message) => request.reject_with(message).await,
    };
    answered.unwrap();
}

/// Lets a turn go on until something like this comes.
pub(crate) async fn until<T>(turn: &mut Turn, wanted: impl Fn(&AgentEventKind) -> Option<T>) -> T {
    loop {
        let event = tokio::time::timeout(HANG, turn.next()).await.expect("the turn goes on");
        let event = event.expect("the turn is not over").expect("the turn is sound");
        if let Some(found) = wanted(&event.kind) {
            return found;
        }
    }
}

pub(crate) fn request(kind: &AgentEventKind) -> Option<ApprovalRequest> {
    match kind {
        AgentEventKind::ApprovalRequest(request) => Some(request.clone()),
        _ => None,
    }
}
