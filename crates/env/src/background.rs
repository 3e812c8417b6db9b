//! Commands that run while their owner does something else.
//!
//! A [`Background`] reads what a process says as it comes, so that the process never waits for a
//! reader, and keeps the last of it. Whoever wants to know asks from a position on, and is told what
//! is new, what of it was too much to keep, and whether the process still runs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::characters::Interleave;
use crate::{Error, ErrorKind, Exit, GRACE, Offered, Output, Process, Result, TerminalSize};

/// How many bytes are kept of what a process said last.
const KEPT: usize = 1 << 20;

/// How many requests of each kind wait before whoever makes one does.
const REQUESTS: usize = 8;

/// A process in the background. Dropping it kills the whole tree, as soon as the runtime gets to it.
pub struct Background {
    id: u32,
    shared: Arc<Shared>,
    input: mpsc::Sender<Input>,
    signals: mpsc::Sender<Signal>,
    /// The position up to which [`Background::news`] has told.
    told: Mutex<u64>,
    /// Owns the process, and reads it. Ended when this is dropped.
    task: JoinHandle<()>,
}

/// What a process has said since a position, and how it stands.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// What is new, both streams in the order they came. Bytes that are no text are replaced.
    pub text: String,
    /// How many bytes before the text were new as well and are no longer kept.
    pub dropped: u64,
    /// The position after the text, to ask from next time.
    pub next: u64,
    /// Whether it runs.
    pub state: State,
    /// How long it has run, or ran.
    pub duration: Duration,
}

/// Whether a process runs.
#[derive(Clone, Debug)]
pub enum State {
    /// It does.
    Running,
    /// It ended, and with it everything it had started.
    Ended(Exit),
    /// It was lost: the environment could not say how it ended.
    Failed(Error),
}

impl State {
    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Running)
    }
}

impl Background {
    /// Takes a process over. Must be called within a runtime.
    pub fn new(process: Process) -> Self {
        let (input, inputs) = mpsc::channel(REQUESTS);
        let (signal, signals) = mpsc::channel(REQUESTS);
        let shared = Arc::new(Shared {
            started: Instant::now(),
            said: Mutex::default(),
            progress: watch::Sender::new(Progress::default()),
            ending: watch::Sender::new(None),
        });
        let id = process.id();
        let keeper = Keeper {
            shared: Arc::clone(&shared),
            interleave: Interleave::default(),
            pending: None,
            silent: false,
        };
        let ending = shared.ending.subscribe();
        let task = tokio::spawn(keeper.keep(process, inputs, signals, ending));
        Self { id, shared, input, signals: signal, told: Mutex::default(), task }
    }

    /// The process's id on its host, for people.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.shared.progress.borrow().end.is_none()
    }

    /// What it has said from a position on, 0 being its first byte, and how it stands now.
    pub fn poll(&self, since: u64) -> Snapshot {
        // Before the text: what has ended says nothing more.
        let end = self.shared.progress.borrow().end.clone();
        let (text, dropped, next) = self.shared.said().since(since);
        let (state, duration) = match end {
            None => (State::Running, self.shared.started.elapsed()),
            Some(End { outcome: Ok(exit), duration }) => (State::Ended(exit), duration),
            Some(End { outcome: Err(error), duration }) => (State::Failed(error), duration),
        };
        Snapshot { text, dropped, next, state, duration }
    }

    /// What it has said since this was last asked, so that everything is told once, and how it stands
    /// now.
    pub fn news(&self) -> Snapshot {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = self.poll(*told);
        *told = snapshot.next;
        snapshot
    }

    /// The position up to which [`news`](Self::news) has told.
    pub fn told(&self) -> u64 {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it has said from a position on, once there is something after it, or the process has ended, or the time
    /// is up.
    pub async fn wait_for_output(&self, since: u64, limit: Duration) -> Snapshot {
        self.wait(limit, |progress| progress.position > since || progress.end.is_some()).await;
        self.poll(since)
    }

    /// The same, once the process has ended or the time is up.
    pub async fn wait_for_end(&self, since: u64, limit: Duration) -> Snapshot {
        self.wait(limit, |progress| progress.end.is_some()).await;
        self.poll(since)
    }

    async fn wait(&self, limit: Duration, until: impl FnMut(&Progress) -> bool) {
        let mut progress = self.shared.progress.subscribe();
        // Nobody can be waiting for a sender that is gone: it lives as long as this.
        let _ = timeout(limit, progress.wait_for(until)).await;
    }

    /// Writes to its standard input, and waits until all is taken. If the future is dropped, what is
    /// not taken yet is not written.
    ///
    /// # Errors
    /// What the system says; `Unsupported` if its input is not open; `NotFound` if it has ended.
    pub async fn write(&self, text: impl Into<Bytes>) -> Result<()> {
        let (done, answer) = oneshot::channel();
        self.ask(&self.input, Input::Write(text.into(), done), answer).await
    }

    /// Ends its standard input, after what is being written.
    ///
    /// # Errors
    /// What the system says; `NotFound` if it has ended.
    pub async fn close_stdin(&self) -> Result<()> {
        let (done, answer) = oneshot::channel();
        self.ask(&self.input, Input::Close(done), answer).await
    }

    /// Sends SIGINT to it, as a terminal would.
    ///
    /// # Errors
    /// What the system says; `NotFound` if it has ended.
    pub async fn interrupt(&self) -> Result<()> {
        let (done, answer) = oneshot::channel();
        self.ask(&self.signals, Signal::Interrupt(done), answer).await
    }

    /// Gives its terminal another size.
    ///
    /// # Errors
    /// What the system says; `Unsupported` if it has no terminal; `NotFound` if it has ended.
    pub async fn resize(&self, size: TerminalSize) -> Result<()> {
        let (done, answer) = oneshot::channel();
        self.ask(&self.signals, Signal::Resize(size, done), answer).await
    }

    /// Asks the whole tree to end, kills what is left after the grace, and tells how the process
    /// ended. What it said stays readable.
    ///
    /// # Errors
    /// What the system says.
    pub async fn end(&self, grace: Duration) -> Result<Exit> {
        self.ask_to_end(grace);
        let mut progress = self.shared.progress.subscribe();
        let ended = progress.wait_for(|progress| progress.end.is_some()).await;
        match ended.ok().and_then(|progress| progress.end.clone()) {
            Some(end) => end.outcome,
            None => Err(self.gone()),
        }
    }

    /// The same without waiting.
    pub(crate) fn ask_to_end(&self, grace: Duration) {
        self.shared.ending.send_replace(Some(grace));
    }

    async fn ask<T>(
        &self,
        to: &mpsc::Sender<T>,
        request: T,
        answer: oneshot::Receiver<Result<()>>,
    ) -> Result<()> {
        to.send(request).await.map_err(|_| self.gone())?;
        answer.await.map_err(|_| self.gone())?
    }

    fn gone(&self) -> Error {
        Error::new(ErrorKind::NotFound, format!("process {}", self.id), "it has ended")
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What the owner and the task share.
struct Shared {
    started: Instant,
    said: Mutex<Said>,
    progress: watch::Sender<Progress>,
    /// Set once the process is to end, with its grace.
    ending: watch::Sender<Option<Duration>>,
}

impl Shared {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far a process has come.
#[derive(Default)]
struct Progress {
    /// How many bytes it has said.
    position: u64,
    end: Option<End>,
}

#[derive(Clone)]
struct End {
    outcome: Result<Exit>,
    duration: Duration,
}

/// The last of what was said.
#[derive(Default)]
struct Said {
    bytes: VecDeque<u8>,
    /// The position after the last byte.
    position: u64,
}

impl Said {
    fn push(&mut self, bytes: &[u8]) {
        self.position += bytes.len() as u64;
        let kept = &bytes[bytes.len().saturating_sub(KEPT)..];
        let excess = (self.bytes.len() + kept.len()).saturating_sub(KEPT);
        self.bytes.drain(..excess);
        self.bytes.extend(kept);
    }

    /// The text from a position on, how much before it is lost, and the position after it.
    fn since(&self, since: u64) -> (String, u64, u64) {
        let first = self.position - self.bytes.len() as u64;
        let start = since.clamp(first, self.position);
        let skip = usize::try_from(start - first).unwrap_or(self.bytes.len());
        let bytes: Vec<u8> = self.bytes.range(skip..).copied().collect();
        (crate::characters::text(bytes), start.saturating_sub(since), self.position)
    }
}

type Answer = oneshot::Sender<Result<()>>;

enum Input {
    Write(Bytes, Answer),
    Close(Answer),
}

enum Signal {
    Interrupt(Answer),
    Resize(TerminalSize, Answer),
}

/// What happens next.
enum Event {
    End(Duration),
    Signal(Signal),
    Input(Input),
    Abandoned,
    Offered(Result<Offered>),
    Said(Result<Option<Output>>),
    Exit(Result<Exit>),
}

/// Owns the process and does what is asked.
struct Keeper {
    shared: Arc<Shared>,
    interleave: Interleave,
    /// What is being written, and who waits for it.
    pending: Option<(Bytes, Answer)>,
    /// Set once it has nothing more to say.
    silent: bool,
}

impl Keeper {
    async fn keep(
        mut self,
        mut process: Process,
        mut inputs: mpsc::Receiver<Input>,
        mut signals: mpsc::Receiver<Signal>,
        mut ending: watch::Receiver<Option<Duration>>,
    ) {
        let (ended, grace) = loop {
            let event = tokio::select! {
                biased;
                grace = asked_to_end(&mut ending) => Event::End(grace),
                Some(signal) = signals.recv() => Event::Signal(signal),
                Some(input) = inputs.recv(), if self.pending.is_none() => Event::Input(input),
                event = self.next(&mut process) => event,
            };
            match event {
                Event::End(grace) => break (None, grace),
                Event::Signal(Signal::Interrupt(done)) => drop(done.send(process.interrupt())),
                Event::Signal(Signal::Resize(size, done)) => drop(done.send(process.resize(size))),
                Event::Input(Input::Write(bytes, done)) => self.pending = Some((bytes, done)),
                Event::Input(Input::Close(done)) => drop(done.send(process.close_stdin().await)),
                Event::Abandoned => self.pending = None,
                Event::Offered(Ok(Offered::Took(taken))) => self.advance(taken),
                Event::Offered(Ok(Offered::Said(piece))) | Event::Said(Ok(Some(piece))) => self.take(&piece),
                Event::Offered(Err(error)) => self.answer(Err(error)),
                // A stream that cannot be read is at its end; how the process ends is told by itself.
                Event::Said(Ok(None) | Err(_)) => self.silent = true,
                Event::Exit(exit) => break (Some((exit, self.shared.started.elapsed())), GRACE),
            }
        };
        if ended.is_none() {
            self.take_rest(&mut process).await;
        }
        let closed = process.close(grace).await;
        let (outcome, duration) = match ended {
            Some((exit, duration)) => (closed.and(exit), duration),
            None => (closed, self.shared.started.elapsed()),
        };
        let Self { shared, mut interleave, .. } = self;
        interleave.finish(|bytes| shared.said().push(bytes));
        let position = shared.said().position;
        shared.progress.send_replace(Progress { position, end: Some(End { outcome, duration }) });
    }

    /// What the process does next.
    async fn next(&mut self, process: &mut Process) -> Event {
        match &mut self.pending {
            Some((bytes, done)) => tokio::select! {
                biased;
                () = done.closed() => Event::Abandoned,
                offered = process.offer(bytes) => Event::Offered(offered),
            },
            None if !self.silent => Event::Said(process.output().await),
            None => Event::Exit(process.wait().await),
        }
    }

    fn advance(&mut self, taken: usize) {
        if let Some((bytes, _)) = &mut self.pending {
            bytes.advance(taken.min(bytes.len()));
            if bytes.is_empty() {
                self.answer(Ok(()));
            }
        }
    }

    fn answer(&mut self, result: Result<()>) {
        if let Some((_, done)) = self.pending.take() {
            // Whoever asked may be gone.
            let _ = done.send(result);
        }
    }

    fn take(&mut self, piece: &Output) {
        let shared = &self.shared;
        self.interleave.push(piece, |bytes| shared.said().push(bytes));
        let position = shared.said().position;
        shared.progress.send_if_modified(|progress| {
            let moved = progress.position != position;
            progress.position = position;
            moved
        });
    }

    /// Takes what has been said and not been read yet, without waiting for more.
    async fn take_rest(&mut self, process: &mut Process) {
        crate::exec::rest(process, |piece| self.take(piece)).await;
    }
}

/// The grace, once the end is asked for.
async fn asked_to_end(ending: &mut watch::Receiver<Option<Duration>>) -> Duration {
    match ending.wait_for(Option::is_some).await.map(|grace| *grace) {
        Ok(Some(grace)) => grace,
        // The owner is gone, and the task is about to be ended.
        _ => std::future::pending().await,
    }
}
