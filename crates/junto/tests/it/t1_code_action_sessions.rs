//! The sessions of a code-action agent: which is begun, and which is gone on with.

use junto::code_action::{Agent, Config, Options};
use junto::core::{AgentErrorKind, EndReason};
use junto::llm::SessionId;
use junto::prelude::Store;
use junto::twin::Step;
use serde_json::json;

use crate::coder::{Coder, request, run, until};

fn store(coder: &Coder) -> Store {
    Store::open(coder.dir.path().join("store"), junto::store::Options::default()).unwrap()
}

fn agent(coder: &Coder, kept: bool, session: Option<&str>) -> Result<Agent, junto::core::AgentError> {
    let config = Config { persistence: kept.then(|| store(coder)), ..coder.config() };
    let session_id = session.map(|id| SessionId(id.to_owned()));
    Agent::new(config, Options { session_id, ..Options::default() })
}

#[tokio::test]
async fn which_session_it_is() {
    let coder = Coder::new([Step::text("Hello.")]);
    // Named, and none is kept.
    assert_eq!(agent(&coder, false, Some("mine")).unwrap_err().kind(), AgentErrorKind::Invalid);
    assert_eq!(agent(&coder, false, None).unwrap().session_id(), None);
    // None is named: there is a new one each time, known before it begins, and nothing is written before.
    let first = agent(&coder, true, None).unwrap();
    let second = agent(&coder, true, None).unwrap();
    assert_ne!(first.session_id().unwrap(), second.session_id().unwrap());
    assert!(store(&coder).sessions().unwrap().is_empty());
    first.start().await.unwrap();
    assert_eq!(store(&coder).sessions().unwrap(), [first.session_id().unwrap().clone()]);
    first.stop().await;
    // An id that could name no folder.
    let odd = agent(&coder, true, Some("../up")).unwrap();
    assert_eq!(odd.start().await.unwrap_err().kind(), AgentErrorKind::Journal);
}

#[tokio::test]
async fn a_session_that_is_known_goes_on_and_one_that_is_not_begins() {
    let coder = Coder::new([Step::text("I keep it in mind."), Step::text("Heron.")]);
    let first = agent(&coder, true, Some("birds")).unwrap();
    first.start().await.unwrap();
    run(&mut first.stream("The word is heron.", None), []).await;
    // Only one process, or agent, works in a session.
    let other = agent(&coder, true, Some("birds")).unwrap();
    assert_eq!(other.start().await.unwrap_err().kind(), AgentErrorKind::Journal);
    first.stop().await;
    other.start().await.unwrap();
    let whole = run(&mut other.stream("What was the word?", None), []).await;
    assert_eq!(whole.lines().last().unwrap(), "says Heron.");
    let last = coder.requests().last().unwrap().clone();
    assert!(last.contains("The word is heron.") && last.contains("I keep it in mind."), "{last}");
    other.stop().await;
    assert_eq!(store(&coder).sessions().unwrap(), [SessionId("birds".to_owned())]);
}

/// Stopped, it goes on where it was when it is started again; a turn that was cut off is over, and limits of a turn are
/// not those of the next.
#[tokio::test]
async fn a_session_goes_on_after_a_stop() {
    let touch =
        |name: &str| Step::call("shell", json!({"command": format!("touch {name}")})).without_thinking();
    let coder = Coder::new([touch("a"), touch("b"), touch("c"), Step::text("Done.").without_thinking()]);
    let agent = agent(&coder, true, Some("work")).unwrap();
    agent.start().await.unwrap();
    let mut turn = agent.stream("Work.", Some(1));
    until(&mut turn, request).await;
    agent.stop().await;
    assert_eq!(run(&mut turn, []).await.end, Ok(EndReason::Interrupted));
    agent.start().await.unwrap();
    let whole = run(&mut agent.stream("Go on.", None), []).await;
    assert_eq!(whole.end, Ok(EndReason::Done));
    let made = |name: &str| coder.work().join(name).exists();
    assert_eq!([made("a"), made("b"), made("c")], [false, true, true]);
    agent.stop().await;
}
