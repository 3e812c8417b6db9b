//! Whom a tool works for.

use std::sync::Arc;

use crate::{Fut, MemoryJournal, Plan, Question, Spool, ToolError};

/// Whom a tool works for: how it shows what it does, keeps what it says and asks what it must know.
pub trait Caller: Send + Sync {
    /// Shows a piece of output as it comes, for people to watch. What was shown is, in the end, what
    /// the outcome says; a tool that shows nothing breaks no rule.
    fn show(&self, text: &str);

    /// Takes output of any size.
    fn spool(&self) -> Spool;

    /// Says what the agent means to do.
    ///
    /// # Errors
    /// If that could not be noted.
    fn plan(&self, plan: Plan) -> Fut<'_, Result<(), ToolError>>;

    /// Asks the one the agent works for, and waits for the answer; ends with the call.
    ///
    /// # Errors
    /// Why there is no answer, for the model.
    fn ask(&self, question: Question) -> Fut<'_, Result<String, ToolError>>;
}

/// The caller of tools that work for nobody in particular: of tests, and of programs without a session.
/// Shows nothing, keeps output in temporary files, forgets plans and cannot be asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Caller for Alone {
    fn show(&self, _text: &str) {}

    fn spool(&self) -> Spool {
        Spool::new(Arc::new(MemoryJournal::default()))
    }

    fn plan(&self, _plan: Plan) -> Fut<'_, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }

    fn ask(&self, _question: Question) -> Fut<'_, Result<String, ToolError>> {
        let nobody = "nobody is there to be asked; decide yourself, and say in the end what you assumed";
        Box::pin(async move { Err(ToolError(nobody.to_owned())) })
    }
}
