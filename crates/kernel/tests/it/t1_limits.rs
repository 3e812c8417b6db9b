//! What clients that mean no good, or do not know better, can do.

use junto_core::ToolOutcome;
use junto_kernel::{ErrorKind, Limits};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::host::{stand, stand_within};

/// A call that always works, to show that the connection does.
const ECHO: &str = r#"{"id":"after","op":"call","name":"echo"}"#;

fn is_echo(reply: &Value) -> bool {
    reply == &json!({"id": "after", "ok": true, "output": "{}", "is_error": false})
}

#[tokio::test]
async fn malformed_lines_are_answered_and_harm_nobody() {
    let stand = stand();
    let mut raw = stand.raw().await;
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    for (line, id, part) in [
        ("", json!(null), "not JSON"),
        ("{", json!(null), "not JSON"),
        ("null", json!(null), "needs an `id`"),
        (r#"{"id":[],"op":"list"}"#, json!(null), "needs an `id`"),
        (r#"{"id":7}"#, json!(7), "op"),
        (r#"{"id":7,"op":"run"}"#, json!(7), "run"),
        (r#"{"id":7,"op":"call","name":3}"#, json!(7), "not a request"),
        (r#"{"id":7,"op":"call","name":"echo","arguments":[1]}"#, json!(7), "`arguments` must be"),
        (&deep, json!(null), "not JSON"),
    ] {
        raw.say(line).await;
        let reply = raw.hear().await;
        assert_eq!((&reply["id"], &reply["ok"]), (&id, &json!(false)), "{line}");
        assert!(reply["error"].as_str().unwrap().contains(part), "{line}: {reply}");
    }
    raw.write.write_all(b"\xff\xfe\0\n").await.unwrap();
    assert!(raw.hear().await["error"].as_str().unwrap().contains("not JSON"));
    raw.say(ECHO).await;
    assert!(is_echo(&raw.hear().await));
}

#[tokio::test]
async fn a_line_that_is_too_long_is_told_and_skipped() {
    let stand = stand();
    let mut raw = stand.raw().await;
    let most = Limits::default().line;
    raw.say(&"x".repeat(most + 1)).await;
    let reply = raw.hear().await;
    assert_eq!(
        reply,
        json!({"id": null, "ok": false, "error": format!("the line is longer than {most} bytes")})
    );
    raw.say(ECHO).await;
    assert!(is_echo(&raw.hear().await));
}

#[tokio::test]
async fn a_client_knows_how_long_a_call_may_be() {
    let stand = stand_within(Limits { line: 1000, ..Limits::default() });
    let client = stand.client().await;
    let error = client.call("echo", json!({"text": "x".repeat(1000)})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert!(error.to_string().contains("takes 1000"), "{error}");
    assert_eq!(client.call("echo", json!({})).await.unwrap(), ToolOutcome::ok("{}"));
}

#[tokio::test]
async fn an_output_that_is_too_long_is_an_error() {
    let stand = stand_within(Limits { reply: 10_000, ..Limits::default() });
    let client = stand.client().await;
    assert_eq!(client.call("big", json!({"n": 9000})).await.unwrap().output.bytes(), 9000);
    let error = client.call("big", json!({"n": 10_000})).await.unwrap_err();
    assert!(error.to_string().contains("more than the 10000"), "{error}");
}

#[tokio::test]
async fn an_id_names_one_call_at_a_time() {
    let stand = stand();
    let mut raw = stand.raw().await;
    raw.say(r#"{"id":1,"op":"call","name":"block"}"#).await;
    raw.say(r#"{"id":1,"op":"call","name":"echo"}"#).await;
    assert_eq!(raw.hear().await["error"], "a call with this id is under way");
    raw.say(r#"{"id":1,"op":"cancel"}"#).await;
    assert_eq!(raw.hear().await["error"], "the call was cancelled");
    raw.say(r#"{"id":1,"op":"call","name":"echo"}"#).await;
    assert_eq!(raw.hear().await["output"], "{}", "and may be used again");
}

#[tokio::test]
async fn a_flood_of_calls_is_refused_beyond_the_limit() {
    let stand = stand();
    let mut raw = stand.raw().await;
    for n in 0..100 {
        raw.say(&json!({"id": n, "op": "call", "name": "block"}).to_string()).await;
    }
    for n in 16..100 {
        let reply = raw.hear().await;
        assert_eq!(
            reply,
            json!({"id": n, "ok": false, "error": "too many calls at a time: there may be 16"})
        );
    }
    stand.host.started(16).await;
    drop(raw);
    stand.host.dropped(16).await;
    assert_eq!(stand.host.calls.lock().unwrap().len(), 16);
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_up_nobody_else() {
    let stand = stand();
    let crate::host::Raw { mut write, mut read } = stand.raw().await;
    let asked = 5000;
    let flood = tokio::spawn(async move {
        for n in 0..asked {
            write.write_all(format!("{{\"id\":{n},\"op\":\"list\"}}\n").as_bytes()).await.unwrap();
        }
        write
    });
    let other = stand.client().await;
    for _ in 0..10 {
        assert_eq!(other.call("echo", json!({})).await.unwrap(), ToolOutcome::ok("{}"));
    }
    for n in 0..asked {
        let reply: Value = serde_json::from_str(&read.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!((&reply["id"], &reply["ok"]), (&json!(n), &json!(true)));
    }
    flood.await.unwrap();
}
