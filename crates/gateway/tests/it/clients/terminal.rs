//! A client on a terminal, which tmux shows: keys go in, and what a person would see is looked at.
//!
//! tmux runs in its control mode, in which it takes commands on standard input and tells when the screen has changed,
//! so that nobody need look in vain.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use junto_env::{CommandSpec, ExecutionEnvironment as _, OutputStream, Process, Stdin};
use tokio::time::Instant;

use super::client;
use super::desk::{Desk, LONG};

/// A terminal with a client on it. Dropping it ends both.
pub(crate) struct Terminal {
    tmux: Process,
    /// What tmux has said and nobody has read.
    lines: VecDeque<String>,
    /// A line that has not ended.
    rest: Vec<u8>,
    /// The screen as it was when it was last looked at.
    screen: String,
}

impl Terminal {
    /// Starts the desk's client on a terminal of its own.
    pub(crate) async fn open(desk: &Desk) -> Self {
        let tmux = std::env::var("JUNTO_PEER_TMUX")
            .expect("JUNTO_PEER_TMUX is not set: run the tests with `cargo xtask test`");
        let socket = desk.beside("tmux");
        let socket = Path::to_str(&socket).unwrap();
        let mut command =
            [&tmux, "-u", "-f", "/dev/null", "-S", socket, "-C", "new-session"].map(str::to_owned).to_vec();
        command.extend(["-x", "120", "-y", "40"].map(str::to_owned));
        command.extend(client::screen(desk.who));
        let command = CommandSpec {
            variables: desk.variables(),
            inherits: false,
            stdin: Stdin::Open,
            ..CommandSpec::argv(command)
        };
        let tmux = desk.env.spawn(command).await.unwrap();
        let mut terminal = Self { tmux, lines: VecDeque::new(), rest: Vec::new(), screen: String::new() };
        // What starting the session says comes before any answer.
        terminal.answer().await;
        terminal.ask("refresh-client -C 120x40").await;
        terminal
    }

    /// Waits until the screen shows this.
    pub(crate) async fn shows(&mut self, text: &str) {
        let shown = self.until(|screen| screen.contains(text), LONG).await;
        assert!(shown, "the screen does not show {text:?}:\n{}", self.screen);
    }

    /// Says yes to a question, once it is there. It does not listen from its first moment on, so that somebody who
    /// types does not say yes unawares: as a person would, this presses the key again if nothing has come of it. A
    /// key too many changes nothing.
    pub(crate) async fn confirm(&mut self, question: &str) {
        self.shows(question).await;
        for _ in 0..LONG.as_secs() {
            self.press("Enter").await;
            if self.until(|screen| !screen.contains(question), Duration::from_secs(1)).await {
                return;
            }
        }
        panic!("nobody takes the yes:\n{}", self.screen);
    }

    /// Looks whenever the screen has changed, for so long.
    async fn until(&mut self, holds: impl Fn(&str) -> bool, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        loop {
            self.screen = self.ask("capture-pane -p").await.join("\n");
            if holds(&self.screen) {
                return true;
            }
            // An answer that was asked for is always read to its end: the next would be taken for it.
            let changed = async { while !self.line().await.starts_with("%output") {} };
            if tokio::time::timeout_at(deadline, changed).await.is_err() {
                return false;
            }
        }
    }

    /// Types a line. The last key waits until the others are seen: in one piece they would count as pasted.
    pub(crate) async fn enter(&mut self, text: &str) {
        self.ask(&format!("send-keys -l \"{text}\"")).await;
        self.shows(text).await;
        self.press("Enter").await;
    }

    /// Presses a key.
    pub(crate) async fn press(&mut self, key: &str) {
        self.ask(&format!("send-keys {key}")).await;
    }

    /// Waits until the client has ended, and tmux with it.
    pub(crate) async fn ends(mut self) {
        let ended = tokio::time::timeout(LONG, async {
            while !self.line().await.starts_with("%exit") {}
            self.tmux.wait().await.unwrap()
        });
        let Ok(exit) = ended.await else { panic!("it does not end:\n{}", self.screen) };
        assert!(exit.success(), "{exit}");
    }

    /// What tmux answers to a command.
    async fn ask(&mut self, command: &str) -> Vec<String> {
        self.tmux.write(format!("{command}\n").as_bytes()).await.unwrap();
        self.answer().await
    }

    /// The next answer; what tmux tells of by itself is passed over.
    async fn answer(&mut self) -> Vec<String> {
        let begin = loop {
            let line = self.line().await;
            if let Some(number) = line.strip_prefix("%begin ") {
                break number.to_owned();
            }
        };
        let mut answer = Vec::new();
        loop {
            let line = self.line().await;
            if line == format!("%end {begin}") {
                return answer;
            }
            assert_ne!(line, format!("%error {begin}"), "{answer:?}");
            answer.push(line);
        }
    }

    async fn line(&mut self) -> String {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return line;
            }
            let piece = tokio::time::timeout(LONG, self.tmux.output()).await.expect("tmux says something");
            let piece = piece.unwrap().unwrap_or_else(|| panic!("tmux has gone:\n{}", self.screen));
            let is_error = piece.stream == OutputStream::Stderr;
            assert!(!is_error, "tmux: {}", String::from_utf8_lossy(&piece.bytes));
            for byte in piece.bytes {
                if byte == b'\n' {
                    self.lines
                        .push_back(String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned());
                } else {
                    self.rest.push(byte);
                }
            }
        }
    }
}
