//! Cancelling a council ends every call it made.

use futures_util::StreamExt;
use junto_llm::{ErrorKind, Provider};
use junto_twin::{After, Fault, Play, Step};

use crate::stand::{Stand, ask, session, stand};

/// Both members fall silent after their first bytes.
fn silent() -> Stand {
    let stalls = || {
        let fault = Fault { stall: Some(After(1)), ..Fault::default() };
        Play::of([Step { fault: Some(fault), ..Step::text("never") }])
    };
    stand(stalls(), stalls(), Play::text("unasked"))
}

async fn both_are_asked(stand: &Stand) {
    tokio::join!(stand.a.wait_for_requests(1), stand.b.wait_for_requests(1));
}

async fn all_are_idle(stand: &Stand) {
    tokio::join!(stand.a.wait_until_idle(), stand.b.wait_until_idle(), stand.judge.wait_until_idle());
}

#[tokio::test]
async fn the_token_ends_a_whole_answer() {
    let stand = silent();
    let cx = session();
    let (result, ()) = tokio::join!(stand.council.complete(ask("?"), &cx), async {
        both_are_asked(&stand).await;
        cx.cancel.cancel();
    });
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Aborted);
    all_are_idle(&stand).await;
    assert_eq!(stand.counts(), [1, 1, 0]);
}

#[tokio::test]
async fn the_token_ends_a_stream() {
    let stand = silent();
    let cx = session();
    let events = stand.council.stream(ask("?"), &cx).await.unwrap();
    let (result, ()) = tokio::join!(events.into_response(), async {
        both_are_asked(&stand).await;
        cx.cancel.cancel();
    });
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Aborted);
    all_are_idle(&stand).await;
}

#[tokio::test]
async fn dropping_the_stream_ends_the_members() {
    let stand = silent();
    let mut events = stand.council.stream(ask("?"), &session()).await.unwrap();
    tokio::select! {
        () = both_are_asked(&stand) => {}
        () = async { while events.next().await.is_some() {} } => panic!("the members are silent"),
    }
    drop(events);
    all_are_idle(&stand).await;
}
