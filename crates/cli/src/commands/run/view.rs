//! What is shown of an agent's events.
//!
//! The answer goes to standard output ([`answer`]), everything else to standard error: as plain lines
//! ([`plain`]), or on a terminal with what is under way below them ([`live`]). With `--json` every event
//! and delta is a line on standard output instead.

mod answer;
mod cell;
pub(super) mod diff;
mod live;
mod plain;
mod words;

use std::collections::HashMap;
use std::time::Duration;

use junto::core::{AgentId, Body, Delta, Event, EventLog, Item, JournalError, Seq, VERSION};
use junto::llm::{Cost, SessionId, Usage, Usd};
use serde::Serialize;

use self::answer::Answer;
use self::live::Live;
use self::plain::Plain;
use crate::args::WorkArgs;
use crate::commands::ask::closing_line;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::output::paint::{Paint, Painted, Style};

/// How events are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The answers on standard output; everything else in words on standard error.
    Text,
    /// Every event and delta as a line of JSON on standard output.
    Json,
    /// Not at all: somebody else shows what comes of them.
    Nothing,
}

impl Form {
    /// As flags ask for it.
    pub(super) fn of(args: &WorkArgs) -> Self {
        if args.json { Self::Json } else { Self::Text }
    }
}

/// Shows an agent's events as they come.
pub(crate) struct View {
    output: Output,
    log: EventLog,
    shape: Shape,
    /// Who writes each text, reasoning and tool output that is under way.
    writers: HashMap<Seq, AgentId>,
    /// Who answered the last model call.
    who: Option<String>,
    /// The last limit that was reached.
    limit: Option<String>,
    /// What the last answer lacks.
    short: Option<Short>,
    rounds: u32,
    /// What was used so far by a session that was brought back, since it was.
    since: Option<(Usage, Cost)>,
    /// Whether the last model call has not led to a tool call yet.
    asked: bool,
    /// Whether a model has said something. Of some nobody is told which, nor what they used.
    answered: bool,
    /// The tools of a run that tells of its model calls in the end only.
    run: Run,
}

/// The tools of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Run {
    /// How many are running.
    running: u32,
    /// How often one began while none was running.
    rounds: u32,
    /// How many rounds the model calls before them tell of.
    counted: u32,
}

/// Why an answer is not what the model would have said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Short {
    /// It was cut off at the limit of tokens.
    Cut,
    /// The model, or a filter, refused.
    Refused,
}

impl Short {
    /// What a warning of this code says of the answer before it.
    fn told_by(code: &str) -> Option<Self> {
        match code {
            "length" => Some(Self::Cut),
            "content_filter" => Some(Self::Refused),
            _ => None,
        }
    }
}

/// How it is shown.
enum Shape {
    Json,
    Nothing,
    Text(Box<Text>),
}

/// The answer, and what is told beside it.
struct Text {
    answer: Answer,
    talk: Talk,
}

/// How it is told.
enum Talk {
    Plain(Plain),
    Live(Live),
}

/// A delta as a line. It has no position of its own: only events are kept.
#[derive(Serialize)]
struct DeltaLine<'a> {
    v: u8,
    session: &'a SessionId,
    agent: &'a AgentId,
    #[serde(flatten)]
    delta: &'a Delta,
}

impl View {
    /// A view of the agent that writes to this log, and of its children.
    pub(crate) fn new(form: Form, output: Output, log: EventLog) -> Self {
        let shape = match form {
            Form::Json => Shape::Json,
            Form::Nothing => Shape::Nothing,
            Form::Text => {
                let look = output.err();
                let talk = if look.live || look.paint == Paint::Styles {
                    Talk::Live(Live::new(output.clone()))
                } else {
                    Talk::Plain(Plain::new(output.clone()))
                };
                Shape::Text(Box::new(Text { answer: Answer::new(output.clone(), log.clone()), talk }))
            }
        };
        Self {
            output,
            log,
            shape,
            writers: HashMap::new(),
            who: None,
            limit: None,
            short: None,
            rounds: 0,
            since: None,
            asked: false,
            answered: false,
            run: Run::default(),
        }
    }

    /// Whether it is for people.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.shape, Shape::Text(_))
    }

    /// What the last answer lacks.
    pub(crate) fn short(&self) -> Option<Short> {
        self.short
    }

    /// The last limit that was reached, in words.
    pub(crate) fn limit(&self) -> Option<&str> {
        self.limit.as_deref()
    }

    /// Shows an event or a delta.
    ///
    /// # Errors
    /// If standard output or the journal fails.
    pub(crate) async fn show(&mut self, item: &Item) -> Result<(), Failure> {
        if let Item::Event(event) = item {
            self.note(event);
        }
        let own = matches!(item, Item::Event(event) if self.is_own(event));
        match (&mut self.shape, item) {
            (Shape::Nothing, _) => Ok(()),
            (Shape::Json, Item::Event(event)) => self.line(event),
            (Shape::Json, Item::Delta(delta)) => {
                let agent = self.writers.get(&delta.of()).unwrap_or_else(|| self.log.agent());
                self.line(&DeltaLine { v: VERSION, session: self.log.session(), agent, delta })
            }
            (Shape::Text(text), Item::Delta(delta)) => {
                match &mut text.talk {
                    Talk::Plain(plain) => plain.piece(delta),
                    Talk::Live(live) => live.piece(delta),
                }
                text.answer.piece(delta)
            }
            (Shape::Text(text), Item::Event(event)) => {
                if own {
                    text.answer.event(event).await?;
                }
                match &mut text.talk {
                    Talk::Plain(plain) => plain.tell(event, own),
                    Talk::Live(live) => live.tell(event, own),
                }
                Ok(())
            }
        }
    }

    /// Whether something moves that [`Self::tick`] draws.
    pub(crate) fn moves(&self) -> bool {
        self.output.err().live
            && matches!(&self.shape, Shape::Text(text) if matches!(text.talk, Talk::Live(_)))
    }

    /// Draws what is under way, one step further.
    pub(crate) fn tick(&mut self) {
        if let Some(live) = self.live() {
            live.tick();
        }
    }

    /// The line that closes a session. What was used is the whole session's; of one that was brought back only what
    /// came since is told, as of the rounds and the time.
    pub(crate) fn close(&mut self, usage: &Usage, cost: Cost, took: Duration) {
        if matches!(self.shape, Shape::Nothing) {
            return;
        }
        if let Some(live) = self.live() {
            live.end();
        }
        let (usage, cost) = self.since.as_ref().map_or((usage, cost), |(usage, cost)| (usage, *cost));
        let nobody = if self.answered { "a model that is not named" } else { "no model answered" };
        let who = self.who.as_deref().unwrap_or(nobody);
        let rounds = match self.rounds {
            1 => "1 round".to_owned(),
            rounds => format!("{rounds} rounds"),
        };
        let line = closing_line(&format!("{who} · {rounds}"), usage, cost, took);
        self.output.say(&Painted::new(self.output.err().paint).styled(Style::DIM, &line));
    }

    /// Keeps what later events are understood by.
    fn note(&mut self, event: &Event) {
        match &event.body {
            Body::AssistantTextStart {} | Body::ReasoningStart {} | Body::ToolCallStart { .. } => {
                self.writers.insert(event.seq, event.agent.clone());
            }
            Body::AssistantTextEnd { of, .. }
            | Body::ReasoningEnd { of, .. }
            | Body::ToolCallEnd { of: Some(of), .. } => {
                self.writers.remove(of);
            }
            _ => {}
        }
        match (&event.body, &mut self.since) {
            (Body::Call { usage, cost, .. }, Some(since)) => {
                since.0 += usage;
                since.1 = since.1 + *cost;
            }
            (Body::RunEnd { billing: None, .. }, Some(since)) => since.1 = Cost::Unknown,
            _ => {}
        }
        if !self.is_own(event) {
            return;
        }
        match &event.body {
            // Reported is what a sum begins with: whatever is added decides how well it is known.
            Body::SessionResumed { .. } => {
                self.since = Some((Usage::default(), Cost::Reported(Usd::ZERO)));
            }
            Body::Call { provider, model, .. } => {
                self.who = Some(format!("{provider}/{model}"));
                self.asked = true;
                self.short = None;
            }
            Body::AssistantTextEnd { .. } => self.answered = true,
            Body::Warning { code, .. } => self.short = Short::told_by(code).or(self.short),
            Body::UserInput { .. } => self.run = Run::default(),
            Body::ToolCallStart { .. } => {
                self.run.rounds += u32::from(self.run.running == 0);
                self.run.running += 1;
            }
            Body::ToolCallEnd { .. } => {
                self.run.running = self.run.running.saturating_sub(1);
                if std::mem::take(&mut self.asked) {
                    self.rounds += 1;
                    self.run.counted += 1;
                }
            }
            // A command told of its tools before its calls.
            Body::RunEnd { .. } => {
                self.rounds += self.run.rounds.saturating_sub(self.run.counted);
                self.run = Run::default();
            }
            Body::TurnLimit { limit, .. } => self.limit = Some(limit.clone()),
            _ => {}
        }
    }

    fn live(&mut self) -> Option<&mut Live> {
        match &mut self.shape {
            Shape::Text(text) => match &mut text.talk {
                Talk::Live(live) => Some(live),
                Talk::Plain(_) => None,
            },
            Shape::Json | Shape::Nothing => None,
        }
    }

    /// Whether the agent itself did it, and no child.
    fn is_own(&self, event: &Event) -> bool {
        event.agent == *self.log.agent()
    }

    fn line(&self, value: &impl Serialize) -> Result<(), Failure> {
        let line = serde_json::to_string(value).map_err(|error| broken(&error.to_string()))?;
        self.output.exact(&format!("{line}\n"))
    }
}

/// The journal failed: nothing more can be known of the agent.
pub(super) fn journal(error: &JournalError) -> Failure {
    broken(&error.to_string())
}

fn broken(what: &str) -> Failure {
    Failure::new(Exit::Failed, format!("cannot follow the agent: {what}"), "run it again")
}
