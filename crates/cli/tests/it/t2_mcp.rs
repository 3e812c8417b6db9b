//! `junto mcp` as clients see it that others wrote: the official Python client, and MCP Inspector's command line.

use std::process::{Command, Output, Stdio};

use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::{Machine, t1_contest};

fn peer(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: run the tests with `cargo xtask test`"))
}

fn stage() -> Stage {
    let steps = vec![
        Step::call("shell", json!({"command": "true"})),
        Step::text("A junto is a club."),
        Step::text("Franklin's."),
    ];
    Stage::on_any_wire(Play::of(steps))
}

fn run(machine: &Machine, program: &str, args: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(args).current_dir(machine.path("project")).stdin(Stdio::null());
    command.env_clear().envs(machine.environment());
    // The programs of the machine first, then those that the tests were started with.
    let path = machine.environment().into_iter().rfind(|(name, _)| name == "PATH").unwrap().1;
    command.env("PATH", format!("{path}:{}", std::env::var("PATH").unwrap()));
    command.output().unwrap()
}

/// What the Python client saw.
fn client(machine: &Machine, args: &[&str]) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/peers/mcp_client.py");
    let args: Vec<&str> = [script, env!("CARGO_BIN_EXE_junto")].iter().chain(args).copied().collect();
    let output = run(machine, &peer("JUNTO_PEER_PYTHON"), &args);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    serde_json::from_str(out.trim()).unwrap_or_else(|_| panic!("{out}\n{err}"))
}

#[test]
fn the_python_client_starts_an_agent_watches_it_steers_it_and_stops_it() {
    let seen = client(&stage().machine, &["agent"]);
    assert_eq!(seen["server"], "junto", "{seen}");
    assert_eq!(seen["tools"], json!(["start", "steer", "status", "result", "apply", "stop"]), "{seen}");
    assert_eq!(seen["text"], "A junto is a club.", "{seen}");
    assert!(seen["progress"].as_u64().unwrap() > 0, "{seen}");
    assert_eq!(seen["then"], "Franklin's.", "{seen}");
    assert_eq!(seen["stopped"], "over", "{seen}");
}

#[test]
fn the_python_client_applies_what_a_council_made() {
    let machine = t1_contest::machine();
    let seen = client(&machine, &["council", "--policy", "full"]);
    let branch = seen["applied"]["applied"].as_str().unwrap_or_else(|| panic!("{seen}"));
    assert_eq!(t1_contest::git(&machine, &["show", &format!("{branch}:answer")]), "42\n", "{seen}");
    assert!(seen["refused"].as_str().unwrap().contains("no candidate 9"), "{seen}");
}

#[test]
fn the_inspector_lists_the_tools_and_calls_one() {
    let stage = stage();
    let inspector = peer("JUNTO_PEER_MCP_INSPECTOR");
    let inspect = |args: &[&str]| {
        let junto = env!("CARGO_BIN_EXE_junto");
        let all: Vec<&str> =
            [inspector.as_str(), "--cli", junto, "mcp"].iter().chain(args).copied().collect();
        let output = run(&stage.machine, "node", &all);
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
