//! What makers say beside their texts and calls comes back to them from clients of every wire.

use std::sync::Arc;

use junto_gateway::{Gateway, Target};
use junto_llm::{
    Content, Finish, FinishReason, Message, Origin, Part, Request, Role, SegmentId, StreamEvent, ToolCall,
    ToolResult, Usage, Wire,
};
use serde_json::{Value, json};

use crate::scripted::{Cue, shared};
use crate::support::{House, Way, asked, clock, weather};

/// An answer of these parts, of this origin.
fn answer(origin: &Arc<Origin>, parts: &[Part]) -> Vec<Cue> {
    let mut events = vec![StreamEvent::StreamStart {
        id: "id-1".into(),
        model: origin.model.clone(),
        provider: origin.provider.clone(),
        origin: Some(Arc::clone(origin)),
        usage: None,
        warnings: Vec::new(),
        rate_limit: None,
    }];
    for (part, id) in parts.iter().zip(0..) {
        let (id, raw) = (SegmentId(id), part.raw_for(origin).cloned());
        match part.content().clone() {
            Content::Text(text) => events.extend([
                StreamEvent::TextStart { id },
                StreamEvent::TextDelta { id, text },
                StreamEvent::TextEnd { id, raw },
            ]),
            Content::ToolCall(call) => events.extend([
                StreamEvent::ToolCallStart {
                    id,
                    call_id: call.id.clone(),
                    name: call.name.clone(),
                    kind: call.kind,
                },
                StreamEvent::ToolCallDelta { id, arguments: call.raw_arguments.clone() },
                StreamEvent::ToolCallEnd { id, call, raw },
            ]),
            other => panic!("{other:?}"),
        }
    }
    let reason = FinishReason::new(Finish::ToolCalls);
    events.push(StreamEvent::Finish { reason, usage: Usage::new(5, 2), response: None });
    events.into_iter().map(|event| Cue::Event(Box::new(event))).collect()
}

/// What the maker of these parts gets back of them.
async fn come_back(surface: Wire, way: Way, origin: &Arc<Origin>, parts: &[Part]) -> Vec<Part> {
    let provider = shared(answer(origin, parts));
    let gateway = Gateway::builder().route("*", Target::new("s", provider.clone())).build().unwrap();
    let house = House::open(&gateway).await;
    let client = house.client(surface);
    let request =
        |messages: Vec<Message>| Request::of(messages).model(asked(surface)).tools([weather(), clock()]);
    let question = Message::user("What is the weather?");
    let first = way.ask(&client, request(vec![question.clone()])).await.unwrap();
    let results: Vec<ToolResult> = first.tool_calls().map(|call| ToolResult::text(&call.id, "sun")).collect();
    let messages = vec![question, first.message, Message::tool_results(results)];
    way.ask(&client, request(messages)).await.unwrap();
    house.close().await;
    let (back, _) = provider.asked().remove(1);
    back.messages.into_iter().filter(|m| m.role == Role::Assistant).flat_map(|m| m.content).collect()
}

fn made(origin: &Arc<Origin>, content: Content, raw: Option<Value>) -> Part {
    Part::received(content, Arc::clone(origin), raw)
}

fn call(id: &str) -> Content {
    Content::ToolCall(ToolCall::function(id, "get_weather", r#"{"city":"Ghent"}"#))
}

#[tokio::test]
async fn signatures_of_texts_and_the_ids_of_calls_side_by_side() {
    let origin = Arc::new(Origin { wire: Wire::Gemini, provider: "google".into(), model: "gemini".into() });
    let said = json!({"text": "Let me see.", "thoughtSignature": "dGV4dA=="});
    let args = json!({"city": "Ghent"});
    let signed = json!({
        "functionCall": {"id": "g1", "name": "get_weather", "args": args}, "thoughtSignature": "Y2FsbA==",
    });
    let parts = [
        made(&origin, Content::Text("Let me see.".into()), Some(said)),
        made(&origin, call("g1"), Some(signed)),
        made(&origin, call("g2"), None),
    ];
    // Gemini's own clients keep the ids of calls by themselves.
    for surface in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
        for way in Way::BOTH {
            assert_eq!(come_back(surface, way, &origin, &parts).await, parts, "{surface:?} {way:?}");
        }
    }
}

#[tokio::test]
async fn the_phase_of_a_text() {
    let origin = Arc::new(Origin { wire: Wire::Responses, provider: "openai".into(), model: "gpt".into() });
    let mut item = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "phase": "commentary",
        "content": [{"type": "output_text", "text": "Let me see.", "annotations": []}],
    });
    let said = |item: &Value| made(&origin, Content::Text("Let me see.".into()), Some(item.clone()));
    let parts = [said(&item), made(&origin, call("call_1"), None)];
    item.as_object_mut().unwrap().remove("id");
    for surface in Wire::ALL {
        for way in Way::BOTH {
            let back = come_back(surface, way, &origin, &parts).await;
            assert_eq!(back.len(), 2, "{surface:?} {way:?}: {back:#?}");
            assert_eq!(back[0], said(&item), "{surface:?} {way:?}");
        }
    }
}
