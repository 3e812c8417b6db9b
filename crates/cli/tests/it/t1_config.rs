use serde_json::{Value, json};

use crate::{Machine, text};

/// The value and origin of a key, as `config show --json` tells them.
fn shown(machine: &Machine, args: &[&str], key: &str) -> (Value, Value) {
    let out = machine.run(&[&["config", "show", "--json"], args].concat()).ok();
    let all: Value = serde_json::from_str(&out).unwrap();
    let settings = all["settings"].as_array().unwrap();
    let setting = settings.iter().find(|s| s["key"] == key).unwrap_or_else(|| panic!("no {key} in {out}"));
    (setting["value"].clone(), setting["origin"].clone())
}

#[test]
fn values_tell_where_they_came_from() {
    let machine = Machine::configured("# mine\nmodel = \"user\"\n");
    let user = text(&machine.path(".config/junto/config.toml"));
    assert_eq!(shown(&machine, &[], "timeouts.connect"), (json!("10s"), json!({"kind": "default"})));
    assert_eq!(
        shown(&machine, &[], "model"),
        (json!("user"), json!({"kind": "file", "file": user, "line": 2}))
    );
    let machine = machine.with("JUNTO_MODEL", "variable").with("JUNTO_REQUEST_TIMEOUT", "5m");
    assert_eq!(
        shown(&machine, &[], "model"),
        (json!("variable"), json!({"kind": "variable", "name": "JUNTO_MODEL"}))
    );
    assert_eq!(shown(&machine, &[], "timeouts.request").0, json!("5m"));
    assert_eq!(
        shown(&machine, &["--model", "flag"], "model"),
        (json!("flag"), json!({"kind": "flag", "name": "--model"}))
    );
}

#[test]
fn what_is_shown_is_itself_a_configuration() {
    let machine = Machine::configured(
        "aliases.\"a b\" = \"m\"\n[providers.\"x.y\"]\nwire = \"chat\"\nbase_url = \"http://h/v1\"\n\
         headers = { X-Team = \"t\" }\n[[models]]\nid = \"m\"\nprovider = \"p\"\nname = \"M\"\n\
         context_window = 1\nmax_output = 1\nreleased = \"2026-01-01\"\nprice = { input = 1, output = 2 }\n",
    );
    let first = machine.run(&["config", "show"]).ok();
    assert!(first.contains("providers.\"x.y\".headers.X-Team = \"t\""), "{first}");
    assert!(first.contains(&format!("# {}:4", text(&machine.path(".config/junto/config.toml")))), "{first}");
    assert!(first.contains("# model is not set"), "{first}");
    let values = || -> Vec<(String, Value)> {
        let all: Value = serde_json::from_str(&machine.run(&["config", "show", "--json"]).ok()).unwrap();
        let settings = all["settings"].as_array().unwrap().iter();
        settings.map(|s| (s["key"].to_string(), s["value"].clone())).collect()
    };
    let before = values();
    machine.write(".config/junto/config.toml", &first);
    assert_eq!(values(), before);
}

#[test]
fn an_untrusted_project_is_ignored_until_it_is_trusted() {
    let machine = Machine::configured("model = \"user\"");
    machine.write("project/.junto/config.toml", "model = \"project\"\n");
    let root = text(&machine.path("project"));
    let value = || shown(&machine, &[], "model").0;

    let run = machine.run(&["config", "show"]);
    assert!(run.err.contains(&format!("junto trust {root}")), "{run:#?}");
    assert_eq!(value(), "user");

    assert!(machine.run(&["config", "trust"]).err.contains(&format!("{root} is trusted now")));
    assert_eq!(value(), "project");
    assert_eq!(machine.run(&["config", "show"]).err, "");
    assert!(machine.run(&["config", "path"]).ok().contains("(exists, trusted)"));

    assert!(machine.run(&["config", "untrust", &root]).err.contains("is trusted no more"));
    assert_eq!(value(), "user");
    assert!(machine.run(&["config", "path"]).ok().contains("(exists, not trusted)"));
    machine.run(&["config", "trust", "/"]).fails(2, &["not in a project"]);
}

#[test]
fn files_are_named_and_whether_they_exist() {
    let machine = Machine::new();
    let out = machine.run(&["config", "path"]).ok();
    assert_eq!(
        out,
        format!(
            "user     {} (absent)\nproject  {} (absent, not trusted)\ntrust    {} (absent)\n",
            text(&machine.path(".config/junto/config.toml")),
            text(&machine.path("project/.junto/config.toml")),
            text(&machine.path(".config/junto/trusted.toml")),
        )
    );
    let moved = Machine::new().with("XDG_CONFIG_HOME", "/nowhere/xdg");
    assert!(moved.run(&["config", "path"]).ok().contains("user     /nowhere/xdg/junto/config.toml (absent)"));
    let named = Machine::new().with("JUNTO_CONFIG", "mine.toml");
    named.write("project/mine.toml", "model = \"mine\"");
    assert!(named.run(&["config", "path"]).ok().contains("mine.toml (exists, named by JUNTO_CONFIG)"));
    assert_eq!(shown(&named, &[], "model").0, "mine");
}

#[test]
fn wrong_files_are_refused_with_everything_that_is_wrong() {
    let wrong =
        "provider = \"openai\"\n\n[timeouts]\nidle = 30\n\n[providers.local]\nbase_ur = \"http://x\"\n";
    let machine = Machine::configured(wrong);
    let file = text(&machine.path(".config/junto/config.toml"));
    let said = [
        format!(
            "error: {file}:4: `timeouts.idle`: expected a duration above zero such as \"30s\" or \"2m\", found the number 30\n"
        ),
        format!(
            "error: {file}:7: unknown key \"base_ur\" in `providers.local`; did you mean \"base_url\"?\n"
        ),
    ];
    let said = [said[0].as_str(), said[1].as_str()];
    for args in [&["config", "validate"][..], &["config", "show"], &["ask", "hi"], &["models"]] {
        machine.run(args).fails(2, &said);
    }
    let other = Machine::new();
    other.write("project/c.toml", wrong);
    let short = ["c.toml:4: `timeouts.idle`", "c.toml:7: unknown key \"base_ur\""];
    other.run(&["config", "validate", "c.toml"]).fails(2, &short);
    other.run(&["config", "validate", "gone.toml"]).fails(2, &["gone.toml: there is no such file"]);
    other.write("project/c.toml", "model = \"m\"\n");
    other.run(&["config", "validate", "c.toml"]).ok();
    other.run(&["config", "validate"]).ok();
}

#[test]
fn what_could_never_work_is_no_valid_configuration() {
    let check = |text: &str, said: &[&str]| {
        Machine::configured(text).run(&["config", "validate"]).fails(2, said);
        let file = Machine::new();
        file.write("project/c.toml", text);
        file.run(&["config", "validate", "c.toml"]).fails(2, said);
    };
    check("[aliases]\na = \"b\"\nb = \"a\"", &[".toml:2: `aliases.a` stands for itself"]);
    check("[aliases]\nb = \"\"", &[".toml:2: `aliases.b`: must not be empty"]);
    let provider = "[providers.x]\nwire = \"chat\"\nbase_url = \"http://h\"\n";
    check(&format!("{provider}headers = {{ \"X Team\" = \"a\" }}"), &["a header's name"]);
    check(&format!("{provider}headers = {{ X-Team = \"a\\nb\" }}"), &["a header's value"]);
    check("[[models]]\nprice = { input = -1 }", &["expected a number, zero or more, found the number -1"]);
    let run = Machine::new().with("OPENAI_BASE_URL", "nonsense").run(&["config", "validate"]);
    assert_eq!(run.fails(2, &["env OPENAI_BASE_URL"]).err.matches("error: ").count(), 1);
}

#[test]
fn odd_files_are_errors_not_panics() {
    let machine = Machine::new();
    for (text, said) in [
        (&b"\xff\xfe"[..], "is not UTF-8 text"),
        (b"model = ", "config.toml:1: "),
        (b"[[[", "config.toml:1: "),
        (b"model = \"a\"\nmodel = \"b\"", "config.toml:2: "),
        (b"x = [[[[[[[[", "config.toml:1: "),
        (&vec![b'['; 100_000], "config.toml:1: "),
        (&vec![b'#'; 1_100_000], "larger than 1 MiB"),
    ] {
        machine.write(".config/junto/config.toml", text);
        machine.run(&["config", "validate"]).fails(2, &[said]);
    }
    std::fs::remove_file(machine.path(".config/junto/config.toml")).unwrap();
    std::fs::create_dir(machine.path(".config/junto/config.toml")).unwrap();
    machine.run(&["config", "validate"]).fails(2, &["config.toml: cannot be read"]);
}

#[test]
fn keys_in_files_are_refused_and_not_repeated() {
    let key = "sk-ant-api03-abcdefghijklmnop";
    for text in [
        format!("[providers.anthropic]\napi_key = \"{key}\"\n"),
        format!("[providers.anthropic]\nkey_env = \"{key}\"\n"),
        format!("[providers.x]\nwire = \"chat\"\nbase_url = \"http://u:{key}@h\"\n"),
        format!("[providers.anthropic]\nheaders.Authorization = \"Bearer {key}\"\n"),
        format!("model = \"{key}\n"),
    ] {
        let run = Machine::configured(&text).run(&["config", "validate"]).fails(2, &["config.toml:"]);
        assert!(!run.err.contains(key), "{run:#?}");
    }
    let machine = Machine::new().with("ANTHROPIC_API_KEY", key).with("OPENAI_API_KEY", key);
    for args in [&["config", "show"][..], &["config", "show", "--json"], &["models"], &["models", "--json"]] {
        let run = machine.run(args);
        assert!(run.code == Some(0) && !run.out.contains(key) && !run.err.contains(key), "{run:#?}");
    }
}
