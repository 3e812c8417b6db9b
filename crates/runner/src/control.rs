//! Commands that are spoken with while they work.
//!
//! A command that reads messages on its standard input for as long as it works can be steered, and interrupted
//! without a signal. What is said in which words is the protocol's ([`claude`]); that it is said without waiting
//! for a process that does not listen, and that the input ends when everything is said, is done here.

mod claude;

use junto_env::{Offered, Output, Process};

use self::claude::Claude;
use crate::{Definition, Line, SteerProtocol};

/// What is said to a process while it works.
pub(crate) struct Dialogue {
    protocol: Claude,
    /// What is to be said.
    outbox: Vec<u8>,
    /// How much of it was taken.
    taken: usize,
    input: Input,
}

/// What is known of a process's standard input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    Open,
    /// Nothing is to be said after what is in the outbox.
    Ending,
    Closed,
}

impl Dialogue {
    /// How a command is spoken with; `None` if it is not.
    pub(crate) fn with(definition: &Definition) -> Option<Self> {
        let protocol = match definition.steer.protocol? {
            SteerProtocol::ClaudeStreamJson => Claude::default(),
        };
        Some(Self { protocol, outbox: Vec::new(), taken: 0, input: Input::Open })
    }

    /// Says what the work is.
    pub(crate) fn begin(&mut self, prompt: &str) {
        self.protocol.begin(prompt, &mut self.outbox);
    }

    /// Says something more; whether it still can be said.
    pub(crate) fn steer(&mut self, text: &str) -> bool {
        let open = self.input == Input::Open;
        if open {
            Claude::steer(text, &mut self.outbox);
        }
        open
    }

    /// Says that the turn is to end; whether it still can be said.
    pub(crate) fn interrupt(&mut self) -> bool {
        let open = self.input == Input::Open;
        if open {
            self.protocol.interrupt(&mut self.outbox);
        }
        open
    }

    /// Answers what is asked in a line.
    pub(crate) fn hear(&mut self, line: Line<'_>) {
        if let (Line::Whole(line), Input::Open) = (line, self.input) {
            Claude::hear(line, &mut self.outbox);
        }
    }

    /// Nothing more is said.
    pub(crate) fn end(&mut self) {
        if self.input == Input::Open {
            self.input = Input::Ending;
        }
    }

    /// Says what there is to say. If the process says something first, that comes back. Nothing is lost if the
    /// future is dropped.
    pub(crate) async fn speak(&mut self, process: &mut Process) -> Option<Output> {
        while let Some(rest) = self.outbox.get(self.taken..).filter(|rest| !rest.is_empty()) {
            match process.offer(rest).await {
                Ok(Offered::Took(taken)) => self.taken += taken,
                Ok(Offered::Said(piece)) => return Some(piece),
                // It does not listen any more. What it printed tells why.
                Err(_) => {
                    self.input = Input::Closed;
                    self.taken = self.outbox.len();
                }
            }
        }
        self.outbox.clear();
        self.taken = 0;
        if self.input == Input::Ending {
            self.input = Input::Closed;
            let _ = process.close_stdin().await;
        }
        None
    }
}
