use junto::twin::{Play, Step};
use serde_json::json;

use crate::stage::Stage;
use crate::{Machine, Run};

#[test]
fn help_and_version() {
    let machine = Machine::new();
    let help = machine.run(&[]).ok();
    for part in [
        "ask",
        "models",
        "config",
        "run",
        "gateway",
        "demo",
        "sessions",
        "resume",
        "fork",
        "rewind",
        "undo",
        "export",
        "replay",
        "cost",
        "Examples:",
    ] {
        assert!(help.contains(part), "{part} in {help}");
    }
    assert_eq!(machine.run(&["--version"]).ok(), format!("junto {}\n", env!("CARGO_PKG_VERSION")));
    assert!(machine.run(&["ask", "--help"]).ok().contains("Exit codes"));
}

#[test]
fn wrong_calls_end_with_what_to_do() {
    let machine = Machine::new();
    machine.run(&["aks"]).fails(2, &["'aks'"]);
    machine.run(&["ask", "--modle", "x"]).fails(2, &["--model"]);
    machine.run(&["ask", "--max-tokens", "many", "hi"]).fails(2, &["many"]);
}

#[test]
fn nothing_is_asked_without_a_provider() {
    let machine = Machine::new();
    let said = ["no model provider is configured", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"];
    machine.run(&["ask", "hi"]).fails(2, &said);
    machine
        .run(&["ask", "--provider", "openai", "hi"])
        .fails(2, &["provider \"openai\" has no key", "set OPENAI_API_KEY"]);
    machine.run(&["ask", "--provider", "opnai", "hi"]).fails(2, &["did you mean \"openai\"?"]);
    machine
        .run(&["ask", "-m", "anthropic/x", "hi"])
        .fails(2, &["set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"]);
    let named = Machine::configured("providers.openai.key_env = \"MINE\"").with("OPENAI_API_KEY", "k");
    named.run(&["ask", "--provider", "openai", "hi"]).fails(2, &["hint: set MINE"]);
}

#[test]
fn a_known_model_is_not_asked_of_another_vendor() {
    let machine = || Machine::new().with("OPENAI_API_KEY", "k").with("OPENAI_BASE_URL", "http://127.0.0.1:9");
    for command in ["ask", "run"] {
        machine().run(&[command, "-m", "claude-opus-5-5", "hi"]).fails(
            2,
            &[
                "provider \"anthropic\" has no key",
                "set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN",
                "--provider",
            ],
        );
        machine()
            .run(&[command, "-m", "antropic/claude-opus-5-5", "hi"])
            .fails(2, &["unknown provider \"antropic\"; did you mean \"anthropic\"?"]);
        let own = machine();
        own.write(
            ".config/junto/config.toml",
            "[[models]]\nid = \"tiny\"\nprovider = \"local\"\nname = \"Tiny\"\ncontext_window = 10\n\
             max_output = 5\nreleased = \"2026-01-01\"\n",
        );
        own.run(&[command, "-m", "tiny", "hi"]).fails(2, &["unknown provider \"local\"", "[providers.NAME]"]);
    }
}

/// A machine whose provider would refuse every connection: what ends before has sent nothing.
fn unreachable() -> Machine {
    Machine::configured(
        "retry = { max_retries = 1, base = \"0s\" }\n\
         [providers.local]\nwire = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n",
    )
}

#[test]
fn bad_input_is_named() {
    let machine = unreachable();
    machine.run(&["ask"]).fails(2, &["nothing to ask"]);
    machine.run(&["ask", ""]).fails(2, &["nothing to ask"]);
    machine.run(&["ask", "-m", "zebra", "hi"]).fails(2, &["unknown model alias \"zebra\""]);
    machine.run(&["ask", "hi"]).fails(2, &["the catalog has none for `local`"]);
    machine.run(&["ask", "-m", "m-1", "--image", "gone.png", "hi"]).fails(2, &["gone.png"]);
    machine.run(&["ask", "-m", "m-1", "--image", ".", "hi"]).fails(2, &["not a file"]);
    machine.run(&["ask", "-m", "m-1", "--image", "/etc/passwd", "hi"]).fails(2, &["is no picture"]);
    machine.run(&["ask", "-m", "m-1", "--schema", "gone.json", "hi"]).fails(2, &["gone.json"]);
    for (schema, said) in
        [("[1]", "object at its root"), ("{", "s.json"), ("{\"type\": \"array\"}", "object at its root")]
    {
        machine.write("project/s.json", schema);
        machine.run(&["ask", "-m", "m-1", "--schema", "s.json", "hi"]).fails(2, &[said]);
    }
    Run::of(machine.command(&["ask", "-m", "m-1"]).write_stdin(&b"\xff\xfe"[..])).fails(2, &["not UTF-8"]);
}

#[test]
fn an_unreachable_provider_is_tried_again_and_named() {
    let run = unreachable()
        .run(&["ask", "-m", "m-1", "hi"])
        .fails(3, &["local: cannot reach the provider", "(1 of 1)"]);
    assert_eq!(run.err.matches("trying again").count(), 1, "{run:#?}");
    let quiet = unreachable().run(&["ask", "-q", "-m", "m-1", "hi"]).fails(3, &["error: local"]);
    assert_eq!(quiet.err.lines().count(), 2, "{quiet:#?}");
}

#[test]
fn what_cannot_be_written_is_no_success() {
    let machine = Machine::new();
    for args in [&["--help"][..], &["ask", "--help"], &["--version"], &[]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_junto"));
        command.env_clear().envs(machine.environment()).args(args).stdout(full);
        let ended = command.stderr(std::process::Stdio::piped()).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.starts_with("error: cannot write to standard output"), "{args:?}: {said}");
    }
}

#[test]
fn hints_fit_what_was_done() {
    let machine = unreachable().with("JUNTO_STATE_DIR", "/dev/null/state");
    let kept = "--no-save";
    let run = machine.run(&["run", "-m", "m-1", "hi"]).fails(1, &["/dev/null/state", kept]);
    assert!(run.err.contains("check the permissions"), "{run:#?}");
    let run = machine.run(&["agent", "add", "nex"]).fails(1, &["hint: check the permissions"]);
    assert!(!run.err.contains(kept), "it keeps no session: {run:#?}");
    let run = unreachable().run(&["run", "--max-usd", "abc", "hi"]).fails(2, &["flag --max-usd", "--help"]);
    assert!(!run.err.contains("config validate"), "no file is wrong: {run:#?}");
    let machine = Machine::new();
    let run = machine.run_without_room(0, &["policy", "add", "allow command \"make *\""]);
    run.fails(1, &["cannot write", "config.toml: ", "hint: check the permissions and the room"]);
}

/// Drafts are nobody's business.
#[test]
fn a_full_disk_is_told_by_the_names_that_were_given() {
    let text = "x".repeat(20_000);
    let steps = vec![
        Step::call("write_file", json!({"file_path": "big.txt", "content": text})),
        Step::text("It says: {{last_result}}"),
        Step::text("Done."),
    ];
    let stage = Stage::on_any_wire(Play::of(steps));
    let run = stage.machine.run_without_room(16, &["run", "--no-save", "Write it."]);
    assert!(run.out.contains("big.txt: File too large"), "{run:#?}");
    assert!(!run.out.contains(".junto-") && !run.out.contains("/proc/"), "{run:#?}");

    Run::of(stage.machine.command(&["run"]).write_stdin("y ".repeat(150_000))).ok();
    let export = ["export", "-o", "out.md"];
    let run = stage.machine.run_without_room(256, &export);
    let run = run.fails(1, &["error: cannot write out.md: File too large"]);
    assert!(!run.err.contains("--no-save") && !run.err.contains(".tmp"), "{run:#?}");
    let run = stage.machine.run(&["export", "-o", "/nonexistent/out.md"]);
    let run = run.fails(1, &["error: cannot write /nonexistent/out.md: "]);
    assert!(!run.err.contains(".tmp"), "{run:#?}");
}
