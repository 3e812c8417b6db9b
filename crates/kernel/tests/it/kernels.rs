//! Kernels for tests, and what their cells said.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use junto_env::LocalEnvironment;
use junto_env::survivors::{self, Survivor};
use junto_kernel::{Cell, CellEnd, Kernel, KernelSetup, Piece, Python, Ran};
use tempfile::TempDir;

/// For what must not hang; far more than anything takes.
pub(crate) const HANG: Duration = Duration::from_secs(120);

/// An interpreter with ipykernel, which the developer's commands keep.
pub(crate) fn interpreter() -> PathBuf {
    std::env::var_os("JUNTO_PEER_KERNEL")
        .map(PathBuf::from)
        .expect("JUNTO_PEER_KERNEL names a Python with ipykernel; `cargo xtask test` sets it")
}

/// A place for kernels: a working directory, a folder for sockets, and this machine without its variables.
pub(crate) struct Place {
    pub(crate) dir: TempDir,
    pub(crate) env: Arc<LocalEnvironment>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["work", "run"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let env = LocalEnvironment::builder(dir.path().join("work"))
            .variables([("PATH", "/usr/bin:/bin"), ("HOME", dir.path().to_str().unwrap())])
            .build()
            .unwrap();
        Self { dir, env: Arc::new(env) }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(crate) fn run(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    pub(crate) async fn setup(&self) -> KernelSetup {
        let python = Python::at(interpreter(), &*self.env).await.unwrap();
        KernelSetup::new(python, self.env.clone(), self.work(), self.run())
    }

    pub(crate) async fn kernel(&self) -> Kernel {
        Kernel::start(self.setup().await).await.unwrap()
    }

    /// Waits until nothing lives of all that was started here.
    pub(crate) async fn is_dead(&self) -> bool {
        let env = Arc::clone(&self.env);
        let alive = tokio::task::spawn_blocking(move || survivors::after(&*env, HANG));
        alive.await.unwrap().is_empty()
    }

    /// What still lives of all that was started here, and what is left of kernels' folders.
    pub(crate) async fn left(&self) -> (Vec<Survivor>, usize) {
        let env = Arc::clone(&self.env);
        let alive = tokio::task::spawn_blocking(move || survivors::after(&*env, Duration::from_secs(10)));
        (alive.await.unwrap(), std::fs::read_dir(self.run()).unwrap().count())
    }
}

/// What a cell said, and how it ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) result: Option<String>,
    pub(crate) error: Option<(String, String)>,
    pub(crate) traceback: String,
    pub(crate) others: Vec<Piece>,
    pub(crate) ran: Option<Ran>,
}

impl Said {
    pub(crate) fn end(&self) -> &CellEnd {
        &self.ran.as_ref().unwrap().end
    }

    pub(crate) fn state_lost(&self) -> bool {
        self.ran.as_ref().unwrap().state_lost
    }
}

pub(crate) async fn say(kernel: &Kernel, cell: Cell) -> Said {
    let mut pieces: Vec<Piece> = Vec::new();
    let ran = tokio::time::timeout(HANG, kernel.run(cell, &mut pieces)).await.expect("no hang").unwrap();
    let mut said = Said { ran: Some(ran), ..Said::default() };
    for piece in pieces {
        match piece {
            Piece::Stdout(text) => said.stdout += &text,
            Piece::Stderr(text) => said.stderr += &text,
            Piece::Result { text } => said.result = Some(text),
            Piece::Error { name, value, traceback } => {
                said.error = Some((name, value));
                said.traceback = traceback;
            }
            other => said.others.push(other),
        }
    }
    said
}

/// Runs code and gives what it said.
pub(crate) async fn cell(kernel: &Kernel, code: &str) -> Said {
    say(kernel, Cell::new(code)).await
}
