//! The real clients do real work with a council that disagrees, and of which in every round somebody fails, stalls or
//! proposes what cannot be done.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use junto_council::{Ended, Outcome, Served};
use junto_gateway::{Gateway, Target};
use junto_llm::catalog::Catalog;
use junto_testkit::cast::Who;
use junto_twin::{After, Call, Fault, Options, Play, Step, Twin};
use serde_json::json;

use crate::clients::council::{Bench, Minutes, NAMES, Round, seat};
use crate::peer;
use crate::support::{House, key};

const ANSWER: &str = "All of it is done.";

fn fails() -> Step {
    Step { fault: Some(Fault::status(500)), ..Step::text("never said") }
}

fn stalls() -> Step {
    let fault = Fault { stall: Some(After(40)), ..Fault::default() };
    Step { fault: Some(fault), ..Step::text("never said to its end") }
}

/// A call of a tool that nobody has.
fn nowhere() -> Step {
    Step::calls([Call { undeclared: true, ..Call::new("launch_rocket", json!({"where": "up"})) }])
}

/// A call of the shell with arguments that its schema does not take.
fn misfit(who: Who) -> Step {
    let call = who.shell("echo never");
    Step::calls([Call { args: Some(json!({"command": 7, "cmd": 7})), ..call }])
}

/// Five rounds; in each of them whoever is right is another.
fn rounds(who: Who, work: &Path) -> Vec<Round> {
    let shell = |line: &str| Step::calls([who.shell(line)]);
    let says = |text: &str| Step::text(text);
    vec![
        // They disagree: the judge takes the second, whole, with its two calls side by side.
        Round {
            says: [
                shell("echo wrong > made.txt"),
                Step::calls([who.write(work, "made.txt", "one\n"), who.shell("echo beside > beside.txt")]),
                shell("echo other > made.txt"),
            ],
            verdict: Some(1),
        },
        // One fails, one stalls, one is right.
        Round { says: [fails(), stalls(), shell("echo two >> made.txt")], verdict: None },
        // One calls what there is not, one calls it wrongly, one is right.
        Round { says: [shell("echo three >> made.txt"), nowhere(), misfit(who)], verdict: None },
        // Two agree, and one fails: nobody is asked to judge.
        Round { says: [shell("cat made.txt"), fails(), shell("cat made.txt")], verdict: None },
        // They disagree about the answer.
        Round { says: [says("I do not know."), says("Perhaps."), says(ANSWER)], verdict: Some(2) },
    ]
}

async fn works(who: Who) {
    let bench = Bench::open(who, |work| rounds(who, work)).await;
    let said = bench.tell("Make the files, please.").await;
    assert_eq!(said.answer, ANSWER, "{:#?}", said.lines);
    assert_eq!(bench.read("made.txt").as_deref(), Some("one\ntwo\nthree\n"), "{:#?}", said.lines);
    assert_eq!(bench.read("beside.txt").as_deref(), Some("beside\n"));
    if who == Who::Claude {
        let shown = said.lines.iter().filter_map(|line| line["event"]["delta"]["thinking"].as_str());
        let shown: String = shown.collect();
        for part in ["asking ada, ben, cid", "is left out", "junto-council: ", " calls · "] {
            assert!(shown.contains(part), "{part:?} in {shown}");
        }
    }
    let minutes = bench.close().await;
    let outcomes: Vec<Outcome> = minutes.iter().map(|deliberation| deliberation.outcome).collect();
    let expected = [Outcome::Selected, Outcome::Only, Outcome::Only, Outcome::Agreed, Outcome::Selected];
    assert_eq!(outcomes, expected, "{minutes:#?}");
    let left_out = |round: usize| -> Vec<&str> {
        let asked = minutes[round].asked.iter();
        let left = asked.filter(|asked| !matches!(asked.ended, Ended::Answered | Ended::Called { .. }));
        left.map(|asked| asked.name.as_str()).collect()
    };
    let [ada, ben, cid] = NAMES;
    let left: Vec<Vec<&str>> = (0..5).map(left_out).collect();
    assert_eq!(left, [vec![], vec![ada, ben], vec![ben, cid], vec![ben], vec![]], "{minutes:#?}");
}

#[tokio::test]
async fn claude_works_with_a_council() {
    works(Who::Claude).await;
}

#[tokio::test]
async fn codex_works_with_a_council() {
    works(Who::Codex).await;
}

#[tokio::test]
async fn gemini_works_with_a_council() {
    works(Who::Gemini).await;
}

/// Runs an SDK's driver against a council of which one plays what the driver expects, one fails or proposes what cannot
/// be done, and one stalls.
async fn drive(script: &str) {
    let play = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers/sdk_play.toml");
    let right = Play::from_toml(&std::fs::read_to_string(play).unwrap()).unwrap();
    let start = |play| Twin::start(play, Options::default()).unwrap();
    let always = |step: Step| Play::of([step]);
    let members = [start(always(nowhere())), start(right), start(always(stalls()))];
    let judge = start(Play::of([fails()]));
    // Only one is ever right, so it does not matter when the others are given up.
    let council = seat(&members, &judge, Duration::from_millis(100), &Minutes::default());
    let target = Target::new("council", Arc::new(Served::new(council, Catalog::builtin())));
    let gateway = Gateway::builder().route("*", target).client_key(key()).build().unwrap();
    let house = House::open(&gateway).await;
    peer::run(script, &[&house.url, "across"]).await;
    house.close().await;
}

macro_rules! sdks {
    ($($name:ident $script:literal)*) => {
        $(#[tokio::test]
        async fn $name() {
            drive($script).await;
        })*
    };
}

sdks! {
    anthropic_sdk_works_with_a_council "messages.py"
    openai_sdk_works_with_a_council "responses.py"
    chat_sdk_works_with_a_council "chat.py"
    google_sdk_works_with_a_council "generate.py"
}
