//! What a session is doing, for whoever holds its handle.

use std::sync::{Mutex, MutexGuard, PoisonError};

use junto_core::{Plan, SessionState};
use tokio::sync::watch;

/// What a session is doing. Its task says so; the tools it runs show while they ask the user something.
#[derive(Debug)]
pub(crate) struct Status {
    shown: watch::Sender<SessionState>,
    truth: Mutex<Truth>,
    /// What it means to do, as it said last.
    plan: Mutex<Option<Plan>>,
}

#[derive(Debug)]
struct Truth {
    state: SessionState,
    /// Questions of the input under way that wait for an answer.
    questions: usize,
}

impl Truth {
    fn shown(&self) -> SessionState {
        match self.state {
            SessionState::Processing if self.questions > 0 => SessionState::AwaitingInput,
            state => state,
        }
    }
}

impl Status {
    /// A session that waits for its first input.
    pub(crate) fn new() -> Self {
        let truth = Truth { state: SessionState::Idle, questions: 0 };
        let shown = watch::Sender::new(truth.state);
        Self { shown, truth: Mutex::new(truth), plan: Mutex::default() }
    }

    /// For looking at it, now and as it changes.
    pub(crate) fn watch(&self) -> watch::Receiver<SessionState> {
        self.shown.subscribe()
    }

    /// A session that was brought back is in this state. To be said before anybody looks.
    pub(crate) fn begin_as(&self, state: SessionState) {
        self.truth().state = state;
        self.shown.send_replace(state);
    }

    /// The session is in this state from now on, but for questions that are open.
    pub(crate) fn set(&self, state: SessionState) {
        let mut truth = self.truth();
        truth.state = state;
        self.show(&truth);
    }

    /// What the session means to do, as it said last.
    pub(crate) fn plan(&self) -> Option<Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The session has another plan.
    pub(crate) fn set_plan(&self, plan: Plan) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = Some(plan);
    }

    /// A tool asks the user, until what is returned is dropped. Only for the input under way: what a call
    /// from outside asks between two inputs is not the session's question.
    pub(crate) fn asking(&self) -> Asking<'_> {
        let mut truth = self.truth();
        let counts = truth.state == SessionState::Processing;
        if counts {
            truth.questions += 1;
            self.show(&truth);
        }
        Asking { status: self, counts }
    }

    fn truth(&self) -> MutexGuard<'_, Truth> {
        self.truth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, truth: &Truth) {
        let next = truth.shown();
        self.shown.send_if_modified(|state| {
            debug_assert!(*state == next || state.can_become(next), "{state:?} became {next:?}");
            std::mem::replace(state, next) != next
        });
    }
}

/// An open question.
pub(crate) struct Asking<'a> {
    status: &'a Status,
    counts: bool,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if self.counts {
            let mut truth = self.status.truth();
            truth.questions = truth.questions.saturating_sub(1);
            self.status.show(&truth);
        }
    }
}

#[cfg(test)]
mod tests {
    use SessionState::{AwaitingInput, Closed, Idle, Processing};

    use super::*;

    #[test]
    fn a_question_is_shown_while_it_is_open() {
        let status = Status::new();
        let shown = status.watch();
        let check = |expected| assert_eq!(*shown.borrow(), expected);
        check(Idle);
        drop(status.asking());
        check(Idle);
        status.set(Processing);
        let (one, two) = (status.asking(), status.asking());
        check(AwaitingInput);
        drop(one);
        check(AwaitingInput);
        drop(two);
        check(Processing);
        status.set(Idle);
        check(Idle);
    }

    #[test]
    fn what_was_asked_between_inputs_is_not_shown_in_one() {
        let status = Status::new();
        let early = status.asking();
        status.set(Processing);
        assert_eq!(*status.watch().borrow(), Processing);
        drop(early);
        assert_eq!(*status.watch().borrow(), Processing);
    }

    #[test]
    fn a_session_that_is_over_stays_so() {
        let status = Status::new();
        status.set(Processing);
        let open = status.asking();
        status.set(Closed);
        drop(open);
        assert_eq!(*status.watch().borrow(), Closed);
    }
}
