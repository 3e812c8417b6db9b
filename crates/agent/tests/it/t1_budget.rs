//! What a session may spend: the call that could be too much is not made, and whoever is asked is paid once.

use std::sync::Arc;

use junto_agent::SessionConfig;
use junto_core::{Amount, Body, EndReason, Purse};
use junto_llm::{Allowance, Usd, Wire};
use junto_twin::{After, Fault, Options, Step, UsageOverride};
use serde_json::json;

use crate::nursery::{delegates, shell, spawn, told, wait, with_children};
use crate::scene::Record;
use crate::stand::{Stand, on_each_wire};

/// A step whose answer is counted as so many tokens.
fn counted(step: Step, input: u64, output: u64) -> Step {
    let usage = UsageOverride { input: Some(input), output: Some(output), ..UsageOverride::default() };
    Step { usage, ..step }
}

async fn stand(wire: Wire, steps: Vec<Step>, purse: &Purse, each: Allowance) -> Stand {
    let budget = Arc::new(purse.clone());
    Stand::with(wire, steps, Options::default(), |config| SessionConfig {
        budget,
        turn_budget: each,
        ..config
    })
    .await
}

/// The limits that stopped inputs, in words.
fn limits(record: &Record) -> Vec<&str> {
    record
        .events
        .iter()
        .filter_map(|event| match &event.body {
            Body::TurnLimit { limit, .. } => Some(limit.as_str()),
            _ => None,
        })
        .collect()
}

fn warnings(record: &Record, kind: &str) -> usize {
    let is = |body: &Body| matches!(body, Body::Warning { code, .. } if code == kind);
    record.events.iter().filter(|event| is(&event.body)).count()
}

#[tokio::test]
async fn the_call_that_could_break_the_budget_is_not_made() {
    on_each_wire(async |wire| {
        let purse = Purse::new(Allowance::tokens(60_000)).named("the session's budget");
        let steps = vec![counted(shell("echo hello"), 15_000, 40_000), Step::text("Hello.")];
        let mut stand = stand(wire, steps, &purse, Allowance::UNLIMITED).await;
        stand.scene.submit("Say hello").await;
        assert_eq!(stand.scene.input_end().await.0, EndReason::Limit, "{wire:?}");
        assert_eq!(stand.twin.requests().len(), 1, "{wire:?}: the second was not made");
        // The session is still there, and nothing more is paid.
        stand.scene.submit("Try again").await;
        assert_eq!(stand.scene.input_end().await.0, EndReason::Limit, "{wire:?}");
        assert_eq!((purse.spent().tokens, purse.reserved()), (55_000, Amount::default()), "{wire:?}");
        let record = stand.end(&[]).await;
        for limit in limits(&record) {
            let (what, could) = limit.split_once(" left, and the call could take up to ").unwrap();
            assert_eq!(what, "the session's budget of 60000 tokens: 5000 tokens", "{wire:?}");
            assert!(could.ends_with(" tokens"), "{limit}");
        }
        assert_eq!(limits(&record).len(), 2, "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn each_input_has_its_share() {
    on_each_wire(async |wire| {
        let purse = Purse::new(Allowance::tokens(200_000));
        let steps = vec![counted(shell("echo hello"), 15_000, 40_000), Step::text("Hello.")];
        let mut stand = stand(wire, steps, &purse, Allowance::tokens(60_000)).await;
        stand.scene.submit("Say hello").await;
        assert_eq!(stand.scene.input_end().await.0, EndReason::Limit, "{wire:?}");
        stand.scene.submit("Go on").await;
        assert_eq!(stand.scene.input_end().await.0, EndReason::Done, "{wire:?}: a new share");
        let record = stand.end(&[]).await;
        assert!(limits(&record)[0].starts_with("the turn's budget of 60000 tokens: 5000 tokens left"));
    })
    .await;
}

#[tokio::test]
async fn a_longest_answer_that_cannot_be_paid_is_made_shorter_and_nothing_else_is_changed() {
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Gemini] {
        // A model's longest answer alone would cost more.
        let purse = Purse::new(Allowance::usd(Usd::from_dollars(0.5)));
        let steps = vec![shell("echo hello"), Step::text("Hello.")];
        let mut stand = stand(wire, steps, &purse, Allowance::UNLIMITED).await;
        stand.scene.submit("Say hello").await;
        assert_eq!(stand.scene.input_end().await.0, EndReason::Done, "{wire:?}");
        let [first, second] = &stand.twin.requests()[..] else { panic!("two requests") };
        let limit = |body: &serde_json::Value| {
            let at = ["/max_tokens", "/max_output_tokens", "/generationConfig/maxOutputTokens"];
            at.iter().find_map(|at| body.pointer(at)?.as_u64()).unwrap()
        };
        assert!(limit(&first.body) >= 2048 && limit(&second.body) >= 2048, "{wire:?}");
        for field in ["system", "tools", "instructions", "systemInstruction"] {
            assert_eq!(first.body.get(field), second.body.get(field), "{wire:?}");
        }
        let record = stand.end(&[]).await;
        assert_eq!(warnings(&record, "max_tokens_lowered"), 2, "{wire:?}");
        let Some(Body::SessionEnd { cost, .. }) = record.events.last().map(|event| &event.body) else {
            panic!()
        };
        assert_eq!(
            (Some(purse.spent().usd), purse.reserved()),
            (cost.amount(), Amount::default()),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn what_has_no_price_is_refused_under_a_limit_of_money() {
    let purse = Purse::new(Allowance::usd(Usd::from_dollars(100.0)));
    let mut stand = stand(Wire::Chat, vec![Step::text("Hello.")], &purse, Allowance::UNLIMITED).await;
    stand.scene.submit("Say hello").await;
    let EndReason::Failed { error } = stand.scene.input_end().await.0 else { panic!("it failed") };
    assert_eq!(error.kind, "configuration");
    assert!(error.message.contains("`local-model` at `local`"), "{}", error.message);
    assert!(error.hint.unwrap().contains("[[models]]"));
    assert_eq!(stand.twin.requests().len(), 0);
    stand.end(&[]).await;
}

#[tokio::test]
async fn children_are_paid_from_their_parents_budget() {
    on_each_wire(async |wire| {
        let purse = Purse::new(Allowance::tokens(10_000_000));
        let mut steps = delegates([spawn("subtask"), spawn("another"), wait(json!({}))]);
        steps.extend([told("subtask", 0, Step::text("One.")), told("another", 0, Step::text("Two."))]);
        let budget = Arc::new(purse.clone());
        let change = |config| with_children(SessionConfig { budget, ..config });
        let mut stand = Stand::with(wire, steps, Options::default(), change).await;
        stand.scene.submit("Delegate").await;
        assert_eq!(stand.scene.input_end().await.0, EndReason::Done, "{wire:?}");
        let charged = stand.twin.usage_total().total;
        stand.end(&[]).await;
        assert_eq!((purse.spent().tokens, purse.reserved()), (charged, Amount::default()), "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn attempts_that_failed_cost_nothing_and_each_that_began_is_booked() {
    let purse = Purse::new(Allowance::tokens(1_000_000));
    let budget = Arc::new(purse.clone());
    // Refused once; then it breaks off before any content; then it answers.
    let cut = Fault { error_event: Some(After(1)), ..Fault::default() };
    let steps = vec![Step { fault: Some(cut), times: Some(1), ..Step::text("Hello.") }, Step::text("Hello.")];
    let options = Options { fault: Some(Fault::status(503).times(1)), ..Options::default() };
    let change = |config| SessionConfig { budget, ..config };
    let mut stand = Stand::with(Wire::Anthropic, steps, options, change).await;
    stand.scene.submit("Say hello").await;
    let (reason, text) = stand.scene.input_end().await;
    assert_eq!((reason, text.as_str()), (EndReason::Done, "Hello."));
    let told = stand.twin.usage_told();
    let record = stand.scene.end().await;
    let [usage] = &record.usages()[..] else { panic!("one call") };
    assert_eq!((usage.input, usage.output), (told.input, told.output));
    assert_eq!((usage.calls.len(), purse.reserved()), (2, Amount::default()));
    assert!(purse.spent().tokens >= told.total);
    stand.twin.close().await;
}
