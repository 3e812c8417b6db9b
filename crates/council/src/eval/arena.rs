//! Where contenders work: a fresh copy of the task for each run, and the oracle that judges what became of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use junto_env::{CommandSpec, ExecResult, ExecutionEnvironment, exec};
use tokio_util::sync::CancellationToken;

use super::error::{Error, ErrorKind};
use super::run::Verdict;
use super::task::{Source, Task};
use super::tree;

/// An environment that works in a folder.
pub type EnvironmentIn =
    Arc<dyn Fn(&Path) -> Result<Arc<dyn ExecutionEnvironment>, junto_env::Error> + Send + Sync>;

/// How much of what an oracle says is kept.
const SAID: usize = 2000;
/// How long git may take for what it is asked here.
const GIT: Duration = Duration::from_mins(5);
/// The variable with the name of the file that has the contender's last words.
const ANSWER: &str = "JUNTO_ANSWER";

/// Makes folders to work in, and lets oracles judge them.
#[derive(Clone)]
pub struct Arena {
    scratch: PathBuf,
    environment: EnvironmentIn,
    leave: Leave,
}

/// What becomes of the folders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leave {
    Nothing,
    Everything,
}

/// The folder of one run.
#[derive(Debug)]
pub(crate) struct Place {
    root: PathBuf,
    /// The copy of the task's repository.
    pub(crate) work: PathBuf,
}

/// What an oracle said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    /// The end of its words, or why it did not end by itself.
    pub(crate) said: String,
}

impl Arena {
    /// An arena that makes its folders below `scratch`, which is better in no project: agents look above
    /// themselves. Oracles and git run in environments that this makes.
    pub fn new(scratch: impl Into<PathBuf>, environment: EnvironmentIn) -> Self {
        Self { scratch: scratch.into(), environment, leave: Leave::Nothing }
    }

    /// The same, with the folders left where they are when a run is over.
    pub fn leaving_folders(self) -> Self {
        Self { leave: Leave::Everything, ..self }
    }

    /// Which programs are missing that the task needs.
    ///
    /// # Errors
    /// If nothing can be run at all.
    pub async fn missing(&self, task: &Task) -> Result<Vec<String>, Error> {
        let mut missing = Vec::new();
        for program in std::iter::once("git").chain(task.needs.iter().map(String::as_str)) {
            let found = self.run(&self.scratch, &format!("command -v {program}"), GIT).await?;
            if !found.exit.success() {
                missing.push(program.to_owned());
            }
        }
        Ok(missing)
    }

    /// Checks the task itself: what is wrong with it, in words. It must not pass as it is, and pass with its
    /// solution, if it has one; so must what contenders decide by.
    ///
    /// # Errors
    /// If it cannot be tried.
    pub async fn check(&self, task: &Task) -> Result<Option<String>, Error> {
        let none = CancellationToken::new();
        let untouched = self.prepare(task, "as-it-is").await?;
        let base = self.judge(task, &untouched, "", &none).await?;
        self.leave(&untouched);
        if base.verdict == Verdict::Passed {
            return Ok(Some("it passes before anybody has done anything".to_owned()));
        }
        let Some(solution) = &task.solution else { return Ok(None) };
        let solved = self.prepare(task, "solved").await?;
        tree::lay_over(solution, &solved.work).map_err(|e| Error::io(ErrorKind::Arena, solution, &e))?;
        // The answer to a question is a file in the solution, where no file of the task can be.
        let answer = solved.work.join(SOLUTION_ANSWER);
        let words = fs::read_to_string(&answer).unwrap_or_default();
        let _ = fs::remove_file(&answer);
        // Before anything that is hidden from contenders is there.
        let seen = match &task.check {
            Some(check) => Some(self.run(&solved.work, check, task.within).await?),
            None => None,
        };
        let judged = self.judge(task, &solved, &words, &none).await?;
        self.leave(&solved);
        Ok(match (judged.verdict, seen) {
            (Verdict::Failed, _) => Some(format!("its own solution does not pass: {}", judged.said)),
            // A question has no more to check than the oracle, which knows the answer.
            (_, Some(seen)) if words.is_empty() && !seen.exit.success() => {
                Some(format!("its own solution does not pass `check`: {}", last_words(&seen)))
            }
            _ => None,
        })
    }

    /// A fresh copy of the task, as a git repository with one commit.
    pub(crate) async fn prepare(&self, task: &Task, run: &str) -> Result<Place, Error> {
        let root = self.scratch.join(format!("{}.{run}", task.name));
        let work = root.join("work");
        let cannot = |e: std::io::Error| Error::io(ErrorKind::Arena, &root, &e);
        if root.exists() {
            fs::remove_dir_all(&root).map_err(cannot)?;
        }
        fs::create_dir_all(&work).map_err(cannot)?;
        match &task.source {
            Source::Folder(repo) => {
                let (repo, work) = (repo.clone(), work.clone());
                let copied = tokio::task::spawn_blocking(move || tree::lay_over(&repo, &work)).await;
                copied.map_err(std::io::Error::other).and_then(|done| done).map_err(cannot)?;
            }
            Source::Git { repository, revision } => {
                let from =
                    repository.canonicalize().map_err(|e| Error::io(ErrorKind::Task, repository, &e))?;
                let unpack = format!(
                    "set -o pipefail 2>/dev/null; git -C {} archive --format=tar {} | tar -xf -",
                    quoted(&from.display().to_string()),
                    quoted(revision)
                );
                self.git(&work, &unpack).await?;
            }
        }
        // Whoever commits there later need not have told git who he is.
        let begin = "git init -q --template= -b main && git config user.name eval && \
                     git config user.email eval@localhost && git add -A -f && git commit -q --allow-empty -m base";
        self.git(&work, begin).await?;
        Ok(Place { root, work })
    }

    /// Lets the oracle judge a folder, after what the task hides was laid over it.
    pub(crate) async fn judge(
        &self,
        task: &Task,
        place: &Place,
        answer: &str,
        cancel: &CancellationToken,
    ) -> Result<Judged, Error> {
        let file = place.root.join("answer.txt");
        fs::write(&file, answer).map_err(|e| Error::io(ErrorKind::Arena, &file, &e))?;
        if let Some(hidden) = &task.hidden {
            tree::lay_over(hidden, &place.work).map_err(|e| Error::io(ErrorKind::Arena, hidden, &e))?;
        }
        let mut oracle = CommandSpec::shell(&task.oracle);
        oracle.variables.insert(ANSWER.to_owned(), file.display().to_string());
        let env = self.environment(&place.work)?;
        let judged = exec(&*env, oracle, task.within, cancel, &mut |_| {}).await;
        let judged = judged.map_err(|e| Error::new(ErrorKind::Arena, format!("{}: {e}", task.name)))?;
        if judged.exit.success() && !judged.timed_out && !judged.cancelled {
            return Ok(Judged { verdict: Verdict::Passed, said: String::new() });
        }
        let words = last_words(&judged);
        let said = if judged.timed_out {
            format!("the oracle took longer than {} s\n{words}", task.within.as_secs())
        } else {
            format!("{words}\n({})", judged.exit)
        };
        Ok(Judged { verdict: Verdict::Failed, said: said.trim().to_owned() })
    }

    /// Removes the folder of a run, unless folders are left. That a file cannot be removed harms nobody.
    pub(crate) fn leave(&self, place: &Place) {
        if self.leave == Leave::Nothing {
            let _ = fs::remove_dir_all(&place.root);
        }
    }

    async fn git(&self, folder: &Path, line: &str) -> Result<(), Error> {
        let done = self.run(folder, line, GIT).await?;
        if done.exit.success() && !done.timed_out {
            return Ok(());
        }
        let message = format!("git in {}: {} ({})", folder.display(), last_words(&done).trim(), done.exit);
        Err(Error::new(ErrorKind::Arena, message))
    }

    async fn run(&self, folder: &Path, line: &str, within: Duration) -> Result<ExecResult, Error> {
        fs::create_dir_all(folder).map_err(|e| Error::io(ErrorKind::Arena, folder, &e))?;
        let mut command = CommandSpec::shell(line);
        // The user's hooks, keys and templates have no part in this.
        for (name, value) in GIT_VARIABLES {
            command.variables.insert((*name).to_owned(), (*value).to_owned());
        }
        let env = self.environment(folder)?;
        let done = exec(&*env, command, within, &CancellationToken::new(), &mut |_| {}).await;
        done.map_err(|e| Error::new(ErrorKind::Arena, e.to_string()))
    }

    fn environment(&self, folder: &Path) -> Result<Arc<dyn ExecutionEnvironment>, Error> {
        (self.environment)(folder).map_err(|e| Error::new(ErrorKind::Arena, e.to_string()))
    }
}

/// The file in a solution that has what a contender would answer.
const SOLUTION_ANSWER: &str = ".answer";

const GIT_VARIABLES: &[(&str, &str)] = &[
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_AUTHOR_NAME", "eval"),
    ("GIT_AUTHOR_EMAIL", "eval@localhost"),
    ("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"),
    ("GIT_COMMITTER_NAME", "eval"),
    ("GIT_COMMITTER_EMAIL", "eval@localhost"),
    ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"),
];

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn last_words(done: &ExecResult) -> String {
    let text = done.both.text(|omitted| format!("[… {omitted} bytes …]"));
    let text = text.trim();
    let start = text.len().saturating_sub(SAID);
    let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text.get(start..).unwrap_or_default().to_owned()
}
