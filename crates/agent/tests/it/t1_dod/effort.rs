//! 9.7: how hard the model thinks.

use junto_agent::SessionConfig;
use junto_agent::profile::Family;
use junto_core::{Agent, Change, Command, EndReason};
use junto_llm::Effort;
use junto_twin::Step;

use super::model::{on_each_profile, requests, shell, stand, stand_with};
use crate::stand::Stand;

fn efforts(stand: &Stand) -> Vec<Option<String>> {
    requests(stand).into_iter().map(|said| said.effort).collect()
}

/// The effort that stands in the request of a session with this one.
async fn sent(family: Family, effort: Option<Effort>) -> Option<String> {
    let change = |config| SessionConfig { effort, ..config };
    let mut stand = stand_with(family, [Step::text("Hm.")], change).await;
    assert_eq!(stand.scene.ask("Think").await.0, EndReason::Done, "{family:?}");
    let sent = efforts(&stand).remove(0);
    stand.end(&[]).await;
    sent
}

#[tokio::test]
async fn dod_the_effort_is_passed_on() {
    on_each_profile(async |family| {
        assert_eq!(sent(family, Some(Effort::High)).await.as_deref(), Some("high"), "{family:?}");
    })
    .await;
}

#[tokio::test]
async fn dod_a_new_effort_holds_from_the_next_call_on() {
    on_each_profile(async |family| {
        let steps = [
            Step::calls([shell("mkfifo go; echo up; read line < go")]),
            Step::text("Done."),
            Step::text("As always."),
        ];
        let change = |config| SessionConfig { effort: Some(Effort::Low), ..config };
        let mut stand = stand_with(family, steps, change).await;
        stand.scene.submit("Think").await;
        stand.scene.command_says("up").await;
        let configure = async |stand: &Stand, effort: &str| {
            let change = Change { effort: Some(effort.into()), ..Change::default() };
            stand.scene.session.send(Command::Configure { change }).await.unwrap();
        };
        configure(&stand, "high").await;
        crate::scene::let_go(stand.scene.path("go")).await;
        assert_eq!(stand.scene.input_end().await.1, "Done.", "{family:?}");
        configure(&stand, "medium").await;
        stand.scene.ask("Again").await;
        let expected = ["low", "high", "medium"].map(|effort| Some(effort.to_owned()));
        assert_eq!(efforts(&stand), expected, "{family:?}");
        stand.end(&[]).await;
    })
    .await;
}

#[tokio::test]
async fn dod_the_levels() {
    on_each_profile(async |family| {
        for level in ["low", "medium", "high"] {
            assert_eq!(
                sent(family, Some(Effort::from(level.to_owned()))).await.as_deref(),
                Some(level),
                "{family:?}"
            );
        }
        assert_eq!(sent(family, None).await, None, "{family:?}: the provider's own default");
    })
    .await;
    let other = Effort::Other("xhigh".into());
    assert_eq!(sent(Family::OpenAi, Some(other)).await.as_deref(), Some("xhigh"));
    let mut stand = stand(Family::OpenAi, [Step::text("Hm.")]).await;
    stand.scene.ask("Think").await;
    assert_eq!(efforts(&stand), [None]);
    stand.end(&[]).await;
}
