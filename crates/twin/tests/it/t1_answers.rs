//! The same play on every wire.

use junto_llm::Wire;
use serde_json::{Value, json};

use crate::client::{Talk, calls, events, http1, json_of, streamed_text, text, twin, with_key};

const HELLO: &str = "[[steps]]\ntext = 'Hello, {{last_user}} — as asked!'\nchunk = 5";

#[tokio::test]
async fn a_text_comes_whole_and_streamed() {
    for wire in Wire::ALL {
        let (twin, http) = (twin(HELLO), http1());
        let talk = Talk::new(wire, "Ada");
        let whole = json_of(talk.whole(&http, &twin).send().await.unwrap()).await;
        assert_eq!(text(wire, &whole), "Hello, Ada — as asked!", "{wire:?}");
        let response = talk.streamed(&http, &twin).send().await.unwrap();
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/event-stream"));
        let stream = events(&response.text().await.unwrap());
        assert_eq!(streamed_text(wire, &stream), "Hello, Ada — as asked!", "{wire:?}");
        assert!(stream.len() > 4, "{wire:?}: the text comes in pieces");
    }
}

#[tokio::test]
async fn without_a_play_the_twin_echoes() {
    let (twin, http) = (twin("[[steps]]"), http1());
    for wire in Wire::ALL {
        let whole = json_of(Talk::new(wire, "say this").whole(&http, &twin).send().await.unwrap()).await;
        assert_eq!(text(wire, &whole), "say this", "{wire:?}");
    }
}

#[tokio::test]
async fn calls_side_by_side_are_answered_and_the_play_goes_on() {
    let play = r#"
        [[steps]]
        when = { round = 0 }
        calls = [{ tool = "look", args = { place = "here" } }, { tool = "add", args = { n = 4 } }]
        [[steps]]
        when = { after = "four" }
        text = "round {{round}}: {{last_result}}"
    "#;
    for wire in Wire::ALL {
        let (twin, http) = (twin(play), http1());
        let talk = Talk::new(wire, "go").with_tools();
        let answer = json_of(talk.whole(&http, &twin).send().await.unwrap()).await;
        let made: Vec<(String, Value)> = calls(wire, &answer).into_iter().map(|c| (c.name, c.args)).collect();
        let expected = [("look".to_owned(), json!({"place": "here"})), ("add".to_owned(), json!({"n": 4}))];
        assert_eq!(made, expected, "{wire:?}");
        let next = talk.after(&answer, &["a room", "four"]);
        let done = json_of(next.whole(&http, &twin).send().await.unwrap()).await;
        let said = text(wire, &done);
        assert!(said.starts_with("round 1: ") && said.contains("four"), "{wire:?}: {said}");
    }
}

#[tokio::test]
async fn a_tool_that_is_not_declared_is_a_plain_mistake() {
    let (twin, http) = (twin("[[steps]]\ncalls = [{tool = 'fly'}]"), http1());
    for wire in Wire::ALL {
        let response = Talk::new(wire, "go").with_tools().whole(&http, &twin).send().await.unwrap();
        assert_eq!(response.status(), 500);
        let body = response.text().await.unwrap();
        assert!(body.contains("`fly`") && body.contains("`look`, `add`"), "{wire:?}: {body}");
    }
}

#[tokio::test]
async fn gemini_streams_an_array_unless_asked_for_events() {
    let (twin, http) = (twin(HELLO), http1());
    let body = Talk::new(Wire::Gemini, "Ada").body.to_string();
    for version in ["v1beta", "v1"] {
        let base = twin.base_url(Wire::Gemini);
        let url = format!("{base}/{version}/models/gemini-2.5-pro:streamGenerateContent");
        let request = with_key(http.post(url).body(body.clone()), Wire::Gemini, twin.key());
        let chunks: Vec<Value> =
            serde_json::from_value(json_of(request.send().await.unwrap()).await).unwrap();
        assert_eq!(streamed_text(Wire::Gemini, &chunks), "Hello, Ada — as asked!", "{version}");
    }
}

#[tokio::test]
async fn chat_reports_usage_in_a_stream_only_if_asked_to() {
    let (twin, http) = (twin(HELLO), http1());
    let mut talk = Talk::new(Wire::Chat, "Ada");
    let with = talk.streamed(&http, &twin).send().await.unwrap().text().await.unwrap();
    talk.body["stream"] = json!(true);
    let without = talk.whole(&http, &twin).send().await.unwrap().text().await.unwrap();
    let reports = |stream: &str| events(stream).iter().any(|event| event["usage"].is_object());
    assert_eq!((reports(&with), reports(&without)), (true, false));
}

#[tokio::test]
async fn a_schema_is_met() {
    let (twin, http) = (twin("[[steps]]"), http1());
    let schema = json!({
        "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
        "additionalProperties": false,
    });
    for wire in Wire::ALL {
        let mut talk = Talk::new(wire, "x");
        match wire {
            Wire::Anthropic => {
                talk.body["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}});
            }
            Wire::Responses => {
                let format = json!({"type": "json_schema", "name": "o", "schema": schema, "strict": true});
                talk.body["text"] = json!({ "format": format });
            }
            Wire::Chat => {
                let inner = json!({"name": "o", "schema": schema, "strict": true});
                talk.body["response_format"] = json!({"type": "json_schema", "json_schema": inner});
            }
            Wire::Gemini => {
                talk.body["generationConfig"] =
                    json!({"responseMimeType": "application/json", "responseJsonSchema": schema});
            }
        }
        let answer = json_of(talk.whole(&http, &twin).send().await.unwrap()).await;
        assert_eq!(text(wire, &answer), r#"{"n":0}"#, "{wire:?}");
    }
}

#[tokio::test]
async fn tokens_are_counted_and_models_are_listed() {
    let (twin, http) = (twin(HELLO), http1());
    let get = async |wire: Wire, path: &str| {
        let url = format!("{}{path}", twin.base_url(wire));
        json_of(with_key(http.get(url), wire, twin.key()).send().await.unwrap()).await
    };
    assert_eq!(get(Wire::Anthropic, "/v1/models").await["data"][0]["type"], "model");
    assert_eq!(get(Wire::Responses, "/models").await["object"], "list");
    assert_eq!(get(Wire::Responses, "/models/gpt-5.5").await["id"], "gpt-5.5");
    let gemini = get(Wire::Gemini, "/v1beta/models").await;
    assert!(gemini["models"][0]["name"].as_str().unwrap().starts_with("models/"));

    let mut counted = Talk::new(Wire::Anthropic, "some words to count").body;
    counted.as_object_mut().unwrap().remove("max_tokens");
    let url = format!("{}/v1/messages/count_tokens", twin.base_url(Wire::Anthropic));
    let request = with_key(http.post(url).body(counted.to_string()), Wire::Anthropic, twin.key());
    assert!(json_of(request.send().await.unwrap()).await["input_tokens"].as_u64().unwrap() > 0);
    let url = format!("{}/v1beta/models/gemini-2.5-pro:countTokens", twin.base_url(Wire::Gemini));
    let body = Talk::new(Wire::Gemini, "some words to count").body.to_string();
    let request = with_key(http.post(url).body(body), Wire::Gemini, twin.key());
    assert!(json_of(request.send().await.unwrap()).await["totalTokens"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn reasoning_is_there_unless_the_play_says_no() {
    for (play, expected) in [("[[steps]]", true), ("[[steps]]\nthink = false", false)] {
        let (twin, http) = (twin(play), http1());
        let responses =
            json_of(Talk::new(Wire::Responses, "x").whole(&http, &twin).send().await.unwrap()).await;
        let has_item = responses["output"].as_array().unwrap().iter().any(|i| i["type"] == "reasoning");
        assert_eq!(has_item, expected, "{responses}");
        let chat = json_of(Talk::new(Wire::Chat, "x").whole(&http, &twin).send().await.unwrap()).await;
        assert_eq!(chat["choices"][0]["message"]["reasoning_content"].is_string(), expected, "{chat}");
        let mut talk = Talk::new(Wire::Anthropic, "x");
        talk.body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
        let anthropic = json_of(talk.whole(&http, &twin).send().await.unwrap()).await;
        assert_eq!(anthropic["content"][0]["type"] == "thinking", expected, "{anthropic}");
    }
    let (twin, http) = (twin("[[steps]]"), http1());
    let off = json_of(Talk::new(Wire::Anthropic, "x").whole(&http, &twin).send().await.unwrap()).await;
    assert_eq!(off["content"][0]["type"], "text", "no thinking unless the request turns it on");
}
