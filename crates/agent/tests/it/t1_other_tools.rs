//! A model that uses the other tools, on every wire.

use std::sync::Arc;

use junto_agent::SessionConfig;
use junto_agent::tools::{AskUser, Reach, WebFetch, WebSearch};
use junto_core::{Agent, Body, Command, EndReason, Event, Reply, StepStatus, Tool};
use junto_llm::Wire;
use junto_twin::{Call, Options, Step, Stop};
use serde_json::json;

use crate::site::{Site, page};
use crate::stand::{Stand, on_each_wire};

async fn with_tools(wire: Wire, steps: Vec<Step>, tools: Vec<Arc<dyn Tool>>) -> Stand {
    Stand::with(wire, steps, Options::default(), |mut config: SessionConfig| {
        config.tools.extend(tools);
        config
    })
    .await
}

#[tokio::test]
async fn a_server_is_started_found_fetched_and_left_running() {
    on_each_wire(async |wire| {
        let site =
            Site::start(vec![("/", page("200 OK", "Content-Type: text/html\r\n", "<h1>Hi</h1>"))]).await;
        let steps = vec![
            Step::calls([
                Call::new(
                    "shell",
                    json!({"command": "echo up; setsid sleep 600 & exec sleep 600", "background": true}),
                ),
                Call::new("write_file", json!({"file_path": "notes.txt", "content": "needle\n"})),
                Call::new("update_plan", json!({"steps": [{"step": "look", "status": "in_progress"}]})),
            ]),
            Step::calls([
                Call::new("shell_output", json!({"job": 1, "wait_ms": 60_000})),
                Call::new("grep", json!({"pattern": "needle"})),
                Call::new("glob", json!({"pattern": "*.txt"})),
                Call::new("web_fetch", json!({"url": site.url("/")})),
            ]),
            Step::text("Done."),
        ];
        let fetch: Arc<dyn Tool> = Arc::new(WebFetch::new(Reach::Everywhere));
        let mut stand = with_tools(wire, steps, vec![fetch]).await;
        assert_eq!(stand.scene.ask("Work").await.0, EndReason::Done, "{wire:?}");
        let body = stand.last_body();
        for expected in
            ["up\\n[job 1: runs]", "notes.txt:1:needle", "# Hi", "noted: 0 of 1 steps done; now: look"]
        {
            assert!(body.contains(expected), "{wire:?}: {expected} in {body}");
        }
        // Closing ends the job, and all it started, before the session says that it has ended.
        let record = stand.end(&[]).await;
        assert_eq!(record.tool_ends().iter().filter(|(_, _, failed)| *failed).count(), 0);
        let plan = record.events.iter().find_map(|event| match &event.body {
            Body::Plan { plan } => Some(plan.steps[0].status),
            _ => None,
        });
        assert_eq!(plan, Some(StepStatus::InProgress));
    })
    .await;
}

#[tokio::test]
async fn a_question_is_answered() {
    on_each_wire(async |wire| {
        let ask = json!({"question": "Which one?", "choices": ["left", "right"]});
        let steps = vec![Step::call("ask_user", ask), Step::text("So be it.")];
        let mut stand = with_tools(wire, steps, vec![Arc::new(AskUser::default())]).await;
        stand.scene.submit("Choose").await;
        let Body::Question { ask, question, .. } = stand.scene.event("question").await.body else {
            unreachable!()
        };
        assert_eq!((question.text.as_str(), question.options.len()), ("Which one?", 2));
        let reply = Reply::Said { text: "the middle".into() };
        stand.scene.session.send(Command::Reply { ask, reply }).await.unwrap();
        assert_eq!(stand.scene.input_end().await.0, EndReason::Done, "{wire:?}");
        assert!(stand.last_body().contains("the middle"), "{wire:?}");
        stand.end(&[]).await;
    })
    .await;
}

#[tokio::test]
async fn the_providers_own_search_is_declared_where_there_is_one() {
    let spelled = |wire| match wire {
        Wire::Anthropic => "\"type\":\"web_search_20250305\"",
        Wire::Responses => "\"type\":\"web_search\"",
        Wire::Gemini => "\"googleSearch\":{}",
        Wire::Chat => "",
    };
    on_each_wire(async |wire| {
        let steps = vec![Step::call("shell", json!({"command": "echo x"})), Step::text("Found.")];
        let search = WebSearch::at(wire).map(|tool| Arc::new(tool) as Arc<dyn Tool>);
        let mut stand = with_tools(wire, steps, search.into_iter().collect()).await;
        assert_eq!(stand.scene.ask("Search").await.1, "Found.", "{wire:?}");
        let body = stand.last_body();
        assert!(body.contains(spelled(wire)), "{wire:?}: {body}");
        assert_eq!(
            body.contains("search_20250305") || body.contains("web_search") || body.contains("googleSearch"),
            wire != Wire::Chat
        );
        stand.end(&[]).await;
    })
    .await;
}

/// A model that does not take it is warned of once, however often it is asked.
#[tokio::test]
async fn a_search_that_is_left_out_is_told_once() {
    let steps = vec![
        Step::call("shell", json!({"command": "echo x"})),
        Step::text("One."),
        Step { finish: Some(Stop::Length), ..Step::text("Two.") },
        Step { finish: Some(Stop::Length), ..Step::text("Three.") },
    ];
    let search = Arc::new(WebSearch::at(Wire::Gemini).unwrap()) as Arc<dyn Tool>;
    let mut stand = Stand::with(Wire::Gemini, steps, Options::default(), |mut config| {
        config.tools.register(search);
        SessionConfig { model: Some("gemini-2.5-pro".into()), ..config }
    })
    .await;
    for input in ["1", "2", "3"] {
        assert_eq!(stand.scene.ask(input).await.0, EndReason::Done);
    }
    let record = stand.end(&[]).await;
    let code = |event: &Event| match &event.body {
        Body::Warning { code, .. } => Some(code.clone()),
        _ => None,
    };
    let codes: Vec<String> = record.events.iter().filter_map(code).collect();
    assert_eq!(codes, ["hosted_tool_dropped", "length", "length"]);
}
