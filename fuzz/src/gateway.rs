//! What must hold for any body that a client sends to the gateway.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt as _, Full};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use junto_gateway::{Gateway, Target};
use junto_llm::names::NameMap;
use junto_llm::wire::{EncodeCx, Mode};
use junto_llm::{
    CallCx, Error, EventStream, Finish, FinishReason, Fut, Message, Origin, Part, Provider, Request,
    Response, Role, SegmentId, StreamEvent, Usage, Wire,
};
use serde_json::Value;

/// Where a client of each wire asks. Gemini's have the model in the path.
pub const SURFACES: [(&str, Wire); 4] = [
    ("/v1/messages", Wire::Anthropic),
    ("/v1/responses", Wire::Responses),
    ("/v1/chat/completions", Wire::Chat),
    ("/v1beta/models/m:streamGenerateContent?alt=sse", Wire::Gemini),
];

/// Where tokens are counted.
pub const COUNTS: [&str; 2] = ["/v1/messages/count_tokens", "/v1beta/models/m:countTokens"];

/// However large, and on however busy a machine.
const SOON: Duration = Duration::from_secs(1);

/// A body is answered, or refused as a mistake of the client's in the form of an error; and soon. Returns the status.
pub fn body(path: &str, body: &[u8]) -> u16 {
    let start = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let (status, answer) = runtime.expect("a runtime").block_on(ask(path, body));
    assert!(start.elapsed() < SOON, "{path}: an answer after {:?}", start.elapsed());
    let is_object = serde_json::from_slice::<Value>(body).is_ok_and(|value| value.is_object());
    match status {
        200 => assert!(is_object, "{path}: an answer to what is no request"),
        400..=499 => {
            let told: Value = serde_json::from_slice(&answer).expect("a refusal is JSON");
            let message = told["error"]["message"].as_str();
            assert!(message.is_some_and(|message| !message.is_empty()), "{path}: {told}");
        }
        _ => panic!("{path}: {status} {}", String::from_utf8_lossy(&answer)),
    }
    status
}

async fn ask(path: &str, body: &[u8]) -> (u16, Bytes) {
    let gateway = Gateway::builder().route("*", Target::new("yes", Arc::new(Yes))).build();
    let router = gateway.expect("a gateway").router();
    let request = http::Request::post(path)
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::copy_from_slice(body)))
        .expect("a request");
    let response = TowerToHyperService::new(router).call(request).await.expect("the router answers");
    let status = response.status().as_u16();
    let answer = response.into_body().collect().await.expect("the answer has an end");
    (status, answer.to_bytes())
}

/// A provider that says yes to whatever can be said on every wire.
struct Yes;

impl Yes {
    fn read(request: &Request) -> Result<(), Error> {
        for wire in Wire::ALL {
            let origin = Origin { wire, provider: "yes".into(), model: "m".into() };
            let names = NameMap::for_request(request, wire);
            wire.codec().encode_request(
                request,
                &EncodeCx {
                    origin: &origin,
                    mode: Mode::Stream,
                    session: None,
                    model: None,
                    names: &names,
                    auto_cache: true,
                },
            )?;
        }
        Ok(())
    }
}

impl Provider for Yes {
    fn complete<'a>(&'a self, request: Request, _: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move {
            Self::read(&request)?;
            Ok(Response {
                message: Message::new(Role::Assistant, vec![Part::text("yes")]),
                finish_reason: FinishReason::new(Finish::Stop),
                usage: Usage::new(1, 1),
                ..Response::empty("yes", "m")
            })
        })
    }

    fn stream<'a>(&'a self, request: Request, _: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            Self::read(&request)?;
            let id = SegmentId(0);
            let events = [
                StreamEvent::TextStart { id },
                StreamEvent::TextDelta { id, text: "yes".into() },
                StreamEvent::TextEnd { id, raw: None },
                StreamEvent::Finish {
                    reason: FinishReason::new(Finish::Stop),
                    usage: Usage::new(1, 1),
                    response: None,
                },
            ];
            Ok(EventStream::new(stream::iter(events.map(Ok))))
        })
    }
}
