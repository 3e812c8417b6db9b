//! What command-line agents are given, as the command runs them.

use std::collections::BTreeMap;
use std::fs;

use crate::{CLAUDE, Machine, text, usual_path};

/// A machine with a `claude` that writes down what it was given.
struct Stage(Machine);

/// What an agent was given.
struct Given {
    argv: Vec<String>,
    variables: BTreeMap<String, String>,
}

impl Stage {
    fn new(config: &str) -> Self {
        let machine = Machine::configured(config);
        let note = "printf '%s\\n' \"$@\" >\"$HOME/argv\"\nenv >\"$HOME/env\"\n";
        let (first, rest) = CLAUDE.split_once('\n').unwrap();
        machine.program("bin/claude", &format!("{first}\n{note}{rest}"));
        let path = format!("{}:{}", text(&machine.path("bin")), usual_path());
        Self(machine.with("PATH", &path))
    }

    fn with(self, name: &str, value: &str) -> Self {
        Self(self.0.with(name, value))
    }

    /// Runs the agent, and gives what it was given.
    fn given(&self, flags: &[&str]) -> Given {
        self.0.run(&[&["run", "--kind", "claude", "--no-save"], flags, &["Hi."]].concat()).ok();
        self.read()
    }

    fn read(&self) -> Given {
        let read = |name: &str| fs::read_to_string(self.0.path(name)).unwrap();
        let pairs = read("env");
        let pairs = pairs.lines().filter_map(|line| line.split_once('='));
        Given {
            argv: read("argv").lines().map(str::to_owned).collect(),
            variables: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        }
    }
}

impl Given {
    fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// What follows an option.
    fn after(&self, option: &str) -> Option<&str> {
        let place = self.argv.iter().position(|argument| argument == option)?;
        self.argv.get(place + 1).map(String::as_str)
    }
}

#[test]
fn a_child_gets_no_keys_and_no_addresses() {
    let stage = Stage::new("env_policy = \"all\"\n")
        .with("ANTHROPIC_API_KEY", "key")
        .with("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
        .with("CLAUDE_CODE_OAUTH_TOKEN", "oauth")
        .with("SOMETHING_ELSE", "else");
    let given = stage.given(&[]);
    for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "SOMETHING_ELSE"] {
        assert_eq!(given.variable(name), None, "{name}");
    }
    assert_eq!(given.variable("CLAUDE_CODE_OAUTH_TOKEN"), Some("oauth"));
    for name in ["JUNTO_DEPTH", "FRITES_DEPTH", "JUNTO_CHILD", "FRITES_CHILD"] {
        assert_eq!(given.variable(name), Some("1"), "{name}");
    }
    let token = given.variable("JUNTO_RUN_TOKEN").unwrap();
    assert_eq!(given.variable("ANTHROPIC_CUSTOM_HEADERS"), Some(format!("x-junto-run: {token}").as_str()));
    assert_ne!(stage.given(&[]).variable("JUNTO_RUN_TOKEN"), Some(token), "each run has its own");
}

#[test]
fn a_child_is_not_started_below_another() {
    let stage = Stage::new("").with("JUNTO_DEPTH", "1");
    let run = stage.0.run(&["run", "--kind", "claude", "Hi."]);
    assert_ne!(run.code, Some(0), "{run:#?}");
    assert!(run.err.contains("not started below 1 other command-line agent"), "{run:#?}");
    assert!(!stage.0.path("argv").exists());
}

#[test]
fn settings_reach_the_child() {
    let stage = Stage::new(
        "[runners.claude]\nmodel = \"opus\"\neffort = \"max\"\nmax_usd = 0.5\npass_keys = true\nhome = \"isolated\"\n\
         endpoint = \"http://127.0.0.1:9\"\nkey_env = \"MY_KEY\"\n",
    )
    .with("ANTHROPIC_API_KEY", "key")
    .with("MY_KEY", "my-key");
    let given = stage.given(&[]);
    assert_eq!((given.after("--model"), given.after("--effort")), (Some("opus"), Some("max")));
    assert_eq!(given.after("--max-budget-usd"), Some("0.5"));
    let home = stage.0.path(".local/state/junto/runners/claude");
    assert_eq!(given.variable("CLAUDE_CONFIG_DIR"), Some(text(&home).as_str()));
    assert!(home.is_dir());
    assert_eq!(given.variable("ANTHROPIC_BASE_URL"), Some("http://127.0.0.1:9"));
    assert_eq!(given.variable("ANTHROPIC_AUTH_TOKEN"), Some("my-key"));
    assert_eq!(given.variable("ANTHROPIC_API_KEY"), Some("key"));
    assert!(!given.argv.iter().any(|argument| argument.contains("key")), "{:?}", given.argv);
    // What is said now counts more.
    let given = stage.given(&["--model", "haiku", "--effort", "low"]);
    assert_eq!((given.after("--model"), given.after("--effort")), (Some("haiku"), Some("low")));
}

#[test]
fn a_run_has_a_limit_unless_its_session_has() {
    let stage = Stage::new("");
    assert_eq!(stage.given(&[]).after("--max-budget-usd"), Some("2"));
    assert_eq!(stage.given(&["--max-usd", "7"]).after("--max-budget-usd"), Some("7"));
}

#[test]
fn the_projects_documents_and_the_users_instructions_are_passed_on() {
    let stage = Stage::new("instructions = \"Be kind.\"\n");
    stage.0.write("project/.git/HEAD", "ref: refs/heads/main\n");
    stage.0.write("project/AGENTS.md", "Use tabs.\n");
    stage.0.write("project/CLAUDE.md", "Test first.\n");
    let all = stage.given(&[]).argv.join("\n");
    let place = |words: &str| all.find(words).unwrap_or_else(|| panic!("no {words} in {all}"));
    assert!(place("--append-system-prompt") < place("Use tabs."));
    assert!(place("Use tabs.") < place("Test first.") && place("Test first.") < place("Be kind."));
}

#[test]
fn an_agent_of_ones_own_has_its_name() {
    let stage = Stage::new("[runners.fast]\nlike = \"claude\"\nmodel = \"haiku\"\n");
    let run = stage.0.run(&["run", "--kind", "fast", "--no-save", "Hi."]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "I was told: Hi.\n"), "{run:#?}");
    assert_eq!(stage.read().after("--model"), Some("haiku"));
    assert!(run.err.starts_with("fast · "), "{run:#?}");
    stage.0.run(&["run", "--kind", "slow", "Hi."]).fails(2, &["slow", "claude, codex, gemini, fast"]);
}

#[test]
fn an_agent_that_is_not_meant_stops_nobody() {
    let config = "[runners.claude]\nendpoint = \"http://127.0.0.1:9\"\nkey_env = \"K\"\n\
                  [runners.fast]\nlike = \"claude\"\n";
    let stage = Stage::new(config);
    let run = stage.0.run(&["run", "--kind", "fast", "--no-save", "Hi."]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "I was told: Hi.\n"), "{run:#?}");
    assert!(!run.err.contains("variable K"), "{run:#?}");
    let fault = "the variable K is empty or not set";
    stage.0.run(&["run", "--kind", "claude", "Hi."]).fails(2, &[fault]);
    // Our own could hand work to it.
    let native = stage.0.run(&["run", "Hi."]);
    assert!(native.err.contains(&format!("claude can be given no work: {fault}")), "{native:#?}");
    assert!(native.err.matches("variable K").count() == 1, "{native:#?}");
    let doctor = stage.0.run(&["doctor"]);
    assert_eq!(doctor.code, Some(2), "{doctor:#?}");
    for line in [&format!("  claude: CANNOT be run: {fault} (set it"), "  fast: ", "  gemini: not installed"]
    {
        assert!(doctor.out.contains(line), "no {line:?} in {doctor:#?}");
    }
    assert!(doctor.err.contains(fault), "{doctor:#?}");
}

#[test]
fn a_version_that_would_be_misunderstood_is_not_run() {
    let stage = Stage::new("");
    let package = |version: &str| {
        let package = format!("{{\"version\": \"{version}\", \"bin\": {{\"claude\": \"claude\"}}}}");
        stage.0.write("bin/package.json", package);
    };
    package("1.0.5");
    stage.0.run(&["run", "--kind", "claude", "Hi."]).fails(2, &["claude 1.0.5 is too old", "npm install"]);
    assert!(!stage.0.path("argv").exists());
    package("7.0.0");
    let run = stage.0.run(&["run", "--kind", "claude", "Hi."]);
    assert!(run.code == Some(0) && run.err.contains("claude 7.0.0 was not tested"), "{run:#?}");
    // One that is installed by other means is asked.
    std::fs::remove_file(stage.0.path("bin/package.json")).unwrap();
    stage.0.program("bin/claude", "#!/bin/sh\ntest \"$1\" = --version && echo '1.0.5 (Claude Code)'\n");
    stage.0.run(&["run", "--kind", "claude", "Hi."]).fails(2, &["claude 1.0.5 is too old"]);
    // So is what a wrapper starts, and not the wrapper.
    stage.0.program("bin/boxed", "#!/bin/sh\ncase $1 in --version) echo 0.9.72 ;; *) exec \"$@\" ;; esac\n");
    let config = "[runners.mine]\nlike = \"claude\"\ncommand = [\"boxed\", \"claude\"]\n";
    stage.0.write(".config/junto/config.toml", config);
    stage.0.run(&["run", "--kind", "mine", "Hi."]).fails(2, &["mine 1.0.5 is too old"]);
    let asked = stage.0.run(&["run", "--council", "cli:claude", "--no-save", "Hi."]);
    assert!(asked.code != Some(0) && asked.err.contains("claude 1.0.5 is too old"), "{asked:#?}");
    // As is one that somebody else hires.
    stage.0.program("bin/claude", "#!/bin/sh\ntouch \"$HOME/argv\"\n");
    package("1.0.5");
    std::fs::remove_file(stage.0.path("argv")).unwrap();
    let asked = stage.0.run(&["run", "--council", "cli:claude", "--no-save", "Hi."]);
    assert!(asked.code != Some(0) && asked.err.contains("claude 1.0.5 is too old"), "{asked:#?}");
    assert!(!stage.0.path("argv").exists());
}
