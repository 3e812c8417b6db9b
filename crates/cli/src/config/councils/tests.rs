use std::path::Path;

use super::*;
use crate::environment::Environment;

fn load(text: &str) -> Result<Config, Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.toml");
    std::fs::write(&path, text).unwrap();
    let environment = Environment::of(Path::new("/"), &[("JUNTO_CONFIG", path.to_str().unwrap())]);
    Config::load(&environment, &[]).map_err(|failure| failure.errors)
}

#[test]
fn all_settings_are_read() {
    let config = load(
        "[council.deep]\nmembers = [\"terse\", \"codex\", \"council:pair\"]\njudge = \"terse\"\n\
         synthesizer = \"openai/b\"\ntriage = \"codex\"\nchores = \"openai/small\"\nmode = \"fuse\"\nfan_out = \"necessary\"\nscope = \"per-turn\"\nn = 3\n\
         quorum = 2\nstraggler = \"10s\"\nwithin = \"5m\"\njudge_within = \"20s\"\nmax_usd = 1.5\n\
         max_tokens = 9000\ndirective = \"\"\n\
         [council.deep.member.terse]\nwho = \"openai/a\"\nframing = \"The smallest change.\"\neffort = \"high\"\n\
         max_usd = 0.5\nmax_tokens = 4000\nwithin = \"2m\"\nsilence = \"30s\"\n\
         [council.pair]\nmembers = [\"openai/a\", \"anthropic/b\"]\n",
    )
    .unwrap();
    assert_eq!(config.council_names(), ["deep", "pair"]);
    let minutes = |n: u64| Some(Duration::from_mins(n));
    let seconds = |n: u64| Some(Duration::from_secs(n));
    let text = |text: &str| Some(text.to_owned());
    let terse = SeatSettings {
        name: "terse".to_owned(),
        who: "openai/a".to_owned(),
        framing: text("The smallest change."),
        effort: text("high"),
        max_usd: Some(0.5),
        max_tokens: Some(4000),
        within: minutes(2),
        silence: seconds(30),
    };
    let deep = CouncilSettings {
        name: "deep".to_owned(),
        members: vec![terse, SeatSettings::of("codex"), SeatSettings::of("council:pair")],
        judge: text("terse"),
        synthesizer: text("openai/b"),
        triage: text("codex"),
        chores: text("openai/small"),
        mode: text("fuse"),
        fan_out: text("necessary"),
        scope: text("per-turn"),
        n: Some(3),
        quorum: Some(2),
        straggler: seconds(10),
        within: minutes(5),
        judge_within: seconds(20),
        max_usd: Some(1.5),
        max_tokens: Some(9000),
        directive: text(""),
    };
    assert_eq!(config.council("deep"), deep);
    assert_eq!(config.council_named("council:deep"), Some(Ok(deep)));
    assert_eq!(config.council_named("openai/deep"), None);
    let near = config.council_named("council:deeep").unwrap().unwrap_err();
    assert_eq!(near, "there is no council \"deeep\"; did you mean \"deep\"?");
}

#[test]
fn whoever_answers_may_be_a_member() {
    let config =
        load("aliases.big = \"anthropic/b\"\n[council.pair]\nmembers = [\"big\", \"claude\"]").unwrap();
    let provider = |name: &str, model: &str| Ok(Who::Provider(name.to_owned(), Some(model.to_owned())));
    assert_eq!(config.member("openai/a"), provider("openai", "a"));
    assert_eq!(config.member("big"), provider("anthropic", "b"));
    assert_eq!(config.member("claude"), Ok(Who::Cli("claude".to_owned(), None)));
    assert_eq!(config.member("cli:claude/opus"), Ok(Who::Cli("claude".to_owned(), Some("opus".to_owned()))));
    assert_eq!(config.member("council:pair"), Ok(Who::Council(vec!["council:pair".to_owned()])));
}

/// The rest of a council's table, and what is said of it.
const WRONG: &[(&str, &str)] = &[
    ("n = 2", "`council.c.members`: a council has members"),
    ("members = []", "`council.c.members`: a council has members"),
    ("members = [\"opnai/x\"]", "there is no provider \"opnai\"; did you mean \"openai\"?"),
    ("members = [\"zebra\"]", "nobody knows \"zebra\""),
    ("members = [\"openai/*\"]", "names no model"),
    ("members = [\"cli:claud\"]", "did you mean \"claude\"?"),
    ("members = [\"council:d\"]", "there is no council \"d\""),
    ("members = [\"council:c\"]", "this council sits in itself"),
    ("members = [\"openai/a\", \"openai/a\"]", "\"openai/a\" sits there twice"),
    ("members = [\"openai/a\"]\nn = 0", "`council.c.n`: expected 1 to 1"),
    ("members = [\"openai/a\", \"openai/b\"]\nn = 1000", "`council.c.n`: expected 1 to 2"),
    ("members = [\"openai/a\", \"openai/b\"]\nquorum = 3", "`council.c.quorum`: expected 1 to 2"),
    ("members = [\"openai/a\", \"openai/b\"]\nn = 1\nquorum = 2", "only 1 are asked"),
    ("members = [\"openai/a\"]\njudge = \"zebra\"", "`council.c.judge`: nobody knows \"zebra\""),
    ("members = [\"openai/a\"]\nmode = \"vote\"", "expected one of \"select\", \"fuse\", \"advise\""),
    ("members = [\"openai/a\"]\nfan_out = \"often\"", "expected one of \"never\", \"always\""),
    ("members = [\"openai/a\"]\nmebers = 1", "did you mean \"members\"?"),
    ("members = [\"x\"]\n[council.c.member.x]\nwho = \"zebra\"", "`council.c.member.x.who`: nobody knows"),
    (
        "members = [\"claude\"]\n[council.c.member.claud]\neffort = \"low\"",
        "\"claud\" is not among the members; did you mean \"claude\"?",
    ),
];

#[test]
fn what_is_wrong_is_named() {
    for (rest, said) in WRONG {
        let errors = load(&format!("[council.c]\n{rest}")).unwrap_err();
        let [error] = &errors[..] else { panic!("{rest}: {errors:?}") };
        assert!(error.contains("c.toml:") && error.contains(said), "{rest}: {error}");
    }
    let many: Vec<String> = (0..17).map(|n| format!("\"openai/m{n}\"")).collect();
    let errors = load(&format!("[council.c]\nmembers = [{}]", many.join(", "))).unwrap_err();
    assert!(errors[0].contains("at most 16 members"), "{errors:?}");
}

#[test]
fn a_circle_of_councils_is_named_at_each_of_them() {
    let errors = load(
        "[council.a]\nmembers = [\"council:b\"]\n[council.b]\nmembers = [\"openai/x\"]\njudge = \"council:a\"\n\
         [council.c]\nmembers = [\"council:a\"]\n",
    )
    .unwrap_err();
    let said: Vec<&str> =
        errors.iter().filter_map(|error| error.split_once(": ").map(|(_, said)| said)).collect();
    let itself = |name: &str| format!("`council.{name}.members`: this council sits in itself");
    assert_eq!(said, [itself("a"), itself("b")], "who leads into a circle has not made it");
}

/// What the guide shows is a configuration, and it names every key.
#[test]
fn the_guide_is_right() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/councils.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let (_, rest) = guide.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    assert_eq!(load(example).unwrap().council_names(), ["deep", "wide"]);
    let keys = crate::config::schema::KEYS.iter().filter(|key| key.path.starts_with("council."));
    for key in keys {
        let name = if key.path.contains("member.*.who") { "member.NAME.who" } else { key.name() };
        assert!(guide.contains(&format!("`{name}`")), "{}", key.path);
    }
}
