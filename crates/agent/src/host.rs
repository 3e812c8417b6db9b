//! A session's tools for somebody other than its loop: a kernel, an MCP server, a socket.

use std::sync::{Arc, Mutex, PoisonError};

use junto_core::{Fut, Listed, Tool, ToolHost, ToolOutcome, Via};
use junto_llm::{ToolCall, ToolSpec};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use tokio_util::sync::CancellationToken;

use crate::toolbox::{INTERRUPTED, Ran, Toolbox};

/// Whether calls from outside may come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Open,
    Closed,
}

/// The door for calls from outside. An input, and a session, ends after the calls that came in
/// meanwhile: they are told to stop, waited for, and nobody is let in while the end is written.
#[derive(Debug)]
pub(crate) struct Door {
    /// Each call under way holds it for reading.
    inside: Arc<RwLock<Sign>>,
    /// Ends with the session.
    session: CancellationToken,
    /// Tells those inside to stop.
    leave: Mutex<CancellationToken>,
}

impl Door {
    pub(crate) fn new(session: CancellationToken) -> Self {
        let leave = Mutex::new(session.child_token());
        Self { inside: Arc::new(RwLock::new(Sign::Open)), session, leave }
    }

    fn leave(&self) -> CancellationToken {
        self.leave.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Comes in; absent if the session is over, or everybody is being asked to leave.
    async fn enter(&self) -> Option<(OwnedRwLockReadGuard<Sign>, CancellationToken)> {
        let leave = self.leave();
        let inside = tokio::select! {
            biased;
            inside = Arc::clone(&self.inside).read_owned() => inside,
            // One who is inside and calls again must not wait for one who waits for him to leave.
            () = leave.cancelled() => return None,
        };
        (*inside == Sign::Open).then(|| (inside, self.leave()))
    }

    /// Makes everybody leave. Nobody comes in until the guard is dropped.
    pub(crate) async fn clear(&self) -> OwnedRwLockWriteGuard<Sign> {
        self.leave().cancel();
        let guard = Arc::clone(&self.inside).write_owned().await;
        *self.leave.lock().unwrap_or_else(PoisonError::into_inner) = self.session.child_token();
        guard
    }
}

/// A session's tools, as another process calls them. It does not keep the session alive.
pub(crate) struct SessionTools {
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) door: Arc<Door>,
}

impl ToolHost for SessionTools {
    /// Also of those that the model is not told of: code finds them by searching.
    fn specs(&self) -> Vec<ToolSpec> {
        let kit = self.toolbox.kit();
        let mut specs = kit.specs().to_vec();
        for tool in kit.registry().behind() {
            if !specs.iter().any(|spec| spec.name == tool.spec().name) {
                specs.push(tool.spec().clone());
            }
        }
        specs
    }

    fn catalog(&self) -> Vec<Listed> {
        // A server may have come up since the model was asked.
        self.toolbox.catch_up();
        let kit = self.toolbox.kit();
        let tools = kit.registry();
        // What is behind is the session's own in another form, unless it comes from a server.
        let behind = tools.behind().iter().filter(|tool| tool.listing().origin.is_some());
        let listed = |tool: &Arc<dyn Tool>| Listed { spec: tool.spec().clone(), listing: tool.listing() };
        tools.iter().chain(behind).map(listed).collect()
    }

    fn call(&self, call: ToolCall, via: Via) -> Fut<'_, ToolOutcome> {
        Box::pin(async move {
            let Some((inside, leave)) = self.door.enter().await else {
                return ToolOutcome::error("the session takes no calls now");
            };
            let toolbox = Arc::clone(&self.toolbox);
            let stop = leave.child_token();
            let stopping = stop.clone();
            // A caller that goes away stops the call; the call still writes its end. The task is owned
            // by the door: whoever clears it waits for the guard inside.
            let _gone = stop.drop_guard();
            let work = tokio::spawn(async move {
                let prepared = toolbox.prepare(call, &stopping).await;
                let turn = toolbox.queue(&prepared);
                let ran = toolbox.execute(prepared, turn, via, &stopping, &stopping).await;
                // Before the code hears of it: it may be done with everything at once.
                if let (Via::Cell, Ok(Ran { refused: Some(why), .. })) = (via, &ran) {
                    toolbox.refusals().note(why.clone());
                }
                drop(inside);
                ran
            });
            match work.await {
                Ok(Ok(ran)) => ran.outcome,
                Ok(Err(error)) => ToolOutcome::error(error.to_string()),
                Err(_) => ToolOutcome::error(INTERRUPTED),
            }
        })
    }
}
