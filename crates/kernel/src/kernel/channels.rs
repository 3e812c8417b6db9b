//! The three sockets of a kernel that are used: what it is asked, what it publishes, and how it is interrupted.

use std::io;
use std::path::Path;

use serde_json::{Value, json};
use uuid::Uuid;

use super::message::{Key, Message, Request};
use super::zmtp::{Kind, Wire};

/// The numbers of a kernel's sockets, which are the ends of their names.
pub(super) const SHELL: u16 = 1;
pub(super) const IOPUB: u16 = 2;
pub(super) const STDIN: u16 = 3;
pub(super) const CONTROL: u16 = 4;
pub(super) const HEARTBEAT: u16 = 5;

/// Where a message came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// An answer.
    Shell,
    /// What is published.
    Published,
    /// An answer to an interrupt.
    Control,
}

/// The connections to a kernel.
pub(super) struct Channels {
    key: Key,
    session: String,
    shell: Wire,
    published: Wire,
    control: Wire,
}

impl Channels {
    /// Connects to a kernel whose sockets are bound, and waits until what it publishes is heard.
    pub(super) async fn connect(sockets: &Path, key: Key) -> io::Result<Self> {
        let at = |number: u16| {
            let mut path = sockets.as_os_str().to_owned();
            path.push(format!("-{number}"));
            path
        };
        let published = Wire::connect(Path::new(&at(IOPUB)), Kind::Subscriber).await?;
        let shell = Wire::connect(Path::new(&at(SHELL)), Kind::Dealer).await?;
        let control = Wire::connect(Path::new(&at(CONTROL)), Kind::Dealer).await?;
        let session = Uuid::new_v4().simple().to_string();
        let mut channels = Self { key, session, shell, published, control };
        channels.settle().await?;
        Ok(channels)
    }

    /// What is published before the kernel knows of us is lost; so it is asked until something is heard. A
    /// kernel that welcomes its listeners has been heard before the first answer.
    async fn settle(&mut self) -> io::Result<()> {
        let mut heard = false;
        while !heard {
            let id = self.ask("kernel_info_request", &json!({})).await?;
            let mut answered = false;
            while !answered || !heard {
                let Some((from, message)) = self.next().await? else {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                };
                heard |= from == From::Published;
                answered |= from == From::Shell && message.parent == id;
                if answered && !heard {
                    // It was too early, or is on its way; asking again costs a millisecond.
                    break;
                }
            }
        }
        Ok(())
    }

    async fn ask(&mut self, kind: &str, content: &Value) -> io::Result<String> {
        let request = Request::new(&self.key, &self.session, kind, content);
        self.shell.send(&request.parts()).await?;
        Ok(request.id)
    }

    /// Has a cell run; gives the id by which what it says is known.
    pub(super) async fn execute(&mut self, code: &str, quiet: bool) -> io::Result<String> {
        let content = json!({
            "code": code, "silent": quiet, "store_history": !quiet, "user_expressions": {},
            "allow_stdin": false, "stop_on_error": false,
        });
        self.ask("execute_request", &content).await
    }

    /// Whether the kernel has hung up, as it does when it dies.
    pub(super) fn is_hung_up(&self) -> bool {
        self.shell.is_hung_up()
    }

    /// Interrupts a cell, also one that has not begun.
    pub(super) async fn interrupt(&mut self, cell: &str) -> io::Result<()> {
        let request = Request::new(&self.key, &self.session, "interrupt_request", &json!({ "cell": cell }));
        self.control.send(&request.parts()).await
    }

    /// The next message; `None` if the kernel has closed a connection. Nothing is lost if the future is
    /// dropped. What is published comes before an answer that came later. A kernel that is about to end is told that
    /// everything has come that it had published.
    pub(super) async fn next(&mut self) -> io::Result<Option<(From, Message)>> {
        let (from, parts) = tokio::select! {
            biased;
            parts = self.published.receive() => (From::Published, parts?),
            parts = self.shell.receive() => (From::Shell, parts?),
            parts = self.control.receive() => (From::Control, parts?),
        };
        let Some(parts) = parts else { return Ok(None) };
        let message = Message::read(&self.key, &parts)?;
        if from == From::Published && message.kind == "last_words" {
            let number = message.content.get("number").and_then(Value::as_u64);
            let heard = Request::new(&self.key, &self.session, "heard_request", &json!({ "number": number }));
            self.control.send_at_once(&heard.parts());
        }
        Ok(Some((from, message)))
    }
}
