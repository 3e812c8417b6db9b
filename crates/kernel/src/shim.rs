//! What code in a kernel has of ours: a few Python modules without dependencies.

use crate::{KernelSetup, ToolSocket};

/// The client for Python: the source of a module to be saved as `junto_tools.py`.
pub const PYTHON_CLIENT: &str = include_str!("../python/junto_tools.py");

/// The modules that [`START_UP`] needs: file name and text. `junto_tools` asks junto, `junto_code` makes tools
/// importable, `junto_types` is what their types are made of, `junto_leave` asks before programs are started.
pub const PYTHON_MODULES: &[(&str, &str)] = &[
    ("junto_tools.py", PYTHON_CLIENT),
    ("junto_types.py", include_str!("../python/junto_types.py")),
    ("junto_code.py", include_str!("../python/junto_code.py")),
    ("junto_leave.py", include_str!("../python/junto_leave.py")),
    ("junto_start.py", include_str!("../python/junto_start.py")),
];

/// The cell that a kernel begins with: plain output, tools as modules, leave for shell lines. It prints nothing and
/// leaves no name behind.
pub const START_UP: &str = "__import__('junto_start').begin()";

impl KernelSetup {
    /// The same, with the tools behind a socket. The host needs [`crate::ShellLeave`] among its tools, or no
    /// program can be started from code.
    #[must_use]
    pub fn with_tools(mut self, socket: &ToolSocket) -> Self {
        let variables =
            socket.environment().map(|(name, value)| (name.to_owned(), value.to_string_lossy().into_owned()));
        self.variables.extend(variables);
        self.modules
            .extend(PYTHON_MODULES.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
        self.start_up.insert(0, START_UP.to_owned());
        self
    }
}
