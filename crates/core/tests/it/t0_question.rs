//! A question waits for its answer, and a tool without a session has nobody to ask.

use std::sync::Arc;

use jiff::Timestamp;
use junto_core::{
    Alone, AskId, Body, Caller, Choice, Command, EventLog, Item, Plan, Question, Questions, Reply, Seq,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

fn log() -> EventLog {
    EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH))
}

async fn asked(log: &EventLog) -> AskId {
    let mut reader = log.subscribe(Seq::START);
    loop {
        if let Item::Event(event) = reader.next().await.unwrap()
            && let Body::Question { ask, .. } = &event.body
        {
            return ask.clone();
        }
    }
}

async fn names(log: &EventLog) -> Vec<&'static str> {
    log.subscribe(Seq::START).rest().await.unwrap().iter().map(|e| e.body.name()).collect()
}

#[tokio::test]
async fn a_question_is_answered_in_words_or_declined() {
    let check = async |reply: Reply, expected: Result<&str, &str>| {
        let log = log();
        let questions = Questions::new(log.clone());
        let never = CancellationToken::new();
        let (answer, ()) = tokio::join!(questions.ask(Seq(1), Question::text("Which?"), &never), async {
            let ask = asked(&log).await;
            assert!(questions.reply(&AskId::fresh(), reply.clone()).is_err(), "nobody asked that");
            questions.reply(&ask, reply.clone()).unwrap();
            assert!(questions.reply(&ask, reply.clone()).is_err(), "answered already");
        });
        assert_eq!(answer.map_err(|e| e.0), expected.map(str::to_owned).map_err(str::to_owned));
        assert_eq!(names(&log).await, ["question", "replied"]);
    };
    check(Reply::Said { text: "blue".into() }, Ok("blue")).await;
    check(Reply::Declined { reason: None }, Err("the question was not answered")).await;
    let busy = Reply::Declined { reason: Some("busy".into()) };
    check(busy, Err("the question was not answered: busy")).await;
}

#[tokio::test]
async fn a_question_that_is_empty_is_not_asked_and_a_cancelled_one_is_withdrawn() {
    let log = log();
    let questions = Questions::new(log.clone());
    let cancel = CancellationToken::new();
    assert!(questions.ask(Seq(1), Question::text(" "), &cancel).await.unwrap_err().0.contains("empty"));
    let (answer, ask) = tokio::join!(questions.ask(Seq(1), Question::text("Which?"), &cancel), async {
        let ask = asked(&log).await;
        cancel.cancel();
        ask
    });
    assert!(answer.unwrap_err().0.contains("interrupted"));
    assert!(questions.reply(&ask, Reply::Declined { reason: None }).is_err());
    assert_eq!(names(&log).await, ["question"]);
}

#[test]
fn on_a_wire_a_question_and_its_answer_are_plain() {
    let options = vec![Choice { label: "red".into(), description: None }];
    let question = Question { text: "Which?".into(), options, several: false };
    assert_eq!(json!(question), json!({"text": "Which?", "options": [{"label": "red"}]}));
    let reply = json!({"command": "reply", "ask": "1", "reply": {"reply": "said", "text": "red"}});
    let command = Command::Reply { ask: AskId("1".into()), reply: Reply::Said { text: "red".into() } };
    assert_eq!(serde_json::from_value::<Command>(reply).unwrap(), command);
}

#[tokio::test]
async fn a_tool_without_a_session_can_work() {
    Alone.show("nobody sees this");
    Alone.plan(Plan::default()).await.unwrap();
    assert!(Alone.ask(Question::text("Which?")).await.unwrap_err().0.contains("nobody is there"));
    let mut spool = Alone.spool();
    spool.push("kept").await;
    assert_eq!(spool.finish().await, "kept".into());
}
