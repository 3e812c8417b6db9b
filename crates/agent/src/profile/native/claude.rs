//! Claude Code: a tool for each kind of work on files, and commands that go to the background.

mod told;

use std::fmt::Write as _;
use std::time::Duration;

use junto_core::ToolOutcome;
use junto_env::{Case, Found, Hits, RealPath, Search, Show, State};
use serde_json::{Value, json};

use super::adapter::{Came, Ours};
use super::agents::claude as agents;
use super::arguments::{flag, list, number, renamed, required, text};
use super::command::{Launch, Means};
use super::heard::{End, Heard, Patience, Since};
use super::job::{Turn, What, Which};
use super::numbered::tabbed;
use super::questions::Answered;
use super::{Row, Used, Way};
use crate::tools::{Timeouts, below, ripgrep_lines};

/// How many results a search gives if nobody says.
const RESULTS: usize = 250;
/// How many results a search gives at most.
const MOST_RESULTS: usize = 10_000;
/// How many lines are shown around a match at most.
const MOST_CONTEXT: u64 = 100;
/// How many characters of a page are given.
const PAGE: u64 = 28_000;
/// How many characters of a page can be skipped.
const MOST_SKIPPED: u64 = 170_000;

pub(super) const TOOLS: &[Row] = &[
    Row {
        name: "Read",
        ours: &["read_file", "read_many_files"],
        used: Used::Always,
        told: told::read,
        way: Way::Through(&["read_file"], read, lines),
    },
    Row {
        name: "Edit",
        ours: &["edit_file", "apply_patch"],
        used: Used::Always,
        told: told::edit,
        way: Way::Through(&["edit_file"], edit, edited),
    },
    Row {
        name: "Write",
        ours: &["write_file"],
        used: Used::Always,
        told: told::write,
        way: Way::Through(&["write_file"], write, written),
    },
    Row {
        name: "Bash",
        ours: &["shell", "shell_output", "shell_input", "shell_kill"],
        used: Used::Always,
        told: told::bash,
        way: Way::Command(bash, ran),
    },
    Row {
        name: "TaskOutput",
        ours: &["shell_output"],
        used: Used::Always,
        told: told::task_output,
        way: Way::Job(task_output, task),
    },
    Row {
        name: "TaskStop",
        ours: &["shell_kill"],
        used: Used::Always,
        told: told::task_stop,
        way: Way::Job(task_stop, stopped),
    },
    Row {
        name: "Grep",
        ours: &["grep"],
        used: Used::Always,
        told: told::grep,
        way: Way::Search("path", grep, found, fault),
    },
    Row {
        name: "Glob",
        ours: &["glob", "list_dir"],
        used: Used::Always,
        told: told::glob,
        way: Way::Through(&["glob"], glob, files),
    },
    Row {
        name: "TodoWrite",
        ours: &["update_plan"],
        used: Used::Never,
        told: told::todo_write,
        way: Way::Through(&["update_plan"], todo_write, noted),
    },
    Row {
        name: "AskUserQuestion",
        ours: &["ask_user"],
        used: Used::WhenAdded,
        told: told::ask_user_question,
        way: Way::Questions(answers),
    },
    Row {
        name: "WebFetch",
        ours: &["web_fetch"],
        used: Used::WhenAdded,
        told: told::web_fetch,
        way: Way::Through(&["web_fetch"], web_fetch, fetched),
    },
    Row {
        name: "Agent",
        ours: &["spawn_agent"],
        used: Used::WhenAdded,
        told: told::agent,
        way: Way::Through(&["spawn_agent"], agents::spawn, agents::spawned),
    },
    Row {
        name: "SendMessage",
        ours: &["send_input"],
        used: Used::WhenAdded,
        told: told::send_message,
        way: Way::Through(&["send_input"], agents::send, agents::sent),
    },
    Row {
        name: "Task",
        ours: &["spawn_agent"],
        used: Used::Never,
        told: told::agent,
        way: Way::Through(&["spawn_agent"], agents::spawn, agents::spawned),
    },
    Row {
        name: "BashOutput",
        ours: &["shell_output"],
        used: Used::Never,
        told: told::bash_output,
        way: Way::Job(bash_output, task),
    },
    Row {
        name: "KillShell",
        ours: &["shell_kill"],
        used: Used::Never,
        told: told::kill_shell,
        way: Way::Job(task_stop, stopped),
    },
    Row {
        name: "LS",
        ours: &["list_dir"],
        used: Used::Never,
        told: told::ls,
        way: Way::Through(&["list_dir"], ls, as_it_is),
    },
];

fn as_it_is(came: Came<'_>) -> ToolOutcome {
    came.outcome
}

/// How an error is told.
fn fault(why: &str) -> String {
    format!("<tool_use_error>{why}</tool_use_error>")
}

fn read(args: &Value) -> Result<Ours, String> {
    if args.get("pages").is_some_and(|pages| !pages.is_null()) {
        return Err("pages of PDF files cannot be read here".to_owned());
    }
    let names = [("file_path", "file_path"), ("offset", "offset"), ("limit", "limit")];
    Ok(Ours::new("read_file", renamed(args, &names)))
}

fn lines(came: Came<'_>) -> ToolOutcome {
    came.said(|text, is_error| if is_error { text.to_owned() } else { tabbed(text) })
}

fn edit(args: &Value) -> Result<Ours, String> {
    let names = ["file_path", "old_string", "new_string", "replace_all"].map(|name| (name, name));
    Ok(Ours::new("edit_file", renamed(args, &names)))
}

/// Our report without its first line, which is said in the vendor's form.
fn edited(came: Came<'_>) -> ToolOutcome {
    came.said(|report, is_error| {
        if is_error {
            return fault(report);
        }
        let (head, places) = report.split_once('\n').unwrap_or((report, ""));
        let (head, how) = head.split_once(';').map_or((head, ""), |(head, how)| (head, how));
        let path = head.split_once(" in ").map_or(head, |(_, path)| path);
        let how = if how.is_empty() { String::new() } else { format!(" Note:{how}.") };
        format!("The file {path} has been updated.{how} It now has:\n{}", tabbed(places))
    })
}

fn write(args: &Value) -> Result<Ours, String> {
    let names = ["file_path", "content"].map(|name| (name, name));
    Ok(Ours::new("write_file", renamed(args, &names)))
}

fn written(came: Came<'_>) -> ToolOutcome {
    came.said(|report, is_error| match report.split_once(' ') {
        _ if is_error => fault(report),
        Some(("created", rest)) => format!("File created at: {rest}"),
        Some(("replaced", rest)) => format!("The file {rest} has been updated."),
        _ => report.to_owned(),
    })
}

fn bash(args: &Value, timeouts: Timeouts) -> Result<Launch, String> {
    let limit = number(args, "timeout").map_or(timeouts.default, Duration::from_millis).min(timeouts.max);
    let limit = if flag(args, "run_in_background") { Duration::ZERO } else { limit };
    Ok(Launch {
        line: required(args, "command")?.to_owned(),
        cwd: None,
        means: Means::Pipes,
        patience: Patience::For(limit),
    })
}

fn ran(args: &Value, heard: &Heard) -> Result<String, String> {
    let text = heard.text.trim_end_matches('\n');
    if heard.end == End::Cancelled {
        return Err(format!("{text}\n[interrupted]").trim_start().to_owned());
    }
    match (&heard.state, heard.code()) {
        (State::Running, _) => {
            let job = heard.job;
            let why = match flag(args, "run_in_background") {
                true => "Command running in background".to_owned(),
                false => format!("Command still running after {} ms, moved to the background", millis(heard)),
            };
            let so_far = if text.is_empty() { String::new() } else { format!("\nOutput so far:\n{text}") };
            Ok(format!("{why} with ID: {job}. TaskOutput reads it, TaskStop ends it.{so_far}"))
        }
        (_, Some(0)) => Ok(text.to_owned()),
        (_, Some(code)) => Err(format!("Exit code {code}\n{text}")),
        (State::Failed(error), None) => Err(format!("The command was lost: {error}\n{text}")),
        (State::Ended(_), None) => Err(format!("The command ended, nobody knows how\n{text}")),
    }
}

fn millis(heard: &Heard) -> u128 {
    heard.duration.as_millis()
}

/// A task's number, which models write as a number or as a text.
fn job(args: &Value, keys: &[&str]) -> Result<Which, String> {
    let number = |key: &&str| number(args, key).or_else(|| text(args, key)?.trim().parse().ok());
    keys.iter()
        .find_map(number)
        .map(Which::Number)
        .ok_or_else(|| format!("`{}` is no task's ID", keys.join("` or `")))
}

fn task_output(args: &Value) -> Result<Turn, String> {
    let blocks = args.get("block").and_then(Value::as_bool).unwrap_or(true);
    let wait = if blocks { number(args, "timeout").unwrap_or(30_000).min(600_000) } else { 0 };
    let job = job(args, &["task_id"])?;
    Ok(Turn { job, what: What::Listen, since: Since::Told, wait: Duration::from_millis(wait) })
}

fn bash_output(args: &Value) -> Result<Turn, String> {
    let job = job(args, &["bash_id"])?;
    Ok(Turn { job, what: What::Listen, since: Since::Told, wait: Duration::ZERO })
}

fn task_stop(args: &Value) -> Result<Turn, String> {
    let job = job(args, &["task_id", "shell_id"])?;
    Ok(Turn { job, what: What::End, since: Since::Told, wait: Duration::ZERO })
}

fn task(_: &Value, heard: &Heard) -> Result<String, String> {
    let status = match &heard.state {
        State::Running => "running".to_owned(),
        State::Ended(_) if heard.code() == Some(0) => "completed".to_owned(),
        State::Ended(_) | State::Failed(_) => "failed".to_owned(),
    };
    let code = heard.code().map(|code| format!("\n<exit_code>{code}</exit_code>")).unwrap_or_default();
    let text = heard.text.trim_end_matches('\n');
    Ok(format!(
        "<task_id>{}</task_id>\n<status>{status}</status>{code}\n<output>\n{text}\n</output>",
        heard.job
    ))
}

fn stopped(_: &Value, heard: &Heard) -> Result<String, String> {
    let text = heard.text.trim_end_matches('\n');
    let last = if text.is_empty() { String::new() } else { format!("\nLast output:\n{text}") };
    Ok(format!("Stopped task: {}{last}", heard.job))
}

/// What is told of the matches.
enum Mode {
    Files,
    Lines,
    Counts,
}

impl Mode {
    fn of(args: &Value) -> Self {
        match text(args, "output_mode") {
            Some("content") => Self::Lines,
            Some("count") => Self::Counts,
            _ => Self::Files,
        }
    }
}

/// How many results are passed over, and how many are given.
fn window(args: &Value) -> (usize, usize) {
    let size = |key| number(args, key).map(|n| usize::try_from(n).unwrap_or(MOST_RESULTS).min(MOST_RESULTS));
    // 0 is for all there are.
    let most = size("head_limit").map_or(RESULTS, |most| if most == 0 { MOST_RESULTS } else { most });
    (size("offset").unwrap_or(0), most)
}

fn grep(args: &Value, root: RealPath) -> Result<Search, String> {
    if flag(args, "-o") {
        return Err("only whole lines can be shown; leave out -o, or use rg in Bash".to_owned());
    }
    let around = |key| number(args, key).or(number(args, "-C")).or(number(args, "context")).unwrap_or(0);
    let lines = |key| u32::try_from(around(key).min(MOST_CONTEXT)).unwrap_or(0);
    let show = match Mode::of(args) {
        Mode::Files => Show::Files,
        Mode::Lines => Show::Lines { before: lines("-B"), after: lines("-A") },
        Mode::Counts => Show::Counts,
    };
    let case = if flag(args, "-i") { Case::Insensitive } else { Case::Sensitive };
    let (skipped, most) = window(args);
    let mut search =
        Search::grep(required(args, "pattern")?, root).case(case).show(show).limit(skipped + most);
    if let Some(glob) = text(args, "glob") {
        search = search.only(glob);
    }
    if let Some(kind) = text(args, "type") {
        search = search.only_type(kind);
    }
    Ok(if flag(args, "multiline") { search.multiline() } else { search })
}

fn found(args: &Value, hits: &Hits, cwd: &RealPath) -> String {
    let (skipped, most) = window(args);
    let mut told = match &hits.found {
        found if found.is_empty() => match Mode::of(args) {
            Mode::Files => "No files found".to_owned(),
            Mode::Lines | Mode::Counts => "No matches found".to_owned(),
        },
        Found::Files(files) => {
            let names: Vec<String> =
                files.iter().skip(skipped).take(most).map(|file| below(&file.path, cwd)).collect();
            let noun = if names.len() == 1 { "file" } else { "files" };
            format!("Found {} {noun}\n{}", names.len(), names.join("\n"))
        }
        Found::Counts(files) => {
            let shown: Vec<_> = files.iter().skip(skipped).take(most).collect();
            let lines: Vec<String> =
                shown.iter().map(|file| format!("{}:{}", below(&file.path, cwd), file.count)).collect();
            let total: u64 = shown.iter().map(|file| file.count).sum();
            let files = if shown.len() == 1 { "file" } else { "files" };
            let times = if total == 1 { "occurrence" } else { "occurrences" };
            format!("{}\n\nFound {total} total {times} across {} {files}.", lines.join("\n"), shown.len())
        }
        Found::Lines(files) => {
            let mut all = String::new();
            for file in files {
                ripgrep_lines(&mut all, file, &below(&file.path, cwd));
            }
            // As `head` and `tail` would: by lines of the output.
            let lines: Vec<&str> = all.lines().skip(skipped).take(most).collect();
            lines.join("\n")
        }
    };
    if hits.truncated {
        let _ = write!(told, "\n\n[there is more: go on with offset {}]", skipped + most);
    }
    told
}

fn glob(args: &Value) -> Result<Ours, String> {
    Ok(Ours::new("glob", renamed(args, &[("pattern", "pattern"), ("path", "path")])))
}

fn files(came: Came<'_>) -> ToolOutcome {
    came.said(|said, is_error| match said {
        _ if is_error => fault(said),
        "no files match\n" => "No files found".to_owned(),
        files => files.trim_end_matches('\n').to_owned(),
    })
}

fn todo_write(args: &Value) -> Result<Ours, String> {
    let step = |todo: &Value| renamed(todo, &[("content", "step"), ("status", "status")]);
    let steps: Vec<Value> = list(args, "todos").iter().map(step).collect();
    Ok(Ours::new("update_plan", json!({ "steps": steps })))
}

fn noted(came: Came<'_>) -> ToolOutcome {
    came.said(|said, is_error| match is_error {
        true => fault(said),
        false => "The todo list has been updated. Go on with the current task.".to_owned(),
    })
}

fn answers(answered: &[Answered<'_>]) -> String {
    let answer = |Answered { asked, answer }: &Answered<'_>| {
        format!("\"{}\"=\"{answer}\"", text(asked, "question").unwrap_or_default())
    };
    let answers: Vec<String> = answered.iter().map(answer).collect();
    format!("The user has answered: {}.", answers.join(", "))
}

fn web_fetch(args: &Value) -> Result<Ours, String> {
    let skipped = number(args, "offset").unwrap_or(0).min(MOST_SKIPPED);
    let mut arguments = renamed(args, &[("url", "url")]);
    arguments["max_chars"] = (skipped + PAGE).into();
    Ok(Ours::new("web_fetch", arguments))
}

/// The page itself: what the prompt asks of it, the model that reads this can tell best.
fn fetched(came: Came<'_>) -> ToolOutcome {
    let skipped = usize::try_from(number(came.args, "offset").unwrap_or(0).min(MOST_SKIPPED)).unwrap_or(0);
    came.said(|page, is_error| match page.char_indices().nth(skipped) {
        _ if is_error => fault(page),
        Some((start, _)) => page.split_at(start).1.to_owned(),
        None => "[the page ends before this offset]".to_owned(),
    })
}

fn ls(args: &Value) -> Result<Ours, String> {
    Ok(Ours::new("list_dir", renamed(args, &[("path", "path")])))
}

#[cfg(test)]
mod tests;
