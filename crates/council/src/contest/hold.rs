//! One run: the base is judged, the members work, their candidates are judged, one wins.

mod candidate;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::{StreamExt as _, stream};
use junto_core::{Body, Fut};
use junto_llm::Usage;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::member::Household;
use super::record::{Base, Candidate, Phase, Proof, Record, Role, State};
use super::repository::{Repository, Untracked};
use super::scratch::Scratch;
use super::setup::{ContestSetup, Dirty, Member, OracleChoice};
use super::{Error, ErrorKind, Oracle, Result, choose, detect, synthesis};

/// How many changes are named to whoever has some.
const NAMED: usize = 3;

/// A run under way.
pub(super) struct Run<'a> {
    setup: &'a ContestSetup,
    household: &'a Household,
    stop: &'a CancellationToken,
    task: &'a str,
    user: Repository,
    scratch: Scratch,
    /// What each checkout gets beside what is in the commit.
    bring: Vec<PathBuf>,
    /// One oracle at a time: tests share ports, caches and the machine.
    judging: Semaphore,
    record: Mutex<Record>,
}

/// Holds a contest on a task. Everything it started has ended when this returns, and what it made in worktrees
/// is kept. An interrupt is no error: the record says so.
pub(super) fn hold<'a>(
    setup: &'a ContestSetup,
    household: &'a Household,
    task: &'a str,
    stop: &'a CancellationToken,
) -> Fut<'a, Result<Record>> {
    Box::pin(held(setup, household, task, stop))
}

async fn held(
    setup: &ContestSetup,
    household: &Household,
    task: &str,
    stop: &CancellationToken,
) -> Result<Record> {
    let lineup = setup.lineup()?;
    let env = setup.crew.environment(&setup.directory);
    let env = env.map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))?;
    let directory = env.facts().cwd.as_path().to_owned();
    let user = Repository::find(env.unconfined().unwrap_or(env), &directory).await?;
    let oracle = oracle(setup, &user, lineup.len())?;
    let changes = user.changes(Untracked::Count).await?;
    if setup.dirty == Dirty::Refuse && !changes.is_empty() {
        return Err(dirty(&changes));
    }
    let bring = brought(setup, oracle.as_ref(), &user).await?;
    let run = setup.runs.create()?;
    let begun = async {
        let scratch = Scratch::create(user.env(), &setup.runs.repository(&run)?, &user).await?;
        let base = base(&scratch, &user, setup.dirty == Dirty::Include && !changes.is_empty()).await?;
        Ok::<_, Error>((scratch, base))
    };
    let (scratch, base) = begun.await.inspect_err(|_| setup.runs.forget(&run))?;
    let candidates = lineup.iter().zip(1..).map(|(member, number)| waiting(member, number, Role::Answer));
    let record = Record {
        v: Record::VERSION,
        run: run.clone(),
        phase: Phase::Base,
        task: task.to_owned(),
        repository: user.top.clone(),
        folder: user.folder.clone(),
        base,
        oracle,
        base_verdict: None,
        candidates: candidates.collect(),
        winner: None,
        reason: String::new(),
        disturbed: None,
        error: None,
    };
    let record = Mutex::new(record);
    let judging = Semaphore::new(1);
    let run = Run { setup, household, stop, task, user, scratch, bring, judging, record };
    run.update(|_| {}).inspect_err(|_| setup.runs.forget(&run.state().run))?;
    run.through(&lineup).await
}

impl Run<'_> {
    async fn through(&self, lineup: &[Member]) -> Result<Record> {
        if let Err(error) = self.judge_base().await {
            // Nobody has worked yet: there is nothing to be kept.
            self.setup.runs.forget(&self.state().run);
            return Err(error);
        }
        let before = self.user.standing().await?;
        self.update(|record| record.phase = Phase::Working)?;
        let all: Vec<Fut<'_, ()>> = lineup
            .iter()
            .zip(1..)
            .map(|(member, number)| Box::pin(self.compete(member, number)) as Fut<'_, ()>)
            .collect();
        stream::iter(all).buffer_unordered(self.setup.at_once.max(1)).collect::<()>().await;
        self.update(|record| {
            record.winner = choose::best(&record.candidates).map(|winner| winner.number);
            record.reason = choose::reason(record);
        })?;
        self.synthesize().await?;
        let stopped = self.stop.is_cancelled();
        let disturbed = match self.user.standing().await {
            Ok(now) => now.since(&before),
            Err(error) => Some(error.to_string()),
        };
        self.update(|record| {
            record.disturbed = disturbed;
            record.phase = if stopped { Phase::Failed } else { Phase::Done };
            record.error = stopped.then(|| "it was interrupted".to_owned());
        })?;
        // Only what was left for the user is in it, if anything.
        let _ = std::fs::remove_dir(self.work()?);
        Ok(self.state().clone())
    }

    /// Asks the oracle about the base: whether it can be asked at all, and what passing would show.
    async fn judge_base(&self) -> Result<()> {
        let (oracle, commit) = {
            let record = self.state();
            (record.oracle.clone(), record.base.commit.clone())
        };
        let Some(oracle) = oracle else { return Ok(()) };
        self.say(format!("checking the base with `{}`", oracle.words())).await;
        let verdict = self.judged(&oracle, &commit, "base").await?;
        if self.stop.is_cancelled() {
            return Err(Error::new(ErrorKind::Interrupted, "it was interrupted"));
        }
        if verdict.is_no_command() {
            let said = match &verdict.proof {
                Proof::NotRun { why } => why.clone(),
                _ => verdict.tail.trim().lines().last().unwrap_or_default().to_owned(),
            };
            let message = format!("the checks cannot be run: `{}`: {said}", oracle.words());
            return Err(Error::new(ErrorKind::NoOracle, message)
                .hint("give a command that can be, with --oracle CMD"));
        }
        self.say(format!("the base {}", verdict.words())).await;
        self.update(|record| record.base_verdict = Some(verdict))
    }

    /// Has one made of those that pass, if that is wanted and there are several.
    async fn synthesize(&self) -> Result<()> {
        let record = self.state().clone();
        let Some((member, oracle)) = self.setup.synthesis.as_ref().zip(record.oracle.as_ref()) else {
            return Ok(());
        };
        let sources = record.candidates.iter().filter(|c| c.passes() && !c.is_marked());
        let mut sources: Vec<&Candidate> = sources.collect();
        sources.sort_by_key(|source| (Some(source.number) != record.winner, source.number));
        let Some((first, others)) = sources.split_first() else { return Ok(()) };
        if others.is_empty() || self.stop.is_cancelled() {
            return Ok(());
        }
        let number = u32::try_from(record.candidates.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.update(|record| {
            record.phase = Phase::Synthesis;
            record.candidates.push(waiting(member, number, Role::Synthesis));
        })?;
        self.say(format!("{} makes one of {} that pass", member.name, sources.len())).await;
        let diffs: Vec<(u32, PathBuf)> = others
            .iter()
            .map(|other| Ok((other.number, self.setup.runs.diff_path(&record.run, other.number)?)))
            .collect::<Result<_>>()?;
        let diffs: Vec<_> = diffs.iter().map(|(number, path)| (*number, path.as_path())).collect();
        let task = synthesis::merge(self.task, oracle, first.number, &diffs);
        self.merge(member, number, task, first.number).await;
        let synthesis = self.state().candidate(number).cloned();
        let accepted = synthesis
            .map_or_else(|| Err("it is gone".to_owned()), |synthesis| choose::accepts(&synthesis, &sources));
        self.update(|record| match accepted {
            Ok(()) => {
                record.winner = Some(number);
                record.reason = format!("the synthesis passes, of {} that pass", sources.len());
            }
            Err(why) => record.reason = format!("{}; the synthesis is not used: {why}", record.reason),
        })
    }

    /// What is known so far.
    fn state(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known, keeps it, and tells whoever wants to know.
    fn update(&self, change: impl FnOnce(&mut Record)) -> Result<()> {
        let now = {
            let mut record = self.state();
            change(&mut record);
            record.clone()
        };
        let kept = self.setup.runs.write(&now);
        if let Some(report) = &self.setup.report {
            report(&now);
        }
        kept
    }

    /// Where checkouts are.
    fn work(&self) -> Result<PathBuf> {
        let run = self.state().run.clone();
        Ok(self.setup.runs.folder(&run)?.join("work"))
    }

    async fn say(&self, text: String) {
        // A log that cannot be written ends the contest where its events are.
        let _ = self.household.log.emit(Body::Progress { text }).await;
    }
}

/// Who judges, if somebody can.
fn oracle(setup: &ContestSetup, user: &Repository, candidates: usize) -> Result<Option<Oracle>> {
    let found = match &setup.oracle {
        OracleChoice::Given(oracle) => Some(oracle.clone()),
        OracleChoice::Detect => detect(&user.top.join(&user.folder)).or_else(|| detect(&user.top)),
        OracleChoice::Nobody => None,
    };
    if found.is_none() && candidates > 1 {
        let message =
            format!("nothing says how {} is tested, so that nobody could judge", user.top.display());
        return Err(Error::new(ErrorKind::NoOracle, message)
            .hint("name the checks with --oracle CMD, or let one agent work with -n 1"));
    }
    Ok(found)
}

fn dirty(changes: &[String]) -> Error {
    let first: Vec<&str> = changes.iter().take(NAMED).map(|line| line.trim()).collect();
    let more = changes.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let message = format!("the tree has changes that are in no commit: {}{more}", first.join(", "));
    Error::new(ErrorKind::Dirty, message)
        .hint("commit or stash them, or let the agents begin with them: --with-changes")
}

/// What all candidates begin with.
async fn base(scratch: &Scratch, user: &Repository, with_changes: bool) -> Result<Base> {
    let git = scratch.git()?;
    let commit = if with_changes {
        let tree = scratch.tree_of_user(user).await?;
        scratch.commit(&tree, &user.head, "What was not committed yet", "refs/junto/base").await?
    } else {
        git.run(&["update-ref", "refs/junto/base", &user.head]).await?;
        user.head.clone()
    };
    let tree = git.word(&["rev-parse", &format!("{commit}^{{tree}}")]).await?;
    Ok(Base { commit, tree, branch: user.branch.clone(), with_changes })
}

/// What checkouts get beside the commit. Only what git ignores: anything else would be part of the diff.
async fn brought(setup: &ContestSetup, oracle: Option<&Oracle>, user: &Repository) -> Result<Vec<PathBuf>> {
    let mut wanted: Vec<(PathBuf, bool)> = setup.bring.iter().map(|path| (path.clone(), true)).collect();
    let needs = oracle.map(|oracle| oracle.needs.as_slice()).unwrap_or_default();
    wanted.extend(needs.iter().map(|path| (PathBuf::from(path), false)));
    let mut all = Vec::new();
    for (path, asked) in wanted {
        let full = user.folder.join(&path);
        let name = full.to_str().unwrap_or_default();
        let args = ["check-ignore", "--quiet", "--", name];
        let ignored = !name.is_empty() && user.git().ask(&args, None).await?.0.exit.success();
        if ignored {
            all.push(path);
        } else if asked {
            let message = format!("{} is not ignored by git, and cannot be brought along", path.display());
            return Err(Error::new(ErrorKind::Invalid, message)
                .hint("name ignored folders below this one, such as node_modules"));
        }
    }
    Ok(all)
}

fn waiting(member: &Member, number: u32, role: Role) -> Candidate {
    Candidate {
        number,
        member: member.name.clone(),
        role,
        state: State::Waiting,
        ended: None,
        said: String::new(),
        diff: None,
        marks: Vec::new(),
        verdict: None,
        usage: Usage::default(),
        cost: None,
        seconds: 0.0,
        left: None,
    }
}
