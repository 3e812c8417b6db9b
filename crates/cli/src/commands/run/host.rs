//! Whoever is at the other end of standard input: a person, a program, or nobody.

use std::collections::VecDeque;
use std::io::{BufRead, Read};

use junto::core::{Action, ApprovalRequest, AskId, Body, Command, Decision, Event};
use tokio::sync::mpsc;

use crate::output::Output;

/// The longest line that is read; a longer one is cut, and then makes no sense.
const LONGEST_LINE: u64 = 1024 * 1024;
/// How many lines may wait to be heard.
const WAITING: usize = 16;

/// Who can be asked, and who may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Nobody. Standard input is not read.
    Nobody,
    /// A person at a terminal, who answers questions with yes or no.
    Person,
    /// A program, which writes commands as lines of JSON.
    Program,
}

/// Answers an agent's questions, and hands on what it is told.
pub(crate) struct Host {
    presence: Presence,
    output: Output,
    /// Lines of standard input; none where it is not read, or has ended.
    lines: Option<mpsc::Receiver<String>>,
    /// Questions that wait for an answer. The person sees the first.
    asked: VecDeque<ApprovalRequest>,
}

impl Host {
    /// Starts to listen, if there is somebody to listen to.
    pub(crate) fn new(presence: Presence, output: Output) -> Self {
        let lines = (presence != Presence::Nobody).then(listen);
        Self { presence, output, lines, asked: VecDeque::new() }
    }

    /// The next line; none once there will be no more. Waits for ever if nobody is there.
    pub(super) async fn line(&mut self) -> Option<String> {
        let Some(lines) = &mut self.lines else { return std::future::pending().await };
        let line = lines.recv().await;
        if line.is_none() {
            self.lines = None;
        }
        line
    }

    /// What a line orders; nothing if it makes no sense.
    pub(super) fn order(&mut self, line: &str) -> Option<Command> {
        match self.presence {
            Presence::Nobody => None,
            Presence::Program if line.trim().is_empty() => None,
            Presence::Program => match serde_json::from_str(line) {
                Ok(command) => Some(command),
                Err(error) => {
                    self.output.warning(&format!("this line is no command: {error}"));
                    None
                }
            },
            Presence::Person => {
                let request = self.asked.front()?;
                let decision = match line.trim().to_ascii_lowercase().as_str() {
                    "y" | "yes" => Decision::Allow { remember: None },
                    "n" | "no" => Decision::Reject { reason: None },
                    _ => {
                        self.output.question("Please answer y or n: ");
                        return None;
                    }
                };
                let answer = Command::Answer { ask: request.ask.clone(), decision };
                self.asked.pop_front();
                self.ask();
                Some(answer)
            }
        }
    }

    /// The refusals of all open questions, once nobody is left to answer them.
    pub(super) fn refusals(&mut self) -> Vec<Command> {
        self.asked.drain(..).map(|request| refusal(request.ask)).collect()
    }

    /// Takes note of what the agent asks; refuses if nobody can be asked.
    pub(super) fn see(&mut self, event: &Event) -> Option<Command> {
        match &event.body {
            Body::Ask { request } if self.lines.is_none() => return Some(refusal(request.ask.clone())),
            Body::Ask { request } => {
                self.asked.push_back(request.clone());
                if self.asked.len() == 1 {
                    self.ask();
                }
            }
            Body::Answered { ask, .. } => self.asked.retain(|request| request.ask != *ask),
            // A question that was withdrawn ends with its call.
            Body::ToolCallEnd { call_id, .. } => self.asked.retain(|request| request.call.id != *call_id),
            _ => {}
        }
        None
    }

    /// Puts the first open question to the person.
    fn ask(&self) {
        if let (Presence::Person, Some(request)) = (self.presence, self.asked.front()) {
            self.output.question(&format!("{}\nAllow? [y/n] ", whole(request)));
        }
    }
}

/// What is asked about, uncut: nobody shall allow what they have not seen.
fn whole(request: &ApprovalRequest) -> String {
    let lines = request.actions.iter().map(|action| match action {
        Action::Shell { line, .. } => format!("run: {line}"),
        Action::Write { path } => format!("write: {path}"),
        Action::Read { path } => format!("read: {path}"),
        other => serde_json::to_string(other).unwrap_or_else(|_| request.call.name.clone()),
    });
    let what = lines.collect::<Vec<_>>().join("\n");
    format!("The agent wants to use {}.\n{what}", request.call.name)
}

fn refusal(ask: AskId) -> Command {
    let reason = "this needs leave, and nobody is there to give it; go on without it";
    Command::Answer { ask, decision: Decision::Reject { reason: Some(reason.to_owned()) } }
}

/// Reads standard input line by line on a thread of its own. A read cannot be interrupted, so the
/// process ends without waiting for it.
fn listen() -> mpsc::Receiver<String> {
    let (heard, lines) = mpsc::channel(WAITING);
    tokio::task::spawn_blocking(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {
                    let line = String::from_utf8_lossy(&line).into_owned();
                    if heard.blocking_send(line).is_err() {
                        return;
                    }
                }
            }
        }
    });
    lines
}
