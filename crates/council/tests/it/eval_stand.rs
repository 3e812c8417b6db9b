//! Contenders whose success is known, and folders of tasks for them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use junto_council::eval::{
    Arena, Attempt, Contender, Ended, EnvironmentIn, Evaluated, Fut, Job, Plan, Runs, Task, Terms, Tokens,
    evaluate,
};
use junto_env::{ExecutionEnvironment, LocalEnvironment};
use junto_llm::{Cost, Usd};
use tokio_util::sync::CancellationToken;

/// What a contender does with a job.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// Passes this part of its repetitions of every task, which ones looks random and is always the same.
    Sometimes(f64),
    /// Never ends by itself.
    Hangs,
    /// Cannot begin.
    Unable,
    /// Fails on the way, with the work done.
    FailsAfterwards,
    /// Answers, and changes nothing.
    Answers(&'static str),
}

pub(crate) struct Twin {
    pub(crate) name: String,
    pub(crate) way: Way,
    pub(crate) cost: Cost,
    pub(crate) members: Vec<String>,
    pub(crate) worked: AtomicUsize,
    /// How many are at work, and the most there were at a time.
    pub(crate) at_work: Mutex<(usize, usize)>,
}

impl Twin {
    pub(crate) fn new(name: &str, way: Way) -> Self {
        Self {
            name: name.to_owned(),
            way,
            cost: Cost::Reported(Usd::from_dollars(0.25)),
            members: Vec::new(),
            worked: AtomicUsize::new(0),
            at_work: Mutex::default(),
        }
    }

    pub(crate) fn sometimes(name: &str, rate: f64) -> Arc<Self> {
        Arc::new(Self::new(name, Way::Sometimes(rate)))
    }

    pub(crate) fn worked(&self) -> usize {
        self.worked.load(Ordering::SeqCst)
    }
}

/// Whether a member of this name passes here, at this rate.
pub(crate) fn passes(name: &str, job: &Job<'_>, rate: f64) -> bool {
    let key = format!("{name}/{}/{}", job.task.name, job.repetition);
    let mixed = key.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    f64::from(u32::try_from(mixed >> 32).unwrap()) < rate * f64::from(u32::MAX)
}

impl Contender for Twin {
    fn name(&self) -> &str {
        &self.name
    }

    fn is(&self) -> String {
        format!("twin {}", self.name)
    }

    fn members(&self) -> Vec<String> {
        self.members.clone()
    }

    fn work<'a>(&'a self, job: Job<'a>) -> Fut<'a, Attempt> {
        Box::pin(async move {
            self.worked.fetch_add(1, Ordering::SeqCst);
            {
                let mut at_work = self.at_work.lock().unwrap();
                at_work.0 += 1;
                at_work.1 = at_work.1.max(at_work.0);
            }
            let done = || fs::write(job.directory.join("done"), "").unwrap();
            let attempt = |ended: Ended| Attempt {
                cost: self.cost,
                tokens: Tokens { input: 90, output: 10 },
                ..Attempt::ended(ended)
            };
            tokio::task::yield_now().await;
            let attempt = match self.way {
                Way::Sometimes(rate) => {
                    if passes(&self.name, &job, rate) {
                        done();
                    }
                    attempt(Ended::Done)
                }
                Way::Hangs => {
                    job.cancel.cancelled().await;
                    attempt(Ended::Troubled("it was stopped".to_owned()))
                }
                Way::Unable => attempt(Ended::Unable("there is no key".to_owned())),
                Way::FailsAfterwards => {
                    done();
                    attempt(Ended::Troubled("the provider hung up".to_owned()))
                }
                Way::Answers(text) => Attempt { answer: text.to_owned(), ..attempt(Ended::Done) },
            };
            self.at_work.lock().unwrap().0 -= 1;
            attempt
        })
    }
}

/// A folder with tasks and a place for runs.
pub(crate) struct Stand {
    folder: tempfile::TempDir,
}

impl Stand {
    /// Tasks of these names, done once there is a file.
    pub(crate) fn new(names: &[&str]) -> Self {
        let stand = Self { folder: tempfile::tempdir().unwrap() };
        for name in names {
            stand.task(name, "prompt = \"Make a file.\"\noracle = \"test -f done\"\n");
        }
        stand
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    pub(crate) fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn task(&self, name: &str, text: &str) {
        self.write(&format!("tasks/{name}/task.toml"), text);
        self.write(&format!("tasks/{name}/repo/readme"), "read me\n");
    }

    pub(crate) fn plan(&self, contenders: &[Arc<Twin>], repeat: u32) -> Plan {
        let contenders = contenders.iter().map(|twin| Arc::clone(twin) as Arc<dyn Contender>).collect();
        Plan { tasks: Task::read_all(&self.path("tasks")).unwrap(), contenders, repeat }
    }

    pub(crate) fn runs(&self) -> Runs {
        Runs::open(&self.path("kept")).unwrap()
    }

    pub(crate) fn arena(&self) -> Arena {
        Arena::new(self.path("scratch"), here())
    }

    pub(crate) async fn evaluate(&self, plan: &Plan, terms: &Terms) -> Evaluated {
        let none = CancellationToken::new();
        evaluate(plan, terms, &self.arena(), &mut self.runs(), &none, &mut |_| {}).await.unwrap()
    }

    /// Nothing is left where contenders worked.
    pub(crate) fn is_clean(&self) -> bool {
        fs::read_dir(self.path("scratch")).unwrap().next().is_none()
    }
}

/// Environments with what this process finds programs by.
pub(crate) fn here() -> EnvironmentIn {
    Arc::new(|folder: &Path| {
        let local = LocalEnvironment::builder(folder).variables(std::env::vars_os()).build()?;
        Ok(Arc::new(local) as Arc<dyn ExecutionEnvironment>)
    })
}

pub(crate) fn terms() -> Terms {
    Terms { parallel: 2, within: Duration::from_mins(1), most_per_run: None, most: None }
}
