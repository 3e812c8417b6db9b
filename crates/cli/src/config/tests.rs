use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;

use super::*;

/// A home with a user's file, and a project below it with a file of its own.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new(user: &str, project: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Self { folder };
        fs::create_dir_all(home.path("config/junto")).unwrap();
        fs::create_dir_all(home.path("project/.junto")).unwrap();
        fs::create_dir_all(home.path("project/src/deep")).unwrap();
        fs::write(home.path("config/junto/config.toml"), user).unwrap();
        fs::write(home.path("project/.junto/config.toml"), project).unwrap();
        home
    }

    fn path(&self, below: &str) -> std::path::PathBuf {
        self.folder.path().canonicalize().unwrap().join(below)
    }

    fn environment(&self, variables: &[(&str, &str)]) -> Environment {
        let config = self.path("config");
        let mut all = vec![("XDG_CONFIG_HOME", config.to_str().unwrap())];
        all.extend_from_slice(variables);
        Environment::of(&self.path("project/src/deep"), &all)
    }

    fn trust(&self) {
        let files = Files::find(&self.environment(&[]));
        let text = fs::read_to_string(self.path("project/.junto/config.toml")).unwrap();
        Trust::read(&files.trust.unwrap()).unwrap().add(&self.path("project"), &digest(&text)).unwrap();
    }
}

fn flag(text: &str) -> Vec<FlagValue> {
    vec![FlagValue { key: "model", flag: "--model", text: text.to_owned() }]
}

fn model(config: &Config) -> (String, String) {
    let (text, origin) = config.text("model").unwrap();
    (text.to_owned(), origin.to_string())
}

#[test]
fn each_layer_overrides_the_one_before() {
    let home = Home::new("model = \"user\"", "\nmodel = \"project\"");
    let plain = home.environment(&[]);
    let user = format!("{}:1", home.path("config/junto/config.toml").display());
    let config = Config::load(&plain, &[]).unwrap();
    assert_eq!(model(&config), ("user".into(), user));
    assert!(config.notes[0].contains("junto trust"), "{:?}", config.notes);

    home.trust();
    let config = Config::load(&plain, &[]).unwrap();
    let project = format!("{}:2", home.path("project/.junto/config.toml").display());
    assert_eq!(model(&config), ("project".into(), project));
    assert!(config.notes.is_empty());

    let with_variable = home.environment(&[("JUNTO_MODEL", "variable")]);
    let config = Config::load(&with_variable, &[]).unwrap();
    assert_eq!(model(&config), ("variable".into(), "env JUNTO_MODEL".into()));
    let config = Config::load(&with_variable, &flag("flag")).unwrap();
    assert_eq!(model(&config), ("flag".into(), "flag --model".into()));
}

#[test]
fn defaults_are_those_of_the_client() {
    let home = Home::new("", "");
    let config = Config::load(&home.environment(&[]), &[]).unwrap();
    assert_eq!(config.timeouts(), Timeouts::default());
    assert!(config.auto_cache());
    assert_eq!(config.retry(), Policy::default());
}

#[test]
fn the_gateway_is_patient_unless_somebody_says_how_long() {
    let home = Home::new("", "");
    let load = |variables: &[(&str, &str)]| Config::load(&home.environment(variables), &[]).unwrap();
    let (request, idle) = (Duration::from_mins(10), Duration::from_mins(5));
    assert_eq!(load(&[]).patient_timeouts(), Timeouts { request, idle, ..Timeouts::default() });
    // Also if it is what it would have been.
    let short = Timeouts { idle: Duration::from_secs(30), request, ..Timeouts::default() };
    assert_eq!(load(&[("JUNTO_IDLE_TIMEOUT", "30s")]).patient_timeouts(), short);
    let home = Home::new("[timeouts]\nrequest = \"20m\"\nconnect = \"3s\"", "");
    let config = Config::load(&home.environment(&[]), &[]).unwrap();
    let long = Timeouts { connect: Duration::from_secs(3), request: Duration::from_mins(20), idle };
    assert_eq!(config.patient_timeouts(), long);
}

#[test]
fn a_named_file_replaces_the_users_and_must_exist() {
    let home = Home::new("model = \"user\"", "");
    fs::write(home.path("other.toml"), "model = \"other\"").unwrap();
    let named = home.path("other.toml");
    let config = Config::load(&home.environment(&[("JUNTO_CONFIG", named.to_str().unwrap())]), &[]).unwrap();
    assert_eq!(model(&config).0, "other");
    let failure = Config::load(&home.environment(&[("JUNTO_CONFIG", "/nowhere.toml")]), &[]).unwrap_err();
    assert!(failure.errors[0].contains("/nowhere.toml"), "{failure:?}");
}

#[test]
fn a_named_file_does_not_move_the_list_of_trusted_projects() {
    let home = Home::new("", "model = \"project\"");
    let beside = home.path("project/trusted.toml");
    fs::write(&beside, format!("projects = [{:?}]", home.path("project"))).unwrap();
    fs::write(home.path("project/mine.toml"), "").unwrap();
    let named = home.path("project/mine.toml");
    let config = Config::load(&home.environment(&[("JUNTO_CONFIG", named.to_str().unwrap())]), &[]).unwrap();
    assert!(config.text("model").is_none());
}

#[test]
fn problems_of_all_layers_come_together() {
    let home = Home::new("modle = 1\n[providers.x]\nwire = \"chat\"", "");
    let failure =
        Config::load(&home.environment(&[("JUNTO_MAX_TOKENS", "x"), ("JUNTO_IDLE_TIMEOUT", "3")]), &[])
            .unwrap_err();
    let all = failure.errors.join("\n");
    assert_eq!(failure.errors.len(), 4, "{all}");
    for part in [
        "config.toml:1: unknown key",
        "env JUNTO_MAX_TOKENS",
        "env JUNTO_IDLE_TIMEOUT",
        "`providers.x` has no `base_url`",
    ] {
        assert!(all.contains(part), "{part} in {all}");
    }
}

#[test]
fn what_is_wrong_is_not_missing_too() {
    let check = |user: &str, variables: &[(&str, &str)], expected: &[&str]| {
        let home = Home::new(user, "");
        let failure = Config::load(&home.environment(variables), &[]).unwrap_err();
        assert_eq!(failure.errors.len(), expected.len(), "{failure:?}");
        for (error, part) in failure.errors.iter().zip(expected) {
            assert!(error.contains(part), "{part} in {error}");
        }
    };
    let address = "expected an address that starts with http:// or https://";
    check("", &[("OPENAI_BASE_URL", "nonsense")], &[address]);
    check("[providers.x]\nwire = \"chat\"\nbase_url = \"nonsense\"", &[], &[address]);
    check("[providers.x]\nwire = \"chat\"\nbase_url = 3", &[], &[address]);
    check("[providers.x]\nwire = \"chat\"", &[], &["`providers.x` has no `base_url`"]);
}

#[test]
fn misspelled_variables_are_noticed_and_others_left_alone() {
    let home = Home::new("", "");
    let environment =
        home.environment(&[("JUNTO_MODLE", "x"), ("JUNTO_SOMETHING_ELSE", "x"), ("JUNTO_MODEL", "")]);
    let config = Config::load(&environment, &[]).unwrap();
    assert!(config.text("model").is_none(), "an empty variable is no variable");
    let doubts: Vec<_> = config.notes.iter().filter(|note| note.starts_with("warning")).collect();
    assert_eq!(doubts, ["warning: the variable JUNTO_MODLE means nothing; did you mean JUNTO_MODEL?"]);
}

#[test]
fn vendors_take_their_usual_variables_and_files_override_them() {
    let home = Home::new("[providers.gemini]\nbase_url = \"http://mine/\"\nheaders = { x-team = \"a\" }", "");
    let environment = home.environment(&[
        ("OPENAI_BASE_URL", "http://proxy/v1/"),
        ("OPENAI_ORG_ID", "org"),
        ("ANTHROPIC_AUTH_TOKEN", "t"),
        ("GEMINI_BASE_URL", "http://other"),
        ("GOOGLE_API_KEY", "g"),
    ]);
    let providers = Config::load(&environment, &[]).unwrap().providers();
    let shown: Vec<_> = providers
        .iter()
        .map(|p| (p.name.as_str(), p.base_url.as_str(), p.key_variable.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        shown,
        [
            ("openai", "http://proxy/v1", "OPENAI_API_KEY"),
            ("anthropic", "https://api.anthropic.com", "ANTHROPIC_AUTH_TOKEN"),
            ("gemini", "http://mine", "GOOGLE_API_KEY"),
        ]
    );
    assert_eq!(providers[0].headers, [("openai-organization".to_owned(), "org".to_owned())]);
    assert_eq!(providers[2].headers, [("x-team".to_owned(), "a".to_owned())]);
}

#[test]
fn the_nearest_project_counts() {
    let home = Home::new("", "");
    fs::create_dir_all(home.path("project/src/.git")).unwrap();
    let project = Project::around(&home.path("project/src/deep")).unwrap();
    assert_eq!(project.root, home.path("project/src"));
    // What stands there while a command of somebody else runs.
    for name in [".git", ".junto"] {
        let below = home.path("project/src/deep").join(name);
        DirBuilder::new().mode(0o500).create(below).unwrap();
    }
    assert_eq!(Project::around(&home.path("project/src/deep")).unwrap().root, home.path("project/src"));
    assert!(Project::around(Path::new("/nonexistent")).is_none());
}

/// The guide names every key, its variable and its default.
#[test]
fn the_guide_lists_every_key() {
    let guide = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/configuration.md"))
        .unwrap();
    for key in schema::KEYS.iter().filter(|key| !key.path.starts_with("models.")) {
        let written = key.path.replace('*', "NAME");
        let line = guide.lines().find(|line| line.starts_with(&format!("| `{written}` |")));
        let line = line.unwrap_or_else(|| panic!("no row for {written}"));
        for part in [key.variable, key.default, Some(key.about)].into_iter().flatten() {
            assert!(line.contains(part), "{part} in {line}");
        }
    }
    for key in schema::KEYS.iter().filter(|key| key.path.starts_with("models.")) {
        assert!(guide.contains(key.name()), "{}", key.path);
    }
}
