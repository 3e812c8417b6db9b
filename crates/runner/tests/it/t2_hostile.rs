//! A repository redirects nothing and runs nothing, and no key leaves.

use std::time::Duration;

use junto_testkit::cast::Who;
use junto_twin::Step;

use crate::real::hostile::Traps;
use crate::real::stage::{Scenario, Stage};

/// Traps in a repository that its user once trusted.
fn laid(stage: &Stage) -> Traps {
    Traps::trust(&stage.work(), &stage.own_home());
    Traps::lay(&stage.work(), &stage.home())
}

async fn works_in_a_hostile_repository(who: Who) {
    let stage = Stage::new(who);
    let traps = laid(&stage);
    works_among(&stage, &traps).await;
}

async fn works_among(stage: &Stage, traps: &Traps) {
    let steps = [Step::calls([stage.who.shell("echo worked > made.txt")]), Step::text("Fine.")];
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

/// One of the files it would obey whatever it is told: there it is not run at all.
#[tokio::test]
async fn gemini() {
    let stage = Stage::new(Who::Gemini);
    let traps = laid(&stage);
    let played = stage.play(Scenario::new([Step::text("Fine.")])).await;
    assert_eq!(played.failure().0, "configuration");
    assert_eq!(played.requests, []);
    traps.assert_untouched();
    std::fs::remove_file(stage.work().join(".gemini/.env")).unwrap();
    works_among(&stage, &traps).await;
}

/// Who takes the repository's settings is caught: else the tests above would prove nothing.
async fn is_caught(stage: &Stage) -> Traps {
    let traps = laid(stage);
    // It would not be run at all.
    std::fs::remove_file(stage.work().join(".gemini/.env")).unwrap();
    // Where it is led nobody answers.
    let idle = Duration::from_secs(5);
    stage.play(Scenario { idle, ..Scenario::new([Step::text("Fine.")]) }).await;
    traps
}

#[tokio::test]
async fn the_traps_for_claude_are_real() {
    let stage = Stage::new(Who::Claude).changed(|definition| {
        let at = definition.command.iter().position(|argument| argument == "--setting-sources").unwrap();
        definition.command[at + 1] = "project,local".to_owned();
    });
    let traps = is_caught(&stage).await;
    assert!(traps.ran().is_some_and(|ran| ran.contains("SessionStart")));
    assert!(traps.was_called());
}

#[tokio::test]
async fn the_traps_for_codex_are_real() {
    let stage = Stage::new(Who::Codex)
        .changed(|definition| definition.command.retain(|argument| argument != "--ignore-user-config"));
    let ran = is_caught(&stage).await.ran();
    assert!(ran.as_ref().is_some_and(|ran| ran.contains("codex mcp")), "{ran:?}");
}

#[tokio::test]
async fn the_traps_for_gemini_are_real() {
    let stage = Stage::new(Who::Gemini).changed(|definition| {
        definition.variables.set.remove("GEMINI_CLI_TRUST_WORKSPACE");
    });
    let ran = is_caught(&stage).await.ran();
    assert!(ran.as_ref().is_some_and(|ran| ran.contains("SessionStart")), "{ran:?}");
}
