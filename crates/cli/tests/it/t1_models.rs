use serde_json::Value;

use crate::Machine;

fn json(machine: &Machine, args: &[&str]) -> Value {
    serde_json::from_str(&machine.run(&[&["models", "--json"], args].concat()).ok()).unwrap()
}

#[test]
fn the_catalog_is_listed_with_who_has_keys() {
    let machine = Machine::new().with("ANTHROPIC_AUTH_TOKEN", "t0ken-value");
    let out = machine.run(&["models"]).ok();
    let row = |start: &str| {
        let line = out.lines().find(|line| line.split_whitespace().next() == Some(start));
        line.unwrap_or_else(|| panic!("no {start} in {out}")).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(row("claude-opus-5-5").starts_with("claude-opus-5-5 anthropic 1M 128k 4 20"), "{out}");
    assert_eq!(
        row("anthropic"),
        "anthropic anthropic present ANTHROPIC_AUTH_TOKEN https://api.anthropic.com"
    );
    assert_eq!(row("openai"), "openai openai absent OPENAI_API_KEY https://api.openai.com/v1");
    assert!(!out.contains("t0ken-value"));
}

#[test]
fn json_has_the_same() {
    let machine = Machine::new().with("OPENAI_API_KEY", "secret-value");
    let all = json(&machine, &[]);
    let providers = all["providers"].as_array().unwrap();
    assert_eq!(providers[0]["name"], "openai");
    assert_eq!(
        (&providers[0]["key"], &providers[0]["key_env"]),
        (&"present".into(), &"OPENAI_API_KEY".into())
    );
    assert!(all["models"].as_array().unwrap().iter().any(|m| m["price"]["input"].is_number()));
    assert!(!all.to_string().contains("secret-value"));
}

#[test]
fn one_providers_models() {
    let machine = Machine::new();
    let all = json(&machine, &["--provider", "gemini"]);
    let models = all["models"].as_array().unwrap();
    assert!(!models.is_empty() && models.iter().all(|m| m["provider"] == "gemini"));
    assert_eq!(all["providers"].as_array().unwrap().len(), 1);
    machine
        .run(&["models", "--provider", "gemni"])
        .fails(2, &["unknown provider \"gemni\"; did you mean \"gemini\"?"]);
}

#[test]
fn own_models_providers_and_aliases_are_among_them() {
    let machine = Machine::configured(
        "aliases.mine = \"local/tiny-1\"\n[providers.local]\nwire = \"chat\"\nbase_url = \"http://h/v1\"\n\
         [[models]]\nid = \"tiny-1\"\nprovider = \"local\"\nname = \"Tiny\"\ncontext_window = 4096\n\
         max_output = 1000\nreleased = \"2026-01-01\"\n",
    );
    let out = machine.run(&["models", "--provider", "local"]).ok();
    let cells = |n: usize| out.lines().nth(n).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(cells(1), ["tiny-1", "local", "4096", "1k", "?", "?", "?", "-", "mine"]);
    assert!(out.contains("local     chat  not needed"), "{out}");
    assert_eq!(json(&machine, &[])["aliases"]["mine"], "local/tiny-1");
}
