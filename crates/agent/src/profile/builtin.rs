//! The families, as tables.

use std::sync::Arc;
use std::time::Duration;

use junto_core::Tool;

use super::{Capabilities, Dialect, Family};
use crate::tools::{self, Shell, Timeouts};

/// What is known of a family without anybody's settings.
pub(super) struct Builtin {
    /// Its tools in our own dialect, in the order in which the model sees them.
    tools: &'static [&'static str],
    /// How long a command may take.
    pub(super) shell_timeout: Duration,
    /// What its models can do.
    pub(super) capabilities: Capabilities,
    /// The project documents it reads beside `AGENTS.md`.
    pub(super) documents: &'static [&'static str],
    /// The base instructions in our own dialect.
    spec: &'static str,
    /// The base instructions in the vendor's.
    native: &'static str,
}

impl Builtin {
    pub(super) fn base(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Spec => self.spec,
            Dialect::Native => self.native,
        }
    }
}

/// Base instructions, from pieces: who the agent is, how its tools are used, and what is true of all good
/// work.
macro_rules! base {
    ($first:literal $(, $more:literal)*) => {
        concat!(
            include_str!(concat!("texts/", $first, ".md"))
            $(, "\n", include_str!(concat!("texts/", $more, ".md")))*
        )
    };
}

const fn models(context_window: Option<u64>) -> Capabilities {
    Capabilities { reasoning: true, streaming: true, parallel_tool_calls: true, context_window }
}

const OPENAI: Builtin = Builtin {
    tools: &[
        "read_file",
        "apply_patch",
        "write_file",
        "shell",
        "shell_output",
        "shell_input",
        "shell_kill",
        "grep",
        "glob",
        "update_plan",
    ],
    shell_timeout: Duration::from_secs(10),
    capabilities: models(Some(400_000)),
    documents: &[".codex/instructions.md"],
    spec: base!("openai/agent", "openai/spec", "openai/patch", "practice"),
    native: base!("openai/agent", "openai/native", "openai/patch", "practice"),
};

const ANTHROPIC: Builtin = Builtin {
    tools: &[
        "read_file",
        "write_file",
        "edit_file",
        "shell",
        "shell_output",
        "shell_input",
        "shell_kill",
        "grep",
        "glob",
        "update_plan",
    ],
    shell_timeout: Duration::from_mins(2),
    capabilities: models(Some(200_000)),
    documents: &["CLAUDE.md"],
    spec: base!("anthropic/agent", "anthropic/spec", "practice"),
    native: base!("anthropic/agent", "anthropic/native", "practice"),
};

const GEMINI: Builtin = Builtin {
    tools: &[
        "read_file",
        "read_many_files",
        "write_file",
        "edit_file",
        "shell",
        "shell_output",
        "shell_input",
        "shell_kill",
        "grep",
        "glob",
        "list_dir",
        "update_plan",
    ],
    shell_timeout: Duration::from_secs(10),
    capabilities: models(Some(1_048_576)),
    documents: &["GEMINI.md"],
    spec: base!("gemini/agent", "gemini/spec", "practice"),
    native: base!("gemini/agent", "gemini/native", "practice"),
};

/// A model that nobody trained for any agent does best with the plainest tools, and nobody knows
/// whether it reasons.
const COMPATIBLE: Builtin = Builtin {
    tools: &[
        "read_file",
        "write_file",
        "edit_file",
        "shell",
        "shell_output",
        "shell_input",
        "shell_kill",
        "grep",
        "glob",
        "list_dir",
        "update_plan",
    ],
    shell_timeout: Duration::from_secs(10),
    capabilities: models(None),
    documents: &[],
    spec: base!("compatible/agent", "compatible/spec", "practice"),
    native: base!("compatible/agent", "compatible/spec", "practice"),
};

pub(super) fn of(family: Family) -> &'static Builtin {
    match family {
        Family::OpenAi => &OPENAI,
        Family::Anthropic => &ANTHROPIC,
        Family::Gemini => &GEMINI,
        Family::Compatible => &COMPATIBLE,
    }
}

/// The family's tools in our own dialect.
pub(super) fn tools(family: Family, timeouts: Timeouts) -> Vec<Arc<dyn Tool>> {
    of(family).tools.iter().filter_map(|name| named(name, timeouts)).collect()
}

/// One of our tools, with these timeouts if it takes any.
pub(super) fn named(name: &str, timeouts: Timeouts) -> Option<Arc<dyn Tool>> {
    match name {
        "shell" => Some(Arc::new(Shell::new(timeouts))),
        _ => tools::named(name),
    }
}
