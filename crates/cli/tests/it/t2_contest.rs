//! A council of agents whose members are the real programs.

use std::fmt::Write as _;
use std::fs;

use junto::llm::Wire;
use junto::twin::{Play, Step, When};
use serde_json::{Value, json};

use crate::stage::{KEY, SETUPS, Stage};
use crate::t1_contest::git;
use crate::text;

const CLAUDE: &str = "claude-opus-5-5";
const CODEX: &str = "gpt-5.5";

fn program(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: run the tests with `cargo xtask test`"))
}

/// One does it wrongly, the other right, each with a tool of its own and on a wire of its own.
fn play() -> Play {
    let when = |model: &str, round| When {
        model: Some(model.to_owned()),
        round: Some(round),
        contains: Some("Make it right".to_owned()),
        ..When::default()
    };
    let wrong = json!({"command": "echo 43 >answer", "description": "Answers"});
    let right = json!({"cmd": "echo 42 >answer", "yield_time_ms": 30_000});
    Play::of([
        Step::call("Bash", wrong).when(when(CLAUDE, 0)),
        Step::call("exec_command", right).when(when(CODEX, 0)),
        Step { times: Some(99), ..Step::text("Done.") },
    ])
}

#[test]
fn claude_and_codex_work_side_by_side_and_the_tests_decide() {
    let stage = Stage::new(&SETUPS[0], play());
    let machine = &stage.machine;
    let config = machine.path(".config/junto/config.toml");
    let mut configured = fs::read_to_string(&config).unwrap();
    for (name, wire, model, variable) in [
        ("claude", Wire::Anthropic, CLAUDE, "JUNTO_PEER_CLAUDE"),
        ("codex", Wire::Responses, CODEX, "JUNTO_PEER_CODEX"),
    ] {
        let _ = write!(
            configured,
            "[runners.{name}]\ncommand = [\"{}\"]\nendpoint = \"{}\"\nkey_env = \"ANTHROPIC_API_KEY\"\n\
             model = \"{model}\"\nhome = \"isolated\"\n",
            program(variable),
            stage.base_url(wire),
        );
    }
    fs::write(&config, configured).unwrap();
    machine.write("project/answer", "41\n");
    machine.write("project/check.sh", "test \"$(cat answer)\" = 42\n");
    git(machine, &["init", "--quiet", "--initial-branch=trunk"]);
    git(machine, &["add", "--all"]);
    git(machine, &["commit", "--quiet", "-m", "The beginning"]);
    let path = std::env::var("PATH").unwrap();
    let flags = ["--policy", "full", "--agents", "claude,codex", "--oracle", "sh check.sh", "--json"];
    let mut command = machine.command(&[&["council", "Make it right."], &flags[..]].concat());
    let run = crate::Run::of(command.env("PATH", path));
    assert_eq!(run.code, Some(0), "{run:#?}");
    let record: Value = serde_json::from_str(run.out.lines().next().unwrap()).unwrap();
    assert_eq!(record["winner"], 2, "{record:#}");
    for (place, proof) in ["failed", "passed"].iter().enumerate() {
        let candidate = &record["candidates"][place];
        assert_eq!(candidate["verdict"]["proof"]["proof"], *proof, "{record:#}");
        assert_eq!(candidate["diff"]["files"], 1, "{record:#}");
        assert!(candidate["usage"]["total"].as_u64() > Some(0), "{record:#}");
    }
    assert_eq!(record["disturbed"], Value::Null, "{record:#}");
    assert_eq!(fs::read_to_string(machine.path("project/answer")).unwrap(), "41\n");
    let kept = fs::read_to_string(machine.path(".config/junto/config.toml")).unwrap();
    assert!(!kept.contains(KEY) && !run.out.contains(KEY), "{}", text(&config));
}
