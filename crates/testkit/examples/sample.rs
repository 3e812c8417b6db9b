//! Makes a sample of the journals that this version writes, for all later ones to open. `cargo xtask sample NAME`
//! starts it; `tests/samples/README.md` says when.
//!
//! A real session over a twin: a plan, output beside the journal, an approval and a refusal, a word in between, a
//! child, a tool call that was cut off, a compaction, a rewind; and a fork of it.
#![expect(clippy::disallowed_macros, reason = "a developer's tool: it prints")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "what fails here fails the tool")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use junto::agent::tools::AskUser;
use junto::agent::{Compaction, Overflow, SessionConfig};
use junto::core::{Addressed, Change, OnReject, Reply, Subscription, When as Moment};
use junto::llm::{Effort, SessionId, retry};
use junto::prelude::*;
use junto::store;
use junto::twin::{Call, Fault, Options, Play, Step, Twin, UsageOverride, When};
use serde_json::json;

/// Where the session works. It stands in the journal, so it is the same wherever the sample is made.
const PLACE: &str = "/tmp/junto-sample";
/// 2026-11-15, at noon; each event is a second later.
const NOON: i64 = 1_794_744_000;
/// How many tokens the model takes in.
const WINDOW: u64 = 40_000;

const CHILD: &str = "Count the pages of the ledger.";

fn shell(command: &str) -> Call {
    Call::new("shell", json!({"command": command, "timeout_ms": 600_000}))
}

fn play() -> Play {
    let of_child = |step: Step| {
        let when = When { contains: Some(CHILD.into()), ..When::default() };
        Step { times: Some(1), ..step.when(when) }
    };
    let plan = json!({"steps": [
        {"step": "read the ledger", "status": "in_progress"},
        {"step": "add it up", "status": "pending"},
    ]});
    let hand_over =
        Step::text("## Task\nFind the guilder.\n## State\nThe pages were read; nothing is missing.");
    let nearly_full = UsageOverride { input: Some(WINDOW / 10 * 8), ..UsageOverride::default() };
    Play::of([
        of_child(Step::calls([shell("echo twelve pages")])),
        of_child(Step::text("It has twelve pages.")),
        hand_over.when(When { contains: Some("<hand-over".into()), ..When::default() }),
        Step::call("update_plan", plan),
        Step::calls([
            shell("yes 'Received of a friend one guilder and ten.' | head -n 26000"),
            shell("rm -r ledger"),
        ]),
        Step::call("spawn_agent", json!({"task": CHILD, "wait": true})),
        Step::text("The ledger has twelve pages, and nothing of it was removed."),
        Step::calls([shell("echo begun; sleep 600")]),
        Step::text("The command was cut off, so I looked: nothing is missing."),
        Step::text("Goodbye."),
        Step { fault: Some(Fault::status(503).times(1)), ..Step::calls([shell("seq -s ' ' 1 600")]) },
        Step { usage: nearly_full, ..Step::calls([shell("seq -s ' ' 600 1200")]) },
        Step::call("ask_user", json!({"question": "Shall I add it up?"})),
        Step::text("All pages are read, and added up."),
    ])
}

#[tokio::main]
async fn main() {
    let out = PathBuf::from(std::env::args().nth(1).expect("the folder to write to"));
    let place = Path::new(PLACE);
    let _ = fs::remove_dir_all(place);
    fs::create_dir_all(place.join("project")).unwrap();
    let twin = Twin::start(play(), Options::default()).unwrap();
    let clock = clock();

    let (first, second) = (place.join("killed"), place.join("state"));
    let id = until_cut_off(&workshop(&open(&first, &clock), &twin, &clock), &first, &second).await;
    let store = open(&second, &clock);
    let workshop = workshop(&store, &twin, &clock);
    go_on(&workshop, &store, &id, None, None).await;
    go_on(&workshop, &store, &id, None, Some("Leave it, and say goodbye.")).await;
    go_on(&workshop, &store, &id, Some(2), None).await;
    go_on(&workshop, &store, &id, None, Some("Go through it page by page.")).await;
    let fork = junto::fork(&store, &id, Some(1)).await.unwrap();
    twin.close().await;

    let _ = fs::remove_dir_all(&out);
    for session in [&id, &fork] {
        copy(&second.join("sessions").join(&session.0), &out.join("sessions").join(&session.0));
    }
    fs::remove_dir_all(place).unwrap();
    println!("{}: session {id}, and its fork {fork}", out.display());
}

fn clock() -> junto::core::Clock {
    let seconds = AtomicI64::new(NOON);
    Arc::new(move || Timestamp::from_second(seconds.fetch_add(1, Ordering::Relaxed)).unwrap())
}

fn open(root: &Path, clock: &junto::core::Clock) -> Store {
    let options = store::Options { clock: Arc::clone(clock), ..store::Options::default() };
    Store::open(root, options).unwrap()
}

fn workshop(store: &Store, twin: &Twin, clock: &junto::core::Clock) -> Workshop {
    let endpoint =
        Endpoint::new("anthropic", Wire::Anthropic, twin.base_url(Wire::Anthropic)).key(twin.key());
    let native = Native {
        model: Some("claude-opus-5-5".to_owned()),
        effort: Some(Effort::High),
        system: "You keep a ledger.".to_owned(),
        ..Native::new(Arc::new(HttpProvider::new(endpoint).unwrap()))
    };
    let native = native.adjusted(|config| SessionConfig {
        context_window: Some(WINDOW),
        on_overflow: Overflow::Compact,
        compaction: Compaction { keep_turns: 1, ..Compaction::default() },
        tools: {
            let mut tools = config.tools.clone();
            tools.register(Arc::new(AskUser::default()));
            tools
        },
        ..config
    });
    Workshop::builder(Path::new(PLACE).join("project"), |dir| {
        let path = [("PATH", "/usr/bin:/bin")];
        Ok(Arc::new(LocalEnvironment::builder(dir).variables(path).build()?))
    })
    .clock(Arc::clone(clock))
    .store(store.clone())
    .retry(retry::Policy { base: Duration::ZERO, ..retry::Policy::default() })
    .policy(Arc::new(AskFirst), OnReject::TellModel)
    .kind("native", Kind::Native(native))
    .build()
}

fn spec() -> AgentSpec {
    AgentSpec { kind: "native".into(), ..AgentSpec::default() }
}

/// The first turn, and the second until its command runs. What is on the disk then is copied: so a process leaves it
/// that is killed.
async fn until_cut_off(workshop: &Workshop, first: &Path, second: &Path) -> SessionId {
    let agent = workshop.start(spec(), CancellationToken::new()).await.unwrap();
    let id = agent.log().session().clone();
    let mut reader = agent.log().subscribe(Seq::START);
    let change = Change { max_turns: Some(100), ..Change::default() };
    agent.send(Command::Configure { change }).await.unwrap();
    submit(&*agent, "Find out what is in the ledger.").await;
    follow(&*agent, &mut reader, |event| event.body.name() == "input_end").await;
    submit(&*agent, "Now look whether something is missing.").await;
    follow(&*agent, &mut reader, |event| event.body.name() == "tool_call_start").await;
    let folder = Path::new("sessions").join(&id.0);
    copy(&first.join(&folder), &second.join(&folder));
    agent.close().await;
    id
}

/// Brings the session back, perhaps to a turn, and lets it go on with what it was doing and what it is told.
async fn go_on(workshop: &Workshop, store: &Store, id: &SessionId, to: Option<u32>, say: Option<&str>) {
    let mut kept = Kept::reopen(store, id).unwrap();
    let (from, open) = (kept.last().next(), kept.past.open_input().is_some());
    if let Some(turn) = to {
        kept.past = kept.past.rewind(turn);
    }
    let agent = workshop.resume(spec(), kept, CancellationToken::new()).await.unwrap();
    let mut reader = agent.log().subscribe(from);
    if open {
        follow(&*agent, &mut reader, |event| event.body.name() == "input_end").await;
    }
    if let Some(say) = say {
        submit(&*agent, say).await;
        follow(&*agent, &mut reader, |event| event.body.name() == "input_end").await;
    }
    agent.close().await;
}

async fn submit(agent: &dyn Agent, text: &str) {
    agent.send(Command::Submit { input: text.into() }).await.unwrap();
}

/// Answers what the agent asks, until an event of its own comes. The first question is answered after a word in
/// between, and nothing may be removed.
async fn follow(agent: &dyn Agent, reader: &mut Subscription, until: impl Fn(&Event) -> bool) {
    loop {
        let Item::Event(event) = reader.next().await.unwrap() else { continue };
        if let Body::Ask { request } = &event.body {
            let command = request.call.arguments["command"].as_str().unwrap_or_default();
            if command.starts_with("yes") {
                let input = "Only read, please.".into();
                agent.send(Command::Steer { input, when: Moment::Round }).await.unwrap();
            }
            let decision = if command.starts_with("rm") {
                Decision::Reject { reason: Some("it is the only one".to_owned()) }
            } else {
                Decision::Allow { remember: None }
            };
            let command = Command::Answer { ask: request.ask.clone(), decision };
            let order = Addressed { agent: event.parent.is_some().then(|| event.agent.clone()), command };
            order.send(agent).await.unwrap();
        }
        if let Body::Question { ask, .. } = &event.body {
            let reply = Reply::Said { text: "Yes, please.".to_owned() };
            agent.send(Command::Reply { ask: ask.clone(), reply }).await.unwrap();
        }
        if event.parent.is_none() && until(&event) {
            return;
        }
    }
}

/// Copies the journal and what is beside it, and no locks.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join("blobs")).unwrap();
    fs::copy(from.join("journal.jsonl"), to.join("journal.jsonl")).unwrap();
    for blob in fs::read_dir(from.join("blobs")).into_iter().flatten() {
        let blob = blob.unwrap();
        fs::copy(blob.path(), to.join("blobs").join(blob.file_name())).unwrap();
    }
}
