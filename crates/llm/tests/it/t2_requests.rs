//! Every kind of request our client sends, checked against the types the vendors publish in their
//! own SDKs: so that client and twin cannot share one misunderstanding.

use junto_llm::generate::{Generate, Tool, generate, stream};
use junto_llm::{
    CallCx, Content, Effort, ForeignThinking, Media, Message, Part, Request, ResponseFormat, Role, ToolCall,
    ToolChoice, ToolKind, ToolResult, ToolSpec, Wire,
};
use junto_twin::{Call, Options, Play, Step, Twin};
use serde_json::json;

use crate::support::{PNG, client, clock, endpoint, model, python, session, weather};

#[tokio::test]
async fn the_validator_can_fail() {
    let told = python("validate_requests.py", &["--self-test"]).await;
    assert!(told.trim_end().ends_with("ok"), "{told}");
}

#[tokio::test]
async fn every_request_fits_the_vendors_types() {
    let folder = tempfile::tempdir().unwrap();
    let mut sent = 0;
    for wire in Wire::ALL {
        let recording = |name: &str| folder.path().join(format!("{}-{name}", wire.name()));
        let options = Options { record: Some(recording("variety")), ..Options::default() };
        let twin = Twin::start(Play::default(), options).unwrap();
        let one_after_another = client(endpoint(&twin, wire));
        for request in variety(wire) {
            let whole = one_after_another.complete(request.clone(), &session()).await;
            whole.unwrap_or_else(|e| panic!("{wire:?}: {e}\n{request:#?}"));
            one_after_another.stream(request, &CallCx::new()).await.unwrap().into_response().await.unwrap();
        }
        sent += validated(&twin, &recording("variety")).await;
        // A loop with reasoning and parallel calls: what came off the wire goes back onto it.
        let both = || {
            Step::calls([
                Call::new("get_weather", json!({"city": "Rome"})),
                Call::new("get_time", json!({"zone": "CET"})),
            ])
        };
        let options = Options { record: Some(recording("loop")), ..Options::default() };
        let twin = Twin::start(Play::of([both(), both(), Step::text("done")]), options).unwrap();
        let client = client(endpoint(&twin, wire));
        let options = || {
            let request =
                Request { reasoning_effort: Some(Effort::High), ..Request::prompt("go").model(model(wire)) };
            let tool = |spec: ToolSpec| Tool::from(spec).handler(|_| async { Ok::<_, String>("fine") });
            Generate::request(request)
                .client(&client)
                .tool(tool(weather()))
                .tool(tool(clock()))
                .max_tool_rounds(3)
                .context(session())
        };
        generate(options()).await.unwrap();
        futures_util::StreamExt::collect::<Vec<_>>(stream(options()).await.unwrap()).await;
        sent += validated(&twin, &recording("loop")).await;
    }
    assert!(sent > 60, "{sent} requests");
}

/// Validates a recording; gives the number of requests in it.
async fn validated(twin: &Twin, recording: &std::path::Path) -> usize {
    let told = python("validate_requests.py", &[recording.to_str().unwrap()]).await;
    assert!(told.trim_end().ends_with("ok"), "{told}");
    twin.requests().len()
}

/// One request for each thing a request can say.
fn variety(wire: Wire) -> Vec<Request> {
    let ask = || Request::prompt("Hello").model(model(wire));
    let call = |id: &str, raw: &str| Part::new(Content::ToolCall(ToolCall::function(id, "get_weather", raw)));
    let object = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false});
    let rich_schema = json!({
        "type": "object",
        "$defs": {"point": {"type": "object", "properties": {"x": {"type": ["number", "null"]}}}},
        "properties": {
            "at": {"$ref": "#/$defs/point"},
            "kind": {"oneOf": [{"const": "a"}, {"enum": ["b", "c"]}]},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
            "size": {"type": "integer", "minimum": 0, "exclusiveMaximum": 10}
        },
        "required": ["kind"]
    });
    let mut requests = vec![
        ask(),
        Request { temperature: Some(1.0), top_p: Some(0.9), max_tokens: Some(2048), ..ask() },
        Request { reasoning_effort: Some(Effort::Low), ..ask() },
        Request { reasoning_effort: Some(Effort::Medium), max_tokens: Some(4000), ..ask() },
        Request { tool_choice: Some(ToolChoice::Auto), parallel_tool_calls: Some(false), ..ask() }
            .tools([weather(), clock()]),
        Request { tool_choice: Some(ToolChoice::None), ..ask() }.tools([weather()]),
        Request { tool_choice: Some(ToolChoice::Required), ..ask() }.tools([weather()]),
        Request { tool_choice: Some(ToolChoice::Named("get_weather".into())), ..ask() }
            .tools([weather(), clock()]),
        ask().tools([ToolSpec::new("rich", "A rich schema", rich_schema).unwrap()]),
        ask().tools([ToolSpec {
            name: "patch".into(),
            description: "Free text".into(),
            kind: ToolKind::Custom { format: None },
        }]),
        Request {
            response_format: Some(ResponseFormat::JsonSchema {
                name: "n".into(),
                schema: object,
                strict: true,
            }),
            ..ask()
        },
        Request::of([
            Message::system("a"),
            Message::developer("b"),
            Message::user("c"),
            Message::assistant("d"),
            Message::system("e"),
            Message::user("f"),
        ])
        .model(model(wire)),
        Request::of([Message::new(
            Role::User,
            vec![
                Part::text("look"),
                Part::image(Media::bytes(PNG)),
                Part::image(Media::url("https://example.com/a.png")),
            ],
        )])
        .model(model(wire)),
        Request::of([
            Message::user("go"),
            Message::new(
                Role::Assistant,
                vec![Part::text("Well."), call("c1", "{\"city\":\"Rome\"}"), call("c2", "{")],
            ),
            Message::tool_results([
                ToolResult { images: vec![Media::bytes(PNG)], ..ToolResult::json("c1", json!({"t": 20})) },
                ToolResult::error("c2", "no JSON"),
            ]),
        ])
        .model(model(wire))
        .tools([weather()]),
        Request {
            foreign_thinking: ForeignThinking::AsText,
            ..Request::of([
                Message::user("go"),
                Message::new(
                    Role::Assistant,
                    vec![
                        Part::new(Content::Thinking(junto_llm::Thinking {
                            text: "hm".into(),
                            signature: None,
                        })),
                        Part::text("Well."),
                    ],
                ),
                Message::user("on"),
            ])
            .model(model(wire))
        },
    ];
    if wire != Wire::Responses {
        requests.push(Request { stop_sequences: vec!["END".into()], ..ask() });
    }
    if matches!(wire, Wire::Responses | Wire::Chat) {
        requests.push(Request {
            response_format: Some(ResponseFormat::JsonObject),
            ..Request::prompt("Answer in JSON").model(model(wire))
        });
    }
    requests
}
