//! Who is compared: anybody who can be given a task and a folder.

use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use junto_llm::{Cost, Usd};
use tokio_util::sync::CancellationToken;

use super::run::{Deliberations, Tokens};
use super::task::Task;

/// A boxed future.
pub type Fut<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One model, one agent or a council: works on a task in a folder.
pub trait Contender: Send + Sync {
    /// What it is called in tables, and by which its runs are found again.
    fn name(&self) -> &str;

    /// What it is, in words that name all that matters: if they change, runs from before do not count.
    fn is(&self) -> String;

    /// Who sits in it, by the names of other contenders, each as often as it sits there; empty if it is no
    /// council. Its lift is measured against the best of these.
    fn members(&self) -> Vec<String> {
        Vec::new()
    }

    /// Works on the task in the folder, and leaves its result there. Ends soon after the job is cancelled, with
    /// nothing left running; what it gives then is not counted.
    fn work<'a>(&'a self, job: Job<'a>) -> Fut<'a, Attempt>;
}

/// One task for one contender, once.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The task.
    pub task: &'a Task,
    /// A git repository with one commit and a clean tree, for this job alone.
    pub directory: &'a Path,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// What it may cost, if that is limited.
    pub most: Option<Usd>,
    /// How long it may take. Whoever waits enforces it by cancelling, too.
    pub within: Duration,
    /// Ends the work.
    pub cancel: &'a CancellationToken,
}

/// What a contender made of a job.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// How it ended.
    pub ended: Ended,
    /// What it said in the end; oracles of questions look at it.
    pub answer: String,
    /// What it cost.
    pub cost: Cost,
    /// What it used.
    pub tokens: Tokens,
    /// What councils in it decided.
    pub deliberations: Deliberations,
}

impl Attempt {
    /// An attempt that ended so and used nothing.
    pub fn ended(ended: Ended) -> Self {
        Self {
            ended,
            answer: String::new(),
            cost: Cost::Unknown,
            tokens: Tokens::default(),
            deliberations: Deliberations::default(),
        }
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself.
    Done,
    /// It gave up, ran into a limit, or failed on the way. The oracle judges what is there, and it counts.
    Troubled(String),
    /// It could not begin, and will not be able to: the evaluation ends.
    Unable(String),
}
