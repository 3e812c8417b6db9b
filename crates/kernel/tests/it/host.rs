//! A host with tools that do what tests need, and clients to call them.

use std::path::Path;
use std::sync::{Arc, Mutex};

use junto_core::{Fut, Media, ToolCall, ToolHost, ToolKind, ToolOutcome, ToolSpec, Via};
use junto_kernel::{Limits, ToolClient, ToolSocket};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Barrier, watch};

/// How many calls of `meet` must be under way for any of them to return.
pub(crate) const MEETING: usize = 8;

/// Serves `echo`, `odd-name`, `free`, `fail`, `see`, `big`, `meet` and `block`.
pub(crate) struct Host {
    meeting: Barrier,
    pub(crate) calls: Mutex<Vec<(ToolCall, Via)>>,
    /// How many calls of `block` have begun, and how many have been dropped.
    started: watch::Sender<usize>,
    dropped: watch::Sender<usize>,
}

impl Host {
    fn new() -> Self {
        Self {
            meeting: Barrier::new(MEETING),
            calls: Mutex::default(),
            started: watch::Sender::default(),
            dropped: watch::Sender::default(),
        }
    }

    /// Waits until this many calls of `block` have begun.
    pub(crate) async fn started(&self, count: usize) {
        self.started.subscribe().wait_for(|n| *n >= count).await.unwrap();
    }

    /// Waits until this many of them have been dropped.
    pub(crate) async fn dropped(&self, count: usize) {
        self.dropped.subscribe().wait_for(|n| *n >= count).await.unwrap();
    }

    async fn block(&self) -> ToolOutcome {
        struct Dropped<'a>(&'a watch::Sender<usize>);
        impl Drop for Dropped<'_> {
            fn drop(&mut self) {
                self.0.send_modify(|n| *n += 1);
            }
        }
        let _dropped = Dropped(&self.dropped);
        self.started.send_modify(|n| *n += 1);
        std::future::pending().await
    }
}

impl ToolHost for Host {
    fn specs(&self) -> Vec<ToolSpec> {
        let schema =
            json!({"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "integer"}}});
        let tool = |name: &str| ToolSpec::foreign(name, format!("The tool {name}."), schema.clone());
        let free = ToolSpec {
            name: "free".into(),
            description: "Takes free text.".into(),
            kind: ToolKind::Custom { format: None },
        };
        let mut tools: Vec<_> =
            ["echo", "odd-name", "fail", "see", "big", "meet", "block"].into_iter().map(tool).collect();
        tools.push(free);
        tools
    }

    fn call(&self, call: ToolCall, via: Via) -> Fut<'_, ToolOutcome> {
        Box::pin(async move {
            self.calls.lock().unwrap().push((call.clone(), via));
            match call.name.as_str() {
                "echo" | "odd-name" | "free" => ToolOutcome::ok(call.raw_arguments),
                "fail" => ToolOutcome::error("no luck"),
                "see" => ToolOutcome { images: vec![Media::bytes(vec![1, 2, 3])], ..ToolOutcome::ok("look") },
                "big" => {
                    let n = call.arguments["n"].as_u64().unwrap();
                    ToolOutcome::ok("x".repeat(usize::try_from(n).unwrap()))
                }
                "meet" => {
                    self.meeting.wait().await;
                    ToolOutcome::ok("met")
                }
                "block" => self.block().await,
                name => ToolOutcome::error(format!("there is no tool named `{name}`")),
            }
        })
    }
}

/// A socket and its host. The socket lives in a directory of the test's own.
pub(crate) struct Stand {
    pub(crate) socket: ToolSocket,
    pub(crate) host: Arc<Host>,
    pub(crate) dir: TempDir,
}

pub(crate) fn stand() -> Stand {
    stand_within(Limits::default())
}

pub(crate) fn stand_within(limits: Limits) -> Stand {
    let dir = tempfile::tempdir().unwrap();
    let host = Arc::new(Host::new());
    let socket = ToolSocket::serve_within(host.clone(), dir.path(), limits).unwrap();
    Stand { socket, host, dir }
}

impl Stand {
    pub(crate) async fn client(&self) -> ToolClient {
        ToolClient::connect(self.socket.path(), self.socket.token()).await.unwrap()
    }

    /// A connection that was let in and says whatever it is told to.
    pub(crate) async fn raw(&self) -> Raw {
        let mut raw = Raw::connect(self.socket.path()).await;
        raw.say(&json!({"v": 1, "token": self.socket.token()}).to_string()).await;
        assert_eq!(raw.hear().await["v"], 1);
        raw
    }

    /// How many entries are left in the test's directory.
    pub(crate) fn left(&self) -> usize {
        std::fs::read_dir(self.dir.path()).unwrap().count()
    }
}

/// A client that does not know the protocol.
pub(crate) struct Raw {
    pub(crate) write: OwnedWriteHalf,
    pub(crate) read: Lines<BufReader<OwnedReadHalf>>,
}

impl Raw {
    pub(crate) async fn connect(path: &Path) -> Self {
        let (read, write) = UnixStream::connect(path).await.unwrap().into_split();
        Self { write, read: BufReader::new(read).lines() }
    }

    pub(crate) async fn say(&mut self, line: &str) {
        self.write.write_all(line.as_bytes()).await.unwrap();
        self.write.write_all(b"\n").await.unwrap();
    }

    pub(crate) async fn hear(&mut self) -> Value {
        let line = self.read.next_line().await.unwrap().expect("a line");
        serde_json::from_str(&line).unwrap()
    }

    /// The other side has hung up, in good order or not.
    pub(crate) async fn is_over(&mut self) -> bool {
        !matches!(self.read.next_line().await, Ok(Some(_)))
    }
}
