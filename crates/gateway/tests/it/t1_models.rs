//! The list of models, as each vendor's clients ask for it.

use axum::body::Body;
use junto_gateway::{Gateway, ModelEntry, Target};
use junto_llm::Wire;
use serde_json::{Value, json};

use crate::scripted::{answer, shared};
use crate::support::{Raw, Way, ask, hello, path, post, raw};

fn gateway() -> Gateway {
    let council = Target::new("council", shared(answer([], "we agree")));
    let claude = ModelEntry::new("claude-a").name("Claude A");
    let other = Target::new("other", shared(answer([], "yes")))
        .lists([claude, ModelEntry::new("org/gpt-5").name("GPT-5")]);
    Gateway::builder().route("council", council).route("*", other).build().unwrap()
}

async fn get(gateway: &Gateway, path: &str, header: Option<(&str, &str)>) -> Raw {
    let mut request = http::Request::get(path);
    if let Some((name, value)) = header {
        request = request.header(name, value);
    }
    raw(ask(gateway, request.body(Body::empty()).unwrap()).await).await
}

const ANTHROPIC: Option<(&str, &str)> = Some(("anthropic-version", "2023-06-01"));

fn ids(list: &Value) -> Vec<&str> {
    let list = list.get("data").or_else(|| list.get("models")).unwrap().as_array().unwrap();
    list.iter().filter_map(|model| model.get("id").or_else(|| model.get("name"))?.as_str()).collect()
}

#[tokio::test]
async fn each_client_gets_the_list_in_its_own_words() {
    let gateway = gateway();
    let check = async |path: &str, header: Option<(&str, &str)>, expected: &[&str]| {
        let raw = get(&gateway, path, header).await;
        assert_eq!(raw.status, 200, "{path}: {}", raw.text());
        assert_eq!(ids(&raw.json()), expected, "{path} {header:?}");
    };
    let plain = ["council", "claude-a", "org/gpt-5"];
    let gemini = ["models/council", "models/claude-a", "models/org/gpt-5"];
    let aliased = ["council", "claude-junto-council", "claude-a", "org/gpt-5", "claude-junto-org/gpt-5"];
    check("/v1/models", None, &plain).await;
    check("/v1/models", Some(("authorization", "Bearer x")), &plain).await;
    check("/v1/models?limit=1000", ANTHROPIC, &aliased).await;
    check("/v1/models", Some(("x-api-key", "x")), &aliased).await;
    check("/v1/models?limit=1&after_id=council", ANTHROPIC, &aliased[1..2]).await;
    check("/v1beta/models", None, &gemini).await;
    check("/v1beta/models?pageSize=2", ANTHROPIC, &gemini[..2]).await;
    check("/v1/models", Some(("x-goog-api-key", "x")), &gemini).await;
    assert_eq!(get(&gateway, "/v1/models?limit=none", ANTHROPIC).await.status, 400);
}

#[tokio::test]
async fn one_model_by_its_name() {
    let gateway = gateway();
    let check = async |path: &str, header: Option<(&str, &str)>, field: &str, expected: &str| {
        let raw = get(&gateway, path, header).await;
        assert_eq!((raw.status, &raw.json()[field]), (200, &json!(expected)), "{path}: {}", raw.text());
    };
    check("/v1/models/council", None, "owned_by", "council").await;
    check("/v1/models/org/gpt-5", ANTHROPIC, "display_name", "GPT-5").await;
    check("/v1/models/org%2Fgpt-5", ANTHROPIC, "display_name", "GPT-5").await;
    check("/v1/models/claude-junto-council", ANTHROPIC, "id", "claude-junto-council").await;
    check("/v1beta/models/claude-a", None, "displayName", "Claude A").await;
    check("/v1/models/ft:any:thing", None, "id", "ft:any:thing").await;
}

/// On every surface, and the answer names the model as the client did.
#[tokio::test]
async fn an_alias_is_answered_by_whom_it_stands_for() {
    for surface in Wire::ALL {
        let mut body = hello(surface, false);
        if surface == Wire::Gemini {
            body.as_object_mut().unwrap().remove("stream");
        } else {
            body["model"] = "claude-junto-council".into();
        }
        let path = path(surface, "claude-junto-council", Way::Whole);
        let raw = raw(ask(&gateway(), post(&path, body.to_string())).await).await;
        let said = raw.text();
        assert_eq!(raw.status, 200, "{said}");
        assert!(said.contains("we agree") && said.contains("claude-junto-council"), "{surface:?}: {said}");
    }
}

#[tokio::test]
async fn strangers_are_told_of_nothing() {
    let target = Target::new("s", shared([]));
    let gateway = Gateway::builder().route("m", target).client_key("s3cret").build().unwrap();
    for (path, header, kind) in [
        ("/v1/models", ANTHROPIC, "/type"),
        ("/v1/models/m", None, "/error/code"),
        ("/v1beta/models", None, "/error/status"),
    ] {
        let raw = get(&gateway, path, header).await;
        assert_eq!(raw.status, 401, "{path}");
        assert!(raw.json().pointer(kind).is_some(), "{path}: {}", raw.text());
    }
    assert_eq!(get(&gateway, "/v1/models", Some(("authorization", "Bearer s3cret"))).await.status, 200);
}

#[tokio::test]
async fn the_description_is_served() {
    let raw = get(&gateway(), "/openapi.json", None).await;
    assert_eq!((raw.status, &raw.json()["openapi"]), (200, &json!("3.1.0")));
}
