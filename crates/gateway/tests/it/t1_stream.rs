//! What a translated stream carries beside the answer: signs of life, and progress.

use axum::body::Body;
use futures_util::StreamExt as _;
use http_body_util::BodyExt as _;
use junto_gateway::{Gateway, Progress, Settings, Target};
use junto_llm::{CallCx, Content, Effort, ErrorKind, Message, Narration, Request, SessionId, Traffic, Wire};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

use crate::scripted::{Cue, Scripted, answer, finish, progress, shared, text};
use crate::support::{House, Raw, Way, addressed, ask, hello, post, raw};

/// How many signs of life a piece of a stream holds.
fn signs_of_life(wire: Wire, piece: &str) -> usize {
    let count = |what: &str| piece.matches(what).count();
    match wire {
        Wire::Anthropic => count("event: ping\n"),
        // The answer begins with one that is none.
        Wire::Responses => count("event: response.in_progress\n") - count("event: response.created\n"),
        Wire::Gemini => usize::from(piece == "\n"),
        Wire::Chat => count(": keep-alive\n\n"),
    }
}

fn hello_to(wire: Wire) -> http::Request<Body> {
    let (path, body) = addressed(wire, hello(wire, true).to_string().into());
    post(&path, body)
}

fn gateway(provider: Arc<Scripted>, settings: Settings) -> Gateway {
    Gateway::builder().route("*", Target::new("council", provider)).settings(settings).build().unwrap()
}

fn every(seconds: u64) -> Settings {
    Settings { keep_alive: Duration::from_secs(seconds), ..Settings::default() }
}

async fn streamed(cues: Vec<Cue>, settings: Settings, wire: Wire) -> Raw {
    let gateway = gateway(shared(cues), settings);
    raw(ask(&gateway, hello_to(wire)).await).await
}

/// The pieces of a stream, and after how many seconds each came.
async fn pieces(cues: Vec<Cue>, settings: Settings, wire: Wire) -> Vec<(u64, String)> {
    let gateway = gateway(shared(cues), settings);
    let began = Instant::now();
    let response = ask(&gateway, hello_to(wire)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    let mut body = response.into_body();
    let mut seen = Vec::new();
    while let Some(frame) = body.frame().await {
        let said = String::from_utf8(frame.unwrap().into_data().unwrap().to_vec()).unwrap();
        seen.push((began.elapsed().as_secs(), said));
    }
    seen
}

/// When there were signs of life.
fn times(wire: Wire, pieces: &[(u64, String)]) -> Vec<u64> {
    pieces.iter().filter(|(_, piece)| signs_of_life(wire, piece) == 1).map(|(at, _)| *at).collect()
}

#[tokio::test(start_paused = true)]
async fn silence_is_broken_every_three_seconds() {
    for wire in Wire::ALL {
        let cues = answer([Cue::Wait(Duration::from_secs(10))], "at last");
        let pieces = pieces(cues, Settings::default(), wire).await;
        assert_eq!(times(wire, &pieces), [3, 6, 9], "{wire:?}: {pieces:?}");
        assert!(pieces.last().unwrap().1.contains("at last"), "{pieces:?}");
    }
}

/// An event is no event before the answer has begun, so then it begins; and it has one id for good.
#[tokio::test(start_paused = true)]
async fn also_before_the_provider_has_answered() {
    for wire in Wire::ALL {
        let mut cues = vec![Cue::Wait(Duration::from_secs(25))];
        cues.extend(answer([], "late"));
        let pieces = pieces(cues, every(10), wire).await;
        assert_eq!(times(wire, &pieces), [10, 20], "{wire:?}: {pieces:?}");
        assert!(pieces[2..].iter().all(|(at, _)| *at == 25), "{pieces:?}");
        let whole: String = pieces.into_iter().map(|(_, piece)| piece).collect();
        let first = match wire {
            Wire::Anthropic => "event: message_start\n",
            Wire::Responses => "event: response.created\n",
            Wire::Gemini => "\n",
            Wire::Chat => "data: {\"id\":\"chatcmpl-",
        };
        assert!(whole.starts_with(first) && whole.contains("late"), "{whole}");
        assert_eq!(whole.matches("message_start").count() / 2, usize::from(wire == Wire::Anthropic));
        assert!(!whole.contains("id-1"), "the provider's id came too late: {whole}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_stream_needs_none() {
    for wire in Wire::ALL {
        let lines = (0..20).flat_map(|n| [Cue::Wait(Duration::from_secs(4)), progress(&n.to_string())]);
        let pieces = pieces(answer(lines, "done"), every(5), wire).await;
        assert_eq!(times(wire, &pieces), [0; 0], "{pieces:?}");
    }
}

/// Whoever has narrated and gone silent is spoken for; whoever has not is left alone.
#[tokio::test(start_paused = true)]
async fn work_that_goes_on_in_silence_is_said_to_go_on() {
    for wire in Wire::ALL {
        let silence = || Cue::Wait(Duration::from_secs(22));
        let cues = answer([progress("asking two members"), silence()], "forty-two");
        let settings = Settings { keep_alive: Duration::from_mins(1), ..Settings::default() };
        let told = pieces(cues, settings.clone(), wire).await;
        // The end of an item repeats what was said.
        let beats =
            told.iter().filter(|(_, piece)| piece.contains("still working") && !piece.contains("forty-two"));
        let beats: Vec<u64> = beats.map(|(at, _)| *at).collect();
        assert_eq!(beats, [10, 15, 20], "{wire:?}: {told:?}");
        assert!(told.iter().any(|(_, piece)| piece.contains("still working — 15s elapsed")), "{told:?}");
        for quiet in [
            answer([silence()], "forty-two"),
            answer([], "forty-two").into_iter().chain([silence()]).collect::<Vec<_>>(),
        ] {
            let whole = streamed(quiet, settings.clone(), wire).await.text();
            assert!(!whole.contains("still working"), "{whole}");
        }
    }
}

/// Events that the client does not see do not count as a sign of life.
#[tokio::test(start_paused = true)]
async fn what_is_not_shown_does_not_keep_alive() {
    for wire in Wire::ALL {
        let lines = (0..10).flat_map(|n| [Cue::Wait(Duration::from_millis(4200)), progress(&n.to_string())]);
        let settings = Settings { progress: Progress::Hidden, ..every(10) };
        let told = pieces(answer(lines, "done"), settings, wire).await;
        assert_eq!(times(wire, &told), [10, 20, 30, 40], "{told:?}");
    }
}

/// Until the first byte is out a failure has a status; later it is an event.
#[tokio::test(start_paused = true)]
async fn a_failure_has_a_status_as_long_as_it_can() {
    let fail = |after: u64| {
        let error = junto_llm::Error::new(ErrorKind::RateLimit, "slow down");
        vec![Cue::Wait(Duration::from_secs(after)), Cue::Fail(error)]
    };
    for wire in Wire::ALL {
        let early = streamed(fail(9), every(10), wire).await;
        assert_eq!(early.status, 429);
        assert_eq!(early.json()["error"]["message"], "slow down");
        let late = streamed(fail(11), every(10), wire).await;
        assert_eq!(late.status, 200);
        let said = late.text();
        let (before, failure) = said.split_at(said.find("slow down").expect("a failure"));
        assert!(!before.is_empty() && !failure.contains("[DONE]"), "{said}");
    }
}

/// A provider that forgets to begin, or to name its answer, still gives a whole answer.
#[tokio::test]
async fn answers_are_named_if_need_be() {
    for wire in Wire::ALL {
        let mut cues = text("yes").to_vec();
        cues.push(finish());
        let provider = shared(cues);
        let house = House::open(&gateway(provider, Settings::default())).await;
        for way in Way::BOTH {
            let answer = way.ask(&house.client(wire), Request::prompt("hi").model("m-1")).await.unwrap();
            let prefix = match wire {
                Wire::Anthropic => "msg_",
                Wire::Responses => "resp_",
                Wire::Gemini => "",
                Wire::Chat => "chatcmpl-",
            };
            assert!(answer.id.starts_with(prefix) && answer.id.len() > 20, "{}", answer.id);
            assert_eq!((answer.model.as_str(), answer.text().as_str()), ("m-1", "yes"));
        }
    }
}

/// What came before the answer, what came while it was said and what came behind it: all of it is
/// shown, and none of it comes back.
#[tokio::test]
async fn progress_is_shown_as_reasoning_and_taken_out_again() {
    for wire in Wire::ALL {
        let mut cues = answer([progress("asking two members"), progress("both agree")], "forty-two");
        cues.insert(cues.len() - 2, progress("one is late"));
        cues.insert(cues.len() - 1, progress("2 members, $0.02"));
        let provider = shared(cues);
        let house = House::open(&gateway(provider.clone(), Settings::default())).await;
        let client = house.client(wire);
        let mut messages = vec![Message::user("what?")];
        let first = Way::Streamed.ask(&client, Request::of(messages.clone()).model("m")).await.unwrap();
        let shown: String =
            first.reasoning().chars().filter(|c| !('\u{2062}'..='\u{2063}').contains(c)).collect();
        assert_eq!(shown, "asking two members\nboth agree\none is late\n2 members, $0.02\n");
        assert_eq!(first.text(), "forty-two");

        messages.extend([first.message, Message::user("sure?")]);
        let mut again = Request::of(messages).model("m");
        // A client of this wire that sends reasoning back.
        again.provider_options.insert("chat".into(), serde_json::json!({"send_reasoning": true}));
        Way::Streamed.ask(&client, again).await.unwrap();
        let (second, cx) = provider.asked().remove(1);
        let said: Vec<String> = second.messages.iter().map(Message::text).collect();
        assert_eq!(said, ["what?", "forty-two", "sure?"]);
        let thoughts: Vec<_> = second.messages.iter().flat_map(|m| &m.content).collect();
        assert!(!thoughts.iter().any(|part| matches!(part.content(), Content::Thinking(_))), "{thoughts:?}");
        assert_eq!(cx.narration, Narration::Telemetry);
    }
}

/// The recap comes behind a live answer; but Claude Code that runs for a script would print it, or
/// nothing, instead of the answer.
#[tokio::test]
async fn the_last_block_is_the_answer_for_whoever_takes_it_for_that() {
    for (agent, shown) in
        [("claude-cli/2.1 (external, cli)", true), ("claude-cli/2.1 (external, sdk-cli)", false)]
    {
        let mut cues = answer([progress("asking two members")], "forty-two");
        cues.insert(cues.len() - 1, progress("2 members, $0.02"));
        let mut request = hello_to(Wire::Anthropic);
        request.headers_mut().insert("user-agent", agent.parse().unwrap());
        let said = raw(ask(&gateway(shared(cues), Settings::default()), request).await).await.text();
        assert!(said.contains("asking two members") && said.contains("forty-two"), "{said}");
        assert_eq!(said.contains("$0.02"), shown, "{agent}: {said}");
    }
}

/// A provider that narrates is told how much of it will be seen.
#[tokio::test]
async fn narration_is_asked_for_as_it_is_shown() {
    let shows = |progress, narration| Settings { progress, narration, ..Settings::default() };
    for (settings, way, expected) in [
        (shows(Progress::Shown, Narration::Interleaved), Way::Streamed, Narration::Interleaved),
        (shows(Progress::Shown, Narration::Interleaved), Way::Whole, Narration::Silent),
        (shows(Progress::Hidden, Narration::Telemetry), Way::Streamed, Narration::Silent),
    ] {
        let provider = shared(answer([], "forty-two"));
        let house = House::open(&gateway(provider.clone(), settings)).await;
        way.ask(&house.client(Wire::Anthropic), Request::prompt("hi").model("m")).await.unwrap();
        assert_eq!(provider.asked()[0].1.narration, expected);
    }
}

#[tokio::test]
async fn progress_can_be_turned_off() {
    for wire in Wire::ALL {
        let settings = Settings { progress: Progress::Hidden, ..Settings::default() };
        let raw = streamed(answer([progress("asking two members")], "forty-two"), settings, wire).await;
        assert!(raw.text().contains("forty-two") && !raw.text().contains("asking"), "{}", raw.text());
        assert!(
            ["thinking", "reasoning_summary", "reasoning_content", "thought"]
                .iter()
                .all(|word| !raw.text().contains(word)),
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

/// Clients that say how long to think are understood by providers that are told how hard.
#[tokio::test]
async fn a_budget_for_thinking_becomes_an_effort() {
    for (thinking, expected) in [
        (serde_json::json!({"type": "enabled", "budget_tokens": 1024}), Some(Effort::Low)),
        (serde_json::json!({"type": "enabled", "budget_tokens": 10_000}), Some(Effort::Medium)),
        (serde_json::json!({"type": "enabled", "budget_tokens": 31_999}), Some(Effort::High)),
        (serde_json::json!({"type": "adaptive"}), Some(Effort::High)),
        (serde_json::Value::Null, None),
    ] {
        let provider = shared(answer([], "ok"));
        let gateway = gateway(provider.clone(), Settings::default());
        let mut body = hello(Wire::Anthropic, true);
        body["thinking"] = thinking;
        assert_eq!(ask(&gateway, post("/v1/messages", body.to_string())).await.status(), 200);
        assert_eq!(provider.asked()[0].0.reasoning_effort, expected, "{body}");
    }
}

/// Clients of the Responses API find in the answer what they have asked with.
#[tokio::test]
async fn an_answer_repeats_the_tools_and_instructions_of_its_request_where_the_wire_does() {
    let tools = serde_json::json!([
        {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}, "strict": false},
    ]);
    for (stream, count) in [(false, 1), (true, 3)] {
        let gateway = gateway(shared(answer([], "ok")), Settings::default());
        let mut body = hello(Wire::Responses, stream);
        body["tools"] = tools.clone();
        body["tool_choice"] = "required".into();
        body["instructions"] = "Be brief.".into();
        let raw = raw(ask(&gateway, post("/v1/responses", body.to_string())).await).await;
        let events = |text: &str| -> Vec<serde_json::Value> {
            let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
            events
                .map(|event| serde_json::from_str::<serde_json::Value>(event).unwrap()["response"].take())
                .collect()
        };
        let mut answers = if stream { events(&raw.text()) } else { vec![raw.json()] };
        answers.retain(|answer| !answer.is_null());
        assert_eq!(answers.len(), count);
        for answer in answers {
            assert_eq!(answer["tools"], tools, "{answer}");
            assert_eq!(
                (&answer["tool_choice"], &answer["instructions"]),
                (&"required".into(), &"Be brief.".into())
            );
        }
    }
}

/// Many at once, none mixed up with another.
#[tokio::test]
async fn answers_do_not_mix() {
    let provider = shared(answer([Cue::Hold], "the same for all"));
    let house = House::open(&gateway(provider.clone(), Settings::default())).await;
    let mut asking = futures_util::stream::FuturesUnordered::new();
    for n in 0..40 {
        let wire = Wire::ALL[n % 4];
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
