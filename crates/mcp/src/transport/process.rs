//! A server that is a process of the environment: one message on each line of its standard input and output.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use junto_env::{Exit, Offered, Output, OutputStream, Process};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::flood::{FLOODED, Flood};
use super::lines::{LONGEST, Line, Lines};
use super::mend;

/// How many messages may wait on either side.
const WAITING: usize = 64;
/// How many messages are held while the server takes none of ours.
const HELD: usize = 1024;
/// How long a server may take to end by itself when its input has ended, and how long when it is asked to.
const LEAVE: Duration = Duration::from_millis(500);
const GRACE: Duration = Duration::from_secs(2);
/// How much of what it says on the side is kept.
const WORDS: usize = 2048;

/// What a server said last beside its messages, and how it ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastWords(Arc<Mutex<Words>>);

#[derive(Debug, Default)]
struct Words {
    said: Vec<u8>,
    ended: Option<String>,
}

impl LastWords {
    fn hear(&self, bytes: &[u8]) {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        words.said.extend_from_slice(bytes);
        let over = words.said.len().saturating_sub(WORDS);
        words.said.drain(..over);
    }

    fn end(&self, how: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).ended.get_or_insert(how);
    }

    /// How it ended, and what it said before that; nothing, if neither is known.
    pub(crate) fn told(&self) -> Option<String> {
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let said = String::from_utf8_lossy(&words.said);
        let said = said.trim();
        match (&words.ended, said.is_empty()) {
            (None, true) => None,
            (Some(ended), true) => Some(ended.clone()),
            (None, false) => Some(format!("it said: {said}")),
            (Some(ended), false) => Some(format!("{ended}; it said: {said}")),
        }
    }
}

/// The transport. The process is owned by a task, which ends and reaps it when the transport is closed or dropped.
pub(crate) struct ProcessTransport {
    to_server: Option<mpsc::Sender<Said>>,
    from_server: mpsc::Receiver<ServerJsonRpcMessage>,
    /// Ends the task.
    end: CancellationToken,
}

impl Drop for ProcessTransport {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

impl ProcessTransport {
    /// Speaks to a process whose input is open. `tasks` owns the task that does it.
    pub(crate) fn new(
        process: Process,
        words: LastWords,
        tasks: &TaskTracker,
        end: CancellationToken,
    ) -> Self {
        let (to_server, outgoing) = mpsc::channel(WAITING);
        let (incoming, from_server) = mpsc::channel(WAITING);
        let pump = Pump {
            process,
            words,
            outgoing,
            incoming,
            unwritten: VecDeque::new(),
            unread: VecDeque::new(),
            lines: Lines::new(LONGEST),
            asked: HashSet::new(),
            idle: Flood::new(),
        };
        tasks.spawn(pump.run(end.clone()));
        Self { to_server: Some(to_server), from_server, end }
    }
}

impl Transport<RoleClient> for ProcessTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let to_server = self.to_server.clone();
        async move {
            let ended = || io::Error::new(io::ErrorKind::BrokenPipe, "the server has ended");
            let said = Said::new(&message)?;
            to_server.ok_or_else(ended)?.send(said).await.map_err(|_| ended())
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.from_server.recv().await
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.to_server = None;
        self.end.cancel();
        Ok(())
    }
}

/// A message of ours, as a line, and what it does to the answers that we wait for.
struct Said {
    line: Vec<u8>,
    asks: Option<RequestId>,
    takes_back: Option<RequestId>,
}

impl Said {
    fn new(message: &ClientJsonRpcMessage) -> io::Result<Self> {
        let mut line = serde_json::to_vec(message).map_err(io::Error::other)?;
        line.push(b'\n');
        let (asks, takes_back) = match message {
            ClientJsonRpcMessage::Request(request) => (Some(request.id.clone()), None),
            ClientJsonRpcMessage::Notification(told) => match &told.notification {
                ClientNotification::CancelledNotification(told) => (None, told.params.request_id.clone()),
                _ => (None, None),
            },
            _ => (None, None),
        };
        Ok(Self { line, asks, takes_back })
    }
}

/// Carries messages between a process and the two channels.
struct Pump {
    process: Process,
    words: LastWords,
    outgoing: mpsc::Receiver<Said>,
    incoming: mpsc::Sender<ServerJsonRpcMessage>,
    unwritten: VecDeque<u8>,
    unread: VecDeque<ServerJsonRpcMessage>,
    lines: Lines,
    /// The requests that it has not answered.
    asked: HashSet<RequestId>,
    /// Counts messages that answer nothing.
    idle: Flood,
}

/// What happened.
enum Happened {
    Said(Output),
    Wrote(usize),
    Ended,
    ToWrite(Said),
    ToDeliver,
    Closed,
}

impl Pump {
    async fn run(mut self, end: CancellationToken) {
        loop {
            match self.next(&end).await {
                Happened::Said(output) if output.stream == OutputStream::Stderr => {
                    self.words.hear(&output.bytes);
                }
                Happened::Said(output) => {
                    if !self.hear(&output.bytes) {
                        self.words.end(format!("{FLOODED}, and was ended"));
                        break;
                    }
                }
                Happened::Wrote(bytes) => drop(self.unwritten.drain(..bytes.min(self.unwritten.len()))),
                Happened::ToWrite(said) => {
                    self.unwritten.extend(said.line);
                    self.asked.extend(said.asks);
                    said.takes_back.map(|id| self.asked.remove(&id));
                }
                Happened::ToDeliver => {}
                Happened::Ended => {
                    let exit = tokio::select! {
                        biased;
                        () = end.cancelled() => break,
                        exit = tokio::time::timeout(GRACE, self.last()) => exit,
                    };
                    if let Ok(Ok(exit)) = exit {
                        self.words.end(format!("it ended ({exit})"));
                    }
                    break;
                }
                Happened::Closed => break,
            }
        }
        let Self { mut process, incoming, unread, .. } = self;
        // What it said before its end is heard.
        let deliver = async {
            for message in unread {
                if incoming.send(message).await.is_err() {
                    break;
                }
            }
        };
        tokio::select! {
            biased;
            () = end.cancelled() => {}
            () = deliver => {}
        }
        drop(incoming);
        // A server ends by itself when nobody speaks to it any more; one that does not is ended.
        if process.close_stdin().await.is_ok() {
            let leaves = async { while let Ok(Some(_)) = process.output().await {} };
            let _ = tokio::time::timeout(LEAVE, leaves).await;
        }
        let _ = process.close(GRACE).await;
    }

    async fn next(&mut self, end: &CancellationToken) -> Happened {
        let Self { process, outgoing, incoming, unwritten, unread, .. } = self;
        let (may_hear, may_write) = (unread.is_empty(), unread.len() < HELD);
        unwritten.make_contiguous();
        let (bytes, _) = unwritten.as_slices();
        let speak = async {
            if !bytes.is_empty() && may_write {
                return match process.offer(bytes).await {
                    Ok(Offered::Took(taken)) => Happened::Wrote(taken),
                    Ok(Offered::Said(output)) => Happened::Said(output),
                    Err(_) => Happened::Ended,
                };
            }
            if !may_hear {
                return std::future::pending().await;
            }
            match process.output().await {
                Ok(Some(output)) => Happened::Said(output),
                Ok(None) | Err(_) => Happened::Ended,
            }
        };
        tokio::select! {
            biased;
            () = end.cancelled() => Happened::Closed,
            place = incoming.reserve(), if !unread.is_empty() => match place {
                Ok(place) => {
                    if let Some(message) = unread.pop_front() {
                        place.send(message);
                    }
                    Happened::ToDeliver
                }
                Err(_) => Happened::Closed,
            },
            line = outgoing.recv(), if unwritten.is_empty() => match line {
                Some(said) => Happened::ToWrite(said),
                None => Happened::Closed,
            },
            happened = speak => happened,
        }
    }

    /// Hears what it said before it took no more of ours, and how it ended.
    async fn last(&mut self) -> junto_env::Result<Exit> {
        while let Ok(Some(output)) = self.process.output().await {
            match output.stream {
                OutputStream::Stderr => self.words.hear(&output.bytes),
                OutputStream::Stdout if self.hear(&output.bytes) => {}
                OutputStream::Stdout => break,
            }
        }
        self.process.wait().await
    }

    /// Takes what the process said; whether that is bearable.
    fn hear(&mut self, bytes: &[u8]) -> bool {
        for line in self.lines.push(bytes) {
            let Some(message) = mend::message(&line) else {
                // Some print on the wrong stream what they would like to be read.
                if let Line::Whole(text) = &line {
                    self.words.hear(text);
                    self.words.hear(b"\n");
                }
                if !self.idle.bears() {
                    return false;
                }
                continue;
            };
            let answers = match &message {
                ServerJsonRpcMessage::Response(answer) => self.asked.remove(&answer.id),
                ServerJsonRpcMessage::Error(error) => {
                    error.id.as_ref().is_some_and(|id| self.asked.remove(id))
                }
                _ => false,
            };
            if !answers && !self.idle.bears() {
                return false;
            }
            self.unread.push_back(message);
        }
        true
    }
}
