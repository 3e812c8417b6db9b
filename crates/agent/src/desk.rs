//! What was said to the session and waits for its moment.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use junto_core::{Ack, AgentError, AgentErrorKind, Change, Limits, When};
use junto_env::ExecutionEnvironment;
use junto_llm::Effort;
use tokio_util::sync::CancellationToken;

use crate::said::Said;

/// How many messages may wait at once; a host that says more is told to wait.
const MOST_WAITING: usize = 256;

/// Whom to ask, how and how often, and where to work. Can change between two model calls.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<Effort>,
    pub(crate) limits: Limits,
    pub(crate) env: Arc<dyn ExecutionEnvironment>,
}

impl Settings {
    /// These settings with everything changed but the environment, which is not made here.
    pub(crate) fn changed(self, change: &Change) -> Self {
        let Change { model, provider, effort, max_turns, max_tool_rounds, workdir: _ } = change;
        let Limits { max_turns: turns, max_tool_rounds: rounds } = self.limits;
        Self {
            provider: provider.clone().or(self.provider),
            model: model.clone().or(self.model),
            effort: match effort {
                Some(effort) => (!effort.is_empty()).then(|| Effort::from(effort.clone())),
                None => self.effort,
            },
            limits: Limits {
                max_turns: max_turns.unwrap_or(turns),
                max_tool_rounds: max_tool_rounds.unwrap_or(rounds),
            },
            env: self.env,
        }
    }
}

/// The queues, the settings and the tokens of a session. Only the session's task touches it: the turn
/// under way reads it between its steps while the task lays on it what comes in.
pub(crate) struct Desk {
    /// Ends everything.
    session: CancellationToken,
    papers: Mutex<Papers>,
}

struct Papers {
    settings: Settings,
    /// For the model, between two steps.
    steering: VecDeque<Said>,
    /// Inputs of their own, for afterwards.
    follow_ups: VecDeque<Said>,
    /// Somebody wants the conversation shorter.
    compact: bool,
    /// The input under way; absent while the session is idle.
    work: Option<Work>,
}

struct Work {
    /// Ends the input.
    input: CancellationToken,
    /// Ends the current step: one model call and its tools.
    step: CancellationToken,
}

impl Desk {
    pub(crate) fn new(session: CancellationToken, settings: Settings) -> Self {
        let (steering, follow_ups) = (VecDeque::new(), VecDeque::new());
        let papers = Papers { settings, steering, follow_ups, compact: false, work: None };
        Self { session, papers: Mutex::new(papers) }
    }

    fn papers(&self) -> MutexGuard<'_, Papers> {
        self.papers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancelled when the session must end.
    pub(crate) fn session(&self) -> &CancellationToken {
        &self.session
    }

    pub(crate) fn settings(&self) -> Settings {
        self.papers().settings.clone()
    }

    /// An input begins.
    pub(crate) fn begin_input(&self) {
        let input = self.session.child_token();
        let step = input.child_token();
        self.papers().work = Some(Work { input, step });
    }

    /// The input is over but for what is put in order; the token ends that, also if the input was interrupted before.
    pub(crate) fn begin_rest(&self) -> CancellationToken {
        let input = self.session.child_token();
        let step = input.child_token();
        self.papers().work = Some(Work { input: input.clone(), step });
        input
    }

    /// No input is under way any more.
    pub(crate) fn end_input(&self) {
        self.papers().work = None;
    }

    /// A step begins; the token ends it. What was said before is there to be taken; what is said with
    /// `Now` from here on cancels the token.
    pub(crate) fn begin_step(&self) -> CancellationToken {
        let mut papers = self.papers();
        let step = match &papers.work {
            Some(work) => work.input.child_token(),
            None => self.session.child_token(),
        };
        if let Some(work) = &mut papers.work {
            work.step = step.clone();
        }
        step
    }

    /// Whether the input, and not only a step of it, was interrupted.
    pub(crate) fn is_stopped(&self) -> bool {
        match &self.papers().work {
            Some(work) => work.input.is_cancelled(),
            None => self.session.is_cancelled(),
        }
    }

    pub(crate) fn take_steering(&self) -> VecDeque<Said> {
        std::mem::take(&mut self.papers().steering)
    }

    pub(crate) fn has_steering(&self) -> bool {
        !self.papers().steering.is_empty()
    }

    pub(crate) fn has_follow_up(&self) -> bool {
        !self.papers().follow_ups.is_empty()
    }

    pub(crate) fn take_follow_up(&self) -> Option<Said> {
        self.papers().follow_ups.pop_front()
    }

    /// A message for the work under way. While there is none it waits for the next input.
    pub(crate) fn steer(&self, said: Said, when: When) -> Result<Ack, AgentError> {
        let mut papers = self.papers();
        check_room(&papers.steering)?;
        papers.steering.push_back(said);
        if let (When::Now, Some(work)) = (when, &papers.work) {
            work.step.cancel();
        }
        Ok(Ack::Queued)
    }

    /// An input for afterwards.
    pub(crate) fn follow_up(&self, said: Said) -> Result<Ack, AgentError> {
        let mut papers = self.papers();
        check_room(&papers.follow_ups)?;
        papers.follow_ups.push_back(said);
        Ok(Ack::Queued)
    }

    /// The conversation is to be made shorter before the next model call.
    pub(crate) fn compact(&self) -> Ack {
        self.papers().compact = true;
        Ack::Queued
    }

    /// Whether that was asked for since this was last looked at.
    pub(crate) fn take_compact(&self) -> bool {
        std::mem::take(&mut self.papers().compact)
    }

    /// Ends the input under way.
    pub(crate) fn interrupt(&self) -> Result<Ack, AgentError> {
        match &self.papers().work {
            Some(work) => {
                work.input.cancel();
                Ok(Ack::Started)
            }
            None => Err(AgentError::new(AgentErrorKind::WrongState, "there is nothing to interrupt")),
        }
    }

    /// Changes how the next model call is made.
    pub(crate) fn configure(&self, settings: Settings) {
        self.papers().settings = settings;
    }
}

fn check_room(queue: &VecDeque<Said>) -> Result<(), AgentError> {
    if queue.len() < MOST_WAITING {
        return Ok(());
    }
    Err(AgentError::new(AgentErrorKind::Limit, format!("{MOST_WAITING} messages are waiting already"))
        .with_hint("wait until some were taken"))
}
