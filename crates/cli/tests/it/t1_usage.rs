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
