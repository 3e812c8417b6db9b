//! 9.2: what each profile has of its own, and what can be added to it.

use std::sync::Arc;

use junto_agent::profile::{Family, Profile};
use junto_agent::tool;
use junto_core::{EndReason, Tool, ToolCx};
use junto_twin::Step;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::model::{FAMILIES, last, on_each_profile, requests, stand, stand_with, with_children};

const CHILDREN: [&str; 4] = ["spawn_agent", "send_input", "wait", "close_agent"];

/// A session of this profile declares these tools, those for children, and not these others.
async fn declares(family: Family, tools: &[&str], not: &[&str]) {
    let mut stand = stand_with(family, [Step::text("Here.")], with_children).await;
    stand.scene.ask("Hello").await;
    let declared = last(&stand).tools;
    for tool in tools.iter().chain(&CHILDREN) {
        assert!(declared.iter().any(|name| name == tool), "{family:?}: {tool} in {declared:?}");
    }
    for tool in not {
        assert!(!declared.iter().any(|name| name == tool), "{family:?}: {tool} in {declared:?}");
    }
    stand.end(&[]).await;
}

/// The parameters of a profile's tool.
fn parameters(family: Family, name: &str) -> Value {
    Profile::of(family).tools.get(name).unwrap().spec().parameters().unwrap()["properties"].clone()
}

#[tokio::test]
async fn dod_openai_has_patches() {
    let tools = ["read_file", "apply_patch", "write_file", "shell", "grep", "glob"];
    declares(Family::OpenAi, &tools, &["edit_file"]).await;
    assert!(parameters(Family::OpenAi, "apply_patch")["patch"].is_object());
    let patch = "*** Begin Patch\n*** Add File: a\n+1\n*** End Patch\n";
    let steps = [Step::call("apply_patch", json!({ "patch": patch })), Step::text("Patched.")];
    let mut stand = stand(Family::OpenAi, steps).await;
    assert_eq!(stand.scene.ask("Patch").await.1, "Patched.");
    assert_eq!(stand.scene.read("a"), "1\n");
    stand.end(&[]).await;
}

#[tokio::test]
async fn dod_anthropic_has_replacements() {
    let tools = ["read_file", "write_file", "edit_file", "shell", "grep", "glob"];
    declares(Family::Anthropic, &tools, &["apply_patch"]).await;
    let edit = parameters(Family::Anthropic, "edit_file");
    assert!(
        ["file_path", "old_string", "new_string", "replace_all"].iter().all(|name| edit[name].is_object())
    );
}

#[tokio::test]
async fn dod_gemini_has_its_tools() {
    let tools =
        ["read_file", "read_many_files", "write_file", "edit_file", "shell", "grep", "glob", "list_dir"];
    declares(Family::Gemini, &tools, &["apply_patch"]).await;
}

#[tokio::test]
async fn dod_each_profile_has_a_prompt_of_its_own() {
    let mut prompts = Vec::new();
    for family in FAMILIES {
        let mut stand = stand(family, [Step::text("Here.")]).await;
        stand.scene.ask("Hello").await;
        let system = last(&stand).system;
        let Profile { base, .. } = Profile::of(family);
        assert!(system.starts_with(base.trim()), "{family:?}: {system}");
        let editor = if family == Family::OpenAi { "apply_patch" } else { "edit_file" };
        for topic in ["You are", "read_file", "shell", editor] {
            assert!(base.contains(topic), "{family:?} says nothing about {topic}");
        }
        prompts.push(base);
        stand.end(&[]).await;
    }
    prompts.sort();
    prompts.dedup();
    assert_eq!(prompts.len(), FAMILIES.len());
}

#[derive(Deserialize, JsonSchema)]
struct Named {
    name: String,
}

fn greets(tool_name: &str) -> Arc<dyn Tool> {
    Arc::new(tool(
        tool_name,
        "Greets.",
        |args: Named, _: ToolCx| async move { format!("Hello, {}!", args.name) },
    ))
}

#[tokio::test]
async fn dod_tools_can_be_added() {
    on_each_profile(async |family| {
        let steps = [Step::call("greet", json!({"name": "Ada"})), Step::text("{{last_result}}")];
        let mut stand = stand_with(family, steps, |mut config| {
            config.tools.register(greets("greet"));
            config
        })
        .await;
        assert_eq!(stand.scene.ask("Greet").await, (EndReason::Done, "Hello, Ada!".into()), "{family:?}");
        let declared = last(&stand).tools;
        let own = Profile::of(family).tools;
        assert!(own.names().all(|name| declared.iter().any(|tool| tool == name)), "the profile's are kept");
        stand.end(&[]).await;
    })
    .await;
}

#[tokio::test]
async fn dod_ones_own_tool_wins() {
    on_each_profile(async |family| {
        let steps = [Step::call("shell", json!({"name": "Ada"})), Step::text("{{last_result}}")];
        let mut stand = stand_with(family, steps, |mut config| {
            config.tools.register(greets("shell"));
            config
        })
        .await;
        assert_eq!(stand.scene.ask("Greet").await, (EndReason::Done, "Hello, Ada!".into()), "{family:?}");
        for said in requests(&stand) {
            assert_eq!(said.tools.iter().filter(|name| *name == "shell").count(), 1);
        }
        stand.end(&[]).await;
    })
    .await;
}
