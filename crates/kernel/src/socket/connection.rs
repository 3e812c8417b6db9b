//! One client.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use junto_core::{ToolCall, ToolOutcome, Via};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::Shared;
use crate::lines::{Line, Lines};
use crate::protocol::{self, Hello, Id, Op, Refusal, Reply, Request, VERSION, Welcome};
use crate::tools::NOT_FROM_CODE;

/// How many replies may wait for a client to read; then its requests wait too.
const WAITING_REPLIES: usize = 4;

/// Serves a client until it goes. Dropping this ends its calls.
pub(super) async fn serve(stream: UnixStream, shared: &Shared) {
    let limits = &shared.limits;
    let (read, mut write) = stream.into_split();
    let mut lines = Lines::new(read, limits.line);
    let greeting = match tokio::time::timeout(limits.handshake, greet(&mut lines, shared)).await {
        Ok(Ok(welcome)) => protocol::line(&welcome).unwrap_or_default(),
        Ok(Err(refusal)) => return refuse(write, &refusal, limits.reply).await,
        Err(_) => return refuse(write, "the token did not come in time", limits.reply).await,
    };
    if write.write_all(&greeting).await.is_err() {
        return;
    }
    let (replies, queue) = mpsc::channel(WAITING_REPLIES);
    // Whichever side ends first, the client is gone; what the other one has under way is dropped.
    tokio::select! {
        () = Session { shared, replies, running: FuturesUnordered::new(), ids: HashMap::new() }.run(lines) => {}
        _ = write_all(write, queue, limits.reply) => {}
    }
}

async fn refuse(mut write: OwnedWriteHalf, message: &str, most: usize) {
    let _ = write.write_all(&protocol::reply_line(Reply::error(None, message), most)).await;
}

/// Reads the first line; says why the client may not come in.
async fn greet(lines: &mut Lines<OwnedReadHalf>, shared: &Shared) -> Result<Welcome, String> {
    let form = || format!("the first line must be {{\"v\":{VERSION},\"token\":\"…\"}}");
    let Ok(Line::Whole(line)) = lines.next().await else { return Err(form()) };
    // What the line holds may be somebody's token and is not repeated.
    let hello: Hello = serde_json::from_slice(&line).map_err(|_| form())?;
    if hello.v != VERSION {
        return Err(format!("version {} of the protocol is not spoken here, only {VERSION}", hello.v));
    }
    if !is_same(hello.token.as_bytes(), shared.token.as_bytes()) {
        return Err("the token is wrong".to_owned());
    }
    Ok(Welcome { v: VERSION, calls: shared.limits.calls, line: shared.limits.line })
}

/// Compares without telling by its time how much was right.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (x, y)| difference | (x ^ y)) == 0
}

async fn write_all(
    mut write: OwnedWriteHalf,
    mut queue: mpsc::Receiver<Reply>,
    most: usize,
) -> io::Result<()> {
    while let Some(reply) = queue.recv().await {
        write.write_all(&protocol::reply_line(reply, most)).await?;
    }
    Ok(())
}

/// A client that was let in.
struct Session<'a> {
    shared: &'a Shared,
    replies: mpsc::Sender<Reply>,
    /// The calls under way; dropped with the session.
    running: FuturesUnordered<BoxFuture<'a, (Id, Reply)>>,
    /// What ends each of them.
    ids: HashMap<Id, CancellationToken>,
}

impl Session<'_> {
    async fn run(mut self, mut lines: Lines<OwnedReadHalf>) {
        loop {
            let reply = tokio::select! {
                line = lines.next() => match line {
                    Ok(Line::Whole(line)) => self.take(&line),
                    Ok(Line::TooLong) => {
                        let most = self.shared.limits.line;
                        Some(Reply::error(None, format!("the line is longer than {most} bytes")))
                    }
                    Ok(Line::End) | Err(_) => return,
                },
                Some((id, reply)) = self.running.next() => {
                    self.ids.remove(&id);
                    Some(reply)
                }
            };
            if let Some(reply) = reply
                && self.replies.send(reply).await.is_err()
            {
                return;
            }
        }
    }

    /// Does what a line asks for, and gives the answer if there already is one.
    fn take(&mut self, line: &[u8]) -> Option<Reply> {
        let Request { id, op } = match protocol::read_request(line) {
            Ok(request) => request,
            Err(refusal) => return Some(refusal.into()),
        };
        match op {
            Op::List => {
                let tools = self.shared.discovery.host().catalog();
                Some(Reply::tools(id, tools.into_iter().map(|tool| tool.spec).collect()))
            }
            Op::Module { name } => Some(Reply::source(id, self.shared.discovery.module(&name))),
            Op::Categories => Some(Reply::found(id, Ok(self.shared.discovery.categories()))),
            Op::Tools { module } => Some(Reply::found(id, self.shared.discovery.tools(&module))),
            Op::Signature { name } => Some(Reply::found(id, self.shared.discovery.signature(&name))),
            Op::Search { query, limit } => self.search(id, query, limit).err().map(Reply::from),
            Op::Cancel => {
                if let Some(cancel) = self.ids.get(&id) {
                    cancel.cancel();
                }
                None
            }
            Op::Call { name, arguments } => {
                self.start(id, name, arguments, line.len()).err().map(Reply::from)
            }
        }
    }

    /// Searches beside whatever else is asked: a model may be asked what words mean.
    fn search(&mut self, id: Id, query: String, limit: usize) -> Result<(), Refusal> {
        self.is_free(&id)?;
        let cancel = self.begin(&id);
        let discovery = &self.shared.discovery;
        self.running.push(Box::pin(async move {
            let reply = tokio::select! {
                biased;
                () = cancel.cancelled() => Reply::error(Some(id.clone()), "the call was cancelled"),
                found = discovery.search(&query, limit) => Reply::found(id.clone(), found),
            };
            (id, reply)
        }));
        Ok(())
    }

    /// Whether something that takes a while can begin under this id.
    fn is_free(&self, id: &Id) -> Result<(), Refusal> {
        let most = self.shared.limits.calls;
        if self.ids.len() >= most {
            let message = format!("too many calls at a time: there may be {most}");
            return Err(Refusal::new(Some(id.clone()), message));
        }
        if self.ids.contains_key(id) {
            return Err(Refusal::new(Some(id.clone()), "a call with this id is under way"));
        }
        Ok(())
    }

    /// Notes it, and gives what ends it.
    fn begin(&mut self, id: &Id) -> CancellationToken {
        let cancel = CancellationToken::new();
        self.ids.insert(id.clone(), cancel.clone());
        cancel
    }

    fn start(&mut self, id: Id, name: String, arguments: Value, bytes: usize) -> Result<(), Refusal> {
        self.is_free(&id)?;
        if NOT_FROM_CODE.contains(&name.as_str()) {
            return Err(Refusal::new(
                Some(id),
                format!("`{name}` cannot be called from code: it runs the code"),
            ));
        }
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let Ok(room) = Arc::clone(&self.shared.room).try_acquire_many_owned(bytes) else {
            let most = self.shared.limits.under_way;
            let message = format!("the calls under way have more than {most} bytes together: wait for some");
            return Err(Refusal::new(Some(id), message));
        };
        let call_id = format!("cell-{}", Uuid::new_v4().simple());
        let call = match arguments {
            Value::String(input) => ToolCall::custom(call_id, name, input),
            Value::Object(_) => ToolCall::function(call_id, name, arguments.to_string()),
            _ => return Err(Refusal::new(Some(id), "`arguments` must be an object, or a text")),
        };
        let cancel = self.begin(&id);
        let (host, most) = (self.shared.discovery.host(), self.shared.limits.reply);
        self.running.push(Box::pin(async move {
            let _room = room;
            let reply = tokio::select! {
                biased;
                () = cancel.cancelled() => Reply::error(Some(id.clone()), "the call was cancelled"),
                outcome = host.call(call, Via::Cell) => reply(id.clone(), outcome, most).await,
            };
            (id, reply)
        }));
        Ok(())
    }
}

/// The answer that an outcome gives. The whole of it, or an error: code that reads it cannot be left with
/// a part it takes for the whole.
async fn reply(id: Id, outcome: ToolOutcome, most: usize) -> Reply {
    let ToolOutcome { output, is_error, images, data, is_rejected } = outcome;
    if let Some(fault) = output.fault() {
        return Reply::error(Some(id), format!("the output is lost: {fault}"));
    }
    if output.bytes() > most as u64 {
        let bytes = output.bytes();
        return Reply::error(
            Some(id),
            format!("the answer has {bytes} bytes, more than the {most} that can be sent"),
        );
    }
    match output.text(most as u64).await {
        Ok(text) => {
            Reply { is_error: Some(is_error), images, data, rejected: is_rejected, ..Reply::output(id, text) }
        }
        Err(error) => Reply::error(Some(id), format!("the output is lost: {error}")),
    }
}
