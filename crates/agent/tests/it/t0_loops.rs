//! A model that goes in circles, and one whose window gets full.

use std::sync::Arc;

use junto_agent::SessionConfig;
use junto_core::{Body, EndReason};
use junto_llm::Message;
use junto_llm::catalog::{Catalog, ModelInfo};
use serde_json::json;

use crate::scene::{Record, Scene};
use crate::script::{Line, Script, script};

const WARNING: &str =
    "Loop detected: the last 4 tool calls follow a repeating pattern. Try a different approach.";

fn run(command: &str) -> Line {
    Line::Calls(vec![("shell", json!({"command": command}))])
}

/// Plays commands and then an answer, with a window of four.
async fn play(
    commands: &[&str],
    change: impl FnOnce(SessionConfig) -> SessionConfig,
) -> (Record, Arc<Script>, EndReason) {
    let lines = commands.iter().map(|command| run(command)).chain([Line::Text("Done.")]);
    let model = script(lines);
    let window = |config| change(SessionConfig { loop_detection_window: 4, ..config });
    let mut scene = Scene::with(Arc::clone(&model) as _, window).await;
    let (reason, _) = scene.ask("Go").await;
    (scene.end().await, model, reason)
}

fn detected(record: &Record) -> Vec<String> {
    let message = |body: &Body| match body {
        Body::LoopDetection { message, .. } => Some(message.clone()),
        _ => None,
    };
    record.events.iter().filter_map(|e| message(&e.body)).collect()
}

#[tokio::test]
async fn the_model_is_told_once() {
    let (record, model, reason) = play(&["echo x"; 10], |config| config).await;
    assert_eq!(reason, EndReason::Done);
    assert_eq!(detected(&record), [WARNING]);
    assert_eq!(record.count("steering_injected"), 0, "nobody else spoke");
    let requests = model.requests.lock().unwrap();
    let told =
        |n: usize| requests[n].messages.iter().map(Message::text).filter(|text| text == WARNING).count();
    assert_eq!((told(3), told(4), told(10)), (0, 1, 1));
    let last = requests[4].messages.last().unwrap();
    assert_eq!((last.role, last.text().as_str()), (junto_llm::Role::User, WARNING));
}

#[tokio::test]
async fn a_second_time_ends_the_input_where_that_is_wanted() {
    let stop = |config| SessionConfig { stop_on_loop: true, ..config };
    let (record, model, reason) = play(&["echo x"; 12], stop).await;
    assert_eq!(reason, EndReason::Limit);
    let detected = detected(&record);
    assert_eq!((detected.len(), detected[0].as_str()), (2, WARNING));
    assert_eq!(model.requests.lock().unwrap().len(), 8);
}

#[tokio::test]
async fn results_that_change_are_progress() {
    let (record, ..) = play(&["echo x >> log; wc -c < log"; 6], |config| config).await;
    assert_eq!(detected(&record), [""; 0]);
    let (record, ..) = play(&["echo a", "echo b", "echo c", "echo d", "echo e"], |config| config).await;
    assert_eq!(detected(&record), [""; 0]);
}

#[tokio::test]
async fn times_and_temporary_names_are_none() {
    let (record, ..) = play(&["date +%T.%N; mktemp -u /tmp/XXXXXXXX; echo took ${RANDOM}ms"; 4], |c| c).await;
    assert_eq!(detected(&record), [WARNING]);
}

#[tokio::test]
async fn it_can_be_left_out() {
    let off = |config| SessionConfig { enable_loop_detection: false, ..config };
    let (record, ..) = play(&["echo x"; 8], off).await;
    assert_eq!(detected(&record), [""; 0]);
}

#[tokio::test]
async fn the_default_is_ten() {
    let lines = (0..10).map(|_| run("echo x")).chain([Line::Text("Done.")]);
    let mut scene = Scene::start(script(lines)).await;
    scene.ask("Go").await;
    let record = scene.end().await;
    assert_eq!(detected(&record).len(), 1);
    assert!(detected(&record)[0].contains("the last 10 tool calls"));
}

/// The messages of the warnings about the context window.
fn usage(record: &Record) -> Vec<String> {
    let message = |body: &Body| match body {
        Body::Warning { code, message } if code == "context_usage" => Some(message.clone()),
        _ => None,
    };
    record.events.iter().filter_map(|e| message(&e.body)).collect()
}

fn percent(percent: u32) -> String {
    format!("Context usage at ~{percent}% of context window")
}

#[tokio::test]
async fn a_window_that_gets_full_is_told_of_once() {
    // The script's provider counts eleven tokens for each call.
    let check = async |window, inputs: &[&str], expected: &[String]| {
        let model = script(inputs.iter().map(|_| Line::Text("Yes.")));
        let config = |config| SessionConfig { context_window: window, ..config };
        let mut scene = Scene::with(model, config).await;
        for input in inputs {
            scene.ask(input).await;
        }
        assert_eq!(usage(&scene.end().await), expected, "{window:?}");
    };
    let long = "x".repeat(400);
    check(None, &[&long], &[]).await;
    check(Some(1_000_000), &[&long], &[]).await;
    // Guessed before the call: 415 characters.
    check(Some(120), &[&long, "And?"], &[percent(86)]).await;
    // Counted by the provider afterwards, which is less; then over the line again.
    check(Some(110), &[&long, &long], &[percent(94), percent(101)]).await;
    check(Some(13), &["Hi"], &[percent(85)]).await;
    check(Some(0), &[&long], &[]).await;
}

#[tokio::test]
async fn the_window_is_the_models() {
    let small =
        ModelInfo { id: "m".into(), provider: "script".into(), context_window: 12, ..ModelInfo::default() };
    let catalog = Catalog::empty().overlay(vec![small]);
    let mut scene = Scene::with(script([Line::Text("Yes.")]), |c| SessionConfig { catalog, ..c }).await;
    scene.ask("Hi").await;
    assert_eq!(usage(&scene.end().await), [percent(92)]);
}
