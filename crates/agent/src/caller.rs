//! What a running tool has of the session it works for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use junto_core::{
    Body, Caller, EventLog, Fut, Plan, Question, Questions, Seq, Spool, ToolError, ToolOutcome,
};
use junto_env::HeadTail;
use tokio_util::sync::CancellationToken;

use crate::status::Status;

/// How many bytes are kept of the beginning, and as many of the end, of what a tool shows.
const SHOWN: usize = 64 * 1024;

/// The session, as one running call sees it.
pub(crate) struct SessionCaller {
    log: EventLog,
    /// The start of the call.
    of: Seq,
    questions: Arc<Questions>,
    /// Where it is shown that a question is open.
    status: Arc<Status>,
    /// Ends the call, and so withdraws what it asks.
    cancel: CancellationToken,
    /// What was shown. The ends of it are kept for a tool that never comes to say the whole.
    ends: Mutex<Option<HeadTail>>,
}

impl SessionCaller {
    pub(crate) fn new(
        log: EventLog,
        of: Seq,
        questions: Arc<Questions>,
        status: Arc<Status>,
        cancel: CancellationToken,
    ) -> Self {
        Self { log, of, questions, status, cancel, ends: Mutex::default() }
    }

    fn ends(&self) -> MutexGuard<'_, Option<HeadTail>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The outcome of a tool that did not end by itself: what it had shown, and why it ended.
    pub(crate) fn broken_off(&self, why: &str) -> ToolOutcome {
        if self.ends().is_some() {
            self.show(&format!("\n[{why}]"));
        }
        match self.ends().take() {
            Some(ends) => {
                ToolOutcome::error(ends.text(|left_out| format!("\n[{left_out} bytes left out]\n")))
            }
            None => ToolOutcome::error(why),
        }
    }
}

impl Caller for SessionCaller {
    fn show(&self, text: &str) {
        if !text.is_empty() {
            let mut ends = self.ends();
            ends.get_or_insert_with(|| HeadTail::new(SHOWN, SHOWN)).push(text.as_bytes());
            self.log.output_delta(self.of, text);
        }
    }

    fn spool(&self) -> Spool {
        self.log.spool()
    }

    fn plan(&self, plan: Plan) -> Fut<'_, Result<(), ToolError>> {
        Box::pin(async move {
            let noted = self.log.emit(Body::Plan { plan: plan.clone() }).await;
            noted.map_err(|error| ToolError(error.to_string()))?;
            self.status.set_plan(plan);
            Ok(())
        })
    }

    fn ask(&self, question: Question) -> Fut<'_, Result<String, ToolError>> {
        Box::pin(async move {
            let _asking = self.status.asking();
            self.questions.ask(self.of, question, &self.cancel).await
        })
    }
}
