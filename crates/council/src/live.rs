//! A council's work as a stream: its narration while it works, then the answer.

use futures_util::{StreamExt, stream};
use junto_llm::{CallCx, Error, EventStream, Fut, Replay, Request, Response, StreamEvent};
use tokio::sync::mpsc;

use crate::Council;
use crate::council::PROVIDER;
use crate::narrator::Narrator;

/// The events of a call. Nothing runs but while the stream is read, and dropping it ends everything.
pub(crate) fn events(council: Council, request: Request, cx: CallCx) -> EventStream {
    let start = StreamEvent::StreamStart {
        id: cx.call.0.clone(),
        model: council.name().to_owned(),
        provider: PROVIDER.to_owned(),
        // Nobody knows yet whose parts they will be.
        origin: None,
        usage: None,
        warnings: Vec::new(),
        rate_limit: None,
    };
    let (narrator, lines) = Narrator::heard();
    let work = Box::pin(async move { council.0.deliberate(&request, &cx, &narrator).await });
    let live = Live { lines, phase: Phase::Working(work) };
    let rest = stream::unfold(live, |mut live| async move {
        let item = live.next().await?;
        Some((item, live))
    });
    EventStream::new(stream::iter([Ok(start)]).chain(rest))
}

struct Live {
    lines: mpsc::Receiver<String>,
    phase: Phase,
}

enum Phase {
    Working(Fut<'static, Result<Response, Error>>),
    /// The work is over; lines may still wait.
    Worked(Result<Box<Replay>, Error>),
    Answering(Box<Replay>),
    Over,
}

impl Live {
    async fn next(&mut self) -> Option<Result<StreamEvent, Error>> {
        loop {
            match &mut self.phase {
                Phase::Working(work) => tokio::select! {
                    biased;
                    Some(text) = self.lines.recv() => return Some(Ok(StreamEvent::Progress { text })),
                    result = work => {
                        self.phase = Phase::Worked(result.map(|response| Box::new(Replay::new(response))));
                    }
                },
                Phase::Worked(_) => {
                    if let Some(text) = self.lines.recv().await {
                        return Some(Ok(StreamEvent::Progress { text }));
                    }
                    match std::mem::replace(&mut self.phase, Phase::Over) {
                        Phase::Worked(Ok(replay)) => self.phase = Phase::Answering(replay),
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
