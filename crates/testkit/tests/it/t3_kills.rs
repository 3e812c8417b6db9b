//! The built `junto`, killed with SIGKILL where seeds say, and brought back: what the user was shown is there,
//! nothing is done twice, and the model is asked what it would have been asked. `cargo xtask soak sessions` does
//! the same for longer.

use junto::llm::Wire;
use junto_testkit::kills::{Ground, Scenario, built_junto};

/// Kills a session for each seed.
fn check(scenario: Scenario, wire: Wire, seeds: std::ops::Range<u64>) {
    let folder = tempfile::tempdir().unwrap();
    let mut ground = Ground::new(&built_junto(), folder.path(), scenario, wire).unwrap();
    let outcomes: Vec<_> = seeds.map(|seed| ground.case(seed)).collect();
    for outcome in &outcomes {
        let again = outcome.again();
        assert_eq!(outcome.faults, Vec::<String>::new(), "{again}, killed {:?}", outcome.kills);
    }
    let kills: usize = outcomes.iter().map(|outcome| outcome.kills.len()).sum();
    let compared: usize = outcomes.iter().map(|outcome| outcome.compared + outcome.changed).sum();
    assert!(kills > 0 && compared > 0, "{kills} kills, {compared} requests compared");
}

#[test]
fn rounds_on_anthropic() {
    check(Scenario::Rounds, Wire::Anthropic, 100..103);
}

#[test]
fn rounds_on_responses() {
    check(Scenario::Rounds, Wire::Responses, 200..203);
}

#[test]
fn rounds_on_gemini() {
    check(Scenario::Rounds, Wire::Gemini, 300..303);
}

#[test]
fn rounds_on_chat() {
    check(Scenario::Rounds, Wire::Chat, 400..403);
}

#[test]
fn approvals() {
    check(Scenario::Approvals, Wire::Anthropic, 500..503);
    check(Scenario::Approvals, Wire::Gemini, 503..505);
}

#[test]
fn compaction() {
    check(Scenario::Compaction, Wire::Responses, 600..603);
    check(Scenario::Compaction, Wire::Chat, 603..605);
}

#[test]
fn output_beside_the_journal() {
    check(Scenario::Blobs, Wire::Gemini, 700..703);
}

#[test]
fn children() {
    check(Scenario::Children, Wire::Anthropic, 800..803);
}
