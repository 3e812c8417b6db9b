//! An input that another process works on.

use std::time::Duration;

use junto::core::Seq;
use junto::runner::failure::Class;
use junto::store::{AgentRun, InputId, InputState, RunStatus};

use super::{Desk, kept};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::saved;

/// How often it is looked whether another process is done.
const LOOK: Duration = Duration::from_millis(100);

impl Desk<'_> {
    /// Waits until the other process has worked on this command's input, or has gone. Then there is nothing to
    /// tell yet.
    pub(super) async fn wait(&self, interrupts: &mut Interrupts) -> Result<Option<Exit>, Failure> {
        let Some(input) = self.input else { return Ok(None) };
        let who = self.agents.running(&self.name).map_err(|error| kept(&error))?.and_then(|run| run.pid);
        if let Some(pid) = who {
            self.output
                .status(&format!("process {pid} is at work with {}; input {} waits", self.name, input.0));
        }
        if !self.waits()? {
            return self.ended(input).map(Some);
        }
        tokio::select! {
            biased;
            () = interrupts.next() => {
                self.tell_that_it_stays()?;
                Err(Failure::interrupted())
            }
            () = self.clock.up() => {
                self.tell_that_it_stays()?;
                Err(self.clock.failure())
            }
            () = tokio::time::sleep(LOOK) => Ok(None),
        }
    }

    /// Tells that this command's input was not worked on and still waits, if it does.
    pub(super) fn tell_that_it_stays(&self) -> Result<(), Failure> {
        if let Some(InputId(id)) = self.input
            && self.waits()?
        {
            self.output.note(&format!("input {id} stays in the queue of {}", self.name));
        }
        Ok(())
    }

    /// Whether this command's input waits, or is being worked on.
    fn waits(&self) -> Result<bool, Failure> {
        let Some(input) = self.input else { return Ok(false) };
        let input = self.agents.input(input).map_err(|error| kept(&error))?;
        Ok(input.is_some_and(|input| matches!(input.state, InputState::Waiting | InputState::Leased)))
    }

    /// What came of this command's input, which this command did not work on.
    pub(super) fn elsewhere(&self) -> Result<Exit, Failure> {
        let Some(input) = self.input else {
            self.output.note(&format!("nothing waits for {}", self.name));
            return Ok(Exit::Done);
        };
        match self.agents.input(input).map_err(|error| kept(&error))?.map(|input| (input.state, input.due)) {
            Some((InputState::Waiting, due)) if due > Environment::now() => Err(Failure::new(
                Exit::Failed,
                format!("another process worked on input {} and failed", input.0),
                format!("it is kept: `junto agent send {}` tries again", self.name),
            )),
            _ => self.ended(input),
        }
    }

    /// What the last run of an input came to: its answer, or its events, and its exit code.
    fn ended(&self, input: InputId) -> Result<Exit, Failure> {
        let Some(run) = self.agents.run_on(input).map_err(|error| kept(&error))? else {
            let (InputId(id), name) = (input, &self.name);
            let (message, hint) = if self.waits()? {
                let hint = format!("`junto agent send {name}` lets it work on that");
                (format!("input {id} stays in the queue of {name}"), hint)
            } else {
                (format!("input {id} was taken back"), "send it again".to_owned())
            };
            return Err(Failure::new(Exit::Interrupted, message, hint));
        };
        if self.errand.args.json {
            self.events(&run)?;
        } else if run.status == RunStatus::Completed {
            self.output.data(&format!("{}\n", run.result.text.trim_end_matches('\n')))?;
        }
        exit(&run)
    }

    /// Prints what the journal of a run has.
    fn events(&self, run: &AgentRun) -> Result<(), Failure> {
        let Some(session) = &run.journal else { return Ok(()) };
        let events = self.store.events(session, Seq::START).map_err(|error| saved::failure(&error))?;
        for event in events {
            let event = event.map_err(|error| saved::failure(&error))?;
            let line = serde_json::to_string(&event).unwrap_or_default();
            self.output.exact(&format!("{line}\n"))?;
        }
        Ok(())
    }
}

/// The exit code of a run that another process had, as it would have been here.
fn exit(run: &AgentRun) -> Result<Exit, Failure> {
    let error = run.result.error.clone().unwrap_or_default();
    let class = run.result.class.as_deref().and_then(Class::parse);
    match run.status {
        RunStatus::Completed => Ok(Exit::Done),
        RunStatus::Cancelled => Err(Failure::interrupted()),
        RunStatus::Running | RunStatus::Failed => {
            let exit = if class.is_some_and(Class::is_unavailable) { Exit::Provider } else { Exit::Failed };
            Err(Failure::new(exit, error, "`junto agent status` tells what became of it"))
        }
    }
}
