//! Calls, what comes of them, and how they end.

use futures_util::future::join_all;
use junto_core::{Media, ToolCallKind, ToolOutcome, Via};
use junto_kernel::ErrorKind;
use serde_json::{Value, json};

use crate::host::{MEETING, stand};

#[tokio::test]
async fn tools_are_listed_and_called() {
    let stand = stand();
    let client = stand.client().await;
    let names: Vec<String> = client.list().await.unwrap().into_iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["echo", "odd-name", "fail", "see", "big", "meet", "block", "free"]);

    let check = async |name: &str, arguments: Value, expected: ToolOutcome| {
        assert_eq!(client.call(name, arguments).await.unwrap(), expected, "{name}");
    };
    check("echo", json!({"text": "a\nb ö"}), ToolOutcome::ok(r#"{"text":"a\nb ö"}"#)).await;
    check("odd-name", json!({}), ToolOutcome::ok("{}")).await;
    check("free", json!("as it is"), ToolOutcome::ok("as it is")).await;
    check("fail", json!({}), ToolOutcome::error("no luck")).await;
    check("unknown", json!({}), ToolOutcome::error("there is no tool named `unknown`")).await;
    let seen = ToolOutcome { images: vec![Media::bytes(vec![1, 2, 3])], ..ToolOutcome::ok("look") };
    check("see", json!({}), seen).await;

    let calls = stand.host.calls.lock().unwrap();
    assert!(calls.iter().all(|(_, via)| *via == Via::Cell));
    let mut ids: Vec<&str> = calls.iter().map(|(call, _)| call.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), calls.len(), "every call has an id of its own");
    assert_eq!(calls[2].0.kind, ToolCallKind::Custom);
}

#[tokio::test]
async fn calls_on_one_connection_run_side_by_side() {
    let stand = stand();
    let client = stand.client().await;
    let outcomes = join_all((0..MEETING).map(|_| client.call("meet", json!({})))).await;
    assert!(outcomes.into_iter().all(|outcome| outcome.unwrap() == ToolOutcome::ok("met")));
}

#[tokio::test]
async fn calls_of_several_clients_run_side_by_side() {
    let stand = stand();
    let clients = join_all((0..MEETING).map(|_| stand.client())).await;
    let outcomes = join_all(clients.iter().map(|client| client.call("meet", json!({})))).await;
    assert!(outcomes.into_iter().all(|outcome| outcome.unwrap() == ToolOutcome::ok("met")));
}

#[tokio::test]
async fn answers_come_as_they_are_ready() {
    let stand = stand();
    let mut raw = stand.raw().await;
    raw.say(r#"{"id":"slow","op":"call","name":"block"}"#).await;
    raw.say(r#"{"id":"quick","op":"call","name":"echo","arguments":{}}"#).await;
    assert_eq!(raw.hear().await, json!({"id": "quick", "ok": true, "output": "{}", "is_error": false}));
}

#[tokio::test]
async fn more_calls_than_the_socket_takes_wait_their_turn() {
    let stand = stand();
    let client = stand.client().await;
    let outcomes = join_all((0..100).map(|n| client.call("echo", json!({"n": n})))).await;
    for (n, outcome) in outcomes.into_iter().enumerate() {
        assert_eq!(outcome.unwrap().output.preview(), format!("{{\"n\":{n}}}"));
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_ends() {
    let stand = stand();
    let client = stand.client().await;
    tokio::select! {
        outcome = client.call("block", json!({})) => panic!("{outcome:?}"),
        () = stand.host.started(1) => {}
    }
    stand.host.dropped(1).await;
    assert_eq!(
        client.call("echo", json!({})).await.unwrap().output.preview(),
        "{}",
        "the connection lives on"
    );
}

#[tokio::test]
async fn a_cancelled_call_is_answered() {
    let stand = stand();
    let mut raw = stand.raw().await;
    raw.say(r#"{"id":1,"op":"call","name":"block"}"#).await;
    stand.host.started(1).await;
    raw.say(r#"{"id":2,"op":"cancel"}"#).await;
    raw.say(r#"{"id":1,"op":"cancel"}"#).await;
    assert_eq!(raw.hear().await, json!({"id": 1, "ok": false, "error": "the call was cancelled"}));
    stand.host.dropped(1).await;
}

#[tokio::test]
async fn a_client_that_goes_ends_its_calls_and_no_others() {
    let stand = stand();
    let stays = stand.client().await;
    let goes = stand.client().await;
    let (one, two) = (goes.call("block", json!({})), goes.call("block", json!({})));
    tokio::select! {
        outcome = futures_util::future::join(one, two) => panic!("{outcome:?}"),
        () = stand.host.started(2) => {}
    }
    drop(goes);
    stand.host.dropped(2).await;
    assert_eq!(stays.call("echo", json!({})).await.unwrap().output.preview(), "{}");
}

#[tokio::test]
async fn dropping_the_socket_ends_everything_and_leaves_nothing() {
    let mut stand = stand();
    let client = stand.client().await;
    let calling = client.call("block", json!({}));
    tokio::pin!(calling);
    tokio::select! {
        outcome = &mut calling => panic!("{outcome:?}"),
        () = stand.host.started(1) => {}
    }
    assert_eq!(stand.left(), 1);
    let path = stand.socket.path().to_owned();
    stand.socket = crate::host::stand().socket;
    assert_eq!(stand.left(), 0, "gone with the drop, not later");
    assert!(!path.exists());
    assert_eq!(calling.await.unwrap_err().kind(), ErrorKind::Closed);
    stand.host.dropped(1).await;
    assert_eq!(client.list().await.unwrap_err().kind(), ErrorKind::Closed, "and it stays closed");
}

#[tokio::test]
async fn closing_waits_until_the_calls_have_ended() {
    let crate::host::Stand { socket, host, dir } = stand();
    let client = junto_kernel::ToolClient::connect(socket.path(), socket.token()).await.unwrap();
    tokio::select! {
        outcome = async { tokio::join!(client.call("block", json!({})), client.call("block", json!({}))) } =>
            panic!("{outcome:?}"),
        () = async {
            host.started(2).await;
            socket.close().await;
        } => {}
    }
    // Nothing is awaited here: they have ended already.
    assert!(futures_util::FutureExt::now_or_never(host.dropped(2)).is_some());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
