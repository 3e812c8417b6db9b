//! Hooks: the user's own programs, run when a session begins and ends, when something is said to it, before and
//! after a tool, and when it would stop.
//!
//! A hook reads JSON from its standard input. It ends with 0 if all is well, and may then say more as JSON on its
//! standard output; with 2 to block what is about to happen, for the reason on its standard error; with anything
//! else it failed, which is told and changes nothing. Names, fields and files are those of Claude Code's hooks, so
//! that what was written for it works here: `settings.rs` reads the files, `view.rs` makes of our tools what such a
//! hook expects, `heard.rs` reads what it says, and `session.rs` runs them for a session.

mod heard;
mod matcher;
mod session;
mod settings;
mod view;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use junto_core::Leash;
use junto_llm::SessionId;

use self::matcher::{Condition, Matcher};
pub(crate) use self::session::{Before, SessionHooks, Source};
pub use self::settings::HookFile;

/// When hooks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvent {
    /// A session begins, or is brought back.
    SessionStart,
    /// Something is said to the session.
    UserPromptSubmit,
    /// A tool is about to be called.
    PreToolUse,
    /// A tool did what it was called for.
    PostToolUse,
    /// A tool failed.
    PostToolUseFailure,
    /// The agent has answered, and would stop.
    Stop,
    /// The same, of a child.
    SubagentStop,
    /// The session ends.
    SessionEnd,
}

impl HookEvent {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::Stop,
        Self::SubagentStop,
        Self::SessionEnd,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::Stop => "Stop",
            Self::SubagentStop => "SubagentStop",
            Self::SessionEnd => "SessionEnd",
        }
    }

    /// How long a hook may take that does not say it. Whoever ends a session does not want to wait.
    fn patience(self) -> Duration {
        match self {
            Self::SessionEnd => Duration::from_secs(5),
            _ => Duration::from_mins(1),
        }
    }
}

/// A hook.
#[derive(Clone, Debug)]
pub struct Hook {
    /// When it runs.
    pub event: HookEvent,
    /// What it runs: a line for the shell, or a program with `args`.
    pub command: String,
    /// The arguments, if it is a program that is run without a shell.
    pub args: Option<Vec<String>>,
    /// How long it may take; absent: a minute, and at the end of a session five seconds.
    pub timeout: Option<Duration>,
    /// Whether it stays in the session's sandbox. The user's own need not.
    pub leash: Leash,
    /// The file that it is from.
    pub file: PathBuf,
    /// And the line.
    pub line: usize,
    /// What it is about.
    matcher: Matcher,
    /// What else must hold.
    condition: Option<Condition>,
}

impl Hook {
    /// What it is about, as its file says: the names of tools for instance; empty: everything.
    pub fn matcher(&self) -> &str {
        self.matcher.text()
    }

    fn patience(&self) -> Duration {
        self.timeout.unwrap_or_else(|| self.event.patience())
    }
}

/// `FILE:LINE`.
impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// Says where the journal of a session is.
pub type Transcripts = Arc<dyn Fn(&SessionId) -> Option<PathBuf> + Send + Sync>;

/// The hooks of a session, and what they are told of it.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Those that there are, in the order of their files.
    pub all: Vec<Hook>,
    /// What `permission_mode` says: `default`, `acceptEdits`, `plan` or `bypassPermissions`.
    pub permission_mode: String,
    /// What `$CLAUDE_PROJECT_DIR` and `$JUNTO_PROJECT_DIR` name; absent: the working directory.
    pub project: Option<PathBuf>,
    /// What `transcript_path` says; absent: nothing.
    pub transcripts: Option<Transcripts>,
}

impl Hooks {
    /// Whether there are some for an event.
    fn has(&self, event: HookEvent) -> bool {
        self.all.iter().any(|hook| hook.event == event)
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").field("all", &self.all).finish_non_exhaustive()
    }
}
