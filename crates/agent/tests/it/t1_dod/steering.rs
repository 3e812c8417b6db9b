//! 9.6: what is said while the model works.

use junto_core::{Ack, Agent, Body, Command, EndReason, When};
use junto_twin::Step;

use super::model::{last, on_each_profile, requests, shell, stand, waits};
use crate::scene::let_go;
use crate::stand::Stand;

/// A session that was steered while a command ran, and then did one thing more.
async fn steered(family: junto_agent::profile::Family) -> Stand {
    let steps = [waits(), Step::calls([shell("echo more")]), Step::text("Left it is.")];
    let mut stand = stand(family, steps).await;
    stand.scene.submit("Drive").await;
    stand.scene.command_says("up").await;
    stand.scene.steer("Turn left", When::Round).await;
    let_go(stand.scene.path("go")).await;
    assert_eq!(stand.scene.input_end().await, (EndReason::Done, "Left it is.".into()), "{family:?}");
    stand
}

#[tokio::test]
async fn dod_a_message_comes_after_the_round() {
    on_each_profile(async |family| {
        let stand = steered(family).await;
        assert!(last(&stand).results[0].starts_with("up\ngo\n"), "{family:?}: the round was not cut short");
        let record = stand.end(&[]).await;
        let order: Vec<&str> = record
            .names()
            .into_iter()
            .filter(|name| ["tool_call_end", "steering_injected", "call"].contains(name))
            .collect();
        let expected = ["call", "tool_call_end", "steering_injected", "call", "tool_call_end", "call"];
        assert_eq!(order, expected, "{family:?}");
    })
    .await;
    // To one that is idle it is said with the next input.
    let mut stand = stand(junto_agent::profile::Family::OpenAi, [Step::text("Left it is.")]).await;
    stand.scene.steer("Turn left", When::Round).await;
    stand.scene.ask("Drive").await;
    assert_eq!(last(&stand).user, ["Drive", "Turn left"]);
    stand.end(&[]).await;
}

#[tokio::test]
async fn dod_a_follow_up_comes_after_the_input() {
    on_each_profile(async |family| {
        let steps = [waits(), Step::text("First."), Step::text("Second.")];
        let mut stand = stand(family, steps).await;
        stand.scene.submit("1").await;
        stand.scene.command_says("up").await;
        let queued = stand.scene.session.send(Command::FollowUp { input: "2".into() }).await;
        assert_eq!(queued.unwrap(), Ack::Queued);
        let_go(stand.scene.path("go")).await;
        assert_eq!(stand.scene.input_end().await.1, "First.", "{family:?}");
        assert_eq!(stand.scene.input_end().await.1, "Second.", "{family:?}");
        let users: Vec<usize> = requests(&stand).iter().map(|said| said.user.len()).collect();
        assert_eq!(users, [1, 1, 2], "{family:?}: not before the first input was done");
        let record = stand.end(&[]).await;
        assert_eq!((record.count("user_input"), record.count("input_end")), (2, 2));
    })
    .await;
}

#[tokio::test]
async fn dod_messages_stay_in_the_history() {
    on_each_profile(async |family| {
        let stand = steered(family).await;
        let heard: Vec<bool> = requests(&stand)
            .iter()
            .map(|said| said.user.iter().any(|said| said.contains("Turn left")))
            .collect();
        assert_eq!(heard, [false, true, true], "{family:?}");
        let record = stand.end(&[]).await;
        let injected = record.events.iter().find_map(|event| match &event.body {
            Body::SteeringInjected { input, .. } => Some(input.text.clone()),
            _ => None,
        });
        assert_eq!(injected.as_deref(), Some("Turn left"));
    })
    .await;
}

#[tokio::test]
async fn dod_messages_are_the_users() {
    on_each_profile(async |family| {
        let stand = steered(family).await;
        let said = &requests(&stand)[1];
        assert_eq!(said.user.first().map(String::as_str), Some("Drive"), "{family:?}");
        assert!(
            said.user.last().is_some_and(|said| said.ends_with("Turn left")),
            "{family:?}: {:?}",
            said.user
        );
        assert!(
            !said.system.contains("Turn left") && !said.model.iter().any(|said| said.contains("Turn left"))
        );
        stand.end(&[]).await;
    })
    .await;
}
