//! How a kernel comes to be.

use std::time::Duration;

use junto_env::{CommandSpec, Stdin};
use serde_json::json;
use tokio::time::timeout;
use uuid::Uuid;

use super::KernelSetup;
use super::channels::{CONTROL, Channels, HEARTBEAT, IOPUB, SHELL, STDIN};
use super::folder::Folder;
use super::life::{BROKEN, Life};
use super::message::Key;
use crate::{Error, ErrorKind};

/// How long a kernel may take to start: cold, on a slow disk, beside many others.
const PATIENCE: Duration = Duration::from_mins(2);
/// How often a sandbox is built for it, and what bubblewrap says of one that it could not build: something that is to be
/// covered may go away between a look and the mount, such as the socket of somebody who ends just then. Nothing of the
/// kernel has run then.
const ATTEMPTS: usize = 5;
const UNBUILT: &str = "it said:\nbwrap: Can't ";
/// What the interpreter runs: the module in the folder it is told, and nothing that the working directory has
/// under the name of a module.
const FIRST: &str = "import sys; sys.path[0] = sys.argv.pop(); import junto_kernel; junto_kernel.main()";
/// The modules that become the kernel, and that see to its end.
const MODULES: [(&str, &str); 2] = [
    ("junto_kernel.py", include_str!("../../python/junto_kernel.py")),
    ("junto_watch.py", include_str!("../../python/junto_watch.py")),
];

/// A kernel that runs.
pub(super) struct Live {
    pub(super) channels: Channels,
    pub(super) life: Life,
    /// A cell whose end was not seen.
    pub(super) unfinished: Option<String>,
    /// Whether a cell was sent in part: what follows would be taken for the rest of it.
    pub(super) is_cut: bool,
    _folder: Folder,
}

impl Live {
    /// Starts a kernel, without its start-up cells.
    pub(super) async fn start(setup: &KernelSetup) -> Result<Self, Error> {
        let slow = |_| Error::new(ErrorKind::Start, format!("the kernel was not ready after {PATIENCE:?}"));
        timeout(PATIENCE, launch(setup)).await.map_err(slow)?
    }

    /// Ends it and everything it has started.
    pub(super) async fn close(self, grace: Duration) {
        self.life.close(grace).await;
    }
}

async fn launch(setup: &KernelSetup) -> Result<Live, Error> {
    let failed = |what: String| Error::new(ErrorKind::Start, what);
    let mut modules = setup.modules.clone();
    modules.extend(MODULES.map(|(name, text)| (name.to_owned(), text.to_owned())));
    let folder = Folder::make(&setup.run_dir, &modules).map_err(|e| {
        failed(format!("cannot make the kernel's folder in `{}`: {e}", setup.run_dir.display()))
    })?;
    let sockets = folder.sockets();
    let (key, ready) = (Key::new(), Uuid::new_v4().simple().to_string());
    let given = json!({
        "sockets": sockets, "key": key.text(), "ready": ready, "memory": setup.memory,
        "numbers": {
            "shell": SHELL, "iopub": IOPUB, "stdin": STDIN, "control": CONTROL, "hb": HEARTBEAT,
        },
    });
    let program = setup.python.program().to_string_lossy().into_owned();
    let path = folder.modules().to_string_lossy().into_owned();
    let mut command = CommandSpec::argv([program, "-c".to_owned(), FIRST.to_owned(), path]);
    let directory = setup.directory.to_string_lossy();
    command.cwd = Some(setup.env.resolve(&directory).await.map_err(|e| failed(e.to_string()))?);
    // It stays open: that it closes tells the kernel that its host is gone, however that went.
    command.stdin = Stdin::Open;
    // Not what the user has for his own sessions: cells are the same wherever they run.
    let settings = folder.settings().to_string_lossy().into_owned();
    command.variables.extend(
        [("IPYTHONDIR", settings.clone()), ("JUPYTER_RUNTIME_DIR", settings)]
            .map(|(name, value)| (name.to_owned(), value)),
    );
    command.variables.extend(setup.variables.clone());
    let not_started = |e| failed(format!("the kernel does not start: {e}"));
    let mut attempts = 1..=ATTEMPTS;
    let mut life = loop {
        let is_last = attempts.next() == Some(ATTEMPTS);
        let mut process = setup.env.spawn(command.clone()).await.map_err(not_started)?;
        // One that has ended already tells why, below.
        let _ = process.write(format!("{given}\n").as_bytes()).await;
        match Life::begin(process, &ready, setup.memory.is_some()).await {
            Err(e) if !is_last && e.to_string().contains(UNBUILT) => {}
            begun => break begun.map_err(|e| distrusted(setup, e))?,
        }
    };
    let channels = tokio::select! {
        channels = Channels::connect(&sockets, key) => channels,
        end = life.end() => return Err(failed(format!("the kernel ended as it started ({})", end.exit))),
    };
    let channels = channels.map_err(|e| failed(format!("the kernel cannot be reached: {e}")))?;
    Ok(Live { channels, life, unfinished: None, is_cut: false, _folder: folder })
}

/// The same error; a Python of ours that did not come up is made again before the next start.
fn distrusted(setup: &KernelSetup, error: Error) -> Error {
    let broken = error.to_string().contains(BROKEN);
    if broken && setup.python.distrust() {
        return Error::new(
            ErrorKind::Start,
            format!("{error}\njunto makes its Python anew at the next start"),
        );
    }
    error
}
