//! What a contest is made of.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use junto_core::{Agent, AgentError, AgentSpec, Fut, Parent};
use junto_env::ExecutionEnvironment;

use super::{Error, ErrorKind, Oracle, Record, Result, Runs};

/// The most candidates that one run has. Each is an agent with a checkout of its own.
pub const MOST_CANDIDATES: usize = 16;

/// Is told how a run stands, whenever that changes.
pub type Report = Arc<dyn Fn(&Record) + Send + Sync>;

/// Starts the members of a contest, and says where things run.
pub trait Crew: Send + Sync {
    /// The environment in a directory: what the oracle runs in there. Git runs in it
    /// [`unconfined`](ExecutionEnvironment::unconfined), since repositories are outside of what is worked in.
    ///
    /// # Errors
    /// If there is no such directory.
    fn environment(
        &self,
        directory: &Path,
    ) -> std::result::Result<Arc<dyn ExecutionEnvironment>, junto_env::Error>;

    /// Starts a member in a directory. Its events go to the parent's log, as a child's.
    ///
    /// # Errors
    /// `invalid` for a kind that is not known, or that is a contest itself; else what kept it from starting.
    fn start<'a>(
        &'a self,
        spec: AgentSpec,
        directory: &'a Path,
        parent: Parent,
    ) -> Fut<'a, std::result::Result<Arc<dyn Agent>, AgentError>>;
}

/// Who may work on a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// What it is called.
    pub name: String,
    /// What is started. Where it works is the contest's to say.
    pub spec: AgentSpec,
}

/// Who judges the candidates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OracleChoice {
    /// What the project's files say: see [`detect`](super::detect).
    #[default]
    Detect,
    /// This one.
    Given(Oracle),
    /// Nobody. Then there is one candidate, and it is shown, not recommended.
    Nobody,
}

/// What is done if the user's tree has changes that are in no commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dirty {
    /// No contest is held.
    #[default]
    Refuse,
    /// The members begin with them, but for ignored files.
    Include,
    /// The members begin with the last commit all the same.
    LeaveOut,
}

/// What a contest is made of.
#[derive(Clone)]
pub struct ContestSetup {
    /// What its kind is called.
    pub kind: String,
    /// A folder of a git repository: the one that is worked on.
    pub directory: PathBuf,
    /// Where its runs are kept.
    pub runs: Runs,
    /// Starts the members.
    pub crew: Arc<dyn Crew>,
    /// Who may work on a task, in this order.
    pub members: Vec<Member>,
    /// How many candidates there are; the members take turns. Absent: one for each member.
    pub candidates: Option<usize>,
    /// Who judges them.
    pub oracle: OracleChoice,
    /// What is done if the user's tree has changes.
    pub dirty: Dirty,
    /// Who makes one of several that pass; absent: nobody.
    pub synthesis: Option<Member>,
    /// Ignored paths of the user's tree, relative to the directory, that every checkout gets a copy of, such
    /// as installed dependencies. What is not there is left out.
    pub bring: Vec<PathBuf>,
    /// How long a member may work.
    pub member_time: Duration,
    /// How long each step of the oracle may take.
    pub oracle_time: Duration,
    /// How many members work at a time.
    pub at_once: usize,
    /// Is told how each run stands.
    pub report: Option<Report>,
}

impl ContestSetup {
    /// A contest of these members, with its defaults.
    pub fn new(directory: impl Into<PathBuf>, runs: Runs, crew: Arc<dyn Crew>, members: Vec<Member>) -> Self {
        Self {
            kind: "council".to_owned(),
            directory: directory.into(),
            runs,
            crew,
            members,
            candidates: None,
            oracle: OracleChoice::default(),
            dirty: Dirty::default(),
            synthesis: None,
            bring: Vec::new(),
            member_time: Duration::from_mins(30),
            oracle_time: Duration::from_mins(10),
            at_once: 4,
            report: None,
        }
    }

    /// Who makes each candidate, in the order of their numbers.
    ///
    /// # Errors
    /// `invalid` if there are no members, or no or too many candidates.
    pub fn lineup(&self) -> Result<Vec<Member>> {
        let invalid = |message: String| Error::new(ErrorKind::Invalid, message);
        if self.members.is_empty() {
            return Err(invalid("the council has no members".to_owned()).hint("name at least one agent"));
        }
        let count = self.candidates.unwrap_or(self.members.len());
        if count == 0 {
            return Err(invalid("a council of 0 agents does nothing".to_owned())
                .hint(format!("ask for 1 to {MOST_CANDIDATES}")));
        }
        if count > MOST_CANDIDATES {
            return Err(invalid(format!("{count} candidates are more than {MOST_CANDIDATES}")).hint(
                format!("each is an agent with a checkout of its own; ask for at most {MOST_CANDIDATES}"),
            ));
        }
        Ok(self.members.iter().cycle().take(count).cloned().collect())
    }
}

impl std::fmt::Debug for ContestSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContestSetup")
            .field("directory", &self.directory)
            .field("members", &self.members)
            .field("candidates", &self.candidates)
            .field("oracle", &self.oracle)
            .finish_non_exhaustive()
    }
}
