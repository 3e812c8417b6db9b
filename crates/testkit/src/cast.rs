//! Who plays a scenario, and in what words.

use std::path::{Path, PathBuf};

use junto_llm::Wire;
use junto_twin::Call;
use serde_json::json;

/// An agent that works with tools of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Our own loop.
    Native,
    /// Claude Code.
    Claude,
    /// codex.
    Codex,
    /// gemini-cli.
    Gemini,
}

impl Who {
    /// Whether it is a program of others.
    pub fn is_program(self) -> bool {
        self != Self::Native
    }

    /// The wire that it speaks.
    pub fn wire(self) -> Wire {
        match self {
            Self::Native | Self::Claude => Wire::Anthropic,
            Self::Codex => Wire::Responses,
            Self::Gemini => Wire::Gemini,
        }
    }

    /// A model that it knows.
    pub fn model(self) -> &'static str {
        match self {
            Self::Native | Self::Claude => "claude-opus-5-5",
            Self::Codex => "gpt-5.5",
            Self::Gemini => "gemini-2.5-pro",
        }
    }

    /// The name of its definition.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// The program that `cargo xtask test` installed.
    ///
    /// # Panics
    /// If it did not; for our own loop, which is no program.
    #[expect(clippy::disallowed_methods, reason = "the variables by which tests find the programs")]
    pub fn program(self) -> String {
        let variable = match self {
            Self::Native => panic!("our own loop is no program"),
            Self::Claude => "JUNTO_PEER_CLAUDE",
            Self::Codex => "JUNTO_PEER_CODEX",
            Self::Gemini => "JUNTO_PEER_GEMINI",
        };
        std::env::var(variable)
            .unwrap_or_else(|_| panic!("{variable} is not set: run the tests with `cargo xtask test`"))
    }

    /// A call that runs a shell command.
    pub fn shell(self, command: &str) -> Call {
        match self {
            Self::Native => Call::new("shell", json!({"command": command, "timeout_ms": 600_000})),
            Self::Claude => {
                Call::new("Bash", json!({"command": command, "timeout": 600_000, "description": "Runs it"}))
            }
            Self::Codex => Call::new("exec_command", json!({"cmd": command, "yield_time_ms": 30_000})),
            Self::Gemini => {
                Call::new("run_shell_command", json!({"command": command, "description": "Runs it"}))
            }
        }
    }

    /// A call that looks at a file in the directory.
    pub fn look(self, directory: &Path, name: &str) -> Call {
        let path = directory.join(name).display().to_string();
        match self {
            Self::Native | Self::Gemini => Call::new("read_file", json!({"file_path": path})),
            Self::Claude => Call::new("Read", json!({"file_path": path})),
            Self::Codex => self.shell(&format!("cat '{path}'")),
        }
    }

    /// A call that makes a file in the directory.
    pub fn write(self, directory: &Path, name: &str, content: &str) -> Call {
        let path = directory.join(name).display().to_string();
        match self {
            Self::Native | Self::Gemini => {
                Call::new("write_file", json!({"file_path": path, "content": content}))
            }
            Self::Claude => Call::new("Write", json!({"file_path": path, "content": content})),
            Self::Codex => {
                let lines: Vec<String> = content.lines().map(|line| format!("+{line}")).collect();
                let lines = lines.join("\n");
                let patch = format!("*** Begin Patch\n*** Add File: {name}\n{lines}\n*** End Patch");
                Call { input: Some(patch), ..Call::bare("apply_patch") }
            }
        }
    }
}

/// Where the programs that tests run find others: the usual places, and `node`, wherever it is.
#[expect(clippy::disallowed_methods, reason = "where `node` is, is known to the machine only")]
pub fn search_path() -> String {
    let given = std::env::var_os("PATH").unwrap_or_default();
    let node = std::env::split_paths(&given).find(|folder| folder.join("node").is_file());
    let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
    let folders: Vec<String> =
        node.into_iter().chain(usual).map(|folder| folder.display().to_string()).collect();
    folders.join(":")
}
