//! What `junto doctor` tells of command-line agents.

use serde_json::{Value, json};

use crate::{Machine, text, usual_path};

/// A machine on which these programs say these versions.
fn machine(config: &str, versions: &[(&str, &str)]) -> Machine {
    let machine = Machine::configured(config);
    for (name, version) in versions {
        let script = format!("#!/bin/sh\n[ \"$1\" = --version ] || exit 1\necho '{version}'\n");
        machine.program(&format!("bin/{name}"), &script);
    }
    let path = format!("{}:{}", text(&machine.path("bin")), usual_path());
    machine.with("PATH", &path)
}

fn agents(machine: &Machine) -> Vec<Value> {
    let told: Value = serde_json::from_str(&machine.run(&["doctor", "--json"]).ok()).unwrap();
    told["agents"].as_array().unwrap().clone()
}

#[test]
fn agents_are_found_with_version_and_sign_in() {
    let machine = machine("", &[("claude", "2.1.325 (Claude Code)"), ("codex", "codex-cli 0.20.0")]);
    let file = machine.write(".claude/.credentials.json", "{\"claudeAiOauth\": {}}");
    let out = machine.run(&["doctor"]).ok();
    for words in [
        &format!("  claude: 2.1.325, {}\n", text(&machine.path("bin/claude"))),
        &format!("    signed in by {}\n", text(&file)),
        "    read-only: --permission-mode default --tools Read,Grep,Glob",
        "    full: --permission-mode bypassPermissions",
        "  codex: 0.20.0, TOO OLD to be run; tested: 0.166.0",
        "NOT signed in: run `codex login`",
        "  gemini: not installed (npm install -g @google/gemini-cli)",
    ] {
        assert!(out.contains(words), "no {words:?} in {out}");
    }
    let agents = agents(&machine);
    let told: Vec<_> =
        agents.iter().map(|agent| (&agent["name"], &agent["standing"], &agent["signed_in"])).collect();
    assert_eq!(
        told,
        [
            (&json!("claude"), &json!("tested"), &json!(true)),
            (&json!("codex"), &json!("too_old"), &json!(false)),
            (&json!("gemini"), &Value::Null, &json!(false)),
        ]
    );
    assert_eq!(agents[0]["modes"][2]["arguments"], json!(["--permission-mode", "bypassPermissions"]));
}

#[test]
fn agents_of_ones_own_are_told_too() {
    let config = "[runners.fast]\nlike = \"claude\"\ncommand = [\"quick\"]\npass_keys = true\n\
                  [runners.other]\ndefinition = \"other.toml\"\n";
    let machine =
        machine(config, &[("quick", "9.0.0"), ("other", "no version")]).with("ANTHROPIC_API_KEY", "k-1");
    machine.write(
        ".config/junto/other.toml",
        "kind = \"other\"\ncommand = [\"other\"]\nprompt = \"stdin\"\noutput = \"codex-json\"\n\
         [modes.full]\narguments = [\"--all\"]\n",
    );
    let out = machine.run(&["doctor"]).ok();
    for words in [
        "  fast: 9.0.0, NOT tested; tested: 2.1.197 to 2.1.325",
        "    has the key in ANTHROPIC_API_KEY\n",
        "  other: of unknown version",
        "    read-only:  (held by our sandbox)",
        "    full: --all\n",
    ] {
        assert!(out.contains(words), "no {words:?} in {out}");
    }
    assert!(!out.contains("k-1"), "{out}");
}

#[test]
fn what_is_wrong_is_said_after_what_is_known() {
    let run = machine("[runners.codex]\neffort = \"minimal\"\n", &[]).run(&["doctor"]);
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert!(run.out.contains("Landlock"), "{run:#?}");
    assert!(run.err.contains("codex does not think at the effort \"minimal\""), "{run:#?}");
    let run = machine("[runners.other]\ndefinition = \"gone.toml\"\n", &[]).run(&["doctor"]);
    assert!(run.err.contains("gone.toml, which says how other is run"), "{run:#?}");
}

#[test]
fn whether_a_kernel_can_be_had_is_told() {
    let python = std::env::var("JUNTO_PEER_KERNEL").unwrap();
    let ready = Machine::configured(&format!("code.python = \"{python}\"\n"));
    let told = ready.run(&["doctor"]).ok();
    assert!(told.contains("  kernel: ready, Python 3.") && told.contains(&python), "{told}");
    let wrong = Machine::configured("code.python = \"/nowhere/python\"\n");
    let told: Value = serde_json::from_str(&wrong.run(&["doctor", "--json"]).ok()).unwrap();
    assert_eq!(told["code"]["kernel"], "missing");
    assert!(told["code"]["why"].as_str().unwrap().contains("/nowhere/python"), "{told}");
    let bare = Machine::new();
    bare.program("bin/uv", "#!/bin/sh\necho uv 1.2.3\n");
    let path = text(&bare.path("bin"));
    let told = bare.with("PATH", &path).run(&["doctor"]).ok();
    assert!(told.contains("  kernel: not made yet: made with uv 1.2.3 before the first run"), "{told}");
    assert!(told.contains("  environment: "), "{told}");
}
