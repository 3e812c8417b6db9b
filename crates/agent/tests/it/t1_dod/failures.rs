//! 9.11: what fails, and what becomes of the session then.

use junto_agent::SessionConfig;
use junto_agent::profile::{Family, Profile};
use junto_core::{Agent, AgentErrorKind, Body, Command, EndReason};
use junto_twin::{Fault, Options, Play, Step, Twin};

use super::model::{edit, last, on_each_profile, read, requests, shell, stand, stand_with};
use crate::scene::Scene;
use crate::stand::{Stand, client, falls_silent, model};

fn kind(reason: &EndReason) -> &str {
    match reason {
        EndReason::Failed { error } => &error.kind,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn dod_the_model_recovers_from_its_tools() {
    on_each_profile(async |family| {
        let steps = [
            Step::calls([read("no.txt")]),
            Step::calls([edit(family, "a.txt", "nine", "ten")]),
            Step::calls([shell("exit 7")]),
            Step::calls([edit(family, "a.txt", "one", "ten")]),
            Step::text("At last."),
        ];
        let mut stand = Box::pin(stand(family, steps)).await;
        stand.scene.write("a.txt", "one\n");
        assert_eq!(stand.scene.ask("Try").await, (EndReason::Done, "At last.".into()), "{family:?}");
        assert_eq!(stand.scene.read("a.txt"), "ten\n");
        let told = last(&stand).results;
        assert!(told[0].contains("no.txt") && told[2].contains("[exit code 7"), "{family:?}: {told:?}");
        let failed: Vec<bool> = stand.end(&[]).await.tool_ends().into_iter().map(|(_, _, f)| f).collect();
        assert_eq!(failed, [true, true, true, false], "{family:?}");
    })
    .await;
}

#[tokio::test]
async fn dod_a_passing_failure_is_tried_again() {
    on_each_profile(async |family| {
        for status in [429, 500, 502, 503] {
            let steps = [Step { fault: Some(Fault::status(status).times(1)), ..Step::text("Fine.") }];
            let mut stand = stand(family, steps).await;
            assert_eq!(
                stand.scene.ask("Hello").await,
                (EndReason::Done, "Fine.".into()),
                "{family:?}: {status}"
            );
            assert_eq!(requests(&stand).len(), 2);
            assert_eq!(stand.end(&[]).await.count("retry"), 1, "{family:?}: {status}");
        }
    })
    .await;
}

#[tokio::test]
async fn dod_a_refused_key_closes_the_session() {
    on_each_profile(async |family| {
        let wire = family.wire().unwrap();
        let twin = Twin::start(Play::text("Fine."), Options::default()).unwrap();
        let mut scene = Scene::with(client(&twin, wire, "a wrong key"), |config| SessionConfig {
            profile: Some(Profile::of(family)),
            model: Some(model(wire).1.to_owned()),
            ..config
        })
        .await;
        scene.submit("Hello").await;
        assert_eq!(kind(&scene.input_end().await.0), "authentication", "{family:?}");
        scene.event("session_end").await;
        let refused = scene.session.send(Command::Submit { input: "Hello?".into() }).await;
        assert_eq!(refused.unwrap_err().kind(), AgentErrorKind::Closed, "{family:?}");
        assert_eq!(twin.requests().len(), 1, "it is not tried again");
        let record = scene.end().await;
        assert_eq!((record.count("retry"), record.count("error")), (0, 1), "{family:?}");
        twin.close().await;
    })
    .await;
}

/// The warnings about the context, and whether the input went on all the same.
async fn warned(family: Family, window: u64, used: u64) -> Vec<String> {
    let usage = junto_twin::UsageOverride { input: Some(used), ..Default::default() };
    let steps =
        [Step { usage, ..Step::calls([shell("echo x")]) }, Step { usage, ..Step::text("Still here.") }];
    let mut stand =
        stand_with(family, steps, |config| SessionConfig { context_window: Some(window), ..config }).await;
    assert_eq!(stand.scene.ask("Work").await, (EndReason::Done, "Still here.".into()), "{family:?}");
    assert_eq!(requests(&stand).len(), 2, "nothing was left out or summed up");
    let record = stand.end(&[]).await;
    let warning = |event: &junto_core::Event| match &event.body {
        Body::Warning { code, message } if code.contains("context") => Some(message.clone()),
        _ => None,
    };
    record.events.iter().filter_map(warning).collect()
}

#[tokio::test]
async fn dod_a_full_context_is_warned_of() {
    on_each_profile(async |family| {
        assert_eq!(warned(family, 100_000, 79_000).await, [""; 0], "{family:?}");
        let warnings = warned(family, 100_000, 85_000).await;
        assert!(warnings.len() == 1 && warnings[0].contains("85"), "{family:?}: {warnings:?}");
    })
    .await;
}

/// Aborts a session at a moment that the test chooses.
async fn aborted(mut stand: Stand, broken_off: &[usize]) {
    stand.scene.session.send(Command::Abort).await.unwrap();
    assert_eq!(stand.scene.input_end().await.0, EndReason::Interrupted);
    stand.scene.event("session_end").await;
    // The model's connection is closed and the processes are gone before the session says that it is over.
    stand.twin.wait_until_idle().await;
    assert_eq!(stand.scene.env.survivors(), []);
    let names = stand.end(broken_off).await.names();
    assert_eq!(names[names.len() - 2..], ["input_end", "session_end"]);
}

#[tokio::test]
async fn dod_an_abort_ends_everything_in_order() {
    on_each_profile(async |family| {
        let mut speaking = stand(family, [falls_silent()]).await;
        speaking.scene.submit("Talk").await;
        speaking.scene.talking().await;
        aborted(speaking, &[0]).await;
        let mut working =
            stand(family, [Step::calls([shell("(setsid sleep 600 &); echo up; sleep 600")])]).await;
        working.scene.submit("Work").await;
        working.scene.command_says("up").await;
        aborted(working, &[]).await;
    })
    .await;
}
