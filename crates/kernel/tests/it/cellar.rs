//! Real kernels, with the Python that the tests are given.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use junto_env::{ExecutionEnvironment, LocalEnvironment};
use junto_kernel::{Cell, Kernel, KernelSetup, Piece, Python, Ran, ToolSocket};

/// Nothing here takes this long; what does hangs.
pub(crate) const HANG: Duration = Duration::from_mins(2);

/// A place for kernels.
pub(crate) struct Cellar {
    pub(crate) env: Arc<LocalEnvironment>,
    pub(crate) folder: tempfile::TempDir,
}

impl Cellar {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().display().to_string();
        let variables = [("PATH", "/usr/bin:/bin"), ("HOME", &home)];
        let env = LocalEnvironment::builder(folder.path()).variables(variables).build().unwrap();
        Self { env: Arc::new(env), folder }
    }

    /// What a kernel in this place is made with, and, if there is one, with the variables of a socket.
    pub(crate) async fn setup(&self, socket: Option<&ToolSocket>) -> KernelSetup {
        let given = std::env::var("JUNTO_PEER_KERNEL")
            .expect("JUNTO_PEER_KERNEL is not set: run the tests with `cargo xtask test`");
        let env = Arc::clone(&self.env) as Arc<dyn ExecutionEnvironment>;
        let python = Python::at(Path::new(&given), &*env).await.unwrap();
        let mut setup = KernelSetup::new(python, env, self.folder.path(), self.folder.path());
        for (name, value) in socket.into_iter().flat_map(ToolSocket::environment) {
            setup.variables.insert(name.to_owned(), value.to_string_lossy().into_owned());
        }
        setup
    }
}

/// Runs a cell; what it printed, and how it ended.
pub(crate) async fn run(kernel: &Kernel, cell: Cell) -> (String, Ran) {
    let mut pieces = Vec::new();
    let running = kernel.run(cell, &mut pieces);
    let ran = tokio::time::timeout(HANG, running).await.expect("it hangs").unwrap();
    let said = pieces.into_iter().filter_map(|piece| match piece {
        Piece::Stdout(text) | Piece::Stderr(text) | Piece::Error { traceback: text, .. } => Some(text),
        _ => None,
    });
    (said.collect(), ran)
}
