//! When an agent begins a new conversation, and who takes over when its provider cannot work.

use serde_json::{Value, json};

use crate::Machine;
use crate::agents::{Agents, each};

/// Two programs that are run like `claude`: `claude` itself, and `spare`.
const SPARE: &str = "[runners.spare]\nlike = \"claude\"\ncommand = [\"HOME/spare/claude\"]\n";

fn with_spare(config: &str) -> Agents {
    let machine = Machine::new();
    let home = machine.path("").display().to_string();
    let text = format!("{config}{SPARE}").replace("HOME", home.trim_end_matches('/'));
    machine.write(".config/junto/config.toml", text);
    let agents = Agents::unnamed(machine);
    agents.program("spare");
    agents
}

fn providers(agents: &Agents) -> Vec<(Value, Value)> {
    let runs = &agents.status()["runs"];
    each(runs, "provider").into_iter().zip(each(runs, "status")).collect()
}

#[test]
fn a_conversation_that_got_too_long_is_not_gone_on_with() {
    // The fake's conversations are 1000 tokens long.
    for (limit, fresh) in [("1000", Value::Null), ("999", json!("no-session-handle"))] {
        let agents = Agents::set_up(&["--max-context", limit]);
        let first = agents.send("One.");
        assert_eq!(first.err.contains("max-context-length:1000>999"), limit == "999", "{first:#?}");
        agents.send("Two.").ok();
        assert_eq!(agents.status()["runs"][0]["fresh"], fresh, "{limit}");
        assert_eq!(agents.calls()[1].resumed().is_some(), limit == "1000");
    }
}

#[test]
fn its_length_counts_also_if_the_run_failed() {
    let agents = Agents::set_up(&["--max-context", "999"]);
    // It answers, and then it ends without a result.
    agents.mode("late");
    assert_eq!(agents.send("One.").code, Some(1));
    let status = agents.status();
    assert_eq!(
        (&status["runs"][0]["status"], &status["runs"][0]["context"]),
        (&json!("failed"), &Value::Null)
    );
    agents.mode("");
    agents.run(&["agent", "send", "nex"]).ok();
    assert_eq!(agents.calls()[1].resumed(), None);
    // Without a limit the same conversation goes on.
    let agents = Agents::new();
    agents.mode("late");
    agents.send("One.");
    agents.mode("");
    agents.run(&["agent", "send", "nex"]).ok();
    let calls = agents.calls();
    assert_eq!(calls[1].resumed(), Some(calls[0].session.as_str()));
}

#[test]
fn a_conversation_that_was_left_is_not_gone_on_with() {
    let agents = Agents::set_up(&["--idle-timeout", "1ms"]);
    agents.send("One.").ok();
    agents.send("Two.").ok();
    assert_eq!(agents.status()["runs"][0]["fresh"], "idle-timeout-ms:1");
    agents.run(&["agent", "set", "nex", "--idle-timeout", "1h"]).ok();
    agents.send("Three.").ok();
    assert_eq!(agents.status()["runs"][0]["fresh"], Value::Null);
    let elsewhere = agents.run(&["agent", "set", "nex", "--workspace", ".."]);
    assert!(elsewhere.err.contains("begins a new conversation"), "{elsewhere:#?}");
    agents.send("Four.").ok();
    assert_eq!(agents.status()["runs"][0]["fresh"], "no-session-handle");
}

#[test]
fn another_provider_takes_the_same_call() {
    let agents = with_spare("");
    agents.run(&["agent", "add", "nex", "--fallback", "spare", "--model", "opus"]).ok();
    agents.mode("auth");
    let run = agents.send("One.");
    assert_eq!((run.code, run.out.as_str()), (Some(0), "I was told: One.\n"), "{run:#?}");
    assert!(
        run.err.contains("claude is left alone until") && run.err.contains("spare takes over"),
        "{run:#?}"
    );
    let of = |provider: &str, status: &str| (json!(provider), json!(status));
    assert_eq!(providers(&agents), [of("spare", "completed"), of("claude", "failed")]);
    let status = agents.status();
    assert_eq!((&status["runs"][1]["class"], &status["runs"][0]["model"]), (&json!("auth"), &Value::Null));
    assert_eq!(each(&status["queue"], "id"), Vec::<Value>::new());

    // The next process knows, and does not ask the one that failed.
    agents.mode("");
    assert_eq!(agents.send("Two.").ok(), "I was told: Two.\n");
    assert_eq!(providers(&agents)[0], of("spare", "completed"));
    assert_eq!(agents.calls().len(), 1, "claude was asked once");
    let list: Value = serde_json::from_str(&agents.run(&["agent", "list", "--json"]).ok()).unwrap();
    assert_eq!(
        (each(&list["suppressed"], "provider"), each(&list["suppressed"], "class")),
        (vec![json!("claude")], vec![json!("auth")])
    );
    // Each has a conversation of its own.
    let sessions = &agents.status()["sessions"];
    assert_eq!(each(sessions, "provider"), ["claude", "spare"]);
}

#[test]
fn the_configuration_may_name_who_takes_over() {
    let agents = with_spare("fallback = [\"spare\"]\n");
    agents.run(&["agent", "add", "nex"]).ok();
    agents.run(&["agent", "add", "alone", "--fallback", "none"]).ok();
    agents.mode("auth");
    assert_eq!(agents.send("One.").ok(), "I was told: One.\n");
    let alone = agents.run(&["agent", "send", "alone", "Two."]);
    alone.fails(3, &["nobody can work on input", "claude is left alone until", "it is kept"]);
}

#[test]
fn an_agent_without_a_name_gives_way_too() {
    let agents = with_spare("fallback = [\"spare\"]\n");
    agents.mode("auth");
    let run = agents.run(&["run", "--agent", "claude", "One."]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "I was told: One.\n"), "{run:#?}");
    assert!(run.err.contains("(auth)") && run.err.contains("spare takes over"), "{run:#?}");
    agents.mode("");
    let next = agents.run(&["run", "--agent", "claude", "Two."]);
    assert_eq!((next.out.as_str(), agents.calls().len()), ("I was told: Two.\n", 1), "{next:#?}");
    let alone = Agents::unnamed(Machine::new());
    alone.mode("auth");
    for asked in 1..3 {
        assert_eq!(alone.run(&["run", "--agent", "claude", "One."]).code, Some(3));
        assert_eq!(alone.calls().len(), asked, "who was named is asked if nobody else can be");
    }
}

/// It has said something when it fails.
#[test]
fn what_was_begun_is_not_done_again_by_another() {
    let agents = with_spare("fallback = [\"spare\"]\n");
    agents.mode("begun");
    let run = agents.run(&["run", "--agent", "claude", "One."]);
    assert_eq!((run.code, run.out.as_str()), (Some(3), "I was told: One.\n"), "{run:#?}");
    assert!(run.err.contains("(auth)") && !run.err.contains("takes over"), "{run:#?}");
    assert!(!agents.machine.path("spare/calls").exists());

    let agents = with_spare("fallback = [\"spare\"]\n");
    agents.run(&["agent", "add", "nex"]).ok();
    agents.mode("begun");
    assert_eq!(agents.send("One.").code, Some(3));
    assert_eq!(providers(&agents), [(json!("claude"), json!("failed"))]);
    // It waits for the one that knows what was done, and nothing else waits for it.
    assert_eq!(agents.send("Two.").ok(), "I was told: Two.\n");
    let status = agents.status();
    assert_eq!(
        (each(&status["queue"], "text"), each(&status["queue"], "attempts")),
        (vec![json!("One.")], vec![json!(0)])
    );
    assert_eq!(status["queue"][0]["due"], status["suppressed"][0]["until"], "{status}");
    assert_eq!(providers(&agents)[0], (json!("spare"), json!("completed")));
}

#[test]
fn those_who_take_over_have_what_is_left() {
    for named in [false, true] {
        let agents = with_spare("fallback = [\"spare\"]\n");
        agents.run(&["agent", "add", "nex"]).ok();
        agents.mode("dear");
        let who = if named { "nex" } else { "claude" };
        let run = agents.run(&["run", "--agent", who, "--max-usd", "1", "One."]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "I was told: One.\n"), "{run:#?}");
        let most = |folder: &str| {
            let calls = std::fs::read_to_string(agents.machine.path(&format!("{folder}/calls"))).unwrap();
            let (_, after) = calls.split_once("--max-budget-usd ").unwrap();
            after.split([' ', '|']).next().unwrap().to_owned()
        };
        assert_eq!((most("bin"), most("spare")), ("1".to_owned(), "0.1".to_owned()));
    }
}

#[test]
fn what_nobody_can_do_now_waits() {
    let agents = Agents::new();
    agents.mode("auth");
    let run = agents.send("One.");
    assert_eq!(run.code, Some(3), "{run:#?}");
    let status = agents.status();
    assert_eq!(
        (each(&status["queue"], "state"), each(&status["queue"], "attempts")),
        (vec![json!("waiting")], vec![json!(0)])
    );
    agents.run(&["agent", "send", "nex"]).fails(3, &["claude is left alone until", "(auth)"]);
    assert_eq!(agents.calls().len(), 1);
}

#[test]
fn a_program_that_is_not_there_is_passed_over() {
    let agents = with_spare("");
    std::fs::remove_file(agents.machine.path("bin/claude")).unwrap();
    let added = agents.run(&["agent", "add", "nex"]);
    assert!(added.err.contains("claude is not installed"), "{added:#?}");
    agents.send("One.").fails(3, &["nobody can work on input", "claude is not installed"]);
    agents.run(&["agent", "set", "nex", "--fallback", "spare"]).ok();
    let run = agents.run(&["agent", "send", "nex"]);
    assert_eq!(run.out, "I was told: One.\n", "{run:#?}");
}

/// It seems to be there, and what it needs is not.
#[test]
fn a_program_that_cannot_be_started_is_looked_for_again_each_time() {
    let agents = with_spare("fallback = [\"spare\"]\n");
    let program = agents.machine.path("bin/claude");
    let whole = std::fs::read(&program).unwrap();
    std::fs::write(&program, "#!/nowhere/at/all\n").unwrap();
    agents.run(&["agent", "add", "nex"]).ok();
    for run in [agents.send("One."), agents.run(&["run", "--agent", "claude", "One."])] {
        assert_eq!((run.code, run.out.as_str()), (Some(0), "I was told: One.\n"), "{run:#?}");
        assert!(run.err.contains("spare takes over") && !run.err.contains("left alone"), "{run:#?}");
    }
    assert_eq!(agents.calls().len(), 0);
    std::fs::write(&program, whole).unwrap();
    assert_eq!(agents.send("Two.").ok(), "I was told: Two.\n");
    assert_eq!(agents.calls().len(), 1, "it is there now");
}
