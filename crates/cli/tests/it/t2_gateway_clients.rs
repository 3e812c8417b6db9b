//! The real clients, pointed at the gateway by `junto gateway setup` and by nothing else.

use std::process::{Command, Output, Stdio};

use junto::twin::{Play, Step, When};

use crate::stage::{SETUPS, Stage};
use crate::t1_gateway::Gateway;

/// What the model says. No client says it by itself.
const ANSWER: &str = "The gateway stood between us.";

/// Runs a client to its end.
fn start(stage: &Stage, program: &str, args: &[&str], key: Option<&str>) -> Output {
    let mut command = Command::new(program);
    command.args(args).current_dir(stage.machine.path("project")).stdin(Stdio::null());
    command.env_clear().env("HOME", stage.machine.path("")).env("PATH", std::env::var("PATH").unwrap());
    if let Some(key) = key {
        command.env("JUNTO_GATEWAY_TOKEN", key);
    }
    command.output().unwrap()
}

/// Where a client's program is.
fn found(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: run the tests with `cargo xtask test`"))
}

/// Sets a client up, with and without a key that it must show, and asks it something.
fn check(client: &str, program: &str, args: &[&str]) {
    let program = found(program);
    for key in [None, Some("client-key-4b1c")] {
        let mut stage = Stage::new(&SETUPS[3], Play::text(ANSWER));
        if let Some(key) = key {
            stage.machine = stage.machine.with("JUNTO_GATEWAY_TOKEN", key);
        }
        let gateway = Gateway::start(&stage.machine, &[]);
        let url = format!("http://127.0.0.1:{}", gateway.port());
        stage.machine.run(&["gateway", "setup", client, "--write", "--url", &url]).ok();
        let output = start(&stage, &program, args, key);
        let said = String::from_utf8_lossy(&output.stdout);
        let (code, noted) = gateway.end();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains(ANSWER), "{client} {key:?}: {said}\n{err}\n{noted}");
        assert_eq!(code, Some(0), "{noted}");
        assert!(noted.contains("local/mistral · in "), "{noted}");
        assert!(key.is_none_or(|key| !noted.contains(key)), "{noted}");
    }
}

/// Sets a client up for the council of the configuration, whose members differ, and asks it something.
fn asks_a_council(client: &str, program: &str, args: &[&str]) {
    let says = |model: &str, text: &str| Step {
        when: Some(When { model: Some(model.to_owned()), ..When::default() }),
        ..Step::text(text)
    };
    let verdict = r#"{"index": 1, "reason": "it is true"}"#;
    let play = Play::of([says("a-1", "Nobody did."), says("b-1", ANSWER), says("judge-1", verdict)]);
    let stage = Stage::new(&SETUPS[3], play);
    let path = ".config/junto/config.toml";
    let text = std::fs::read_to_string(stage.machine.path(path)).unwrap();
    let council = "[council.pair]\nmembers = [\"local/a-1\", \"local/b-1\"]\njudge = \"local/judge-1\"\n";
    stage.machine.write(path, format!("{text}{council}"));
    let gateway = Gateway::start(&stage.machine, &[]);
    let url = format!("http://127.0.0.1:{}", gateway.port());
    let setup = ["gateway", "setup", client, "--write", "--url", &url, "--model", "junto-council"];
    stage.machine.run(&setup).ok();
    let output = start(&stage, &found(program), args, None);
    let said = String::from_utf8_lossy(&output.stdout);
    let (code, noted) = gateway.end();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains(ANSWER), "{client}: {said}\n{err}\n{noted}");
    assert_eq!(code, Some(0), "{noted}");
    let table = stage.machine.run(&["cost", "--by", "council"]).ok();
    assert!(table.contains("asked several 1, selected 1"), "{table}\n{noted}");
}

#[test]
fn claude_code_asks_a_council() {
    asks_a_council("claude", "JUNTO_PEER_CLAUDE", &["-p", "Explain who stood between us, and why."]);
}

#[test]
fn codex_asks_a_council() {
    let question = "Explain who stood between us, and why.";
    let args = ["exec", "--disable", "plugins", "--skip-git-repo-check", question];
    asks_a_council("codex", "JUNTO_PEER_CODEX", &args);
}

#[test]
fn claude_code_is_set_up() {
    check("claude", "JUNTO_PEER_CLAUDE", &["-p", "Who stood between us?"]);
}

#[test]
fn codex_is_set_up() {
    let args = ["exec", "--disable", "plugins", "--skip-git-repo-check", "Who stood between us?"];
    check("codex", "JUNTO_PEER_CODEX", &args);
}

#[test]
fn gemini_cli_is_set_up() {
    check("gemini", "JUNTO_PEER_GEMINI", &["--skip-trust", "-p", "Who stood between us?"]);
}
