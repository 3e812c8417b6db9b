//! What command-line agents cost that do not tell it themselves, and what they may spend.

use serde_json::json;

use crate::t1_session_cost::cost;
use crate::{Machine, text, usual_path};

/// A price that nobody else has.
const PRICED: &str = "[[models]]\nid = \"gpt-5.5\"\nprovider = \"openai\"\nname = \"Mine\"\ncontext_window = 9_000\n\
                      max_output = 900\nreleased = \"2026-01-01\"\nprice = { input = 1000, output = 0 }\n";

/// Codex, as far as one answer of 1000 tokens goes.
const CODEX: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo codex-cli 0.166.0; exit 0; fi
while [ $# -gt 0 ]; do if [ "$1" = --output-last-message ]; then printf Hello. > "$2"; fi; shift; done
cat > /dev/null
echo '{"type":"thread.started","thread_id":"01a1dcb5-61b1-7d82-a018-db38b61aba13"}'
echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Hello."}}'
echo '{"type":"turn.completed","usage":{"input_tokens":1000,"output_tokens":50}}'
"#;

fn with_codex(config: &str) -> Machine {
    let machine = Machine::configured(config);
    machine.program("bin/codex", CODEX);
    let path = format!("{}:{}", text(&machine.path("bin")), usual_path());
    machine.with("PATH", &path)
}

#[test]
fn a_price_of_the_configuration_is_the_price() {
    for args in [
        &["run", "--kind", "codex", "--model", "gpt-5.5", "Hi."][..],
        &["agent", "background", "--agent", "codex", "--model", "gpt-5.5", "Hi."],
    ] {
        let machine = with_codex(PRICED);
        machine.run(args).ok();
        let all = cost(&machine, &["--by", "model"]);
        assert_eq!(all["total"]["cost"]["usd"], json!(1.0), "{args:?}: {all}");
    }
}

#[test]
fn a_budget_that_cannot_be_kept_is_refused_and_not_kept() {
    let machine = with_codex("");
    let run = |args: &[&str]| machine.run(&[&["run", "--agent", "codex"], args].concat());
    run(&["Hi."]).ok();
    let money = ["codex cannot be held to an amount of money", "leave out --max-usd"];
    run(&["--max-usd", "5", "More."]).fails(2, &money);
    run(&["--resume", "latest", "--max-usd", "5", "More."]).fails(2, &money);
    run(&["--resume", "latest", "--max-tokens", "5", "More."]).fails(2, &["a number of tokens"]);
    assert_eq!(run(&["--resume", "latest", "More."]).ok(), "Hello.\n");

    machine.run(&["agent", "add", "nex", "--provider", "codex"]).ok();
    machine.run(&["run", "--agent", "nex", "--max-usd", "5", "One."]).fails(2, &money);
    let status = machine.run(&["agent", "status", "nex", "--json"]).ok();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["queue"], json!([]), "nothing is queued");
}

#[test]
fn a_session_that_kept_a_budget_which_cannot_be_kept_goes_on() {
    let machine = with_codex("[runners.mine]\nlike = \"codex\"\ndefinition = \"../../mine.toml\"\n");
    let shipped = include_str!("../../../runner/src/codex.toml");
    let bounded = shipped.replace("[options]\n", "[options]\nmax_usd = [\"--most\", \"{}\"]\n");
    machine.write("mine.toml", bounded);
    machine.run(&["run", "--agent", "mine", "--max-usd", "5", "Hi."]).ok();
    machine.write("mine.toml", shipped);
    assert_eq!(machine.run(&["run", "--agent", "mine", "--resume", "latest", "More."]).ok(), "Hello.\n");
}
