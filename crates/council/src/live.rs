//! A council's work as a stream: its narration while it works, then the answer, at once or as it comes.

use futures_util::{StreamExt, stream};
use junto_llm::{CallCx, Error, EventStream, Fut, Replay, Request, StreamEvent};
use tokio::sync::mpsc;

use crate::Council;
use crate::council::PROVIDER;
use crate::deliberate::Spoken;
use crate::voice::Voice;

/// The events of a call. Nothing runs but while the stream is read, and dropping it ends everything.
pub(crate) fn events(council: Council, request: Request, cx: CallCx) -> EventStream {
    let start = StreamEvent::StreamStart {
        id: cx.call.0.clone(),
        model: council.name().to_owned(),
        provider: PROVIDER.to_owned(),
        // Nobody knows yet whose parts they will be; an event before them will say.
        origin: None,
        usage: None,
        warnings: Vec::new(),
        rate_limit: None,
    };
    let (voice, heard) = Voice::heard(cx.narration);
    let work = Box::pin(async move { council.0.deliberate(&request, &cx, &voice).await });
    let live = Live { heard, phase: Phase::Working(work) };
    let rest = stream::unfold(live, |mut live| async move {
        let item = live.next().await?;
        Some((item, live))
    });
    EventStream::new(stream::iter([Ok(start)]).chain(rest))
}

struct Live {
    heard: mpsc::Receiver<StreamEvent>,
    phase: Phase,
}

enum Phase {
    Working(Fut<'static, Result<Spoken, Error>>),
    /// The work is over; events may still wait.
    Worked(Result<Box<Spoken>, Error>),
    Answering(Box<Replay>),
    Over,
}

impl Live {
    async fn next(&mut self) -> Option<Result<StreamEvent, Error>> {
        loop {
            match &mut self.phase {
                Phase::Working(work) => tokio::select! {
                    biased;
                    Some(event) = self.heard.recv() => return Some(Ok(event)),
                    result = work => self.phase = Phase::Worked(result.map(Box::new)),
                },
                Phase::Worked(_) => {
                    if let Some(event) = self.heard.recv().await {
                        return Some(Ok(event));
                    }
                    match std::mem::replace(&mut self.phase, Phase::Over) {
                        Phase::Worked(Ok(spoken)) if spoken.was_heard => return Some(Ok(finish(*spoken))),
                        Phase::Worked(Ok(spoken)) => {
                            self.phase = Phase::Answering(Box::new(Replay::new(spoken.response)));
                        }
                        Phase::Worked(Err(error)) => return Some(Err(error)),
                        _ => return None,
                    }
                }
                Phase::Answering(replay) => return replay.next().map(Ok),
                Phase::Over => return None,
            }
        }
    }
}

/// The end of an answer whose parts were heard.
fn finish(spoken: Spoken) -> StreamEvent {
    let response = spoken.response;
    StreamEvent::Finish {
        reason: response.finish_reason.clone(),
        usage: response.usage.clone(),
        response: Some(Box::new(response)),
    }
}
