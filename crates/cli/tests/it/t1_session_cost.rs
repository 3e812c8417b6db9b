//! What model calls cost, and what may be spent.

use std::fs;

use junto::llm::Wire;
use junto::twin::{Play, Step, UsageOverride};
use serde_json::{Value, json};

use crate::stage::{SETUPS, Stage, on_every_wire};
use crate::t1_gateway::Gateway;
use crate::t1_sessions::{crc, latest};
use crate::{Machine, Run};

pub(crate) fn cost(machine: &Machine, flags: &[&str]) -> Value {
    let out = machine.run(&[&["cost", "--json"], flags].concat()).ok();
    serde_json::from_str(&out).unwrap()
}

fn two_calls() -> Play {
    Play::of([Step::call("shell", json!({"command": "true"})), Step::text("Done.")])
}

#[test]
fn every_call_is_counted() {
    on_every_wire(two_calls, |setup, stage| {
        let machine = &stage.machine;
        machine.run(&["run", "Work."]).ok();
        for by in ["day", "session", "model", "agent"] {
            let cost = cost(machine, &["--by", by]);
            let row = &cost["rows"][0];
            assert_eq!((&cost["by"], &row["calls"]), (&json!(by), &json!(2)), "{} {cost:#}", setup.provider);
            assert!(row["input"].as_u64() > Some(0) && row["output"].as_u64() > Some(0), "{cost:#}");
            assert_eq!(cost["total"]["calls"], 2);
        }
        let priced = setup.provider != "local";
        let total = &cost(machine, &[])["total"]["cost"];
        assert_eq!(total["usd"].as_f64().is_some_and(|usd| usd > 0.0), priced, "{total}");
        assert_eq!(total["unknown_calls"], if priced { 0 } else { 2 }, "{total}");
    });
}

#[test]
fn costs_are_told_in_words() {
    let stage = Stage::on_any_wire(two_calls());
    let machine = &stage.machine;
    assert!(machine.run(&["cost"]).ok().contains("no model was asked"));
    machine.run(&["run", "Work."]).ok();
    let table = machine.run(&["cost", "--by", "model"]).ok();
    assert!(table.contains("claude-opus-5-5") && table.contains("about $"), "{table}");
    assert!(machine.run(&["cost", "--since", "2999-01-01"]).ok().contains("no model was asked"));
    assert_eq!(cost(machine, &["--since", "1h"])["total"]["calls"], 2);
    machine.run(&["cost", "--since", "soon"]).fails(2, &["\"soon\" is no point in time"]);
    machine.run(&["cost", "--by", "week"]).fails(2, &["week"]);
}

#[test]
fn a_cache_that_was_missed_is_explained() {
    let stage = Stage::on_any_wire(Play::default());
    let machine = &stage.machine;
    let long = "Remember this. ".repeat(2000);
    machine.run(&["run", &long]).ok();
    machine.run(&["resume", "latest", "--no-tool", "shell", "More."]).ok();
    let cost = cost(machine, &["--cache"]);
    let why = cost["missed"].to_string();
    assert!(why.contains("tools"), "{cost:#}");
    assert!(machine.run(&["cost", "--cache"]).ok().contains("tools"));
}

#[test]
fn the_gateway_is_in_the_ledger() {
    let stage = Stage::on_any_wire(Play::default());
    let gateway = Gateway::start(&stage.machine, &[]);
    gateway.ask(Wire::Anthropic, "whatever-1").unwrap();
    gateway.end();
    let cost = cost(&stage.machine, &["--by", "agent"]);
    assert_eq!(
        (&cost["total"]["calls"], &cost["rows"][0]["key"]),
        (&json!(2), &json!("gateway")),
        "{cost:#}"
    );
}

#[test]
fn nothing_is_asked_beyond_the_budget() {
    let stage = Stage::on_any_wire(two_calls());
    let machine = &stage.machine;
    machine.run(&["run", "--max-usd", "0.000001", "Work."]).fails(4, &["budget", "--max-usd"]);
    machine.run(&["run", "--max-tokens", "10", "Work."]).fails(4, &["budget", "--max-tokens"]);
    let mut set = machine.command(&["run", "Work."]);
    Run::of(set.env("JUNTO_MAX_USD", "0.000001")).fails(4, &["budget"]);
    assert!(stage.requests().is_empty());
    machine.run(&["run", "--max-usd", "100", "--max-tokens", "10000000", "Work."]).ok();
    // What a session has cost counts when it goes on.
    machine.run(&["resume", "latest", "--max-usd", "0.0001", "More."]).fails(4, &["budget"]);
    assert_eq!(stage.requests().len(), 2);
    machine.run(&["run", "--max-usd", "some", "Work."]).fails(2, &["--max-usd", "some"]);
    machine.run(&["run", "--max-usd", "-1", "Work."]).fails(2, &["-1"]);
}

#[test]
fn a_model_of_unknown_price_is_refused_under_a_cap() {
    let stage = Stage::new(&SETUPS[3], two_calls());
    stage
        .machine
        .run(&["run", "--max-usd", "1", "Work."])
        .fails(2, &["nobody knows the price of `mistral`", "[[models]]"]);
    assert!(stage.requests().is_empty());
}

/// A process that was killed while its model was asked wrote nothing of that call.
#[test]
fn a_call_that_was_killed_counts_as_its_worst_case() {
    let counted = |step: Step, output| {
        let nothing = Some(0);
        let usage = UsageOverride {
            input: nothing,
            output: Some(output),
            cache_read: nothing,
            cache_write: nothing,
            ..UsageOverride::default()
        };
        Step { usage, ..step }
    };
    let shell = Step::call("shell", json!({"command": "true"}));
    let play =
        Play::of([counted(shell, 800), counted(Step::text("Done."), 1), counted(Step::text("Again."), 1)]);
    let stage = Stage::new(&SETUPS[3], play);
    stage.price(&["mistral"]);
    let machine = &stage.machine;
    machine.run(&["run", "Work."]).ok();
    let journal = machine.path(&format!(".local/state/junto/sessions/{}/journal.jsonl", latest(machine)));
    let text = fs::read_to_string(&journal).unwrap();
    let end = text.find("\"type\":\"tool_call_end\"").unwrap();
    let end = end + text[end..].find('\n').unwrap() + 1;
    fs::write(&journal, &text[..end]).unwrap();

    // A dollar for each token: 800 are spent, and the next call may take 9900. The one that was killed may have
    // written 900, and read what came before it.
    let told = "a model call was under way when the session was cut off";
    machine.run(&["resume", "latest", "--max-usd", "10799"]).fails(4, &["budget", told]);
    // It stays counted.
    let run = machine.run(&["resume", "latest", "--max-usd", "100000", "More."]);
    assert!(run.code == Some(0) && run.err.contains(told), "{run:#?}");
}

/// A call of which nobody knows the cost, such as one that was interrupted, does not make the others free.
#[test]
fn a_call_of_unknown_cost_hides_no_other_from_the_budget() {
    let counted = |step: Step, output| {
        let nothing = Some(0);
        let usage = UsageOverride {
            input: nothing,
            output: Some(output),
            cache_read: nothing,
            cache_write: nothing,
            ..UsageOverride::default()
        };
        Step { usage, ..step }
    };
    let shell = || Step::call("shell", json!({"command": "true"}));
    let play =
        Play::of([counted(shell(), 800), counted(Step::text("Done."), 100), counted(Step::text("More."), 1)]);
    let stage = Stage::new(&SETUPS[3], play);
    stage.price(&["mistral"]);
    let machine = &stage.machine;
    machine.run(&["run", "Work."]).ok();
    let journal = machine.path(&format!(".local/state/junto/sessions/{}/journal.jsonl", latest(machine)));
    let text = fs::read_to_string(&journal).unwrap();
    // The last call is one of which nobody knows the cost.
    let at =
        text.lines().enumerate().filter(|(_, line)| line.contains("\"type\":\"call\"")).last().unwrap().0;
    let lines = text.lines().enumerate().map(|(number, line)| {
        if number != at {
            return format!("{line}\n");
        }
        let event = line.split_once("\"e\":").unwrap().1.strip_suffix('}').unwrap();
        let mut event: Value = serde_json::from_str(event).unwrap();
        event["cost"] = json!({"basis": "unknown"});
        let event = event.to_string();
        format!("{{\"c\":\"{:08x}\",\"e\":{event}}}\n", crc(event.as_bytes()))
    });
    fs::write(&journal, lines.collect::<String>()).unwrap();

    // A dollar for each token: 800 and 100 are spent, and the next call may read 9000 and write 900.
    let resume = |cap: &str| machine.run(&["resume", "latest", "--max-usd", cap, "More."]);
    resume("10799").fails(4, &["budget", "$9899.00 left"]);
    resume("10801").ok();
    assert_eq!(stage.requests().len(), 3);
}
