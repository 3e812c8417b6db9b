//! A command that says more than fits anywhere.

use std::sync::Arc;

use jiff::Timestamp;
use junto_agent::tools::{self, Shell};
use junto_agent::{Session, SessionConfig};
use junto_core::{Agent, Body, Command, EventLog, Item, Payload, Seq, Subscription, ToolOutput};
use serde_json::json;

use crate::hand::Hand;
use crate::script::{Line, script};

const MIB: u64 = 1 << 20;
/// How much is said: many times what may be held, and no more than a short test takes.
const FLOOD: u64 = 300 * MIB;
/// How much more memory the process may need at its peak.
const ALLOWED: u64 = 50 * MIB;

/// The most memory the process ever had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn flood() -> serde_json::Value {
    let command = format!("head -c {FLOOD} /dev/zero | tr '\\0' x");
    json!({"command": command, "timeout_ms": 600_000})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_is_kept_whole_in_little_memory() {
    let hand = Hand::new();
    let before = peak();
    let outcome = hand.outcome(&Shell::default(), flood()).await;
    let grown = peak() - before;
    let ToolOutput::Spooled(output) = &outcome.output else { panic!("{:?}", outcome.output) };
    assert_eq!((output.fault(), outcome.is_error), (None, false));
    assert!(output.tail().contains("x\n[exit code 0") && output.bytes() >= FLOOD, "{output:?}");
    assert!(grown < ALLOWED, "{} MiB", grown / MIB);
    hand.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_who_is_slow_costs_little_too() {
    let hand = Hand::new();
    let model = script([Line::Calls(vec![("shell", flood())]), Line::Text("Done.")]);
    let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
    // Holds back what the log keeps for one who does not read.
    let mut reader = log.subscribe(Seq::START);
    let before = peak();
    let config = SessionConfig::new(model, Arc::clone(&hand.cx.env), log);
    let session = Session::start(SessionConfig { tools: tools::standard().into(), ..config }).await.unwrap();
    session.send(Command::Submit { input: "Go".into() }).await.unwrap();
    let mut session_log = session.log().subscribe(Seq::START);
    let ended = async |reader: &mut Subscription, name: &str| loop {
        match reader.next().await.unwrap() {
            Item::Event(event) if event.body.name() == name => return event.body.clone(),
            _ => {}
        }
    };
    let end = ended(&mut session_log, "tool_call_end").await;
    let grown = peak() - before;
    let Body::ToolCallEnd { output: Payload::Spilled { bytes, .. }, is_error: false, .. } = end else {
        panic!("{end:?}")
    };
    assert!(bytes >= FLOOD && grown < ALLOWED, "{bytes} bytes, {} MiB", grown / MIB);
    // Late as it is, it misses no event.
    ended(&mut reader, "tool_call_end").await;
    session.close().await;
    hand.end().await;
}
