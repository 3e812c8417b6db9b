//! The other end of a tool socket.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use junto_core::{ToolOutcome, ToolSpec};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::lines::{Line, Lines};
use crate::protocol::{self, Hello, Id, Op, Reply, Request, VERSION, Welcome};
use crate::{Error, ErrorKind};

/// The longest line a client reads.
const LONGEST: usize = 64 * 1024 * 1024;
/// How many lines may wait to be sent.
const WAITING_LINES: usize = 16;

/// Calls the tools behind a [`crate::ToolSocket`]. Any number of calls may be made at once; those
/// beyond what the socket takes wait. Dropping a call ends it on the other side; dropping the client
/// ends all.
pub struct ToolClient {
    lines: mpsc::Sender<Vec<u8>>,
    waiting: Arc<Waiting>,
    slots: Semaphore,
    next: AtomicU64,
    longest: usize,
    /// Ends the two tasks that read and write.
    _end: DropGuard,
}

/// Who waits for which reply; none once the connection is over.
#[derive(Default)]
struct Waiting(Mutex<Option<HashMap<u64, oneshot::Sender<Reply>>>>);

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, oneshot::Sender<Reply>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, id: u64) -> Option<oneshot::Sender<Reply>> {
        self.lock().as_mut()?.remove(&id)
    }
}

impl ToolClient {
    /// Connects and shows the token.
    ///
    /// # Errors
    /// `io` if there is no socket, `refused` if it does not let this client in.
    pub async fn connect(path: &Path, token: &str) -> Result<Self, Error> {
        let (read, mut write) = UnixStream::connect(path).await?.into_split();
        // Whoever is turned away at the door may be told so before this is sent.
        let sent = write.write_all(&line(&Hello { v: VERSION, token: token.to_owned() })?).await;
        let mut lines = Lines::new(read, LONGEST);
        let Ok(Line::Whole(first)) = lines.next().await else {
            sent?;
            return Err(Error::closed());
        };
        let Ok(Welcome { calls, line: longest, .. }) = serde_json::from_slice(&first) else {
            let refusal = serde_json::from_slice::<Reply>(&first).ok().and_then(|reply| reply.error);
            let message = refusal.unwrap_or_else(|| "the socket speaks another protocol".to_owned());
            return Err(Error::new(ErrorKind::Refused, message));
        };
        let waiting = Arc::new(Waiting(Mutex::new(Some(HashMap::new()))));
        let end = CancellationToken::new();
        let (sender, queue) = mpsc::channel(WAITING_LINES);
        tokio::spawn(end.clone().run_until_cancelled_owned(receive(lines, Arc::clone(&waiting))));
        tokio::spawn(end.clone().run_until_cancelled_owned(send(write, queue)));
        Ok(Self {
            lines: sender,
            waiting,
            slots: Semaphore::new(calls),
            next: AtomicU64::new(0),
            longest,
            _end: end.drop_guard(),
        })
    }

    /// The tools there are.
    ///
    /// # Errors
    /// `closed` if the connection is over.
    pub async fn list(&self) -> Result<Vec<ToolSpec>, Error> {
        let reply = self.ask(Op::List).await?;
        reply.tools.ok_or_else(|| Error::new(ErrorKind::Protocol, "the answer names no tools"))
    }

    /// Calls a tool, with an object, or with a text if the tool takes free text. What the tool says
    /// about its own failure is an outcome.
    ///
    /// # Errors
    /// `closed` if the connection is over; `protocol` if the call is too large, or was not taken.
    pub async fn call(&self, name: &str, arguments: Value) -> Result<ToolOutcome, Error> {
        let reply = self.ask(Op::Call { name: name.to_owned(), arguments }).await?;
        let Reply { output: Some(output), is_error, images, data, rejected, .. } = reply else {
            return Err(Error::new(ErrorKind::Protocol, "the answer has no output"));
        };
        let is_error = is_error.unwrap_or(false);
        Ok(ToolOutcome { output: output.into(), is_error, images, data, is_rejected: rejected })
    }

    async fn ask(&self, op: Op) -> Result<Reply, Error> {
        let _slot = self.slots.acquire().await.map_err(|_| Error::closed())?;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let request = line(&Request { id: Id::Number(id), op })?;
        // The end of the line does not count.
        if request.len() - 1 > self.longest {
            let message = format!("the call has {} bytes; the socket takes {}", request.len(), self.longest);
            return Err(Error::new(ErrorKind::Protocol, message));
        }
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().as_mut().ok_or_else(Error::closed)?.insert(id, sender);
        let _end = EndOnDrop { client: self, id };
        self.lines.send(request).await.map_err(|_| Error::closed())?;
        let reply = answer.await.map_err(|_| Error::closed())?;
        match reply.error {
            Some(message) if !reply.ok => Err(Error::new(ErrorKind::Protocol, message)),
            _ => Ok(reply),
        }
    }
}

impl std::fmt::Debug for ToolClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolClient").finish_non_exhaustive()
    }
}

/// Ends a call that nobody waits for any more.
struct EndOnDrop<'a> {
    client: &'a ToolClient,
    id: u64,
}

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        // Once it is answered, nobody waits.
        if self.client.waiting.take(self.id).is_none() {
            return;
        }
        if let Ok(line) = line(&Request { id: Id::Number(self.id), op: Op::Cancel }) {
            // If there is no room, the call goes on until the client is dropped.
            let _ = self.client.lines.try_send(line);
        }
    }
}

fn line(message: &impl serde::Serialize) -> Result<Vec<u8>, Error> {
    protocol::line(message).map_err(|e| Error::new(ErrorKind::Protocol, format!("cannot be sent: {e}")))
}

async fn send(mut write: OwnedWriteHalf, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = queue.recv().await {
        if write.write_all(&line).await.is_err() {
            return;
        }
    }
}

async fn receive(mut lines: Lines<OwnedReadHalf>, waiting: Arc<Waiting>) {
    while let Ok(Line::Whole(line)) = lines.next().await {
        let Ok(reply) = serde_json::from_slice::<Reply>(&line) else { break };
        // A reply without an id answers something that this client does not say.
        let Some(Id::Number(id)) = reply.id else { break };
        if let Some(sender) = waiting.take(id) {
            // It may have stopped waiting just now.
            let _ = sender.send(reply);
        }
    }
    // Drops every sender: whoever still waits learns that it is over.
    *waiting.lock() = None;
}
