//! A candidate on a branch of the user's: the only thing that writes there.

use std::path::Path;
use std::sync::Arc;

use junto_env::ExecutionEnvironment;

use super::git::{Git, failed, plain};
use super::repository::{Repository, Untracked};
use super::{Error, ErrorKind, Result, RunId, Runs};

/// What was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The candidate's number.
    pub candidate: u32,
    /// The branch that it is on, which is checked out now.
    pub branch: String,
    /// The commit.
    pub commit: String,
}

/// Puts a candidate of a run, or without a number its winner, on a new branch of the repository that
/// `directory` is in, and checks that out. The tree must be clean. Where the repository has moved on since the run,
/// the candidate is merged; nothing is changed if that cannot be done without a conflict.
///
/// # Errors
/// `not_found` for a run or candidate that is not there; `dirty` for a tree with changes; `conflict` if the
/// candidate does not fit; `invalid` if there is no winner, or the candidate changes nothing or is not all in its
/// diff, or the repository is another one.
pub async fn apply(
    runs: &Runs,
    run: &RunId,
    candidate: Option<u32>,
    env: Arc<dyn ExecutionEnvironment>,
    directory: &Path,
) -> Result<Applied> {
    let record = runs.read(run)?;
    let invalid = |message: String| Error::new(ErrorKind::Invalid, message);
    let number = candidate.or(record.winner).ok_or_else(|| {
        invalid(format!("run {run} has no winner: {}", record.reason))
            .hint(format!("name a candidate to apply it all the same: junto apply {run} NUMBER"))
    })?;
    let chosen = record.candidate(number).ok_or_else(|| {
        let message = format!("run {run} has no candidate {number}");
        Error::new(ErrorKind::NotFound, message).hint(format!("it has 1 to {}", record.candidates.len()))
    })?;
    if !chosen.is_applicable() {
        let why = chosen.words();
        return Err(invalid(format!("candidate {number} of run {run} cannot be applied: {why}")));
    }
    let env = env.unconfined().unwrap_or(env);
    let user = Repository::find(env, directory).await?;
    if user.top != record.repository {
        let message =
            format!("run {run} is of {}, not of {}", record.repository.display(), user.top.display());
        return Err(invalid(message).hint("go to that repository first"));
    }
    if let Some(change) = user.changes(Untracked::LeaveOut).await?.first() {
        let message = format!("the tree has changes that are in no commit: {}", change.trim());
        return Err(Error::new(ErrorKind::Dirty, message).hint("commit or stash them first"));
    }
    let git = user.git();
    let branch = free_branch(&git, run, number).await?;
    let from = runs.repository(run)?;
    let reference = format!("refs/junto/{number}");
    let fetch =
        ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--no-recurse-submodules"];
    let fetch: Vec<&str> = fetch.into_iter().chain([plain(&from)?, &reference]).collect();
    git.run(&fetch).await?;
    let ours = Git::of_ours(user.env(), &from).with_path("GIT_DIR", &from)?;
    let theirs = ours.word(&["rev-parse", "--verify", &reference]).await?;
    let tree = fitted(&git, &record.base.commit, &theirs).await?;
    let title: String = record.task.lines().next().unwrap_or_default().chars().take(72).collect();
    let message = format!("{title}\n\nCandidate {number} ({}) of run {run}.\n", chosen.who());
    let commit = git.word(&["commit-tree", &tree, "-p", "HEAD", "-m", &message]).await?;
    let name = format!("refs/heads/{branch}");
    // Only if nobody has made it meanwhile.
    git.run(&["update-ref", "-m", "junto apply", &name, &commit, ""]).await?;
    // What is ignored here is somebody's own all the same, such as a file with keys.
    let checkout = ["checkout", "--quiet", "--no-overwrite-ignore", &branch, "--"];
    let (ended, _) = git.ask(&checkout, None).await?;
    if !ended.exit.success() {
        // The user stays where he was, and the branch goes.
        git.run(&["update-ref", "-d", &name, &commit]).await?;
        let why = failed(&["checkout"], &ended);
        return Err(Error::new(ErrorKind::Conflict, why.to_string())
            .hint("move the files away that are in the way, and apply again"));
    }
    Ok(Applied { candidate: number, branch, commit })
}

/// The candidate's files as they are on top of the user's last commit.
async fn fitted(git: &Git, base: &str, theirs: &str) -> Result<String> {
    let tree = |commit: &str| format!("{commit}^{{tree}}");
    let here = git.word(&["rev-parse", "--verify", "HEAD^{tree}"]).await?;
    if here == git.word(&["rev-parse", "--verify", &tree(base)]).await? {
        return git.word(&["rev-parse", "--verify", &tree(theirs)]).await;
    }
    // What the candidate changed is what differs from its base, wherever the branches have parted since: so both
    // sides follow that and nothing else.
    let root = git.word(&["commit-tree", &tree(base), "-m", "base"]).await?;
    let after =
        async |commit: &str| git.word(&["commit-tree", &tree(commit), "-p", &root, "-m", "side"]).await;
    let (ours, theirs) = (after("HEAD").await?, after(theirs).await?);
    let merge = ["merge-tree", "--write-tree", "--name-only", "--no-messages", &ours, &theirs];
    let (ended, said) = git.ask(&merge, None).await?;
    let said = String::from_utf8_lossy(&said);
    let mut lines = said.lines();
    let merged = lines.next().unwrap_or_default().to_owned();
    match ended.exit.code {
        Some(0) => Ok(merged),
        Some(1) => {
            let files: Vec<&str> = lines.take(5).collect();
            let message =
                format!("the candidate does not fit what was committed since: {}", files.join(", "));
            Err(Error::new(ErrorKind::Conflict, message)
                .hint("go back to the commit that the run began with, and apply it there"))
        }
        _ => Err(failed(&merge, &ended)),
    }
}

/// A name for the branch that no other has.
async fn free_branch(git: &Git, run: &RunId, number: u32) -> Result<String> {
    let short: String = run.0.chars().take(12).collect();
    for again in 1..100 {
        let name = match again {
            1 => format!("junto/{short}-{number}"),
            again => format!("junto/{short}-{number}-{again}"),
        };
        let reference = format!("refs/heads/{name}");
        let (ended, _) = git.ask(&["show-ref", "--verify", "--quiet", &reference], None).await?;
        if !ended.exit.success() {
            return Ok(name);
        }
    }
    Err(Error::new(ErrorKind::Failed, "there is no name left for the branch"))
}
