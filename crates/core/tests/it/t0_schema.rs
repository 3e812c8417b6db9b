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
