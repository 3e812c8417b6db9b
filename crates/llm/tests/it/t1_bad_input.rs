//! Bad input is a typed error that names the thing, and nothing is sent.

use junto_llm::generate::{Generate, generate};
use junto_llm::http::{Endpoint, HttpProvider};
use junto_llm::{
    CallCx, Client, Content, Error, ErrorKind, Media, Message, Part, Request, Role, ToolChoice, ToolSpec,
    Wire,
};
use junto_twin::Play;
use serde_json::json;

use crate::support::{KEY, client, model, stand, weather};

fn check(error: &Error, kind: ErrorKind, names: &str) {
    assert_eq!(error.kind(), kind, "{error:?}");
    assert!(error.to_string().contains(names), "{error} does not name {names}");
}

#[tokio::test]
async fn an_unreadable_image_is_named_on_every_wire() {
    for wire in Wire::ALL {
        let s = stand(wire, Play::default()).await;
        let part = Part::image(Media::path("no/such/picture.png"));
        let request = Request::of([Message::new(Role::User, vec![part])]).model(model(wire));
        let error = s.client.complete(request, &CallCx::new()).await.unwrap_err();
        check(&error, ErrorKind::Configuration, "no/such/picture.png");
        assert!(error.hint().is_some() && s.twin.requests().is_empty());
    }
}

#[test]
fn our_own_constructor_refuses_odd_names_and_schemas() {
    check(
        &ToolSpec::new("read-file", "", json!({"type": "object"})).unwrap_err(),
        ErrorKind::Configuration,
        "read-file",
    );
    check(&ToolSpec::new("f", "", json!({"type": "array"})).unwrap_err(), ErrorKind::Configuration, "`f`");
}

#[tokio::test]
async fn both_prompt_and_messages() {
    let s = stand(Wire::Chat, Play::default()).await;
    let both = Generate::messages([Message::user("a")]).with_prompt("b").client(&s.client);
    check(&generate(both).await.unwrap_err(), ErrorKind::Configuration, "both");
    assert!(s.twin.requests().is_empty());
}

#[tokio::test]
async fn no_provider_and_unknown_providers() {
    let empty = Client::builder().build().unwrap();
    let error = empty.complete(Request::prompt("x"), &CallCx::new()).await.unwrap_err();
    check(&error, ErrorKind::Configuration, "no provider");
    let s = stand(Wire::Chat, Play::default()).await;
    let error = s.client.stream(s.ask("x").provider("ghost"), &CallCx::new()).await.unwrap_err();
    check(&error, ErrorKind::Configuration, "`ghost`");
    assert!(error.hint().unwrap().contains("twin"));
    let error = s.client.complete(Request::prompt("x"), &CallCx::new()).await.unwrap_err();
    check(&error, ErrorKind::Configuration, "no model");
    let choice = Request { tool_choice: Some(ToolChoice::Named("ghost".into())), ..s.ask("x") };
    check(&s.client.complete(choice, &CallCx::new()).await.unwrap_err(), ErrorKind::Configuration, "`ghost`");
    assert!(s.twin.requests().is_empty());
}

#[tokio::test]
async fn addresses_that_cannot_be_and_hosts_that_are_not_there() {
    for url in ["not a url", "ftp://host", "/relative"] {
        let error = HttpProvider::new(Endpoint::new("p", Wire::Chat, url)).err().expect("no provider");
        check(&error, ErrorKind::Configuration, url);
    }
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let away = client(Endpoint::new("away", Wire::Chat, format!("http://127.0.0.1:{port}/v1")).key(KEY));
    let error = away.complete(Request::prompt("x").model("m"), &CallCx::new()).await.unwrap_err();
    check(&error, ErrorKind::Network, "away");
    assert!(error.is_retryable() && error.hint().is_some());
}

#[tokio::test]
async fn what_the_provider_refuses_comes_back_with_its_words() {
    for wire in Wire::ALL {
        let s = stand(wire, Play::default()).await;
        let missing = s.client.complete(s.ask("x").model("no-such-model"), &CallCx::new()).await.unwrap_err();
        check(&missing, ErrorKind::NotFound, "twin");
        let long = Request::prompt("word ".repeat(3000)).model(format!("{}-tiny", model(wire)));
        let error = s.client.complete(long, &CallCx::new()).await.unwrap_err();
        check(&error, ErrorKind::ContextLength, "twin");
        assert!(error.body().is_some() && !error.is_retryable());
    }
}

#[tokio::test]
async fn odd_conversations_are_mended_not_refused() {
    use junto_llm::{ToolCall, ToolResult};
    for wire in Wire::ALL {
        let s = stand(wire, Play::text("fine")).await;
        let foreign =
            |id: &str, name: &str, raw: &str| Part::new(Content::ToolCall(ToolCall::function(id, name, raw)));
        let long_id = "id with spaces/and:colons ".repeat(8);
        let messages = vec![
            Message::system("One."),
            Message::developer("Two."),
            Message::user("a"),
            Message::user(""),
            Message::user("b"),
            Message::new(
                Role::Assistant,
                vec![
                    Part::text(""),
                    foreign(&long_id, "mcp.server/tool name", "{\"a\":1}"),
                    foreign("c2", "get_weather", "{broken"),
                ],
            ),
            Message::tool_results([ToolResult::text(&long_id, ""), ToolResult::error("c2", "bad arguments")]),
            Message::system("Three, in the middle."),
            Message::assistant("I see. "),
            Message::user("go on"),
        ];
        let odd = ToolSpec::foreign("mcp.server/tool name", "Odd", json!({"type": "object"}));
        let request = Request::of(messages).model(model(wire)).tools([weather(), odd]);
        let response =
            s.client.complete(request, &CallCx::new()).await.unwrap_or_else(|e| panic!("{wire:?}: {e}"));
        assert_eq!(response.text(), "fine");
    }
}

#[tokio::test]
async fn foreign_tool_names_come_back_as_they_were() {
    use junto_twin::{Call, Step, ToolRef};
    for wire in Wire::ALL {
        let call = Call { tool: ToolRef::Index(1), ..Call::new("*", json!({})) };
        let s = stand(wire, Play::of([Step::calls([call])])).await;
        let odd = ToolSpec::foreign("mcp.server/tool name", "Odd", json!({"type": "object"}));
        let request = s.ask("go").tools([weather(), odd]);
        let whole = s.client.complete(request.clone(), &CallCx::new()).await.unwrap();
        let streamed = s.client.stream(request, &CallCx::new()).await.unwrap().into_response().await.unwrap();
        for response in [whole, streamed] {
            assert_eq!(response.tool_calls().next().unwrap().name, "mcp.server/tool name", "{wire:?}");
        }
    }
}

/// A custom tool is one on every wire, also where it has to travel as a function.
#[tokio::test]
async fn custom_tools_get_their_text() {
    use junto_llm::{Message, ToolCallKind, ToolKind, ToolResult};
    use junto_twin::{Call, Step};
    let patch = "*** Begin Patch\n\"quoted\" and \\ more\n*** End Patch";
    for wire in Wire::ALL {
        let call = Call { input: Some(patch.into()), ..Call::bare("apply") };
        let s =
            stand(wire, Play::of([Step::calls([call.clone()]), Step::calls([call]), Step::text("applied")]))
                .await;
        let tool = ToolSpec {
            name: "apply".into(),
            description: "Applies a patch".into(),
            kind: ToolKind::Custom { format: None },
        };
        let request = s.ask("go").tools([tool]);
        let whole = s.client.complete(request.clone(), &CallCx::new()).await.unwrap();
        let streamed =
            s.client.stream(request.clone(), &CallCx::new()).await.unwrap().into_response().await.unwrap();
        for response in [&whole, &streamed] {
            let call = response.tool_calls().next().unwrap();
            assert_eq!((call.kind, call.raw_arguments.as_str()), (ToolCallKind::Custom, patch), "{wire:?}");
        }
        let result =
            Message::tool_results([ToolResult::text(&streamed.tool_calls().next().unwrap().id, "ok")]);
        let messages = vec![request.messages[0].clone(), streamed.message.clone(), result];
        let last = s.client.complete(Request { messages: messages.into(), ..request }, &CallCx::new()).await;
        assert_eq!(last.unwrap_or_else(|e| panic!("{wire:?}: {e}")).text(), "applied");
    }
}
