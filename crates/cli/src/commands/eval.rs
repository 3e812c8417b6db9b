//! `junto eval`: whether several minds pay, on tasks of the user's.

mod program;
mod shipped;
mod spec;
mod witness;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use junto::council::eval::{
    Arena, Contender, EnvironmentIn, Error, ErrorKind, Plan, Progress, Report, Run, Runs, Skipped, Stopped,
    Task, Terms, Verdict, evaluate, markdown, table,
};
use junto::env::{ExecutionEnvironment, LocalEnvironment};
use junto::llm::Usd;
use junto::llm::names::nearest;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use self::program::Program;
use crate::args::EvalArgs;
use crate::config::{self, Config};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::Output;
use crate::{choice, connect, consent, saved};

/// Runs the command.
pub(crate) async fn run(args: EvalArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    let scratch = tempfile::Builder::new().prefix("junto-eval-").tempdir().map_err(|e| no_folder(&e))?;
    let root = scratch.path().canonicalize().map_err(|e| no_folder(&e))?;
    let arena = Arena::new(root.join("work"), environments(environment));
    let arena = if args.keep_folders { arena.leaving_folders() } else { arena };
    // Elsewhere: the solutions lie beside the tasks, and contenders look around.
    let shelf = tempfile::Builder::new().prefix("junto-").tempdir().map_err(|e| no_folder(&e))?;
    let tasks = tasks(&args, shelf.path(), environment)?;
    let cancel = CancellationToken::new();
    let under_way = Cell::new(false);
    let ended = {
        let work = async {
            if args.check {
                check(&tasks, &arena, output).await
            } else {
                let evaluation = Evaluation { args: &args, environment, output, under_way: &under_way };
                evaluation.run(tasks, &root, &arena, &cancel).await
            }
        };
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                () = interrupts.next() => {
                    if cancel.is_cancelled() || !under_way.get() {
                        return Err(Failure::interrupted());
                    }
                    output.note("interrupted; waiting for the runs under way to end");
                    cancel.cancel();
                }
                ended = &mut work => break ended,
            }
        }
    };
    if args.keep_folders {
        output.note(&format!("the folders are in {}", scratch.keep().display()));
    }
    ended
}

/// The tasks that are meant. Those that come with the program are written out first.
fn tasks(args: &EvalArgs, root: &Path, environment: &Environment) -> Result<Vec<Task>, Failure> {
    let folder = match &args.tasks {
        Some(folder) => environment.directory().join(folder),
        None => shipped::write(&root.join("tasks")).map_err(|e| no_folder(&e))?,
    };
    let all = Task::read_all(&folder).map_err(|error| failure(&error))?;
    if args.only.is_empty() {
        return Ok(all);
    }
    if let Some(unknown) = args.only.iter().find(|name| all.iter().all(|task| task.name != **name)) {
        let known = all.iter().map(|task| task.name.as_str());
        let near = nearest(unknown, known.clone()).map(|near| format!("; did you mean \"{near}\"?"));
        return Err(Failure::usage(
            format!("--task: there is no task \"{unknown}\"{}", near.unwrap_or_default()),
            format!("there are {}", known.collect::<Vec<_>>().join(", ")),
        ));
    }
    Ok(all.into_iter().filter(|task| args.only.contains(&task.name)).collect())
}

/// Environments for git and oracles: what programs need, and nothing secret.
fn environments(environment: &Environment) -> EnvironmentIn {
    let variables: Vec<(OsString, OsString)> =
        environment.all().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Arc::new(move |folder: &Path| {
        let local = LocalEnvironment::builder(folder).variables(variables.clone()).build()?;
        Ok(Arc::new(local) as Arc<dyn ExecutionEnvironment>)
    })
}

/// Those of the tasks whose programs are here, and why the others are left out.
async fn possible(
    tasks: Vec<Task>,
    arena: &Arena,
    output: &Output,
) -> Result<(Vec<Task>, Vec<Skipped>), Failure> {
    let (mut here, mut skipped) = (Vec::new(), Vec::new());
    for task in tasks {
        let missing = arena.missing(&task).await.map_err(|error| failure(&error))?;
        if missing.iter().any(|program| program == "git") {
            return Err(Failure::new(
                Exit::Failed,
                "there is no git",
                "install git: every run begins with a commit",
            ));
        }
        if missing.is_empty() {
            here.push(task);
        } else {
            let why = format!("there is no {}", missing.join(", no "));
            output.warning(&format!("{} is skipped: {why}", task.name));
            skipped.push(Skipped { task: task.name, why });
        }
    }
    if here.is_empty() {
        let hint = "install what is missing, or choose other tasks";
        return Err(Failure::new(Exit::Failed, "no task can be judged here", hint));
    }
    Ok((here, skipped))
}

/// Checks the tasks themselves.
async fn check(tasks: &[Task], arena: &Arena, output: &Output) -> Result<Exit, Failure> {
    let (tasks, _) = possible(tasks.to_vec(), arena, output).await?;
    let mut wrong = Vec::new();
    for task in &tasks {
        if let Some(what) = arena.check(task).await.map_err(|error| failure(&error))? {
            wrong.push(format!("{}: {what}", task.name));
            continue;
        }
        let solved = if task.solution.is_some() { ", passes when solved" } else { "" };
        output.data(&format!("{}: fails as it is{solved}\n", task.name))?;
    }
    if wrong.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Failure {
        exit: Exit::Failed,
        errors: wrong,
        hint: Some("mend the oracle or the solution".to_owned()),
    })
}

/// What was asked for.
struct Evaluation<'a> {
    args: &'a EvalArgs,
    environment: &'a Environment,
    output: &'a Output,
    /// Whether runs have begun.
    under_way: &'a Cell<bool>,
}

impl Evaluation<'_> {
    async fn run(
        &self,
        tasks: Vec<Task>,
        root: &Path,
        arena: &Arena,
        cancel: &CancellationToken,
    ) -> Result<Exit, Failure> {
        let (args, output) = (self.args, self.output);
        let terms = self.terms()?;
        let contenders = self.contenders(root)?;
        let (tasks, skipped) = possible(tasks, arena, output).await?;
        let plan = Plan { tasks, contenders, repeat: args.repeat };
        let mut runs = Runs::open(&self.folder()?).map_err(|error| failure(&error))?;
        if args.fresh {
            runs.forget(&plan).map_err(|error| failure(&error))?;
        }
        self.announce(&plan, &runs);
        self.consent(&plan, &runs, root).await?;
        self.under_way.set(true);
        let mut tell = |progress: Progress<'_>| tell(output, progress);
        let ended = evaluate(&plan, &terms, arena, &mut runs, cancel, &mut tell).await;
        let report = Report::new(&plan, &runs, skipped);
        if report.done > 0 {
            let text = match (args.json, args.markdown) {
                (true, _) => serde_json::to_string_pretty(&report).unwrap_or_default() + "\n",
                (_, true) => markdown(&report),
                _ => table(&report),
            };
            if args.json { output.exact(&text)? } else { output.data(&text)? }
        }
        match ended.map_err(|error| failure(&error))?.stopped {
            _ if cancel.is_cancelled() => Err(Failure::interrupted()),
            Some(Stopped::Budget) => Err(Failure::new(
                Exit::Limit,
                format!(
                    "{} of {} runs were not done: --max-usd is reached",
                    report.wanted - report.done,
                    report.wanted
                ),
                "give the same command again to go on",
            )),
            Some(Stopped::Cancelled) | None => Ok(Exit::Done),
        }
    }

    /// Asks before all that comes with the program is run, which somebody may not have meant who only looks around.
    async fn consent(&self, plan: &Plan, runs: &Runs, root: &Path) -> Result<(), Failure> {
        let args = self.args;
        let left = plan.len().saturating_sub(runs.of_plan(plan).count());
        if args.yes || args.tasks.is_some() || !args.only.is_empty() || left == 0 {
            return Ok(());
        }
        let model = self.model(root);
        let name = |who: &Arc<dyn Contender>| match (who.name(), &model) {
            ("native", Some(model)) => format!("native ({model})"),
            (name, _) => name.to_owned(),
        };
        let who: Vec<String> = plan.contenders.iter().map(name).collect();
        let what = format!("{left} runs with {}, and each asks its model many times", who.join(", "));
        let hint = "choose tasks with --task, name a folder of your own, or say --yes; --max-usd is a limit";
        if !consent::is_possible() {
            return Err(Failure::usage(format!("nobody has said yes to {what}"), hint));
        }
        if consent::yes(self.output, &format!("These are {what}: that costs."), "Begin?").await {
            return Ok(());
        }
        Err(Failure::new(Exit::Rejected, "nothing was run", hint))
    }

    /// The model of an agent that names none; none if it is not known.
    fn model(&self, root: &Path) -> Option<String> {
        let there = self.environment.in_directory(root);
        let config = Config::load(&there, &[]).ok()?;
        let choice = choice::settle(&config, &there).ok()?;
        let client = connect::client(&config, &there).ok()?;
        let provider = choice.provider.or_else(|| client.default_provider().map(str::to_owned))?;
        let latest = || client.catalog().latest(&provider, None).map(|model| model.id.clone());
        let model = choice.model.or_else(latest)?;
        Some(format!("{provider}/{model}"))
    }

    fn terms(&self) -> Result<Terms, Failure> {
        let args = self.args;
        let usd = |flag: &str, given: Option<f64>| match given {
            Some(usd) if !usd.is_finite() || usd <= 0.0 => {
                Err(Failure::usage(format!("{flag}: {usd} is no amount"), "give dollars, as in 2.50"))
            }
            given => Ok(given.map(Usd::from_dollars)),
        };
        let within =
            config::duration(&args.timeout).filter(|within| *within > Duration::ZERO).ok_or_else(|| {
                Failure::usage(
                    format!("--timeout: \"{}\" is no duration", args.timeout),
                    "write it as 90s or 10m",
                )
            })?;
        let (most, most_per_run) = (usd("--max-usd", args.max_usd)?, usd("--run-usd", args.run_usd)?);
        if most.zip(most_per_run).is_some_and(|(most, each)| each > most) {
            let hint = "give --run-usd at most what --max-usd says";
            return Err(Failure::usage("one run may cost more than all of them together", hint));
        }
        Ok(Terms { parallel: usize::from(args.parallel), within, most_per_run, most })
    }

    fn contenders(&self, root: &Path) -> Result<Vec<Arc<dyn Contender>>, Failure> {
        // What holds where they work: the user's own configuration, and no project's.
        let there = self.environment.in_directory(root);
        let config = Config::load(&there, &[])?;
        let default = ["native".to_owned()];
        let with = if self.args.with.is_empty() { &default[..] } else { &self.args.with };
        let mut names = BTreeSet::new();
        let contender = |text: &String| {
            let spec = spec::read(text, &config)?;
            if !names.insert(spec.name.clone()) {
                let message = format!("--with: \"{}\" is there twice", spec.name);
                return Err(Failure::usage(message, "give one of them a name: NAME=FLAGS"));
            }
            let program = Program::new(spec, self.args.flags.clone(), self.environment)?;
            Ok(Arc::new(program) as Arc<dyn Contender>)
        };
        with.iter().map(contender).collect()
    }

    /// Where the runs are kept.
    fn folder(&self) -> Result<PathBuf, Failure> {
        if let Some(out) = &self.args.out {
            return Ok(self.environment.directory().join(out));
        }
        let evals = saved::root(self.environment)?.join("evals");
        let Some(tasks) = &self.args.tasks else { return Ok(evals.join("shipped")) };
        let tasks = self.environment.directory().join(tasks);
        let tasks = tasks.canonicalize().unwrap_or(tasks);
        let digest = Sha256::digest(tasks.as_os_str().as_encoded_bytes());
        let short = digest.iter().take(4).fold(0_u32, |sum, byte| (sum << 8) | u32::from(*byte));
        let name = tasks.file_name().and_then(|name| name.to_str()).unwrap_or("tasks");
        Ok(evals.join(format!("{name}-{short:08x}")))
    }

    fn announce(&self, plan: &Plan, runs: &Runs) {
        let kept = runs.of_plan(plan).count();
        let mut line = format!(
            "{} tasks, {} contenders, {} times: {} runs, kept in {}",
            plan.tasks.len(),
            plan.contenders.len(),
            plan.repeat,
            plan.len(),
            runs.folder().display()
        );
        if kept > 0 {
            let _ = write!(line, "; {kept} are there from before (--fresh does them again)");
        }
        self.output.note(&line);
        if runs.unreadable() > 0 {
            self.output
                .warning(&format!("{} files of that folder are no runs and do not count", runs.unreadable()));
        }
    }
}

/// Says what is happening: a line for each run that has ended, and a passing one for what is under way.
fn tell(output: &Output, progress: Progress<'_>) {
    match progress {
        Progress::Began { cell, under_way } => output.status(&format!(
            "{} · {} · {} ({under_way} under way)",
            cell.task.name,
            cell.contender.name(),
            cell.repetition
        )),
        Progress::Ended { run, done, of } => output.note(&line(run, done, of)),
    }
}

fn line(run: &Run, done: usize, of: usize) -> String {
    let width = of.to_string().len();
    let verdict = match run.verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
    };
    let seconds = Duration::from_millis(run.millis).as_secs_f64();
    let trouble = run.trouble.as_deref().map(|why| format!(" · {}", why.lines().next().unwrap_or_default()));
    format!(
        "[{done:>width$}/{of}] {} · {} · {} · {verdict} · {seconds:.1} s · {}{}",
        run.task,
        run.contender,
        run.repetition,
        run.cost,
        trouble.unwrap_or_default()
    )
}

/// What an error of the evaluation means for the command.
fn failure(error: &Error) -> Failure {
    let (exit, hint) = match error.kind() {
        ErrorKind::Task => (Exit::Usage, "docs/guide/measuring.md says how a task is written"),
        ErrorKind::Contender => (Exit::Usage, "try it alone with `junto run`; runs that are done are kept"),
        ErrorKind::Arena => (Exit::Failed, "check TMPDIR, git, and whether the disk is full"),
        ErrorKind::Keep => (Exit::Failed, "choose another folder with --out"),
        ErrorKind::Budget => (Exit::Usage, "give its model a price, or --run-usd, or leave --max-usd out"),
    };
    Failure::new(exit, error.to_string(), hint)
}

fn no_folder(error: &std::io::Error) -> Failure {
    let message = format!("cannot use a temporary folder: {error}");
    Failure::new(Exit::Failed, message, "check TMPDIR, and whether the disk is full")
}
