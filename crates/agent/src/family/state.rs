//! What is known of a child: what it was told by its family, and what its events say.

use junto_core::{Body, EndReason, EventError, Payload};

use super::SubagentStatus;

/// A child's state. It works as long as it has inputs that have not ended.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Inputs that it was given and that have not ended.
    open: u32,
    /// Those of them whose `user_input` is still to come. Without counting them before they are sent, a
    /// child would look idle between its parent's order and its own first event.
    announced: u32,
    /// Messages it was sent while it worked and has not read.
    unread: u32,
    /// Model calls.
    turns: u32,
    /// How its last input ended.
    last: Option<Ended>,
    /// Whether its session is over.
    over: bool,
}

/// How an input ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) reason: EndReason,
    pub(crate) text: Payload,
}

/// What is to be done about an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Todo {
    Nothing,
    /// A message came too late to be read: the child must be given another input, which is announced.
    Again,
}

impl State {
    /// An input is about to be sent.
    pub(crate) fn announce(&mut self) {
        self.open = self.open.saturating_add(1);
        self.announced = self.announced.saturating_add(1);
    }

    /// An input that was announced was refused.
    pub(crate) fn withdraw(&mut self) {
        self.open = self.open.saturating_sub(1);
        self.announced = self.announced.saturating_sub(1);
    }

    /// A message is about to be sent to a child that works; whether it does.
    pub(crate) fn address(&mut self) -> bool {
        let working = self.is_running();
        self.unread = self.unread.saturating_add(u32::from(working));
        working
    }

    /// A message was refused.
    pub(crate) fn unaddress(&mut self) {
        self.unread = self.unread.saturating_sub(1);
    }

    /// Takes note of an event of the child.
    pub(crate) fn take(&mut self, body: &Body) -> Todo {
        match body {
            // Others may have given it this input; then it was not announced.
            Body::UserInput { .. } if self.announced > 0 => self.announced -= 1,
            Body::UserInput { .. } => self.open = self.open.saturating_add(1),
            Body::SteeringInjected { .. } => self.unaddress(),
            Body::Call { .. } => self.turns = self.turns.saturating_add(1),
            Body::InputEnd { reason, text } => return self.input_ended(reason, text),
            Body::SessionEnd { .. } => self.end(),
            _ => {}
        }
        Todo::Nothing
    }

    fn input_ended(&mut self, reason: &EndReason, text: &Payload) -> Todo {
        self.open = self.open.saturating_sub(1);
        self.last = Some(Ended { reason: reason.clone(), text: text.clone() });
        if self.open > 0 {
            // The next input reads them.
            return Todo::Nothing;
        }
        if std::mem::take(&mut self.unread) > 0 && reason.is_answer() {
            self.announce();
            return Todo::Again;
        }
        Todo::Nothing
    }

    /// Nothing more will be known of it.
    pub(crate) fn end(&mut self) {
        self.over = true;
        self.open = 0;
        self.announced = 0;
    }

    /// Nothing more can be known of it.
    pub(crate) fn lose(&mut self, error: EventError) {
        self.last = Some(Ended { reason: EndReason::Failed { error }, text: "".into() });
        self.end();
    }

    pub(crate) fn is_running(&self) -> bool {
        self.open > 0
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    pub(crate) fn turns(&self) -> u32 {
        self.turns
    }

    pub(crate) fn last(&self) -> Option<&Ended> {
        self.last.as_ref()
    }

    pub(crate) fn status(&self) -> SubagentStatus {
        match &self.last {
            _ if self.is_running() => SubagentStatus::Running,
            Some(ended) if !ended.reason.is_answer() => SubagentStatus::Failed,
            _ if self.over => SubagentStatus::Closed,
            _ => SubagentStatus::Completed,
        }
    }
}
