//! Servers that do what they should: their tools are there, named, judged, and give what servers give.

use std::sync::Arc;
use std::time::Duration;

use junto_core::ToolOutput;
use junto_mcp::Standing;
use serde_json::json;

use crate::bench::{Bench, Denies, HANG, faulty, launch, named};

#[tokio::test]
async fn nothing_starts_before_it_is_wanted_and_nobody_waits_for_it() {
    let count = tempfile::NamedTempFile::new().unwrap();
    let mode = format!("count={}", count.path().display());
    let bench = Bench::new(vec![faulty(&[&mode, "slow=0.3"])]);
    assert_eq!(bench.hub.statuses()[0].standing, Standing::Asleep);
    // What a session asks before its first request: the search is there, and the server has been started.
    assert_eq!(bench.declared(), ["tool_search"]);
    assert_ne!(bench.hub.statuses()[0].standing, Standing::Up);
    assert!(bench.offer().declared[0].spec().description.contains("faulty (still starting)"));
    let before = bench.source.version();
    tokio::time::timeout(HANG, bench.hub.ready()).await.unwrap();
    assert_ne!(bench.source.version(), before);
    let declared = bench.declared();
    assert!(declared.contains(&"faulty__echo".to_owned()) && !declared.contains(&"tool_search".to_owned()));
    assert_eq!(std::fs::read_to_string(count.path()).unwrap(), "started\n");
    bench.close().await;
}

#[tokio::test]
async fn the_search_waits_for_a_server_that_is_slow() {
    let bench = Bench::new(vec![faulty(&["slow=0.3"])]);
    let said = bench.text("tool_search", json!({"query": "echo"})).await;
    assert!(said.contains("faulty__echo"), "{said}");
    assert_eq!(bench.text("faulty__echo", json!({"text": "hi"})).await, "echo says: hi");
    bench.close().await;
}

#[tokio::test]
async fn what_servers_give_is_passed_on() {
    let bench = Bench::ready(vec![faulty(&["noisy"])]).await;
    assert_eq!(bench.text("faulty__data", json!({})).await, r#"{"answer":42}"#);
    let picture = bench.call("faulty__picture", json!({})).await;
    assert_eq!((picture.output, picture.images.len()), (ToolOutput::from("[picture 1]"), 1));
    assert_eq!(picture.images[0].mime(), "image/png");
    assert_eq!(bench.text("faulty__progress", json!({})).await, "progress says: ");
    let shown = bench.shown.lock().unwrap().clone();
    assert!(shown.contains("1 of 2 part 1\n") && shown.contains("2 of 2 part 2\n"), "{shown}");
    bench.close().await;
}

#[tokio::test]
async fn a_server_gets_its_own_variables_and_no_keys() {
    let mut server = faulty(&[]);
    launch(&mut server).variables.insert("MINE".to_owned(), "yes".to_owned());
    let bench = Bench::ready(vec![server]).await;
    let names = bench.text("faulty__variables", json!({})).await;
    assert!(names.split(' ').any(|name| name == "MINE") && names.contains("PATH"), "{names}");
    assert!(!names.contains("API_KEY"), "{names}");
    bench.close().await;
}

#[tokio::test]
async fn only_what_was_chosen_is_there_and_only_what_is_allowed_runs() {
    let mut server = faulty(&[]);
    server.tools.allow = vec!["e*".to_owned(), "data".to_owned()];
    server.tools.deny = vec!["data".to_owned()];
    let bench = Bench::judged(vec![server, named("second", &[])], Arc::new(Denies("second__echo")));
    tokio::time::timeout(HANG, bench.hub.ready()).await.unwrap();
    let of_first = bench.declared().into_iter().filter(|name| name.starts_with("faulty__"));
    assert_eq!(of_first.collect::<Vec<_>>(), ["faulty__echo"]);
    let said = bench.fails("second__echo", json!({})).await;
    assert!(said.contains("not this one"), "{said}");
    bench.close().await;
}

#[tokio::test]
async fn a_server_that_wants_a_sandbox_is_not_started_without() {
    let mut server = faulty(&[]);
    server.sandboxed = true;
    let bench = Bench::ready(vec![server]).await;
    assert!(matches!(&bench.hub.statuses()[0].standing, Standing::Failed(why) if why.contains("sandbox")));
    assert_eq!(bench.declared(), Vec::<String>::new());
    bench.close().await;
}

#[tokio::test]
async fn one_that_is_too_slow_fails_alone() {
    let mut mute = named("mute", &["mute"]);
    mute.start_within = Duration::from_millis(300);
    let bench = Bench::ready(vec![mute, faulty(&[])]).await;
    let statuses = bench.hub.statuses();
    assert!(
        matches!(&statuses[0].standing, Standing::Failed(why) if why.contains("within 300ms")),
        "{statuses:?}"
    );
    assert_eq!(statuses[1].standing, Standing::Up);
    assert_eq!(bench.text("faulty__echo", json!({"text": "a"})).await, "echo says: a");
    bench.close().await;
}
