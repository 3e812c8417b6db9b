//! One call of a council while it is under way, and how somebody is asked in it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use junto_core::Purse;
use junto_llm::{
    Accumulator, Budget, CallCx, Error, ErrorKind, EventStream, Request, Response, StreamEvent, Tally, Usage,
};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::council::Inner;
use crate::minutes::Minutes;
use crate::mouth::Mouth;
use crate::voice::{Murmur, Voice};
use crate::{Duty, Member};

/// One call of a council while it is under way. Whatever it has asked ends when it is dropped.
pub(crate) struct Hearing<'a> {
    pub(crate) council: &'a Inner,
    pub(crate) request: &'a Request,
    pub(crate) cx: &'a CallCx,
    pub(crate) voice: &'a Voice,
    pub(crate) minutes: Minutes,
    /// What all of them together may spend.
    budget: Arc<dyn Budget>,
    /// When all of it must be over.
    deadline: Option<Instant>,
    cancel: CancellationToken,
    _together: DropGuard,
}

/// What is asked of whom.
pub(crate) struct Question<'a> {
    pub(crate) member: &'a Member,
    pub(crate) duty: Duty,
    /// Where it stands in the minutes.
    pub(crate) place: usize,
    pub(crate) request: Request,
}

/// What came of asking.
pub(crate) struct Answer {
    pub(crate) result: Result<Response, Error>,
    /// Whether it was not waited for.
    pub(crate) is_late: bool,
}

impl<'a> Hearing<'a> {
    pub(crate) fn new(council: &'a Inner, request: &'a Request, cx: &'a CallCx, voice: &'a Voice) -> Self {
        let options = &council.options;
        let cancel = cx.cancel.child_token();
        let budget: Arc<dyn Budget> = match options.budget {
            Some(limit) => {
                Arc::new(Purse::within(Arc::clone(&cx.budget), limit).named("the council's budget"))
            }
            None => Arc::clone(&cx.budget),
        };
        Self {
            council,
            request,
            cx,
            voice,
            minutes: Minutes::new(&options.name, options.mode, cx, options.report.clone()),
            budget,
            deadline: options.within.and_then(|within| Instant::now().checked_add(within)),
            _together: cancel.clone().drop_guard(),
            cancel,
        }
    }

    /// Whether there is no time left to ask anybody else.
    pub(crate) fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Asks somebody until it has answered, has failed, is out of time, or `late` gives an error.
    ///
    /// `sound` says whether an answer is one, and before it has said so nothing that could be executed
    /// leaves `mouth`. What the member narrates is passed on with its name.
    pub(crate) async fn ask(
        &self,
        question: Question<'_>,
        late: impl Future<Output = Error>,
        mut mouth: Option<&mut Mouth<'_>>,
        sound: impl FnOnce(Response) -> Result<Response, Error>,
    ) -> Answer {
        let Question { member, duty, place, request } = question;
        let mut entry = self.minutes.begin(member, duty, place, self.cx.tally.clone());
        let cx = self.child(member, &entry.tally());
        let mut usage = Usage::default();
        let mut is_late = false;
        let result = {
            let answering = self.answer(member, request, &cx, mouth.as_deref_mut(), &mut usage);
            tokio::select! {
                biased;
                result = answering => result,
                error = self.expired() => Err(error),
                error = member_expired(member.within) => Err(error),
                error = late => {
                    is_late = true;
                    Err(error)
                }
            }
        };
        let result = result.and_then(sound);
        if let Some(mouth) = mouth {
            if result.is_ok() { mouth.open().await } else { mouth.shut() }
        }
        entry.end(member, &result, usage);
        Answer { result, is_late }
    }

    async fn answer(
        &self,
        member: &Member,
        request: Request,
        cx: &CallCx,
        mouth: Option<&mut Mouth<'_>>,
        usage: &mut Usage,
    ) -> Result<Response, Error> {
        let events = audible(member.silence, member.provider.stream(request, cx)).await??;
        self.fold(events, member, mouth, usage).await
    }

    async fn fold(
        &self,
        mut events: EventStream,
        member: &Member,
        mut mouth: Option<&mut Mouth<'_>>,
        known: &mut Usage,
    ) -> Result<Response, Error> {
        let max_answer = self.council.options.max_answer;
        let mut accumulator = Accumulator::new();
        let mut murmur = Murmur::new(self.voice, &member.name);
        let mut bytes = 0_usize;
        while let Some(event) = audible(member.silence, events.next()).await? {
            let event = event?;
            bytes = bytes.saturating_add(size(&event));
            if bytes > max_answer {
                let message = format!("the answer is larger than {max_answer} bytes");
                return Err(Error::new(ErrorKind::Server, message));
            }
            accumulator.push(&event);
            if let Some(mouth) = mouth.as_deref_mut() {
                mouth.take(&event).await;
            }
            match event {
                StreamEvent::StreamStart { usage: Some(usage), .. } => *known = usage,
                // Once an answer is heard, narration would break it up.
                StreamEvent::Progress { text } if mouth.as_ref().is_none_or(|mouth| !mouth.has_spoken()) => {
                    self.voice.say(format!("{}: {text}", member.name)).await;
                }
                StreamEvent::TextDelta { text, .. } if mouth.is_none() => murmur.more(&text).await,
                StreamEvent::Finish { usage, response, .. } => {
                    murmur.flush().await;
                    *known = usage;
                    return Ok(response.map_or_else(|| accumulator.into_response(), |whole| *whole));
                }
                _ => {}
            }
        }
        Err(Error::stream("the stream ended before the answer was complete"))
    }

    /// The context of a call to this member: one deeper, within the council's budget and its own.
    fn child(&self, member: &Member, tally: &Tally) -> CallCx {
        let budget: Arc<dyn Budget> = match member.budget {
            Some(limit) => {
                let name = format!("the budget of {}", member.name);
                Arc::new(Purse::within(Arc::clone(&self.budget), limit).named(name))
            }
            None => Arc::clone(&self.budget),
        };
        CallCx {
            cancel: self.cancel.child_token(),
            budget,
            tally: Some(tally.clone()),
            narration: self.voice.narration(),
            ..self.cx.child()
        }
    }

    async fn expired(&self) -> Error {
        match self.deadline {
            Some(deadline) => sleep_until(deadline).await,
            None => std::future::pending().await,
        }
        let within = self.council.options.within.unwrap_or_default();
        Error::new(ErrorKind::Timeout, format!("the council had {within:?} in all, and they have passed"))
    }
}

/// Gives an error when a member's own time has passed.
async fn member_expired(within: Option<Duration>) -> Error {
    let Some(within) = within else { return std::future::pending().await };
    sleep(within).await;
    Error::new(ErrorKind::Timeout, format!("no answer within {within:?} (the member's own limit)"))
}

/// Waits for somebody no longer than it may be silent.
async fn audible<T>(silence: Option<Duration>, work: impl Future<Output = T>) -> Result<T, Error> {
    match silence {
        None => Ok(work.await),
        Some(limit) => timeout(limit, work).await.map_err(|_| {
            Error::new(
                ErrorKind::Timeout,
                format!("it said nothing for {limit:?} (the member's silence limit)"),
            )
        }),
    }
}

/// How much of an answer an event adds.
fn size(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::TextDelta { text, .. } | StreamEvent::ReasoningDelta { text, .. } => text.len(),
        StreamEvent::ToolCallDelta { arguments, .. } => arguments.len(),
        StreamEvent::StreamStart { .. }
        | StreamEvent::Origin { .. }
        | StreamEvent::Progress { .. }
        | StreamEvent::Finish { .. } => 0,
        // Raw items and whole parts have no size of their own.
        event => serde_json::to_vec(event).map_or(0, |json| json.len()),
    }
}

#[cfg(test)]
mod tests;
