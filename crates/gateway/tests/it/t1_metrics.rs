//! What the gateway tells of itself.

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use junto_gateway::{Gateway, Target};
use junto_llm::{Usd, Wire};
use serde_json::json;

use crate::scripted::{Cue, answer, shared, start};
use crate::support::{Raw, addressed, ask, hello, post, raw};

async fn get(gateway: &Gateway, path: &str) -> Raw {
    raw(ask(gateway, Request::get(path).body(Body::empty()).unwrap()).await).await
}

async fn say(gateway: &Gateway, wire: Wire, stream: bool) -> http::Response<Body> {
    let (path, body) = addressed(wire, hello(wire, stream).to_string().into());
    ask(gateway, post(&path, body)).await
}

#[track_caller]
fn holds(metrics: &Raw, lines: &[&str]) {
    let text = metrics.text();
    for line in lines {
        assert!(text.lines().any(|found| found == *line), "{line} is not in\n{text}");
    }
}

#[tokio::test]
async fn calls_are_counted_by_surface_route_and_status() {
    let gateway = Gateway::builder()
        .route("gpt-5.5", Target::new("other", shared(answer([], "yes"))).model("renamed"))
        .route("*", Target::new("some", shared(answer([], "yes"))))
        .prices(|report| (report.provider.as_deref() == Some("some")).then_some(Usd::from_dollars(0.25)))
        .build()
        .unwrap();
    for wire in Wire::ALL {
        for stream in [false, true] {
            say(&gateway, wire, stream).await.into_body().collect().await.unwrap();
        }
    }
    assert_eq!(ask(&gateway, post("/v1/messages", "{")).await.status(), 400);
    assert_eq!(get(&gateway, "/nothing").await.status, 404);
    let metrics = get(&gateway, "/metrics").await;
    assert_eq!(metrics.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    holds(
        &metrics,
        &[
            r#"junto_gateway_requests_total{surface="messages",route="some",status="200",end="complete"} 2"#,
            r#"junto_gateway_requests_total{surface="responses",route="other",status="200",end="complete"} 2"#,
            r#"junto_gateway_requests_total{surface="chat_completions",route="some",status="200",end="complete"} 2"#,
            r#"junto_gateway_requests_total{surface="generate_content",route="some",status="200",end="complete"} 2"#,
            r#"junto_gateway_requests_total{surface="messages",route="none",status="400",end="failed"} 1"#,
            r#"junto_gateway_requests_total{surface="none",route="none",status="404",end="failed"} 1"#,
            r#"junto_gateway_tokens_total{route="some",kind="input"} 30"#,
            r#"junto_gateway_tokens_total{route="some",kind="output"} 12"#,
            r#"junto_gateway_cost_usd_total{route="some"} 1.5"#,
            r#"junto_gateway_unpriced_calls_total{route="some"} 0"#,
            r#"junto_gateway_unpriced_calls_total{route="other"} 2"#,
            r#"junto_gateway_first_byte_seconds_count{surface="responses"} 2"#,
            r#"junto_gateway_duration_seconds_bucket{surface="messages",le="+Inf"} 3"#,
            "junto_gateway_running 0",
            "junto_gateway_waiting 0",
        ],
    );
    assert!(!metrics.text().contains("renamed"), "models that clients may choose are no labels");
}

#[tokio::test(start_paused = true)]
async fn what_runs_is_seen_while_it_runs() {
    let provider = shared([start(), Cue::Hang]);
    let gateway = Gateway::builder().route("*", Target::new("s", provider.clone())).build().unwrap();
    let running = [say(&gateway, Wire::Anthropic, true).await, say(&gateway, Wire::Chat, true).await];
    holds(&get(&gateway, "/metrics").await, &["junto_gateway_running 2"]);
    assert_eq!(get(&gateway, "/status.json").await.json()["running"], 2);
    drop(running);
    let gone =
        r#"junto_gateway_requests_total{surface="messages",route="s",status="200",end="broken_off"} 1"#;
    holds(&get(&gateway, "/metrics").await, &["junto_gateway_running 0", gone]);
}

#[tokio::test]
async fn the_page_tells_what_goes_on_and_nothing_in_it_is_markup() {
    let provider = shared(answer([], "yes"));
    let target = || Target::new("<b>council</b>", provider.clone()).counts_turns();
    let gateway = Gateway::builder()
        .route("<script>alert(1)</script>", target())
        .route("*", target())
        .prices(|_| Some(Usd::from_dollars(0.25)))
        .build()
        .unwrap();
    let mut body = hello(Wire::Anthropic, false);
    body["model"] = json!("<img src=x onerror=alert(1)>");
    let mut request = post("/v1/messages", body.to_string());
    request.headers_mut().insert("x-claude-code-session-id", "<i>s-1</i>".parse().unwrap());
    assert_eq!(ask(&gateway, request).await.status(), 200);

    let page = get(&gateway, "/status").await;
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    assert!(page.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
    assert_eq!(page.headers["referrer-policy"], "no-referrer");
    assert_eq!(page.headers["cache-control"], "no-store");
    let text = page.text();
    assert!(text.contains(r#"<meta http-equiv="refresh""#));
    for told in
        ["&lt;script&gt;alert(1)", "&lt;img src=x", "&lt;i&gt;s-1&lt;/i&gt;", "&lt;b&gt;council", "$0.25"]
    {
        assert!(text.contains(told), "{told} is not in {text}");
    }
    for markup in ["<script", "<img", "<i>", "<b>", "src=\"", "href="] {
        assert!(!text.contains(markup), "{markup} is in {text}");
    }

    let status = get(&gateway, "/status.json").await;
    assert_eq!(status.headers["content-type"], "application/json");
    let status = status.json();
    assert_eq!(status["routes"][1], json!({"pattern": "*", "target": "<b>council</b>", "model": null}));
    let session = json!({
        "id": "<i>s-1</i>", "known_by": "id", "turns": 1, "tokens": 7,
        "cost": {"basis": "estimated", "nano_usd": 250_000_000},
    });
    assert_eq!((&status["session_count"], &status["sessions"][0]), (&json!(1), &session));
    assert_eq!(status["targets"][0]["input_tokens"], 5);
    assert_eq!(
        (&status["calls"][0]["status"], &status["calls"][0]["end"]),
        (&json!(200), &json!("complete"))
    );
}

#[tokio::test]
async fn it_is_told_only_to_those_with_the_key() {
    let target = Target::new("s", shared(answer([], "yes")));
    let gateway = Gateway::builder().route("*", target).client_key("s3cret").build().unwrap();
    for path in ["/metrics", "/status", "/status.json"] {
        assert_eq!(get(&gateway, path).await.status, 401);
        assert_eq!(get(&gateway, &format!("{path}?key=s3cret")).await.status, 200);
    }
}
