//! A recorded session, run again against its own recorded answers.
//!
//! `record.rs` reads what was recorded, in pieces that can be run from beginning to end; `player.rs` plays the model
//! and the tools.

mod player;
mod record;

use std::sync::Arc;

use junto_agent::{Past, Session, SessionConfig};
use junto_core::{
    Agent, Body, Clock, Command, Durability, EndReason, EventLog, Item, Journal, Prefix, Seq, Subscription,
};
use junto_env::ExecutionEnvironment;
use junto_llm::{Provider, SessionId};
use junto_store::{Error, ErrorKind, Recorded, Recovery, Result, Store};

use self::player::{Beside, Player, tools};
use self::record::{Begin, Leg, Record, Turn};

/// What came of running a session again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// How many turns were run, wholly or in part.
    pub turns: u32,
    /// How many model calls were made in them.
    pub calls: usize,
    /// Where it first went another way.
    pub divergence: Option<Divergence>,
    /// What cannot be repeated and was taken as it was recorded, in words and in order.
    pub taken: Vec<String>,
    /// Why nothing more was run, if it was not run to its end.
    pub stopped: Option<String>,
    /// What was found wrong with the journal. What is damaged there was not run.
    pub recovery: Recovery,
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
/// Some things cannot be repeated: that somebody interrupted a turn or refused something, that a limit was
/// reached, that the process was killed, that the conversation was made shorter or rewound. They are taken as they
/// were recorded: the session is brought back from the events up to there, as after a crash, and goes on.
/// [`Replayed::taken`] says where. What follows a move to another folder is not run.
///
/// # Errors
/// If the session cannot be read, or is none of ours.
pub async fn replay(
    store: &Store,
    session: &SessionId,
    env: Arc<dyn ExecutionEnvironment>,
    clock: Clock,
) -> Result<Replayed> {
    let Recorded { events, recovery, .. } = store.read(session)?;
    let record = Record::read(store, session, &events)?;
    let mut replayed = Replayed {
        turns: 0,
        calls: 0,
        divergence: None,
        taken: record.taken.clone(),
        stopped: record.stopped.clone(),
        recovery,
    };
    let stage = Stage { store, session, record: &record, env, clock };
    for leg in &record.legs {
        let past = events.get(..leg.past).unwrap_or_default();
        stage.run(leg, past, &mut replayed).await.map_err(|error| failed(session, &error))?;
        if replayed.divergence.is_some() {
            break;
        }
    }
    Ok(replayed)
}

fn failed(session: &SessionId, error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Invalid, session, error.to_string())
}

/// Where the pieces are run.
struct Stage<'a> {
    store: &'a Store,
    session: &'a SessionId,
    record: &'a Record,
    env: Arc<dyn ExecutionEnvironment>,
    clock: Clock,
}

type Run<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

impl Stage<'_> {
    /// Runs one piece from where the recorded session was then.
    async fn run(&self, leg: &Leg, past: &[junto_core::Event], replayed: &mut Replayed) -> Run {
        let journal: Arc<dyn Journal> = Arc::new(Beside::new(self.store, self.session));
        journal.append(past, Durability::Written).await?;
        let last = past.last().map_or(Seq(0), |event| event.seq);
        let log = EventLog::new(self.session.clone(), journal, last, Arc::clone(&self.clock));
        let player = Arc::new(Player::default());
        let config = SessionConfig {
            system: self.record.system.clone(),
            tools: tools(&self.record.outcomes),
            on_reject: junto_core::OnReject::TellModel,
            enable_loop_detection: true,
            ..SessionConfig::new(Arc::clone(&player) as Arc<dyn Provider>, Arc::clone(&self.env), log.clone())
        };
        let mut seen = log.subscribe(last.next());
        let mut turns = leg.turns.iter().peekable();
        // It goes on by itself as soon as it is there.
        if let Some(turn) = turns.peek().filter(|turn| turn.begin == Begin::GoesOn) {
            player.load(turn);
        }
        let live = if past.is_empty() {
            Session::start(config).await?
        } else {
            Session::resume(config, Past::new(past)).await?
        };
        player.seat(live.clone());
        for turn in turns {
            if let Begin::Said(input) = &turn.begin {
                player.load(turn);
                live.send(Command::Submit { input: input.clone() }).await?;
            }
            replayed.divergence = follow(turn, &player, &mut seen, &mut replayed.calls).await?;
            replayed.turns += u32::from(turn.begin != Begin::GoesOn);
            if replayed.divergence.is_some() {
                break;
            }
        }
        live.close().await;
        Ok(())
    }
}

/// Follows a turn to its end, or to where it was cut, and says where it goes another way.
async fn follow(
    turn: &Turn,
    player: &Player,
    seen: &mut Subscription,
    made: &mut usize,
) -> Run<Option<Divergence>> {
    let mut calls = turn.calls.iter();
    let differs = |seq, then: String, now: String| Some(Divergence { turn: turn.number, seq, then, now });
    loop {
        let Item::Event(event) = seen.next().await? else { continue };
        // What was under way is ended when a session is brought back, its children too.
        if event.parent.is_some() {
            continue;
        }
        match &event.body {
            Body::Call { prefix: now, .. } => {
                let Some(then) = calls.next() else { continue };
                *made += 1;
                if let (Some(then_prefix), Some(now)) = (&then.prefix, now)
                    && differ(then_prefix, now)
                {
                    return Ok(differs(then.seq, in_words(then_prefix), in_words(now)));
                }
            }
            Body::InputEnd { reason, .. } => {
                if let Some(missing) = calls.next() {
                    let now = format!("the turn ends: {}", reason_in_words(reason));
                    return Ok(differs(missing.seq, "the model was asked again".to_owned(), now));
                }
                let more = turn.answered.filter(|_| player.is_asked_more());
                return Ok(more.and_then(|seq| {
                    differs(seq, "the turn ended".to_owned(), "the model is asked again".to_owned())
                }));
            }
            _ => {}
        }
    }
}

/// Whether two requests show the model another conversation.
fn differ(then: &Prefix, now: &Prefix) -> bool {
    (then.system, then.messages, then.count) != (now.system, now.messages, now.count)
}

fn in_words(prefix: &Prefix) -> String {
    let Prefix { system, messages, count, .. } = prefix;
    format!("the model is shown {count} messages ({messages}) after the system prompt ({system})")
}

fn reason_in_words(reason: &EndReason) -> String {
    serde_json::to_string(reason).unwrap_or_default()
}
