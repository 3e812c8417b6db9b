//! `junto run` and the other commands that let an agent work.

mod background;
mod clock;
mod contest;
mod council;
mod drive;
mod ending;
mod fallback;
mod flags;
mod hired;
mod host;
mod mind;
mod named;
mod past;
mod prepare;
mod terms;
mod view;
mod who;

use std::io::IsTerminal;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::FusedFuture as _;
use junto::core::{Agent, EventLog, Input, OnReject, Purse};
use junto::mcp::Hub;
use tokio_util::sync::CancellationToken;

use self::clock::Clock;
use self::contest::Wanted;
use self::drive::{Drive, started};
use self::hired::Hired;
use self::host::{Host, Presence};
use self::past::Past;
use self::prepare::{Begin, Begun, Job, prepare};
use self::view::{Form, View};
use self::who::Who;
use crate::args::{AgentKind, ForkArgs, InputForm, LATEST, ResumeArgs, RunArgs, WorkArgs};
use crate::config::Files;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::Output;
use crate::output::paint::{Painted, Style, visible};
use crate::saved;

pub(crate) use self::background::background;
pub(crate) use self::contest::runs;
pub(crate) use self::council::council;
pub(crate) use self::named::{Busy, Errand, kept, policy_of};

/// What an agent is wanted for.
struct Wish {
    task: Option<String>,
    from: From,
    args: WorkArgs,
    /// The council of agents, if it is one and flags describe it.
    council: Wanted,
    /// What others who had the same task have left of what it may cost; absent: nobody had it.
    purse: Option<Purse>,
}

/// What it begins with.
enum From {
    /// Nothing.
    Nothing { kind: AgentKind, save: Save },
    /// A session: its id, or what stands for one.
    Session(String),
}

/// Whether a session is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Save {
    /// As the configuration says.
    Configured,
    /// Not at all.
    No,
}

/// Runs `junto run`.
pub(crate) async fn run(args: RunArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let RunArgs { task, agent, resume, no_save, debug, work: args } = args;
    let kind = match agent.as_deref().map(|name| who::who(name, environment)).transpose()? {
        Some(Who::Named(name)) => {
            named::check_fit(&args, resume.as_deref(), no_save)?;
            let errand = Errand { name, text: task, again: false, busy: Busy::Wait, debug, args };
            return Box::pin(errand.run(environment, output)).await;
        }
        Some(Who::Kind(kind)) => Some(kind),
        None => None,
    };
    let wish = if resume.is_some() {
        let (id, task) = id_and_prompt(resume, task);
        let id = match kind {
            Some(kind) => who::of_kind(&id, &kind, environment)?,
            None => id,
        };
        Wish { task, from: From::Session(id), args, council: Wanted::default(), purse: None }
    } else {
        let save = if no_save { Save::No } else { Save::Configured };
        let from = From::Nothing { kind: kind.unwrap_or(AgentKind::Native), save };
        Wish { task, from, args, council: Wanted::default(), purse: None }
    };
    Box::pin(fallback::work(wish, environment, output)).await
}

/// An agent for somebody else to drive: started, and told nothing yet.
///
/// # Errors
/// Whatever keeps it from starting.
pub(crate) async fn hired(
    agent: Option<&str>,
    args: WorkArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Arc<dyn Agent>, Failure> {
    let kind = match agent.map(|name| who::who(name, environment)).transpose()? {
        Some(Who::Named(name)) => {
            let message = format!("{name} is an agent that has a name, and takes its tasks in a queue");
            return Err(Failure::usage(message, "start it with `junto agent send`"));
        }
        Some(Who::Kind(kind)) => kind,
        None => AgentKind::Native,
    };
    let from = From::Nothing { kind, save: Save::Configured };
    let wish = Wish { task: None, from, args, council: Wanted::default(), purse: None };
    let job = prepare(&wish, environment, output).await?;
    let servers = job.servers.clone();
    let agent = job.start(CancellationToken::new()).await?.agent;
    Ok(match servers {
        Some(servers) => Arc::new(Hired { agent, servers }),
        None => agent,
    })
}

/// Refuses flags that the setup of an agent that has a name decides.
pub(crate) fn check_named(args: &WorkArgs) -> Result<(), Failure> {
    named::check_fit(args, None, false)
}

/// Runs `junto resume`.
pub(crate) async fn resume(
    args: ResumeArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let (id, task) = id_and_prompt(args.id, args.prompt);
    let wish =
        Wish { task, from: From::Session(id), args: args.work, council: Wanted::default(), purse: None };
    Box::pin(work(wish, environment, output)).await
}

/// Runs `junto fork`: makes the new session, and lets it work if it was told what to do.
pub(crate) async fn fork(
    args: ForkArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let made = super::fork::fork(&args.id, args.at, environment, output).await?;
    let waits = args.prompt.is_none() && args.work.input == InputForm::Text;
    if waits {
        output.data(&format!("{made}\n"))?;
        output.note(&format!("to let it work: junto resume {} \"…\"", saved::short(&made)));
        return Ok(Exit::Done);
    }
    let from = From::Session(made.0);
    let wish = Wish { task: args.prompt, from, args: args.work, council: Wanted::default(), purse: None };
    Box::pin(work(wish, environment, output)).await
}

/// What was given where an id may stand and a prompt may follow. Ids have no spaces, so what has some is
/// the prompt, for the latest session.
fn id_and_prompt(id: Option<String>, prompt: Option<String>) -> (String, Option<String>) {
    match id {
        Some(text) if prompt.is_none() && text.trim().contains(char::is_whitespace) => {
            (LATEST.to_owned(), Some(text))
        }
        Some(id) => (id, prompt),
        None => (LATEST.to_owned(), prompt),
    }
}

/// Lets an agent work, from its task to its end.
async fn work(wish: Wish, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    Box::pin(perform(&wish, Clock::start(), environment, output, &mut interrupts)).await?.exit
}

/// What came of an agent's work.
struct Performed {
    /// For the command.
    exit: Result<Exit, Failure>,
    /// What it did.
    log: EventLog,
    /// What it was told.
    task: Option<Input>,
    /// What is left of what it may cost, if that is limited.
    purse: Option<Purse>,
}

/// The same, one time. The clock is the command's.
async fn perform(
    wish: &Wish,
    clock: Clock,
    environment: &Environment,
    output: &Output,
    interrupts: &mut Interrupts,
) -> Result<Performed, Failure> {
    let clock = clock.anew();
    // Nothing has begun that would have to end.
    let job = tokio::select! {
        biased;
        () = interrupts.next() => return Err(Failure::interrupted()),
        job = prepare(wish, environment, output) => job?,
    };
    let clock = clock.at_most(job.time);
    let task = tokio::select! {
        biased;
        () = interrupts.next() => return Err(Failure::interrupted()),
        () = clock.up() => return Err(clock.failure()),
        task = task(wish, &job.begin) => task?,
    };
    announce(&job, output);
    let servers = job.servers.clone();
    let (providers, kept, on_reject) = (job.providers.clone(), job.kept, job.on_reject);
    let purse = job.purse.clone();
    let is_contest = matches!(job.begin, Begin::New(AgentKind::Contest(_)));
    let begun = Box::pin(started(job, &clock, interrupts)).await?;
    let log = begun.agent.log().clone();
    let form = if wish.council.report.is_some() { Form::Nothing } else { Form::of(&wish.args) };
    let drive = driven(begun, (&wish.args, form), (clock, on_reject), environment, output);
    let run = drive.run(task.clone(), interrupts);
    let end = match servers {
        Some(hub) => {
            let end = telling_of_failures(&hub, output, run).await;
            hub.close().await;
            end
        }
        None => run.await,
    };
    if kept && !is_contest {
        let id = log.session();
        let line = format!("session {id} · to go on: junto resume {} \"…\"", saved::short(id));
        output.say(&Painted::new(output.err().paint).styled(Style::DIM, &line));
    }
    let exit = end.and_then(|end| ending::ending(&end, &providers));
    Ok(Performed { exit, log, task, purse })
}

/// Does some work, and says meanwhile which servers could not be started. Nobody waits for that.
async fn telling_of_failures<T>(hub: &Hub, output: &Output, work: impl Future<Output = T>) -> T {
    let failures = hub.failures(|name, why| {
        let name = visible(name);
        output.warning(&format!(
            "the MCP server {name} could not be started: {}; `junto mcp test {name}` tries it alone",
            visible(why)
        ));
    });
    let mut failures = std::pin::pin!(failures.fuse());
    let mut work = std::pin::pin!(work);
    let done = loop {
        tokio::select! {
            biased;
            done = &mut work => break done,
            () = &mut failures, if !failures.is_terminated() => {}
        }
    };
    // What became known with the end of the work.
    let _ = failures.now_or_never();
    done
}

/// Says who is going to work, where, and on which terms.
fn announce(job: &Job, output: &Output) {
    for line in std::iter::once(&job.line).chain(&job.gaps) {
        output.say(&Painted::new(output.err().paint).styled(Style::DIM, line));
    }
}

/// An agent that is shown, answered and told as the flags say.
fn driven(
    begun: Begun,
    (args, form): (&WorkArgs, Form),
    (clock, on_reject): (Clock, OnReject),
    environment: &Environment,
    output: &Output,
) -> Drive {
    let view = View::new(form, output.clone(), begun.agent.log().clone());
    let host = Host::new(presence(args), output.clone());
    let host = host.keeping_rules_in(Files::find(environment).user).refusing(on_reject);
    Drive::new(begun, view, host, (output.clone(), clock))
}

/// Who is at the other end of standard input.
fn presence(args: &WorkArgs) -> Presence {
    if args.input == InputForm::Json {
        Presence::Program
    } else if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        Presence::Person
    } else {
        Presence::Nobody
    }
}

/// The task: the argument, and what is piped in. A program that writes commands may give it later, and a
/// session that was cut off has one.
async fn task(wish: &Wish, begin: &Begin) -> Result<Option<Input>, Failure> {
    let text = match (&wish.task, wish.args.input) {
        (task, InputForm::Text) => super::ask::with_piped(task.as_deref()).await?,
        (Some(task), InputForm::Json) => task.clone(),
        (None, InputForm::Json) => return Ok(None),
    };
    if !text.trim().is_empty() {
        return Ok(Some(Input::text(text)));
    }
    match begin {
        Begin::New(_) => Err(Failure::usage(
            "there is no task",
            "give one, as in `junto run \"Fix the failing test.\"`, or pipe it in",
        )),
        Begin::Again(past) if past.is_cut_off() => Ok(None),
        Begin::Again(past) => Err(nothing_to_do(past)),
    }
}

fn nothing_to_do(past: &Past) -> Failure {
    let id = saved::short(past.id());
    Failure::usage(
        format!("there is nothing to go on with: the last input of session {id} has ended"),
        format!("say what to do next: junto resume {id} \"…\""),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_spaces_is_no_id() {
        let check = |id: Option<&str>, prompt: Option<&str>, expected: (&str, Option<&str>)| {
            let (id, prompt) = id_and_prompt(id.map(str::to_owned), prompt.map(str::to_owned));
            assert_eq!((id.as_str(), prompt.as_deref()), expected);
        };
        check(None, None, (LATEST, None));
        check(Some("0199"), None, ("0199", None));
        check(Some("0199"), Some("go on"), ("0199", Some("go on")));
        check(Some("go on"), None, (LATEST, Some("go on")));
        check(Some("continue"), None, ("continue", None));
    }
}
