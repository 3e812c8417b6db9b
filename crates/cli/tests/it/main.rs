//! The built `junto`, driven as a user drives it: with a home of its own and an empty environment.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "tests start the command and interrupt it")]

mod agents;
mod cells;
mod stage;
mod t1_agent_policies;
mod t1_agent_queue;
mod t1_agents;
mod t1_ask;
mod t1_background;
mod t1_code;
mod t1_code_escapes;
mod t1_code_input;
mod t1_code_killed;
mod t1_code_resume;
mod t1_code_sandbox;
mod t1_code_search;
mod t1_code_settings;
mod t1_code_walls;
mod t1_code_weaknesses;
mod t1_commands;
mod t1_config;
mod t1_contest;
mod t1_councils;
mod t1_demo;
mod t1_doctor;
mod t1_eval;
mod t1_gateway;
mod t1_gateway_limits;
mod t1_gateway_log;
mod t1_gateway_memory;
mod t1_gateway_routes;
#[cfg(target_os = "linux")]
mod t1_gateway_service;
mod t1_gateway_setup;
mod t1_hangup;
mod t1_hooks;
mod t1_interrupt;
mod t1_mcp;
mod t1_mcp_serve;
mod t1_models;
mod t1_policy;
mod t1_profile;
mod t1_references;
mod t1_run;
mod t1_run_ends;
mod t1_run_flags;
mod t1_run_terminal;
mod t1_run_tools;
mod t1_runner_ends;
mod t1_runner_prices;
mod t1_runners;
mod t1_sandbox;
mod t1_session_commands;
mod t1_session_cost;
mod t1_session_kill;
mod t1_sessions;
mod t1_skills;
mod t1_slash;
mod t1_sweep;
mod t1_trust;
mod t1_usage;
mod t2_code;
mod t2_contest;
mod t2_gateway_clients;
mod t2_mcp;
mod t2_reach;
mod terminal;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use assert_cmd::Command;

/// A fresh machine: a home, a project in it, and nothing in the environment.
struct Machine {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// Claude Code, as far as one answer goes.
const CLAUDE: &str = r#"#!/bin/sh
read -r task
echo '{"type":"system","subtype":"init","session_id":"s-1","model":"claude-x","tools":[],"cwd":"/"}'
echo '{"type":"assistant","session_id":"s-1","message":{"id":"m-1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"I was told: '"$task"'"}],"usage":{"input_tokens":3,"output_tokens":5}}}'
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"I was told: '"$task"'","session_id":"s-1","total_cost_usd":0.01,"usage":{"input_tokens":3,"output_tokens":5}}'
"#;

/// What a run left behind.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap(), variables: Vec::new() };
        fs::create_dir_all(machine.path("project/.git")).unwrap();
        machine
    }

    /// With this text in the user's file.
    fn configured(text: &str) -> Self {
        let machine = Self::new();
        machine.write(".config/junto/config.toml", text);
        machine
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a `claude` in the PATH.
    fn with_claude(self) -> Self {
        self.program("bin/claude", CLAUDE);
        let path = format!("{}:{}", text(&self.path("bin")), usual_path());
        self.with("PATH", &path)
    }

    /// A program below the home.
    fn program(&self, below: &str, text: &str) {
        let program = self.write(below, text);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A path below the home.
    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(below)
    }

    fn write(&self, below: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The command in the project's folder.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_junto"));
        command.env_clear().envs(self.environment()).current_dir(self.path("project")).args(args);
        command
    }

    /// All that the command finds in its environment.
    fn environment(&self) -> Vec<(String, String)> {
        let usual = [("HOME".to_owned(), text(&self.path(""))), ("PATH".to_owned(), usual_path())];
        usual.into_iter().chain(self.variables.clone()).collect()
    }

    fn run(&self, args: &[&str]) -> Run {
        Run::of(&mut self.command(args))
    }

    /// The same where no file can grow beyond so many times 512 bytes, as if the disk were full.
    fn run_without_room(&self, blocks: u32, args: &[&str]) -> Run {
        let script = "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"";
        let mut command = Command::new("/bin/sh");
        command.env_clear().envs(self.environment()).current_dir(self.path("project"));
        command.args(["-c", script, "sh", &blocks.to_string(), env!("CARGO_BIN_EXE_junto")]).args(args);
        Run::of(&mut command)
    }
}

impl Run {
    fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Checks that it did what was asked, and gives standard output.
    #[track_caller]
    fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.out
    }

    /// Checks that it failed so, said all of this on standard error, ended with what to do, and
    /// printed nothing.
    #[track_caller]
    fn fails(self, code: i32, said: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert_eq!(self.out, "", "{self:#?}");
        for part in said {
            assert!(self.err.contains(part), "no {part:?} in {self:#?}");
        }
        let last = self.err.lines().last().unwrap_or_default();
        assert!(last.starts_with("hint: ") || last.contains("--help"), "{self:#?}");
        self
    }
}

/// Where programs are, among them the `bwrap` that the tests are given.
fn usual_path() -> String {
    let given = std::env::var("JUNTO_PEER_BWRAP").unwrap_or_default();
    let folder = Path::new(&given).parent().map(text).filter(|folder| !folder.is_empty());
    let folders = ["/usr/bin".to_owned(), "/bin".to_owned()].into_iter().chain(folder);
    folders.collect::<Vec<_>>().join(":")
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
