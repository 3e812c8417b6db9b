use junto_core::ToolCx;
use schemars::JsonSchema;
use serde_json::json;

use super::*;
use crate::{tool, tools};

fn names(profile: &Profile) -> Vec<&str> {
    profile.tools.names().collect()
}

#[derive(serde::Deserialize, JsonSchema)]
struct Nothing {}

fn own(name: &str) -> Arc<dyn Tool> {
    Arc::new(tool(name, "mine", |_: Nothing, _: ToolCx| async { "" }))
}

#[test]
fn each_family_has_its_tools_in_our_dialect() {
    let check = |profile: Profile, first: &[&str]| {
        let jobs = ["shell_output", "shell_input", "shell_kill"];
        let expected: Vec<&str> = first
            .iter()
            .flat_map(|&name| if name == "shell" { [&["shell"], &jobs[..]].concat() } else { vec![name] })
            .chain(["update_plan"])
            .collect();
        assert_eq!(names(&profile), expected, "{}", profile.id);
    };
    check(Profile::openai(), &["read_file", "apply_patch", "write_file", "shell", "grep", "glob"]);
    check(Profile::anthropic(), &["read_file", "write_file", "edit_file", "shell", "grep", "glob"]);
    check(
        Profile::gemini(),
        &["read_file", "read_many_files", "write_file", "edit_file", "shell", "grep", "glob", "list_dir"],
    );
    check(
        Profile::compatible(),
        &["read_file", "write_file", "edit_file", "shell", "grep", "glob", "list_dir"],
    );
}

#[test]
fn a_provider_is_known_by_its_name_or_by_its_wire() {
    let check = |name: &str, wire, expected| {
        assert_eq!(Profile::for_provider(name, wire).family(), expected, "{name} {wire:?}");
    };
    check("openai", Wire::Responses, Family::OpenAi);
    check("openai", Wire::Chat, Family::OpenAi);
    check("anthropic", Wire::Anthropic, Family::Anthropic);
    check("gemini", Wire::Gemini, Family::Gemini);
    check("compatible", Wire::Anthropic, Family::Compatible);
    check("work", Wire::Responses, Family::OpenAi);
    check("work", Wire::Anthropic, Family::Anthropic);
    check("work", Wire::Gemini, Family::Gemini);
    check("ollama", Wire::Chat, Family::Compatible);
}

#[test]
fn what_the_catalog_knows_of_a_model_wins() {
    let catalog = Catalog::builtin();
    let check = |profile: Profile, model: Option<&str>, reasoning: bool, window: Option<u64>| {
        let known = profile.capabilities_of(&catalog, model);
        assert_eq!((known.reasoning, known.context_window), (reasoning, window), "{} {model:?}", profile.id);
    };
    let opus = catalog.get("claude-opus-5-5").unwrap().context_window;
    check(Profile::anthropic(), Some("claude-opus-5-5"), true, Some(opus));
    check(Profile::anthropic().with_model("claude-opus-5-5"), None, true, Some(opus));
    check(Profile::compatible(), Some("claude-opus-5-5"), true, Some(opus));
    check(Profile::anthropic(), Some("claude-unheard-of"), true, Some(200_000));
    check(Profile::gemini(), Some("mine"), true, Some(1_048_576));
    check(Profile::compatible(), Some("llama"), true, None);
    check(Profile::compatible(), None, true, None);
    let latest = catalog.latest("openai", None).unwrap();
    check(Profile::openai(), None, true, Some(latest.context_window));
    let simple = catalog.list(None).into_iter().find(|model| model.reasoning == Reasoning::None);
    if let Some(simple) = simple {
        check(Profile::openai(), Some(&simple.id), false, Some(simple.context_window));
    }
}

#[test]
fn somebodys_own_tools_survive_a_change_of_dialect_and_of_timeout() {
    let mut profile = Profile::anthropic();
    profile.tools.register(own("deploy"));
    profile.tools.register(own("shell"));
    profile.tools.unregister("glob");
    for dialect in [Dialect::Native, Dialect::Spec] {
        profile = profile.with_dialect(dialect).with_shell_timeout(Duration::from_secs(7));
        for name in ["deploy", "shell"] {
            assert_eq!(profile.tools.get(name).unwrap().spec().description, "mine", "{dialect:?} {name}");
        }
        assert!(profile.tools.get("glob").is_none(), "{dialect:?}");
    }
}

#[test]
fn the_model_is_told_how_long_a_command_may_take() {
    let check = |profile: Profile, ms: &str| {
        let shell = profile.tools.get("shell").unwrap().spec().parameters().unwrap().to_string();
        assert!(shell.contains(&format!("{ms} by default")), "{}: {shell}", profile.id);
    };
    check(Profile::openai(), "10000");
    check(Profile::anthropic(), "120000");
    check(Profile::gemini(), "10000");
    check(Profile::anthropic().with_shell_timeout(Duration::from_secs(30)), "30000");
}

#[test]
fn options_are_added_to_those_of_the_family() {
    let check = |profile: Profile, wire: &str, expected: Value| {
        assert_eq!(profile.options.get(wire), Some(&expected), "{}", profile.id);
    };
    let betas = |betas: &[&str]| json!({"beta_headers": betas});
    check(Profile::anthropic(), "anthropic", betas(&["interleaved-thinking-2025-05-14"]));
    let more = ["context-1m-2025-08-07", "interleaved-thinking-2025-05-14"];
    check(
        Profile::anthropic().with_betas(more),
        "anthropic",
        betas(&["interleaved-thinking-2025-05-14", "context-1m-2025-08-07"]),
    );
    check(Profile::openai().with_betas(["x"]), "anthropic", betas(&["x"]));
    let text = Profile::anthropic().with_option(Wire::Anthropic, "beta_headers", json!("a, b"));
    check(text.with_betas(["b", "c"]), "anthropic", betas(&["a", "b", "c"]));
    check(
        Profile::openai().with_option(Wire::Responses, "text", json!({"verbosity": "low"})),
        "openai",
        json!({"text": {"verbosity": "low"}}),
    );
    let strict = Profile::gemini().with_safety("HARM_CATEGORY_HARASSMENT", "BLOCK_NONE");
    let settings = strict.options["gemini"]["safetySettings"].as_array().unwrap();
    let of = |category: &str| -> Vec<&Value> {
        let is = |s: &&Value| s["category"] == category;
        settings.iter().filter(is).map(|s| &s["threshold"]).collect()
    };
    assert_eq!((settings.len(), of("HARM_CATEGORY_HARASSMENT")), (4, vec![&json!("BLOCK_NONE")]));
}

#[test]
fn base_instructions_speak_of_the_tools_that_are_there() {
    // Everything that is a tool's name in one of the profiles; a text may only name those of its own.
    let profiles = || {
        let both = |family| [Dialect::Spec, Dialect::Native].map(|d| Profile::of(family).with_dialect(d));
        Family::ALL.into_iter().flat_map(both)
    };
    let all: std::collections::BTreeSet<String> = profiles()
        .flat_map(|profile| profile.tools.names().map(str::to_owned).collect::<Vec<_>>())
        .chain(tools::all().iter().map(|tool| tool.spec().name.clone()))
        .collect();
    for profile in profiles() {
        let (id, dialect) = (&profile.id, profile.dialect());
        let quoted: Vec<&str> = profile.base.split('`').skip(1).step_by(2).collect();
        for name in &all {
            assert!(
                !quoted.contains(&name.as_str()) || profile.tools.get(name).is_some(),
                "{id} {dialect:?}: {name} is no tool of it"
            );
        }
        let editing = ["apply_patch", "edit_file", "Edit", "replace"];
        assert!(
            editing.iter().any(|name| quoted.contains(name) && profile.tools.get(name).is_some()),
            "{id} {dialect:?}: nothing about changing files"
        );
        let lines = profile.base.lines().count();
        assert!((60..=120).contains(&lines), "{id} {dialect:?}: {lines} lines");
        assert!(profile.base.lines().all(|line| line.chars().count() <= 120), "{id} {dialect:?}: long lines");
    }
}

/// A session that is switched to another vendor asks it for what that vendor's family asks for.
#[test]
fn another_vendor_is_asked_as_its_family_is() {
    let own = Map::from_iter([("anthropic".to_owned(), serde_json::json!({"beta_headers": ["b"]}))]);
    let profile = Profile { options: own.clone(), ..Profile::anthropic() };
    for provider in [None, Some("anthropic"), Some("local")] {
        assert_eq!(profile.options_at(provider), own, "{provider:?}");
    }
    for family in [Family::Gemini, Family::OpenAi] {
        let mut expected = options::defaults(family);
        expected.extend(own.clone());
        assert_eq!(profile.options_at(Some(family.name())), expected, "{family:?}");
    }
    let catalog = Catalog::builtin();
    let window = |provider, model| profile.capabilities_at(provider, &catalog, model).context_window;
    assert_eq!(window(Some("gemini"), Some("unknown-1")), Profile::gemini().capabilities.context_window);
    assert_eq!(window(Some("local"), Some("unknown-1")), Profile::anthropic().capabilities.context_window);
    let latest = catalog.latest("openai", None).map(|model| model.context_window);
    assert_eq!(window(Some("openai"), None), latest);
}
