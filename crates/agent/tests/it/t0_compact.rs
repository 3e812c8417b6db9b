//! A conversation that is made shorter because somebody asks for it, and what the log has of that.

use std::sync::Arc;

use junto_agent::{Compaction, Overflow, SessionConfig};
use junto_core::{Ack, Agent, Body, CallPurpose, Command, CompactMethod, CompactReason, EndReason, Input};
use junto_llm::{Allowance, Cost, Error, ErrorKind, Exhausted, Message, Role, Spending};

use crate::ledger::compactions;
use crate::revival::Stage;
use crate::scene::Scene;
use crate::script::{Line, Script, script};
use crate::t0_resume::check_every_cut;

/// What a session was told and answered before it is made shorter.
async fn long(model: &Arc<Script>, change: impl FnOnce(SessionConfig) -> SessionConfig) -> Scene {
    let mut scene = Scene::with(Arc::clone(model) as _, change).await;
    for input in ["First.", "Second.", "Third."] {
        let input = Input::text(input.repeat(300));
        let input = if input.text.starts_with("Second") { input.pinned() } else { input };
        scene.session.send(Command::Submit { input }).await.unwrap();
        assert_eq!(scene.input_end().await.0, EndReason::Done);
    }
    scene
}

const ANSWERS: [Line; 3] = [Line::Text("One."), Line::Text("Two."), Line::Text("Three.")];

/// What the model is asked next is what the event has, byte for byte, and what came after it.
#[tokio::test]
async fn the_event_has_the_whole_conversation() {
    let model = script(ANSWERS.into_iter().chain([Line::Text("## Task\nCount."), Line::Text("Four.")]));
    let mut scene = long(&model, |config| config).await;
    assert_eq!(scene.session.send(Command::Compact).await, Ok(Ack::Queued));
    assert_eq!(scene.ask("Fourth.").await, (EndReason::Done, "Four.".into()));
    let record = scene.end().await;
    let [made] = compactions(&record).try_into().unwrap_or_else(|_| panic!("one"));
    assert_eq!((made.why, made.how), (CompactReason::Command, CompactMethod::Summary));

    let requests = model.requests.lock().unwrap();
    let asked = requests.last().unwrap().messages.clone();
    assert_eq!(asked, made.messages);
    assert_eq!(
        serde_json::to_string(&asked).unwrap(),
        serde_json::to_string(&made.messages).unwrap(),
        "byte for byte"
    );
    let text = |place: u32| asked[usize::try_from(place).unwrap()].text();
    assert_eq!(asked[0], Message::system("You are a test."));
    assert!(text(made.pinned[0]).starts_with("First.") && text(made.pinned[1]).starts_with("Second."));
    assert_eq!(made.pinned.len(), 2);
    assert_eq!(text(made.input.unwrap()), "Fourth.");
    let hand_over = asked.iter().find(|m| m.text().starts_with("<hand-over>")).unwrap();
    assert!(hand_over.text().contains("## Task\nCount."));
    assert!(!asked.iter().any(|m| m.text().starts_with("Third.")), "what is not pinned is gone");

    // The hand-over was asked for at the end of the conversation itself, before the new input.
    let chore = &requests[3].messages;
    assert!(chore.last().unwrap().text().starts_with("<hand-over-request>"));
    assert_eq!(
        chore[..7],
        requests[2].messages[..].iter().cloned().chain([Message::assistant("Three.")]).collect::<Vec<_>>()[..]
    );
}

/// The call for the hand-over is booked as one, and is no turn; nothing of it is shown as an answer.
#[tokio::test]
async fn the_call_is_booked_and_not_shown() {
    let model = script(ANSWERS.into_iter().chain([Line::Text("## Task\nCount."), Line::Text("Four.")]));
    let limit = |mut config: SessionConfig| {
        config.limits.max_turns = 8;
        config
    };
    let mut scene = long(&model, limit).await;
    scene.session.send(Command::Compact).await.unwrap();
    assert_eq!(scene.ask("Fourth.").await.0, EndReason::Done, "eight turns, and a hand-over");
    let record = scene.end().await;
    assert_eq!((record.count("call"), record.count("assistant_text_end")), (5, 4));
    let purposes: Vec<CallPurpose> = record
        .events
        .iter()
        .filter_map(|e| match &e.body {
            Body::Call { purpose, answer, .. } => {
                assert_eq!(answer.is_none(), *purpose == CallPurpose::Compaction);
                Some(*purpose)
            }
            _ => None,
        })
        .collect();
    assert_eq!(purposes[3], CallPurpose::Compaction);
    assert_eq!(purposes.iter().filter(|purpose| purpose.is_input()).count(), 4);
    assert_eq!(record.session_end().1.total, 5 * 11, "all of them are paid for");
}

/// Cut off anywhere and brought back, a session that was made shorter asks what it would have asked.
#[tokio::test]
async fn it_is_brought_back_as_it_was_made() {
    let lines = || {
        let hand_over = Line::Text("## Task\nMeasure.");
        vec![Line::Text("One."), Line::Text("Two."), hand_over, Line::Text("Three."), Line::Text("Four.")]
    };
    let inputs = [("First.", 200), ("Second.", 300), ("Third.", 2200), ("Fourth.", 1)];
    let inputs = inputs.map(|(text, count)| Input::text(text.repeat(count)));
    let stage = Stage::new(inputs, |config| SessionConfig {
        on_overflow: Overflow::Compact,
        context_window: Some(6000),
        compaction: Compaction { keep_turns: 1, ..Compaction::default() },
        ..config
    });
    let whole = check_every_cut(&stage, lines).await;
    let made = whole.events.iter().filter(|event| event.body.name() == "compacted").count();
    assert_eq!((made, whole.requests.len()), (1, 5));
    let asked = &whole.requests[3].messages;
    assert!(asked.iter().any(|message| message.text().contains("## Task\nMeasure.")));
    assert!(asked.iter().any(|message| message.text().starts_with("First.")));
    assert!(!asked.iter().any(|message| message.text().starts_with("Second.")));
}

/// A host that has room left keeps its conversation when the provider fails.
#[tokio::test]
async fn a_failed_hand_over_leaves_what_fits() {
    let down = || Line::Fails(Error::new(ErrorKind::Server, "down"));
    let model = script(ANSWERS.into_iter().chain([down(), down(), down(), Line::Text("Four.")]));
    let mut scene = long(&model, |config| SessionConfig { context_window: Some(100_000), ..config }).await;
    scene.session.send(Command::Compact).await.unwrap();
    assert_eq!(scene.ask("Fourth.").await.1, "Four.");
    let record = scene.end().await;
    assert_eq!((record.count("compacted"), record.count("retry")), (0, 2));
    assert_eq!(model.requests.lock().unwrap().last().unwrap().messages.len(), 8, "nothing is gone");
}

fn spent() -> Error {
    let none = Allowance::tokens(0);
    let exhausted = Exhausted {
        budget: "the session's budget".to_owned(),
        limit: none,
        left: none,
        unspent: none,
        worst: Spending { cost: Cost::Unknown, tokens: 9 },
        freed: None,
    };
    Box::new(exhausted).into()
}

/// Where the budget does not pay for a hand-over, nothing is thrown away: the input ends, and the next one finds the whole
/// conversation. Whether the session knows the window or the provider tells does not matter.
#[tokio::test]
async fn a_budget_that_is_spent_costs_no_conversation() {
    let inputs = [("First.", 200), ("Second.", 300), ("Third.", 2600)];
    for window in [Some(4800), None] {
        let too_long = || Line::Fails(Error::new(ErrorKind::ContextLength, "too long"));
        let asked = window.is_none().then(too_long);
        let lines = ["One.", "Two."].map(Line::Text).into_iter().chain(asked).chain([Line::Fails(spent())]);
        let model = script(lines);
        let mut scene = Scene::with(Arc::clone(&model) as _, |config| SessionConfig {
            on_overflow: Overflow::Compact,
            context_window: window,
            compaction: Compaction { keep_turns: 1, ..Compaction::default() },
            ..config
        })
        .await;
        for (text, count) in inputs {
            let expected = if text == "Third." { EndReason::Limit } else { EndReason::Done };
            assert_eq!(scene.ask(&text.repeat(count)).await.0, expected, "{window:?}");
        }
        let record = scene.end().await;
        assert_eq!((record.count("compacted"), record.count("turn_limit")), (0, 1), "{window:?}");
        assert_eq!(model.requests.lock().unwrap().len(), 3 + usize::from(window.is_none()), "{window:?}");
    }
}

/// A conversation with nothing in it that could go stays as it is.
#[tokio::test]
async fn nothing_to_take_out() {
    let model = script([Line::Text("One.")]);
    let mut scene = Scene::start(Arc::clone(&model) as _).await;
    scene.session.send(Command::Compact).await.unwrap();
    assert_eq!(scene.ask("First.").await.1, "One.");
    let record = scene.end().await;
    assert_eq!(record.count("compacted"), 0);
    let said = |body: &Body| matches!(body, Body::Warning { message, .. } if message.contains("nothing"));
    assert!(record.events.iter().any(|e| said(&e.body)));
    assert_eq!(model.requests.lock().unwrap().len(), 1);
}

/// A provider that says that everything is too long is asked a bounded number of times.
#[tokio::test]
async fn a_provider_that_is_never_content() {
    let too_long = || Line::Fails(Error::new(ErrorKind::ContextLength, "too long"));
    let model = script(ANSWERS.into_iter().chain(std::iter::repeat_with(too_long).take(100)));
    let compact = |config| SessionConfig {
        on_overflow: Overflow::Compact,
        compaction: Compaction { keep_turns: 1, ..Compaction::default() },
        ..config
    };
    let mut scene = long(&model, compact).await;
    let (reason, _) = scene.ask("Fourth.").await;
    assert!(matches!(&reason, EndReason::Failed { error } if error.kind == "context_length"), "{reason:?}");
    scene.end().await;
    let requests = model.requests.lock().unwrap();
    assert!(requests.len() <= 3 + 4 + 2 * 3, "{} requests", requests.len());
    let last = &requests.last().unwrap().messages;
    assert_eq!(last[0].role, Role::System);
    assert!(
        last.iter().any(|m| m.text().starts_with("First.")) && last.iter().any(|m| m.text() == "Fourth.")
    );
}
