//! A server that is a process of the environment: one message on each line of its standard input and output.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use junto_env::{Offered, Output, OutputStream, Process};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::lines::{LONGEST, Lines};
use super::mend;

/// How many messages may wait on either side.
const WAITING: usize = 64;
/// How many messages are held while the server takes none of ours.
const HELD: usize = 1024;
/// How many messages that answer nothing a server may send in a [`WHILE`]. One that sends more does nothing else.
const FLOOD: u32 = 20_000;
const WHILE: Duration = Duration::from_secs(10);
/// How long a server may take to end when its input has ended.
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
    to_server: Option<mpsc::Sender<Vec<u8>>>,
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
            idle: (Instant::now(), 0),
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
            let mut line = serde_json::to_vec(&message).map_err(io::Error::other)?;
            line.push(b'\n');
            to_server.ok_or_else(ended)?.send(line).await.map_err(|_| ended())
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

/// Carries messages between a process and the two channels.
struct Pump {
    process: Process,
    words: LastWords,
    outgoing: mpsc::Receiver<Vec<u8>>,
    incoming: mpsc::Sender<ServerJsonRpcMessage>,
    unwritten: VecDeque<u8>,
    unread: VecDeque<ServerJsonRpcMessage>,
    lines: Lines,
    /// Since when how many messages came that answer nothing.
    idle: (Instant, u32),
}

/// What happened.
enum Happened {
    Said(Output),
    Wrote(usize),
    Ended,
    ToWrite(Vec<u8>),
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
                        let message = "it sent messages without end that answer nothing, and was ended";
                        self.words.end(message.to_owned());
                        break;
                    }
                }
                Happened::Wrote(bytes) => drop(self.unwritten.drain(..bytes.min(self.unwritten.len()))),
                Happened::ToWrite(line) => self.unwritten.extend(line),
                Happened::ToDeliver => {}
                Happened::Ended => {
                    if let Ok(exit) = self.process.wait().await {
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
        let _ = process.close_stdin().await;
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
                Some(line) => Happened::ToWrite(line),
                None => Happened::Closed,
            },
            happened = speak => happened,
        }
    }

    /// Takes what the process said; whether that is bearable.
    fn hear(&mut self, bytes: &[u8]) -> bool {
        for line in self.lines.push(bytes) {
            let Some(message) = mend::message(&line) else {
                // Some print on the wrong stream what they would like to be read.
                if let super::lines::Line::Whole(text) = &line {
                    self.words.hear(text);
                    self.words.hear(b"\n");
                }
                if !self.bears() {
                    return false;
                }
                continue;
            };
            let answers =
                matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_));
            if !answers && !self.bears() {
                return false;
            }
            self.unread.push_back(message);
        }
        true
    }

    /// Counts a message that answers nothing.
    fn bears(&mut self) -> bool {
        let now = Instant::now();
        let (since, count) = &mut self.idle;
        if now.duration_since(*since) > WHILE {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count <= FLOOD
    }
}
