//! What a session recorded, in pieces that can be run from beginning to end.

use std::collections::BTreeMap;

use junto_core::{
    Body, CallEnd, CallPurpose, EndReason, Event, Input, Payload, Prefix, Seen, Seq, ToolOutcome,
};
use junto_llm::{Error, ErrorKind, Finish, FinishReason, Message, Response, SessionId};
use junto_store::{Result, Store};

/// What tools said, by call: their names, and what came of them.
pub(super) type Outcomes = BTreeMap<String, (String, ToolOutcome)>;

/// What a session recorded, as it is played.
pub(super) struct Record {
    pub(super) system: String,
    pub(super) legs: Vec<Leg>,
    pub(super) outcomes: Outcomes,
    pub(super) taken: Vec<String>,
    pub(super) stopped: Option<String>,
}

/// Turns that are run one after another.
#[derive(Default)]
pub(super) struct Leg {
    /// How many events of the session come before.
    pub(super) past: usize,
    pub(super) turns: Vec<Turn>,
}

/// An input, and what the model answered until it was done.
#[derive(Clone)]
pub(super) struct Turn {
    pub(super) number: u32,
    pub(super) begin: Begin,
    pub(super) calls: Vec<Recorded>,
    /// Where it ended with an answer; none if it did not, or goes on elsewhere.
    pub(super) answered: Option<Seq>,
}

impl Turn {
    fn new(number: u32, begin: Begin) -> Self {
        Self { number, begin, calls: Vec::new(), answered: None }
    }
}

/// How a turn begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Begin {
    /// With this input.
    Said(Input),
    /// It was begun before, and goes on by itself.
    GoesOn,
}

/// A model call.
#[derive(Clone)]
pub(super) struct Recorded {
    pub(super) seq: Seq,
    pub(super) prefix: Option<Prefix>,
    pub(super) answer: std::result::Result<Response, Error>,
    /// What was said to the session while the model answered.
    pub(super) said: Vec<Input>,
}

impl Record {
    pub(super) fn read(store: &Store, session: &SessionId, events: &[Event]) -> Result<Self> {
        let invalid = |what: &str| junto_store::Error::new(junto_store::ErrorKind::Invalid, session, what);
        let first = events.first().ok_or_else(|| invalid("it has no events"))?;
        let setup = match &first.body {
            Body::SessionStart { setup: Some(setup), .. } => setup,
            Body::SessionStart { .. } => {
                return Err(invalid("only sessions of the kind native can be run again"));
            }
            _ => {
                let kind = junto_store::ErrorKind::Damaged;
                return Err(junto_store::Error::new(kind, session, "its beginning is lost"));
            }
        };
        let text = |payload: &Payload| whole(store, session, payload);
        let mut reader = Reader {
            record: Self {
                system: text(&setup.system)?,
                legs: vec![Leg::default()],
                outcomes: Outcomes::new(),
                taken: Vec::new(),
                stopped: None,
            },
            turn: None,
            spoilt: None,
            stale: false,
        };
        for (place, event) in events.iter().enumerate().filter(|(_, event)| event.agent == first.agent) {
            reader.take(place, event, &text)?;
            if reader.record.stopped.is_some() {
                break;
            }
        }
        reader.cut();
        Ok(reader.record)
    }
}

/// The record so far.
struct Reader {
    record: Record,
    /// The turn under way.
    turn: Option<Turn>,
    /// Why the turn under way cannot be run.
    spoilt: Option<String>,
    /// Whether the piece under way does not lead to where the recorded session is.
    stale: bool,
}

impl Reader {
    fn take(&mut self, place: usize, event: &Event, text: &dyn Fn(&Payload) -> Result<String>) -> Result<()> {
        let number = event.turn;
        match &event.body {
            Body::UserInput { input, .. } => {
                if self.stale {
                    self.leg(place);
                }
                self.turn = Some(Turn::new(number, Begin::Said(input.clone())));
            }
            Body::SteeringInjected { input, .. } => {
                match self.turn.as_mut().map(|turn| turn.calls.last_mut()) {
                    Some(Some(call)) => call.said.push(input.clone()),
                    Some(None) => {
                        self.spoil(format!("turn {number}: something was said before the model was asked"));
                    }
                    None => {}
                }
            }
            Body::Call { purpose: CallPurpose::Input, .. } => {
                if let Some(call) = recorded(event, text)? {
                    self.turn.iter_mut().for_each(|turn| turn.calls.push(call.clone()));
                } else {
                    self.spoil(format!("turn {number}: it was interrupted"));
                }
            }
            Body::ToolCallEnd { call_id, name, output, is_error, seen, .. } => {
                let images = match seen {
                    Some(Seen { images: Some(images), .. }) => {
                        serde_json::from_str(&text(images)?).unwrap_or_default()
                    }
                    _ => Vec::new(),
                };
                let said = ToolOutcome::ok(text(output)?);
                let outcome = ToolOutcome { is_error: *is_error, images, ..said };
                self.record.outcomes.insert(call_id.clone(), (name.clone(), outcome));
            }
            Body::InputEnd { reason, .. } => {
                match reason {
                    EndReason::Interrupted => self.spoil(format!("turn {number}: it was interrupted")),
                    EndReason::Rejected => self.spoil(format!("turn {number}: it ended with a refusal")),
                    EndReason::Limit => self.spoil(format!("turn {number}: it ended at a limit")),
                    EndReason::Done | EndReason::AwaitingInput => {
                        self.turn.iter_mut().for_each(|turn| turn.answered = Some(event.seq));
                    }
                    EndReason::Failed { .. } => {}
                }
                self.end();
            }
            // An input goes on from what is on the disk, as it did then.
            Body::SessionResumed { .. } if self.turn.is_some() => {
                self.taken(format!("turn {number}: the session was cut off, and brought back"));
                self.go_on(place, number);
            }
            Body::Compacted { .. } => {
                self.taken(format!("turn {number}: the conversation was made shorter"));
                self.go_on(place + 1, number);
            }
            Body::Rewound { to_turn } => {
                self.taken(format!("after turn {number}: the session was rewound to turn {to_turn}"));
                self.turn = None;
                self.leg(place + 1);
            }
            Body::Configured { change } if change.workdir.is_some() => {
                self.record.stopped = Some(format!("it moved to another folder in turn {number}"));
            }
            _ => {}
        }
        Ok(())
    }

    fn taken(&mut self, what: String) {
        self.record.taken.push(what);
    }

    fn spoil(&mut self, why: String) {
        self.spoilt.get_or_insert(why);
    }

    /// The turn under way has ended.
    fn end(&mut self) {
        let turn = self.turn.take();
        match self.spoilt.take() {
            Some(why) => {
                self.taken(why);
                self.stale = true;
            }
            None => self.push(turn),
        }
    }

    /// The turn under way goes no further here: what there is of it is run.
    fn cut(&mut self) {
        let turn = self.turn.take().filter(|turn| !turn.calls.is_empty());
        if self.spoilt.take().is_none() {
            self.push(turn);
        }
    }

    /// The turn under way goes on from these events.
    fn go_on(&mut self, past: usize, number: u32) {
        self.cut();
        self.leg(past);
        self.turn = Some(Turn::new(number, Begin::GoesOn));
    }

    fn push(&mut self, turn: Option<Turn>) {
        if let Some(leg) = self.record.legs.last_mut() {
            leg.turns.extend(turn);
        }
    }

    /// What follows begins with these events.
    fn leg(&mut self, past: usize) {
        self.stale = false;
        self.record.legs.push(Leg { past, turns: Vec::new() });
    }
}

/// What a model call was answered with; none if somebody stopped it.
fn recorded(event: &Event, text: &dyn Fn(&Payload) -> Result<String>) -> Result<Option<Recorded>> {
    let Body::Call { provider, model, usage, answer, end, prefix, .. } = &event.body else { return Ok(None) };
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
        CallEnd::Failed { error } => Err(Error::new(ErrorKind::InvalidRequest, error.message.clone())),
        CallEnd::Interrupted => return Ok(None),
    };
    Ok(Some(Recorded { seq: event.seq, prefix: *prefix, answer, said: Vec::new() }))
}

/// The whole of a payload.
fn whole(store: &Store, session: &SessionId, payload: &Payload) -> Result<String> {
    let bytes = store.read_payload(session, payload).map_err(|error| {
        let message = format!("a long text beside its journal is lost: {error}");
        junto_store::Error::new(error.kind(), session, message)
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
