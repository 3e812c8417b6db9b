//! How runs of command-line agents end, and what is said of them.

use std::io::{BufRead, BufReader, Read};

use serde_json::{Value, json};

use crate::t1_interrupt::{interrupt, start};
use crate::t1_session_cost::cost;
use crate::{Machine, text, usual_path};

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s-1","model":"claude-x"}"#;

/// A machine with a `claude` that begins a session and then does this.
fn claude(then: &str) -> Machine {
    let machine = Machine::new();
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 2.1.325; exit 0; fi\ncat >/dev/null\necho '{INIT}'\n{then}\n"
    );
    machine.program("bin/claude", &script);
    let path = format!("{}:{}", text(&machine.path("bin")), usual_path());
    machine.with("PATH", &path)
}

/// A result that tells what two models used.
fn result(text: &str) -> String {
    let used = r#"{"inputTokens":10,"outputTokens":1,"costUSD":0.01}"#;
    let since = format!(r#"{{"claude-x":{used},"claude-small":{used}}}"#);
    format!(
        r#"echo '{{"type":"result","subtype":"success","is_error":false,"result":"{text}","modelUsage":{since},"model_usage_since_last_result":{since}}}'"#
    )
}

/// A tool that ran.
fn tool(id: &str) -> String {
    format!(
        r#"echo '{{"type":"assistant","message":{{"id":"m-{id}","model":"claude-x","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}]}}}}'
echo '{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","content":"ok"}}]}}}}'"#
    )
}

#[test]
fn a_second_interrupt_kills_and_tells_the_end() {
    let machine = claude("trap '' INT TERM HUP\nwhile :; do sleep 1; done");
    let mut child = start(&machine, &["run", "--kind", "claude", "--json", "Hi."]);
    drop(child.stdin.take());
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut seen = String::new();
    while !seen.contains("\"handle\"") {
        assert_ne!(out.read_line(&mut seen).unwrap(), 0, "{seen}");
    }
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    interrupt(&child);
    while !said.contains("waiting for the agent to end") {
        assert_ne!(err.read_line(&mut said).unwrap(), 0, "{said}");
    }
    interrupt(&child);
    out.read_to_string(&mut seen).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{seen}");
    let types: Vec<Value> = seen
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].clone())
        .filter(|kind| ["run_end", "input_end", "session_end"].iter().any(|end| kind == end))
        .collect();
    assert_eq!(types, ["run_end", "input_end", "session_end"]);
    let sessions: Value = serde_json::from_str(&machine.run(&["sessions", "--all", "--json"]).ok()).unwrap();
    let session = &sessions["sessions"][0];
    assert_eq!((&session["state"], &session["cost"]["basis"]), (&json!("ended"), &json!("unknown")));
}

#[test]
fn all_that_its_models_used_is_in_the_ledger() {
    let machine = claude(&result("Hello."));
    assert_eq!(machine.run(&["run", "--kind", "claude", "Hi."]).ok(), "Hello.\n");
    let all = cost(&machine, &["--by", "model"]);
    assert_eq!((&all["total"]["calls"], &all["total"]["cost"]["usd"]), (&json!(2), &json!(0.02)));
}

/// A thread that was cut off has no total that what comes after could be told apart from.
#[test]
fn who_does_not_tell_what_it_used_has_answered_all_the_same() {
    let machine = Machine::new();
    let thread = r#"{"type":"thread.started","thread_id":"01a1dcb5-61b1-7d82-a018-db38b61aba13"}"#;
    let said = r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Hello."}}"#;
    let end = r#"{"type":"turn.completed","usage":{"input_tokens":1000,"output_tokens":50}}"#;
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo codex-cli 0.166.0; exit 0; fi\ncat >/dev/null\necho '{thread}'\n\
         case \"$*\" in *resume*) ;; *) exit 1 ;; esac\necho '{said}'\necho '{end}'\n"
    );
    machine.program("bin/codex", &script);
    let path = format!("{}:{}", text(&machine.path("bin")), usual_path());
    let machine = machine.with("PATH", &path);
    machine.run(&["run", "--agent", "codex", "Hi."]);
    let run = machine.run(&["run", "--agent", "codex", "--resume", "latest", "Hi."]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Hello.\n"), "{run:#?}");
    assert!(run.err.contains("a model that is not named · ") && run.err.contains("cost unknown"), "{run:#?}");
}

#[test]
fn rounds_of_its_tools_are_counted() {
    let machine = claude(&[tool("1"), tool("2"), result("Done.")].join("\n"));
    let run = machine.run(&["run", "--kind", "claude", "Hi."]);
    assert!(run.err.contains(" · 2 rounds · "), "{}", run.err);
}
