use serde_json::json;

use super::*;

fn read(text: &str) -> Profile {
    Profile::from_toml(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn what_a_file_does_not_say_is_as_the_family_has_it() {
    for family in Family::ALL {
        let profile = read(&format!("[profile]\nid = \"{}\"", family.name()));
        let own = Profile::of(family);
        assert_eq!(profile.base, own.base);
        assert_eq!(profile.options, own.options);
        assert_eq!(profile.capabilities, own.capabilities);
        assert_eq!(profile.documents, own.documents);
        assert_eq!(profile.shell_timeout(), own.shell_timeout());
        assert_eq!(profile.tools.definitions(), own.tools.definitions());
    }
}

#[test]
fn what_a_file_says_holds() {
    let profile = read(
        r#"
        [profile]
        id = "terse"
        extends = "anthropic"
        model = "claude-opus-5-5"
        effort = "high"
        base = "You mend programs."
        documents = ["TERSE.md"]
        shell_timeout_ms = 7000
        tools = ["grep", "shell"]

        [profile.capabilities]
        parallel_tool_calls = false
        context_window = 1000

        [profile.options.anthropic]
        service_tier = "auto"

        [[tool]]
        name = "look"
        description = "Looks at a file."
        use = "read_file"
        parameters = '{"type": "object", "properties": {"file_path": {"type": ["string", "null"], "default": null}}}'

        [[tool]]
        name = "list_dir"
        "#,
    );
    assert_eq!((profile.id.as_str(), profile.family()), ("terse", Family::Anthropic));
    assert_eq!((profile.model.as_deref(), &profile.effort), (Some("claude-opus-5-5"), &Some(Effort::High)));
    assert_eq!(
        (profile.base.as_str(), &profile.documents[..]),
        ("You mend programs.", &["TERSE.md".to_owned()][..])
    );
    assert_eq!(profile.tools.names().collect::<Vec<_>>(), ["grep", "shell", "look", "list_dir"]);
    assert!(profile.tools.get("shell").unwrap().spec().parameters().unwrap().to_string().contains("7000 by"));
    let look = profile.tools.get("look").unwrap().spec();
    assert_eq!(look.description, "Looks at a file.");
    assert_eq!(look.parameters().unwrap()["properties"]["file_path"]["default"], Value::Null);
    let own = builtin::named("list_dir", Timeouts::default()).unwrap();
    assert_eq!(profile.tools.get("list_dir").unwrap().spec(), own.spec());
    let capabilities = profile.capabilities;
    assert!(capabilities.reasoning && capabilities.streaming && !capabilities.parallel_tool_calls);
    assert_eq!(capabilities.context_window, Some(1000));
    let options = json!({"beta_headers": ["interleaved-thinking-2025-05-14"], "service_tier": "auto"});
    assert_eq!(profile.options["anthropic"], options);
}

#[test]
fn what_nobody_can_run_is_left_out_and_named() {
    let profile = read(
        "[profile]\nid = \"openai\"\n\n[[tool]]\nname = \"shell\"\n\n[[tool]]\nname = \"teleport\"\n\
         description = \"Goes elsewhere.\"\nparameters = '{\"type\": \"object\"}'",
    );
    assert_eq!(profile.tools.names().collect::<Vec<_>>(), ["shell"]);
    assert_eq!(profile.left_out, ["teleport"]);
}

#[test]
fn definitions_go_through_a_file_unchanged() {
    let parameters = json!({"type": "object", "properties": {"x": {"enum": [null, "a\n\"b\"'''"]}}});
    let format = json!({"type": "grammar", "syntax": "lark", "definition": "start: \"x\"\n"});
    let item = json!({"type": "web_search"});
    let wire = junto_llm::Wire::Responses;
    let specs = [
        ToolSpec::foreign("look", "Looks.\nTwice.", parameters),
        ToolSpec {
            name: "patch".into(),
            description: "P".into(),
            kind: ToolKind::Custom { format: Some(format) },
        },
        ToolSpec { name: "say".into(), description: "S".into(), kind: ToolKind::Custom { format: None } },
        ToolSpec { name: "web".into(), description: "W".into(), kind: ToolKind::Hosted { wire, item } },
    ];
    let head =
        ProfileHead { id: "openai".into(), base: Some("a\n'''b\"\"\"\n".into()), ..ProfileHead::default() };
    let tool = specs.iter().map(|spec| ToolEntry::of(spec, Some("shell".into()))).collect();
    let file = ProfileFile { profile: head, tool };
    let text = file.to_toml().unwrap();
    assert_eq!(toml::from_str::<ProfileFile>(&text).unwrap(), file, "{text}");
    let profile = read(&text);
    assert_eq!(profile.tools.definitions(), specs, "{text}");
    assert_eq!(profile.base, "a\n'''b\"\"\"\n");
}

#[test]
fn a_file_that_makes_no_sense_is_explained() {
    let check = |text: &str, expected: &str| match Profile::from_toml(text) {
        Ok(profile) => panic!("{profile:?}"),
        Err(error) => {
            let told = format!("{error} {}", error.hint().unwrap_or_default());
            assert!(error.kind() == AgentErrorKind::Invalid && told.contains(expected), "{text}: {told}");
        }
    };
    let with = |more: &str| format!("[profile]\nid = \"openai\"\n{more}");
    check("", "profile");
    check("[profile", "line 1");
    check("[profile]\nid = \"mine\"", "one of openai, anthropic, gemini, compatible");
    check(&with("colour = 1"), "line 3");
    check(&with("extends = \"acme\""), "line 3");
    check(&with("tools = [\"fly\"]"), "`fly`");
    check(&with("[[tool]]\nname = \"a\"\nuse = \"fly\""), "`fly`");
    check(&with("[[tool]]\nname = \"shell\"\nparameters = \"{\""), "`shell`: not JSON");
    check(&with("[[tool]]\nname = \"shell\"\nparameters = \"{}\"\nformat = \"\""), "only one of");
    check("[profile]\nid = \"compatible\"\n[[tool]]\nname = \"a\"\nhosted = \"{}\"", "by itself");
}

#[test]
fn the_tools_of_a_file_stay_what_they_are_in_another_dialect() {
    let text = "[profile]\nid = \"openai\"\ntools = [\"grep\"]\n[[tool]]\nname = \"run\"\nuse = \"shell\"";
    let profile = read(text).with_dialect(Dialect::Native).with_shell_timeout(Duration::from_secs(7));
    assert_eq!(profile.tools.names().collect::<Vec<_>>(), ["grep", "run"]);
    let run = profile.tools.get("run").unwrap().spec().parameters().unwrap().to_string();
    assert!(run.contains("7000 by default"), "the host's time holds for them too: {run}");
}
