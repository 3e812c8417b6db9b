//! Each surface on each wire: the client and the twin behind the gateway both believe that they
//! talk to their own kind.

use junto_gateway::{CallEnd, Via};
use junto_llm::{Effort, Finish, Message, Part, Request, Response, Role, StreamEvent, ToolResult, Wire};
use junto_twin::{Call, Play, Step, Think};
use serde_json::{Value, json};

use crate::support::{Stand, Way, asked, clock, events, model, translated, weather};

macro_rules! on_each {
    ($($row:ident)*) => {
        on_each!(@pair messages_on_anthropic Anthropic Anthropic $($row)*);
        on_each!(@pair messages_on_openai Anthropic Responses $($row)*);
        on_each!(@pair messages_on_gemini Anthropic Gemini $($row)*);
        on_each!(@pair messages_on_chat Anthropic Chat $($row)*);
        on_each!(@pair responses_on_anthropic Responses Anthropic $($row)*);
        on_each!(@pair responses_on_openai Responses Responses $($row)*);
        on_each!(@pair responses_on_gemini Responses Gemini $($row)*);
        on_each!(@pair responses_on_chat Responses Chat $($row)*);
        on_each!(@pair gemini_on_anthropic Gemini Anthropic $($row)*);
        on_each!(@pair gemini_on_openai Gemini Responses $($row)*);
        on_each!(@pair gemini_on_gemini Gemini Gemini $($row)*);
        on_each!(@pair gemini_on_chat Gemini Chat $($row)*);
        on_each!(@pair chat_on_anthropic Chat Anthropic $($row)*);
        on_each!(@pair chat_on_openai Chat Responses $($row)*);
        on_each!(@pair chat_on_gemini Chat Gemini $($row)*);
        on_each!(@pair chat_on_chat Chat Chat $($row)*);
    };
    (@pair $module:ident $surface:ident $wire:ident $($row:ident)*) => {
        mod $module {
            $(#[tokio::test]
            async fn $row() {
                super::$row(junto_llm::Wire::$surface, junto_llm::Wire::$wire).await;
            })*
        }
    };
}

on_each! {
    text
    text_comes_in_pieces
    thinking
    a_tool_round_with_two_calls
    a_picture
    an_object
    usage_is_reported
    what_the_provider_says_about_its_limits
}

async fn text(surface: Wire, wire: Wire) {
    for way in Way::BOTH {
        let s = translated(wire, Play::text("Hello, wörld.")).await;
        let request = Request::prompt("hi").model(asked(surface));
        let answer = way.ask(&s.house.client(surface), request).await.unwrap();
        assert_eq!(answer.text(), "Hello, wörld.");
        assert_eq!(answer.finish_reason.unified, Finish::Stop);
        assert_eq!(answer.model, asked(surface), "the client is told of the model it asked for");
        assert!(!answer.id.is_empty());
        let seen = s.twin.requests();
        assert_eq!((seen.len(), seen[0].wire), (1, wire));
        assert!(seen[0].body.to_string().contains("hi"));
        s.house.close().await;
    }
}

async fn text_comes_in_pieces(surface: Wire, wire: Wire) {
    let s = translated(wire, Play::text("One two three, four fünf six seven.")).await;
    let request = Request::prompt("hi").model(asked(surface));
    let stream = s.house.client(surface).stream(request, &junto_llm::CallCx::new()).await.unwrap();
    let (events, error) = events(stream).await;
    assert!(error.is_none(), "{error:?}");
    let pieces: Vec<&str> = events
        .iter()
        .filter_map(|e| if let StreamEvent::TextDelta { text, .. } = e { Some(text.as_str()) } else { None })
        .collect();
    assert!(pieces.len() > 1, "{pieces:?}");
    assert_eq!(pieces.concat(), "One two three, four fünf six seven.");
}

fn thoughtful(request: Request, surface: Wire) -> Request {
    Request { reasoning_effort: Some(Effort::High), ..request }.model(asked(surface))
}

async fn thinking(surface: Wire, wire: Wire) {
    for way in Way::BOTH {
        let step = Step { think: Think::Text("Two and two.".into()), ..Step::text("Four.") };
        let s = translated(wire, Play::of([step])).await;
        let request = thoughtful(Request::prompt("2 + 2?"), surface);
        let answer = way.ask(&s.house.client(surface), request).await.unwrap();
        assert_eq!(
            (answer.reasoning().as_str(), answer.text().as_str()),
            ("Two and two.", "Four."),
            "{way:?}"
        );
    }
}

/// The client sends everything back as it got it, and the twin is strict about what it gets.
async fn a_tool_round_with_two_calls(surface: Wire, wire: Wire) {
    // Chat's clients have nowhere to keep a signature, and the twin misses what it signed.
    let keeps_reasoning = surface != Wire::Chat;
    for way in Way::BOTH {
        let calls = [
            Call::new("get_weather", json!({"city": "Ghent"})),
            Call::new("get_time", json!({"zone": "CET"})),
        ];
        let think = Think::Text("I need the weather and the time.".into());
        let s = translated(
            wire,
            Play::of([
                Step { think, ..Step::calls(calls) },
                Step::text("It says: {{last_result}}"),
                Step::text("Gladly."),
            ]),
        )
        .await;
        let client = s.house.client(surface);
        let mut messages = vec![Message::system("Be brief."), Message::user("Weather and time?")];
        let mut answers: Vec<Response> = Vec::new();
        for _ in 0..3 {
            let request = Request::of(messages.clone()).model(asked(surface));
            let request = if keeps_reasoning { thoughtful(request, surface) } else { request };
            let request = request.tools([weather(), clock()]);
            let answer = way.ask(&client, request).await.unwrap_or_else(|e| panic!("{way:?}: {e}"));
            messages.push(answer.message.clone());
            let results =
                answer.tool_calls().map(|call| ToolResult::text(&call.id, format!("fine, {}", call.name)));
            let results: Vec<ToolResult> = results.collect();
            messages.push(if results.is_empty() {
                Message::user("Thanks.")
            } else {
                Message::tool_results(results)
            });
            answers.push(answer);
        }
        assert_eq!(answers[0].finish_reason.unified, Finish::ToolCalls);
        let called: Vec<(&str, &Value)> =
            answers[0].tool_calls().map(|call| (call.name.as_str(), &call.arguments)).collect();
        assert_eq!(
            called,
            [("get_weather", &json!({"city": "Ghent"})), ("get_time", &json!({"zone": "CET"}))]
        );
        assert!(answers[1].text().contains("fine, get_time"), "{}", answers[1].text());
        assert_eq!(answers[2].text(), "Gladly.");
        if keeps_reasoning && matches!(wire, Wire::Anthropic | Wire::Responses) {
            the_reasoning_came_back(&s);
        }
    }
}

/// The twin got its own signature back, byte for byte, whatever wire the client speaks: in the second
/// request and still in the third.
fn the_reasoning_came_back(s: &Stand) {
    let requests = s.twin.requests();
    let signed = |body: &Value| -> Vec<String> {
        let items = body["input"].as_array().into_iter().flatten().map(|item| &item["encrypted_content"]);
        let messages = body["messages"].as_array().into_iter().flatten();
        let blocks =
            messages.filter_map(|m| m["content"].as_array()).flatten().map(|block| &block["signature"]);
        items.chain(blocks).filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let second = signed(&requests[1].body);
    assert_eq!(second.len(), 1, "{}", requests[1].body);
    assert_eq!(signed(&requests[2].body)[0], second[0]);
}

async fn a_picture(surface: Wire, wire: Wire) {
    let png = [&b"\x89PNG\r\n\x1a\n"[..], &[0, 0, 0, 13], b"IHDR", &[0; 16]].concat();
    let media = junto_llm::Media { media_type: Some("image/png".into()), ..junto_llm::Media::bytes(png) };
    let data = media.base64().unwrap();
    let s = translated(wire, Play::text("a dot")).await;
    let parts = vec![Part::text("What is this?"), Part::image(media)];
    let request = Request::of([Message::new(Role::User, parts)]).model(asked(surface));
    let answer = Way::Whole.ask(&s.house.client(surface), request).await.unwrap();
    assert_eq!(answer.text(), "a dot");
    assert!(s.twin.requests()[0].body.to_string().contains(&data));
}

async fn an_object(surface: Wire, wire: Wire) {
    let s = translated(wire, Play::of([Step::object(json!({"name": "Ada", "age": 36}))])).await;
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["name", "age"],
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    });
    let format = junto_llm::ResponseFormat::JsonSchema { name: "person".into(), schema, strict: true };
    let request = Request { response_format: Some(format), ..Request::prompt("Who?") }.model(asked(surface));
    let answer = Way::Whole.ask(&s.house.client(surface), request).await.unwrap();
    let object: Value = serde_json::from_str(&answer.text()).unwrap();
    assert_eq!(object, json!({"name": "Ada", "age": 36}));
}

async fn usage_is_reported(surface: Wire, wire: Wire) {
    for way in Way::BOTH {
        let s = translated(wire, Play::text("Hello.")).await;
        let request = Request::prompt("hi").model(asked(surface));
        let answer = way.ask(&s.house.client(surface), request).await.unwrap();
        s.house.close().await;
        let reports = s.reports.all();
        assert_eq!(reports.len(), 1);
        let (report, charged) = (&reports[0], s.twin.usage_total());
        assert_eq!((report.usage.input, report.usage.output), (charged.input, charged.output));
        assert_eq!((answer.usage.input, answer.usage.output), (charged.input, charged.output));
        assert_eq!((report.provider.as_deref(), report.model.as_str()), (Some("upstream"), model(wire)));
        assert!(
            matches!(report.end, CallEnd::Complete) && report.via == Some(Via::Translation),
            "{report:?}"
        );
    }
}

/// In the headers of the client's own wire, if both wires have such.
async fn what_the_provider_says_about_its_limits(surface: Wire, wire: Wire) {
    for way in Way::BOTH {
        let s = translated(wire, Play::text("Hello.")).await;
        let request = Request::prompt("hi").model(asked(surface));
        let told = way.ask(&s.house.client(surface), request).await.unwrap().rate_limit;
        if surface == Wire::Gemini || wire == Wire::Gemini {
            assert_eq!(told, None, "{way:?}");
            continue;
        }
        let told = told.unwrap_or_else(|| panic!("{way:?}: no word of limits"));
        assert_eq!(told.requests_limit.unwrap() - told.requests_remaining.unwrap(), 1, "{way:?}: {told:?}");
        let used = told.tokens_limit.unwrap() - told.tokens_remaining.unwrap();
        assert_eq!(used, s.twin.usage_total().total, "{way:?}: {told:?}");
    }
}
