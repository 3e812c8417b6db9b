//! The event format is public: its schema is checked in and changes only on purpose.

use std::path::Path;

use junto_core::event_schema;

#[test]
fn the_schema_is_the_one_that_is_checked_in() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/event.v1.json");
    let now = serde_json::to_string_pretty(&event_schema()).unwrap() + "\n";
    if std::env::var_os("JUNTO_BLESS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == now, "the events' schema has changed: run this test with JUNTO_BLESS=1 if that is meant");
}

#[test]
fn no_type_of_event_takes_a_field_that_every_event_has() {
    let schema = event_schema();
    let common = schema["properties"].as_object().unwrap();
    assert!(common.contains_key("agent") && common.contains_key("seq"));
    let types = schema["oneOf"].as_array().unwrap();
    assert!(types.len() > 10);
    for body in types {
        let own = body["properties"].as_object().unwrap();
        let name = &own["type"]["const"];
        let twice: Vec<_> = own.keys().filter(|field| common.contains_key(*field)).collect();
        assert!(twice.is_empty(), "{name} has {twice:?} of its own");
    }
}
