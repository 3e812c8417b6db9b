//! Who answers for which model, and how the gateway is told: by its table of routes, by flags, by variables.

use junto::llm::{ErrorKind, Wire};
use junto::twin::{Play, Step};
use serde_json::Value;

use crate::agents::Agents;
use crate::stage::{KEY, SETUPS, Stage};
use crate::t1_gateway::Gateway;

/// A stage whose user's file also has this.
fn stage(more: &str) -> Stage {
    let stage = Stage::new(&SETUPS[3], Play::of([Step::text("Here.")]));
    add(&stage, more);
    stage
}

fn add(stage: &Stage, more: &str) {
    let config = stage.machine.path(".config/junto/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}{more}")).unwrap();
}

/// The models that the twin was asked for, each once.
fn asked(stage: &Stage) -> Vec<String> {
    let mut models: Vec<String> =
        stage.requests().iter().map(|received| received.body["model"].as_str().unwrap().to_owned()).collect();
    models.dedup();
    models
}

#[test]
fn names_and_patterns_have_their_own_models() {
    let stage = stage(
        "[gateway.routes]\n\"claude-*\" = \"local/big\"\n\"claude-haiku-*\" = \"local/small\"\n\
         \"glm-5.5\" = \"local/*\"\n",
    );
    let gateway = Gateway::start(&stage.machine, &["--route", "x-1=local/flagged"]);
    for model in ["claude-opus-9", "claude-haiku-9", "glm-5.5", "x-1", "other-1", "local/own-1"] {
        gateway.ask(Wire::Anthropic, model).unwrap();
    }
    assert_eq!(gateway.end().0, Some(0));
    assert_eq!(asked(&stage), ["big", "small", "glm-5.5", "flagged", "mistral", "own-1"]);
}

#[test]
fn a_route_for_everything_is_who_answers() {
    let stage = stage("[gateway.routes]\n\"*\" = \"local/all\"\n");
    let gateway = Gateway::start(&stage.machine, &[]);
    gateway.ask(Wire::Responses, "whatever-1").unwrap();
    gateway.ask(Wire::Responses, "local/own-1").unwrap();
    let (code, said) = gateway.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("local/all answers\n"), "{said}");
    assert_eq!(asked(&stage), ["all", "own-1"]);
}

#[test]
fn a_command_line_agent_answers_without_any_provider() {
    let machine = crate::Machine::configured("[gateway.routes]\n\"*\" = \"cli:claude\"\n").with_claude();
    let gateway = Gateway::start(&machine, &[]);
    assert_eq!(gateway.ask(Wire::Responses, "gpt-5.5").unwrap(), "I was told: Hello.");
    let (code, said) = gateway.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the command-line agent claude answers"), "{said}");
}

/// A gateway whose agent may be unable to answer, with another that takes over.
fn relay(route: &str) -> Agents {
    let machine = crate::Machine::new();
    let home = machine.path("").display().to_string();
    let spare = format!("{}/spare/claude", home.trim_end_matches('/'));
    machine.write(
        ".config/junto/config.toml",
        format!(
            "fallback = [\"spare\"]\n[runners.spare]\nlike = \"claude\"\nmodel = \"own-1\"\ncommand = \
             [\"{spare}\"]\n[gateway.routes]\n\"*\" = \"{route}\"\n"
        ),
    );
    let agents = Agents::unnamed(machine);
    agents.program("spare");
    agents
}

fn answered_by_spare(agents: &Agents) -> usize {
    let calls = agents.machine.path("spare/calls");
    let calls = std::fs::read_to_string(calls).unwrap_or_default();
    assert!(calls.lines().all(|call| call.contains("--model own-1")), "{calls}");
    calls.lines().count()
}

#[test]
fn another_agent_answers_for_one_that_cannot() {
    let agents = relay("cli:claude/opus");
    agents.mode("auth");
    let gateway = Gateway::start(&agents.machine, &[]);
    // Whole and streamed: the second knows of the first, and does not ask the one that failed.
    assert_eq!(gateway.ask(Wire::Anthropic, "claude-opus-9").unwrap(), "I was told: Hello.");
    assert_eq!((agents.calls().len(), answered_by_spare(&agents)), (1, 2));
    assert_eq!(gateway.end().0, Some(0));
    // So does the next process.
    agents.mode("");
    let gateway = Gateway::start(&agents.machine, &[]);
    assert_eq!(gateway.ask(Wire::Responses, "gpt-9").unwrap(), "I was told: Hello.");
    assert_eq!((agents.calls().len(), answered_by_spare(&agents)), (1, 4));
    assert_eq!(gateway.end().0, Some(0));
    let list: Value = serde_json::from_str(&agents.run(&["agent", "list", "--json"]).ok()).unwrap();
    assert_eq!(
        (&list["suppressed"][0]["provider"], &list["suppressed"][0]["class"]),
        (&"claude".into(), &"auth".into())
    );
}

#[test]
fn another_agent_answers_for_one_that_is_not_there() {
    let agents = relay("cli:codex");
    let gateway = Gateway::start(&agents.machine, &[]);
    assert_eq!(gateway.ask(Wire::Anthropic, "claude-opus-9").unwrap(), "I was told: Hello.");
    assert_eq!(answered_by_spare(&agents), 2);
    assert_eq!(gateway.end().0, Some(0));
    // It may be there the next time, so it is not left alone.
    let list: Value = serde_json::from_str(&agents.run(&["agent", "list", "--json"]).ok()).unwrap();
    assert_eq!(list["suppressed"], serde_json::json!([]));
}

#[test]
fn the_council_has_names_of_its_own() {
    let stage = stage("[gateway]\ncouncil = [\"local/a-1\", \"local/b-1\"]\nroutes.\"*\" = \"local/lone\"\n");
    let gateway = Gateway::start(&stage.machine, &["--no-progress"]);
    for model in ["junto-council", "frites-council", "other-1"] {
        gateway.ask(Wire::Anthropic, model).unwrap();
    }
    gateway.put(Wire::Anthropic, "junto-council", "Why is that, and how do they compare?").unwrap();
    let (code, said) = gateway.end();
    assert_eq!(code, Some(0), "{said}");
    let models: Vec<String> = stage.requests().iter().map(|r| r.body["model"].to_string()).collect();
    let count = |model: &str| models.iter().filter(|found| found.contains(model)).count();
    // Each was asked for the whole and for the streamed answer; the second only where it was worth it.
    assert_eq!((count("a-1"), count("b-1"), count("lone")), (6, 2, 2), "{models:?}");
}

#[test]
fn without_a_council_its_names_are_nobodys() {
    let stage = stage("");
    let gateway = Gateway::start(&stage.machine, &[]);
    let error = gateway.ask(Wire::Anthropic, "junto-council").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains("no council"), "{error}");
    let (_, said) = gateway.end();
    assert!(said.contains("--council"), "what to do is noted: {said}");
    assert!(stage.requests().is_empty());
}

#[test]
fn clients_are_told_of_what_they_can_ask_for() {
    let stage = stage(
        "[gateway]\ncouncil = [\"local/a-1\", \"local/b-1\"]\n[gateway.routes]\n\"gpt-5.5\" = \"local/*\"\n\
         \"claude-*\" = \"local/big\"\n",
    );
    stage.price(&["priced-1"]);
    let gateway = Gateway::start(&stage.machine, &[]);
    let ids = gateway.models();
    for id in ["junto-council", "frites-council", "gpt-5.5", "local/a-1", "local/b-1", "local/priced-1"] {
        assert!(ids.iter().any(|found| found == id), "no {id} in {ids:?}");
    }
    assert!(ids.iter().all(|id| !id.contains('*')), "{ids:?}");
    assert_eq!(gateway.end().0, Some(0));
    let plain = self::stage("");
    let gateway = Gateway::start(&plain.machine, &[]);
    let ids = gateway.models();
    assert!(ids.contains(&"mistral".to_owned()) && !ids.iter().any(|id| id.contains("council")), "{ids:?}");
    assert_eq!(gateway.end().0, Some(0));
}

#[test]
fn routes_that_make_no_sense_are_refused() {
    let check = |more: &str, flags: &[&str], said: &[&str]| {
        stage(more).machine.run(&[&["gateway", "--port", "0"], flags].concat()).fails(2, said);
    };
    check("[gateway.routes]\nm = \"cli:emacs\"\n", &[], &["config.toml:", "no command-line agent \"emacs\""]);
    check("", &["--route", "m"], &["flag --route: expected NAME=WHO"]);
    check("", &["--route", "junto-council=local/x"], &["this name is the council's"]);
    check("[gateway.routes]\nm = \"openai/x\"\n", &[], &["provider \"openai\" has no key"]);
    check("[gateway]\nport = 70_000\n", &[], &["expected a port, 0 to 65535"]);
}

#[test]
fn a_gateway_that_would_ask_itself_is_refused() {
    let stage = stage("");
    let gateway = Gateway::start(&stage.machine, &[]);
    let port = gateway.port();
    assert_eq!(gateway.end().0, Some(0));
    let machine = stage.machine.with("OPENAI_API_KEY", "k");
    let machine = machine.with("OPENAI_BASE_URL", &format!("http://localhost:{port}/v1"));
    machine
        .run(&["gateway", "--port", &port.to_string()])
        .fails(2, &["the provider openai is at", "this gateway itself"]);
}

#[test]
fn the_variables_of_frites_are_those_of_the_gateway() {
    let mut stage = stage("");
    for (name, value) in [
        ("FRITES_GATEWAY_HOST", "127.0.0.2"),
        ("FRITES_GATEWAY_TOKEN", "open-sesame"),
        ("FRITES_LOG_JSON", "1"),
        ("FRITES_HEARTBEAT_MS", "700"),
    ] {
        stage.machine = stage.machine.with(name, value);
    }
    let shown = stage.machine.run(&["config", "show"]).ok();
    for line in [
        "gateway.host = \"127.0.0.2\"",
        "gateway.key_env = \"FRITES_GATEWAY_TOKEN\"",
        "gateway.heartbeat = \"700ms\"",
        "gateway.log_json = true",
    ] {
        let found = shown
            .lines()
            .find(|found| found.starts_with(line))
            .unwrap_or_else(|| panic!("{line} in {shown}"));
        assert!(found.contains("# env FRITES_"), "{found}");
    }
    assert!(!shown.contains("open-sesame"));
    let gateway = Gateway::start_for_programs(&stage.machine, &[]);
    let error = gateway.ask(Wire::Anthropic, "m-1").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authentication, "{error}");
    let (code, said) = gateway.end();
    assert_eq!(code, Some(0), "{said}");
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["msg"].as_str().unwrap().starts_with("listening on http://127.0.0.2:"), "{said}");
    let refused = lines.iter().find(|line| line["status"] == 401).unwrap_or_else(|| panic!("{said}"));
    assert_eq!((&refused["level"], &refused["end"]), (&"warn".into(), &"failed".into()), "{said}");
    assert!(!said.contains("open-sesame") && !said.contains(KEY), "{said}");
}

#[test]
fn the_level_says_what_is_noted() {
    for (level, notes) in [("debug", 2), ("info", 2), ("warn", 0), ("error", 0)] {
        let mut stage = stage("");
        stage.machine = stage.machine.with("JUNTO_LOG_LEVEL", level);
        let gateway = Gateway::start(&stage.machine, &[]);
        gateway.ask(Wire::Anthropic, "m-1").unwrap();
        let (_, said) = gateway.end();
        assert_eq!(said.matches("local/mistral · in ").count(), notes, "{level}: {said}");
        assert!(said.starts_with("listening on "), "{level}: {said}");
    }
}
