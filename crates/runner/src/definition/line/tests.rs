use proptest::prelude::*;

use super::*;

fn definition(kind: &str) -> Definition {
    Definition::shipped(kind).unwrap()
}

const ANSWER: Invocation<'static> = Invocation::new(Purpose::Answer);

fn work(mode: Mode) -> Invocation<'static> {
    Invocation::new(Purpose::Work(mode))
}

/// What comes after the command's own arguments, separated by spaces.
#[track_caller]
fn check(kind: &str, run: Invocation<'_>, expected: &str) {
    let definition = definition(kind);
    let line = definition.command_line(&run).unwrap();
    let (head, rest) = line.argv.split_at(definition.command.len());
    assert_eq!(head, definition.command);
    assert_eq!(rest.join(" "), expected, "{run:?}");
}

#[track_caller]
fn refused(kind: &str, run: Invocation<'_>) -> Error {
    definition(kind).command_line(&run).unwrap_err()
}

#[test]
fn an_answer_of_a_command_that_knows_none_is_read_only() {
    for kind in ["claude", "codex", "gemini"] {
        let mut other = definition(kind);
        (other.answer.arguments, other.answer.instructions) = Default::default();
        let asked = other.command_line(&ANSWER).unwrap();
        assert_eq!(asked.argv, other.command_line(&work(Mode::ReadOnly)).unwrap().argv, "{kind}");
    }
}

/// One run of everything that a command can be asked for, in the order in which it takes it.
#[test]
fn all_options_of_each_command() {
    let directories = [RealPath::resolved("/a b"), RealPath::resolved("/c")];
    let run = Invocation {
        detail: Detail::Deltas,
        model: Some("m-1"),
        effort: Some(&Effort::Low),
        instructions: Some("Be \"brief\".\n"),
        directories: &directories,
        resume: Some("id-1"),
        ..work(Mode::WorkspaceWrite)
    };
    check(
        "claude",
        Invocation { max_turns: Some(3), max_usd: Some(Usd::from_dollars(0.25)), ..run },
        "--output-format stream-json --verbose --permission-mode acceptEdits --include-partial-messages \
         --model m-1 --effort low --max-turns 3 --max-budget-usd 0.25 --add-dir /a b --add-dir /c \
         --append-system-prompt Be \"brief\". --system-prompt-snapshot off --resume id-1",
    );
    // Older ones end with "unknown option", and need none of it.
    for (version, knows) in
        [(Version(2, 1, 197), false), (Version(2, 1, 256), false), (Version(2, 1, 257), true)]
    {
        let line = definition("claude").command_line(&Invocation { version: Some(version), ..run }).unwrap();
        assert_eq!(line.argv.iter().any(|word| word == "--system-prompt-snapshot"), knows, "{version}");
        assert!(line.argv.ends_with(&["--resume".to_owned(), "id-1".to_owned()]), "{:?}", line.argv);
    }
    check(
        "codex",
        Invocation { last_message: Some(Path::new("/t/last")), ..run },
        "--json --sandbox workspace-write --model m-1 -c model_reasoning_effort=\"low\" \
         --output-last-message /t/last --add-dir /a b --add-dir /c \
         -c developer_instructions=\"Be \\\"brief\\\".\" resume id-1 -",
    );
    check(
        "gemini",
        Invocation { effort: None, ..run },
        "--output-format stream-json --approval-mode auto_edit --model m-1 --include-directories /a b \
         --include-directories /c --resume id-1",
    );
}

#[test]
fn modes_of_each_command() {
    let events = "--output-format stream-json";
    let reading = "--tools Read,Grep,Glob --disallowedTools Bash,Edit,Write,NotebookEdit";
    for (kind, mode, expected) in [
        ("claude", Mode::ReadOnly, format!("{events} --verbose --permission-mode default {reading}")),
        ("claude", Mode::WorkspaceWrite, format!("{events} --verbose --permission-mode acceptEdits")),
        ("claude", Mode::Full, format!("{events} --verbose --permission-mode bypassPermissions")),
        ("codex", Mode::ReadOnly, "--json --sandbox read-only -c model_reasoning_effort=\"high\" -".into()),
        (
            "codex",
            Mode::WorkspaceWrite,
            "--json --sandbox workspace-write -c model_reasoning_effort=\"high\" -".into(),
        ),
        (
            "codex",
            Mode::Full,
            "--json --sandbox danger-full-access -c model_reasoning_effort=\"high\" -".into(),
        ),
        ("gemini", Mode::ReadOnly, format!("{events} --approval-mode default")),
        ("gemini", Mode::WorkspaceWrite, format!("{events} --approval-mode auto_edit")),
        ("gemini", Mode::Full, format!("{events} --approval-mode yolo")),
    ] {
        check(kind, work(mode), &expected);
    }
}

#[test]
fn only_full_mode_may_do_anything() {
    for kind in Definition::shipped_kinds() {
        let definition = definition(kind);
        let everything = definition.modes.full.arguments.last().unwrap();
        for run in [ANSWER, work(Mode::ReadOnly), work(Mode::WorkspaceWrite)] {
            let argv = definition.command_line(&run).unwrap().argv;
            assert!(!argv.contains(everything), "{argv:?}");
        }
    }
}

#[test]
fn an_answer_and_the_final_text() {
    let answer = definition("codex").answer.instructions.unwrap();
    check(
        "codex",
        ANSWER,
        &format!(
            "--json --sandbox read-only -c model_reasoning_effort=\"high\" \
             -c developer_instructions=\"{answer}\" -"
        ),
    );
    let text = Invocation { text_only: true, detail: Detail::Deltas, ..work(Mode::Full) };
    check("claude", text, "--output-format text --permission-mode bypassPermissions");
    check(
        "codex",
        Invocation { last_message: Some(Path::new("/t/last")), ..text },
        "--sandbox danger-full-access -c model_reasoning_effort=\"high\" --output-last-message /t/last -",
    );
    check("gemini", text, "--output-format text --approval-mode yolo");
}

#[test]
fn what_a_command_cannot_do_is_an_error() {
    let max_usd = Some(Usd::from_dollars(1.0));
    for (kind, run, said) in [
        ("codex", Invocation { max_usd, ..ANSWER }, "codex takes no limit of money"),
        ("codex", Invocation { max_turns: Some(1), ..ANSWER }, "codex takes no limit of model calls"),
        ("gemini", Invocation { effort: Some(&Effort::Low), ..ANSWER }, "gemini takes no effort"),
        ("claude", Invocation { last_message: Some(Path::new("/x")), ..ANSWER }, "takes no file"),
    ] {
        let error = refused(kind, run).to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn codex_never_thinks_too_little() {
    for level in ["minimal", "none", "huge"] {
        let effort = Effort::Other(level.to_owned());
        let error = refused("codex", Invocation { effort: Some(&effort), ..ANSWER });
        assert!(error.to_string().contains(level), "{error}");
        assert_eq!(error.hint(), Some("choose one of low, medium, high, xhigh"));
    }
}

#[test]
fn values_cannot_be_options() {
    for value in ["", "-r", "--dangerously-skip-permissions"] {
        for kind in Definition::shipped_kinds() {
            refused(kind, Invocation { model: Some(value), ..ANSWER });
            refused(kind, Invocation { resume: Some(value), ..ANSWER });
        }
    }
    let line =
        definition("claude").command_line(&Invocation { instructions: Some("- a"), ..work(Mode::Full) });
    assert_eq!(line.unwrap().argv.last().map(String::as_str), Some("\n- a"));
}

#[test]
fn long_instructions_are_no_argument() {
    let long = "é".repeat(LONGEST / 2 + 1);
    let fresh = Invocation { instructions: Some(&long), ..work(Mode::Full) };
    let resumed = Invocation { resume: Some("id-1"), ..fresh };
    for run in [fresh, resumed] {
        let mut line = definition("claude").command_line(&run).unwrap();
        let [file] = &line.files[..] else { panic!("{:?}", line.files) };
        assert_eq!((file.name, &file.text), ("instructions.md", &long));
        line.place(Path::new("/private"));
        let place = line.argv.iter().position(|argument| argument == "--append-system-prompt-file").unwrap();
        assert_eq!(line.argv[place + 1], "/private/instructions.md");
        assert_eq!(line.prompt("Hi."), "Hi.");
    }
    for kind in ["codex", "gemini"] {
        let line = definition(kind).command_line(&fresh).unwrap();
        assert_eq!((line.files.len(), line.prompt("Hi.")), (0, format!("{long}\n\nHi.")));
        // It has them from its first prompt; others it is told.
        let again = |run| definition(kind).command_line(&run).unwrap();
        let same = again(Invocation { told: line.told.as_deref(), ..resumed });
        assert_eq!((same.prompt("Hi.").as_str(), &same.told), ("Hi.", &line.told));
        let other = format!("{long}!");
        let changed = again(Invocation { instructions: Some(&other), told: line.told.as_deref(), ..resumed });
        assert_eq!(changed.prompt("Hi."), format!("{CHANGED}\n\n{other}\n\nHi."));
        assert!(changed.told.is_some() && changed.told != line.told);
        let unknown = again(resumed);
        assert_eq!(unknown.prompt("Hi."), format!("{CHANGED}\n\n{long}\n\nHi."));
    }
    let line = definition("gemini").command_line(&Invocation { instructions: Some("Be brief."), ..fresh });
    assert_eq!(line.unwrap().prompt("Hi."), "Be brief.\n\nHi.");
    // Quoting makes it longer than it is.
    let quotes = "\"".repeat(LONGEST - 100);
    let line = definition("codex").command_line(&Invocation { instructions: Some(&quotes), ..fresh });
    assert_eq!(line.unwrap().prompt_prefix, Some(quotes));
}

#[test]
fn a_session_that_keeps_to_its_first_instructions_is_told_others() {
    let long = "é".repeat(LONGEST / 2 + 1);
    let codex = definition("codex");
    let fresh = |text| Invocation { instructions: Some(text), ..work(Mode::Full) };
    let of = |run| codex.command_line(&run).unwrap();
    let first = of(fresh("Be brief."));
    assert_eq!(
        (first.prompt_prefix.as_deref(), first.told.is_some()),
        (None, true),
        "it has them as an argument"
    );
    // A text, what the session was told before, and whether it has to be told this.
    let of_long = of(fresh(&long)).told;
    for (text, told, is_told) in [
        ("Be brief.", &first.told, false),
        ("Be long.", &first.told, true),
        ("Be brief.", &None, true),
        ("Be brief.", &of_long, true),
        (&long, &first.told, true),
        (&long, &of_long, false),
    ] {
        let line = of(Invocation { resume: Some("id-1"), told: told.as_deref(), ..fresh(text) });
        let prefix = is_told.then(|| format!("{CHANGED}\n\n{text}"));
        assert_eq!(line.prompt_prefix, prefix);
        assert_eq!(line.told, of(fresh(text)).told);
    }
    let claude = definition("claude").command_line(&fresh("Be brief.")).unwrap();
    assert_eq!(claude.told, None, "it takes them from each run");
}

#[test]
fn another_server_and_the_token() {
    let endpoint = Endpoint::new("http://127.0.0.1:1/v1").with_key("k-1");
    let token = Secret::new("t-1");
    let run = Invocation { endpoint: Some(&endpoint), token: Some(&token), ..work(Mode::ReadOnly) };
    let variables = |kind: &str, run: Invocation<'_>| {
        let line = definition(kind).command_line(&run).unwrap();
        let pairs: Vec<String> =
            line.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join(" ")
    };
    assert_eq!(
        variables("claude", run),
        "ANTHROPIC_AUTH_TOKEN=k-1 ANTHROPIC_BASE_URL=http://127.0.0.1:1/v1 \
         ANTHROPIC_CUSTOM_HEADERS=x-junto-run: t-1"
    );
    assert_eq!(
        variables("gemini", run),
        "GEMINI_API_KEY=k-1 GEMINI_CLI_CUSTOM_HEADERS=x-junto-run: t-1 GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1/v1"
    );
    assert_eq!(variables("codex", run), "JUNTO_ENDPOINT_KEY=k-1");
    let argv = definition("codex").command_line(&run).unwrap().argv;
    for expected in [
        "model_providers.junto.base_url=\"http://127.0.0.1:1/v1\"",
        "model_providers.junto.http_headers={\"x-junto-run\"=\"t-1\"}",
    ] {
        assert!(argv.iter().any(|argument| argument == expected), "{argv:?}");
    }
    // Its vendor's provider takes no headers of ours.
    let argv = definition("codex").command_line(&Invocation { endpoint: None, ..run }).unwrap().argv;
    assert!(!argv.iter().any(|argument| argument.contains("junto")), "{argv:?}");
    let shown = format!("{:?}", Invocation { ..run });
    assert!(!shown.contains("k-1") && !shown.contains("t-1"), "{shown}");
}

#[test]
fn only_root_in_full_mode_says_that_there_is_a_sandbox() {
    for (mode, is_root, expected) in [
        (Mode::Full, true, Some("1")),
        (Mode::Full, false, None),
        (Mode::WorkspaceWrite, true, None),
        (Mode::ReadOnly, true, None),
    ] {
        let line = definition("claude").command_line(&Invocation { is_root, ..work(mode) }).unwrap();
        assert_eq!(line.variables.get("IS_SANDBOX").map(String::as_str), expected, "{mode:?}");
    }
}

#[test]
fn what_stands_for_a_value_may_be_in_it() {
    check(
        "claude",
        Invocation { instructions: Some("{} {toml}"), ..work(Mode::Full) },
        "--output-format stream-json --verbose --permission-mode bypassPermissions \
         --append-system-prompt {} {toml}",
    );
}

proptest! {
    #[test]
    fn a_quoted_text_reads_back(text in any::<String>()) {
        let table: toml::Table = toml::from_str(&format!("x = {}", quoted(&text))).unwrap();
        prop_assert_eq!(table["x"].as_str(), Some(text.as_str()));
        prop_assert!(!quoted(&text).contains('\n'));
    }
}
