//! What asking one member gives.

use std::future;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::scripted::{Scripted, text};
use crate::{Council, Options};

async fn asked(member: Member, max_answer: usize) -> (Result<Response, Error>, Usage) {
    let options = Options { max_answer, ..Options::default() };
    let council = Council::new(vec![member.clone()], None, options).unwrap();
    let (request, cx, voice) = (Request::prompt("?"), CallCx::new(), Voice::unheard());
    let hearing = Hearing::new(&council.0, &request, &cx, &voice);
    let question = Question { member: &member, duty: Duty::Member, place: 0, request: request.clone() };
    let answer = hearing.ask(question, future::pending(), None, Ok).await;
    (answer.result, hearing.minutes.usage())
}

fn member(scripted: Scripted) -> Member {
    Member::new("a", Arc::new(scripted))
}

#[tokio::test]
async fn an_answer_may_be_as_large_as_allowed_and_no_larger() {
    let long = "x".repeat(5000);
    let (answer, _) = asked(member(Scripted::answers(text(&long))), 6000).await;
    assert_eq!(answer.unwrap().text(), long);
    let (refused, _) = asked(member(Scripted::answers(text(&long))), 4000).await;
    assert!(refused.unwrap_err().message().contains("4000 bytes"));
}

#[tokio::test]
async fn what_a_failed_member_used_is_known() {
    let broken = member(Scripted::breaks(Usage::new(7, 0), Error::stream("cut")));
    let (answer, usage) = asked(broken, 100).await;
    assert_eq!(answer.unwrap_err().message(), "cut");
    assert_eq!((usage.input, usage.output), (7, 0));
}

#[tokio::test(start_paused = true)]
async fn a_member_has_its_own_time_and_silence() {
    let slow = || member(Scripted::answers(text("x")).after(Duration::from_secs(9)));
    let (answer, _) = asked(Member { within: Some(Duration::from_secs(8)), ..slow() }, 100).await;
    assert!(answer.unwrap_err().message().contains("8s (the member's own limit)"));
    let (answer, _) = asked(Member { silence: Some(Duration::from_secs(8)), ..slow() }, 100).await;
    assert!(answer.unwrap_err().message().contains("said nothing for 8s"));
    let patient =
        Member { within: Some(Duration::from_secs(10)), silence: Some(Duration::from_secs(10)), ..slow() };
    assert_eq!(asked(patient, 100).await.0.unwrap().text(), "x");
}
