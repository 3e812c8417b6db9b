//! The server around the play: protocols, keys, the log, recordings, the end.

use std::time::Duration;

use junto_llm::Wire;
use junto_twin::{Fault, Options, Play, Step, Twin};
use serde_json::{Value, json};

use crate::client::{KEY, Talk, http1, http2, json_of, text, twin, with_key};

#[tokio::test]
async fn one_port_speaks_both_versions_of_http() {
    let twin = twin("[[steps]]");
    for (http, version) in [(http1(), reqwest::Version::HTTP_11), (http2(), reqwest::Version::HTTP_2)] {
        for wire in Wire::ALL {
            let response = Talk::new(wire, "hi").whole(&http, &twin).send().await.unwrap();
            assert_eq!(response.version(), version);
            assert_eq!(text(wire, &json_of(response).await), "hi", "{wire:?}");
        }
    }
}

#[tokio::test]
async fn a_wrong_key_is_refused_as_the_provider_does() {
    let (twin, http) = (twin("[[steps]]"), http1());
    for wire in Wire::ALL {
        let models = if wire == Wire::Gemini { "/v1beta/models" } else { "/v1/models" };
        let url = format!("http://{}{models}", twin.addr());
        let listed = with_key(http.get(url), wire, "wrong-key-of-mine").send().await.unwrap();
        let expected = if wire == Wire::Gemini { 400 } else { 401 };
        assert_eq!(listed.status(), expected, "{wire:?}");
        let body = listed.text().await.unwrap();
        let body: Value = serde_json::from_str(&body).unwrap();
        assert!(body["error"]["message"].is_string(), "{wire:?}: {body}");
        assert!(!body.to_string().contains("wrong-key-of-mine"));
    }
}

#[tokio::test]
async fn what_is_not_there_has_the_envelope_of_its_wire() {
    let (twin, http) = (twin("[[steps]]"), http1());
    for (wire, path) in
        [(Wire::Anthropic, "/v1/none"), (Wire::Responses, "/v1/none"), (Wire::Gemini, "/v1beta/none")]
    {
        let url = format!("http://{}{path}", twin.addr());
        let response = with_key(http.get(url), wire, KEY).send().await.unwrap();
        assert_eq!(response.status(), 404);
        let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        assert_eq!(body["type"] == "error", wire == Wire::Anthropic, "{body}");
    }
    let messages = http.get(format!("http://{}/v1/messages", twin.addr())).send().await.unwrap();
    assert_eq!(messages.status(), 405);
}

#[tokio::test]
async fn requests_are_logged_with_their_usage_and_without_their_key() {
    let play = Play::of([Step::text("a"), Step::fault(Fault::status(503))]);
    let twin = Twin::start(play, Options::default()).unwrap();
    let http = http1();
    let talk = Talk::new(Wire::Anthropic, "hello");
    json_of(talk.whole(&http, &twin).send().await.unwrap()).await;
    talk.whole(&http, &twin).send().await.unwrap();
    let log = twin.requests();
    let brief: Vec<_> = log.iter().map(|r| (r.number, r.wire, r.path.as_str(), r.status, r.step)).collect();
    let path = "/v1/messages";
    assert_eq!(brief, [(1, Wire::Anthropic, path, 200, Some(0)), (2, Wire::Anthropic, path, 503, Some(1))]);
    assert_eq!(log[0].body, talk.body);
    assert_eq!(log[0].header("x-api-key"), Some("[redacted]"));
    assert!(!format!("{log:?}").contains(KEY));
    let usage = log[0].usage.as_ref().unwrap();
    assert!(usage.input > 0 && usage.output > 0);
    assert_eq!((log[1].usage.as_ref(), twin.usage_total().total), (None, usage.total));
}

#[tokio::test]
async fn recordings_hold_the_exact_reply_and_no_key() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { record: Some(dir.path().join("tapes")), ..Options::default() };
    let twin = Twin::start(Play::text("recorded"), options).unwrap();
    let http = http1();
    let mut sent = Vec::new();
    for wire in Wire::ALL {
        let talk = Talk::new(wire, &format!("my key is {KEY}"));
        sent.push(talk.streamed(&http, &twin).send().await.unwrap().text().await.unwrap());
    }
    let key = format!("http://{}/v1beta/models?key={KEY}", twin.addr());
    sent.push(json_of(http.get(key).send().await.unwrap()).await.to_string());
    twin.close().await;
    let read = |name: String| std::fs::read_to_string(dir.path().join("tapes").join(name)).unwrap();
    for (n, reply) in (1..).zip(&sent) {
        assert_eq!(read(format!("{n:04}-reply.txt")), *reply);
        let head: Value = serde_json::from_str(&read(format!("{n:04}-reply.json"))).unwrap();
        assert_eq!(head["status"], 200);
        let request = read(format!("{n:04}-request.json"));
        assert!(!request.contains(KEY), "{request}");
    }
    let request: Value = serde_json::from_str(&read("0001-request.json".into())).unwrap();
    assert_eq!((&request["wire"], &request["method"]), (&json!("anthropic"), &json!("POST")));
    assert_eq!(request["body"]["messages"][0]["content"], "my key is [redacted]");
}

#[tokio::test]
async fn closing_ends_a_stalled_answer_and_frees_the_port() {
    for http in [http1(), http2()] {
        let twin = twin("[[steps]]\ntext = 'x'\nfault = { stall = 10 }");
        let addr = twin.addr();
        let response = Talk::new(Wire::Chat, "x").streamed(&http, &twin).send().await.unwrap();
        let reading = tokio::spawn(response.bytes());
        tokio::time::timeout(Duration::from_secs(20), twin.close()).await.unwrap();
        let read = tokio::time::timeout(Duration::from_secs(20), reading).await.unwrap().unwrap();
        assert!(read.is_err(), "the stalled answer ends with the twin");
        let again = Options { port: addr.port(), ..Options::default() };
        Twin::start(Play::default(), again).unwrap();
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_at_the_start() {
    let refuse = |play: Play, options: Options| Twin::start(play, options).unwrap_err().to_string();
    let empty = refuse(Play::of([]), Options::default());
    assert!(empty.contains("at least one step"), "{empty}");
    let fault = Options { fault: Some(Fault::status(7)), ..Options::default() };
    assert!(refuse(Play::default(), fault).contains("`status`"));
    let twin = twin("[[steps]]");
    let taken = Options { port: twin.addr().port(), ..Options::default() };
    refuse(Play::default(), taken);
}

#[test]
fn a_twin_needs_a_runtime() {
    let error = Twin::start(Play::default(), Options::default()).unwrap_err();
    assert!(error.to_string().contains("runtime"), "{error}");
}
