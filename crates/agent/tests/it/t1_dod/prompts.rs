//! 9.8: what the model is told first.

use junto_agent::SessionConfig;
use junto_agent::profile::{Family, Profile};
use junto_core::EndReason;
use junto_twin::{Options, Step};

use super::model::{last, on_each_profile, requests, stand_with};
use crate::stand::{Stand, model};

/// The system prompt of a session that begins where these files are.
async fn prompt(
    family: Family,
    files: &[(&str, &str)],
    change: impl FnOnce(SessionConfig) -> SessionConfig,
) -> String {
    let mut stand = stand_with(family, [Step::text("Here.")], |config| {
        let here = config.env.facts().cwd.as_path().to_owned();
        for (name, content) in files {
            std::fs::create_dir_all(here.join(name).parent().unwrap()).unwrap();
            std::fs::write(here.join(name), content).unwrap();
        }
        change(config)
    })
    .await;
    assert_eq!(stand.scene.ask("Hello").await.0, EndReason::Done, "{family:?}");
    let system = last(&stand).system;
    stand.end(&[]).await;
    system
}

#[tokio::test]
async fn dod_the_profiles_instructions_come_first() {
    on_each_profile(async |family| {
        let system = prompt(family, &[], |config| config).await;
        let Profile { base, .. } = Profile::of(family);
        assert!(!base.trim().is_empty() && system.starts_with(base.trim()), "{family:?}: {system}");
    })
    .await;
}

/// What git has when nothing was committed yet.
const REPOSITORY: [(&str, &str); 4] = [
    (".git/HEAD", "ref: refs/heads/trunk\n"),
    (".git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"),
    (".git/objects/info/packs", ""),
    (".git/refs/heads/.keep", ""),
];

#[tokio::test]
async fn dod_the_environment_is_described() {
    on_each_profile(async |family| {
        let system = prompt(family, &REPOSITORY, |config| config).await;
        let (_, block) = system.split_once("<environment>\n").expect("the block");
        let (block, _) = block.split_once("\n</environment>").expect("its end");
        let lines: Vec<(&str, &str)> = block.lines().map(|line| line.split_once(": ").unwrap()).collect();
        let names = [
            "Working directory",
            "Is git repository",
            "Git branch",
            "Platform",
            "OS version",
            "Today's date",
            "Model",
            "Knowledge cutoff",
        ];
        assert_eq!(lines.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names, "{family:?}");
        let value = |name: &str| lines.iter().find(|(known, _)| *known == name).unwrap().1;
        assert!(value("Working directory").starts_with('/'), "{block}");
        assert_eq!((value("Is git repository"), value("Git branch")), ("true", "trunk"), "{family:?}");
        // The clock of the test stands still.
        assert_eq!((value("Platform"), value("Today's date")), ("linux", "1970-01-01"), "{family:?}");
        assert!(lines.iter().all(|(_, value)| !value.is_empty()), "{block}");
    })
    .await;
    let bare = prompt(Family::OpenAi, &[], |config| config).await;
    assert!(bare.contains("\nIs git repository: false\n"), "{bare}");
}

#[tokio::test]
async fn dod_the_tools_are_described() {
    on_each_profile(async |family| {
        let system = prompt(family, &[], |config| config).await;
        for tool in Profile::of(family).tools.definitions() {
            assert!(system.contains(tool.description.trim()), "{family:?}: {}", tool.name);
        }
    })
    .await;
}

/// The project's documents: what they are called and what they say.
const DOCUMENTS: [(&str, &str); 5] = [
    ("AGENTS.md", "Rule one: for everybody."),
    ("CLAUDE.md", "Rule two: for Claude."),
    ("GEMINI.md", "Rule three: for Gemini."),
    (".codex/instructions.md", "Rule four: for Codex."),
    ("README.md", "Not a rule."),
];

#[tokio::test]
async fn dod_the_projects_documents_are_read() {
    on_each_profile(async |family| {
        let system = prompt(family, &DOCUMENTS, |config| config).await;
        let own = match family {
            Family::OpenAi => "Rule four",
            Family::Anthropic => "Rule two",
            _ => "Rule three",
        };
        assert!(system.contains("Rule one: for everybody.") && system.contains(own), "{family:?}: {system}");
        let long = "All work and no play. ".repeat(3000);
        let system = prompt(family, &[("AGENTS.md", &long)], |config| config).await;
        assert!(system.contains("[Project instructions truncated at 32KB]"), "{family:?}");
        let told = system.matches("All work and no play.").count() * "All work and no play. ".len();
        assert!((31 * 1024..=32 * 1024).contains(&told), "{family:?}: {told}");
    })
    .await;
}

#[tokio::test]
async fn dod_the_users_instructions_come_last() {
    on_each_profile(async |family| {
        let instructions = Some("Answer in verse.".to_owned());
        let change = |config| SessionConfig { instructions, ..config };
        let system = prompt(family, &DOCUMENTS, change).await;
        assert!(system.trim_end().ends_with("Answer in verse."), "{family:?}: {system}");
    })
    .await;
}

#[tokio::test]
async fn dod_only_what_concerns_the_profile_is_read() {
    on_each_profile(async |family| {
        let system = prompt(family, &DOCUMENTS, |config| config).await;
        assert_eq!(system.matches("Rule ").count(), 2, "{family:?}: {system}");
        assert!(!system.contains("Not a rule."), "{family:?}");
    })
    .await;
    // Without a vendor there is nobody's file but everybody's.
    let system =
        Stand::with(junto_llm::Wire::Responses, [Step::text("Here.")], Options::default(), |config| {
            for (name, content) in DOCUMENTS {
                let path = config.env.facts().cwd.as_path().join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, content).unwrap();
            }
            let model = Some(model(junto_llm::Wire::Responses).1.into());
            SessionConfig { profile: Some(Profile::compatible()), system: String::new(), model, ..config }
        });
    let mut stand = system.await;
    stand.scene.ask("Hello").await;
    assert_eq!(last(&stand).system.matches("Rule ").count(), 1);
    assert_eq!(requests(&stand).len(), 1);
    stand.end(&[]).await;
}
