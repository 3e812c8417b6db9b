//! `junto mcp` as clients see it that others wrote: the official Python client, and MCP Inspector's command line.

use std::process::{Command, Output, Stdio};

use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::stage::Stage;

fn peer(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: run the tests with `cargo xtask test`"))
}

fn stage() -> Stage {
    let steps = vec![Step::call("shell", json!({"command": "true"})), Step::text("A junto is a club.")];
    Stage::on_any_wire(Play::of(steps))
}

fn run(stage: &Stage, program: &str, args: &[&str]) -> Output {
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new(program);
    command.args(args).current_dir(stage.machine.path("project")).stdin(Stdio::null());
    command.env_clear().envs(stage.machine.environment()).env("PATH", path);
    command.output().unwrap()
}

#[test]
fn the_python_client_starts_an_agent_watches_it_and_cancels() {
    let stage = stage();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/peers/mcp_client.py");
    let output = run(&stage, &peer("JUNTO_PEER_PYTHON"), &[script, env!("CARGO_BIN_EXE_junto")]);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    let seen: Value = serde_json::from_str(out.trim()).unwrap_or_else(|_| panic!("{out}\n{err}"));
    assert_eq!(seen["server"], "junto", "{seen}");
    assert_eq!(seen["tools"], json!(["start", "steer", "status", "result", "apply", "stop"]), "{seen}");
    assert_eq!(seen["text"], "A junto is a club.", "{seen}");
    assert!(seen["progress"].as_u64().unwrap() > 0, "{seen}");
    assert_eq!(seen["stopped"], "over", "{seen}");
}

#[test]
fn the_inspector_lists_the_tools_and_calls_one() {
    let stage = stage();
    let inspector = peer("JUNTO_PEER_MCP_INSPECTOR");
    let inspect = |args: &[&str]| {
        let junto = env!("CARGO_BIN_EXE_junto");
        let all: Vec<&str> =
            [inspector.as_str(), "--cli", junto, "mcp"].iter().chain(args).copied().collect();
        let output = run(&stage, "node", &all);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{out}\n{err}");
        serde_json::from_str::<Value>(&out).unwrap_or_else(|_| panic!("{out}\n{err}"))
    };
    let listed = inspect(&["--method", "tools/list"]);
    assert_eq!(listed["tools"].as_array().unwrap().len(), 6, "{listed}");
    let call =
        ["--method", "tools/call", "--tool-name", "start", "--tool-arg", "task=What is it?", "wait=true"];
    let result = inspect(&call);
    assert_eq!(result["structuredContent"]["text"], "A junto is a club.", "{result}");
}
