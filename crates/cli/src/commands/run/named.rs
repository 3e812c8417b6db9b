//! An agent that has a name is told something, and works on it.

mod other;

use std::time::Duration;

use junto::core::{AgentError, AgentErrorKind, EndReason, Input, Purse};
use junto::named::{Detail, EndedBy, Finished, NamedHost, Next, Plan, RunFacts, Turn, Unavailable};
use junto::store::{Agents, Error, ErrorKind, InputId, InputState, MAX_ATTEMPTS, NamedAgent, Store};
use tokio_util::sync::CancellationToken;

use super::clock::Clock;
use super::contest::Wanted;
use super::drive::End;
use super::prepare::{self, Begun, prepare};
use super::view::Form;
use super::{From, Save, Wish, announce, driven, ending};
use crate::args::{AgentKind, WorkArgs};
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::Output;
use crate::output::paint::{Painted, Style};
use crate::{runners, saved};

/// Something that an agent is told.
pub(crate) struct Errand {
    /// The agent.
    pub(crate) name: String,
    /// What it is told; absent: it works on what waits.
    pub(crate) text: Option<String>,
    /// Whether what was given up is tried again.
    pub(crate) again: bool,
    /// What is done while another process is at work with it.
    pub(crate) busy: Busy,
    /// Whether the log tells which run it was and what it used.
    pub(crate) debug: bool,
    /// How its work is shown and limited.
    pub(crate) args: WorkArgs,
}

/// What is done while another process is at work with an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Busy {
    /// Nothing is begun, also if nobody is at work: it is only queued.
    Later,
    /// It is queued, for the other process.
    Queue,
    /// The input is waited for, whoever works on it.
    Wait,
}

/// Refuses flags that an agent's setup decides.
pub(super) fn check_fit(args: &WorkArgs, resume: Option<&str>, no_save: bool) -> Result<(), Failure> {
    let model = &args.model;
    let unfit = [
        ("--no-save", no_save, "its runs are always kept"),
        (
            "--resume",
            resume.is_some(),
            "it always goes on with its conversation; `junto agent new` begins another",
        ),
        ("--cwd", args.cwd.is_some(), "`junto agent set --workspace` sets where it works"),
        ("--model", model.model.is_some(), "`junto agent set --model` sets its model"),
        ("--effort", model.effort.is_some(), "`junto agent set --effort` sets it"),
        ("--instructions", args.instructions.is_some(), "`junto agent set --instructions` sets them"),
        // Whoever works on an input need not be the command that queued it.
        ("--policy", args.policy.is_some(), "`junto agent set --policy` sets what it may do"),
        ("--input json", args.input == crate::args::InputForm::Json, "it takes one input at a time"),
    ];
    match unfit.into_iter().find(|(_, given, _)| *given) {
        Some((flag, _, hint)) => {
            Err(Failure::usage(format!("{flag} does nothing for an agent that has a name"), hint))
        }
        None => Ok(()),
    }
}

impl Errand {
    /// Queues what the agent is told, and lets it work on everything that waits. What came of this input is what
    /// came of the command.
    ///
    /// # Errors
    /// Whatever kept it from being queued, or the agent from its end.
    pub(crate) async fn run(self, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
        let (mut interrupts, clock) = (Interrupts::listen()?, Clock::start());
        let config = Config::load(environment, &[])?;
        let store = saved::open(&config, environment)?;
        let agents = store.agents().map_err(|error| kept(&error))?;
        let agent = agents.get(&self.name).map_err(|error| kept(&error))?;
        let clock = clock.at_most(self.check(&agent, environment)?);
        let name = agent.name;
        let input = tokio::select! {
            biased;
            () = interrupts.next() => return Err(Failure::interrupted()),
            () = clock.up() => return Err(clock.failure()),
            input = self.queue(&agents, &name) => input?,
        };
        if self.busy == Busy::Later {
            return self.queued(&agents, &name, input, output);
        }
        let fallback = config.texts("fallback").unwrap_or_default().to_vec();
        let mut desk = Desk {
            errand: &self,
            name,
            input,
            clock,
            fallback,
            config,
            store,
            agents,
            environment,
            output,
            outcome: None,
        };
        desk.work(&mut interrupts).await
    }

    /// Refuses what could not be worked on, so that nothing is queued by a command that fails. Says how long it may
    /// take.
    fn check(&self, agent: &NamedAgent, environment: &Environment) -> Result<Option<Duration>, Failure> {
        let NamedAgent { name, setup, .. } = agent;
        prepare::check_fit(&AgentKind::Cli(setup.provider.clone()), &self.args)?;
        if self.busy == Busy::Later {
            return Ok(None);
        }
        if !setup.workspace.is_dir() {
            let message = format!("the workspace of {name} is no folder: {}", setup.workspace.display());
            let hint = format!("`junto agent set {name} --workspace DIR` sets another");
            return Err(Failure::usage(message, hint));
        }
        let there = environment.in_directory(&setup.workspace);
        let config = Config::load(&there, &self.args.values())?;
        runners::check_budget(&setup.provider, &config)?;
        Ok(config.duration("timeouts.run"))
    }

    /// Takes in what the agent is told.
    async fn queue(&self, agents: &Agents, name: &str) -> Result<Option<InputId>, Failure> {
        let now = Environment::now();
        if self.again {
            agents.again(name, now).map_err(|error| kept(&error))?;
        }
        let text = crate::commands::ask::with_piped(self.text.as_deref()).await?;
        if !text.trim().is_empty() {
            return agents.send(name, &text, now).map(Some).map_err(|error| kept(&error));
        }
        if self.busy != Busy::Queue || self.text.is_some() {
            let hint = format!("say what it shall do: junto run --agent {name} \"…\"");
            return Err(Failure::usage("there is no task", hint));
        }
        agents.hasten(name, now).map_err(|error| kept(&error))?;
        Ok(None)
    }

    /// Tells that an input was queued, and for whom.
    fn queued(
        &self,
        agents: &Agents,
        name: &str,
        input: Option<InputId>,
        output: &Output,
    ) -> Result<Exit, Failure> {
        let queue = agents.queue(name).map_err(|error| kept(&error))?;
        let running = agents.running(name).map_err(|error| kept(&error))?;
        let waiting = crate::commands::agent::waiting(&queue, running.as_ref());
        let pid = running.and_then(|run| run.pid);
        if self.args.json {
            let told =
                serde_json::json!({"agent": name, "input": input, "waiting": waiting, "running_pid": pid});
            output.exact(&format!("{told}\n"))?;
        }
        let what = input.map_or_else(String::new, |InputId(id)| format!("input {id} is queued; "));
        let who = pid.map_or_else(
            || format!("`junto agent send {name}` lets it work"),
            |pid| format!("process {pid} is at work with {name} and goes on with it"),
        );
        output.note(&format!("{what}{who}"));
        Ok(Exit::Done)
    }
}

/// One command, and what it does with an agent's queue.
struct Desk<'a> {
    errand: &'a Errand,
    name: String,
    /// What was queued by this command.
    input: Option<InputId>,
    /// How long the command may take until that has ended.
    clock: Clock,
    /// Who takes over for agents that do not say.
    fallback: Vec<String>,
    config: Config,
    store: Store,
    agents: Agents,
    environment: &'a Environment,
    output: &'a Output,
    /// What came of this command's input; without one, of the last.
    outcome: Option<Result<Exit, Failure>>,
}

/// What all who work on one input have together.
struct Means {
    input: InputId,
    clock: Clock,
    purse: Option<Purse>,
}

/// Whether there is more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    GoOn,
    Stop,
}

impl Desk<'_> {
    async fn work(&mut self, interrupts: &mut Interrupts) -> Result<Exit, Failure> {
        loop {
            let taken = NamedHost::take(&self.store, &self.name, Environment::now());
            let host = match taken {
                Ok(host) => host.with_fallback(self.fallback.clone()).in_zone(self.environment.zone()),
                // Whoever has it now goes on with what waits.
                Err(error) if error.kind() == ErrorKind::Locked && self.outcome.is_some() => break,
                Err(error) if error.kind() == ErrorKind::Locked => {
                    if self.errand.busy == Busy::Queue {
                        return self.errand.queued(&self.agents, &self.name, self.input, self.output);
                    }
                    match self.wait(interrupts).await? {
                        Some(exit) => return Ok(exit),
                        None => continue,
                    }
                }
                Err(error) => return Err(kept(&error)),
            };
            for run in host.held().left() {
                self.output.note(&format!("run {} was cut off: its process ended before it did", run.id.0));
            }
            let then = self.drain(&host, interrupts).await?;
            drop(host);
            // Somebody may have queued something just before the lock was free, and relies on us.
            if then == Then::Stop || !self.is_due()? {
                break;
            }
        }
        match self.outcome.take() {
            Some(outcome) => outcome,
            None => self.elsewhere(),
        }
    }

    /// Works on what is due, one after another.
    async fn drain(&mut self, host: &NamedHost, interrupts: &mut Interrupts) -> Result<Then, Failure> {
        // Looked for each time: this may have waited for long.
        let is_installed = |provider: &str| {
            runners::installed(&self.config, self.environment).any(|known| known == provider)
        };
        let mut means: Option<Means> = None;
        loop {
            if self.is_awaited() && self.clock.is_up() {
                self.tell_that_it_stays()?;
                self.outcome = Some(Err(self.clock.failure()));
                return Ok(Then::Stop);
            }
            match host.next(&is_installed, Environment::now()).map_err(|error| kept(&error))? {
                Next::Nothing => return Ok(Then::GoOn),
                Next::Nobody { input, unavailable } => {
                    if self.is_awaited() || !self.is_others(input.id) {
                        self.outcome = Some(Err(nobody(&self.name, input.id, &unavailable)));
                    }
                    return Ok(Then::Stop);
                }
                Next::Run(plan) => {
                    let input = plan.input.id;
                    let means = match &mut means {
                        Some(means) if means.input == input => means,
                        other => {
                            let clock = if self.is_awaited() { self.clock } else { Clock::start() };
                            other.insert(Means { input, clock, purse: None })
                        }
                    };
                    let (then, outcome) = Box::pin(self.one(host, *plan, means, interrupts)).await?;
                    if !self.is_others(input) {
                        self.outcome = Some(outcome);
                    } else if then == Then::Stop && self.is_awaited() {
                        // Whatever came of that one, its own was not begun.
                        self.tell_that_it_stays()?;
                        self.outcome = Some(Err(outcome.err().unwrap_or_else(Failure::interrupted)));
                    }
                    if then == Then::Stop {
                        return Ok(then);
                    }
                }
            }
        }
    }

    /// Whether this command has queued something that has not come to an end yet.
    fn is_awaited(&self) -> bool {
        self.input.is_some() && self.outcome.is_none()
    }

    /// Whether an input is not the one that this command is about.
    fn is_others(&self, input: InputId) -> bool {
        self.input.is_some_and(|own| own != input)
    }

    /// One run.
    async fn one(
        &self,
        host: &NamedHost,
        plan: Plan,
        means: &mut Means,
        interrupts: &mut Interrupts,
    ) -> Result<(Then, Result<Exit, Failure>), Failure> {
        for passed in &plan.passed {
            self.output.note(&format!("{passed}; {} takes over", plan.provider));
        }
        let clock = means.clock.anew();
        let mut args = self.errand.args.clone();
        args.cwd = Some(plan.agent.setup.workspace.clone());
        args.model.model = plan.spec.model.clone();
        args.policy = plan.agent.setup.mode.map(policy_of);
        let kind = AgentKind::Cli(plan.provider.clone());
        let from = From::Nothing { kind, save: Save::Configured };
        let purse = means.purse.take();
        let wish = Wish { task: None, from, args, council: Wanted::default(), purse };
        let job = match prepare(&wish, self.environment, self.output).await {
            Ok(job) => job.for_plan(&plan),
            Err(failure) => {
                self.tell_that_it_stays()?;
                return Err(failure);
            }
        };
        means.purse.clone_from(&job.purse);
        if self.is_others(plan.input.id) {
            self.output.note(&format!("input {} is another command's", plan.input.id.0));
        }
        announce(&job, self.output);
        let (terms, providers) = ((clock.at_most(job.time), job.on_reject), job.providers.clone());
        let turn = host.begin(plan, Environment::now()).map_err(|error| kept(&error))?;
        let begun = match Box::pin(job.start(CancellationToken::new())).await {
            Ok(begun) => begun,
            Err(failure) => {
                let error = AgentError::new(AgentErrorKind::Process, failure.errors.join("; "));
                let finished =
                    host.not_started(&turn, &error, Environment::now()).map_err(|error| kept(&error))?;
                self.tell(&turn, &finished);
                return Ok((Then::GoOn, Err(failure)));
            }
        };
        let (end, finished) = self.follow(host, &turn, begun, terms, &wish.args, interrupts).await?;
        self.tell(&turn, &finished);
        let then = match &end {
            Ok(End { by: EndedBy::Itself, .. }) => Then::GoOn,
            _ => Then::Stop,
        };
        Ok((then, end.and_then(|end| ending::ending(&end, &providers))))
    }

    /// Follows an agent to its end, and writes down what came of it.
    async fn follow(
        &self,
        host: &NamedHost,
        turn: &Turn,
        begun: Begun,
        terms: (Clock, junto::core::OnReject),
        args: &WorkArgs,
        interrupts: &mut Interrupts,
    ) -> Result<(Result<End, Failure>, Finished), Failure> {
        let log = begun.agent.log().clone();
        host.started(turn, &log).await.map_err(|error| super::drive::refused(&error))?;
        let stop = CancellationToken::new();
        // Whoever waits for an answer gets that one, and no other.
        let is_shown = self.errand.busy != Busy::Wait || !self.is_others(turn.plan.input.id);
        let form = if is_shown { Form::of(args) } else { Form::Nothing };
        let drive =
            driven(begun, (args, form), terms, self.environment, self.output).stopped_by(stop.clone());
        let task = Input::text(turn.plan.input.text.clone());
        let aborted = async {
            host.aborted(turn.run).await;
            stop.cancel();
            std::future::pending::<()>().await;
        };
        let end = tokio::select! {
            biased;
            end = drive.run(Some(task), interrupts) => end,
            () = aborted => Err(Failure::interrupted()),
        };
        let mut facts = RunFacts::of_log(&log, &turn.plan.provider)
            .await
            .map_err(|error| super::view::journal(&error))?;
        let by = match &end {
            // The time of this command is no fault of what another queued.
            Ok(End { reason: EndReason::Limit, .. })
                if facts.end != Some(EndReason::Limit)
                    && self.is_others(turn.plan.input.id)
                    && self.is_awaited() =>
            {
                EndedBy::Host
            }
            Ok(end) => {
                if end.reason == EndReason::Limit {
                    (facts.end, facts.limit) = (Some(EndReason::Limit), end.limit.clone());
                }
                end.by
            }
            Err(failure) if failure.exit == Exit::Interrupted => EndedBy::User,
            // What it says cannot be shown to anybody: it shall be done when it can.
            Err(_) => EndedBy::Host,
        };
        let finished = host.finish(turn, &facts, by, Environment::now()).map_err(|error| kept(&error))?;
        Ok((end, finished))
    }

    /// Tells what came of a run.
    fn tell(&self, turn: &Turn, finished: &Finished) {
        let Turn { plan, .. } = turn;
        let detail = if self.errand.debug { Detail::Debug } else { Detail::Normal };
        let line = finished.complete.line(detail);
        self.output.say(&Painted::new(self.output.err().paint).styled(Style::DIM, &line));
        if let Some(suppression) = &finished.suppression {
            let until = suppression.until.strftime("%Y-%m-%d %H:%M:%S UTC");
            let message =
                format!("{} is left alone until {until} ({})", suppression.provider, suppression.class);
            self.output.warning(&message);
        }
        if let Some(reason) = finished.refreshed {
            self.output.note(&format!("the next run begins a new conversation ({reason})"));
        }
        let (id, name) = (plan.input.id.0, &self.name);
        match finished.input {
            InputState::Waiting if !finished.unavailable => self.output.note(&format!(
                "input {id} is kept, and tried again by the next command; `junto agent send {name}` does it at once"
            )),
            InputState::GivenUp => self.output.note(&format!(
                "input {id} is given up, and kept; `junto agent send {name} --again` tries it again (at most {MAX_ATTEMPTS} times)"
            )),
            _ => {}
        }
    }

    /// Whether something waits that can be worked on now.
    fn is_due(&self) -> Result<bool, Failure> {
        let now = Environment::now();
        let queue = self.agents.queue(&self.name).map_err(|error| kept(&error))?;
        Ok(queue.iter().any(|input| input.state == InputState::Waiting && input.due <= now))
    }
}

/// That nobody can work on an input.
fn nobody(name: &str, input: InputId, unavailable: &[Unavailable]) -> Failure {
    let why = unavailable.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    Failure::new(
        Exit::Provider,
        format!("nobody can work on input {} of {name} now: {why}", input.0),
        format!(
            "it is kept: `junto agent send {name}` tries again later; `junto agent set {name} --fallback …` names others"
        ),
    )
}

/// The name of a mode in the configuration.
pub(crate) fn policy_of(mode: junto::core::Mode) -> String {
    match mode {
        junto::core::Mode::ReadOnly => "read-only",
        junto::core::Mode::WorkspaceWrite => "workspace",
        junto::core::Mode::Full => "full",
    }
    .to_owned()
}

/// What a failure to read or write what is kept of agents means for the command.
pub(crate) fn kept(error: &Error) -> Failure {
    let (exit, hint) = match error.kind() {
        ErrorKind::NotFound => {
            (Exit::Usage, "`junto agent list` lists those there are; `junto agent add` adds one")
        }
        ErrorKind::Invalid => (Exit::Usage, "`junto agent --help` has examples"),
        ErrorKind::Exists => (Exit::Usage, "choose another name, or change that one with `junto agent set`"),
        ErrorKind::Locked => (Exit::Failed, "`junto agent abort` stops it; `junto agent send` queues for it"),
        ErrorKind::Newer => (Exit::Failed, "install the newer junto again"),
        ErrorKind::Damaged => {
            (Exit::Failed, "bring agents.sqlite back from a backup, or move it away to begin without agents")
        }
        _ => (Exit::Failed, "check the permissions and the room of that folder"),
    };
    Failure::new(exit, error.to_string(), hint)
}
