//! Who is let in.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use junto_kernel::{ErrorKind, Limits, ToolClient, ToolSocket};
use serde_json::json;

use crate::host::{Raw, stand, stand_within};

#[tokio::test]
async fn only_the_token_opens() {
    let stand = stand();
    let token = stand.socket.token();
    assert!(token.len() >= 32);
    for wrong in ["", "x", &token[1..], &format!("{token}0"), &token.to_uppercase()] {
        let error = ToolClient::connect(stand.socket.path(), wrong).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{wrong}");
        assert_eq!(error.to_string(), "the token is wrong");
    }
    assert_eq!(stand.client().await.list().await.unwrap().len(), 8);
}

#[tokio::test]
async fn nothing_is_done_before_the_token_is_shown() {
    let stand = stand();
    let check = async |first: &str, part: &str| {
        let mut raw = Raw::connect(stand.socket.path()).await;
        raw.say(first).await;
        let reply = raw.hear().await;
        assert!(reply["error"].as_str().unwrap().contains(part), "{first}: {reply}");
        assert!(!reply.to_string().contains("s3cret"), "a token is not repeated: {reply}");
        assert!(raw.is_over().await, "{first}");
    };
    check(r#"{"id":1,"op":"call","name":"echo","arguments":{}}"#, "the first line must be").await;
    check("", "the first line must be").await;
    check("s3cret", "the first line must be").await;
    check(r#"{"v":"s3cret","token":1}"#, "the first line must be").await;
    check(&json!({"v": 2, "token": stand.socket.token()}).to_string(), "version 2").await;
    check(r#"{"v":1,"token":"s3cret"}"#, "the token is wrong").await;
    assert!(stand.host.calls.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_says_nothing_is_shown_out() {
    let stand = stand();
    let mut raw = Raw::connect(stand.socket.path()).await;
    assert_eq!(raw.hear().await["error"], "the token did not come in time");
    assert!(raw.is_over().await);
}

#[tokio::test]
async fn there_is_room_for_so_many_connections() {
    let stand = stand_within(Limits { connections: 2, ..Limits::default() });
    let first = stand.client().await;
    let _second = stand.client().await;
    let error = ToolClient::connect(stand.socket.path(), stand.socket.token()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("too many connections"), "{error}");

    // The end of its call shows that the first client's leaving was noticed.
    tokio::select! {
        outcome = first.call("block", json!({})) => panic!("{outcome:?}"),
        () = stand.host.started(1) => {}
    }
    drop(first);
    stand.host.dropped(1).await;
    stand.client().await;
}

#[tokio::test]
async fn the_directory_is_private_and_its_name_new() {
    let (one, two) = (stand(), stand());
    let nest = one.socket.path().parent().unwrap();
    assert_eq!(nest.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(nest.parent().unwrap(), one.dir.path());
    assert_ne!(nest.file_name(), two.socket.path().parent().unwrap().file_name());
    assert_ne!(one.socket.token(), two.socket.token());
    assert!(!format!("{:?}", one.socket).contains(one.socket.token()), "the token is not shown");
}

#[tokio::test]
async fn a_place_that_cannot_be_is_an_error_and_leaves_nothing() {
    let stand = stand();
    let host = || Arc::clone(&stand.host) as Arc<dyn junto_core::ToolHost>;
    let missing = ToolSocket::serve(host(), &stand.dir.path().join("missing")).unwrap_err();
    assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
    assert!(missing.to_string().contains("missing"), "{missing}");

    let deep = stand.dir.path().join("d".repeat(100));
    std::fs::create_dir(&deep).unwrap();
    let long = ToolSocket::serve(host(), &deep).unwrap_err();
    assert!(long.to_string().contains("cannot listen at"), "{long}");
    assert_eq!(std::fs::read_dir(&deep).unwrap().count(), 0);
}
