//! `junto rewind` and `junto undo`: back to what was.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto::agent::Past;
use junto::core::{AgentSpec, Body, Event};
use junto::env::{ExecutionEnvironment, LocalEnvironment};
use junto::llm::{CallCx, Error, ErrorKind, EventStream, Fut, Provider, Request, Response, SessionId};
use junto::store::{ChangeKind, Extent, Snapshots, Store, Undone};
use junto::{Doing, Kept, Kind, Native, Turns, Workshop};
use tokio_util::sync::CancellationToken;

use crate::args::{AgentKind, LATEST, RewindArgs, UndoArgs};
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::saved;

/// Runs `junto rewind`.
pub(crate) async fn rewind(
    args: RewindArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let config = Config::load(environment, &[])?;
    let store = saved::open(&config, environment)?;
    let id = saved::find(&store, args.id.as_deref().unwrap_or(LATEST), environment)?;
    let mut kept = Kept::reopen(&store, &id).map_err(|error| saved::failure(&error))?;
    if let Some(fault) = saved::faults(&id, kept.recovery()) {
        output.warning(&fault);
    }
    check_turn(&kept.past, saved::short(&id), args.to)?;
    let last = last_turn(&kept.past);
    let workdir = kept.past.workdir();
    end_cut_off(&store, &kept, workdir.as_deref(), environment, output).await;
    // The files first: if they cannot come back, the conversation stays as well.
    let undone = if args.files && !acted_from(&kept.past, args.to.saturating_add(1)) {
        Some(Undone::default())
    } else if args.files {
        let turns = turns(&store, &id, workdir.as_deref(), environment)?;
        for turn in args.to.saturating_add(1)..=last {
            tell_if_taken_up(&kept.past, turn, output);
        }
        let undone = turns.rewind(args.to, last).await;
        Some(undone.map_err(|error| not_snapshotted(&error))?)
    } else {
        None
    };
    kept.past = kept.past.rewind(args.to);
    go_back(&store, kept, workdir.as_deref(), environment).await?;
    if let Some(undone) = undone {
        output.data(&told(&undone, Doing::Really))?;
    }
    output.note(&format!("session {} goes on after turn {}", saved::short(&id), args.to));
    Ok(Exit::Done)
}

/// Keeps the files as the end of a turn that was cut off in the midst of its work, whose end nobody saw: it is to be
/// taken back as any other, now or by a later rewind.
async fn end_cut_off(
    store: &Store,
    kept: &Kept,
    workdir: Option<&Path>,
    environment: &Environment,
    output: &Output,
) {
    let Some(turn) = kept.past.open_input().filter(|turn| acted_from(&kept.past, *turn)) else { return };
    // Where there is no folder, nothing of it comes back, and who wants that is told.
    let Ok(turns) = turns(store, kept.session(), workdir, environment) else { return };
    match turns.end_cut_off(turn).await {
        Ok(true) => output.note(&format!(
            "turn {turn} was cut off: what was changed in the folder since it began counts as its doing"
        )),
        Ok(false) => {}
        // The conversation can go back all the same.
        Err(error) => output.warning(&format!("what turn {turn} did to the files is not known: {error}")),
    }
}

/// Runs `junto undo`.
pub(crate) async fn undo(
    args: UndoArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let config = Config::load(environment, &[])?;
    let store = saved::open(&config, environment)?;
    let id = saved::find(&store, args.id.as_deref().unwrap_or(LATEST), environment)?;
    let short = saved::short(&id);
    let past = Past::new(store.read(&id).map_err(|error| saved::failure(&error))?.events);
    if past.open_input().is_some() {
        let message = format!("the last turn of session {short} has not ended");
        let hint = if saved::is_at_work(&store, &id)? {
            "another process is at work on it: wait until it has ended".to_owned()
        } else {
            format!("let it end first: junto resume {short}")
        };
        return Err(Failure::new(Exit::Failed, message, hint));
    }
    let last = last_turn(&past);
    if last == 0 {
        let message = format!("session {short} has done nothing yet");
        return Err(Failure::usage(message, "`junto sessions` lists the others"));
    }
    let turns = turns(&store, &id, past.workdir().as_deref(), environment)?;
    let doing = if args.dry_run { Doing::Dry } else { Doing::Really };
    let undone = if acted_from(&past, last) {
        tell_if_taken_up(&past, last, output);
        turns.undo(last, doing).await.map_err(|error| not_snapshotted(&error))?
    } else {
        Undone::default()
    };
    output.data(&told(&undone, doing))?;
    Ok(Exit::Done)
}

/// That the conversation has this turn to go back to.
fn check_turn(past: &Past, short: &str, to: u32) -> Result<(), Failure> {
    let turns = past.turns();
    if to == 0 || turns.contains(&to) {
        return Ok(());
    }
    let last = turns.last().copied().unwrap_or_default();
    let own = past.events().first().map(|first| &first.agent);
    let has_ended = |event: &Event| {
        Some(&event.agent) == own && event.turn == to && matches!(event.body, Body::InputEnd { .. })
    };
    Err(if past.events().iter().any(has_ended) {
        Failure::usage(
            format!(
                "turn {to} of session {short} was rewound: it is gone from the conversation, whose last is turn {last}"
            ),
            format!("`junto fork {short} --at {to}` begins a session that still has it"),
        )
    } else {
        Failure::usage(
            format!("session {short} has no turn {to}: its last is turn {last}"),
            format!("`junto export {short}` shows its turns"),
        )
    })
}

/// The last turn of the session's own agent, be it one that was rewound.
pub(super) fn last_turn(past: &Past) -> u32 {
    let own = past.events().first().map(|first| &first.agent);
    let mut turns = past.events().iter().rev().filter(|event| Some(&event.agent) == own);
    turns.find(|event| matches!(event.body, Body::UserInput { .. })).map_or(0, |event| event.turn)
}

/// Whether a tool ran in this turn of the session's own agent, or after it. Where none did no file was changed,
/// and none was kept.
fn acted_from(past: &Past, turn: u32) -> bool {
    let own = past.events().first().map(|first| &first.agent);
    let is_before = |event: &&Event| {
        !(Some(&event.agent) == own && event.turn >= turn && matches!(event.body, Body::UserInput { .. }))
    };
    let mut events = past.events().iter().skip_while(is_before);
    events.any(|event| matches!(event.body, Body::ToolCallStart { .. }))
}

/// Says of a turn that had acted, was cut off and taken up again, that nobody saw what happened to the files meanwhile.
fn tell_if_taken_up(past: &Past, turn: u32, output: &Output) {
    let own = past.events().first().map(|first| &first.agent);
    let is_of_turn = |event: &Event| Some(&event.agent) == own && event.turn == turn;
    let begin = past
        .events()
        .iter()
        .rposition(|event| is_of_turn(event) && matches!(event.body, Body::UserInput { .. }));
    let events = past.events().get(begin.unwrap_or(usize::MAX)..).unwrap_or_default().iter();
    let mut events = events
        .take_while(|event| !(is_of_turn(event) && matches!(event.body, Body::InputEnd { .. })))
        .skip_while(|event| !matches!(event.body, Body::ToolCallStart { .. }));
    if events.any(|event| matches!(event.body, Body::SessionResumed { .. })) {
        output.note(&format!(
            "turn {turn} was cut off and taken up again: what was changed in the folder meanwhile counts as its doing"
        ));
    }
}

/// The snapshots of a session.
pub(super) fn turns(
    store: &Store,
    id: &SessionId,
    workdir: Option<&Path>,
    environment: &Environment,
) -> Result<Turns, Failure> {
    let folder = workdir.unwrap_or(environment.directory());
    let env = local(folder, environment).map_err(|error| {
        let message = format!("cannot work in {}: {error}", folder.display());
        Failure::new(Exit::Failed, message, "the folder of the session must be there to be changed")
    })?;
    Ok(Turns::new(Snapshots::new(store.root(), env, id.clone(), Extent::Any)))
}

fn local(
    folder: &Path,
    environment: &Environment,
) -> Result<Arc<dyn ExecutionEnvironment>, junto::env::Error> {
    let variables: Vec<_> =
        environment.all().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let local = LocalEnvironment::builder(folder).variables(variables).build()?;
    Ok(Arc::new(local) as Arc<dyn ExecutionEnvironment>)
}

fn not_snapshotted(error: &junto::store::Error) -> Failure {
    match error.kind() {
        junto::store::ErrorKind::NotFound | junto::store::ErrorKind::Unsupported => Failure::new(
            Exit::Failed,
            format!("the files cannot be brought back: {error}"),
            "files are kept with store.snapshots at `auto`, if git is there and the folder is not huge, or `on`",
        ),
        _ => saved::failure(error),
    }
}

/// Lets the session go back. No model is asked.
async fn go_back(
    store: &Store,
    kept: Kept,
    workdir: Option<&Path>,
    environment: &Environment,
) -> Result<(), Failure> {
    let id = saved::short(kept.session()).to_owned();
    let here = environment.directory().to_owned();
    let folder: PathBuf = workdir.filter(|folder| folder.is_dir()).map_or(here, Path::to_owned);
    let variables: Vec<_> =
        environment.all().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let workshop = Workshop::builder(&folder, move |directory| {
        let local = LocalEnvironment::builder(directory).variables(variables.clone()).build()?;
        Ok(Arc::new(local) as Arc<dyn ExecutionEnvironment>)
    });
    let kind = AgentKind::Native.name();
    let workshop =
        workshop.store(store.clone()).kind(kind, Kind::Native(Native::new(Arc::new(Nobody)))).build();
    let spec = AgentSpec { kind: kind.to_owned(), ..AgentSpec::default() };
    let agent = workshop.resume(spec, kept, CancellationToken::new()).await.map_err(|error| {
        let message = format!("session {id} cannot be rewound: {error}");
        Failure::new(Exit::Failed, message, error.hint().unwrap_or("`junto fork` begins another session"))
    })?;
    agent.close().await;
    Ok(())
}

/// Answers nothing: whoever goes back asks nobody.
struct Nobody;

impl Nobody {
    fn refusal() -> Error {
        Error::new(ErrorKind::Configuration, "nobody is asked while a session is rewound")
    }
}

impl Provider for Nobody {
    fn complete<'a>(&'a self, _request: Request, _cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async { Err(Self::refusal()) })
    }

    fn stream<'a>(&'a self, _request: Request, _cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async { Err(Self::refusal()) })
    }
}

/// What was done to files, a line for each.
fn told(undone: &Undone, doing: Doing) -> String {
    let mut text = String::new();
    for change in &undone.files {
        let word = match (change.kind, doing) {
            (ChangeKind::Added, Doing::Really) => "removed",
            (ChangeKind::Added, Doing::Dry) => "would be removed",
            (ChangeKind::Removed | ChangeKind::Changed, Doing::Really) => "brought back",
            (ChangeKind::Removed | ChangeKind::Changed, Doing::Dry) => "would be brought back",
        };
        let _ = writeln!(text, "{word}: {}", change.path);
    }
    for path in &undone.left {
        let _ = writeln!(text, "left alone, since it was changed again: {path}");
    }
    for path in &undone.back {
        let _ = writeln!(text, "undone already: {path}");
    }
    for path in &undone.older {
        let _ = writeln!(text, "left alone, since it may have been there before: {path}");
    }
    for path in &undone.beyond {
        let _ = writeln!(text, "not kept, and perhaps changed: {path}");
    }
    if text.is_empty() {
        text.push_str("no file was changed\n");
    }
    text
}
