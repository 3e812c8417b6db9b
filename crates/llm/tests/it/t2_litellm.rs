//! The litellm proxy: a widely used server that is not ours, on three wires.

use futures_util::StreamExt;
use junto_llm::generate::{Generate, Tool, generate, stream};
use junto_llm::http::Endpoint;
use junto_llm::retry::Policy;
use junto_llm::{CallCx, Client, ErrorKind, Request, StreamEvent, Wire};
use serde_json::json;

use crate::support::{client, peer};

const WIRES: [Wire; 3] = [Wire::Chat, Wire::Responses, Wire::Anthropic];
const SENTENCE: &str = "The mock answers in one plain sentence.";

fn litellm(wire: Wire, key: &str) -> Client {
    let url = peer("JUNTO_PEER_LITELLM");
    let base = if wire == Wire::Anthropic { url } else { format!("{url}/v1") };
    client(Endpoint::new("litellm", wire, base).key(key))
}

fn proxy(wire: Wire) -> Client {
    litellm(wire, &peer("JUNTO_PEER_LITELLM_KEY"))
}

#[tokio::test]
async fn answers_whole_and_streamed() {
    for wire in WIRES {
        let ask = || Request::prompt("Say something.").model("text").max_tokens(100);
        let whole =
            proxy(wire).complete(ask(), &CallCx::new()).await.unwrap_or_else(|e| panic!("{wire:?}: {e}"));
        assert_eq!(whole.text(), SENTENCE, "{wire:?}");
        assert!(whole.usage.input > 0 && whole.usage.output > 0, "{wire:?}: {:?}", whole.usage);
        let events: Vec<_> = proxy(wire).stream(ask(), &CallCx::new()).await.unwrap().collect().await;
        let Some(Ok(StreamEvent::Finish { response: Some(streamed), .. })) = events.last() else {
            panic!("{wire:?}: {:?}", events.last())
        };
        assert_eq!(streamed.text(), SENTENCE, "{wire:?}");
    }
}

#[tokio::test]
async fn parallel_tools_round_trip() {
    for wire in WIRES {
        let weather = || {
            let schema =
                json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
            Tool::new("weather", "The weather in a city", schema).unwrap().handler(|input| async move {
                Ok::<_, String>(format!("sun over {}", input.arguments["city"].as_str().unwrap_or("?")))
            })
        };
        let ask = || {
            Generate::request(Request::prompt("Weather?").model("tools").max_tokens(100))
                .client(&proxy(wire))
                .tool(weather())
                .retry(Policy::NONE)
        };
        let whole = generate(ask()).await.unwrap_or_else(|e| panic!("{wire:?}: {e}"));
        assert_eq!(whole.steps[0].response.tool_calls().count(), 2, "{wire:?}");
        for text in [whole.text(), streamed(ask()).await] {
            assert!(text.contains("sun over Paris") && text.contains("sun over Oslo"), "{wire:?}: {text}");
        }
    }
}

async fn streamed(options: Generate) -> String {
    let events: Vec<_> = stream(options).await.unwrap().collect().await;
    match events.into_iter().last() {
        Some(Ok(StreamEvent::Finish { response: Some(response), .. })) => response.text(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn its_refusals_are_understood() {
    for wire in WIRES {
        let ask = |model: &str| Request::prompt("hi").model(model).max_tokens(10);
        let limited = proxy(wire).complete(ask("limited"), &CallCx::new()).await.unwrap_err();
        assert_eq!(limited.kind(), ErrorKind::RateLimit, "{wire:?}: {limited:?}");
        let wrong = litellm(wire, "sk-wrong").complete(ask("text"), &CallCx::new()).await.unwrap_err();
        assert!(!wrong.is_retryable() || wrong.kind() == ErrorKind::Unknown, "{wire:?}: {wrong:?}");
        assert!(matches!(wrong.status(), Some(400..=403)), "{wire:?}: {wrong:?}");
        let unknown = proxy(wire).complete(ask("nobody"), &CallCx::new()).await.unwrap_err();
        assert!(matches!(unknown.status(), Some(400 | 404)), "{wire:?}: {unknown:?}");
    }
}
