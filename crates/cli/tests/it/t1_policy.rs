//! What agents may do: by mode, by rules, and what is told of it.

use std::path::Path;

use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::Machine;
use crate::stage::Stage;
use crate::t1_commands::Session;
use crate::t1_interrupt::start;

/// A file that no test may make.
const OUTSIDE: &str = "/usr/local/share/junto-never";

fn write(path: &str) -> Step {
    Step::call("write_file", json!({"file_path": path, "content": "x"}))
}

fn shell(line: &str) -> Step {
    Step::call("shell", json!({"command": line}))
}

fn says(step: Step) -> Stage {
    Stage::on_any_wire(Play::of([step, Step::text("It says: {{last_result}}")]))
}

#[test]
fn without_a_terminal_what_would_be_asked_is_refused_with_a_reason() {
    for step in [write(OUTSIDE), shell(&format!("touch {OUTSIDE}"))] {
        let stage = says(step);
        let run = stage.machine.run(&["run", "Work."]);
        assert_eq!(run.code, Some(0), "{run:#?}");
        assert!(run.out.contains("It says: not allowed: this needs leave ("), "{run:#?}");
        assert!(!Path::new(OUTSIDE).exists());
    }
    let stage = says(write("here.txt"));
    assert_eq!(stage.machine.run(&["run", "Work."]).code, Some(0));
    assert!(stage.machine.path("project/here.txt").exists(), "the folder is free");
}

#[test]
fn each_mode_lets_happen_what_it_says() {
    let check = |mode: &str, step: Step, told: &str, made: bool| {
        let stage = says(step);
        let run = stage.machine.run(&["run", "--policy", mode, "Work."]);
        assert_eq!(run.code, Some(0), "{run:#?}");
        assert!(run.err.contains(&format!(" · policy {mode}")), "{run:#?}");
        assert!(run.out.contains(told), "{mode}: {run:#?}");
        assert_eq!(stage.machine.path("project/made.txt").exists(), made, "{mode}: {run:#?}");
    };
    check("read-only", write("made.txt"), "not allowed by the policy", false);
    check("read-only", shell("ls -a"), ".git", false);
    check("ask", write("made.txt"), "not allowed", false);
    check("ask", shell("ls -a"), ".git", false);
    check("workspace", write("made.txt"), "created", true);
    check("full", shell("touch made.txt"), "exit code 0", true);
}

/// What the kernel holds, whatever the line looks like.
#[test]
fn a_line_that_hides_what_it_does_is_held() {
    let hidden = "p=/usr/local/share; eval \"touch $p/junto-never\"; echo tried";
    let stage = says(shell(hidden));
    let run = stage.machine.run(&["run", "Work."]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(!Path::new(OUTSIDE).exists(), "{run:#?}");
}

#[test]
fn rules_of_the_user_hold_in_every_mode() {
    let rules = "[[policy.rule]]\ncommand = \"touch *\"\ndecision = \"deny\"\nreason = \"no touching\"\n";
    for mode in ["workspace", "full"] {
        let stage = says(shell("echo a && touch made.txt"));
        let config = stage.machine.path(".config/junto/config.toml");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, format!("{text}\n{rules}")).unwrap();
        let out = stage.machine.run(&["run", "--policy", mode, "Work."]).ok();
        assert!(out.contains("not allowed by the policy") && out.contains("no touching"), "{out}");
        assert!(!stage.machine.path("project/made.txt").exists());
    }
}

#[test]
fn explanations_say_what_decides_and_why() {
    let machine = Machine::configured(
        "[policy]\nmode = \"workspace\"\n\n[[policy.rule]]\ncommand = \"rm *\"\ndecision = \"deny\"\nreason = \"keep it\"\n",
    );
    let out = machine.run(&["policy", "explain", "ls $(rm -rf z)"]).ok();
    assert!(out.starts_with("deny"), "{out}");
    assert!(out.contains("rm -rf z") && out.contains("config.toml:4") && out.contains("keep it"), "{out}");
    let json = machine.run(&["policy", "explain", "--policy", "ask", "--json", "touch x"]).ok();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["decision"], &json["mode"]), (&json!("ask"), &json!("ask")));
    assert!(json["proposed"][0].as_str().unwrap().starts_with("allow write \""), "{json}");
    assert_eq!(json["steps"][0]["by"]["mode"], "ask", "{json}");
    for line in [&["ls", "--mode", "ask"], &["--mode=ask", "ls", "--json"]] {
        let told = machine.run(&[&["policy", "explain"], &line[..]].concat());
        told.fails(2, &["unexpected argument '--mode", "'--policy'"]);
    }
}

#[test]
fn a_rule_is_added_once_and_shown() {
    let machine = Machine::configured("# mine\nmodel = \"m\"\n");
    let rule = "allow command \"make *\"";
    assert!(machine.run(&["policy", "add", rule]).err.contains("added to"));
    assert!(machine.run(&["policy", "add", rule]).err.contains("was already in"));
    let out = machine.run(&["policy", "show"]).ok();
    assert!(out.contains("policy workspace") && out.contains(&format!("{rule}  # ")), "{out}");
    machine.run(&["policy", "add", "alow command \"x\""]).fails(2, &["did you mean `allow`?"]);
    let text = std::fs::read_to_string(machine.path(".config/junto/config.toml")).unwrap();
    assert!(text.starts_with("# mine\nmodel = \"m\"\n"), "{text}");
}

#[test]
fn past_sessions_are_judged_by_new_rules() {
    let steps = [shell("touch made.txt"), shell("ls"), Step::text("Done.")];
    let stage = Stage::on_any_wire(Play::of(steps));
    stage.machine.run(&["run", "Work."]).ok();
    let out = stage.machine.run(&["policy", "check", "--history"]).ok();
    assert_eq!(out, "2 calls of 1 sessions judged, 0 would fare otherwise\n");
    stage.machine.run(&["policy", "add", "deny command \"touch *\""]).ok();
    let out = stage.machine.run(&["policy", "check", "--history"]).ok();
    assert!(out.contains("shell touch made.txt\n    allowed then, deny now: rule deny command"), "{out}");
    assert!(out.ends_with("2 calls of 1 sessions judged, 1 would fare otherwise\n"), "{out}");
    let json = stage.machine.run(&["policy", "check", "--history", "--policy", "ask", "--json"]).ok();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["judged"], json["changes"].as_array().unwrap().len()), (&json!(2), 1), "{json}");
}

/// A program is asked with an event that has everything, and its answer may bring a rule.
#[test]
fn a_program_answers_with_a_rule() {
    let steps = [shell("touch one.txt"), shell("touch two.txt"), Step::text("Done.")];
    let stage = Stage::on_any_wire(Play::of(steps));
    let flags = ["run", "--json", "--input", "json", "--policy", "ask", "--approval-timeout", "1h", "Work."];
    let mut session = Session::of(start(&stage.machine, &flags));
    let ask = session.wait_for("ask");
    let request = &ask["request"];
    assert_eq!(request["actions"][0]["line"], "touch one.txt");
    assert!(request["reason"].is_string() && request["expires"].is_string(), "{request}");
    let answer = |rule: &Value| {
        let decision = json!({"answer": "allow", "remember": rule});
        json!({"command": "answer", "ask": request["ask"], "decision": decision})
    };
    // A rule that makes no sense is told, and the question is open still.
    session.tell(answer(&json!("nonsense")));
    session.tell(answer(&json!("allow command \"touch *\"")));
    session.wait_for("input_end");
    drop(session.child.stdin.take());
    let (code, out, err) = session.end();
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("the rule cannot be kept"), "{err}");
    let asked = out.iter().filter(|event| event["type"] == "ask").count();
    assert_eq!(asked, 1, "{out:?}");
    assert!(stage.machine.path("project/two.txt").exists());
}

#[test]
fn nothing_is_enforced_silently_not() {
    let stage = says(shell("echo hello"));
    let run = stage.machine.run(&["run", "--sandbox", "off", "Work."]);
    assert!(run.err.contains(" · policy workspace, not enforced\n"), "{run:#?}");
    let run = stage.machine.run(&["run", "--policy", "full", "Work."]);
    assert!(run.err.contains(" · policy full\n"), "{run:#?}");
}

#[test]
fn a_link_in_a_line_is_followed() {
    let machine = Machine::new();
    let project = machine.path("project");
    std::fs::create_dir_all(&project).unwrap();
    std::os::unix::fs::symlink("/usr/local/share", project.join("out")).unwrap();
    let explained = |line: &str| machine.run(&["policy", "explain", line]).out;
    assert!(explained("touch in").starts_with("allow"), "{}", explained("touch in"));
    assert!(explained("touch out/x").starts_with("ask"), "{}", explained("touch out/x"));
    assert!(explained("rm out").starts_with("allow"), "{}", explained("rm out"));
}

/// An agent that could write its user's configuration would decide what it may do tomorrow.
#[test]
fn the_users_configuration_is_left_alone_where_a_variable_has_put_it_into_the_project() {
    let given = std::env::var("JUNTO_PEER_BWRAP").expect("run the tests with `cargo xtask test`");
    let folder = Path::new(&given).parent().unwrap().display().to_string();
    for sandbox in ["auto", "off"] {
        for step in [
            Step::call("read_file", json!({"file_path": "mine.toml"})),
            write("mine.toml"),
            shell("cat mine.toml"),
            shell("cat m*.toml"),
            shell("echo x > mine.toml"),
            shell("rm mine.toml"),
        ] {
            let told = format!("{step:?}");
            let stage = says(step);
            let text = std::fs::read_to_string(stage.machine.path(".config/junto/config.toml")).unwrap();
            let text = format!("# nobody reads this\n{text}");
            let machine = stage.machine.with("PATH", &format!("{folder}:/usr/local/bin:/usr/bin:/bin"));
            machine.write("project/mine.toml", &text);
            let machine = machine.with("JUNTO_CONFIG", "mine.toml");
            let run = machine.run(&["run", "--sandbox", sandbox, "Work."]);
            assert_eq!(run.code, Some(0), "{told}: {run:#?}");
            assert!(!run.out.contains("nobody reads this"), "{sandbox} {told}: {run:#?}");
            let now = std::fs::read_to_string(machine.path("project/mine.toml")).unwrap_or_default();
            assert_eq!(now, text, "{sandbox} {told}");
        }
    }
    let stage = says(write("other.toml"));
    let text = std::fs::read_to_string(stage.machine.path(".config/junto/config.toml")).unwrap();
    stage.machine.write("project/mine.toml", &text);
    let machine = stage.machine.with("JUNTO_CONFIG", "mine.toml");
    machine.run(&["run", "--sandbox", "off", "Work."]).ok();
    assert!(machine.path("project/other.toml").exists(), "the folder around it is free");
}

/// What a program does that nobody looks into, rules hold all the same.
#[test]
fn what_a_rule_keeps_from_being_read_is_not_there_in_the_sandbox() {
    let given = std::env::var("JUNTO_PEER_BWRAP").expect("run the tests with `cargo xtask test`");
    let folder = Path::new(&given).parent().unwrap().display().to_string();
    let stage = says(shell("python3 -c \"print(open('open/x').read()); print(open('hidden/x').read())\""));
    let config = stage.machine.path(".config/junto/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let rule = "[[policy.rule]]\nread = \"hidden/**\"\ndecision = \"deny\"\n";
    std::fs::write(&config, format!("{text}\n{rule}")).unwrap();
    let machine = stage.machine.with("PATH", &format!("{folder}:/usr/local/bin:/usr/bin:/bin"));
    machine.write("project/open/x", "public");
    machine.write("project/hidden/x", "private");
    let out = machine.run(&["run", "Work."]).ok();
    assert!(out.contains("public") && !out.contains("private"), "{out}");
}
