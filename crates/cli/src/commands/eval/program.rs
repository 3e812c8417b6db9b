//! A contender that is a command of ours, run as a process of its own: what is measured is what a user gets, and
//! what crashes takes nothing with it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use bytes::Bytes;
use junto::council::eval::{Attempt, Contender, Ended, Fut, Job};
use junto::env::variables::{Custom, Inherit};
use junto::env::{CommandSpec, LocalEnvironment, OutputStream, Stdin, exec};

use super::spec::{Command, Spec};
use super::witness::Witness;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::saved::STATE_VARIABLE;

/// Variables that name files, which must be found from elsewhere.
const PATHS: &[&str] = &["JUNTO_CONFIG", STATE_VARIABLE];

/// A command of ours with its flags.
pub(super) struct Program {
    spec: Spec,
    /// For every run, after its own.
    flags: Vec<String>,
    binary: String,
    variables: BTreeMap<OsString, OsString>,
}

impl Program {
    /// This contender, with these flags besides.
    ///
    /// # Errors
    /// If this program cannot find itself.
    pub(super) fn new(spec: Spec, flags: Vec<String>, environment: &Environment) -> Result<Self, Failure> {
        let binary = std::env::current_exe().ok().and_then(|path| path.to_str().map(str::to_owned));
        let binary = binary.ok_or_else(|| {
            let message = "cannot tell where this program is";
            Failure::new(Exit::Failed, message, "start it by its whole path, in letters that are UTF-8")
        })?;
        let mut variables: BTreeMap<OsString, OsString> =
            environment.all().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        for name in PATHS {
            if let Some(path) = environment.path(name) {
                variables.insert((*name).into(), environment.directory().join(path).into());
            }
        }
        Ok(Self { spec, flags, binary, variables })
    }

    /// The command line of a job, after the program.
    fn arguments(&self, job: &Job<'_>) -> Vec<String> {
        let mut arguments: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| arguments.extend(words.iter().map(|&word| word.to_owned()));
        match &self.spec.command {
            Command::Run(flags) => {
                add(&["run", "--json"]);
                arguments.extend(flags.iter().cloned());
            }
            Command::Council(agents) => {
                let count = agents.len().to_string();
                add(&["council", "--json", "--apply", "--agents", &agents.join(","), "-n", &count]);
                if let Some(check) = &job.task.check {
                    add(&["--oracle", check]);
                }
            }
        }
        if let Some(most) = job.most {
            arguments.extend(["--max-usd".to_owned(), format!("{:.6}", most.dollars())]);
        }
        arguments.extend(self.flags.iter().cloned());
        arguments
    }

    async fn perform(&self, job: Job<'_>) -> Result<Attempt, junto::env::Error> {
        // It asks models itself, so it gets the keys that we have.
        let all = Custom { base: Box::new(Inherit::All), include: vec!["*".to_owned()], exclude: Vec::new() };
        let place: PathBuf = job.directory.to_owned();
        let local =
            LocalEnvironment::builder(place).variables(self.variables.clone()).inherit(Inherit::Custom(all));
        let local = local.build()?;
        let mut command = CommandSpec::argv(std::iter::once(self.binary.clone()).chain(self.arguments(&job)));
        command.stdin = Stdin::Bytes(Bytes::from(job.task.prompt.clone()));
        let mut witness = Witness::default();
        let mut hear = |piece: &junto::env::Output| {
            if piece.stream == OutputStream::Stdout {
                witness.hear(&piece.bytes);
            }
        };
        // The one who waits ends it: by cancelling.
        let ended = exec(&local, command, std::time::Duration::MAX, job.cancel, &mut hear).await?;
        let words = ended.stderr.text(|_| "\n".to_owned());
        Ok(witness.attempt(ended.exit.code, &words))
    }
}

impl Contender for Program {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn is(&self) -> String {
        let Spec { command, settings, .. } = &self.spec;
        let words = match command {
            Command::Run(flags) => format!("run {}", flags.join(" ")),
            Command::Council(agents) => format!("council of {}", agents.join(", ")),
        };
        format!("{words} {} {settings}", self.flags.join(" ")).trim().to_owned()
    }

    fn members(&self) -> Vec<String> {
        self.spec.members.clone()
    }

    fn work<'a>(&'a self, job: Job<'a>) -> Fut<'a, Attempt> {
        Box::pin(async move {
            let attempt = self.perform(job).await;
            attempt.unwrap_or_else(|error| Attempt::ended(Ended::Unable(error.to_string())))
        })
    }
}
