//! Asks the model for a hand-over: at the end of the conversation itself, where most of it is in the
//! provider's cache; or, where that is too long, from its record, piece by piece.

use junto_core::JournalError;
use junto_llm::{Chore, Error, ErrorKind, Message, Request, Traffic};
use tokio_util::sync::CancellationToken;

use super::cut::cut_middle;
use super::handover::{self, Detail};
use crate::call::Ended;
use crate::state::State;

/// In how many pieces a record is read at most; a longer one loses detail first.
const MOST_PIECES: u64 = 8;
/// How often the pieces are made half as large because the provider says that they are too long.
const HALVINGS: u32 = 2;

/// What is to be summed up.
pub(super) struct Work<'a> {
    /// The conversation, if it may be sent as it is.
    pub(super) whole: Option<&'a [Message]>,
    /// Its older part.
    pub(super) older: &'a [Message],
    /// How many characters the hand-over may have.
    pub(super) most: u64,
    /// How many characters one call may have.
    pub(super) call: u64,
}

/// What came of it.
pub(super) enum Written {
    Text(String),
    Failed(Error),
    Interrupted,
}

impl State {
    /// Has a hand-over written, by a bounded number of model calls. `step` ends them.
    pub(super) async fn write_hand_over(
        &mut self,
        work: &Work<'_>,
        step: &CancellationToken,
    ) -> Result<Written, JournalError> {
        if let Some(whole) = work.whole {
            let mut messages = whole.to_vec();
            messages.push(Message::user(handover::request(work.most)));
            let request = self.request(&self.desk.settings(), &self.toolbox.kit());
            let request = Request { messages: messages.into(), ..request };
            match self.sum_up(request, step).await? {
                Written::Failed(error) if error.kind() == ErrorKind::ContextLength => {}
                // It called tools instead, or had nothing to say.
                Written::Text(text) if text.is_empty() => {}
                written => return Ok(written),
            }
        }
        let mut call = work.call;
        for _ in 0..=HALVINGS {
            match self.sum_up_pieces(work, call, step).await? {
                Written::Failed(error) if error.kind() == ErrorKind::ContextLength => call /= 2,
                written => return Ok(written),
            }
        }
        Ok(Written::Failed(Error::new(
            ErrorKind::ContextLength,
            "the record is too long, even in small pieces",
        )))
    }

    /// Has the record read in pieces, with calls of at most so many characters.
    async fn sum_up_pieces(
        &mut self,
        work: &Work<'_>,
        call: u64,
        step: &CancellationToken,
    ) -> Result<Written, JournalError> {
        let instructions = handover::instructions(work.most);
        let frame = (instructions.len() + handover::piece(None, "").len()) as u64;
        let piece = call.saturating_sub(frame + work.most).max(1);
        // A piece that ends with a line has at least half its size.
        let record = handover::record(work.older, Detail::FULL, piece.saturating_mul(MOST_PIECES / 2));
        let mut so_far: Option<String> = None;
        for piece in handover::pieces(&record, usize::try_from(piece).unwrap_or(usize::MAX)) {
            let asked = Message::user(handover::piece(so_far.as_deref(), piece));
            let request = self.request(&self.desk.settings(), &self.toolbox.kit());
            let request = Request {
                messages: [Message::system(instructions.clone()), asked].into(),
                tools: Vec::new(),
                parallel_tool_calls: None,
                ..request
            };
            match self.sum_up(request, step).await? {
                Written::Text(text) if text.is_empty() => {
                    return Ok(Written::Failed(Error::new(ErrorKind::Unknown, "the model wrote nothing")));
                }
                Written::Text(text) => so_far = Some(cut_middle(&text, work.most)),
                written => return Ok(written),
            }
        }
        Ok(Written::Text(so_far.unwrap_or_default()))
    }

    async fn sum_up(&mut self, request: Request, step: &CancellationToken) -> Result<Written, JournalError> {
        let settings = self.desk.settings();
        let chore = Traffic::Background(Chore::Compaction);
        let answer = self.call(request, None, &settings, chore, step).await?;
        Ok(match answer.end {
            Ended::Whole => Written::Text(answer.response.text().trim().to_owned()),
            Ended::Interrupted => Written::Interrupted,
            Ended::Failed(error) => Written::Failed(error),
        })
    }
}
