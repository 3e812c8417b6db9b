//! The system prompt, in an environment that is nothing but a map.

use junto_agent::profile::Profile;
use junto_agent::prompt::{Built, PromptFacts, build};
use junto_env::{EnvFacts, ExecutionEnvironment, RealPath, plain, wrappers};
use junto_llm::ToolSpec;
use junto_llm::catalog::Catalog;
use serde_json::json;

use crate::memory::Memory;

const BUDGET: usize = 32 * 1024;
const MARKER: &str = "[Project instructions truncated at 32KB]";

/// The map, seen from another directory and system.
struct At {
    files: Memory,
    facts: EnvFacts,
}

impl wrappers::Layer for At {
    fn inner(&self) -> &dyn ExecutionEnvironment {
        &self.files
    }

    fn facts(&self) -> &EnvFacts {
        &self.facts
    }
}

/// These files, seen from a directory.
async fn at(cwd: &str, files: &[(&str, &str)]) -> At {
    let memory = Memory::new();
    for (path, content) in files {
        plain::write_file(&memory, path, content).await.unwrap();
    }
    let facts = EnvFacts { cwd: RealPath::resolved(cwd), ..memory.facts().clone() };
    At { files: memory, facts }
}

fn plain_profile() -> Profile {
    let mut profile = Profile::compatible();
    profile.base = "You are a test.\n".into();
    profile
}

fn facts() -> PromptFacts {
    PromptFacts { today: "2026-01-31".into(), model: "Model One".into(), ..PromptFacts::default() }
}

/// The documents in a prompt, in their order: path and text.
fn documents(built: &Built) -> Vec<(String, String)> {
    let parts = built.text.split("<project_document path=\"").skip(1);
    let document = |part: &str| {
        let (path, rest) = part.split_once("\">\n").unwrap();
        let (text, _) = rest.split_once("\n</project_document>").unwrap();
        (path.to_owned(), text.to_owned())
    };
    parts.map(document).collect()
}

#[tokio::test]
async fn five_layers_in_their_order() {
    let env = at("/project", &[("AGENTS.md", "Use tabs.\n")]).await;
    let facts = PromptFacts {
        knowledge_cutoff: Some("2025-08".into()),
        instructions: Some("Answer in Latin.\n".into()),
        tools: vec![
            ToolSpec::foreign("look", "Looks.\nThen looks again.", json!({"type": "object"})),
            ToolSpec::foreign("leap", "", json!({"type": "object"})),
        ],
        ..facts()
    };
    let expected = "You are a test.

<environment>
Working directory: /project
Is git repository: false
Git branch: none
Platform: memory
OS version: none
Today's date: 2026-01-31
Model: Model One
Knowledge cutoff: 2025-08
</environment>

# Tools

What you can call:

## look

Looks.
Then looks again.

## leap

# Project instructions

The project says this on how to work in it. Where two of its files disagree, the later one wins.

<project_document path=\"/project/AGENTS.md\">
Use tabs.
</project_document>

# User instructions

These come from the user. Where they disagree with anything above, they win.

Answer in Latin.";
    let built = build(&plain_profile(), &env, &facts).await;
    assert_eq!(built, Built { text: expected.into(), warnings: vec![] });
    assert_eq!(build(&plain_profile(), &env, &facts).await, built, "the same bytes every time");
}

#[tokio::test]
async fn layers_with_nothing_to_say_are_left_out() {
    let env = at("/project", &[("AGENTS.md", " \n")]).await;
    let facts = PromptFacts { instructions: Some("  \n".into()), ..PromptFacts::default() };
    let mut profile = plain_profile();
    profile.base = String::new();
    let built = build(&profile, &env, &facts).await;
    assert!(
        built.text.starts_with("<environment>\n") && built.text.ends_with("\n</environment>"),
        "{built:?}"
    );
    assert_eq!(built.text.lines().count(), 10, "{built:?}");
    assert!(built.text.contains("Model: unknown\nKnowledge cutoff: unknown\n"), "{built:?}");
}

#[tokio::test]
async fn lines_of_the_environment() {
    let mut env = at("/project/a\nModel: b", &[]).await;
    env.facts.os_version = "Linux 6.1\u{1b}[2J".into();
    for (platform, shown) in
        [("linux", "linux"), ("macos", "darwin"), ("windows", "windows"), ("", "unknown")]
    {
        env.facts.platform = platform.into();
        let text = build(&plain_profile(), &env, &facts()).await.text;
        let lines: Vec<&str> = text.lines().skip_while(|line| *line != "<environment>").skip(1).collect();
        let platform = format!("Platform: {shown}");
        assert_eq!(
            lines,
            [
                "Working directory: /project/a\\nModel: b",
                "Is git repository: false",
                "Git branch: none",
                &platform,
                "OS version: Linux 6.1\\u{1b}[2J",
                "Today's date: 2026-01-31",
                "Model: Model One",
                "Knowledge cutoff: unknown",
                "</environment>"
            ]
        );
    }
}

#[tokio::test]
async fn models_are_called_as_the_catalog_calls_them() {
    for (model, name, cutoff) in [
        ("gpt-5.5", "GPT-5.5", Some("2025-12")),
        ("claude-opus-4-6-20260205", "Claude Opus 4.6", Some("2025-05")),
        ("my-own-model", "my-own-model", None),
    ] {
        let facts = PromptFacts::of_model(model, Catalog::builtin().get(model));
        assert_eq!((facts.model.as_str(), facts.knowledge_cutoff.as_deref()), (name, cutoff));
    }
}

/// Where git cannot be asked the files say what they can.
#[tokio::test]
async fn a_repository_by_its_files() {
    let unborn = "ref: refs/heads/feature/x\n";
    for (files, repository, branch) in [
        (&[][..], false, "none"),
        (&[(".git/HEAD", unborn)], true, "feature/x"),
        (&[(".git/HEAD", "0123456789abcdef\n")], true, "unknown"),
        (&[(".git/HEAD", "ref: refs/heads/.invalid\n")], true, "unknown"),
        (&[(".git/HEAD", "ref: refs/heads/a\nModel: b\n")], true, "a\\nModel: b"),
        (&[(".git/config", "")], false, "none"),
        (
            &[
                (".git", "gitdir: ../elsewhere/.git/worktrees/x\n"),
                ("../elsewhere/.git/worktrees/x/HEAD", unborn),
            ],
            true,
            "feature/x",
        ),
        (&[(".git", "gitdir: gone\n")], false, "none"),
        (&[(".git", "just a file\n")], false, "none"),
    ] {
        let built = build(&plain_profile(), &at("/project", files).await, &facts()).await;
        let expected = format!("\nIs git repository: {repository}\nGit branch: {branch}\nPlatform: ");
        assert!(built.text.contains(&expected), "{files:?}: {}", built.text);
        assert!(!built.text.contains("<git_snapshot>"), "{files:?}: {}", built.text);
        assert_eq!(built.warnings, [""; 0], "{files:?}");
    }
}

#[tokio::test]
async fn each_profile_reads_its_own_documents() {
    let files = ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".codex/instructions.md"].map(|name| (name, name));
    let env = at("/project", &files).await;
    for (profile, names) in [
        (Profile::openai(), &["AGENTS.md", ".codex/instructions.md"][..]),
        (Profile::anthropic(), &["AGENTS.md", "CLAUDE.md"]),
        (Profile::gemini(), &["AGENTS.md", "GEMINI.md"]),
        (Profile::compatible(), &["AGENTS.md"]),
    ] {
        let built = build(&profile, &env, &facts()).await;
        let expected: Vec<_> =
            names.iter().map(|&name| (format!("/project/{name}"), name.to_owned())).collect();
        assert_eq!(documents(&built), expected, "{}", profile.id);
        assert!(built.text.starts_with(profile.base.trim()), "{}", profile.id);
    }
}

#[tokio::test]
async fn documents_from_the_root_down() {
    let files = &[
        ("/AGENTS.md", "above the root"),
        (".git/HEAD", "ref: refs/heads/main\n"),
        ("AGENTS.md", "root"),
        ("CLAUDE.md", "root, for claude"),
        ("a/AGENTS.md", "a"),
        ("a/b/CLAUDE.md", "b, for claude"),
        ("a/b/c/AGENTS.md", "below"),
        ("other/AGENTS.md", "beside"),
    ];
    let all = [
        ("", "AGENTS.md", "root"),
        ("", "CLAUDE.md", "root, for claude"),
        ("a/", "AGENTS.md", "a"),
        ("a/b/", "CLAUDE.md", "b, for claude"),
    ];
    for (cwd, count) in [("/project", 2), ("/project/a", 3), ("/project/a/b", 4)] {
        let built = build(&Profile::anthropic(), &at(cwd, files).await, &facts()).await;
        let expected: Vec<_> = all
            .iter()
            .take(count)
            .map(|(dir, name, text)| (format!("/project/{dir}{name}"), (*text).to_owned()))
            .collect();
        assert_eq!(documents(&built), expected, "{cwd}");
    }
    let without_git: Vec<_> = files.iter().filter(|(path, _)| *path != ".git/HEAD").copied().collect();
    let built = build(&Profile::anthropic(), &at("/project/a/b", &without_git).await, &facts()).await;
    assert_eq!(documents(&built), [("/project/a/b/CLAUDE.md".to_owned(), "b, for claude".to_owned())]);
}

/// What is shown of two documents, one after the other, and whether they were cut.
async fn cut(first: &str, second: &str) -> (Vec<String>, bool) {
    let env = at("/project", &[("AGENTS.md", first), ("CLAUDE.md", second)]).await;
    let built = build(&Profile::anthropic(), &env, &facts()).await;
    let is_cut = built.text.ends_with(&format!("</project_document>\n\n{MARKER}"));
    assert_eq!(built.text.contains(MARKER), is_cut);
    assert_eq!(built.warnings.len(), usize::from(is_cut), "{:?}", built.warnings);
    (documents(&built).into_iter().map(|(_, text)| text).collect(), is_cut)
}

#[tokio::test]
async fn documents_share_a_budget() {
    let a = |count: usize| "a".repeat(count);
    let snow = |count: usize| "☃".repeat(count);
    for (first, second, shown, is_cut) in [
        (a(BUDGET), String::new(), vec![a(BUDGET)], false),
        (a(BUDGET) + "\n\n", String::new(), vec![a(BUDGET)], false),
        (a(BUDGET + 1), String::new(), vec![a(BUDGET)], true),
        (a(BUDGET - 1), "b".into(), vec![a(BUDGET - 1), "b".into()], false),
        (a(BUDGET - 1), "bc".into(), vec![a(BUDGET - 1), "b".into()], true),
        (a(BUDGET), "b".into(), vec![a(BUDGET)], true),
        (a(BUDGET), "\n".into(), vec![a(BUDGET)], false),
        // Three bytes each: the last does not fit and is left out whole.
        (snow(BUDGET / 3 + 1), String::new(), vec![snow(BUDGET / 3)], true),
        (a(BUDGET - 2), snow(1), vec![a(BUDGET - 2)], true),
        // More than is read of any file.
        (a(2 << 20), "b".into(), vec![a(BUDGET)], true),
        (snow(1 << 20), String::new(), vec![snow(BUDGET / 3)], true),
        ("\u{feff}".to_owned() + &snow(1 << 20), String::new(), vec![snow(BUDGET / 3)], true),
    ] {
        let found = cut(&first, &second).await;
        assert!(found == (shown, is_cut), "{} and {} bytes", first.len(), second.len());
    }
}

#[tokio::test]
async fn what_is_no_text_is_passed_over() {
    let zeros = vec![0; 2 << 20];
    for (content, reason) in [
        (&b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\0"[..], "is no text but"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is no text but image/png"),
        (&zeros, "is no text but"),
    ] {
        let env = at("/project", &[("CLAUDE.md", "Fine.")]).await;
        let path = env.resolve("AGENTS.md").await.unwrap();
        env.write(&path, content, junto_env::Expect::Any).await.unwrap();
        let built = build(&Profile::anthropic(), &env, &facts()).await;
        assert_eq!(documents(&built).len(), 1, "{}", built.text);
        let [warning] = built.warnings.as_slice() else { panic!("{:?}", built.warnings) };
        assert!(warning.contains("/project/AGENTS.md") && warning.contains(reason), "{warning}");
    }
}

#[tokio::test]
async fn a_directory_is_no_document() {
    let env = at("/project", &[("AGENTS.md/x", ""), ("CLAUDE.md", "Fine.")]).await;
    let built = build(&Profile::anthropic(), &env, &facts()).await;
    assert_eq!(documents(&built), [("/project/CLAUDE.md".to_owned(), "Fine.".to_owned())]);
    assert!(built.warnings.len() == 1 && built.warnings[0].contains("/project/AGENTS.md"), "{built:?}");
}

#[tokio::test]
async fn bytes_that_are_no_text_are_shown_as_such() {
    let env = at("/project", &[]).await;
    let path = env.resolve("AGENTS.md").await.unwrap();
    env.write(&path, &[b"ok ".repeat(100), b"\xff\xfe\x80".to_vec()].concat(), junto_env::Expect::Any)
        .await
        .unwrap();
    let built = build(&plain_profile(), &env, &facts()).await;
    assert!(documents(&built)[0].1.starts_with("ok ok "), "{}", built.text);
    assert!(built.warnings.len() == 1 && built.warnings[0].contains("not"), "{:?}", built.warnings);
}
