//! One candidate: a worktree, a member at work in it, what it changed, and what the oracle says of that.

use std::path::Path;

use super::Run;
use crate::contest::capture::Captured;
use crate::contest::member::{Errand, Finished};
use crate::contest::record::{Candidate, Ended, Proof, State, Verdict};
use crate::contest::scratch::Checkout;
use crate::contest::setup::Member;
use crate::contest::{Error, ErrorKind, Mark, Oracle, Result, marks, synthesis};

/// How much of what a member said last is kept.
const SAID: usize = 4000;

impl Run<'_> {
    /// Has a member work on the task. What goes wrong is the candidate's, and not the run's.
    pub(super) async fn compete(&self, member: &Member, number: u32) {
        if self.stop.is_cancelled() {
            self.set(number, |candidate| {
                candidate.state = State::Done;
                candidate.ended = Some(Ended::Interrupted);
            });
            return;
        }
        let (base, task) = {
            let record = self.state();
            (record.base.commit.clone(), synthesis::task(self.task, record.oracle.as_ref()))
        };
        self.attempt(member, number, task, &base).await;
    }

    /// Has a member make one of several candidates, beginning with one of them.
    pub(super) async fn merge(&self, member: &Member, number: u32, task: String, first: u32) {
        self.attempt(member, number, task, &format!("refs/junto/{first}")).await;
    }

    async fn attempt(&self, member: &Member, number: u32, task: String, from: &str) {
        let made = self.made(member, number, task, from).await;
        if let Err(error) = &made {
            let message = error.to_string();
            self.set(number, |candidate| candidate.ended = Some(Ended::Failed { message }));
        }
        self.set(number, |candidate| candidate.state = State::Done);
        let words =
            self.state().candidate(number).map(|c| format!("candidate {number} ({}) {}", c.who(), c.words()));
        if let Some(words) = words {
            self.say(words).await;
        }
    }

    async fn made(&self, member: &Member, number: u32, task: String, from: &str) -> Result<()> {
        let top = self.work()?.join(number.to_string());
        let commit =
            self.scratch.git()?.word(&["rev-parse", "--verify", &format!("{from}^{{commit}}")]).await?;
        let checkout = match self.checked_out(&commit, &top).await {
            Ok(checkout) => checkout,
            Err(error) => {
                // Nobody has worked in it.
                Checkout { top }.remove().await?;
                return Err(error);
            }
        };
        self.set(number, |candidate| candidate.state = State::Working);
        let directory = checkout.top.join(&self.user.folder);
        let errand = Errand {
            member,
            name: format!("{number}-{}", member.name),
            directory: &directory,
            task,
            within: self.setup.member_time,
        };
        let finished = self.household.work(&*self.setup.crew, errand, self.stop).await;
        let Finished { ended, said, usage, cost, seconds } = finished;
        let said = said.chars().take(SAID).collect();
        self.set(number, |candidate| {
            candidate.ended = Some(ended);
            (candidate.said, candidate.usage, candidate.cost) = (said, usage, cost);
            candidate.seconds = seconds;
        });
        let captured = self.capture(number, &checkout).await;
        let kept = self.scratch.keep_commits(&checkout, number).await;
        // Only what is kept elsewhere is taken away.
        let is_saved =
            kept && captured.as_ref().is_ok_and(|captured| !captured.marks.iter().any(Mark::forbids));
        let left = checkout.top.clone();
        // One that cannot be taken away is no reason to lose what it holds.
        if (!is_saved || checkout.remove().await.is_err()) && left.exists() {
            self.set(number, |candidate| candidate.left = Some(left));
        }
        let captured = captured?;
        self.prove(number, captured).await
    }

    /// What is in a checkout, as a diff against the base.
    async fn capture(&self, number: u32, checkout: &Checkout) -> Result<Captured> {
        if !checkout.top.is_dir() {
            return Err(Error::new(ErrorKind::Failed, "its worktree is gone"));
        }
        let (base, file) = {
            let record = self.state();
            (record.base.commit.clone(), self.setup.runs.diff_path(&record.run, number)?)
        };
        self.scratch.capture(checkout, &base, &file).await
    }

    /// Keeps what a candidate changed, and asks the oracle about it.
    async fn prove(&self, number: u32, captured: Captured) -> Result<()> {
        let Captured { diff, files, marks: mut all } = captured;
        let (base, oracle) = {
            let record = self.state();
            (record.base.commit.clone(), record.oracle.clone())
        };
        all.extend(marks::marks(&files, oracle.as_ref()));
        let (tree, is_empty) = (diff.tree.clone(), diff.is_empty());
        self.set(number, |candidate| (candidate.diff, candidate.marks) = (Some(diff), all));
        let message = format!("Candidate {number}");
        let commit = self.scratch.commit(&tree, &base, &message, &format!("refs/junto/{number}")).await?;
        let Some(oracle) = oracle.filter(|_| !is_empty && !self.stop.is_cancelled()) else { return Ok(()) };
        self.set(number, |candidate| candidate.state = State::Proving);
        let verdict = match self.judged(&oracle, &commit, &format!("{number}-checks")).await {
            Ok(verdict) => verdict,
            Err(error) => Verdict {
                proof: Proof::NotRun { why: error.to_string() },
                step: String::new(),
                seconds: 0.0,
                tail: String::new(),
            },
        };
        self.set(number, |candidate| candidate.verdict = Some(verdict));
        Ok(())
    }

    /// What the oracle says of a commit, in a fresh checkout that is taken away after it.
    pub(super) async fn judged(&self, oracle: &Oracle, commit: &str, name: &str) -> Result<Verdict> {
        let fault = |error: junto_env::Error| Error::new(ErrorKind::Failed, error.to_string());
        let _turn = self.judging.acquire().await;
        let checkout = Checkout { top: self.work()?.join(name) };
        let judged = async {
            self.checked_out(commit, &checkout.top).await?;
            let directory = checkout.top.join(&self.user.folder);
            let env = self.setup.crew.environment(&directory).map_err(fault)?;
            Ok(oracle.judge(&*env, self.setup.oracle_time, self.stop).await)
        };
        let judged = judged.await;
        // A verdict counts, whatever became of the place it was found in.
        if let Err(error) = checkout.remove().await {
            self.say(format!("a checkout is left behind: {error}")).await;
        }
        judged
    }

    async fn checked_out(&self, commit: &str, top: &Path) -> Result<Checkout> {
        let checkout = self.scratch.check_out(commit, top).await?;
        let (from, to) = (self.user.top.join(&self.user.folder), top.join(&self.user.folder));
        self.scratch.bring(&from, &to, &self.bring).await?;
        Ok(checkout)
    }

    /// Changes what is known of a candidate. That it could not be kept is told at the end of the run.
    fn set(&self, number: u32, change: impl FnOnce(&mut Candidate)) {
        let kept = self.update(|record| {
            if let Some(candidate) = record.candidates.iter_mut().find(|known| known.number == number) {
                change(candidate);
            }
        });
        drop(kept);
    }
}
