//! codex: one tool for commands, which live on as sessions, and patches as free text.

mod told;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use junto_core::ToolOutcome;
use junto_env::State;
use serde_json::{Value, json};

use super::adapter::{Ask, Came, Ours};
use super::agents::codex as agents;
use super::arguments::{flag, list, number, required, text};
use super::command::{Launch, Means};
use super::heard::{End, Heard, Patience, Since};
use super::job::{Turn, What, Which};
use super::questions::Answered;
use super::{Row, Used, Way};
use crate::tools::Timeouts;

/// How many bytes count as a token.
const TOKEN: u64 = 4;
/// How long a command is waited for: at least, if nobody says, at most.
const COMMAND: Bounds = Bounds { least: 250, usual: 10_000, most: 30_000 };
/// The same after something was written to it.
const WRITE: Bounds = Bounds { least: 250, usual: 250, most: 30_000 };
/// The same if it is only listened to.
const POLL: Bounds = Bounds { least: 5_000, usual: 5_000, most: 300_000 };

pub(super) const TOOLS: &[Row] = &[
    Row {
        name: "exec_command",
        ours: &[
            "shell",
            "shell_output",
            "shell_input",
            "shell_kill",
            "read_file",
            "read_many_files",
            "grep",
            "glob",
            "list_dir",
            "edit_file",
            "write_file",
        ],
        used: Used::Always,
        told: told::exec_command,
        way: Way::Command(exec_command, chunk),
    },
    Row {
        name: "write_stdin",
        ours: &["shell_input"],
        used: Used::Always,
        told: told::write_stdin,
        way: Way::Job(write_stdin, chunk),
    },
    Row {
        name: "apply_patch",
        ours: &["apply_patch", "edit_file", "write_file"],
        used: Used::Always,
        told: told::apply_patch,
        way: Way::Through(&["apply_patch"], Ask::By(apply_patch), patched),
    },
    Row {
        name: "update_plan",
        ours: &["update_plan"],
        used: Used::Always,
        told: told::update_plan,
        way: Way::Through(&["update_plan"], UPDATE_PLAN, plan_updated),
    },
    Row {
        name: "view_image",
        ours: &["read_file"],
        used: Used::Always,
        told: told::view_image,
        way: Way::Through(&["read_file"], VIEW_IMAGE, viewed),
    },
    Row {
        name: "request_user_input",
        ours: &["ask_user"],
        used: Used::WhenAdded,
        told: told::request_user_input,
        way: Way::Questions(answers),
    },
    Row {
        name: "spawn_agent",
        ours: &["spawn_agent"],
        used: Used::WhenAdded,
        told: told::spawn_agent,
        way: Way::Through(&["spawn_agent"], Ask::By(agents::spawn), agents::spawned),
    },
    Row {
        name: "send_input",
        ours: &["send_input"],
        used: Used::WhenAdded,
        told: told::send_input,
        way: Way::Through(&["send_input"], agents::SEND, agents::sent),
    },
    Row {
        name: "wait_agent",
        ours: &["wait"],
        used: Used::WhenAdded,
        told: told::wait_agent,
        way: Way::Through(&["wait"], Ask::By(agents::wait), agents::waited),
    },
    Row {
        name: "close_agent",
        ours: &["close_agent"],
        used: Used::WhenAdded,
        told: told::close_agent,
        way: Way::Through(&["close_agent"], agents::CLOSE, agents::closed),
    },
    Row {
        name: "shell",
        ours: &["shell"],
        used: Used::Never,
        told: told::shell,
        way: Way::Command(shell, chunk),
    },
    Row {
        name: "shell_command",
        ours: &["shell"],
        used: Used::Never,
        told: told::shell_command,
        way: Way::Command(shell, chunk),
    },
];

/// How long is waited, in milliseconds.
struct Bounds {
    least: u64,
    usual: u64,
    most: u64,
}

impl Bounds {
    fn of(&self, args: &Value, key: &str) -> Duration {
        Duration::from_millis(number(args, key).unwrap_or(self.usual).clamp(self.least, self.most))
    }
}

fn exec_command(args: &Value, _: Timeouts) -> Result<Launch, String> {
    Ok(Launch {
        line: in_shell(required(args, "cmd")?, text(args, "shell")),
        cwd: text(args, "workdir").map(str::to_owned),
        means: if flag(args, "tty") { Means::Terminal } else { Means::Pipes },
        patience: Patience::For(COMMAND.of(args, "yield_time_ms")),
    })
}

/// A line in the environment's shell, or in the one that was asked for.
fn in_shell(line: &str, shell: Option<&str>) -> String {
    match shell.filter(|shell| !shell.is_empty()) {
        Some(shell) => format!("{} -c {}", quoted(shell), quoted(line)),
        None => line.to_owned(),
    }
}

/// The older form: a program and its arguments, or a line.
fn shell(args: &Value, timeouts: Timeouts) -> Result<Launch, String> {
    let words: Vec<&str> = list(args, "command").iter().filter_map(Value::as_str).collect();
    let line = match words.as_slice() {
        [] => required(args, "command")?.to_owned(),
        ["bash" | "sh" | "zsh" | "/bin/bash" | "/bin/sh", "-lc" | "-c", line] => (*line).to_owned(),
        words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    };
    let limit = number(args, "timeout_ms").map_or(timeouts.default, Duration::from_millis);
    Ok(Launch {
        line,
        cwd: text(args, "workdir").map(str::to_owned),
        means: Means::Pipes,
        patience: Patience::For(limit.min(timeouts.max)),
    })
}

/// A word that the shell takes as it is.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn write_stdin(args: &Value) -> Result<Turn, String> {
    let job = number(args, "session_id").ok_or("`session_id` is missing (it is a number)")?;
    let (what, wait) = match text(args, "chars").unwrap_or_default() {
        "" => (What::Listen, POLL),
        "\u{3}" => (What::Interrupt, WRITE),
        chars => (What::Write(chars.to_owned()), WRITE),
    };
    let wait = wait.of(args, "yield_time_ms");
    Ok(Turn { job: Which::Number(job), what, since: Since::Told, wait })
}

/// A piece of a command's output, and how it stands.
fn chunk(args: &Value, heard: &Heard) -> ToolOutcome {
    let mut name = DefaultHasher::new();
    (heard.job, &heard.text).hash(&mut name);
    let state = match (&heard.state, heard.code()) {
        (State::Running, _) => format!("Process running with session ID {}", heard.job),
        (_, Some(code)) => format!("Process exited with code {code}"),
        (State::Failed(error), None) => format!("Process was lost: {error}"),
        (State::Ended(_), None) => "Process exited".to_owned(),
    };
    let tokens = heard.bytes.div_ceil(TOKEN);
    let output = match number(args, "max_output_tokens") {
        Some(most) if most < tokens => cut(&heard.text, most, tokens),
        _ => heard.text.clone(),
    };
    let note = if heard.end == End::Cancelled { "\n[interrupted]" } else { "" };
    let told = format!(
        "Chunk ID: {:06x}\nWall time: {:.4} seconds\n{state}\nOriginal token count: {tokens}\nOutput:\n{output}{note}",
        name.finish() & 0x00ff_ffff,
        heard.duration.as_secs_f64(),
    );
    // A command that fails is no failed call, but people shall see it.
    let fine = heard.state.is_running() || heard.code() == Some(0);
    if fine && heard.end == End::Wait { ToolOutcome::ok(told) } else { ToolOutcome::error(told) }
}

/// The ends of a text that is longer than was asked for.
fn cut(text: &str, most: u64, tokens: u64) -> String {
    let half = usize::try_from(most.saturating_mul(TOKEN) / 2).unwrap_or(usize::MAX).min(text.len() / 2);
    let (head, _) = text.split_at(text.floor_char_boundary(half));
    let (_, tail) = text.split_at(text.ceil_char_boundary(text.len() - half));
    let removed = tokens.saturating_sub(most);
    format!(
        "Warning: truncated output (original token count: {tokens})\nTotal output lines: {}\n\n{head}…{removed} \
         tokens truncated…{tail}",
        text.lines().count()
    )
}

/// The patch is the whole input; where there are no freeform tools it is the one argument.
fn apply_patch(args: &Value) -> Result<Ours, String> {
    let patch = args.as_str().or_else(|| text(args, "input")).or_else(|| text(args, "patch"));
    let patch = patch.ok_or("the input is no patch")?;
    Ok(Ours::new("apply_patch", json!({ "patch": patch })))
}

fn patched(came: Came<'_>) -> ToolOutcome {
    let seconds = came.elapsed.as_secs();
    came.said(|report, is_error| {
        if is_error {
            return format!("apply_patch verification failed: {report}");
        }
        let mut files = String::new();
        for line in report.lines() {
            // What was moved is told as what it became.
            let moved = line.strip_prefix("R ").and_then(|moved| moved.split_once(" -> "));
            let line = moved.map_or_else(|| line.to_owned(), |(_, to)| format!("M {to}"));
            files.push_str(&line);
            files.push('\n');
        }
        format!(
            "Exit code: 0\nWall time: {seconds} seconds\nOutput:\nSuccess. Updated the following files:\n{files}"
        )
    })
}

const UPDATE_PLAN: Ask = Ask::Renamed("update_plan", &[("explanation", "explanation"), ("plan", "steps")]);

fn plan_updated(came: Came<'_>) -> ToolOutcome {
    came.said(|said, is_error| if is_error { said.to_owned() } else { "Plan updated".to_owned() })
}

const VIEW_IMAGE: Ask = Ask::Renamed("read_file", &[("path", "file_path")]);

fn viewed(came: Came<'_>) -> ToolOutcome {
    if !came.outcome.is_error && came.outcome.images.is_empty() {
        let path = text(came.args, "path").unwrap_or_default();
        return ToolOutcome::error(format!("{path} is no picture that can be shown"));
    }
    came.outcome
}

fn answers(answered: &[Answered<'_>]) -> String {
    let answer = |answered: &Answered<'_>| {
        let id = text(answered.asked, "id").unwrap_or_default().to_owned();
        (id, json!({ "answers": [answered.answer] }))
    };
    json!({ "answers": answered.iter().map(answer).collect::<serde_json::Map<_, _>>() }).to_string()
}

#[cfg(test)]
mod tests;
