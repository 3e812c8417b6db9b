//! The real clients, pointed at the gateway by `junto gateway setup` and by nothing else.

use std::process::{Command, Stdio};

use junto::twin::Play;

use crate::stage::{SETUPS, Stage};
use crate::t1_gateway::Gateway;

/// What the model says. No client says it by itself.
const ANSWER: &str = "The gateway stood between us.";

/// Sets a client up, with and without a key that it must show, and asks it something.
fn check(client: &str, program: &str, args: &[&str]) {
    let program = std::env::var(program)
        .unwrap_or_else(|_| panic!("{program} is not set: run the tests with `cargo xtask test`"));
    for key in [None, Some("client-key-4b1c")] {
        let mut stage = Stage::new(&SETUPS[3], Play::text(ANSWER));
        if let Some(key) = key {
            stage.machine = stage.machine.with("JUNTO_GATEWAY_TOKEN", key);
        }
        let gateway = Gateway::start(&stage.machine, &[]);
        let url = format!("http://127.0.0.1:{}", gateway.port());
        stage.machine.run(&["gateway", "setup", client, "--write", "--url", &url]).ok();

        let mut command = Command::new(&program);
        command.args(args).current_dir(stage.machine.path("project")).stdin(Stdio::null());
        command.env_clear().env("HOME", stage.machine.path("")).env("PATH", std::env::var("PATH").unwrap());
        if let Some(key) = key {
            command.env("JUNTO_GATEWAY_TOKEN", key);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let (code, noted) = gateway.end();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains(ANSWER), "{client} {key:?}: {said}\n{err}\n{noted}");
        assert_eq!(code, Some(0), "{noted}");
        assert!(noted.contains("local/mistral · in "), "{noted}");
        assert!(key.is_none_or(|key| !noted.contains(key)), "{noted}");
    }
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
