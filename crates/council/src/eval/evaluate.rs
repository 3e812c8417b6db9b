//! An evaluation from its first run to its last.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use junto_llm::{Cost, Usd};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::arena::Arena;
use super::contender::{Attempt, Ended, Job};
use super::error::{Error, ErrorKind};
use super::keep::Runs;
use super::plan::{Cell, Plan};
use super::run::{Deliberations, Run, Tokens};

/// How long a contender has to end after its time was up.
const LAST: Duration = Duration::from_secs(30);

/// On which terms an evaluation runs.
#[derive(Clone, Debug)]
pub struct Terms {
    /// How many runs are under way at a time; at least one.
    pub parallel: usize,
    /// How long a contender may work on a task.
    pub within: Duration,
    /// What one run may cost. A contender that needs more has failed.
    pub most_per_run: Option<Usd>,
    /// What all runs of this call may cost. No run is started that could go beyond it, if what one may cost is
    /// limited; else none is started once it is reached.
    pub most: Option<Usd>,
}

/// What is happening.
#[derive(Clone, Copy)]
pub enum Progress<'a> {
    /// A run begins.
    Began {
        /// Which.
        cell: Cell<'a>,
        /// How many are under way, this one included.
        under_way: usize,
    },
    /// A run has ended, and is kept.
    Ended {
        /// What became of it.
        run: &'a Run,
        /// How many are done, those from before included.
        done: usize,
        /// How many there are in all.
        of: usize,
    },
}

/// How an evaluation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evaluated {
    /// How many runs were done now.
    pub done: usize,
    /// How many were there from before.
    pub kept: usize,
    /// Why some were not done, if some were not.
    pub stopped: Option<Stopped>,
}

/// Why runs were not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// They would have cost too much.
    Budget,
    /// Somebody cancelled.
    Cancelled,
}

/// Does the runs of a plan that are not kept yet, in its order, and keeps each when it ends. What is cut off by a
/// crash or a cancel is done again by the next call, and nothing else is.
///
/// # Errors
/// If a contender cannot work at all, a folder cannot be made, a run cannot be kept, or the budget cannot be held
/// because a cost is not known. Runs that were kept stay kept; those under way are cancelled.
pub async fn evaluate(
    plan: &Plan,
    terms: &Terms,
    arena: &Arena,
    runs: &mut Runs,
    cancel: &CancellationToken,
    tell: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Evaluated, Error> {
    let (of, wanted) = (plan.len(), plan.cells().filter(|cell| runs.of(cell).is_none()).collect::<Vec<_>>());
    let kept = of.saturating_sub(wanted.len());
    let cancel = cancel.child_token();
    let (mut wanted, mut under_way) = (wanted.into_iter().peekable(), FuturesUnordered::new());
    let (mut purse, mut done, mut stopped) = (Purse::new(terms), 0, None);
    let mut failed = None;
    loop {
        while stopped.is_none() && under_way.len() < terms.parallel.max(1) {
            if wanted.peek().is_none() {
                break;
            }
            if cancel.is_cancelled() {
                stopped = Some(Stopped::Cancelled);
            } else if !purse.take() {
                stopped = Some(Stopped::Budget);
            } else if let Some(cell) = wanted.next() {
                tell(Progress::Began { cell, under_way: under_way.len() + 1 });
                under_way.push(perform(cell, terms, arena, &cancel));
            }
        }
        let Some(performed) = under_way.next().await else { break };
        let kept_run = performed.and_then(|run| match run {
            // What was cancelled is as if it had never begun.
            None => Ok(()),
            Some(run) => {
                done += 1;
                let booked = purse.book(&run);
                tell(Progress::Ended { run: runs.keep(run)?, done: kept + done, of });
                booked
            }
        });
        if let Err(error) = kept_run {
            failed.get_or_insert(error);
            stopped = Some(Stopped::Cancelled);
            cancel.cancel();
        }
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(Evaluated { done, kept, stopped }),
    }
}

/// One run, from its fresh copy to the oracle's word; none if it was cancelled.
async fn perform(
    cell: Cell<'_>,
    terms: &Terms,
    arena: &Arena,
    cancel: &CancellationToken,
) -> Result<Option<Run>, Error> {
    let Cell { task, contender, repetition } = cell;
    let place = arena.prepare(task, &format!("{}.{repetition}", slug(contender.name()))).await?;
    let own = cancel.child_token();
    let job = Job {
        task,
        directory: &place.work,
        repetition,
        most: terms.most_per_run,
        within: terms.within,
        cancel: &own,
    };
    let began = Instant::now();
    let mut work = contender.work(job);
    let attempt = if let Ok(attempt) = timeout(terms.within, &mut work).await {
        attempt
    } else {
        own.cancel();
        let last = timeout(LAST, &mut work).await;
        let ended = Ended::Troubled(format!("it took longer than {} s", terms.within.as_secs()));
        last.map_or_else(|_| Attempt::ended(ended.clone()), |last| Attempt { ended: ended.clone(), ..last })
    };
    drop(work);
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let Attempt { ended, answer, cost, tokens, deliberations } = attempt;
    let trouble = match ended {
        _ if cancel.is_cancelled() => {
            arena.leave(&place);
            return Ok(None);
        }
        Ended::Unable(why) => {
            arena.leave(&place);
            let message = format!("{} cannot work: {why}", contender.name());
            return Err(Error::new(ErrorKind::Contender, message));
        }
        Ended::Troubled(why) => Some(why),
        Ended::Done => None,
    };
    let judged = arena.judge(task, &place, &answer, cancel).await?;
    arena.leave(&place);
    if cancel.is_cancelled() {
        return Ok(None);
    }
    let run = RunOf { trouble, cost, tokens, millis, deliberations };
    Ok(Some(run.of(cell, judged)))
}

struct RunOf {
    trouble: Option<String>,
    cost: Cost,
    tokens: Tokens,
    millis: u64,
    deliberations: Deliberations,
}

impl RunOf {
    fn of(self, cell: Cell<'_>, judged: super::arena::Judged) -> Run {
        let Self { trouble, cost, tokens, millis, deliberations } = self;
        Run {
            v: Run::VERSION,
            task: cell.task.name.clone(),
            task_digest: cell.task.digest.clone(),
            contender: cell.contender.name().to_owned(),
            contender_is: cell.contender.is(),
            repetition: cell.repetition,
            verdict: judged.verdict,
            trouble,
            oracle_said: judged.said,
            cost,
            tokens,
            millis,
            deliberations,
        }
    }
}

/// What may still be spent.
struct Purse {
    most: Option<Usd>,
    most_per_run: Option<Usd>,
    spent: Usd,
    under_way: u32,
}

impl Purse {
    fn new(terms: &Terms) -> Self {
        Self { most: terms.most, most_per_run: terms.most_per_run, spent: Usd::ZERO, under_way: 0 }
    }

    /// Whether another run may begin; if so it counts as under way.
    fn take(&mut self) -> bool {
        let allowed = match (self.most, self.most_per_run) {
            (None, _) => true,
            (Some(most), None) => self.spent < most,
            (Some(most), Some(each)) => {
                let reserved = i64::from(self.under_way + 1).saturating_mul(each.0);
                self.spent.0.saturating_add(reserved) <= most.0
            }
        };
        self.under_way += u32::from(allowed);
        allowed
    }

    /// Books a run that has ended.
    fn book(&mut self, run: &Run) -> Result<(), Error> {
        self.under_way = self.under_way.saturating_sub(1);
        // Where what one may cost is limited, what is not known cannot be more.
        match (run.cost.amount().or(self.most_per_run), self.most) {
            (Some(usd), _) => self.spent = Usd(self.spent.0.saturating_add(usd.0)),
            (None, None) => {}
            (None, Some(_)) => {
                let message =
                    format!("what {} costs is not known, so the budget cannot be held", run.contender);
                return Err(Error::new(ErrorKind::Budget, message));
            }
        }
        Ok(())
    }
}

/// A name as a part of a path, told apart by `prepare`'s other parts only within one contender.
fn slug(name: &str) -> String {
    let digest = super::tree::short(sha2::Digest::chain_update(sha2::Sha256::default(), name));
    let plain = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(24);
    plain.chain(['-']).chain(digest.chars().take(8)).collect()
}
