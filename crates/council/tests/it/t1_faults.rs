//! A council whose members fail in every way at once still gives a sound answer, and says who did not.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use junto_council::{Council, Deliberation, Ended, FanOut, Manner, Member, Options, Outcome, Report};
use junto_llm::{Endpoint, HttpProvider, Provider, Wire};
use junto_twin::{After, Call, Fault, Play, Step, Twin};
use serde_json::json;

use crate::stand::{ask, session};

fn weather(city: &str) -> Play {
    Play::of([Step::calls([Call::new("get_weather", json!({"city": city}))])])
}

#[tokio::test]
async fn one_fails_one_stalls_one_errs_one_only_writes_and_two_differ() {
    let stall = Fault { stall: Some(After(1)), ..Fault::default() };
    let action = json!({"action": "call", "calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]});
    let plays = [
        ("rome", weather("Rome"), Wire::Anthropic, "claude-opus-5-5"),
        ("writes", Play::text(action.to_string()), Wire::Responses, "gpt-5.5"),
        ("fails", Play::of([Step::fault(Fault::status(529))]), Wire::Anthropic, "claude-opus-5-5"),
        (
            "stalls",
            Play::of([Step { fault: Some(stall), ..Step::text("never") }]),
            Wire::Responses,
            "gpt-5.5",
        ),
        (
            "errs",
            Play::of([Step::calls([Call::raw("get_weather", r#"{"town": "Rome"}"#)])]),
            Wire::Gemini,
            "gemini-3.1-pro-preview",
        ),
        (
            "judge",
            Play::of([Step::object(json!({"index": 1, "reason": "north"}))]),
            Wire::Gemini,
            "gemini-3.1-pro-preview",
        ),
    ];
    let mut twins = Vec::new();
    let mut seats: Vec<Member> = (plays.into_iter())
        .map(|(name, play, wire, model)| {
            let twin = Twin::start(play, junto_twin::Options::default()).unwrap();
            let endpoint = Endpoint::new(name, wire, twin.base_url(wire)).key(twin.key());
            twins.push(twin);
            let member = Member::new(name, Arc::new(HttpProvider::new(endpoint).unwrap())).model(model);
            match name {
                "writes" => member.manner(Manner::Actions),
                "stalls" => Member { silence: Some(Duration::from_millis(300)), ..member },
                _ => member,
            }
        })
        .collect();
    let judge = seats.pop();
    let told = Arc::new(Mutex::new(Vec::<Deliberation>::new()));
    let into = Arc::clone(&told);
    let report = Report::new(move |deliberation| into.lock().unwrap().push(deliberation.clone()));
    let options = Options { fan_out: FanOut::Always, ask: 5, report: Some(report), ..Options::default() };
    let council = Council::new(seats, judge, options).unwrap();

    let response = council.complete(ask("Weather?"), &session()).await.unwrap();
    let calls: Vec<_> = response.tool_calls().map(|call| call.arguments.clone()).collect();
    assert_eq!(calls, [json!({"city": "Oslo"})]);
    let warned: Vec<&str> = response.warnings.iter().filter_map(|w| w.message.split(':').next()).collect();
    for name in ["fails", "stalls", "errs"] {
        assert!(warned.contains(&name), "{warned:?}");
    }

    let told = told.lock().unwrap().clone();
    let [told] = told.as_slice() else { panic!("told {} times", told.len()) };
    assert_eq!((told.outcome, told.reason.as_str()), (Outcome::Selected, "judge chose writes: north"));
    let kinds: Vec<Option<&str>> = (told.asked.iter())
        .map(|asked| match &asked.ended {
            Ended::LeftOut { kind, .. } => Some(kind.as_str()),
            _ => None,
        })
        .collect();
    let invalid = Some("invalid_tool_call");
    assert_eq!(kinds, [None, None, Some("server"), Some("timeout"), invalid, None], "{told:?}");
    assert!(told.asked[0].input > 0 && told.input > told.asked[0].input, "{told:?}");
    for twin in &twins {
        twin.wait_until_idle().await;
    }
}
