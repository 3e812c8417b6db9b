use std::collections::BTreeSet;

use junto::llm::catalog::{ModelInfo, Price, Reasoning, Surcharge};

use super::*;

fn at(path: &str) -> Place {
    place(&path.split('.').map(str::to_owned).collect::<Vec<_>>())
}

#[test]
fn paths_are_found() {
    assert!(matches!(at("model"), Place::Value(key) if key.path == "model"));
    assert!(matches!(at("providers.mine.wire"), Place::Value(key) if key.path == "providers.*.wire"));
    assert!(matches!(at("providers.mine.headers.x"), Place::Value(_)));
    assert!(matches!(at("providers.mine"), Place::Table));
    assert!(matches!(at("timeouts"), Place::Table));
    assert!(matches!(at("models"), Place::Models));
    assert!(matches!(at("policy.rule"), Place::Rules));
    for unknown in ["modle", "timeouts.conect", "model.x", "providers.mine.wire.x", ""] {
        assert!(matches!(at(unknown), Place::Unknown), "{unknown}");
    }
    assert_eq!(names_below(&["timeouts".to_owned()]), ["connect", "request", "idle", "run", "command"]);
    assert_eq!(names_below(&["aliases".to_owned()]), Vec::<&str>::new());
}

#[test]
fn defaults_fit_their_kinds() {
    for key in KEYS {
        if let Some(default) = key.default {
            assert!(key.kind.read_text(key.name(), default).is_ok(), "{}", key.path);
        }
    }
}

fn leaves(path: &str, value: &serde_json::Value, into: &mut BTreeSet<String>) {
    match value.as_object() {
        Some(fields) => {
            for (name, value) in fields {
                leaves(&format!("{path}.{name}"), value, into);
            }
        }
        None => drop(into.insert(path.to_owned())),
    }
}

/// The catalog's form lives in another crate: the table must know exactly its fields.
#[test]
fn model_keys_are_the_fields_of_the_catalog() {
    let model = ModelInfo {
        id: "m".into(),
        provider: "p".into(),
        name: "M".into(),
        context_window: 1,
        max_output: 1,
        knowledge_cutoff: Some("2026-01".into()),
        released: "2026-01-01".into(),
        flagship: true,
        tools: true,
        vision: true,
        reasoning: Reasoning::Effort,
        structured_output: true,
        price: Some(Price {
            input: 1.0,
            output: 1.0,
            cache_read: Some(1.0),
            cache_write: Some(1.0),
            long_prompt: Some(Surcharge { above: 1, input: 2.0, output: 2.0 }),
        }),
        aliases: vec!["a".into()],
    };
    let mut fields = BTreeSet::new();
    leaves("models.*", &serde_json::to_value(&model).unwrap(), &mut fields);
    let known: BTreeSet<String> =
        KEYS.iter().map(|k| k.path.to_owned()).filter(|p| p.starts_with("models.")).collect();
    assert_eq!(known, fields);
}
