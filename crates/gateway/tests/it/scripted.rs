//! A provider without a network, which does what it is told and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::HeaderMap;
use junto_llm::{
    ByteStream, CallCx, Error, EventStream, Finish, FinishReason, Fut, Passthrough, Provider, Request,
    Response, SegmentId, StreamEvent, Usage, Wire,
};
use tokio::sync::watch;

/// What the provider does next.
#[derive(Clone, Debug)]
pub(crate) enum Cue {
    Event(Box<StreamEvent>),
    Fail(Error),
    Wait(Duration),
    /// Nothing more, until the call is dropped.
    Hang,
    /// Nothing more until somebody calls [`Scripted::go_on`].
    Hold,
}

/// A provider that plays the same cues for every call. Cues before the first event come before the
/// stream is handed out.
pub(crate) struct Scripted {
    cues: Vec<Cue>,
    asked: Mutex<Vec<(Request, CallCx)>>,
    go_on: watch::Sender<bool>,
    running: watch::Sender<usize>,
    /// If it speaks a wire by bytes: which, and what it answers.
    bytes: Option<(Wire, Chunks)>,
    sent: Mutex<Vec<(String, HeaderMap, Bytes)>>,
}

/// An answer by bytes, chunk by chunk.
pub(crate) type Chunks = http::Response<Vec<Result<Bytes, Error>>>;

/// Counts a call for as long as it runs.
struct Running(watch::Sender<usize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

impl Scripted {
    pub(crate) fn new(cues: impl Into<Vec<Cue>>) -> Self {
        Self {
            cues: cues.into(),
            asked: Mutex::default(),
            go_on: watch::Sender::new(false),
            running: watch::Sender::new(0),
            bytes: None,
            sent: Mutex::default(),
        }
    }

    /// This provider, which also speaks a wire by bytes.
    pub(crate) fn with_bytes(mut self, wire: Wire, answer: Chunks) -> Self {
        self.bytes = Some((wire, answer));
        self
    }

    pub(crate) fn asked(&self) -> Vec<(Request, CallCx)> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn sent(&self) -> Vec<(String, HeaderMap, Bytes)> {
        self.sent.lock().unwrap().clone()
    }

    pub(crate) fn go_on(&self) {
        self.go_on.send_replace(true);
    }

    /// Waits until this many calls run.
    pub(crate) async fn wait_running(&self, count: usize) {
        self.running.subscribe().wait_for(|running| *running == count).await.unwrap();
    }

    fn begin(&self, request: Request, cx: &CallCx) -> Running {
        self.asked.lock().unwrap().push((request, cx.clone()));
        self.running.send_modify(|running| *running += 1);
        Running(self.running.clone())
    }
}

/// The next event, after whatever comes before it.
async fn next(
    cues: &mut VecDeque<Cue>,
    go_on: &mut watch::Receiver<bool>,
) -> Option<Result<StreamEvent, Error>> {
    loop {
        match cues.pop_front()? {
            Cue::Event(event) => return Some(Ok(*event)),
            Cue::Fail(error) => return Some(Err(error)),
            Cue::Wait(time) => tokio::time::sleep(time).await,
            Cue::Hang => std::future::pending().await,
            Cue::Hold => drop(go_on.wait_for(|go_on| *go_on).await),
        }
    }
}

impl Provider for Scripted {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move { self.stream(request, cx).await?.into_response().await })
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            let running = self.begin(request, cx);
            let mut cues: VecDeque<Cue> = self.cues.clone().into();
            let mut go_on = self.go_on.subscribe();
            let first = match next(&mut cues, &mut go_on).await {
                Some(first) => first?,
                None => return Ok(EventStream::new(stream::empty())),
            };
            let rest = stream::unfold((cues, go_on, running), |(mut cues, mut go_on, running)| async move {
                let item = next(&mut cues, &mut go_on).await?;
                Some((item, (cues, go_on, running)))
            });
            Ok(EventStream::new(stream::iter([Ok(first)]).chain(rest)))
        })
    }

    fn passthrough(&self, wire: Wire) -> Option<&dyn Passthrough> {
        self.bytes.as_ref().filter(|(own, _)| *own == wire).map(|_| self as &dyn Passthrough)
    }
}

impl Passthrough for Scripted {
    fn send<'a>(
        &'a self,
        path: &'a str,
        headers: HeaderMap,
        body: Bytes,
        _cx: &'a CallCx,
    ) -> Fut<'a, Result<http::Response<ByteStream>, Error>> {
        Box::pin(async move {
            self.sent.lock().unwrap().push((path.to_owned(), headers, body));
            let (_, answer) = self.bytes.as_ref().expect("bytes to answer with");
            let mut response = http::Response::builder().status(answer.status());
            *response.headers_mut().unwrap() = answer.headers().clone();
            let bytes: ByteStream = Box::pin(stream::iter(answer.body().clone()));
            Ok(response.body(bytes).unwrap())
        })
    }
}

pub(crate) fn shared(cues: impl Into<Vec<Cue>>) -> Arc<Scripted> {
    Arc::new(Scripted::new(cues))
}

fn event(event: StreamEvent) -> Cue {
    Cue::Event(Box::new(event))
}

pub(crate) fn start() -> Cue {
    event(StreamEvent::StreamStart {
        id: "id-1".into(),
        model: "some-model".into(),
        provider: "scripted".into(),
        origin: None,
        usage: Some(Usage::new(5, 0)),
        warnings: Vec::new(),
        rate_limit: None,
    })
}

pub(crate) fn progress(line: &str) -> Cue {
    event(StreamEvent::Progress { text: line.into() })
}

/// A text, whole.
pub(crate) fn text(said: &str) -> [Cue; 3] {
    let id = SegmentId(0);
    [
        event(StreamEvent::TextStart { id }),
        event(StreamEvent::TextDelta { id, text: said.into() }),
        event(StreamEvent::TextEnd { id, raw: None }),
    ]
}

pub(crate) fn finish() -> Cue {
    event(StreamEvent::Finish {
        reason: FinishReason::new(Finish::Stop),
        usage: Usage::new(5, 2),
        response: None,
    })
}

/// A start, these cues, a text and the end.
pub(crate) fn answer(before: impl IntoIterator<Item = Cue>, said: &str) -> Vec<Cue> {
    let mut cues = vec![start()];
    cues.extend(before);
    cues.extend(text(said));
    cues.push(finish());
    cues
}
