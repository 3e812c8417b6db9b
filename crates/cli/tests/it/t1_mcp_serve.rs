//! `junto mcp`: agents as tools of a host, which speaks the protocol line by line.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use junto::twin::{After, Fault, Play, Step};
use serde_json::{Value, json};

use crate::Machine;
use crate::stage::Stage;
use crate::t1_contest;

/// A host, as plain as can be.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    next: u64,
    /// What came that answers nothing.
    noted: Vec<Value>,
}

impl Client {
    fn start(machine: &Machine, args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_junto"))
            .arg("mcp")
            .args(args)
            .env_clear()
            .envs(machine.environment())
            .current_dir(machine.path("project"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()).lines());
        let mut client = Self { child, input, output, next: 0, noted: Vec::new() };
        let info = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let greeted = client.ask("initialize", info);
        assert_eq!(greeted["result"]["serverInfo"]["name"], "junto", "{greeted}");
        client.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// The next message; must be there.
    fn read(&mut self) -> Value {
        let line = self.output.next().expect("it has ended").unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("this is no message: {line}"))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.read();
            if message["id"] == id {
                return message;
            }
            self.noted.push(message);
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let said = self.ask(
            "tools/call",
            json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}}),
        );
        assert_ne!(said["result"]["isError"], true, "{said}");
        said["result"]["structuredContent"].clone()
    }

    fn fails(&mut self, tool: &str, arguments: Value) -> String {
        let said = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(said["result"]["isError"], true, "{said}");
        said["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Goes away, and waits for the end.
    fn leave(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_host_starts_an_agent_and_takes_its_result() {
    let steps = vec![
        Step::call("shell", json!({"command": "echo worked > done.txt"})),
        Step::text("I wrote it."),
        Step::text("And that, too."),
    ];
    let stage = Stage::on_any_wire(Play::of(steps));
    let mut client = Client::start(&stage.machine, &["--sandbox", "off", "--policy", "full"]);
    let tools = client.ask("tools/list", json!({}));
    let names: Vec<&Value> =
        tools["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["start", "steer", "status", "result", "apply", "stop"]);

    let started = client.call("start", json!({"task": "Write it."}));
    let run = started["run"].as_str().unwrap().to_owned();
    let result = client.call("result", json!({"run": run}));
    assert_eq!(
        (&result["state"], &result["text"], &result["end"]),
        (&json!("done"), &json!("I wrote it."), &json!("done")),
        "{result}"
    );
    assert_eq!(std::fs::read_to_string(stage.machine.path("project/done.txt")).unwrap(), "worked\n");

    client.call("steer", json!({"run": run, "text": "More."}));
    assert_eq!(client.call("result", json!({"run": run}))["text"], "And that, too.");
    let all = client.call("status", json!({}));
    assert_eq!(all["runs"][0]["run"], json!(run), "{all}");
    assert_eq!(client.call("stop", json!({"run": run}))["state"], "over");
    assert!(client.fails("status", json!({"run": "nobody"})).contains("there is no run nobody"));
    assert!(client.fails("start", json!({"task": " "})).contains("`task` is missing"));
    assert!(client.fails("start", json!({"task": "x", "agent": "nobody"})).contains("no agent \"nobody\""));
    let unknown = client.ask("tools/call", json!({"name": "fly"}));
    assert!(unknown["error"].is_object(), "{unknown}");
    client.leave();
}

#[test]
fn a_host_that_waits_is_told_how_far_it_is() {
    let steps = vec![Step::call("shell", json!({"command": "true"})), Step::text("Ready.")];
    let stage = Stage::on_any_wire(Play::of(steps));
    let mut client = Client::start(&stage.machine, &["--sandbox", "off", "--policy", "full"]);
    let result = client.call("start", json!({"task": "Do it.", "wait": true}));
    assert_eq!(result["text"], "Ready.", "{result}");
    let steps: Vec<f64> = client
        .noted
        .iter()
        .filter(|note| note["method"] == "notifications/progress")
        .map(|note| note["params"]["progress"].as_f64().unwrap())
        .collect();
    assert!(!steps.is_empty() && steps.is_sorted(), "{:?}", client.noted);
    client.leave();
}

#[test]
fn cancelling_stops_the_agent_and_the_server_goes_on() {
    let silent = Step::fault(Fault { stall: Some(After(0)), ..Fault::default() });
    let stage = Stage::on_any_wire(Play::of(vec![silent, Step::text("Later.")]));
    let mut client = Client::start(&stage.machine, &[]);
    let arguments = json!({"name": "start", "arguments": {"task": "Wait.", "wait": true}});
    let id = client.send("tools/call", arguments);
    // It works: somebody who asks is told so.
    let run = loop {
        let runs = client.call("status", json!({}))["runs"].clone();
        // The model that says nothing has been asked: what is cancelled before is asked later.
        if let Some(run) = runs[0]["run"].as_str().filter(|_| !stage.requests().is_empty()) {
            break run.to_owned();
        }
    };
    client
        .write(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    let result = client.call("result", json!({"run": run}));
    assert_eq!((&result["state"], &result["end"]), (&json!("done"), &json!("interrupted")), "{result}");
    client.call("steer", json!({"run": run, "text": "Now?"}));
    assert_eq!(client.call("result", json!({"run": run}))["text"], "Later.");
    client.leave();
}

#[test]
fn what_would_be_asked_is_refused_and_the_agent_goes_on() {
    let steps =
        vec![Step::call("shell", json!({"command": "touch made.txt"})), Step::text("It was not allowed.")];
    let stage = Stage::on_any_wire(Play::of(steps));
    let mut client = Client::start(&stage.machine, &["--policy", "ask"]);
    let result = client.call("start", json!({"task": "Do it.", "wait": true}));
    assert_eq!(result["text"], "It was not allowed.", "{result}");
    assert!(!stage.machine.path("project/made.txt").exists());
    client.leave();
}

#[test]
fn a_host_lets_a_council_of_agents_work_and_applies_what_won() {
    let machine = t1_contest::machine();
    let mut client = Client::start(&machine, &["--policy", "full"]);
    assert!(client.fails("apply", json!({})).contains("no run of a council of agents was kept"));
    let result =
        client.call("start", json!({"task": "Make it right.", "agent": "council:pair", "wait": true}));
    assert_eq!(result["end"], "done", "{result}");
    let applied = client.call("apply", json!({}));
    let branch = applied["applied"].as_str().unwrap_or_else(|| panic!("{applied}"));
    assert_eq!(t1_contest::git(&machine, &["show", &format!("{branch}:answer")]), "42\n");
    client.leave();
}

/// The servers of an agent that a host has started end as they do elsewhere: they are told, and waited for.
#[test]
fn the_servers_of_an_agent_end_with_it() {
    let stage = Stage::on_any_wire(Play::of([
        Step::call("tool_search", json!({"query": "echo"})),
        Step { times: Some(9), ..Step::text("Done.") },
    ]));
    let machine = &stage.machine;
    let faulty = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/it/faulty.py");
    let left = format!("left={}", crate::text(&machine.path("left")));
    let file = json!({"mcpServers": {"faulty": {"command": "python3", "args": [faulty, left]}}});
    machine.write(".config/junto/mcp.json", file.to_string());
    let mut client = Client::start(machine, &[]);
    client.call("start", json!({"task": "Use it.", "wait": true}));
    drop(client.input.take());
    assert!(client.child.wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(machine.path("left")).unwrap_or_default(), "left\n");
}
