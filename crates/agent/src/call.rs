//! One model call: asked through the retries, told to the log as it comes.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use junto_core::{Body, CallEnd, Delta, EventError, EventLog, JournalError, Seq};
use junto_llm::retry::{self, Attempt, Observer};
use junto_llm::{
    Accumulator, CallCx, CallId, Content, Error, ErrorKind, EventStream, Message, Provider, Replay, Request,
    Response, SegmentId, StreamEvent,
};
use tokio::sync::mpsc;

use crate::panics::caught;

/// How many retries may wait to be told of. They are told at once, so it is a bound and not a limit.
const MOST_RETRIES: u32 = 1024;

/// What came of a model call.
pub(crate) struct Answer {
    /// The answer, or as much of it as there is.
    pub(crate) response: Response,
    /// Whether the model began to answer, so that tokens were used.
    pub(crate) began: bool,
    pub(crate) end: Ended,
}

impl Answer {
    /// None: the step ended before the model was asked.
    pub(crate) fn not_asked() -> Self {
        Self { response: Response::empty("", ""), began: false, end: Ended::Interrupted }
    }

    /// What of it enters the conversation: a whole answer verbatim, unless it [says nothing](says_something), which
    /// no provider takes back; of one that was broken off its text. Reasoning without its signature and calls that
    /// nobody ran would not be taken back either.
    pub(crate) fn entering(&self) -> Option<Message> {
        match self.end {
            Ended::Whole => Some(&self.response.message).filter(|message| says_something(message)).cloned(),
            Ended::Interrupted | Ended::Failed(_) => {
                Some(self.response.text()).filter(|text| !text.trim().is_empty()).map(Message::assistant)
            }
        }
    }

    /// Whether the provider wants to be asked again before it says more.
    pub(crate) fn is_paused(&self) -> bool {
        self.response.finish_reason.is_pause() && says_something(&self.response.message)
    }

    /// How it ended, as the log tells it.
    pub(crate) fn how(&self) -> CallEnd {
        match &self.end {
            Ended::Whole if self.is_paused() => CallEnd::Paused,
            Ended::Whole => CallEnd::Whole,
            Ended::Interrupted => CallEnd::Interrupted,
            Ended::Failed(error) => CallEnd::Failed { error: error.into() },
        }
    }
}

/// Whether an answer says anything. Thoughts that led to nothing do not: the limit of tokens, or a filter, ended them.
pub(crate) fn says_something(answer: &Message) -> bool {
    answer.content.iter().any(|part| match part.content() {
        Content::Thinking(_) | Content::RedactedThinking(_) => false,
        Content::Text(text) => !text.trim().is_empty(),
        _ => true,
    })
}

/// How a model call ended.
pub(crate) enum Ended {
    Whole,
    Interrupted,
    Failed(Error),
}

/// How an answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    InPieces,
    Whole,
}

/// Who hears what the model says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Whoever reads the log.
    Everybody,
    /// Only who asked: it is no answer to an input. Retries are in the log all the same.
    Nobody,
}

/// Makes a model call. Retries, text, reasoning and progress are in the log as they come. The token in
/// `cx` ends it, and closes the connection.
pub(crate) async fn ask(
    log: &EventLog,
    provider: &Arc<dyn Provider>,
    policy: retry::Policy,
    (delivery, audience): (Delivery, Audience),
    request: Request,
    cx: &CallCx,
) -> Result<Answer, JournalError> {
    let (tell, mut retries) = mpsc::channel(policy.max_retries.clamp(1, MOST_RETRIES) as usize);
    let observer: Observer = Arc::new(move |attempt: &Attempt| {
        let _ = tell.try_send(attempt.clone());
    });
    let mut events = open(Arc::clone(provider), policy, observer, delivery, request, cx.clone());
    let mut telling = Telling { log, call: &cx.call, audience, open: BTreeMap::new() };
    let mut accumulator = Accumulator::new();
    let mut whole = None;
    let mut began = false;
    let end = loop {
        let item = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => break Ended::Interrupted,
            Some(attempt) = retries.recv() => {
                telling.retry(attempt).await?;
                continue;
            }
            item = caught(events.next()) => item,
        };
        while let Ok(attempt) = retries.try_recv() {
            telling.retry(attempt).await?;
        }
        let event = match item {
            Ok(Some(Ok(event))) => event,
            // A provider that was told of the cancel may answer before we look.
            Ok(Some(Err(error))) if error.kind() == ErrorKind::Aborted && cx.cancel.is_cancelled() => {
                break Ended::Interrupted;
            }
            Ok(Some(Err(error))) => break Ended::Failed(error),
            Ok(None) => {
                break Ended::Failed(Error::stream("the stream ended before the answer was complete"));
            }
            Err(panic) => {
                break Ended::Failed(Error::new(
                    ErrorKind::Unknown,
                    format!("the provider crashed: {panic}"),
                ));
            }
        };
        began = true;
        accumulator.push(&event);
        telling.event(&event).await?;
        if let StreamEvent::Finish { response, .. } = event {
            whole = response;
            break Ended::Whole;
        }
    };
    telling.close().await?;
    let response = match (whole, &end) {
        (Some(response), _) => *response,
        (None, Ended::Whole) => accumulator.into_response(),
        (None, _) => accumulator.into_partial(),
    };
    Ok(Answer { response, began, end })
}

fn open(
    provider: Arc<dyn Provider>,
    policy: retry::Policy,
    observer: Observer,
    delivery: Delivery,
    request: Request,
    cx: CallCx,
) -> EventStream {
    let cancel = cx.cancel.clone();
    let attempt = move || {
        let (provider, request, cx) = (Arc::clone(&provider), request.clone(), cx.clone());
        Box::pin(async move {
            match delivery {
                Delivery::InPieces => provider.stream(request, &cx).await,
                Delivery::Whole => {
                    let answer = Replay::new(provider.complete(request, &cx).await?);
                    Ok(EventStream::new(stream::iter(answer.map(Ok))))
                }
            }
        })
    };
    EventStream::new(stream::once(retry::stream(policy, cancel, observer, attempt)).try_flatten())
}

/// Puts a stream into the log.
struct Telling<'a> {
    log: &'a EventLog,
    call: &'a CallId,
    audience: Audience,
    /// The segments of text and reasoning that have not ended.
    open: BTreeMap<SegmentId, Segment>,
}

struct Segment {
    kind: Kind,
    /// Its start in the log; absent until there is something to show.
    start: Option<Seq>,
    text: String,
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Reasoning,
}

impl Telling<'_> {
    async fn event(&mut self, event: &StreamEvent) -> Result<(), JournalError> {
        if self.audience == Audience::Nobody {
            return Ok(());
        }
        match event {
            StreamEvent::TextStart { id } => self.begin(*id, Kind::Text).await,
            StreamEvent::ReasoningStart { id } => self.begin(*id, Kind::Reasoning).await,
            StreamEvent::TextDelta { id, text } | StreamEvent::ReasoningDelta { id, text } => {
                self.more(*id, text).await
            }
            StreamEvent::TextEnd { id, .. } | StreamEvent::ReasoningEnd { id, .. } => self.end(*id).await,
            StreamEvent::Progress { text } => {
                self.emit(Body::Progress { text: text.clone() }).await.map(drop)
            }
            StreamEvent::StreamStart { .. }
            | StreamEvent::Origin { .. }
            | StreamEvent::ToolCallStart { .. }
            | StreamEvent::ToolCallDelta { .. }
            | StreamEvent::ToolCallEnd { .. }
            | StreamEvent::Part { .. }
            | StreamEvent::StepFinish { .. }
            | StreamEvent::Finish { .. }
            | StreamEvent::ProviderEvent { .. } => Ok(()),
        }
    }

    async fn begin(&mut self, id: SegmentId, kind: Kind) -> Result<(), JournalError> {
        // A provider that reuses an id means a new segment.
        self.end(id).await?;
        self.open.insert(id, Segment { kind, start: None, text: String::new() });
        Ok(())
    }

    async fn more(&mut self, id: SegmentId, more: &str) -> Result<(), JournalError> {
        let Some(segment) = self.open.get_mut(&id) else { return Ok(()) };
        if more.is_empty() {
            return Ok(());
        }
        let of = if let Some(start) = segment.start {
            start
        } else {
            let body = match segment.kind {
                Kind::Text => Body::AssistantTextStart {},
                Kind::Reasoning => Body::ReasoningStart {},
            };
            *segment.start.insert(self.log.emit_for(self.call, body).await?)
        };
        segment.text.push_str(more);
        let text = more.to_owned();
        self.log.delta(match segment.kind {
            Kind::Text => Delta::AssistantTextDelta { of, text },
            Kind::Reasoning => Delta::ReasoningDelta { of, text },
        });
        Ok(())
    }

    async fn end(&mut self, id: SegmentId) -> Result<(), JournalError> {
        let Some(Segment { kind, start: Some(of), text }) = self.open.remove(&id) else { return Ok(()) };
        let text = text.into();
        self.emit(match kind {
            Kind::Text => Body::AssistantTextEnd { of, text },
            Kind::Reasoning => Body::ReasoningEnd { of, text },
        })
        .await
        .map(drop)
    }

    /// Ends what is still open: an answer that was broken off.
    async fn close(&mut self) -> Result<(), JournalError> {
        while let Some(id) = self.open.keys().next().copied() {
            self.end(id).await?;
        }
        Ok(())
    }

    async fn retry(&self, attempt: Attempt) -> Result<(), JournalError> {
        let delay_ms = u64::try_from(attempt.delay.as_millis()).unwrap_or(u64::MAX);
        let error = EventError::from(&attempt.error);
        self.emit(Body::Retry { attempt: attempt.number, delay_ms, error }).await.map(drop)
    }

    async fn emit(&self, body: Body) -> Result<Seq, JournalError> {
        self.log.emit_for(self.call, body).await
    }
}
