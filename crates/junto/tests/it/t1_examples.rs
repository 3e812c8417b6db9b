use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// What an example prints without any key.
#[track_caller]
fn printed(name: &str) -> String {
    printed_with(name, &[])
}

/// What an example prints with these arguments.
#[track_caller]
fn printed_with(name: &str, arguments: &[OsString]) -> String {
    let own = std::env::current_exe().unwrap();
    // The examples of a crate are built with its tests.
    let program = own.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    let output = Command::new(&program).args(arguments).env_clear().env("PATH", "/usr/bin:/bin").output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let out = String::from_utf8(output.stdout).unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{name}: {out}{err}");
    assert!(out.starts_with("(no key is set, so a script plays the model)\n"), "{out}");
    out
}

/// Checks that an example says all of this, in this order.
#[track_caller]
fn check(name: &str, said: &[&str]) {
    check_with(name, &[], said);
}

#[track_caller]
fn check_with(name: &str, arguments: &[OsString], said: &[&str]) {
    let out = printed_with(name, arguments);
    let mut rest = out.as_str();
    for part in said {
        let at =
            rest.find(part).unwrap_or_else(|| panic!("{name}: no {part:?} where it should be in\n{out}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn host() {
    let allowed = "\"echo hello > note.txt\"}: Allow";
    let refused = "\"rm -f /etc/hostname\"}: Reject";
    check("host", &[allowed, refused, "not allowed to do.", "note.txt: hello\n"]);
}

#[test]
fn custom_tool() {
    check("custom_tool", &["> count_words {\"file_path\":\"README.md\"}\n", " words\n", "Not too many: "]);
}

#[test]
fn custom_environment() {
    check("custom_environment", &["> shell ", "  my niceness is 7", "The command said: my niceness is 7"]);
}

#[test]
fn steering() {
    check(
        "steering",
        &["told: Answer in French, please.\n", "said: Le dossier est vide.\n", "said: One: ls.\n"],
    );
}

#[test]
fn switch_provider() {
    check(
        "switch_provider",
        &["heron.\n", "anthropic/claude-", ": I keep it in mind.\n", "openai/gpt-", ": It was heron.\n"],
    );
}

#[test]
fn batch() {
    let out = printed("batch");
    for n in 1..=10 {
        let line = format!("project-{n:02}/count.txt: Counted. {n}\n");
        assert!(out.contains(&line), "no {line:?} in\n{out}");
    }
}

#[test]
fn subagents() {
    let out = printed("subagents");
    for part in [
        "\"working_dir\":\"left\"",
        "\"working_dir\":\"right\"",
        " was told: Count the lines of data.txt.\n",
        "  a child said: I counted: 3",
        "  a child said: I counted: 7",
        "> wait {}\n",
    ] {
        assert!(out.contains(part), "no {part:?} in\n{out}");
    }
    assert!(out.ends_with("The right one has more.\n"), "{out}");
}

/// A Python with ipykernel, which the developer's commands keep.
fn python() -> [OsString; 1] {
    let given = std::env::var_os("JUNTO_PEER_KERNEL");
    [given.expect("JUNTO_PEER_KERNEL names a Python with ipykernel; `cargo xtask test` sets it")]
}

#[test]
fn code_action() {
    let said = [
        "the model wants execute_code: ",
        "the code wants read_file: {\"file_path\":\"alder.txt\"}\n",
        "the code wants read_file: {\"file_path\":\"cedar.txt\"}\n",
        "  {'alder.txt': 3, 'birch.txt': 7, 'cedar.txt': 5}\n",
        "  'birch.txt'\n",
        "Birch has the most lines.\n",
    ];
    check_with("code_action", &python(), &said);
}

#[test]
fn approve_calls() {
    let said = [
        "execute_code: yes\nread_file: yes\n",
        "cell_shell \"rm notes.txt\": no, with a word\n",
        "buy milk\nI may not: the user refused: nothing is deleted here\n",
        "shell {\"command\":\"rm notes.txt\"}: no\n",
        "the turn ended: Some(Rejected)\nnotes.txt: buy milk\n",
    ];
    check_with("approve_calls", &python(), &said);
}
