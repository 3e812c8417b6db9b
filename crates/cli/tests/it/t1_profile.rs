//! Profiles on the command line. The agents that are captured are small scripts which send what the real
//! ones send, as far as it matters here: the real ones need not be installed.

use std::fs;

use junto::twin::Play;
use serde_json::{Value, json};

use crate::Machine;
use crate::stage::Stage;

/// An agent that asks its model once: sends a body to a path, with the address and the key found as the
/// real one finds them.
const ASKS: &str = r#"#!/bin/bash
cat > /dev/null
ADDRESS
url=${url#http://}
host=${url%%/*}
body=$(cat <<'END'
BODY
END
)
exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
printf 'POST %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nUser-Agent: fake-agent/1.2\r\n' "${url#"$host"}PATH" "$host" >&3
printf 'Content-Type: application/json\r\n%s\r\nContent-Length: %s\r\n\r\n%s' "$key" "${#body}" "$body" >&3
cat <&3
"#;

/// How an agent finds its server and its key, and where it asks.
struct Kind {
    name: &'static str,
    address: &'static str,
    path: &'static str,
}

const CLAUDE: Kind = Kind {
    name: "claude",
    address: "url=$ANTHROPIC_BASE_URL key=\"x-api-key: $ANTHROPIC_API_KEY\"",
    path: "/v1/messages?beta=true",
};
const CODEX: Kind = Kind {
    name: "codex",
    address: "for a; do case $a in *base_url=*) url=${a#*base_url=\\\"} url=${url%%\\\"*};; esac; done\n\
              key=\"Authorization: Bearer $JUNTO_KEY\"",
    path: "/responses",
};
const GEMINI: Kind = Kind {
    name: "gemini",
    address: "url=$GOOGLE_GEMINI_BASE_URL key=\"x-goog-api-key: $GEMINI_API_KEY\"",
    path: "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
};

fn claude_body() -> Value {
    json!({
        "model": "claude-opus-5-5", "max_tokens": 100, "stream": true,
        "system": [
            {"type": "text", "text": "x-anthropic-billing-header: a=b;"},
            {"type": "text", "text": "You are a fake."},
        ],
        "messages": [{"role": "user", "content": "Say OK."}],
        "tools": [
            {
                "name": "Bash", "description": "Runs \"\"\" it.\nReally.",
                "input_schema": {
                    "type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"],
                },
            },
            {"name": "Teleport", "description": "Beams.", "input_schema": {"type": "object"}},
        ],
    })
}

fn codex_body() -> Value {
    let said = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    json!({
        "model": "gpt-5.5", "stream": true, "store": false,
        "input": [said("developer", "input_text", "Be codex."), said("user", "input_text", "Say OK.")],
        "tools": [
            {
                "type": "function", "name": "exec_command", "description": "Runs.", "strict": false,
                "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}}},
            },
            {
                "type": "custom", "name": "apply_patch", "description": "Patches.",
                "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"},
            },
            {"type": "web_search"},
        ],
    })
}

fn gemini_body() -> Value {
    let edit = json!({
        "name": "replace", "description": "Replaces.",
        "parametersJsonSchema": {"type": "object", "properties": {"file_path": {"type": "string"}}},
    });
    json!({
        "contents": [{"role": "user", "parts": [{"text": "Say OK."}]}],
        "systemInstruction": {"role": "user", "parts": [{"text": "Be gemini."}]},
        "tools": [{"functionDeclarations": [edit]}],
    })
}

/// A machine with this program in its PATH.
fn with_program(name: &str, text: &str) -> Machine {
    let machine = Machine::new();
    machine.program(&format!("bin/{name}"), text);
    let temporary = machine.path("tmp");
    fs::create_dir(&temporary).unwrap();
    let path = format!("{}:/usr/bin:/bin", crate::text(&machine.path("bin")));
    machine.with("PATH", &path).with("TMPDIR", &crate::text(&temporary))
}

fn agent(kind: &Kind, body: &Value) -> Machine {
    let text = ASKS.replace("ADDRESS", kind.address).replace("PATH", kind.path);
    with_program(kind.name, &text.replace("BODY", &body.to_string()))
}

fn leaves_nothing(machine: &Machine) {
    let left: Vec<_> = fs::read_dir(machine.path("tmp")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Captures, and gives what `profile show --json` says of the file.
#[track_caller]
fn captured(machine: &Machine, agent: &str, name: &str) -> Value {
    let run = machine.run(&["profile", "capture", agent]);
    let file = machine.path(&format!(".config/junto/profiles/{name}.toml"));
    assert_eq!(run.out, format!("{}\n", file.display()), "{run:#?}");
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.err.contains("fake-agent/1.2: "), "{run:#?}");
    assert!(run.err.contains(&format!("junto run --profile {}", file.display())), "{run:#?}");
    leaves_nothing(machine);
    let shown = machine.run(&["profile", "show", name, "--json"]).ok();
    serde_json::from_str(&shown).unwrap()
}

#[test]
fn what_claude_sends_becomes_a_profile() {
    let machine = agent(&CLAUDE, &claude_body()).with("ANTHROPIC_API_KEY", "a real key");
    let profile = captured(&machine, "claude", "claude");
    assert_eq!(profile["base"], "You are a fake.", "without the note for the vendor's books");
    assert_eq!((&profile["id"], &profile["family"]), (&"claude".into(), &"anthropic".into()));
    assert_eq!(profile["left_out"], json!(["Teleport"]));
    let text = fs::read_to_string(machine.path(".config/junto/profiles/claude.toml")).unwrap();
    assert!(text.starts_with("# fake-agent/1.2\n# What it tells its model"), "{text}");
    let file: toml::Table = text.parse().unwrap();
    assert_eq!(file["tool"][0]["name"].as_str(), Some("Bash"));
    assert_eq!(file["tool"][0]["description"].as_str(), Some("Runs \"\"\" it.\nReally."));
    assert!(file["tool"][0]["parameters"].as_str().unwrap().contains("\"required\""));
    assert!(!text.contains("a real key"));
}

#[test]
fn what_codex_sends_becomes_a_profile() {
    let profile = captured(&agent(&CODEX, &codex_body()), "codex", "codex");
    assert_eq!((&profile["base"], &profile["family"]), (&"Be codex.".into(), &"openai".into()));
}

#[test]
fn what_gemini_sends_becomes_a_profile() {
    let profile = captured(&agent(&GEMINI, &gemini_body()), "gemini", "gemini-cli");
    assert_eq!((&profile["base"], &profile["family"]), (&"Be gemini.".into(), &"gemini".into()));
}

#[test]
fn a_profile_is_saved_where_one_wants_it_and_listed() {
    let machine = agent(&CODEX, &codex_body());
    machine.run(&["profile", "capture", "codex", "--out", "own/mine.toml"]).ok();
    assert!(machine.path("project/own/mine.toml").is_file());
    machine.run(&["profile", "show", "own/mine.toml"]).ok();
    assert!(!machine.path(".config/junto").exists());
    machine.run(&["profile", "capture", "codex", "--model", "gpt-6"]).ok();
    let listed = machine.run(&["profile", "list"]).ok();
    let names: Vec<&str> = listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["openai", "anthropic", "gemini", "compatible", "codex"], "{listed}");
}

#[test]
fn profiles_go_by_the_names_that_are_listed() {
    let file = "[profile]\nid = \"another\"\nextends = \"anthropic\"\ntools = [\"grep\"]\n";
    let mut stage = Stage::on_any_wire(Play::text("Done."));
    stage.machine.write(".config/junto/profiles/mine.toml", file);
    stage.machine.write(".config/junto/profiles/openai.toml", file);
    let listed = stage.machine.run(&["profile", "list"]);
    let names: Vec<&str> =
        listed.out.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    let shadowed = crate::text(&stage.machine.path(".config/junto/profiles/openai.toml"));
    assert_eq!(names, ["openai", "anthropic", "gemini", "compatible", "mine", &shadowed], "{listed:#?}");
    assert!(listed.err.contains(&format!("{shadowed} is not used")), "{listed:#?}");
    // What does nothing is told.
    let run = stage.machine.run(&["run", "--profile", "mine", "--dialect", "native", "Hi."]);
    assert!(run.err.contains("the dialect does nothing for the profile another"), "{run:#?}");
    let run = stage.machine.run(&["run", "--profile", "openai", "Hi."]);
    assert!(run.err.contains(&format!("{shadowed} is not used")), "{run:#?}");
    stage.machine = stage.machine.with("JUNTO_PROFILE", "mine");
    let run = stage.machine.run(&["run", "Hi."]);
    assert_eq!((run.code, run.err.contains("warning")), (Some(0), false), "{run:#?}");
}

#[test]
fn an_agent_that_is_not_installed_is_named() {
    for (name, package) in [
        ("claude", "@anthropic-ai/claude-code"),
        ("codex", "@openai/codex"),
        ("gemini", "@google/gemini-cli"),
    ] {
        let run = Machine::new().with("PATH", "/nonexistent").run(&["profile", "capture", name]);
        run.fails(2, &[&format!("{name} is not installed"), package]);
    }
}

#[test]
fn an_agent_that_asks_nothing_is_ended() {
    // Its child would live on if nobody looked for it.
    let script = "#!/bin/sh\nsleep 1000 &\necho $! > ../pids\nsleep 1000\n";
    let machine = with_program("claude", script);
    let run = machine.run(&["profile", "capture", "claude", "--timeout", "1s"]);
    run.fails(1, &["claude asked nothing within 1s", "--timeout waits longer"]);
    leaves_nothing(&machine);
    assert!(!machine.path(".config/junto").exists());
}

#[test]
fn an_agent_that_ends_at_once_is_quoted() {
    let machine = with_program("gemini", "#!/bin/sh\necho please log in >&2\nexit 41\n");
    let run = machine.run(&["profile", "capture", "gemini"]);
    run.fails(1, &["gemini ended (exit 41) without asking", "it said: please log in"]);
}

#[test]
fn a_request_of_another_form_is_an_error_that_shows_it() {
    let elsewhere = Kind { path: "/v9/talk", ..CLAUDE };
    let run = agent(&elsewhere, &claude_body()).run(&["profile", "capture", "claude"]);
    run.fails(1, &["what claude sent cannot be read", "POST /v9/talk"]);
    let mut without_tools = claude_body();
    without_tools["tools"] = json!([]);
    let run = agent(&CLAUDE, &without_tools).run(&["profile", "capture", "claude"]);
    run.fails(1, &["POST /v1/messages?beta=true: it declares no tools"]);
}

#[test]
fn the_agent_sees_no_key_of_the_users_and_no_home_of_theirs() {
    let script = "#!/bin/sh\nenv >&2\npwd >&2\nexit 1\n";
    for (name, home) in
        [("claude", "CLAUDE_CONFIG_DIR="), ("codex", "CODEX_HOME="), ("gemini", "GEMINI_CLI_HOME=")]
    {
        let keys = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GITHUB_TOKEN"];
        let machine =
            keys.iter().fold(with_program(name, script), |machine, key| machine.with(key, "mine-5d1f"));
        let run = machine.run(&["profile", "capture", name]).fails(1, &[home, "/tmp/junto-capture-"]);
        assert!(!run.err.contains("mine-5d1f"), "{run:#?}");
    }
}

#[test]
fn our_profiles_are_shown() {
    let machine = Machine::new();
    for (name, tool, document) in [
        ("openai", "apply_patch", ".codex/instructions.md"),
        ("anthropic", "edit_file", "CLAUDE.md"),
        ("gemini", "read_many_files", "GEMINI.md"),
        ("compatible", "write_file", "AGENTS.md"),
    ] {
        let shown = machine.run(&["profile", "show", name]).ok();
        assert!(shown.contains(&format!("  {tool} ")) && shown.contains(document), "{shown}");
        assert!(shown.contains("\nBase instructions\n\n"), "{shown}");
    }
    machine.run(&["profile", "show", "gemni"]).fails(2, &["did you mean \"gemini\"?"]);
    machine.write("project/bad.toml", "[profile]\nid = \"x\"\nextend = \"gemini\"\n");
    machine.run(&["profile", "show", "bad.toml"]).fails(2, &["bad.toml", "line 3", "extend"]);
    machine.write("project/good.toml", "[profile]\nid = \"x\"\nextends = \"gemini\"\n");
    machine.run(&["profile", "show", "good.toml", "--dialect", "native"]).fails(2, &["--dialect"]);
}
