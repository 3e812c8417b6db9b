//! Agents that have a name, run by a host that is no command.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use junto::core::Clock;
use junto::llm::Secret;
use junto::named::{NamedHost, Next};
use junto::prelude::*;
use junto::runner::Definition;
use junto::store::{AgentSetup, InputState, Options, RunStatus};

/// Answers like `claude` with what it was told, and the session it went on with.
const ANSWERS: &str = r#"#!/bin/sh
for argument; do
  if [ "$previous" = --resume ]; then resumed=$argument; fi
  previous=$argument
done
task=$(cat)
echo '{"type":"system","subtype":"init","session_id":"s-1","model":"m","tools":[]}'
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"'"$task after ${resumed:-nothing}"'","session_id":"s-1","total_cost_usd":0.5,"usage":{"input_tokens":7,"output_tokens":3}}'
"#;

/// Says that it is overloaded.
const OVERLOADED: &str = r#"#!/bin/sh
cat > /dev/null
echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"num_turns":1,"result":"API Error: 529 overloaded","session_id":"s-2","total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0}}'
exit 1
"#;

/// Begins, and does not end.
const ENDLESS: &str = r#"#!/bin/sh
echo '{"type":"system","subtype":"init","session_id":"s-3","model":"m","tools":[]}'
exec sleep 600
"#;

fn clock() -> Clock {
    Arc::new(Timestamp::now)
}

/// A kind that is run like `claude` by this program.
fn cli(folder: &Path, name: &str, program: &str) -> Kind {
    let path = folder.join(name);
    std::fs::write(&path, program).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut definition = Definition { kind: name.to_owned(), ..Definition::shipped("claude").unwrap() };
    definition.command[0] = path.display().to_string();
    // It would play its part for whoever asks.
    definition.versions.ask.clear();
    let variables = [("PATH".to_owned(), Secret::new("/usr/bin:/bin"))].into();
    Kind::Cli(Box::new(Cli { variables, ..Cli::new(definition) }))
}

struct Stage {
    folder: tempfile::TempDir,
    store: Store,
    workshop: Workshop,
}

/// A store with the agent `nex` of the first of these programs; the others take over.
fn stage(programs: &[(&str, &str)]) -> Stage {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("state"), Options::default()).unwrap();
    let workshop = Workshop::builder(folder.path(), |dir| Ok(Arc::new(LocalEnvironment::new(dir)?)));
    let workshop = programs
        .iter()
        .fold(workshop, |workshop, (name, program)| workshop.kind(*name, cli(folder.path(), name, program)));
    let mut providers = programs.iter().map(|(name, _)| (*name).to_owned());
    let setup = AgentSetup {
        provider: providers.next().unwrap(),
        workspace: folder.path().to_owned(),
        fallback: Some(providers.collect()),
        mode: Some(Mode::Full),
        ..AgentSetup::default()
    };
    store.agents().unwrap().add("nex", &setup, Timestamp::now()).unwrap();
    Stage { workshop: workshop.store(store.clone()).build(), folder, store }
}

impl Stage {
    fn send(&self, text: &str) {
        self.store.agents().unwrap().send("nex", text, Timestamp::now()).unwrap();
    }

    fn take(&self) -> NamedHost {
        NamedHost::take(&self.store, "nex", Timestamp::now()).unwrap()
    }
}

#[tokio::test]
async fn everything_that_is_due_is_worked_on() {
    let stage = stage(&[("one", ANSWERS)]);
    stage.send("First");
    stage.send("Second");
    let host = stage.take();
    let done = host.work(&stage.workshop, &clock(), &CancellationToken::new()).await.unwrap();
    let texts: Vec<&str> = done.iter().map(|finished| finished.text.as_str()).collect();
    assert_eq!(texts, ["First after nothing", "Second after s-1"]);
    assert!(done.iter().all(|finished| finished.input == InputState::Done));
    assert_eq!(host.next(&|_| true, Timestamp::now()).unwrap(), Next::Nothing);
    let agents = stage.store.agents().unwrap();
    let runs = agents.runs("nex", 9).unwrap();
    assert_eq!(runs.len(), 2);
    for run in runs {
        assert_eq!((run.status, run.result.session.as_deref()), (RunStatus::Completed, Some("s-1")));
        let journal = stage.store.read(&run.journal.unwrap()).unwrap();
        let end = journal.events.last().map(|event| event.body.name());
        assert_eq!(end, Some("session_end"));
    }
    // What it may always use is its own folder.
    stage.send("Third");
    let Next::Run(plan) = host.next(&|_| true, Timestamp::now()).unwrap() else { panic!("nothing to do") };
    assert_eq!(plan.spec.directories, [stage.folder.path().join("state/agents/nex")]);
    assert_eq!(plan.spec.workdir, Workdir::Path(stage.folder.path().to_owned()));
}

#[tokio::test]
async fn a_conversation_that_is_used_is_not_left() {
    let stage = stage(&[("one", ANSWERS)]);
    let agents = stage.store.agents().unwrap();
    let mut setup = agents.get("nex").unwrap().setup;
    setup.refresh.idle = Some(jiff::SignedDuration::from_hours(8));
    agents.set("nex", &setup).unwrap();
    let host = stage.take();
    let begin: Timestamp = "2026-11-16T09:00:00Z".parse().unwrap();
    for (hours, expected) in [(0, "nothing"), (5, "s-1"), (10, "s-1"), (15, "s-1"), (24, "nothing")] {
        let now = begin + jiff::SignedDuration::from_hours(hours);
        agents.send("nex", "Go", now).unwrap();
        let clock: Clock = Arc::new(move || now);
        let done = host.work(&stage.workshop, &clock, &CancellationToken::new()).await.unwrap();
        let texts: Vec<&str> = done.iter().map(|finished| finished.text.as_str()).collect();
        assert_eq!(texts, [format!("Go after {expected}")], "after {hours} hours");
        assert_eq!(agents.sessions("nex").unwrap()[0].used, Some(now), "after {hours} hours");
    }
}

#[tokio::test]
async fn another_takes_over() {
    let stage = stage(&[("one", OVERLOADED), ("two", ANSWERS)]);
    stage.send("First");
    let done = stage.take().work(&stage.workshop, &clock(), &CancellationToken::new()).await.unwrap();
    let [failed, answered] = &done[..] else { panic!("{done:#?}") };
    assert_eq!((failed.complete.status, failed.input), (RunStatus::Failed, InputState::Waiting));
    assert_eq!(failed.suppression.as_ref().map(|found| found.class.as_str()), Some("overloaded"));
    assert_eq!((answered.text.as_str(), answered.input), ("First after nothing", InputState::Done));
}

/// A program of which the first line names what is not there looks installed and cannot be started.
#[tokio::test]
async fn who_cannot_be_started_gives_way_and_is_looked_for_again() {
    let stage = stage(&[("one", "#!/nowhere/at/all\n"), ("two", ANSWERS)]);
    stage.send("First");
    let host = stage.take();
    let done = host.work(&stage.workshop, &clock(), &CancellationToken::new()).await.unwrap();
    let [missing, answered] = &done[..] else { panic!("{done:#?}") };
    assert_eq!((missing.input, &missing.suppression), (InputState::Waiting, &None));
    assert_eq!((answered.text.as_str(), answered.input), ("First after nothing", InputState::Done));
    let agents = stage.store.agents().unwrap();
    assert_eq!(agents.suppressed(Timestamp::now()).unwrap(), []);
    // By the next input somebody has installed it.
    cli(stage.folder.path(), "one", ANSWERS);
    stage.send("Second");
    let done = host.work(&stage.workshop, &clock(), &CancellationToken::new()).await.unwrap();
    assert_eq!((done.len(), done[0].text.as_str()), (1, "Second after nothing"));
    assert_eq!(agents.runs("nex", 9).unwrap()[0].provider, "one");
}

#[tokio::test]
async fn a_run_is_stopped_by_whoever_wants_it_stopped() {
    let stage = stage(&[("one", ENDLESS)]);
    let agents = stage.store.agents().unwrap();
    for (cancels, state, status) in
        [(false, InputState::Cancelled, RunStatus::Cancelled), (true, InputState::Waiting, RunStatus::Failed)]
    {
        stage.send("First");
        // What is known already is not told again.
        agents.forget("nex").unwrap();
        let (host, cancel) = (stage.take(), CancellationToken::new());
        let stop = async {
            // It is at work once its session is known.
            loop {
                let run = agents.running("nex").unwrap();
                let journal = run.and_then(|run| stage.store.read(&run.journal?).ok());
                let began =
                    |event: &Event| matches!(&event.body, Body::Handle { handle } if handle.kind == "one");
                if journal.is_some_and(|journal| journal.events.iter().any(began)) {
                    break;
                }
                tokio::task::yield_now().await;
            }
            if cancels { cancel.cancel() } else { drop(agents.abort("nex").unwrap()) }
        };
        let clock = clock();
        let (done, ()) = tokio::join!(host.work(&stage.workshop, &clock, &cancel), stop);
        let [finished] = &done.unwrap()[..] else { panic!("it went on") };
        assert_eq!((finished.input, finished.complete.status), (state, status));
    }
}
