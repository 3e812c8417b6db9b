//! Whoever is at the other end of standard input: a person, a program, or nobody.

mod leave;
mod listen;
mod orders;
mod words;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use junto::core::{
    Addressed, AgentId, ApprovalRequest, AskId, Body, Command, Decision, Event, OnReject, Question, Reply,
    Rule, Seq,
};
use junto::policy::{Origin, PolicyRule};
use tokio::sync::mpsc;

use self::leave::{ALLOW, HELP, Keep, Said, Stage, which_rule};
use self::listen::{Heard, LONGEST_MIB, listen};
use self::words::{in_words, reply, whole};
use crate::config::add_rule;
use crate::output::Output;

/// Who can be asked, and who may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Nobody. Standard input is not read.
    Nobody,
    /// A person at a terminal, who answers questions.
    Person,
    /// A program, which writes commands as lines of JSON.
    Program,
}

/// Answers an agent's questions, and hands on what it is told.
pub(crate) struct Host {
    presence: Presence,
    output: Output,
    ears: Ears,
    /// Questions that wait for an answer. The person sees the first.
    asked: VecDeque<Asked>,
    /// The question that the person sees.
    shown: Option<AskId>,
    /// How many have been put: a line that came before the last was put is no answer to it.
    put: Arc<AtomicU64>,
    /// How far the person is with the answer to it.
    stage: Stage,
    heard: SoFar,
    /// What a no does to the agent.
    on_reject: OnReject,
    /// The file of the user's in which rules are kept for good.
    rules: Option<PathBuf>,
}

/// What a program has said so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SoFar {
    #[default]
    Nothing,
    /// Nothing that was a command.
    Nonsense,
    /// Commands; or there was work without any.
    Sense,
}

/// Whether standard input is read.
enum Ears {
    /// It is not, or has ended.
    Deaf,
    /// Not before there is a question: a command in the background that reads from its terminal is
    /// stopped.
    Asleep,
    /// It is.
    Open(mpsc::Receiver<Heard>),
}

/// A question, and who asks.
struct Asked {
    agent: AgentId,
    wants: Wants,
}

/// What is asked for.
enum Wants {
    /// Leave to do something.
    Leave(ApprovalRequest),
    /// An answer in words, for the tool call that started there.
    Words { of: Seq, ask: AskId, question: Question },
}

impl Wants {
    fn ask(&self) -> &AskId {
        match self {
            Self::Leave(request) => &request.ask,
            Self::Words { ask, .. } => ask,
        }
    }

    /// What is told if nobody is there to answer.
    fn refusal(&self) -> Command {
        match self {
            Self::Leave(request) => refusal(request),
            Self::Words { ask, .. } => {
                let reason =
                    "nobody is there to answer; decide yourself, and say in the end what you assumed";
                let reply = Reply::Declined { reason: Some(reason.to_owned()) };
                Command::Reply { ask: ask.clone(), reply }
            }
        }
    }
}

impl Host {
    /// Starts to listen, if there is somebody who may speak first.
    pub(crate) fn new(presence: Presence, output: Output) -> Self {
        let put = Arc::default();
        let ears = match presence {
            Presence::Nobody => Ears::Deaf,
            Presence::Person => Ears::Asleep,
            Presence::Program => Ears::Open(listen(Arc::clone(&put))),
        };
        Self {
            presence,
            output,
            ears,
            asked: VecDeque::new(),
            shown: None,
            put,
            stage: Stage::default(),
            heard: SoFar::default(),
            on_reject: OnReject::default(),
            rules: None,
        }
    }

    /// Keeps rules that shall always hold in this file.
    pub(super) fn keeping_rules_in(mut self, file: Option<PathBuf>) -> Self {
        self.rules = file;
        self
    }

    /// Knows what a no does to the agent.
    pub(super) fn refusing(mut self, on_reject: OnReject) -> Self {
        self.on_reject = on_reject;
        self
    }

    /// Whether a program has spoken, nothing it said was a command, and nothing was worked on.
    pub(super) fn heard_only_nonsense(&self) -> bool {
        self.heard == SoFar::Nonsense
    }

    /// Whether inputs may come from standard input.
    pub(super) fn takes_orders(&self) -> bool {
        self.presence == Presence::Program
    }

    /// The next line; none once there will be no more. Waits for ever if nobody is there.
    pub(super) async fn line(&mut self) -> Option<String> {
        let Ears::Open(lines) = &mut self.ears else { return std::future::pending().await };
        loop {
            match lines.recv().await {
                Some(Heard::Line(_, before))
                    if self.presence == Presence::Person && before < self.put.load(Ordering::SeqCst) =>
                {
                    self.output.note("a line was passed over that was typed before this question was there");
                }
                Some(Heard::Line(line, _)) => return Some(line),
                Some(Heard::TooLong) => self.output.warning(&format!(
                    "a line of standard input was longer than {LONGEST_MIB} MiB and was passed over"
                )),
                None => break,
            }
        }
        self.ears = Ears::Deaf;
        None
    }

    /// What a line orders; nothing if it makes no sense.
    pub(super) fn order(&mut self, line: &str) -> Option<Addressed> {
        match self.presence {
            Presence::Nobody => None,
            Presence::Program if line.trim().is_empty() => None,
            Presence::Program => match orders::parse(line) {
                Ok(order) => {
                    self.heard = SoFar::Sense;
                    Some(order)
                }
                Err(error) => {
                    if self.heard == SoFar::Nothing {
                        self.heard = SoFar::Nonsense;
                    }
                    self.output.warning(&format!("this line is no command: {error}"));
                    None
                }
            },
            Presence::Person => self.answer(line).map(Addressed::from),
        }
    }

    /// What a person's line answers.
    fn answer(&mut self, line: &str) -> Option<Command> {
        self.output.answered();
        let Asked { agent, wants } = self.asked.front()?;
        let agent = agent.clone();
        let answer = match wants {
            Wants::Leave(request) => {
                let request = request.clone();
                let decision = self.decision(&request, line)?;
                Command::Answer { ask: request.ask, decision }
            }
            Wants::Words { ask, question, .. } => {
                Command::Reply { ask: ask.clone(), reply: reply(question, line) }
            }
        };
        match &answer {
            // A no that ends the agent's turn withdraws its other questions.
            Command::Answer { decision: Decision::Reject { reason }, .. }
                if self.on_reject.ends(reason.as_deref()) =>
            {
                self.asked.retain(|asked| asked.agent != agent);
            }
            _ => drop(self.asked.pop_front()),
        }
        self.shown = None;
        self.ask();
        Some(answer)
    }

    /// What a person's line decides; nothing if there is more to ask.
    fn decision(&mut self, request: &ApprovalRequest, line: &str) -> Option<Decision> {
        match leave::read(self.stage, request, line) {
            Said::Decision(decision) => Some(decision),
            Said::Kept(keep, rules) => {
                if keep == Keep::Always {
                    self.keep(&rules);
                }
                Some(Decision::Allow { remember: Some(Rule(rules.join("\n"))) })
            }
            Said::Next(stage) => {
                self.stage = stage;
                self.put(request);
                None
            }
            Said::Nonsense(told) => {
                let prompt = match self.stage {
                    Stage::Leave => ALLOW.to_owned(),
                    Stage::Rule(keep) => which_rule(keep, request).1,
                };
                self.output.question(&told, &prompt);
                None
            }
        }
    }

    /// Writes rules into the user's configuration. If that fails they hold for this session all the same.
    fn keep(&self, rules: &[String]) {
        let Some(file) = &self.rules else {
            self.output.warning("there is no file of yours to keep a rule in: it holds for this session");
            return;
        };
        for rule in rules {
            let entry = PolicyRule::read(rule, Origin::User).map(|rule| rule.to_toml());
            let kept = entry
                .map_err(|error| error.to_string())
                .and_then(|entry| add_rule(file, &entry).map_err(|problem| problem.to_string()));
            match kept {
                Ok(_) => self.output.note(&format!("{rule} is kept in {}", file.display())),
                Err(error) => self.output.warning(&format!("{rule} holds for this session only: {error}")),
            }
        }
    }

    /// Puts a question for leave, as far as it is.
    fn put(&self, request: &ApprovalRequest) {
        match self.stage {
            Stage::Leave => self.output.question(&format!("{}\n    {HELP}", whole(request)), ALLOW),
            Stage::Rule(keep) => {
                let (text, prompt) = which_rule(keep, request);
                self.output.question(&text, &prompt);
            }
        }
    }

    /// The refusals of all open questions, once nobody is left to answer them.
    pub(super) fn refusals(&mut self) -> Vec<Command> {
        self.output.withdraw();
        self.shown = None;
        self.asked.drain(..).map(|asked| asked.wants.refusal()).collect()
    }

    /// Forgets all open questions: the agent was told to stop, and withdraws them.
    pub(super) fn forget(&mut self) {
        self.asked.clear();
        self.shown = None;
        self.output.withdraw();
    }

    /// Takes note of what the agent asks; refuses if nobody can be asked.
    pub(super) fn see(&mut self, event: &Event) -> Option<Command> {
        let wants = match &event.body {
            Body::Ask { request } => Wants::Leave(request.clone()),
            Body::Question { of, ask, question } => {
                Wants::Words { of: *of, ask: ask.clone(), question: question.clone() }
            }
            Body::Answered { ask, .. } | Body::Replied { ask, .. } => {
                self.asked.retain(|asked| asked.wants.ask() != ask);
                self.ask();
                return None;
            }
            Body::InputEnd { .. } => {
                self.heard = SoFar::Sense;
                return None;
            }
            // A question that was withdrawn ends with its call.
            Body::ToolCallEnd { call_id, of, .. } => {
                // Calls of two agents may have the same name, and start at the same place.
                self.asked.retain(|asked| {
                    asked.agent != event.agent
                        || match &asked.wants {
                            Wants::Leave(request) => request.call.id != *call_id,
                            Wants::Words { of: start, .. } => Some(*start) != *of,
                        }
                });
                self.ask();
                return None;
            }
            _ => return None,
        };
        if matches!(self.ears, Ears::Deaf) {
            return Some(wants.refusal());
        }
        self.asked.push_back(Asked { agent: event.agent.clone(), wants });
        self.ask();
        None
    }

    /// Puts the first open question to the person, unless it was put already.
    fn ask(&mut self) {
        if self.presence != Presence::Person {
            return;
        }
        let first = self.asked.front().map(|asked| asked.wants.ask());
        if self.shown.as_ref() == first {
            return;
        }
        self.shown = first.cloned();
        self.put.fetch_add(u64::from(self.shown.is_some()), Ordering::SeqCst);
        self.stage = Stage::default();
        self.output.withdraw();
        let Some(asked) = self.asked.front() else { return };
        match &asked.wants {
            Wants::Leave(request) => self.put(request),
            Wants::Words { question, .. } => {
                let (text, prompt) = in_words(question);
                self.output.question(&text, &prompt);
            }
        }
        if matches!(self.ears, Ears::Asleep) {
            self.ears = Ears::Open(listen(Arc::clone(&self.put)));
        }
    }
}

/// The answer where nobody is there to give one. The model is told why somebody would have to be asked.
fn refusal(request: &ApprovalRequest) -> Command {
    let why = if request.reason.is_empty() { String::new() } else { format!(" ({})", request.reason) };
    let reason = format!("this needs leave{why}, and nobody is there to give it; go on without it");
    Command::Answer { ask: request.ask.clone(), decision: Decision::Unanswered { reason: Some(reason) } }
}

#[cfg(test)]
mod tests;
