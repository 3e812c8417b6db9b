//! Who lives beside a session.

use std::sync::Weak;

use crate::{AgentError, EventLog, Fut, ToolHost, ToolSpec};

/// Somebody who lives as long as a session and uses its tools, such as a kernel in which code calls them.
///
/// A session begins with [`Companion::begin`] and ends with [`Companion::end`], which it waits for: whatever the
/// companion started has ended then. Its own tools are given to the session like any other.
pub trait Companion: Send + Sync {
    /// The session begins, or goes on after it was brought back. `tools` are its tools for others than its loop, and
    /// `log` has its events. Neither keeps the session alive.
    fn begin(&self, tools: Weak<dyn ToolHost>, log: EventLog);

    /// Waits until it can do what it is for, or it is known that it cannot. A session asks before the first model call of
    /// each input, so that nothing is spent on what will fail. What takes long is begun in [`Companion::begin`].
    ///
    /// # Errors
    /// Why it cannot; the input ends with this.
    fn ready(&self) -> Fut<'_, Result<(), AgentError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// What the model is told of it in the system prompt of a session with these tools: a section with a heading of its
    /// own.
    fn prompt(&self, tools: &[ToolSpec]) -> Option<String> {
        let _ = tools;
        None
    }

    /// What the model is told when the session was brought back.
    fn came_back(&self) -> Option<String> {
        None
    }

    /// An input ends. No call of a tool is under way, and none comes in before this is done. It is dropped if somebody
    /// interrupts, or ends the session.
    fn rest(&self) -> Fut<'_, ()> {
        Box::pin(async {})
    }

    /// The session ends.
    fn end(&self) -> Fut<'_, ()>;
}
