//! Makes room in the model's window.
//!
//! What goes first is old output of tools; where that is not enough, the model writes a hand-over, which
//! stands from then on in the place of the older part. What stays: the system prompt byte for byte, what is
//! pinned, the plan, the input under way and the latest turns, each call with its result. The log keeps the
//! whole history, and a `compacted` event has the conversation that replaces it.
//!
//! It happens before a model call, once the conversation has grown to a share of the window or somebody asks
//! for it; and after one, when the provider says that it was too long: at most [`LEVELS`] times until the
//! model answers, harder each time. Then the input fails.
//!
//! Where to read: `cut.rs` decides what stays, `summary.rs` asks the model, `handover.rs` has the texts,
//! `measure.rs` guesses sizes.

mod cut;
mod handover;
mod measure;
mod summary;
#[cfg(test)]
mod tests;

use junto_core::{Body, CompactMethod, CompactReason, Dropped, JournalError};
use junto_llm::{Error, ErrorKind, Role};
use tokio_util::sync::CancellationToken;

use self::cut::{Conversation, Room, Shorter, cut_middle};
use self::handover::HandOver;
use self::measure::{Scale, of_tools, sum};
use self::summary::{Work, Written};
use crate::config::Overflow;
use crate::state::State;

/// How often a conversation is made shorter because the provider says that it is too long, before the input
/// fails.
const LEVELS: u32 = 3;
/// How many tokens are kept free for an answer where nobody knows how long it may be.
const ANSWER: u64 = 8192;
/// How many characters a hand-over has at most.
const HAND_OVER: u64 = 24_000;

/// How a conversation is made shorter that gets too long for its model's window. The shares are of the room
/// in the window: all of it but what is kept free for the answer.
///
/// The model calls that this takes are booked, paid from the budget, retried and interrupted like all others;
/// they do not count as turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// The share, in percent, at which it is done; 80 by default.
    pub at: u8,
    /// The share, in percent, that the conversation shall come down to; 40 by default.
    pub to: u8,
    /// How many of the latest turns (an answer of the model, with the results of its calls) stay as they
    /// are, if there is room; 6 by default. The very last stays in any case, but its output may be cut.
    pub keep_turns: usize,
    /// How many tokens are kept free for the answer. Absent: as many as the catalog says that the model may
    /// write, but no more than a third of its window.
    pub reserve: Option<u64>,
}

impl Default for Compaction {
    fn default() -> Self {
        Self { at: 80, to: 40, keep_turns: 6, reserve: None }
    }
}

/// What is remembered from one time to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shortening {
    /// How often the provider has refused the conversation since the model last answered.
    level: u32,
    /// After it came to nothing, it is not done again before the conversation has so many tokens.
    rest: u64,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Made {
    /// The conversation is shorter.
    Shorter,
    /// It is as it was: it is not due, or there is nothing to take out.
    Nothing,
    /// It is as it was, because the step has ended.
    Interrupted,
    /// It is as it was, because the budget does not pay for a hand-over, and it is too long for anything else.
    Refused(Error),
}

/// A window, in tokens.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// All but what is kept free for the answer.
    room: u64,
    at: u64,
    to: u64,
}

/// How far to go, in tokens.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// What the conversation has.
    before: u64,
    /// What it shall come down to.
    goal: u64,
    /// What it must come down to.
    most: u64,
}

impl State {
    /// Makes the conversation shorter before a model call, if it is time or somebody asked for it.
    pub(crate) async fn keep_room(&mut self, step: &CancellationToken) -> Result<Made, JournalError> {
        let asked = self.desk.take_compact();
        let before = self.history.tokens();
        let window = self.window_room();
        // An answer that pauses goes on in the next one, and nothing may come between the two.
        let pausing = self.history.messages().last().is_some_and(|last| last.role == Role::Assistant);
        let rest = self.shortening.rest.max(self.history.rest());
        let full = |window: &Window| before >= window.at && before >= rest.min(window.room);
        let due = self.on_overflow == Overflow::Compact && window.as_ref().is_some_and(full);
        if pausing || !(asked || due) {
            return Ok(Made::Nothing);
        }
        let goal = window.map_or(before / 2, |window| window.to.min(before / 2));
        let most = window.map_or(u64::MAX, |window| window.room);
        let why = if asked { CompactReason::Command } else { CompactReason::Threshold };
        // Boxed, as it is rare and large: the loop has no room to spare for it at each step.
        let made = Box::pin(self.compact(why, Target { before, goal, most }, step)).await?;
        if asked && matches!(made, Made::Nothing) {
            self.warn("compaction", "nothing was taken out of the conversation".to_owned()).await?;
        }
        Ok(made)
    }

    /// After a model call that failed: makes the conversation shorter, if that was why and there is something
    /// to be done about it. Gives back the error otherwise.
    pub(crate) async fn make_room(
        &mut self,
        error: Error,
        step: &CancellationToken,
    ) -> Result<Result<(), Error>, JournalError> {
        if error.kind() != ErrorKind::ContextLength || self.on_overflow != Overflow::Compact {
            return Ok(Err(error));
        }
        let window = self.window_room();
        while self.shortening.level < LEVELS {
            // By the provider's word it is longer than the room there is, whatever it was thought to have.
            let before = self.history.tokens().max(window.map_or(0, |window| window.room));
            let goal = window.map_or(before / 2, |window| window.to.min(before / 2)) >> self.shortening.level;
            self.shortening.level += 1;
            let target = Target { before, goal, most: goal.saturating_mul(2) };
            match Box::pin(self.compact(CompactReason::Overflow, target, step)).await? {
                Made::Shorter => {}
                Made::Interrupted => self.shortening.level -= 1,
                Made::Nothing => continue,
                Made::Refused(error) => {
                    self.shortening.level -= 1;
                    return Ok(Err(error));
                }
            }
            return Ok(Ok(()));
        }
        // The next input may have more luck.
        self.shortening.level = 0;
        let message = format!("the conversation is too long, however short it is made: {}", error.message());
        let hint = "the system prompt, the tools, pinned inputs and the last input stay as they are: shorten \
                    them, or choose a model with a larger window";
        Ok(Err(Error::new(ErrorKind::ContextLength, message).with_hint(hint)))
    }

    /// The model answered: what it was asked was not too long.
    pub(crate) fn had_room(&mut self) {
        self.shortening.level = 0;
    }

    fn window_room(&self) -> Option<Window> {
        let Compaction { at, to, reserve, .. } = self.compaction;
        let window = self.window().filter(|window| *window > 0)?;
        let longest = || self.model_info().map_or(ANSWER, |model| model.max_output).min(window / 3);
        let room = window.saturating_sub(reserve.unwrap_or_else(longest)).max(1);
        let share = |percent: u8| room / 100 * u64::from(percent) + room % 100 * u64::from(percent) / 100;
        Some(Window { room, at: share(at), to: share(to.min(at)) })
    }

    async fn compact(
        &mut self,
        why: CompactReason,
        target: Target,
        step: &CancellationToken,
    ) -> Result<Made, JournalError> {
        let (messages, pins) = (self.history.messages(), self.history.pins().clone());
        let conversation = Conversation::new(&messages, &pins);
        let tools = of_tools(self.toolbox.kit().specs());
        let whole = conversation.size().saturating_add(tools);
        let scale = Scale::new(target.before, whole);
        let characters = |tokens| scale.characters(tokens).saturating_sub(tools);
        let room = Room { goal: characters(target.goal), most: characters(target.most) };
        let keep_turns = self.compaction.keep_turns >> self.shortening.level.saturating_sub(1);

        let (shorter, how) = if let Some(shorter) = conversation.without_outputs(keep_turns, room.goal) {
            (shorter, CompactMethod::Outputs)
        } else {
            let plan = self.status.plan().as_ref().and_then(handover::plan);
            let plan = plan.map(|plan| cut_middle(&plan, (room.goal / 4).max(handover::LEAST)));
            let frame = HandOver::frame(plan.as_deref());
            let most = (room.goal / 4).clamp(handover::LEAST, HAND_OVER);
            let tail = conversation.tail(keep_turns, room, frame + most);
            if conversation.droppable(&tail) <= frame + handover::LEAST {
                // A hand-over would be no shorter.
                (conversation.with_tail(tail), CompactMethod::Outputs)
            } else {
                // Where the provider says that it is too long it is not sent once more; nor if it would be.
                let asked = whole.saturating_add(handover::request(most).len() as u64);
                let fits = why != CompactReason::Overflow && asked <= scale.characters(target.most);
                let work = Work {
                    whole: conversation.answered().filter(|_| fits),
                    older: conversation.older(&tail),
                    most,
                    call: scale.characters(target.most) / 2,
                };
                let (text, how) = match self.hand_over(why, target, &work, step).await? {
                    Ok(written) => written,
                    Err(made) => return Ok(made),
                };
                let input_follows = conversation.input_is_older(&tail);
                let text = HandOver { text: &text, plan: plan.as_deref(), input_follows }.print();
                (conversation.with_hand_over(tail, text), how)
            }
        };
        let after = sum(&shorter.messages).saturating_add(tools);
        if after >= whole {
            self.shortening.rest = target.before.saturating_add(target.before / 4);
            return Ok(Made::Nothing);
        }
        self.put(why, how, shorter, [whole, after].map(|size| scale.tokens(size))).await
    }

    /// The text of a hand-over and who wrote it, or why there is none.
    async fn hand_over(
        &mut self,
        why: CompactReason,
        target: Target,
        work: &Work<'_>,
        step: &CancellationToken,
    ) -> Result<Result<(String, CompactMethod), Made>, JournalError> {
        let digest = || Ok((handover::digest(work.older, work.most), CompactMethod::Digest));
        if self.shortening.level == LEVELS {
            return Ok(digest());
        }
        match self.write_hand_over(work, step).await? {
            Written::Text(text) => Ok(Ok((cut_middle(&text, work.most), CompactMethod::Summary))),
            Written::Interrupted => Ok(Err(Made::Interrupted)),
            Written::Failed(error) => {
                // A provider that fails now may answer later, and there is room left until then.
                let can_wait = why != CompactReason::Overflow
                    && error.kind() != ErrorKind::ContextLength
                    && target.before < target.most;
                // Nothing is thrown away for a call that would not be paid for either.
                if !can_wait && error.exhausted().is_some() {
                    return Ok(Err(Made::Refused(error)));
                }
                self.warn("compaction", format!("no hand-over was written: {error}")).await?;
                if !can_wait {
                    return Ok(digest());
                }
                self.shortening.rest = target.before + (target.most - target.before).div_ceil(2);
                Ok(Err(Made::Nothing))
            }
        }
    }

    /// Puts a shorter conversation in the place of this one.
    async fn put(
        &mut self,
        why: CompactReason,
        how: CompactMethod,
        shorter: Shorter,
        [before, after]: [u64; 2],
    ) -> Result<Made, JournalError> {
        let Shorter { messages, pins, dropped, outputs } = shorter;
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let text = serde_json::to_string(&messages).map_err(|error| JournalError(error.to_string()))?;
        let compacted = Body::Compacted {
            why,
            how,
            dropped: Dropped { messages: number(dropped), outputs: number(outputs) },
            tokens_before: before,
            tokens_after: after,
            messages: text.into(),
            pinned: pins.pinned.iter().copied().map(number).collect(),
            input: pins.input.map(number),
        };
        self.log.emit(compacted).await?;
        self.history.replace(messages.into(), pins, after);
        self.shortening.rest = 0;
        Ok(Made::Shorter)
    }
}
