//! What an agent is told is not lost, and it does one thing at a time.

use serde_json::{Value, json};

use crate::agents::{Agents, each, ended, until};
use crate::t1_run::of_type;
use crate::t1_sessions::lines;

#[test]
fn a_run_that_fails_keeps_its_input() {
    let agents = Agents::new();
    agents.mode("crash");
    let run = agents.send("Do it.");
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{run:#?}");
    assert!(run.err.contains("is kept") && run.err.contains("junto agent send nex"), "{run:#?}");
    let status = agents.status();
    assert_eq!(
        (each(&status["queue"], "state"), each(&status["queue"], "attempts")),
        (vec![json!("waiting")], vec![json!(1)])
    );
    assert_eq!((&status["runs"][0]["status"], &status["health"]), (&json!("failed"), &json!("error")));
    assert_eq!(status["runs"][0]["class"], "crashed");

    // What comes after it does not wait for it, and does not lose it.
    agents.mode("");
    assert_eq!(agents.send("Something else.").ok(), "I was told: Something else.\n");
    assert_eq!(each(&agents.status()["queue"], "text"), ["Do it."]);
    assert_eq!(agents.run(&["agent", "send", "nex"]).ok(), "I was told: Do it.\n");
    assert_eq!(agents.status()["queue"], json!([]));
}

#[test]
fn what_fails_too_often_is_given_up_and_kept() {
    let agents = Agents::new();
    agents.mode("crash");
    agents.send("Do it.");
    agents.run(&["agent", "send", "nex"]);
    let third = agents.run(&["agent", "send", "nex"]);
    assert!(third.err.contains("is given up") && third.err.contains("--again"), "{third:#?}");
    let again = agents.run(&["agent", "send", "nex"]);
    assert!(again.code == Some(0) && again.err.contains("nothing waits for nex"), "{again:#?}");
    assert_eq!((agents.calls().len(), &agents.status()["given_up"]), (3, &json!(1)));
    agents.mode("");
    assert_eq!(agents.run(&["agent", "send", "nex", "--again"]).ok(), "I was told: Do it.\n");
}

#[test]
fn the_queue_survives_a_process_that_is_killed() {
    let agents = Agents::new();
    let mut child = agents.start_held("One.");
    agents.run(&["agent", "send", "nex", "Two."]).ok();
    until("the run has a journal with its session", || {
        let journal = agents.status()["runs"][0]["journal"].clone();
        let Some(journal) = journal.as_str() else { return false };
        agents.run(&["export", "--format", "json", journal]).out.contains(&agents.calls()[0].session)
    });
    assert_eq!(agents.status()["pid"], child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    let status = agents.status();
    assert_eq!(
        (&status["state"], &status["runs"][0]["status"]),
        (&json!("idle"), &json!("running")),
        "nobody has looked yet"
    );
    // What the killed one left behind ends by itself.
    agents.mode("");
    agents.open_gate();

    let run = agents.run(&["agent", "send", "nex"]);
    assert_eq!(run.out, "I was told: One.\nI was told: Two.\n", "{run:#?}");
    assert!(run.err.contains("was cut off"), "{run:#?}");
    let status = agents.status();
    assert_eq!(each(&status["runs"], "status"), ["completed", "completed", "failed"]);
    assert_eq!(each(&status["runs"], "class"), [Value::Null, Value::Null, json!("crashed")]);
    let calls = agents.calls();
    let first = Some(calls[0].session.as_str());
    assert_eq!(
        (calls[1].resumed(), calls[2].resumed()),
        (first, first),
        "the session is known from the journal"
    );
}

#[test]
fn an_agent_does_one_thing_at_a_time() {
    let agents = Agents::new();
    let child = agents.start_held("One.");
    let second = agents.run(&["agent", "send", "nex", "Two."]);
    assert_eq!((second.code, second.out.as_str()), (Some(0), ""), "{second:#?}");
    let pid = format!("process {} is at work", child.id());
    assert!(second.err.contains("is queued") && second.err.contains(&pid), "{second:#?}");
    let third = agents.run(&["agent", "send", "nex", "--later", "--json", "Three."]).ok();
    let told: Value = serde_json::from_str(&third).unwrap();
    assert_eq!((&told["waiting"], &told["running_pid"]), (&json!(2), &json!(child.id())));
    agents.run(&["agent", "remove", "nex"]).fails(1, &["runs this agent", "junto agent abort"]);
    assert_eq!(each(&agents.status()["queue"], "state"), ["leased", "waiting", "waiting"]);
    agents.mode("");
    agents.open_gate();
    let first = ended(child);
    assert_eq!(
        (first.code, first.out.as_str()),
        (Some(0), "I was told: One.\nI was told: Two.\nI was told: Three.\n")
    );
    let tasks: Vec<String> = agents.calls().into_iter().map(|call| call.task).collect();
    assert_eq!(tasks, ["One.", "Two.", "Three."]);
    assert!(!agents.machine.path("bin/overlaps").exists());
}

#[test]
fn a_run_waits_for_its_answer_whoever_works_on_it() {
    let agents = Agents::new();
    let child = agents.start_held("One.");
    let text = agents.start(&["run", "--agent", "nex", "Two."]);
    until("the second is queued", || agents.status()["waiting"] == 1);
    let json = agents.start(&["run", "--agent", "nex", "--json", "Three."]);
    until("the third is queued", || agents.status()["waiting"] == 2);
    agents.mode("");
    agents.open_gate();
    assert_eq!(ended(text).ok(), "I was told: Two.\n");
    let events = lines(&ended(json).ok());
    assert_eq!(of_type(&events, "input_end")[0]["text"], "I was told: Three.");
    assert_eq!(ended(child).code, Some(0));
}

#[test]
fn a_run_prints_its_own_answer_and_no_other() {
    let agents = Agents::new();
    let later = |text: &str| agents.run(&["agent", "send", "nex", "--later", text]).ok();
    later("One.");
    let run = agents.run(&["run", "--agent", "nex", "Two."]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "I was told: Two.\n"), "{run:#?}");
    assert!(run.err.contains("input 1 is another command's"), "{run:#?}");
    later("Three.");
    let events = lines(&agents.run(&["run", "--agent", "nex", "--json", "Four."]).ok());
    let ends = of_type(&events, "input_end");
    assert_eq!(ends.iter().map(|end| &end["text"]).collect::<Vec<_>>(), ["I was told: Four."]);
    let tasks: Vec<String> = agents.calls().into_iter().map(|call| call.task).collect();
    assert_eq!(tasks, ["One.", "Two.", "Three.", "Four."], "the others are done all the same");
}

#[test]
fn an_input_that_was_not_reached_stays() {
    for (signal, left) in [("INT", &["Two."][..]), ("TERM", &["One.", "Two."])] {
        let agents = Agents::new();
        agents.run(&["agent", "send", "nex", "--later", "One."]).ok();
        agents.mode("hold");
        let child = agents.start(&["run", "--agent", "nex", "Two."]);
        until("the first is begun", || agents.calls().len() == 1);
        crate::t1_interrupt::signal(&child, signal);
        let run = ended(child);
        assert_eq!((run.code, run.out.as_str()), (Some(130), ""), "{run:#?}");
        assert!(run.err.contains("input 2 stays in the queue of nex"), "{run:#?}");
        assert!(!run.err.contains("taken back"), "{run:#?}");
        assert_eq!(each(&agents.status()["queue"], "text"), left);
    }
}

#[test]
fn the_time_of_a_command_counts_from_its_start() {
    let agents = Agents::new();
    let child = agents.start_held("One.");
    let limit = ["run", "--agent", "nex", "--timeout", "500ms"];
    let late = |text: &str| {
        let told = ["at most 500ms in all", "stays in the queue of nex"];
        agents.run(&[&limit[..], &[text]].concat()).fails(4, &told);
    };
    // Behind another process.
    late("Two.");
    agents.mode("");
    agents.open_gate();
    assert_eq!(ended(child).code, Some(0));
    // And behind what another has queued, whose fault that is not.
    agents.run(&["agent", "send", "nex", "--later", "Three."]).ok();
    agents.mode("hold");
    late("Four.");
    let status = agents.status();
    assert_eq!(
        (each(&status["queue"], "text"), each(&status["queue"], "attempts")),
        (vec![json!("Three."), json!("Four.")], vec![json!(0), json!(0)])
    );
    assert_eq!(each(&status["queue"], "state"), ["waiting", "waiting"]);
}

#[test]
fn what_a_killed_process_had_can_be_taken_back() {
    let agents = Agents::new();
    let abort = |flags: &[&str]| -> Value {
        let out = agents.run(&[&["agent", "abort", "nex", "--json"], flags].concat()).ok();
        serde_json::from_str(&out).unwrap()
    };
    let mut child = agents.start_held("One.");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(agents.run(&["agent", "status", "nex"]).ok().contains("1 was cut off, and waits: One."));
    assert_eq!((&abort(&[])["waiting"], &agents.status()["waiting"]), (&json!(1), &json!(1)));
    let list = agents.run(&["agent", "list"]).ok();
    let row: Vec<&str> = list.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..3], ["nex", "idle", "1"], "{list}");
    let told = abort(&["--all"]);
    assert_eq!((&told["discarded"], &told["waiting"]), (&json!(1), &json!(0)));
    agents.mode("");
    agents.open_gate();
    let run = agents.run(&["agent", "send", "nex"]);
    assert!(run.code == Some(0) && run.err.contains("nothing waits for nex"), "{run:#?}");
    assert_eq!((agents.calls().len(), &agents.status()["queue"]), (1, &json!([])));
    // What was given up does not wait.
    agents.mode("crash");
    agents.send("Two.");
    agents.run(&["agent", "send", "nex"]);
    agents.run(&["agent", "send", "nex"]);
    assert_eq!((&agents.status()["given_up"], &abort(&[])["waiting"]), (&json!(1), &json!(0)));
}

#[test]
fn what_an_agent_does_can_be_stopped() {
    let agents = Agents::new();
    let idle = agents.run(&["agent", "abort", "nex"]);
    assert!(idle.code == Some(0) && idle.err.contains("nex is not at work"), "{idle:#?}");
    let child = agents.start_held("One.");
    agents.run(&["agent", "send", "nex", "Two."]).ok();
    let told: Value = serde_json::from_str(&agents.run(&["agent", "abort", "nex", "--json"]).ok()).unwrap();
    assert_eq!((&told["agent"], &told["waiting"], &told["discarded"]), (&json!("nex"), &json!(1), &json!(0)));
    assert_eq!(ended(child).code, Some(130));
    let status = agents.status();
    assert_eq!(
        (&status["runs"][0]["status"], &status["runs"][0]["error"]),
        (&json!("cancelled"), &json!("abort"))
    );
    assert_eq!(
        each(&status["queue"], "text"),
        ["Two."],
        "what was stopped is not tried again; the rest waits"
    );
    let told: Value =
        serde_json::from_str(&agents.run(&["agent", "abort", "nex", "--all", "--json"]).ok()).unwrap();
    assert_eq!((&told["run"], &told["discarded"], &told["waiting"]), (&Value::Null, &json!(1), &json!(0)));
    agents.mode("");
    let again = agents.send("Three.");
    assert_eq!(again.out, "I was told: Three.\n", "{again:#?}");
}

#[test]
fn a_process_that_is_told_to_end_leaves_its_input_to_the_next() {
    let agents = Agents::new();
    let child = agents.start_held("One.");
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(ended(child).code, Some(130));
    let status = agents.status();
    assert_eq!(
        (each(&status["queue"], "state"), each(&status["queue"], "attempts")),
        (vec![json!("waiting")], vec![json!(0)])
    );
    agents.mode("");
    assert_eq!(agents.run(&["agent", "send", "nex"]).ok(), "I was told: One.\n");
}

#[test]
fn processes_that_race_do_everything_once() {
    const PROCESSES: usize = 6;
    const EACH: usize = 3;
    let agents = Agents::new();
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let agents = &agents;
            scope.spawn(move || {
                for number in 0..EACH {
                    let run = agents.send(&format!("{process}-{number}"));
                    assert_eq!(run.code, Some(0), "{run:#?}");
                }
            });
        }
    });
    let mut tasks: Vec<String> = agents.calls().into_iter().map(|call| call.task).collect();
    tasks.sort();
    let expected: Vec<String> = (0..PROCESSES)
        .flat_map(|process| (0..EACH).map(move |number| format!("{process}-{number}")))
        .collect();
    assert_eq!(tasks, expected);
    assert_eq!(agents.status()["queue"], json!([]), "the last to leave looks once more");
    assert!(!agents.machine.path("bin/overlaps").exists(), "two ran at once");
}
