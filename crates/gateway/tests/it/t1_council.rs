//! A council behind every surface: its members' reasoning goes back to whoever wrote it, and to nobody else.

use std::sync::Arc;
use std::time::Duration;

use junto_council::Served;
use junto_gateway::{Gateway, Target};
use junto_llm::catalog::Catalog;
use junto_llm::{Effort, Message, Request, ToolResult, Wire};
use junto_twin::{Call, Options, Play, Step, Think, Twin, When};
use serde_json::json;

use crate::clients::council::{Minutes, WIRES, seat};
use crate::support::{House, Way, asked, clock, weather};

/// Each thinks a thought of its own and calls another city; then all say the same.
fn play(thought: &str, city: &str) -> Play {
    let round = |round: u32| Some(When { round: Some(round), ..When::default() });
    let call = Call::new("get_weather", json!({"city": city}));
    Play::of([
        Step { when: round(0), think: Think::Text(thought.into()), ..Step::calls([call]) },
        Step { when: round(1), ..Step::text("Sunny.") },
    ])
}

const THOUGHTS: [&str; 3] = ["the first thought", "the second thought", "the third thought"];

/// Asks for a call, of which the judge takes this member's, and goes on with it. The twins are strict: a signature that
/// is foreign, changed or missing is refused, and who was refused is left out.
async fn goes_back(surface: Wire, chosen: usize, way: Way) {
    let start = |play| Twin::start(play, Options::default()).unwrap();
    let members = [0, 1, 2].map(|n| start(play(THOUGHTS[n], ["Rome", "Oslo", "Bern"][n])));
    let verdict = format!(r#"{{"index": {chosen}, "reason": ""}}"#);
    let judge = start(Play::of([Step::text(verdict)]));
    let minutes = Minutes::default();
    let council = seat(&members, &judge, Duration::from_mins(1), &minutes);
    let target = Target::new("council", Arc::new(Served::new(council, Catalog::builtin())));
    let gateway = Gateway::builder().route("*", target).build().unwrap();
    let house = House::open(&gateway).await;
    let client = house.client(surface);
    let request = |messages: Vec<Message>| {
        let request = Request { reasoning_effort: Some(Effort::High), ..Request::of(messages) };
        request.model(asked(surface)).tools([weather(), clock()])
    };
    let question = Message::user("What is the weather?");
    let first = way.ask(&client, request(vec![question.clone()])).await.unwrap();
    let results: Vec<ToolResult> = first.tool_calls().map(|call| ToolResult::text(&call.id, "sun")).collect();
    assert_eq!(results.len(), 1, "{first:#?}");
    let messages = vec![question, first.message, Message::tool_results(results)];
    let second = way.ask(&client, request(messages)).await.unwrap();
    assert_eq!(second.text(), "Sunny.");

    let bodies: Vec<String> = members.iter().map(|twin| twin.requests()[1].body.to_string()).collect();
    for twin in &members {
        let refused: Vec<_> = twin.requests().into_iter().filter(|request| request.status != 200).collect();
        assert!(refused.is_empty(), "{surface:?} {chosen} {way:?}: {refused:#?}");
    }
    let signed = ["\"signature\"", "\"encrypted_content\"", "\"thoughtSignature\""];
    // What a client of Gemini's writes where a call was not Gemini's own.
    let unsigned = r#""thoughtSignature":"skip_thought_signature_validator""#;
    for (place, body) in bodies.iter().map(|body| body.replace(unsigned, "")).enumerate() {
        // On Chat's wire only a call can carry it, which these answers have.
        assert_eq!(
            body.contains(signed[place]),
            place == chosen,
            "{surface:?} {chosen} {way:?} at {place}: {body}"
        );
        assert!(!body.contains("asking ada"), "what was narrated is taken out: {body}");
    }
    house.close().await;
}

macro_rules! surfaces {
    ($($name:ident $surface:ident)*) => {
        $(#[tokio::test]
        async fn $name() {
            for chosen in 0..WIRES.len() {
                for way in Way::BOTH {
                    goes_back(Wire::$surface, chosen, way).await;
                }
            }
        })*
    };
}

surfaces! {
    reasoning_goes_back_from_messages Anthropic
    reasoning_goes_back_from_responses Responses
    reasoning_goes_back_from_gemini Gemini
    reasoning_goes_back_from_chat Chat
}
