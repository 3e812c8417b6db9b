//! A session's place for code: its kernel, the socket through which its cells call tools, and what they were before.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use junto_core::{
    AgentError, AgentErrorKind, Body, CallId, Companion, EventLog, Fut, Seq, Tool, ToolCall, ToolHost,
    ToolOutcome, ToolSpec, Via,
};
use tokio::sync::OnceCell;
use uuid::Uuid;

use super::execute::ExecuteCode;
use super::find::FindCodeTools;
use super::finding::Finding;
use super::host::{CellHost, Cells};
use super::images::Images;
use super::past::{Replayed, Resumption};
use super::replay::{ReplayCell, RestoreVariables};
use super::reset::ResetKernel;
use super::snapshot::{self, Circumstances, Kept};
use super::{CodeSetup, GRACE, KERNEL_FRESH, KERNEL_LOST, prompt};
use crate::{
    Clock, Discovery, Error, ErrorKind, Gentools, Kernel, KernelSetup, Limits, SaveTool, ShellLeave,
    ToolSocket,
};

/// A session's place for code. Its kernel starts with the first cell and ends with the session, or when the last
/// handle of the room is dropped.
pub struct CodeRoom {
    pub(super) setup: CodeSetup,
    /// Whose room it is, once that has begun.
    session: Mutex<Option<Session>>,
    /// By which Python it runs.
    python: Finding,
    /// What its code can import, and the model find.
    discovery: OnceLock<Arc<Discovery>>,
    open: OnceCell<Open>,
    /// Where images are saved, known before code runs.
    images: OnceCell<Images>,
    /// What became of bringing the past back, once that was tried: in words, if the model has to know.
    brought: OnceCell<()>,
    /// How far running earlier cells again is.
    replayed: Mutex<Replayed>,
    /// Whether the next cell is the first of a kernel that has nothing of the cells before.
    is_fresh: AtomicBool,
    news: Mutex<Option<String>>,
    /// Variables that are to be brought back.
    variables: Mutex<Option<Kept>>,
    /// The time of its cells.
    pub(super) clock: Clock,
    /// Those of them that run.
    pub(super) cells: Cells,
    /// Whether a cell was run since variables were kept.
    pub(super) used: AtomicBool,
}

#[derive(Clone)]
struct Session {
    tools: Weak<dyn ToolHost>,
    log: EventLog,
}

/// A kernel that runs.
struct Open {
    kernel: Kernel,
    /// Taken when the room is closed.
    socket: Mutex<Option<ToolSocket>>,
}

impl CodeRoom {
    /// A room in which nothing runs yet.
    pub fn new(setup: CodeSetup) -> Arc<Self> {
        let is_fresh = matches!(setup.resumption, Resumption::Fresh { had_cells: true });
        Arc::new(Self {
            python: Finding::new(setup.interpreter.clone(), Arc::clone(&setup.env)),
            setup,
            session: Mutex::default(),
            discovery: OnceLock::new(),
            open: OnceCell::new(),
            images: OnceCell::new(),
            brought: OnceCell::new(),
            replayed: Mutex::default(),
            is_fresh: AtomicBool::new(is_fresh),
            news: Mutex::default(),
            variables: Mutex::default(),
            clock: Clock::default(),
            cells: Cells::default(),
            used: AtomicBool::new(false),
        })
    }

    /// The tools that the model is told of.
    pub fn tools(self: &Arc<Self>) -> Vec<Arc<dyn Tool>> {
        let mut tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(ExecuteCode::new(Arc::clone(self))),
            Arc::new(ResetKernel::new(Arc::clone(self))),
            Arc::new(FindCodeTools::new(Arc::clone(self))),
        ];
        if let Some(gentools) = self.gentools() {
            tools.push(Arc::new(SaveTool::new(gentools)));
        }
        tools
    }

    /// The tools that it is not told of: what is done beside its own calls is judged and journaled like those.
    pub fn tools_behind(self: &Arc<Self>) -> Vec<Arc<dyn Tool>> {
        vec![
            Arc::new(ReplayCell::new(Arc::clone(self))),
            Arc::new(RestoreVariables::new(Arc::clone(self))),
            Arc::new(ShellLeave::default()),
        ]
    }

    /// The kernel, if there is one.
    pub(super) fn running(&self) -> Option<&Kernel> {
        self.open.get().map(|open| &open.kernel)
    }

    /// The kernel, started if it was not. What takes time is told.
    ///
    /// # Errors
    /// Why there is none, and what to do.
    pub(super) async fn kernel(&self) -> Result<&Kernel, Error> {
        let open = self.open.get_or_try_init(|| self.start()).await?;
        Ok(&open.kernel)
    }

    /// Where images are saved.
    pub(super) async fn images(&self) -> &Images {
        self.images.get_or_init(|| Images::at(&self.setup.images, &*self.setup.env)).await
    }

    async fn start(&self) -> Result<Open, Error> {
        self.images().await;
        let CodeSetup { env, memory, .. } = &self.setup;
        let run_dir = self.setup.run_dir.path();
        let over = || Error::new(ErrorKind::Closed, "there is no session");
        let discovery = Arc::clone(self.discovery().ok_or_else(over)?);
        let python = self.python.python().await?;
        let socket = ToolSocket::serve_discovery(discovery, run_dir, Limits::default())?;
        let directory = env.facts().cwd.as_path().to_owned();
        let setup = KernelSetup {
            variables: self.variables(),
            modules: vec![("junto_snapshot.py".to_owned(), snapshot::MODULE.to_owned())],
            memory: *memory,
            grace: GRACE,
            ..KernelSetup::new(python, Arc::clone(env), directory, run_dir)
        };
        let kernel = Kernel::start(setup.with_tools(&socket));
        Ok(Open { kernel: kernel.await?, socket: Mutex::new(Some(socket)) })
    }

    /// The kernel's own variables. In a sandbox that changes nothing else its temporary files are beside its sockets.
    fn variables(&self) -> BTreeMap<String, String> {
        let mut variables = self.setup.variables.clone();
        if self.setup.env.unconfined().is_some() {
            let temporary = self.setup.run_dir.path().to_string_lossy().into_owned();
            variables.entry("TMPDIR".to_owned()).or_insert(temporary);
        }
        variables
    }

    fn gentools(&self) -> Option<Gentools> {
        self.setup.gentools.as_ref().map(Gentools::at)
    }

    /// What code can import; none before the session has begun.
    pub(super) fn discovery(&self) -> Option<&Arc<Discovery>> {
        let Session { tools, log } = self.session()?;
        Some(self.discovery.get_or_init(|| {
            let (clock, cells) = (self.clock.clone(), self.cells.clone());
            let host = Arc::new(CellHost { tools, log, clock, cells });
            Arc::new(Discovery::new(host, self.gentools()).by_meaning(self.setup.meaning.clone()))
        }))
    }

    /// Tells people, once, that tools are found by words alone although there is a model for what they mean.
    pub(super) async fn tell_failure(&self) {
        let failure = self.discovery.get().and_then(|discovery| discovery.take_failure());
        if let (Some(why), Some(Session { log, .. })) = (failure, self.session()) {
            let message = format!("tools are searched by words alone, because the embeddings failed: {why}");
            // A log that cannot be written ends the session elsewhere.
            let _ = log.emit(Body::Warning { code: "embeddings".to_owned(), message }).await;
        }
    }

    /// Brings back what was there before the session was resumed, once. Cells that come meanwhile wait.
    pub(super) async fn bring_back(&self) {
        self.brought
            .get_or_init(|| async {
                let news = self.setup.resumption.bring_back(self).await;
                *self.news.lock().unwrap_or_else(PoisonError::into_inner) = news;
            })
            .await;
    }

    /// What the model has to know of that, once.
    pub(super) fn take_news(&self) -> Option<String> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Lets what was there before be gone, unless it is back.
    pub(super) fn forget_past(&self) {
        // Whoever brings it back just now is done soon.
        let _ = self.brought.set(());
    }

    /// Has variables ready to be brought back.
    pub(super) fn keep_variables(&self, kept: Kept) {
        *self.variables.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    }

    /// Whether the kernel is in a sandbox.
    pub(super) fn is_confined(&self) -> bool {
        self.setup.env.unconfined().is_some()
    }

    /// Those variables, once.
    pub(super) fn kept_variables(&self) -> Option<Kept> {
        self.variables.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// How far running earlier cells again is.
    pub(super) fn replayed(&self) -> MutexGuard<'_, Replayed> {
        self.replayed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing of earlier cells came back, if there were any.
    pub(super) fn begins_fresh(&self, had_cells: bool) {
        self.is_fresh.store(had_cells, Ordering::Release);
    }

    /// Has the log say so, if this is the first cell since.
    pub(super) async fn tell_fresh(&self, cell: &str) {
        if self.is_fresh.swap(false, Ordering::AcqRel) {
            self.warn(cell, KERNEL_FRESH, "the kernel is a new one: what earlier cells had made is gone")
                .await;
        }
    }

    /// Has the log say that the kernel's variables are gone, as a cell has noticed.
    pub(super) async fn lost(&self, cell: &str) {
        self.warn(cell, KERNEL_LOST, "the kernel was started anew: what earlier cells had made is gone")
            .await;
    }

    async fn warn(&self, cell: &str, code: &str, message: &str) {
        if let Some(Session { log, .. }) = self.session() {
            let body = Body::Warning { code: code.to_owned(), message: message.to_owned() };
            // A log that cannot be written ends the session elsewhere.
            let _ = log.emit_for(&CallId(cell.to_owned()), body).await;
        }
    }

    /// Calls a tool of the session on the room's own account.
    pub(super) async fn call(&self, name: &str, arguments: serde_json::Value) -> ToolOutcome {
        let tools = self.session().and_then(|session| session.tools.upgrade());
        let Some(tools) = tools else { return ToolOutcome::error("the session is over") };
        let id = format!("cell-{}", Uuid::new_v4().simple());
        tools.call(ToolCall::function(id, name, arguments.to_string()), Via::Cell).await
    }

    fn session(&self) -> Option<Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Keeping variables, until it is done. Broken off, those that were kept before are not the last ones any more.
struct Undone<'a> {
    room: &'a CodeRoom,
    file: Option<&'a Path>,
}

impl Drop for Undone<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.file {
            self.room.used.store(true, Ordering::Release);
            // A session whose variables are not kept is told so when it is resumed.
            let _ = std::fs::remove_file(file);
        }
    }
}

impl Companion for CodeRoom {
    fn begin(&self, tools: Weak<dyn ToolHost>, log: EventLog) {
        self.python.begin(log.clone());
        let session = Session { tools, log };
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
    }

    fn ready(&self) -> Fut<'_, Result<(), AgentError>> {
        Box::pin(async move {
            let found = self.python.python().await;
            found.map(drop).map_err(|error| {
                let message = format!("code cannot be run: {error}");
                AgentError::new(AgentErrorKind::Process, message)
                    .with_hint("`junto doctor` tells what there is; without `--code` there is no kernel")
            })
        })
    }

    fn prompt(&self, tools: &[ToolSpec]) -> Option<String> {
        Some(prompt::of(tools))
    }

    fn came_back(&self) -> Option<String> {
        match &self.setup.resumption {
            Resumption::Fresh { had_cells: true } => Some(
                "The session was interrupted and goes on. Its Python kernel is a new one: variables, imports and \
                 definitions of earlier cells are gone. Define again what you need."
                    .to_owned(),
            ),
            _ => None,
        }
    }

    fn rest(&self) -> Fut<'_, ()> {
        Box::pin(async move {
            let Some(file) = &self.setup.snapshot else { return };
            let Some(kernel) = self.running().filter(|_| self.used.swap(false, Ordering::AcqRel)) else {
                return;
            };
            let mut undone = Undone { room: self, file: Some(file) };
            let circumstances = Circumstances {
                confined: self.is_confined(),
                after: self.session().map_or(Seq::default(), |session| session.log.last()),
                secret: self.setup.secret.as_deref(),
            };
            let lost = snapshot::keep(kernel, file, circumstances).await;
            undone.file = None;
            if lost {
                let lost = "[keeping the variables took too long, and the kernel was ended: they are gone]";
                *self.news.lock().unwrap_or_else(PoisonError::into_inner) = Some(lost.to_owned());
            }
        })
    }

    fn end(&self) -> Fut<'_, ()> {
        Box::pin(async move {
            let Some(open) = self.open.get() else { return };
            open.kernel.close().await;
            let socket = open.socket.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(socket) = socket {
                socket.close().await;
            }
        })
    }
}

impl fmt::Debug for CodeRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodeRoom").field("interpreter", &self.setup.interpreter).finish_non_exhaustive()
    }
}
