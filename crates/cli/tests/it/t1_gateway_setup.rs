//! `junto gateway setup`, on a fresh machine and on one that is in use.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::{Machine, Run, text};

/// A key that clients must show. Tests look for it where it must not be.
const KEY: &str = "client-key-77d1";

fn setup(machine: &Machine, args: &[&str]) -> Run {
    let run = machine.run(&[&["gateway", "setup"], args].concat());
    assert_eq!(run.code, Some(0), "{run:#?}");
    run
}

fn read(machine: &Machine, below: &str) -> String {
    fs::read_to_string(machine.path(below)).unwrap()
}

fn json_at(machine: &Machine, below: &str) -> Value {
    serde_json::from_str(&read(machine, below)).unwrap()
}

/// What is in a folder.
fn names(machine: &Machine, below: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(machine.path(below)) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Runs the line by which a set-up says that it is taken back.
fn take_back(run: &Run) {
    let line = run.err.lines().find_map(|line| line.strip_prefix("to take it back: ")).unwrap();
    let done = std::process::Command::new("sh").args(["-c", line]).status().unwrap();
    assert!(done.success(), "{line}");
}

#[test]
fn what_is_printed_is_what_would_be_written() {
    let machine = Machine::new();
    let claude = setup(&machine, &["claude"]);
    let printed: Value = serde_json::from_str(&claude.out).unwrap();
    assert_eq!(
        printed["env"],
        json!({
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:6767",
            "CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY": "1",
            "ANTHROPIC_AUTH_TOKEN": "junto",
        })
    );
    assert!(claude.err.contains(&text(&machine.path(".claude/settings.json"))), "{claude:#?}");
    let codex = setup(&machine, &["codex", "--model", "junto-council"]);
    assert_eq!(
        codex.out,
        "model_provider = \"junto\"\nmodel = \"junto-council\"\n\n[model_providers.junto]\nname = \"Junto\"\n\
         base_url = \"http://127.0.0.1:6767/v1\"\nwire_api = \"responses\"\n"
    );
    let gemini = setup(&machine, &["gemini"]);
    assert!(
        gemini.out.starts_with("GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:6767\nGEMINI_API_KEY=junto\n{"),
        "{gemini:#?}"
    );
    for folder in [".claude", ".codex", ".gemini"] {
        assert_eq!(names(&machine, folder), Vec::<String>::new(), "nothing is written unasked");
    }
}

#[test]
fn a_fresh_machine_is_set_up_and_taken_back() {
    let machine = Machine::new();
    for (client, files) in [
        ("claude", &[".claude/settings.json"][..]),
        ("codex", &[".codex/config.toml"]),
        ("gemini", &[".gemini/.env", ".gemini/settings.json"]),
    ] {
        let printed = setup(&machine, &[client]).out;
        let written = setup(&machine, &[client, "--write"]);
        let found: String = files.iter().map(|file| read(&machine, file)).collect();
        assert_eq!(found, printed, "{client}");
        let again = setup(&machine, &[client, "--write"]);
        assert!(again.err.contains("is set up already; nothing was changed"), "{again:#?}");
        take_back(&written);
        assert!(files.iter().all(|file| !machine.path(file).exists()), "{client}");
    }
}

#[test]
fn everything_else_in_the_files_stays() {
    let machine = Machine::new();
    let claude = "{\n  \"permissions\": {\"allow\": [\"Bash(ls)\"]},\n  \"env\": {\"FOO\": \"bar\", \"ANTHROPIC_BASE_URL\": \"https://old\"},\n  \"theme\": \"dark\"\n}\n";
    machine.write(".claude/settings.json", claude);
    let codex = "# mine\nmodel = \"gpt-6.1-sol\" # the best\nmodel_provider = \"openai\"\n\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n";
    machine.write(".codex/config.toml", codex);
    machine.write(".gemini/.env", "# keys\nGEMINI_API_KEY=real\nOTHER=1\n");
    machine.write(".gemini/settings.json", "{\"ui\": {\"theme\": \"GitHub\"}}");

    let run = setup(&machine, &["claude", "--write"]);
    let settings = json_at(&machine, ".claude/settings.json");
    assert_eq!(settings["permissions"], json!({"allow": ["Bash(ls)"]}));
    assert_eq!(settings["env"]["FOO"], "bar");
    assert_eq!(settings["env"]["ANTHROPIC_BASE_URL"], "http://127.0.0.1:6767");
    let order: Vec<&String> = settings.as_object().unwrap().keys().collect();
    assert_eq!(order, ["permissions", "env", "theme"]);
    assert_eq!(names(&machine, ".claude").len(), 2, "the file and what it was");
    take_back(&run);
    assert_eq!(read(&machine, ".claude/settings.json"), claude);

    let run = setup(&machine, &["codex", "--write"]);
    assert_eq!(
        read(&machine, ".codex/config.toml"),
        "# mine\nmodel = \"gpt-6.1-sol\" # the best\nmodel_provider = \"junto\"\n\n[projects.\"/p\"]\n\
         trust_level = \"trusted\"\n\n[model_providers.junto]\nname = \"Junto\"\n\
         base_url = \"http://127.0.0.1:6767/v1\"\nwire_api = \"responses\"\n"
    );
    take_back(&run);
    assert_eq!(read(&machine, ".codex/config.toml"), codex);

    setup(&machine, &["gemini", "--write"]);
    assert_eq!(
        read(&machine, ".gemini/.env"),
        "# keys\nGEMINI_API_KEY=junto\nOTHER=1\nGOOGLE_GEMINI_BASE_URL=http://127.0.0.1:6767\n"
    );
    let settings = json_at(&machine, ".gemini/settings.json");
    assert_eq!(settings["ui"]["theme"], "GitHub");
    assert_eq!(settings["security"]["auth"]["selectedType"], "gemini-api-key");
}

#[test]
fn what_cannot_be_read_is_left_alone() {
    let machine = Machine::new();
    for (client, file, odd) in [
        ("claude", ".claude/settings.json", "{ // mine\n}"),
        ("claude", ".claude/settings.json", "{\"env\": []}"),
        ("claude", ".claude/settings.json", "[]"),
        ("codex", ".codex/config.toml", "model = \n"),
        ("codex", ".codex/config.toml", "model_providers = 3\n"),
        ("gemini", ".gemini/settings.json", "{"),
    ] {
        machine.write(file, odd);
        machine.run(&["gateway", "setup", client, "--write"]).fails(2, &[file, "nothing was changed"]);
        assert_eq!(read(&machine, file), odd);
        let folder = file.split('/').next().unwrap();
        assert_eq!(names(&machine, folder).len(), 1, "no copies, and no other file either");
    }
}

#[test]
fn clients_that_live_elsewhere_are_found_there() {
    let machine = Machine::new();
    let machine =
        ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"].into_iter().fold(machine, |machine, name| {
            let folder = text(&machine.path(&name.to_lowercase()));
            machine.with(name, &folder)
        });
    for client in ["claude", "codex", "gemini"] {
        setup(&machine, &[client, "--write"]);
    }
    assert_eq!(names(&machine, "claude_config_dir"), ["settings.json"]);
    assert_eq!(names(&machine, "codex_home"), ["config.toml"]);
    assert_eq!(names(&machine, "gemini_cli_home/.gemini"), [".env", "settings.json"]);
    assert!(!machine.path(".claude").exists() && !machine.path(".codex").exists());
}

#[test]
fn links_stay_links() {
    let machine = Machine::new();
    machine.write("dotfiles/settings.json", "{}");
    fs::create_dir(machine.path(".claude")).unwrap();
    std::os::unix::fs::symlink(machine.path("dotfiles/settings.json"), machine.path(".claude/settings.json"))
        .unwrap();
    setup(&machine, &["claude", "--write"]);
    assert!(machine.path(".claude/settings.json").is_symlink());
    assert!(read(&machine, "dotfiles/settings.json").contains("127.0.0.1:6767"));
}

#[test]
fn the_address_is_where_the_gateway_listens() {
    let url = |machine: &Machine, args: &[&str]| {
        let run = setup(machine, &[&["claude"], args].concat());
        serde_json::from_str::<Value>(&run.out).unwrap()["env"]["ANTHROPIC_BASE_URL"].clone()
    };
    let configured = Machine::configured("[gateway]\nhost = \"0.0.0.0\"\nport = 7001\n");
    assert_eq!(url(&configured, &[]), "http://127.0.0.1:7001");
    let frites = Machine::new().with("FRITES_GATEWAY_PORT", "7002");
    assert_eq!(url(&frites, &[]), "http://127.0.0.1:7002");
    assert_eq!(url(&frites, &["--url", "http://gateway.lan:80/"]), "http://gateway.lan:80");
}

#[test]
fn a_key_is_never_shown_and_stays_out_of_what_people_share() {
    let machine = Machine::new().with("JUNTO_GATEWAY_TOKEN", KEY);
    for client in ["claude", "codex", "gemini"] {
        let printed = setup(&machine, &[client]);
        let written = setup(&machine, &[client, "--write"]);
        for said in [printed.out, printed.err, written.out, written.err] {
            assert!(!said.contains(KEY), "{said}");
        }
    }
    let claude = json_at(&machine, ".claude/settings.json");
    assert!(claude["apiKeyHelper"].as_str().unwrap().ends_with("junto gateway token"), "{claude}");
    assert!(claude["env"].get("ANTHROPIC_AUTH_TOKEN").is_none(), "it would count more than the helper");
    assert!(!claude.to_string().contains(KEY));
    let codex = read(&machine, ".codex/config.toml");
    assert!(codex.contains("env_key = \"JUNTO_GATEWAY_TOKEN\"") && !codex.contains(KEY), "{codex}");
    // Gemini CLI has no other place for a key than this file.
    assert!(read(&machine, ".gemini/.env").contains(KEY));
    let mode = fs::metadata(machine.path(".gemini/.env")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // The helper tells the key, and only the key.
    let helper = claude["apiKeyHelper"].as_str().unwrap();
    let mut command = std::process::Command::new("sh");
    command.args(["-c", helper]).env_clear().envs(machine.environment());
    assert_eq!(command.output().unwrap().stdout, format!("{KEY}\n").as_bytes());

    // Without a key, what the key needed goes.
    let open = Machine { variables: Vec::new(), ..machine };
    setup(&open, &["claude", "--write"]);
    setup(&open, &["codex", "--write"]);
    let claude = json_at(&open, ".claude/settings.json");
    assert!(claude.get("apiKeyHelper").is_none() && claude["env"]["ANTHROPIC_AUTH_TOKEN"] == "junto");
    assert!(!read(&open, ".codex/config.toml").contains("env_key"));
}

#[test]
fn the_key_may_be_in_the_file_of_the_service() {
    let machine = Machine::configured("gateway.key_env = \"MY_KEY\"");
    machine.run(&["gateway", "token"]).fails(2, &["MY_KEY is neither set nor in"]);
    machine.run(&["gateway", "setup", "claude"]).fails(2, &["MY_KEY"]);
    machine.write(".config/junto/gateway.env", format!("# keys\nMY_KEY='{KEY}'\n"));
    assert_eq!(machine.run(&["gateway", "token"]).ok(), format!("{KEY}\n"));
    assert!(setup(&machine, &["codex"]).out.contains("env_key = \"MY_KEY\""));
}

#[test]
fn wrong_calls_end_with_2() {
    let machine = Machine::new();
    machine.run(&["gateway", "setup"]).fails(2, &["<CLIENT>"]);
    machine.run(&["gateway", "setup", "emacs"]).fails(2, &["claude, codex, gemini"]);
    machine.run(&["gateway", "--port", "1", "setup", "claude"]).fails(2, &["cannot be used with"]);
}
