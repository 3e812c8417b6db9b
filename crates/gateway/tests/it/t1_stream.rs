//! What a translated stream carries beside the answer: signs of life, and progress.

use futures_util::StreamExt as _;
use http_body_util::BodyExt as _;
use junto_gateway::{Gateway, Progress, Settings, Target};
use junto_llm::{CallCx, Content, ErrorKind, Message, Request, SessionId, Traffic, Wire};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

use crate::scripted::{Cue, Scripted, answer, finish, progress, shared, text};
use crate::support::{House, Raw, Way, ask, hello, post, raw};

const SURFACES: [Wire; 2] = [Wire::Anthropic, Wire::Responses];
const PING: &str = "event: ping\n";
const COMMENT: &str = ": keep-alive\n\n";

fn path(wire: Wire) -> &'static str {
    if wire == Wire::Anthropic { "/v1/messages" } else { "/v1/responses" }
}

fn sign_of_life(wire: Wire) -> &'static str {
    if wire == Wire::Anthropic { PING } else { COMMENT }
}

fn gateway(provider: Arc<Scripted>, settings: Settings) -> Gateway {
    Gateway::builder().route("*", Target::new("council", provider)).settings(settings).build().unwrap()
}

fn every(seconds: u64) -> Settings {
    Settings { keep_alive: Duration::from_secs(seconds), ..Settings::default() }
}

async fn streamed(cues: Vec<Cue>, settings: Settings, wire: Wire) -> Raw {
    let gateway = gateway(shared(cues), settings);
    raw(ask(&gateway, post(path(wire), hello(wire, true).to_string())).await).await
}

#[tokio::test(start_paused = true)]
async fn silence_is_broken_again_and_again() {
    for wire in SURFACES {
        let cues = answer([Cue::Wait(Duration::from_secs(35))], "at last");
        let raw = streamed(cues, every(10), wire).await;
        assert_eq!(raw.text().matches(sign_of_life(wire)).count(), 3, "{}", raw.text());
        assert!(raw.text().contains("at last"));
        assert_eq!(raw.headers["content-type"], "text/event-stream; charset=utf-8");
    }
}

#[tokio::test(start_paused = true)]
async fn they_come_when_they_are_due_and_before_the_answer_if_need_be() {
    for wire in SURFACES {
        let mut cues = vec![Cue::Wait(Duration::from_secs(25))];
        cues.extend(answer([], "late"));
        let gateway = gateway(shared(cues), every(10));
        let began = Instant::now();
        let response = ask(&gateway, post(path(wire), hello(wire, true).to_string())).await;
        assert_eq!((response.status().as_u16(), began.elapsed().as_secs()), (200, 10));
        let mut body = response.into_body();
        let mut seen = Vec::new();
        while let Some(frame) = body.frame().await {
            let said = String::from_utf8(frame.unwrap().into_data().unwrap().to_vec()).unwrap();
            seen.push((began.elapsed().as_secs(), said.starts_with(sign_of_life(wire))));
        }
        assert_eq!(seen[..2], [(10, true), (20, true)]);
        assert!(seen[2..].iter().all(|piece| *piece == (25, false)), "{seen:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_stream_needs_none() {
    for wire in SURFACES {
        let lines = (0..20).flat_map(|n| [Cue::Wait(Duration::from_secs(4)), progress(&n.to_string())]);
        let raw = streamed(answer(lines, "done"), every(10), wire).await;
        assert!(!raw.text().contains(sign_of_life(wire)), "{}", raw.text());
    }
}

/// Events that the client does not see do not count as a sign of life.
#[tokio::test(start_paused = true)]
async fn what_is_not_shown_does_not_keep_alive() {
    for wire in SURFACES {
        let lines = (0..10).flat_map(|n| [Cue::Wait(Duration::from_millis(4200)), progress(&n.to_string())]);
        let settings = Settings { progress: Progress::Hidden, ..every(10) };
        let raw = streamed(answer(lines, "done"), settings, wire).await;
        assert_eq!(raw.text().matches(sign_of_life(wire)).count(), 4, "{}", raw.text());
    }
}

/// Until the first byte is out a failure has a status; later it is an event.
#[tokio::test(start_paused = true)]
async fn a_failure_has_a_status_as_long_as_it_can() {
    let fail = |after: u64| {
        let error = junto_llm::Error::new(ErrorKind::RateLimit, "slow down");
        vec![Cue::Wait(Duration::from_secs(after)), Cue::Fail(error)]
    };
    for wire in SURFACES {
        let early = streamed(fail(9), every(10), wire).await;
        assert_eq!(early.status, 429);
        assert_eq!(early.json()["error"]["message"], "slow down");
        let late = streamed(fail(11), every(10), wire).await;
        assert_eq!(late.status, 200);
        assert!(late.text().starts_with(sign_of_life(wire)) && late.text().contains("slow down"));
    }
}

/// A provider that forgets to begin, or to name its answer, still gives a whole answer.
#[tokio::test]
async fn answers_are_named_if_need_be() {
    for wire in SURFACES {
        let mut cues = text("yes").to_vec();
        cues.push(finish());
        let provider = shared(cues);
        let house = House::open(&gateway(provider, Settings::default())).await;
        for way in Way::BOTH {
            let answer = way.ask(&house.client(wire), Request::prompt("hi").model("m-1")).await.unwrap();
            let prefix = if wire == Wire::Anthropic { "msg_" } else { "resp_" };
            assert!(answer.id.starts_with(prefix) && answer.id.len() > 20, "{}", answer.id);
            assert_eq!((answer.model.as_str(), answer.text().as_str()), ("m-1", "yes"));
        }
    }
}

#[tokio::test]
async fn progress_is_shown_as_reasoning_and_taken_out_again() {
    for wire in SURFACES {
        let provider = shared(answer([progress("asking two members"), progress("both agree")], "42"));
        let house = House::open(&gateway(provider.clone(), Settings::default())).await;
        let client = house.client(wire);
        let mut messages = vec![Message::user("what?")];
        let first = Way::Streamed.ask(&client, Request::of(messages.clone()).model("m")).await.unwrap();
        assert_eq!(first.reasoning(), "asking two members\nboth agree\n");
        assert_eq!(first.text(), "42");

        messages.extend([first.message, Message::user("sure?")]);
        Way::Streamed.ask(&client, Request::of(messages).model("m")).await.unwrap();
        let (second, _) = provider.asked().remove(1);
        let said: Vec<String> = second.messages.iter().map(Message::text).collect();
        assert_eq!(said, ["what?", "42", "sure?"]);
        let thoughts = second.messages.iter().flat_map(|m| &m.content);
        assert!(!thoughts.into_iter().any(|part| matches!(part.content(), Content::Thinking(_))));
    }
}

#[tokio::test]
async fn progress_can_be_turned_off() {
    for wire in SURFACES {
        let settings = Settings { progress: Progress::Hidden, ..Settings::default() };
        let raw = streamed(answer([progress("asking two members")], "42"), settings, wire).await;
        assert!(raw.text().contains("42") && !raw.text().contains("asking"), "{}", raw.text());
        assert!(
            !raw.text().contains("thinking") && !raw.text().contains("reasoning_summary"),
            "{}",
            raw.text()
        );
    }
}

/// What came out of the request before the provider saw it, and what came along beside it.
#[tokio::test]
async fn the_provider_gets_what_the_client_said_and_where_it_stands() {
    let provider = shared(answer([], "ok"));
    let target = Target::new("council", provider.clone()).model("real-model");
    let gateway = Gateway::builder().route("*", target).build().unwrap();
    let body = serde_json::json!({
        "model": "claude-opus-5-5", "max_tokens": 64, "temperature": 0.5,
        "system": "# Environment\n - Primary working directory: /home/ada/work\n",
        "metadata": {"user_id": "{\"session_id\":\"s-1\",\"account_uuid\":\"private\"}"},
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "ok"}]},
        ],
    });
    let mut request = post("/v1/messages?beta=true", body.to_string());
    request.headers_mut().append("anthropic-beta", "one,two".parse().unwrap());
    request.headers_mut().append("anthropic-beta", "three".parse().unwrap());
    assert_eq!(ask(&gateway, request).await.status(), 200);
    let (request, cx) = provider.asked().remove(0);
    assert_eq!(request.model.as_deref(), Some("real-model"));
    assert_eq!(request.provider.as_deref(), Some("council"));
    assert_eq!((request.max_tokens, request.temperature), (Some(64), Some(0.5)));
    assert_eq!(request.provider_options["anthropic"]["beta_headers"], "one,two,three");
    assert!(request.metadata.is_empty(), "whose account it is stays here");
    assert_eq!(cx.session, Some(SessionId("s-1".into())));
    assert_eq!(cx.traffic, Traffic::Continuation);
    assert_eq!(cx.workdir, None, "it is below no root of the gateway's");
}

/// Many at once, none mixed up with another.
#[tokio::test]
async fn answers_do_not_mix() {
    let provider = shared(answer([Cue::Hold], "the same for all"));
    let house = House::open(&gateway(provider.clone(), Settings::default())).await;
    let mut asking = futures_util::stream::FuturesUnordered::new();
    for n in 0..40 {
        let wire = SURFACES[n % 2];
        let client = house.client(wire);
        asking.push(async move {
            let request = Request::prompt(format!("number {n}")).model(format!("model-{n}"));
            let answer = client.stream(request, &CallCx::new()).await.unwrap().into_response().await.unwrap();
            (n, answer)
        });
    }
    let all = async {
        let mut count = 0;
        while let Some((_, answer)) = asking.next().await {
            assert_eq!(answer.text(), "the same for all");
            count += 1;
        }
        count
    };
    let release = async {
        provider.wait_running(40).await;
        provider.go_on();
    };
    let (count, ()) = tokio::join!(all, release);
    assert_eq!(count, 40);
    let mut asked: Vec<String> = provider
        .asked()
        .iter()
        .map(|(r, _)| format!("{} {}", r.messages[0].text(), r.model.as_deref().unwrap()))
        .collect();
    asked.sort_unstable();
    let mut expected: Vec<String> = (0..40).map(|n| format!("number {n} model-{n}")).collect();
    expected.sort_unstable();
    assert_eq!(asked, expected);
}
