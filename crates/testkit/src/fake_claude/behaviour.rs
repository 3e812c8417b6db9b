//! What a test asks of the fake.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What the fake prints, and how it misbehaves. The default answers the prompt by a script.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Behaviour {
    /// The recording it replays; its status is taken from the `.exit` file beside it.
    pub replay: Option<PathBuf>,
    /// The recording it replays when it is asked to resume a session.
    pub resumed: Option<PathBuf>,
    /// What goes wrong, if anything.
    pub fault: Option<Fault>,
    /// After how many lines.
    pub after: usize,
    /// Whether it waits for another message of the user before its last line, and answers it.
    pub await_steering: bool,
    /// The signals it does not listen to.
    pub ignore: Vec<Ignored>,
    /// Whether it leaves a process behind that has a session of its own and no parent.
    pub escape: bool,
    /// Whether it prints things first that are no events, and events that nobody knows.
    pub garbage: bool,
    /// How much it prints on standard error, before anything else.
    pub stderr_bytes: usize,
    /// Its status, whatever was recorded.
    pub exit: Option<u8>,
    /// A file to which it adds a line of JSON with what it was given. What it tells in the end is added to the
    /// file [`Behaviour::told`].
    pub record: Option<PathBuf>,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It waits until somebody opens this named pipe for writing and closes it; then it goes on.
    Hold(PathBuf),
    /// It does nothing any more.
    Hang,
    /// It is killed in the middle of a line.
    Crash,
    /// It ends with this status.
    Exit(i32),
}

/// A signal that the fake does not listen to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ignored {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl Behaviour {
    /// The variable in which the fake finds its behaviour.
    pub const VARIABLE: &str = "FAKE_CLAUDE";

    /// Replays a recording of `claude`, by its name.
    pub fn replaying(name: &str) -> Self {
        Self { replay: Some(crate::recording(&format!("claude/{name}"))), ..Self::default() }
    }

    /// This behaviour until so many lines are out, then this fault.
    pub fn then(mut self, after: usize, fault: Fault) -> Self {
        self.after = after;
        self.fault = Some(fault);
        self
    }

    /// Where it keeps the results that it told, each a line of JSON, if it records anything.
    pub fn told(&self) -> Option<PathBuf> {
        self.record.as_ref().map(|path| path.with_extension("told"))
    }

    /// The variables that tell the fake to behave so.
    ///
    /// # Panics
    /// If a path is no text.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let behaviour = serde_json::to_string(self).expect("paths of tests are text");
        BTreeMap::from([(Self::VARIABLE.to_owned(), behaviour)])
    }

    pub(super) fn from_environment() -> Result<Self, String> {
        match super::variable(Self::VARIABLE) {
            None => Ok(Self::default()),
            Some(text) => serde_json::from_str(&text).map_err(|e| format!("{}: {e}", Self::VARIABLE)),
        }
    }
}
