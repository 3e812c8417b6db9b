//! The prefix of a conversation stays the same, byte for byte: the twins count what was in their caches.

use std::sync::Arc;

use junto_agent::{Profile, SessionConfig, ToolRegistry, tool};
use junto_core::{Body, EndReason, Prefix, ToolCx, When};
use junto_llm::{Usage, Wire};
use junto_twin::{Options, Step};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::nursery::{delegates, shell, spawn, told, wait, with_children};
use crate::scene::Record;
use crate::stand::{Stand, model, on_each_wire};

/// How many inputs a session gets, and from which on its cache must be warm.
const TURNS: usize = 10;
const WARM: u32 = 5;

/// Says a page, and changes what the prompt was made of.
const WORK: &str = "seq 200; echo 'Another rule.' >> AGENTS.md; touch new.$(ls | wc -l); git add -A";

/// A session as a host starts it, in a repository with a document.
fn with_profile(wire: Wire, config: SessionConfig) -> SessionConfig {
    let cwd = config.env.facts().cwd.as_path().to_owned();
    std::fs::create_dir(cwd.join(".git")).unwrap();
    for (name, content) in [
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/config", "[core]\nrepositoryFormatVersion = 0\n"),
        ("AGENTS.md", "Be kind.\n"),
    ] {
        std::fs::write(cwd.join(name), content).unwrap();
    }
    for dir in [".git/objects", ".git/refs"] {
        std::fs::create_dir(cwd.join(dir)).unwrap();
    }
    SessionConfig {
        profile: Some(Profile::for_provider(model(wire).0, wire)),
        system: String::new(),
        tools: ToolRegistry::default(),
        instructions: Some("Answer in Latin.".into()),
        ..config
    }
}

fn work() -> Vec<Step> {
    vec![told("Work", 0, shell(WORK)), Step { times: None, ..Step::text("Done.") }]
}

/// What the session's own model calls used, each with its turn.
fn calls(record: &Record) -> Vec<(u32, Usage)> {
    let root = &record.events[0].agent;
    let call = |event: &junto_core::Event| match &event.body {
        Body::Call { usage, .. } if &event.agent == root => Some((event.turn, usage.clone())),
        _ => None,
    };
    record.events.iter().filter_map(call).collect()
}

/// What the requests of the session's own calls began with.
fn prefixes(record: &Record) -> Vec<Prefix> {
    let root = &record.events[0].agent;
    let prefix = |event: &junto_core::Event| match &event.body {
        Body::Call { prefix, .. } if &event.agent == root => *prefix,
        _ => None,
    };
    record.events.iter().filter_map(prefix).collect()
}

/// The least share of a warm call's input that was read from the cache, in percent.
fn least_share(calls: &[(u32, Usage)]) -> u64 {
    let warm = calls.iter().filter(|(turn, _)| *turn >= WARM);
    warm.map(|(_, usage)| usage.cache_read.unwrap_or(0) * 100 / usage.input).min().unwrap()
}

#[tokio::test]
async fn most_of_the_input_comes_from_the_cache() {
    on_each_wire(async |wire| {
        let mut stand =
            Stand::with(wire, work(), Options::default(), |config| with_profile(wire, config)).await;
        for _ in 0..TURNS {
            assert_eq!(stand.scene.ask("Work").await, (EndReason::Done, "Done.".into()), "{wire:?}");
        }
        let requests = stand.twin.requests();
        for request in &requests {
            let body = request.body.to_string();
            let system = ["Be kind.\\n</project_document>", "Git branch: main", "Answer in Latin."];
            assert!(system.iter().all(|part| body.contains(part)), "{wire:?}: {body}");
        }
        let record = stand.end(&[]).await;
        assert!(record.tool_ends().iter().all(|(_, _, is_error)| !is_error), "{:?}", record.tool_ends());
        let prefixes = prefixes(&record);
        for (before, now) in prefixes.iter().zip(&prefixes[1..]) {
            let same = Prefix { messages: now.messages, count: now.count, shared: now.shared, ..*before };
            assert_eq!((now, now.shared), (&same, Some(before.count)), "{wire:?}: nothing but what is new");
        }
        let calls = calls(&record);
        assert_eq!((calls.len(), prefixes.len()), (2 * TURNS, 2 * TURNS), "{wire:?}");
        assert!(least_share(&calls) > 80, "{wire:?}: {}%: {calls:?}", least_share(&calls));
    })
    .await;
}

#[tokio::test]
async fn also_after_steering_and_with_a_child() {
    on_each_wire(async |wire| {
        let waits = told("Wait", 0, shell("mkfifo go; echo up; read line < go"));
        let steps = [vec![waits], delegates([spawn("A small thing."), wait(json!({}))]), work()];
        let mut stand = Stand::with(wire, steps.concat(), Options::default(), |config| {
            with_children(with_profile(wire, config))
        })
        .await;
        for turn in 1..=TURNS {
            match turn {
                3 => {
                    stand.scene.submit("Wait").await;
                    stand.scene.command_says("up").await;
                    stand.scene.steer("Do it well.", When::Round).await;
                    crate::scene::let_go(stand.scene.path("go")).await;
                    assert_eq!(stand.scene.input_end().await.0, EndReason::Done, "{wire:?}");
                }
                4 | 6 => assert_eq!(stand.scene.ask("Delegate").await.0, EndReason::Done, "{wire:?}"),
                _ => assert_eq!(stand.scene.ask("Work").await.0, EndReason::Done, "{wire:?}"),
            }
        }
        let record = stand.scene.end().await;
        assert_eq!((record.count("steering_injected"), record.count("child")), (1, 2), "{wire:?}");
        let calls = calls(&record);
        assert!(least_share(&calls) > 80, "{wire:?}: {}%: {calls:?}", least_share(&calls));
    })
    .await;
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// What the other tests measure can be lost: by whoever changes the tools.
#[tokio::test]
async fn a_prefix_that_changes_is_read_anew() {
    on_each_wire(async |wire| {
        let mut stand =
            Stand::with(wire, work(), Options::default(), |config| with_profile(wire, config)).await;
        for turn in 0..TURNS {
            let other = tool("other", format!("Version {turn}."), |_: Nothing, _: ToolCx| async { "" });
            stand.scene.session.register(Arc::new(other)).unwrap();
            assert_eq!(stand.scene.ask("Work").await.0, EndReason::Done, "{wire:?}");
        }
        let record = stand.end(&[]).await;
        let prefixes = prefixes(&record);
        let changes = prefixes.iter().zip(&prefixes[1..]).filter(|(a, b)| a.tools != b.tools).count();
        assert_eq!(changes, TURNS - 1, "{wire:?}: the events tell what changed");
        let calls = calls(&record);
        assert!(least_share(&calls) < 80, "{wire:?}: {}%", least_share(&calls));
    })
    .await;
}
