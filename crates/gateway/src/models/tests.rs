use std::sync::Arc;

use junto_llm::{CallCx, Error, EventStream, Fut, Provider, Request, Response};

use super::*;
use crate::route::Target;

struct Nobody;

impl Provider for Nobody {
    fn complete<'a>(&'a self, _: Request, _: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async { Err(Error::configuration("nobody")) })
    }

    fn stream<'a>(&'a self, _: Request, _: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async { Err(Error::configuration("nobody")) })
    }
}

fn target(name: &str, ids: &[&str]) -> Target {
    Target::new(name, Arc::new(Nobody)).lists(ids.iter().map(|id| ModelEntry::new(*id)))
}

fn routes(rows: Vec<(&str, Target)>) -> Routes {
    let mut routes = Routes::default();
    for (pattern, target) in rows {
        routes.push(pattern.into(), target);
    }
    routes
}

fn ids(list: &Value) -> Vec<&str> {
    let list = list.get("data").or_else(|| list.get("models")).unwrap().as_array().unwrap();
    list.iter().filter_map(|model| model.get("id").or_else(|| model.get("name"))?.as_str()).collect()
}

/// What is listed can be asked for by that name, and is answered by whoever lists it.
#[test]
fn the_list_says_what_the_routes_do() {
    let routes = routes(vec![
        ("council", target("council", &[])),
        ("gpt-5", target("pinned", &[]).model("gpt-5.5")),
        ("claude-*", target("anthropic", &["claude-a", "gpt-9"])),
        ("*", target("openai", &["gpt-5", "gpt-5.5", "claude-b", "gpt-5.5"])),
    ]);
    let models = Models::of(&routes);
    let list = models.list(Wire::Chat, "").unwrap();
    assert_eq!(ids(&list), ["council", "gpt-5", "claude-a", "gpt-5.5"]);
    for model in list["data"].as_array().unwrap() {
        let target = routes.target(model["id"].as_str().unwrap()).unwrap();
        assert_eq!(model["owned_by"], target.name.as_str());
    }
}

#[test]
fn names_that_clients_of_messages_would_not_see_have_an_alias_that_works() {
    let routes = routes(vec![
        ("council", target("council", &[])),
        ("claude-*", target("anthropic", &["claude-a"])),
        ("Anthropic/x", target("anthropic", &[])),
    ]);
    let models = Models::of(&routes);
    let list = models.list(Wire::Anthropic, "limit=1000").unwrap();
    assert_eq!(ids(&list), ["council", "claude-junto-council", "claude-a", "Anthropic/x"]);
    assert_eq!(ids(&models.list(Wire::Gemini, "").unwrap())[0], "models/council");
    let aliased = models.one(Wire::Anthropic, "claude-junto-council", &routes).unwrap();
    assert_eq!(
        (&aliased["id"], &aliased["display_name"]),
        (&json!("claude-junto-council"), &json!("council"))
    );
    let target = routes.target("claude-junto-council").unwrap();
    assert_eq!((target.name.as_str(), target.model.as_deref()), ("council", Some("council")));
}

#[test]
fn what_has_a_route_exists() {
    let routes = routes(vec![("gpt-*", target("openai", &[]))]);
    let models = Models::of(&routes);
    assert!(ids(&models.list(Wire::Responses, "").unwrap()).is_empty());
    assert_eq!(models.one(Wire::Responses, "gpt-6", &routes).unwrap()["owned_by"], "openai");
    assert!(models.one(Wire::Responses, "other", &routes).is_err());
}

#[test]
fn each_vendors_words() {
    let entry = ModelEntry {
        context_window: Some(1000),
        max_output: Some(100),
        released: Some("2026-01-01".into()),
        ..ModelEntry::new("m").name("The M")
    };
    let known = Listed { entry, owner: "p".into() };
    let unknown = Listed { entry: ModelEntry::new("m"), owner: "p".into() };
    assert_eq!(
        print(Wire::Anthropic, &known),
        json!({
            "type": "model", "id": "m", "display_name": "The M", "created_at": "2026-01-01T00:00:00Z",
            "lifecycle": "active", "max_input_tokens": 1000, "max_tokens": 100,
        })
    );
    assert_eq!(print(Wire::Anthropic, &unknown)["created_at"], "1970-01-01T00:00:00Z");
    assert_eq!(
        print(Wire::Chat, &known),
        json!({"id": "m", "object": "model", "created": 1_767_225_600, "owned_by": "p"})
    );
    let gemini = print(Wire::Gemini, &known);
    assert_eq!((&gemini["name"], &gemini["inputTokenLimit"]), (&json!("models/m"), &json!(1000)));
    assert!(print(Wire::Gemini, &unknown).get("inputTokenLimit").is_none());
}
