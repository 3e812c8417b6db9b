//! 9.3: the way of a tool call.

use std::sync::Arc;

use junto_agent::SessionConfig;
use junto_agent::profile::{Family, Profile};
use junto_agent::tool;
use junto_core::{Body, EndReason, ToolCx};
use junto_llm::Wire;
use junto_twin::{Call, Step};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::model::{last, on_each_profile, read, requests, shell, stand, stand_with};
use crate::scene::Scene;
use crate::script::{Line, script};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[tokio::test]
async fn dod_calls_go_through_the_registry() {
    on_each_profile(async |family| {
        let steps = [Step::call("tick", json!({})), Step::text("{{last_result}}"), Step::text("Gone.")];
        let mut stand = stand(family, steps).await;
        let tick = tool("tick", "Ticks.", |_: Nothing, _: ToolCx| async { "tock" });
        assert!(stand.scene.session.register(Arc::new(tick)).unwrap().is_none());
        assert_eq!(stand.scene.ask("Tick").await, (EndReason::Done, "tock".into()), "{family:?}");
        assert!(stand.scene.session.unregister("tick").is_some());
        assert_eq!(stand.scene.ask("Again").await.1, "Gone.");
        let declared: Vec<bool> =
            requests(&stand).iter().map(|said| said.tools.iter().any(|name| name == "tick")).collect();
        assert_eq!(declared, [true, true, false]);
        stand.end(&[]).await;
    })
    .await;
}

/// A twin's model calls what it was told of only, so here one in memory is asked.
#[tokio::test]
async fn dod_an_unknown_tool_is_a_result() {
    let model = script([Line::Calls(vec![("fly", json!({}))]), Line::Text("On foot, then.")]);
    let profile = Some(Profile::openai());
    let mut scene = Scene::with(Arc::clone(&model) as _, |config| SessionConfig { profile, ..config }).await;
    assert_eq!(scene.ask("Fly").await, (EndReason::Done, "On foot, then.".into()));
    let [(name, told, failed)] = &scene.end().await.tool_ends()[..] else { panic!("one call") };
    assert!(*failed && name == "fly" && told.contains("`fly`"), "{told}");
    let requests = model.requests.lock().unwrap();
    assert!(format!("{:?}", requests[1].messages.last()).contains("`fly`"), "the model is told");
}

#[tokio::test]
async fn dod_arguments_are_parsed_and_validated() {
    on_each_profile(async |family| {
        let wrong = |args| Call::new("shell", args);
        let steps = [
            Step::calls([
                wrong(json!({"command": 7})),
                wrong(json!({})),
                wrong(json!({"command": "echo", "to": "x"})),
            ]),
            Step::text("I see."),
        ];
        let mut stand = stand(family, steps).await;
        assert_eq!(stand.scene.ask("Run").await, (EndReason::Done, "I see.".into()), "{family:?}");
        let told = last(&stand).results;
        for (result, names) in told.iter().zip(["command", "command", "to"]) {
            assert!(
                result.contains("`shell` cannot be called like this") && result.contains(names),
                "{result}"
            );
        }
        let record = stand.end(&[]).await;
        assert_eq!((record.count("tool_call_start"), record.count("tool_call_end")), (0, 3), "nothing ran");
    })
    .await;
    // Only here can a model write what is no JSON at all.
    let steps = [Step::calls([Call::raw("shell", "{\"command\": ")]), Step::text("I see.")];
    let mut stand = stand(Family::OpenAi, steps).await;
    assert_eq!(stand.scene.ask("Run").await, (EndReason::Done, "I see.".into()));
    assert!(last(&stand).results[0].contains("not a JSON object"), "{:?}", last(&stand).results);
    stand.end(&[]).await;
}

#[tokio::test]
async fn dod_a_failure_is_an_error_result() {
    on_each_profile(async |family| {
        let broken = tool("broken", "Fails.", |_: Nothing, _: ToolCx| async {
            Err::<String, Box<dyn std::error::Error + Send + Sync>>("no luck today".into())
        });
        let steps = [Step::calls([read("nowhere"), Call::new("broken", json!({}))]), Step::text("I see.")];
        let mut stand = stand_with(family, steps, |mut config| {
            config.tools.register(Arc::new(broken));
            config
        })
        .await;
        assert_eq!(stand.scene.ask("Try").await, (EndReason::Done, "I see.".into()), "{family:?}");
        let told = last(&stand).results;
        assert!(told[0].contains("nowhere") && told[1].contains("no luck today"), "{told:?}");
        let body = stand.twin.requests().pop().unwrap().body;
        match stand.wire {
            Wire::Anthropic => assert_eq!(body.to_string().matches("\"is_error\":true").count(), 2),
            Wire::Gemini => assert_eq!(body.to_string().matches("\"response\":{\"error\":").count(), 2),
            // This wire has no place for it.
            Wire::Responses | Wire::Chat => {}
        }
        assert!(stand.end(&[]).await.tool_ends().iter().all(|(_, _, failed)| *failed));
    })
    .await;
}

/// The starts and ends of the tool calls, in order.
async fn order(family: Family, parallel: bool, calls: Vec<Call>) -> Vec<&'static str> {
    let steps = [Step::calls([shell("mkfifo pipe")]), Step::calls(calls), Step::text("Done.")];
    let mut stand = stand_with(family, steps, |config| {
        let mut profile = Profile::of(family);
        profile.capabilities.parallel_tool_calls = parallel;
        SessionConfig { profile: Some(profile), ..config }
    })
    .await;
    assert_eq!(stand.scene.ask("Work").await, (EndReason::Done, "Done.".into()), "{family:?}");
    let record = stand.end(&[]).await;
    assert!(record.tool_ends().iter().all(|(_, _, failed)| !failed), "{:?}", record.tool_ends());
    let of_tools = record.events.iter().filter_map(|event| match event.body {
        Body::ToolCallStart { .. } => Some("start"),
        Body::ToolCallEnd { .. } => Some("end"),
        _ => None,
    });
    of_tools.skip(2).collect()
}

#[tokio::test]
async fn dod_calls_run_side_by_side_where_the_profile_says_so() {
    on_each_profile(async |family| {
        // Neither ends without the other.
        let calls = vec![shell("read word < pipe"), shell("echo hello > pipe")];
        assert_eq!(order(family, true, calls).await, ["start", "start", "end", "end"], "{family:?}");
    })
    .await;
    // The twin's model makes one call at a time if it is told to, and this wire cannot tell it.
    let calls = vec![shell("echo 1"), shell("echo 2")];
    assert_eq!(order(Family::Gemini, false, calls).await, ["start", "end", "start", "end"]);
}
