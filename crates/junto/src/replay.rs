//! A recorded session, run again against its own recorded answers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::{StreamExt as _, stream};
use junto_agent::{Session, SessionConfig, ToolRegistry};
use junto_core::{
    Action, Agent, Body, CallEnd, CallPurpose, Clock, Command, Event, EventLog, Input, Item, Payload, Permit,
    Prefix, Seen, Seq, Tool, ToolCx, ToolError, ToolOutcome, When,
};
use junto_env::ExecutionEnvironment;
use junto_llm::{
    CallCx, Error, ErrorKind, EventStream, Finish, FinishReason, Fut, Message, Provider, Replay, Request,
    Response, SessionId, StreamEvent, ToolCall, ToolSpec,
};
use junto_store::{Result, Store};
use serde_json::json;

/// How much of a payload is read at once.
const PIECE: usize = 1024 * 1024;

/// What came of running a session again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// How many turns were run.
    pub turns: u32,
    /// How many model calls were made in them.
    pub calls: usize,
    /// Where it first went another way.
    pub divergence: Option<Divergence>,
    /// Why it was not run to its end, if it was not: what came then cannot be repeated.
    pub stopped: Option<String>,
}

/// Where a session went another way than it did then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The turn.
    pub turn: u32,
    /// The event of the recorded session that has no equal; the first model call is meant that was asked
    /// something else.
    pub seq: Seq,
    /// What happened then.
    pub then: String,
    /// What happens now.
    pub now: String,
}

/// Runs a recorded native session again, in memory: its inputs are given once more, the model answers what
/// it answered, and tools say what they said; nobody is asked and nothing is run. What this version of the
/// loop makes of it is compared call by call: the conversation that the model is shown must be the same.
///
/// A turn that was interrupted, and everything after a rewind, a compaction or a change of settings, is not
/// run.
///
/// # Errors
/// If the session cannot be read, or is none of ours.
pub async fn replay(
    store: &Store,
    session: &SessionId,
    env: Arc<dyn ExecutionEnvironment>,
    clock: Clock,
) -> Result<Replayed> {
    let events = store.read(session)?.events;
    let record = Record::read(store, session, &events)?;
    let failed = |error: String| junto_store::Error::new(junto_store::ErrorKind::Invalid, session, error);
    let player = Arc::new(Player::default());
    let log = EventLog::in_memory(clock);
    let config = SessionConfig {
        system: record.system.clone(),
        tools: record.tools(),
        on_reject: junto_core::OnReject::TellModel,
        enable_loop_detection: true,
        ..SessionConfig::new(Arc::clone(&player) as Arc<dyn Provider>, env, log.clone())
    };
    let live = Session::start(config).await.map_err(|error| failed(error.to_string()))?;
    let _ = player.session.set(live.clone());
    let mut seen = log.subscribe(Seq::START);
    let mut replayed = Replayed { turns: 0, calls: 0, divergence: None, stopped: record.stopped.clone() };
    'turns: for turn in &record.turns {
        player.load(turn);
        let input = turn.input.clone();
        live.send(Command::Submit { input }).await.map_err(|error| failed(error.to_string()))?;
        let mut calls = turn.calls.iter();
        loop {
            let Item::Event(event) = seen.next().await.map_err(|error| failed(error.to_string()))? else {
                continue;
            };
            match &event.body {
                Body::Call { prefix: now, .. } => {
                    replayed.calls += 1;
                    let Some(then) = calls.next() else { continue };
                    if let (Some(then_prefix), Some(now)) = (&then.prefix, now)
                        && differ(then_prefix, now)
                    {
                        replayed.divergence = Some(Divergence {
                            turn: turn.number,
                            seq: then.seq,
                            then: in_words(then_prefix),
                            now: in_words(now),
                        });
                        break 'turns;
                    }
                }
                Body::InputEnd { reason, .. } => {
                    if let Some(missing) = calls.next() {
                        replayed.divergence = Some(Divergence {
                            turn: turn.number,
                            seq: missing.seq,
                            then: "the model was asked again".to_owned(),
                            now: format!("the turn ends: {}", reason_in_words(reason)),
                        });
                        break 'turns;
                    }
                    break;
                }
                _ => {}
            }
        }
        replayed.turns += 1;
    }
    live.close().await;
    Ok(replayed)
}

/// Whether two requests show the model another conversation.
fn differ(then: &Prefix, now: &Prefix) -> bool {
    (then.system, then.messages, then.count) != (now.system, now.messages, now.count)
}

fn in_words(prefix: &Prefix) -> String {
    let Prefix { system, messages, count, .. } = prefix;
    format!("the model is shown {count} messages ({messages}) after the system prompt ({system})")
}

fn reason_in_words(reason: &junto_core::EndReason) -> String {
    serde_json::to_string(reason).unwrap_or_default()
}

/// What a session recorded, as it is played.
struct Record {
    system: String,
    turns: Vec<Turn>,
    outcomes: Outcomes,
    stopped: Option<String>,
}

type Outcomes = BTreeMap<String, (String, ToolOutcome)>;

/// An input, and what the model answered until it was done.
#[derive(Default)]
struct Turn {
    number: u32,
    input: Input,
    calls: Vec<Recorded>,
}

/// A model call.
#[derive(Clone)]
struct Recorded {
    seq: Seq,
    prefix: Option<Prefix>,
    answer: std::result::Result<Response, Error>,
    /// What was said to the session while the model answered.
    said: Vec<Input>,
}

impl Record {
    fn read(store: &Store, session: &SessionId, events: &[Event]) -> Result<Self> {
        let invalid = |what: &str| junto_store::Error::new(junto_store::ErrorKind::Invalid, session, what);
        let first = events.first().ok_or_else(|| invalid("it has no events"))?;
        let Body::SessionStart { setup: Some(setup), .. } = &first.body else {
            return Err(invalid("only sessions of the kind native can be run again"));
        };
        let text = |payload: &Payload| whole(store, session, payload);
        let mut record = Self {
            system: text(&setup.system)?,
            turns: Vec::new(),
            outcomes: Outcomes::new(),
            stopped: None,
        };
        let mut turn: Option<Turn> = None;
        for event in events.iter().filter(|event| event.agent == first.agent) {
            match &event.body {
                Body::UserInput { input, .. } => {
                    turn = Some(Turn { number: event.turn, input: input.clone(), calls: Vec::new() });
                }
                Body::SteeringInjected { input, .. } => {
                    if let Some(call) = turn.as_mut().and_then(|turn| turn.calls.last_mut()) {
                        call.said.push(input.clone());
                    }
                }
                Body::Call { provider, model, usage, answer, end, prefix, purpose, .. }
                    if *purpose == CallPurpose::Input =>
                {
                    let message = match answer {
                        Some(answer) => serde_json::from_str::<Message>(&text(answer)?).ok(),
                        None => None,
                    };
                    let answer = match end {
                        CallEnd::Whole | CallEnd::Paused => {
                            let mut response = Response::empty(provider, model);
                            response.usage = usage.clone();
                            if let Some(message) = message {
                                response.message = message;
                            }
                            let calls = response.tool_calls().next().is_some();
                            let unified = if calls { Finish::ToolCalls } else { Finish::Stop };
                            response.finish_reason = if end.is_whole() {
                                FinishReason::new(unified)
                            } else {
                                FinishReason::with_raw(unified, "pause_turn")
                            };
                            Ok(response)
                        }
                        CallEnd::Failed { error } => {
                            Err(Error::new(ErrorKind::InvalidRequest, error.message.clone()))
                        }
                        CallEnd::Interrupted => {
                            record.stopped = Some(format!("turn {} was interrupted", event.turn));
                            return Ok(record);
                        }
                    };
                    if let Some(turn) = &mut turn {
                        turn.calls.push(Recorded {
                            seq: event.seq,
                            prefix: *prefix,
                            answer,
                            said: Vec::new(),
                        });
                    }
                }
                Body::ToolCallEnd { call_id, name, output, is_error, seen, .. } => {
                    let images = match seen {
                        Some(Seen { images: Some(images), .. }) => {
                            serde_json::from_str(&text(images)?).unwrap_or_default()
                        }
                        _ => Vec::new(),
                    };
                    let outcome = ToolOutcome { output: text(output)?.into(), is_error: *is_error, images };
                    record.outcomes.insert(call_id.clone(), (name.clone(), outcome));
                }
                Body::InputEnd { .. } => record.turns.extend(turn.take()),
                Body::Compacted { .. } | Body::Rewound { .. } | Body::Configured { .. } => {
                    record.stopped = Some(format!("{} in turn {}", event.body.name(), event.turn));
                    return Ok(record);
                }
                _ => {}
            }
        }
        Ok(record)
    }

    /// Tools that say what they said.
    fn tools(&self) -> ToolRegistry {
        let mut names: BTreeMap<&str, Outcomes> = BTreeMap::new();
        for (call, (name, outcome)) in &self.outcomes {
            let outcomes = names.entry(name).or_default();
            outcomes.insert(call.clone(), (name.clone(), outcome.clone()));
        }
        let tools = names.into_iter().map(|(name, outcomes)| {
            let anything = json!({"type": "object", "additionalProperties": true});
            let spec = ToolSpec::foreign(name, "Says what it said.", anything);
            Arc::new(Said { spec, outcomes }) as Arc<dyn Tool>
        });
        tools.collect()
    }
}

/// The whole of a payload.
fn whole(store: &Store, session: &SessionId, payload: &Payload) -> Result<String> {
    match payload {
        Payload::Inline(text) => Ok(text.clone()),
        Payload::Spilled { blob, .. } => {
            let mut bytes = Vec::new();
            loop {
                let piece = store.read_blob(session, blob, bytes.len() as u64, PIECE)?;
                if piece.is_empty() {
                    return Ok(String::from_utf8_lossy(&bytes).into_owned());
                }
                bytes.extend(piece);
            }
        }
    }
}

/// Answers what was answered.
#[derive(Default)]
struct Player {
    calls: Mutex<VecDeque<Recorded>>,
    session: OnceLock<Session>,
}

impl Player {
    fn load(&self, turn: &Turn) {
        *self.calls.lock().unwrap_or_else(PoisonError::into_inner) = turn.calls.iter().cloned().collect();
    }

    async fn next(&self) -> std::result::Result<Response, Error> {
        let next = self.calls.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(Recorded { answer, said, .. }) = next else {
            return Err(Error::new(ErrorKind::InvalidRequest, "the recorded session asked no more"));
        };
        if let Some(session) = self.session.get() {
            for input in said {
                // A session that is over hears nothing, and then asks nothing.
                let _ = session.send(Command::Steer { input, when: When::Round }).await;
            }
        }
        answer
    }
}

impl Provider for Player {
    fn complete<'a>(
        &'a self,
        _request: Request,
        _cx: &'a CallCx,
    ) -> Fut<'a, std::result::Result<Response, Error>> {
        Box::pin(self.next())
    }

    fn stream<'a>(
        &'a self,
        _request: Request,
        _cx: &'a CallCx,
    ) -> Fut<'a, std::result::Result<EventStream, Error>> {
        Box::pin(async move {
            let response = self.next().await?;
            let start = StreamEvent::StreamStart {
                id: response.id.clone(),
                model: response.model.clone(),
                provider: response.provider.clone(),
                origin: None,
                usage: None,
                warnings: Vec::new(),
                rate_limit: None,
            };
            Ok(EventStream::new(stream::iter([Ok(start)]).chain(stream::iter(Replay::new(response).map(Ok)))))
        })
    }
}

/// A tool that says what it said.
struct Said {
    spec: ToolSpec,
    outcomes: Outcomes,
}

impl Tool for Said {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(
        &'a self,
        _call: &'a ToolCall,
        _cx: &'a ToolCx,
    ) -> junto_core::Fut<'a, std::result::Result<Vec<Action>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn run<'a>(&'a self, permit: Permit, _cx: &'a ToolCx) -> junto_core::Fut<'a, ToolOutcome> {
        Box::pin(async move {
            match self.outcomes.get(&permit.call().id) {
                Some((_, outcome)) => outcome.clone(),
                None => ToolOutcome::error("the recorded session made no such call"),
            }
        })
    }
}
