//! A repository redirects nothing and runs nothing, and no key leaves.

use std::time::Duration;

use junto_testkit::cast::Who;
use junto_twin::Step;

use crate::real::hostile::Traps;
use crate::real::stage::{Scenario, Stage};

async fn works_in_a_hostile_repository(who: Who) {
    let stage = Stage::new(who);
    let traps = Traps::lay(&stage.work(), &stage.home());
    let steps = [Step::calls([who.shell("echo worked > made.txt")]), Step::text("Fine.")];
    let played = stage.play(Scenario::new(steps)).await;
    played.answered(&["Fine."]);
    assert_eq!(stage.read("made.txt").as_deref(), Some("worked\n"));
    assert_eq!(played.requests.len(), 2, "the model got everything that was asked");
    traps.assert_untouched();
}

#[tokio::test]
async fn native() {
    works_in_a_hostile_repository(Who::Native).await;
}

#[tokio::test]
async fn claude() {
    works_in_a_hostile_repository(Who::Claude).await;
}

#[tokio::test]
async fn codex() {
    works_in_a_hostile_repository(Who::Codex).await;
}

#[tokio::test]
async fn gemini() {
    works_in_a_hostile_repository(Who::Gemini).await;
}

/// Who takes the repository's settings is caught: else the tests above would prove nothing.
#[tokio::test]
async fn the_traps_are_real() {
    let stage = Stage::new(Who::Claude).changed(|definition| {
        let at = definition.command.iter().position(|argument| argument == "--setting-sources").unwrap();
        definition.command[at + 1] = "project,local".to_owned();
    });
    let traps = Traps::lay(&stage.work(), &stage.home());
    // Where it is led nobody answers.
    let idle = Duration::from_secs(5);
    stage.play(Scenario { idle, ..Scenario::new([Step::text("Fine.")]) }).await;
    assert!(traps.ran().is_some_and(|ran| ran.contains("SessionStart")));
    assert!(traps.was_called());
}
