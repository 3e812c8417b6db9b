//! The life of one server: started when it is wanted, started again when it has ended and is called, ended with the hub.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, Line, Means, connect};
use super::shelf::Shelf;
use crate::config::ServerConfig;

/// How many starts in a row may fail before nobody tries any more.
const TRIES: u32 = 3;
/// How often the tools are listed anew at most, whatever the server says.
const RELIST: Duration = Duration::from_millis(500);

/// How a server stands, and after how many starts.
#[derive(Clone)]
pub(super) struct State {
    pub(super) starts: u64,
    pub(super) phase: Phase,
}

/// How a server stands.
#[derive(Clone)]
pub(super) enum Phase {
    /// Nobody has wanted it yet.
    Asleep,
    /// It is being started.
    Starting,
    /// It can be called.
    Up(Line),
    /// It ended, or could not be started; why.
    Down(Arc<str>),
    /// It could not be started often enough; why.
    GivenUp(Arc<str>),
}

impl State {
    /// Whether it may yet be up.
    pub(super) fn is_coming(&self) -> bool {
        matches!(self.phase, Phase::Asleep | Phase::Starting)
    }
}

/// A server.
pub(super) struct Server {
    /// Which of the configuration it is.
    pub(super) place: usize,
    pub(super) config: ServerConfig,
    pub(super) state: watch::Sender<State>,
    /// Somebody wants it.
    wanted: Notify,
}

impl Server {
    pub(super) fn new(place: usize, config: ServerConfig) -> Self {
        let state = watch::Sender::new(State { starts: 0, phase: Phase::Asleep });
        Self { place, config, state, wanted: Notify::new() }
    }

    /// Whether it may yet bring tools.
    pub(super) fn is_coming(&self) -> bool {
        self.state.borrow().is_coming()
    }

    /// Waits until it is up, or down. Wakes nobody.
    pub(super) async fn settled(&self) {
        let mut state = self.state.subscribe();
        let _ = state.wait_for(|state| !state.is_coming()).await;
    }

    /// The line to it; starts it again if it is down.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub(super) async fn line(&self) -> Result<Line, String> {
        let mut state = self.state.subscribe();
        let State { starts, phase } = state.borrow_and_update().clone();
        // Which start it is that counts.
        let counts = match phase {
            Phase::Up(line) if line.is_open() => return Ok(line),
            Phase::GivenUp(_) | Phase::Starting => starts,
            Phase::Asleep => 1,
            Phase::Up(_) | Phase::Down(_) => {
                self.wanted.notify_one();
                starts + 1
            }
        };
        let over = |state: &State| match &state.phase {
            Phase::Up(line) => line.is_open(),
            Phase::GivenUp(_) => true,
            Phase::Down(_) => state.starts >= counts,
            Phase::Asleep | Phase::Starting => false,
        };
        let state = state.wait_for(over).await.map(|state| state.phase.clone());
        match state {
            Ok(Phase::Up(line)) => Ok(line),
            Ok(Phase::Down(why) | Phase::GivenUp(why)) => {
                Err(format!("the server {} is not there: {why}", self.config.name))
            }
            _ => Err("the servers are being ended".to_owned()),
        }
    }

    /// Keeps it until the end.
    pub(super) async fn keep(self: Arc<Self>, means: Means, shelf: Arc<Shelf>, end: CancellationToken) {
        let (mut failures, mut starts) = (0, 0);
        loop {
            starts += 1;
            let set = |phase| self.set(State { starts, phase }, &shelf);
            set(Phase::Starting);
            let started = tokio::select! {
                biased;
                () = end.cancelled() => break,
                started = self.start(&means) => started,
            };
            let why = match started {
                Ok((connection, tools)) => {
                    failures = 0;
                    shelf.put(&self, &tools, &connection.line);
                    set(Phase::Up(connection.line.clone()));
                    match self.attend(connection, &shelf, &end).await {
                        Some(why) => why,
                        None => break,
                    }
                }
                Err(why) => {
                    failures += 1;
                    why
                }
            };
            let given_up = failures >= TRIES;
            let why = why.into();
            set(if given_up { Phase::GivenUp(why) } else { Phase::Down(why) });
            tokio::select! {
                biased;
                () = end.cancelled() => break,
                () = self.wanted.notified(), if !given_up => {}
            }
        }
    }

    async fn start(&self, means: &Means) -> Result<(Connection, Vec<rmcp::model::Tool>), String> {
        let within = self.config.start_within;
        let start = async {
            let connection = connect(&self.config, means).await?;
            let tools = connection.line.tools(within).await?;
            Ok((connection, tools))
        };
        let late = |_| format!("it could not be used within {within:?}");
        tokio::time::timeout(within, start).await.map_err(late)?
    }

    /// Lists its tools anew when it says so, until it has ended; says why it did, or nothing if all ends.
    async fn attend(
        self: &Arc<Self>,
        connection: Connection,
        shelf: &Shelf,
        end: &CancellationToken,
    ) -> Option<String> {
        let Connection { service, line } = connection;
        let over = service.waiting();
        let relist = async {
            loop {
                line.ear.tools_changed().await;
                // What it lists wrongly now is no reason to forget what it listed before.
                if let Ok(tools) = line.tools(self.config.answer_within).await {
                    shelf.put(self, &tools, &line);
                }
                tokio::time::sleep(RELIST).await;
            }
        };
        // A server that does not list its tools keeps nobody from ending it, or from seeing that it has ended.
        tokio::select! {
            biased;
            () = end.cancelled() => None,
            _ = over => Some(line.words.told().unwrap_or_else(|| "the connection has ended".to_owned())),
            () = relist => None,
        }
    }

    fn set(&self, state: State, shelf: &Shelf) {
        self.state.send_replace(state);
        shelf.stir();
    }
}
