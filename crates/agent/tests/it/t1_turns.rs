//! Plain answers and rounds of tools, on every wire.

use junto_core::{Agent, Change, Command, EndReason};
use junto_llm::Wire;
use junto_llm::catalog::Catalog;
use junto_twin::{Call, Step, Stop, Think};
use serde_json::json;

use crate::stand::{Stand, model, on_each_wire};

#[tokio::test]
async fn plain_answers() {
    on_each_wire(async |wire| {
        let mut stand = Stand::new(wire, [Step::text("Good day."), Step::text("And to you.")]).await;
        assert_eq!(stand.scene.ask("Hello").await, (EndReason::Done, "Good day.".into()));
        assert_eq!(stand.scene.ask("Hello again").await, (EndReason::Done, "And to you.".into()));
        let record = stand.end(&[]).await;
        let one = ["user_input", "assistant_text_start", "assistant_text_end", "call", "input_end"];
        let all = [&["session_start"], &one[..], &one[..], &["session_end"]].concat();
        assert_eq!(record.names(), all, "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn three_rounds_of_parallel_tools() {
    on_each_wire(async |wire| {
        let write = |name: &str, content: &str| {
            Call::new("write_file", json!({"file_path": name, "content": content}))
        };
        let steps = [
            Step::calls([write("a", "one\n"), write("b", "two\n")]),
            Step::calls([
                Call::new("edit_file", json!({"file_path": "a", "old_string": "one", "new_string": "three"})),
                Call::new("read_file", json!({"file_path": "b"})),
            ]),
            Step::calls([
                Call::new("shell", json!({"command": "cat a b; false"})),
                Call::new("shell", json!({"command": "wc -l < a"})),
                Call::bare("*"),
            ]),
            Step::text("It says: {{last_result}}"),
        ];
        let mut stand = Stand::new(wire, steps).await;
        let (reason, text) = stand.scene.ask("Work").await;
        assert_eq!(reason, EndReason::Done, "{wire:?}");
        assert!(text.starts_with("It says: "), "{text}");
        assert_eq!(stand.scene.read("a"), "three\n");
        let body = stand.last_body();
        assert!(body.contains("three\\ntwo\\n[exit code 1]") && body.contains("  1 | two"), "{body}");
        let record = stand.end(&[]).await;
        assert_eq!((record.count("call"), record.count("tool_call_end")), (4, 7));
    })
    .await;
}

/// An answer of nothing but thoughts is no part of the conversation, which goes on without it.
#[tokio::test]
async fn thoughts_that_come_to_nothing() {
    on_each_wire(async |wire| {
        let thought = |finish| Step { think: Think::Text("So".into()), finish, ..Step::text("") };
        let steps = [Some(Stop::Length), Some(Stop::ContentFilter), None]
            .map(thought)
            .into_iter()
            .chain([Step::text("Four.")]);
        let mut stand = Stand::new(wire, steps.collect::<Vec<_>>()).await;
        for input in ["1", "2", "3"] {
            assert_eq!(stand.scene.ask(input).await, (EndReason::Done, String::new()), "{wire:?} {input}");
        }
        assert_eq!(stand.scene.ask("4").await, (EndReason::Done, "Four.".into()), "{wire:?}");
        stand.end(&[]).await;
    })
    .await;
}

/// A name that the model made up and the wire would refuse does not come back as it was.
#[tokio::test]
async fn names_that_no_wire_takes() {
    on_each_wire(async |wire| {
        let odd = |name: &str| Call::new(name, json!({"command": "true"})).undeclared();
        let steps = [
            Step::calls([odd("functions.shell"), odd(&"x".repeat(150))]),
            Step::text("Then not."),
            Step::text("Fine."),
        ];
        let mut stand = Stand::new(wire, steps).await;
        assert_eq!(stand.scene.ask("1").await, (EndReason::Done, "Then not.".into()), "{wire:?}");
        assert_eq!(stand.scene.ask("2").await, (EndReason::Done, "Fine.".into()), "{wire:?}");
        stand.end(&[]).await;
    })
    .await;
}

#[tokio::test]
async fn another_model_from_the_next_call_on() {
    on_each_wire(async |wire| {
        let steps =
            [Step::call("shell", json!({"command": "echo x"})), Step::text("One."), Step::text("Two.")];
        let mut stand = Stand::new(wire, steps).await;
        assert_eq!(stand.scene.ask("1").await.1, "One.", "{wire:?}");
        let (provider, first) = model(wire);
        let catalog = Catalog::builtin();
        let others = catalog.list(Some(provider));
        let other =
            others.iter().find(|m| m.id != first && m.tools).map_or("another-model", |m| m.id.as_str());
        let change = Change { model: Some(other.into()), effort: None, ..Change::default() };
        stand.scene.session.send(Command::Configure { change }).await.unwrap();
        assert_eq!(stand.scene.ask("2").await, (EndReason::Done, "Two.".into()), "{wire:?}");
        let request = stand.twin.requests().pop().unwrap();
        let asked = match wire {
            Wire::Gemini => request.path,
            _ => request.body["model"].to_string(),
        };
        assert!(asked.contains(other), "{wire:?}: {asked}");
        stand.end(&[]).await;
    })
    .await;
}

#[tokio::test]
async fn follow_ups_are_inputs_of_their_own() {
    on_each_wire(async |wire| {
        let steps = [
            Step::call("shell", json!({"command": "mkfifo go; echo up; read line < go"})),
            Step::text("First."),
            Step::text("Second."),
        ];
        let mut stand = Stand::new(wire, steps).await;
        stand.scene.submit("1").await;
        stand.scene.command_says("up").await;
        stand.scene.session.send(Command::FollowUp { input: "2".into() }).await.unwrap();
        crate::scene::let_go(stand.scene.path("go")).await;
        assert_eq!(stand.scene.input_end().await.1, "First.");
        assert_eq!(stand.scene.input_end().await.1, "Second.");
        let record = stand.end(&[]).await;
        let turns: Vec<u32> =
            record.events.iter().filter(|e| e.body.name() == "input_end").map(|e| e.turn).collect();
        assert_eq!(turns, [1, 2]);
    })
    .await;
}
