//! Profiles, as strict twins of their providers see them.

use std::sync::Arc;
use std::time::Duration;

use junto_agent::profile::{Family, Profile};
use junto_agent::{SessionConfig, ToolRegistry, tool};
use junto_core::{Body, EndReason, Tool, ToolCx};
use junto_llm::{Effort, Wire};
use junto_twin::{Call, Options, Received, Step};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::scene::Scene;
use crate::script::{Line, script};
use crate::stand::{Stand, model};

const FAMILIES: [(Family, Wire); 4] = [
    (Family::OpenAi, Wire::Responses),
    (Family::Anthropic, Wire::Anthropic),
    (Family::Gemini, Wire::Gemini),
    (Family::Compatible, Wire::Chat),
];

/// A session with a profile and nothing else.
async fn stand(
    wire: Wire,
    profile: Profile,
    steps: impl Into<Vec<Step>>,
    change: impl FnOnce(SessionConfig) -> SessionConfig,
) -> Stand {
    Stand::with(wire, steps, Options::default(), |config| {
        let tools = ToolRegistry::default();
        change(SessionConfig { profile: Some(profile), system: String::new(), tools, ..config })
    })
    .await
}

/// The names of the tools that a request declares, in their order; the provider's own by their type.
fn declared(wire: Wire, body: &Value) -> Vec<String> {
    let functions = |tool: &Value| tool["functionDeclarations"].as_array().cloned().unwrap_or_default();
    let tools = body["tools"].as_array().unwrap();
    let named = |tool: &Value| tool["name"].as_str().or(tool["type"].as_str()).unwrap_or_default().to_owned();
    match wire {
        Wire::Gemini => tools.iter().flat_map(functions).map(|tool| named(&tool)).collect(),
        Wire::Chat => tools.iter().map(|tool| named(&tool["function"])).collect(),
        Wire::Anthropic | Wire::Responses => tools.iter().map(named).collect(),
    }
}

/// The system prompt of a request.
fn system(wire: Wire, body: &Value) -> String {
    match wire {
        Wire::Anthropic => body["system"][0]["text"].as_str(),
        Wire::Responses => body["instructions"].as_str(),
        Wire::Gemini => body["systemInstruction"]["parts"][0]["text"].as_str(),
        Wire::Chat => body["messages"][0]["content"].as_str(),
    }
    .unwrap_or_else(|| panic!("{wire:?}: no system prompt in {body}"))
    .to_owned()
}

/// Asks once, and gives the last request that the twin got.
async fn asked(
    wire: Wire,
    profile: Profile,
    change: impl FnOnce(SessionConfig) -> SessionConfig,
) -> Received {
    let mut stand = stand(wire, profile, [Step::text("Done.")], change).await;
    assert_eq!(stand.scene.ask("Work").await, (EndReason::Done, "Done.".into()), "{wire:?}");
    let request = stand.twin.requests().pop().unwrap();
    stand.end(&[]).await;
    request
}

/// The call with which a family changes `a.txt` from `one` to `two`.
fn edit(family: Family) -> Call {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch";
    match family {
        Family::OpenAi => Call::new("apply_patch", json!({ "patch": patch })),
        _ => {
            let arguments = json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"});
            Call::new("edit_file", arguments)
        }
    }
}

#[tokio::test]
async fn each_family_works_with_the_tools_it_is_used_to() {
    for (family, wire) in FAMILIES {
        let profile = Profile::of(family);
        let names: Vec<String> = profile.tools.names().map(str::to_owned).collect();
        let base = profile.base.clone();
        let steps = [
            Step::calls([Call::new("write_file", json!({"file_path": "a.txt", "content": "one\n"}))]),
            Step::calls([Call::new("read_file", json!({"file_path": "a.txt"})), edit(family)]),
            Step::calls([
                Call::new("shell", json!({"command": "cat a.txt"})),
                Call::new("grep", json!({"pattern": "two"})),
                Call::new("glob", json!({"pattern": "*.txt"})),
            ]),
            Step::text("Done."),
        ];
        let instructions = Some("Answer in Latin.".to_owned());
        let mut stand = stand(wire, profile, steps, |config| SessionConfig { instructions, ..config }).await;
        assert_eq!(stand.scene.ask("Work").await, (EndReason::Done, "Done.".into()), "{family:?}");
        assert_eq!(stand.scene.read("a.txt"), "two\n", "{family:?}");
        for request in stand.twin.requests() {
            assert_eq!(declared(wire, &request.body), names, "{family:?}");
            let system = system(wire, &request.body);
            assert!(system.starts_with(base.trim_end()), "{family:?}: {system}");
            assert!(system.trim_end().ends_with("Answer in Latin."), "{family:?}: {system}");
        }
        let record = stand.end(&[]).await;
        assert!(record.tool_ends().iter().all(|(_, _, failed)| !failed), "{:?}", record.tool_ends());
    }
}

#[tokio::test]
async fn options_reach_the_wire() {
    let same = |config| config;
    let request =
        asked(Wire::Anthropic, Profile::anthropic().with_betas(["context-1m-2025-08-07"]), same).await;
    let betas = "interleaved-thinking-2025-05-14,context-1m-2025-08-07";
    assert_eq!(request.header("anthropic-beta"), Some(betas));

    let profile = Profile::gemini().with_safety("HARM_CATEGORY_DANGEROUS_CONTENT", "BLOCK_NONE");
    let request = asked(Wire::Gemini, profile.with_web_search(), same).await;
    let settings = request.body["safetySettings"].as_array().unwrap();
    let dangerous = json!({"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "threshold": "BLOCK_NONE"});
    assert!(settings.len() == 4 && settings.contains(&dangerous), "{settings:?}");
    let tools = request.body["tools"].as_array().unwrap();
    assert!(tools.contains(&json!({"googleSearch": {}})), "{tools:?}");

    let profile = Profile::openai().with_effort(Effort::High).with_web_search();
    let profile = profile.with_option(Wire::Responses, "text", json!({"verbosity": "low"}));
    let request = asked(Wire::Responses, profile.clone(), same).await;
    assert_eq!(request.body["reasoning"]["effort"], "high");
    assert_eq!(request.body["text"]["verbosity"], "low");
    assert_eq!(declared(Wire::Responses, &request.body).last().unwrap(), "web_search");
    let low = |config| SessionConfig { effort: Some(Effort::Low), ..config };
    let request = asked(Wire::Responses, profile, low).await;
    assert_eq!(request.body["reasoning"]["effort"], "low", "the host's word counts more");

    // What is for one wire does not go to another.
    let request = asked(Wire::Responses, Profile::anthropic(), same).await;
    assert_eq!(request.header("anthropic-beta"), None);
}

#[tokio::test]
async fn the_model_of_a_profile_is_asked_unless_another_is_named() {
    let check = async |named: Option<&str>, expected: &str| {
        let profile = Profile::anthropic().with_model("claude-sonnet-5-5");
        let named = named.map(str::to_owned);
        let request =
            asked(Wire::Anthropic, profile, |config| SessionConfig { model: named, ..config }).await;
        assert_eq!(request.body["model"], expected);
    };
    check(None, "claude-sonnet-5-5").await;
    check(Some("claude-opus-5-5"), "claude-opus-5-5").await;
}

#[derive(Deserialize, JsonSchema)]
struct Filter {
    filter: Option<String>,
}

fn own(name: &str, says: &'static str) -> Arc<dyn Tool> {
    Arc::new(tool(name, "Mine.", move |args: Filter, _: ToolCx| async move {
        format!("{says} {}", args.filter.unwrap_or_default())
    }))
}

#[tokio::test]
async fn tools_of_ones_own_come_on_top_and_the_latest_of_a_name_wins() {
    for (family, wire) in FAMILIES {
        let mut profile = Profile::of(family);
        profile.tools.register(own("run_tests", "the profile's"));
        profile.tools.register(own("glob", "in place of glob"));
        let count = profile.tools.names().count();
        let steps = [
            Step::calls([
                Call::new("run_tests", json!({"filter": "fast"})),
                Call::new("glob", json!({})),
                Call::new("deploy", json!({})),
            ]),
            Step::text("Done."),
        ];
        let later = [own("run_tests", "the session's"), own("deploy", "away")];
        let mut stand = stand(wire, profile, steps, |mut config| {
            config.tools.extend(later);
            config
        })
        .await;
        assert_eq!(stand.scene.ask("Work").await.0, EndReason::Done, "{family:?}");
        let names = declared(wire, &stand.twin.requests()[0].body);
        assert_eq!(names.len(), count + 1, "{names:?}");
        let record = stand.end(&[]).await;
        let ends = record.tool_ends();
        let check = |name: &str, says: &str, failed: bool| {
            let end = ends.iter().find(|(tool, _, _)| tool == name).unwrap();
            assert!(end.1.starts_with(says) && end.2 == failed, "{family:?}: {end:?}");
        };
        check("run_tests", "the session's fast", false);
        check("glob", "in place of glob", false);
        check("deploy", "away", false);
    }
}

/// Of a model in memory: a twin makes no call of a tool that was not declared.
#[tokio::test]
async fn a_tool_that_no_profile_has_is_an_error_that_the_model_is_told() {
    for family in Family::ALL {
        let calls = vec![("fly", json!({})), ("shel", json!({"command": "ls"}))];
        let model = script([Line::Calls(calls), Line::Text("Done.")]);
        let profile = Some(Profile::of(family));
        let tools = ToolRegistry::default();
        let mut scene = Scene::with(model, |config| SessionConfig { profile, tools, ..config }).await;
        assert_eq!(scene.ask("Work").await, (EndReason::Done, "Done.".into()), "{family:?}");
        let ends = scene.end().await.tool_ends();
        let check = |name: &str, says: &str| {
            let end = ends.iter().find(|(tool, _, _)| tool == name).unwrap();
            assert!(end.2 && end.1.starts_with(says) && end.1.contains("read_file"), "{family:?}: {end:?}");
        };
        check("fly", "there is no tool named `fly`.");
        check("shel", "there is no tool named `shel`; did you mean `shell`?");
    }
}

#[tokio::test]
async fn a_model_that_can_make_one_call_at_a_time_is_held_to_it() {
    for (family, wire) in FAMILIES {
        let mut profile = Profile::of(family);
        profile.capabilities.parallel_tool_calls = false;
        let request = asked(wire, profile, |config| config).await;
        match wire {
            Wire::Anthropic => assert_eq!(request.body["tool_choice"]["disable_parallel_tool_use"], true),
            Wire::Responses | Wire::Chat => assert_eq!(request.body["parallel_tool_calls"], false),
            // It has no word for it, and the calls are run one after another all the same.
            Wire::Gemini => {}
        }
    }
}

#[tokio::test]
async fn calls_run_one_after_another_where_several_at_once_are_not_supported() {
    let mut profile = Profile::gemini();
    profile.capabilities.parallel_tool_calls = false;
    // Each finds what the one before it left, and none that still runs.
    let command =
        |n: u32| format!("test ! -e running && touch running && ls {n} && touch {} && rm running", n + 1);
    let calls: Vec<Call> = (0..4).map(|n| Call::new("shell", json!({"command": command(n)}))).collect();
    let steps = [Step::calls(calls), Step::text("Done.")];
    let mut stand = stand(Wire::Gemini, profile, steps, |config| config).await;
    stand.scene.write("0", "");
    assert_eq!(stand.scene.ask("Work").await.0, EndReason::Done);
    let record = stand.end(&[]).await;
    assert!(record.tool_ends().iter().all(|(_, _, failed)| !failed), "{:?}", record.tool_ends());
    let order: Vec<bool> = record
        .events
        .iter()
        .filter_map(|event| match event.body {
            Body::ToolCallStart { .. } => Some(true),
            Body::ToolCallEnd { .. } => Some(false),
            _ => None,
        })
        .collect();
    assert_eq!(order, [true, false].repeat(4));
}

#[tokio::test]
async fn a_model_that_does_not_stream_is_asked_for_whole_answers() {
    for (family, wire) in FAMILIES {
        let mut profile = Profile::of(family);
        profile.capabilities.streaming = false;
        let steps = [Step::call("shell", json!({"command": "echo here"})), Step::text("Done.")];
        let mut stand = stand(wire, profile, steps, |config| config).await;
        assert_eq!(stand.scene.ask("Work").await, (EndReason::Done, "Done.".into()), "{family:?}");
        for request in stand.twin.requests() {
            let streams = request.body["stream"] == true || request.path.contains("streamGenerateContent");
            assert!(!streams, "{family:?}: {} {}", request.path, request.body);
        }
        let record = stand.end(&[]).await;
        assert_eq!(record.count("assistant_text_end"), 1, "{family:?}");
    }
}

#[tokio::test]
async fn the_hosts_time_for_commands_counts_more_than_the_profiles() {
    let mut stand = stand(
        Wire::Anthropic,
        Profile::anthropic(),
        [
            Step::calls([
                Call::new("shell", json!({"command": "sleep 600"})),
                Call::new("shell", json!({"command": "sleep 600", "timeout_ms": 60})),
            ]),
            Step::text("Done."),
        ],
        |config| SessionConfig { shell_timeout: Some(Duration::from_millis(50)), ..config },
    )
    .await;
    assert_eq!(stand.scene.ask("Work").await.0, EndReason::Done);
    let ends = stand.end(&[]).await.tool_ends();
    for limit in ["after 50ms", "after 60ms"] {
        assert!(
            ends.iter().any(|(_, output, failed)| *failed && output.contains(limit)),
            "{limit}: {ends:?}"
        );
    }
}

#[tokio::test]
async fn a_profile_from_a_file_is_what_the_model_sees() {
    for (family, wire) in FAMILIES {
        let text = format!(
            r#"
            [profile]
            id = "captured"
            extends = "{}"
            model = "{}"
            base = "You mend programs."

            [[tool]]
            name = "Bash"
            description = "Runs a command."
            use = "shell"
            parameters = '{{"type": "object", "properties": {{"command": {{"type": "string"}}}}, "required": ["command"]}}'

            [[tool]]
            name = "Teleport"
            "#,
            family.name(),
            model(wire).1,
        );
        let profile = Profile::from_toml(&text).unwrap();
        let steps = [Step::call("Bash", json!({"command": "echo here > a.txt"})), Step::text("Done.")];
        let mut stand = stand(wire, profile, steps, |config| SessionConfig { model: None, ..config }).await;
        assert_eq!(stand.scene.ask("Work").await.0, EndReason::Done, "{family:?}");
        assert_eq!(stand.scene.read("a.txt"), "here\n");
        let body = &stand.twin.requests()[0].body;
        assert_eq!(declared(wire, body), ["Bash"], "{family:?}");
        assert!(body.to_string().contains("Runs a command."), "{family:?}: {body}");
        assert!(system(wire, body).starts_with("You mend programs."), "{family:?}");
        stand.end(&[]).await;
    }
}
