//! The grammar check sees each way a log can be wrong.

use std::sync::Arc;

use jiff::Timestamp;
use junto_core::{
    Abilities, Approve, AskId, Body, EndReason, Event, EventLog, Input, Question, Reply, Seq, Steer, grammar,
};
use junto_llm::{Cost, Usage};

fn start() -> Body {
    let abilities = Abilities {
        steer: Steer::No,
        approve: Approve::No,
        resume: false,
        interrupt: false,
        follow_up: false,
        compact: false,
    };
    Body::SessionStart { kind: "test".into(), model: None, workdir: None, abilities, setup: None }
}

fn input() -> Body {
    Body::UserInput { input: Input::text("go"), pictures: None }
}

fn input_end() -> Body {
    Body::InputEnd { reason: EndReason::Done, text: "".into() }
}

fn end() -> Body {
    Body::SessionEnd { reason: EndReason::Done, usage: Usage::default(), cost: Cost::Unknown }
}

fn resumed() -> Body {
    Body::SessionResumed { cut_off: Vec::new() }
}

fn text_end(of: u64) -> Body {
    Body::AssistantTextEnd { of: Seq(of), text: "x".into() }
}

fn question() -> Body {
    Body::Question { of: Seq(1), ask: AskId("one".into()), question: Question::text("Which?") }
}

fn replied() -> Body {
    Body::Replied { ask: AskId("one".into()), reply: Reply::Declined { reason: None } }
}

async fn log(bodies: Vec<Body>) -> Vec<Event> {
    let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
    for body in bodies {
        log.emit(body).await.unwrap();
    }
    log.subscribe(Seq::START).rest().await.unwrap()
}

#[tokio::test]
async fn good_logs_pass() {
    grammar::check(&log(vec![start(), end()]).await).unwrap();
    grammar::check(&log(vec![start(), question(), replied(), question(), end()]).await).unwrap();
    let two = vec![
        start(),
        input(),
        Body::AssistantTextStart {},
        text_end(3),
        input_end(),
        input(),
        input_end(),
        end(),
    ];
    grammar::check(&log(two).await).unwrap();
}

#[tokio::test]
async fn sessions_that_were_brought_back_pass() {
    let check = async |bodies: Vec<Body>| grammar::check(&log(bodies).await).unwrap();
    check(vec![start(), end(), resumed(), end()]).await;
    check(vec![start(), resumed(), resumed(), end()]).await;
    check(vec![start(), input(), Body::AssistantTextStart {}, resumed(), text_end(3), input_end(), end()])
        .await;
    check(vec![start(), question(), resumed(), question(), replied(), end()]).await;
    check(vec![start(), input(), input_end(), resumed(), Body::Rewound { to_turn: 0 }, end()]).await;
}

#[tokio::test]
async fn each_fault_is_named() {
    let check = async |bodies: Vec<Body>, fault: &str| {
        let faults = grammar::check(&log(bodies).await).unwrap_err();
        assert!(faults.iter().any(|f| f.contains(fault)), "{faults:?} does not say {fault:?}");
    };
    check(vec![], "no events").await;
    check(vec![input(), input_end(), end()], "before the session's start").await;
    check(vec![start()], "no session_end").await;
    check(vec![start(), end(), end()], "after the session's end").await;
    check(vec![start(), start(), end()], "a second time").await;
    check(vec![start(), input(), end()], "while an input is open").await;
    check(vec![start(), input(), input(), input_end(), end()], "another input is open").await;
    check(vec![start(), input(), input_end(), input_end(), end()], "not open").await;
    let limit = || Body::TurnLimit { limit: "at most 1".into(), reached: 1 };
    check(vec![start(), limit(), input(), limit(), input_end(), end()], "event 2 (turn_limit)").await;
    let circle = || Body::LoopDetection { message: "again".into(), stops: false };
    check(vec![start(), input(), circle(), input_end(), circle(), end()], "event 5 (loop_detection)").await;
    let left = Body::SteeringInjected { input: Input::text("left"), pictures: None };
    check(vec![start(), left, end()], "while no input is open").await;
    let run = Body::RunEnd { context: None, billing: None, exit: None, class: None, session: None };
    check(vec![start(), input(), input_end(), run, end()], "event 4 (run_end)").await;
    check(vec![start(), Body::ReasoningStart {}, end()], "never ended").await;
    check(vec![start(), text_end(1), end()], "ends what is not open").await;
    check(vec![start(), replied(), end()], "what was not asked").await;
    check(vec![start(), question(), replied(), replied(), end()], "what was not asked").await;
    check(vec![start(), input(), Body::AssistantTextStart {}, input_end(), end()], "something it started")
        .await;
    check(vec![resumed(), end()], "before the session's start").await;
    check(vec![start(), end(), resumed()], "no session_end").await;
    check(vec![start(), end(), resumed(), end(), end()], "after the session's end").await;
    check(vec![start(), Body::ReasoningStart {}, resumed(), end()], "never ended").await;
    check(vec![start(), question(), resumed(), replied(), end()], "what was not asked").await;
    let rewound = |to_turn| Body::Rewound { to_turn };
    check(vec![start(), input(), rewound(0), input_end(), end()], "while an input is open").await;
    check(vec![start(), input(), input_end(), rewound(1), end()], "still to come").await;
}

#[tokio::test]
async fn children_live_within_their_parents() {
    let run = async |child_last: bool| {
        let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
        log.emit(start()).await.unwrap();
        let child = log.child();
        child.emit(start()).await.unwrap();
        if child_last {
            log.emit(end()).await.unwrap();
            child.emit(end()).await.unwrap();
        } else {
            child.emit(end()).await.unwrap();
            log.emit(end()).await.unwrap();
        }
        grammar::check(&log.subscribe(Seq::START).rest().await.unwrap())
    };
    run(false).await.unwrap();
    assert!(run(true).await.unwrap_err()[0].contains("within its parent's life"));
}
