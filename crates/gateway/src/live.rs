//! A streamed answer on its way to the client.

mod heart;
mod label;

use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use junto_llm::wire::{AnswerCx, StreamEncoder};
use junto_llm::{Error, EventStream, RateLimit, Request, StreamEvent};
use tokio::time::{Instant, timeout_at};

use crate::call::{Call, Held};
use crate::gateway::Settings;
use crate::progress::{Narrator, Trailing};
use crate::report::Meter;
use crate::sealed::Sealer;
use heart::{Heart, in_time};

pub(crate) use label::Label;

/// Events that are ready together are written together, up to about this many bytes.
const BATCH: usize = 16 * 1024;

/// One streamed answer. Dropping it ends the call.
pub(crate) struct Live {
    source: Source,
    encoder: Box<dyn StreamEncoder>,
    label: Label,
    sealer: Sealer,
    narrator: Narrator,
    meter: Meter,
    keep_alive: Duration,
    /// When something must be sent to keep the connection alive.
    deadline: Instant,
    heart: Heart,
    has_started: bool,
    /// What the provider said about its limits when it began.
    rate_limit: Option<RateLimit>,
    /// Comes after everything that was written.
    failed: Option<Error>,
    _held: Held,
}

/// Where the events come from.
enum Source {
    /// The provider has not answered yet.
    Opening(Pin<Box<dyn Future<Output = Result<EventStream, Error>> + Send>>),
    Open(EventStream),
    /// The answer is over, well or not.
    Over,
}

impl Source {
    /// The next event. Can be dropped and called again without losing one.
    async fn next(&mut self) -> Option<Result<StreamEvent, Error>> {
        loop {
            match self {
                Self::Opening(opening) => match opening.await {
                    Ok(events) => *self = Self::Open(events),
                    Err(error) => {
                        *self = Self::Over;
                        return Some(Err(error));
                    }
                },
                Self::Open(events) => {
                    let item = events.next().await.unwrap_or_else(|| {
                        Err(Error::stream("the provider's stream ended before the answer was complete"))
                    });
                    if matches!(item, Err(_) | Ok(StreamEvent::Finish { .. })) {
                        *self = Self::Over;
                    }
                    return Some(item);
                }
                Self::Over => return None,
            }
        }
    }
}

/// What has to be said before the provider says something.
enum Pause {
    /// That the work goes on.
    Beat,
    /// Anything.
    Silence,
}

/// What comes next on a stream.
enum Step {
    Bytes(Bytes),
    Failed(Error),
}

impl Live {
    /// Starts the call and gives the body of the answer as soon as its first bytes are there: of
    /// the answer, or those that keep the connection alive. Beside it, what is known by then of the
    /// provider's limits.
    ///
    /// # Errors
    /// What fails before that, when the client can still be given a status.
    pub(crate) async fn open(
        settings: &Settings,
        call: Call,
        request: Request,
        label: Label,
        answer: &AnswerCx,
        trailing: Trailing,
    ) -> Result<(Body, Option<RateLimit>), Error> {
        let sealer = Sealer::new(call.origin());
        let Call { wire, target, cx, held, meter, .. } = call;
        let mut encoder = wire.codec().stream_encoder();
        encoder.set(answer);
        let opening = Box::pin(async move { target.provider.stream(request, &cx).await });
        let mut live = Self {
            source: Source::Opening(opening),
            encoder,
            label,
            sealer,
            narrator: Narrator::new(settings.progress, trailing, wire),
            meter,
            keep_alive: settings.keep_alive,
            deadline: in_time(settings.keep_alive),
            heart: Heart::new(settings.heartbeat),
            has_started: false,
            rate_limit: None,
            failed: None,
            _held: held,
        };
        match live.step().await {
            Some(Step::Bytes(first)) => {
                let rate_limit = live.rate_limit.take();
                let first = stream::iter([Ok::<_, Infallible>(first)]);
                let rest = stream::unfold(live, |mut live| async move {
                    let bytes = live.next().await?;
                    Some((Ok(bytes), live))
                });
                Ok((Body::from_stream(first.chain(rest)), rate_limit))
            }
            Some(Step::Failed(error)) => Err(error),
            None => Err(Error::stream("the provider's answer is empty")),
        }
    }

    /// The next bytes of the body; a failure is told in the wire's words for it.
    async fn next(&mut self) -> Option<Bytes> {
        match self.step().await? {
            Step::Bytes(bytes) => Some(bytes),
            Step::Failed(error) => {
                tracing::debug!(%error, "a streamed answer failed");
                let mut out = Vec::new();
                self.encoder.error(&error, &mut out);
                self.meter.fail(None, error);
                Some(out.into())
            }
        }
    }

    async fn step(&mut self) -> Option<Step> {
        if let Some(error) = self.failed.take() {
            return Some(Step::Failed(error));
        }
        let mut out = Vec::new();
        while out.len() < BATCH {
            let item = if out.is_empty() {
                match self.wait().await {
                    Ok(item) => item,
                    Err(Pause::Beat) => {
                        let beat = self.heart.beat();
                        self.narrate(beat, &mut out);
                        break;
                    }
                    Err(Pause::Silence) => {
                        self.begin(&mut out);
                        self.encoder.keep_alive(&mut out);
                        break;
                    }
                }
            } else {
                let Some(item) = self.source.next().now_or_never() else { break };
                item
            };
            self.heart.rest();
            match item {
                Some(Ok(event)) => self.write(event, &mut out),
                Some(Err(error)) if out.is_empty() => return Some(Step::Failed(error)),
                Some(Err(error)) => {
                    self.failed = Some(error);
                    break;
                }
                None if out.is_empty() => return None,
                None => break,
            }
        }
        self.deadline = in_time(self.keep_alive);
        Some(Step::Bytes(out.into()))
    }

    /// Waits for the provider, but not for ever without a sign of life.
    async fn wait(&mut self) -> Result<Option<Result<StreamEvent, Error>>, Pause> {
        let beats = self.narrator.is_speaking() && self.heart.due <= self.deadline;
        let until = if beats { self.heart.due } else { self.deadline };
        let pause = if beats { Pause::Beat } else { Pause::Silence };
        timeout_at(until, self.source.next()).await.map_err(|_| pause)
    }

    fn write(&mut self, mut event: StreamEvent, out: &mut Vec<u8>) {
        self.meter.hear(&event);
        match &mut event {
            StreamEvent::StreamStart { id, model, usage, origin, rate_limit, .. } => {
                self.label.apply(origin.as_ref().map(|origin| origin.wire), id, model);
                if let Some(usage) = usage {
                    self.meter.note(usage);
                }
                self.rate_limit = rate_limit.take();
                self.has_started = true;
            }
            StreamEvent::Finish { usage, .. } => self.meter.finish(usage),
            _ => {}
        }
        self.begin(out);
        let Self { sealer, narrator, encoder, .. } = self;
        sealer.seal(event, |event| narrator.pass(event, |event| encoder.event(event, out)));
    }

    fn narrate(&mut self, line: StreamEvent, out: &mut Vec<u8>) {
        let Self { narrator, encoder, .. } = self;
        narrator.pass(line, |event| encoder.event(event, out));
    }

    /// Begins the answer of a provider that forgot to, or takes its time.
    fn begin(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.has_started, true) {
            return;
        }
        let (mut id, mut model) = (String::new(), String::new());
        self.label.apply(None, &mut id, &mut model);
        let start = StreamEvent::StreamStart {
            id,
            model,
            provider: String::new(),
            origin: None,
            usage: None,
            warnings: Vec::new(),
            rate_limit: None,
        };
        self.encoder.event(&start, out);
    }
}
