//! Which system prompt a session begins with.

use junto_agent::{Profile, SessionConfig};
use junto_core::Body;
use junto_llm::Role;

use crate::scene::{Record, Scene};
use crate::script::{Line, script};

/// The system prompt that the model got, if it got one, and what the session did.
async fn system(change: impl FnOnce(SessionConfig) -> SessionConfig) -> (Option<String>, Record) {
    let model = script([Line::Text("Hello.")]);
    let bare = |config| SessionConfig { system: String::new(), ..config };
    let mut scene = Scene::with(model.clone(), |config| change(bare(config))).await;
    scene.ask("Hi").await;
    let record = scene.end().await;
    let requests = model.requests.lock().unwrap();
    let first = &requests[0].messages[0];
    ((first.role == Role::System).then(|| first.text()), record)
}

#[tokio::test]
async fn the_profiles_prompt_is_about_this_session() {
    let (system, record) = system(|config| SessionConfig {
        profile: Some(Profile::openai()),
        model: Some("gpt-5.5".into()),
        instructions: Some("Answer in Latin.".into()),
        ..config
    })
    .await;
    let system = system.unwrap();
    assert!(system.starts_with(Profile::openai().base.trim()), "{system}");
    // The session's clock stands still at the beginning of time.
    let facts = "\nToday's date: 1970-01-01\nModel: GPT-5.5\nKnowledge cutoff: 2025-12\n</environment>\n";
    assert!(system.contains(facts), "{system}");
    // The profile's tools, and those that were registered beside them.
    assert!(system.contains("\n\n## apply_patch\n\n") && system.contains("\n\n## edit_file\n\n"), "{system}");
    assert!(system.ends_with("\n\nAnswer in Latin."), "{system}");
    assert_eq!(record.count("warning"), 0);
}

#[tokio::test]
async fn a_prompt_of_ones_own_is_taken_as_it_is() {
    for (profile, own, instructions, expected) in [
        (None, "", None, None),
        (None, "Mend it.", None, Some("Mend it.")),
        (Some(Profile::openai()), "Mend it.", None, Some("Mend it.")),
        (None, "", Some("In Latin."), Some("# User instructions\n\n…\n\nIn Latin.")),
        (None, "Mend it.", Some("In Latin."), Some("Mend it.\n\n# User instructions\n\n…\n\nIn Latin.")),
    ] {
        let instructions = instructions.map(str::to_owned);
        let (system, _) =
            system(|config| SessionConfig { profile, system: own.into(), instructions, ..config }).await;
        let heading = "These come from the user. Where they disagree with anything above, they win.";
        assert_eq!(system.map(|system| system.replace(heading, "…")).as_deref(), expected);
    }
}

#[tokio::test]
async fn what_was_left_out_is_told() {
    let (system, record) = system(|config| {
        std::fs::create_dir(config.env.facts().cwd.as_path().join("AGENTS.md")).unwrap();
        SessionConfig { profile: Some(Profile::openai()), ..config }
    })
    .await;
    assert!(!system.unwrap().contains("# Project instructions"));
    let warnings: Vec<_> = record
        .events
        .iter()
        .filter_map(|event| match &event.body {
            Body::Warning { code, message } => Some((event.seq.0, code.as_str(), message.as_str())),
            _ => None,
        })
        .collect();
    let [(2, "prompt", message)] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(message.contains("AGENTS.md") && message.contains("a directory"), "{message}");
}
