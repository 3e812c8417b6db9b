//! gemini-cli: a tool for each kind of work on files, and one for commands.

mod told;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use junto_core::ToolOutcome;
use junto_env::{Background, Case, Exit, Found, Hits, JobId, RealPath, Search, Show, State};
use serde_json::{Value, json};

use super::adapter::{Came, Only, Ours};
use super::agents::gemini as agents;
use super::arguments::{flag, list, number, renamed, required, text};
use super::command::{Launch, Means};
use super::heard::{End, Heard, Patience, Since};
use super::job::{Turn, What, Which};
use super::numbered::bare;
use super::questions::Answered;
use super::{Row, Used, Way};
use crate::tools::{Timeouts, below};

/// How long a command may be silent.
const SILENCE: Duration = Duration::from_mins(5);
/// How long can be waited for a command in the background, in milliseconds.
const LONGEST_DELAY: u64 = 600_000;
/// How many matches are given if nobody says.
const MATCHES: u64 = 100;
/// How many matches are given at most.
const MOST_MATCHES: u64 = 10_000;
/// How many lines are shown around a match at most.
const MOST_CONTEXT: u64 = 100;
/// How many lines are shown around matches of which there are few, so that the file need not be read.
const AROUND: &[(usize, u32)] = &[(1, 50), (3, 15)];
/// How many lines of a command's output are given if nobody says.
const LINES: u64 = 100;

pub(super) const TOOLS: &[Row] = &[
    Row {
        name: "list_directory",
        ours: &["list_dir"],
        used: Used::Always,
        told: told::list_directory,
        way: Way::Through(&["list_dir"], list_directory, listed),
    },
    Row {
        name: "read_file",
        ours: &["read_file", "read_many_files"],
        used: Used::Always,
        told: told::read_file,
        way: Way::Through(&["read_file"], read_file, content),
    },
    Row {
        name: "grep_search",
        ours: &["grep"],
        used: Used::Always,
        told: told::grep_search,
        way: Way::Search("dir_path", grep_search, matches, str::to_owned),
    },
    Row {
        name: "glob",
        ours: &["glob"],
        used: Used::Always,
        told: told::glob,
        way: Way::Through(&["glob"], glob, files),
    },
    Row {
        name: "replace",
        ours: &["edit_file", "apply_patch"],
        used: Used::Always,
        told: told::replace,
        way: Way::Through(&["edit_file", "write_file"], replace, replaced),
    },
    Row {
        name: "write_file",
        ours: &["write_file"],
        used: Used::Always,
        told: told::write_file,
        way: Way::Through(&["write_file"], write_file, written),
    },
    Row {
        name: "run_shell_command",
        ours: &["shell", "shell_output", "shell_input", "shell_kill"],
        used: Used::Always,
        told: told::run_shell_command,
        way: Way::Command(run_shell_command, ran),
    },
    Row {
        name: "list_background_processes",
        ours: &["shell_output"],
        used: Used::Always,
        told: told::list_background_processes,
        way: Way::Jobs(processes),
    },
    Row {
        name: "read_background_output",
        ours: &["shell_output"],
        used: Used::Always,
        told: told::read_background_output,
        way: Way::Job(read_background_output, said),
    },
    Row {
        name: "write_todos",
        ours: &["update_plan"],
        used: Used::Always,
        told: told::write_todos,
        way: Way::Through(&["update_plan"], write_todos, noted),
    },
    Row {
        name: "ask_user",
        ours: &["ask_user"],
        used: Used::WhenAdded,
        told: told::ask_user,
        way: Way::Questions(answers),
    },
    Row {
        name: "web_fetch",
        ours: &["web_fetch"],
        used: Used::WhenAdded,
        told: told::web_fetch,
        way: Way::Through(&["web_fetch"], web_fetch, fetched),
    },
    Row {
        name: "invoke_agent",
        ours: &["spawn_agent"],
        used: Used::WhenAdded,
        told: told::invoke_agent,
        way: Way::Through(&["spawn_agent"], agents::invoke, agents::invoked),
    },
    Row {
        name: "search_file_content",
        ours: &["grep"],
        used: Used::Never,
        told: told::grep_search,
        way: Way::Search("dir_path", grep_search, matches, str::to_owned),
    },
    Row {
        name: "read_many_files",
        ours: &["read_many_files"],
        used: Used::Never,
        told: told::read_many_files,
        way: Way::Through(&["read_many_files"], read_many_files, as_it_is),
    },
];

fn as_it_is(came: Came<'_>) -> ToolOutcome {
    came.outcome
}

fn list_directory(args: &Value) -> Result<Ours, String> {
    Ok(Ours::new("list_dir", renamed(args, &[("dir_path", "path")])))
}

/// Our listing, directories first, without what shall be ignored.
fn listed(came: Came<'_>) -> ToolOutcome {
    let ignored: Vec<String> =
        list(came.args, "ignore").iter().filter_map(Value::as_str).map(str::to_owned).collect();
    came.said(|listing, is_error| {
        let Some((root, entries)) = listing.split_once(":\n").filter(|_| !is_error) else {
            return listing.to_owned();
        };
        let (mut dirs, mut files, mut notes) = (String::new(), String::new(), String::new());
        for line in entries.lines() {
            let name = line.strip_suffix('/').or_else(|| line.rsplit_once(" (").map(|(name, _)| name));
            let Some(name) = name else {
                notes += &format!("{line}\n");
                continue;
            };
            if ignored.iter().any(|pattern| fits(pattern, name)) {
                continue;
            }
            match line.ends_with('/') {
                true => dirs += &format!("[DIR] {name}\n"),
                false => files += &format!("{line}\n"),
            }
        }
        format!("Directory listing for {root}:\n{dirs}{files}{notes}").trim_end().to_owned()
    })
}

/// Whether a name fits a pattern in which `*` stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(start) else { return false };
    let (between, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    for piece in between.split('*') {
        match left.split_once(piece) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(end)
}

fn read_file(args: &Value) -> Result<Ours, String> {
    let mut arguments = renamed(args, &[("file_path", "file_path"), ("start_line", "offset")]);
    let first = number(args, "start_line").unwrap_or(1).max(1);
    if let Some(last) = number(args, "end_line") {
        if last < first {
            return Err(format!("end_line {last} is before start_line {first}"));
        }
        arguments["limit"] = (last - first + 1).into();
    }
    Ok(Ours::new("read_file", arguments))
}

fn content(came: Came<'_>) -> ToolOutcome {
    came.said(|shown, is_error| {
        let bare = bare(shown);
        if is_error || bare.last == 0 {
            return shown.to_owned();
        }
        let mut notes = String::new();
        let mut more = String::new();
        for note in &bare.notes {
            match note.strip_prefix("[the file goes on: continue with offset ") {
                Some(next) => {
                    let next = next.trim_end_matches(']');
                    more = format!(
                        "Status: Showing lines {}-{}; the file goes on.\nAction: To read more, set start_line to \
                         {next}.\n\n--- FILE CONTENT (truncated) ---\n",
                        bare.first, bare.last
                    );
                }
                None => notes += &format!("\n{note}"),
            }
        }
        format!("{more}{}{notes}", bare.text.strip_suffix('\n').unwrap_or(&bare.text))
    })
}

fn read_many_files(args: &Value) -> Result<Ours, String> {
    let key = if args.get("include").is_some() { "include" } else { "paths" };
    Ok(Ours::new("read_many_files", renamed(args, &[(key, "paths")])))
}

fn grep_search(args: &Value, root: RealPath) -> Result<Search, String> {
    if args.get("exclude_pattern").is_some_and(|pattern| !pattern.is_null()) {
        return Err("lines cannot be excluded by a pattern here; narrow the pattern instead".to_owned());
    }
    let around = |key| number(args, key).or(number(args, "context")).unwrap_or(0).min(MOST_CONTEXT);
    // Lines around few matches are cut to what is wanted when it is known how many there are.
    let usual = AROUND.first().map_or(0, |(_, lines)| *lines);
    let lines = |key| u32::try_from(around(key)).unwrap_or(0).max(if is_plain(args) { usual } else { 0 });
    let show = match flag(args, "names_only") {
        true => Show::Files,
        false => Show::Lines { before: lines("before"), after: lines("after") },
    };
    let case = if flag(args, "case_sensitive") { Case::Sensitive } else { Case::Insensitive };
    let most = number(args, "total_max_matches").unwrap_or(MATCHES).clamp(1, MOST_MATCHES);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut search = Search::grep(required(args, "pattern")?, root).case(case).show(show).limit(most);
    if let Some(glob) = text(args, "include_pattern") {
        search = search.only(glob);
    }
    if flag(args, "fixed_strings") {
        search = search.literal();
    }
    Ok(if flag(args, "no_ignore") { search.with_ignored() } else { search })
}

/// Whether nobody says how many lines around a match are wanted.
fn is_plain(args: &Value) -> bool {
    ["context", "before", "after"].iter().all(|key| number(args, key).is_none())
}

fn matches(args: &Value, hits: &Hits, cwd: &RealPath) -> String {
    let pattern = text(args, "pattern").unwrap_or_default();
    let mut told = match &hits.found {
        found if found.is_empty() => return format!("No matches found for pattern \"{pattern}\"."),
        Found::Files(files) => {
            let names: Vec<String> = files.iter().map(|file| below(&file.path, cwd)).collect();
            format!(
                "Found {} files with matches for pattern \"{pattern}\":\n{}",
                names.len(),
                names.join("\n")
            )
        }
        Found::Counts(_) => String::new(),
        Found::Lines(files) => {
            let most =
                number(args, "max_matches_per_file").map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(1));
            let of =
                |file: &junto_env::FileLines| file.lines.iter().filter(|line| line.matches).count().min(most);
            let count: usize = files.iter().map(of).sum();
            let noun = if count == 1 { "match" } else { "matches" };
            let mut told = format!("Found {count} {noun} for pattern \"{pattern}\":\n---\n");
            let wanted = match is_plain(args) {
                true => AROUND.iter().find(|(few, _)| count <= *few).map_or(0, |(_, lines)| *lines),
                false => u32::MAX,
            };
            for file in files {
                let _ = writeln!(told, "File: {}", below(&file.path, cwd));
                for (number, line, matches) in near(&file.lines, most, u64::from(wanted)) {
                    let mark = if matches { "L" } else { "L-" };
                    let _ = writeln!(told, "{mark}{number}: {line}");
                }
                told.push_str("---\n");
            }
            told.trim_end().to_owned()
        }
    };
    if hits.truncated {
        told.push_str("\n[there are more; narrow the search, or raise total_max_matches]");
    }
    told
}

/// The first matches of a file, and the lines within this distance of one.
fn near(lines: &[junto_env::Line], most: usize, distance: u64) -> impl Iterator<Item = (u64, &str, bool)> {
    let matches: Vec<u64> =
        lines.iter().filter(|line| line.matches).map(|line| line.number).take(most).collect();
    lines.iter().filter_map(move |line| {
        let counts = matches.contains(&line.number);
        let is_near = matches.iter().any(|number| number.abs_diff(line.number) <= distance);
        (counts || (is_near && !line.matches)).then_some((line.number, line.text.as_str(), counts))
    })
}

fn glob(args: &Value) -> Result<Ours, String> {
    Ok(Ours::new("glob", renamed(args, &[("pattern", "pattern"), ("dir_path", "path")])))
}

fn files(came: Came<'_>) -> ToolOutcome {
    let pattern = text(came.args, "pattern").unwrap_or_default().to_owned();
    let cwd = came.cwd.clone();
    came.said(|said, is_error| {
        if is_error {
            return said.to_owned();
        }
        let (notes, names): (Vec<&str>, Vec<&str>) = said.lines().partition(|line| line.starts_with('['));
        if said.starts_with("no files match\n") {
            return format!("No files found matching pattern \"{pattern}\"");
        }
        let paths: Vec<String> = names
            .iter()
            .map(|name| cwd.as_path().join(name).display().to_string())
            .chain(notes.iter().map(|&note| note.to_owned()))
            .collect();
        format!(
            "Found {} file(s) matching \"{pattern}\", the last changed first:\n{}",
            names.len(),
            paths.join("\n")
        )
    })
}

/// With nothing to replace it makes a new file.
fn replace(args: &Value) -> Result<Ours, String> {
    if required(args, "old_string")?.is_empty() {
        let arguments = renamed(args, &[("file_path", "file_path"), ("new_string", "content")]);
        return Ok(Ours { only: Only::NewFiles, ..Ours::new("write_file", arguments) });
    }
    let names = [
        ("file_path", "file_path"),
        ("old_string", "old_string"),
        ("new_string", "new_string"),
        ("allow_multiple", "replace_all"),
    ];
    Ok(Ours::new("edit_file", renamed(args, &names)))
}

/// Our report, its lines without numbers.
fn replaced(came: Came<'_>) -> ToolOutcome {
    came.said(|report, is_error| {
        if is_error {
            return report.to_owned();
        }
        let Some((times, rest)) = report.strip_prefix("replaced ").and_then(|rest| rest.split_once(" in "))
        else {
            return written_report(report);
        };
        let (head, places) = rest.split_once('\n').unwrap_or((rest, ""));
        let count = times.split(' ').next().filter(|_| times != "once").unwrap_or("1");
        let noun = if count == "1" { "replacement" } else { "replacements" };
        let code = bare(places).text;
        format!("Modified file: {head} ({count} {noun}). It now has:\n{}", code.trim_end_matches('\n'))
    })
}

fn write_file(args: &Value) -> Result<Ours, String> {
    let names = ["file_path", "content"].map(|name| (name, name));
    Ok(Ours::new("write_file", renamed(args, &names)))
}

fn written(came: Came<'_>) -> ToolOutcome {
    came.said(|report, is_error| if is_error { report.to_owned() } else { written_report(report) })
}

fn written_report(report: &str) -> String {
    match report.split_once(' ') {
        Some(("created", rest)) => format!("Created and wrote new file: {rest}"),
        Some(("replaced", rest)) => format!("Overwrote file: {rest}"),
        _ => report.to_owned(),
    }
}

fn run_shell_command(args: &Value, _: Timeouts) -> Result<Launch, String> {
    let patience = match flag(args, "is_background") {
        true => Patience::For(delay(args)),
        false => Patience::Silence(SILENCE),
    };
    Ok(Launch {
        line: required(args, "command")?.to_owned(),
        cwd: text(args, "dir_path").map(str::to_owned),
        means: Means::Pipes,
        patience,
    })
}

fn delay(args: &Value) -> Duration {
    Duration::from_millis(number(args, "delay_ms").unwrap_or(0).min(LONGEST_DELAY))
}

/// What a command said, and how it ended. One that fails is no failed call.
fn ran(_: &Value, heard: &Heard) -> Result<String, String> {
    let output = match heard.text.trim_end_matches('\n') {
        "" => "(empty)",
        output => output,
    };
    let mut told = format!("Output: {output}\n");
    match &heard.state {
        State::Running => told += &format!("Background PIDs: {}\n", heard.pid),
        State::Ended(Exit { code: Some(code), .. }) => told += &format!("Exit Code: {code}\n"),
        State::Ended(Exit { signal: Some(signal), .. }) => told += &format!("Signal: {signal}\n"),
        State::Ended(_) => {}
        State::Failed(error) => told += &format!("Error: {error}\n"),
    }
    match heard.end {
        End::Wait => {}
        End::Silent(limit) => {
            told += &format!("Error: ended after {} minutes without output\n", limit.as_secs() / 60);
        }
        End::Cancelled => told += "Error: interrupted\n",
    }
    let told = format!("<untrusted_context>\n{told}</untrusted_context>");
    if heard.end == End::Wait { Ok(told) } else { Err(told) }
}

fn processes(jobs: &[(JobId, Arc<Background>)]) -> String {
    let line = |job: &Background| {
        let state = if job.is_running() { "running" } else { "exited" };
        format!("[PID {}] {state}", job.id())
    };
    let lines: Vec<String> = jobs.iter().map(|(_, job)| line(job)).collect();
    if lines.is_empty() { "No background processes.".to_owned() } else { lines.join("\n") }
}

fn read_background_output(args: &Value) -> Result<Turn, String> {
    let pid = number(args, "pid").and_then(|pid| u32::try_from(pid).ok());
    let pid = pid.ok_or("`pid` is missing (it is a number)")?;
    Ok(Turn { job: Which::Process(pid), what: What::Listen, since: Since::Start, wait: delay(args) })
}

/// The last lines.
fn said(args: &Value, heard: &Heard) -> Result<String, String> {
    let most = usize::try_from(number(args, "lines").unwrap_or(LINES)).unwrap_or(usize::MAX);
    let lines: Vec<&str> = heard.text.lines().collect();
    let skipped = lines.len().saturating_sub(most);
    let shown: Vec<&str> = lines.into_iter().skip(skipped).collect();
    let head = if skipped > 0 { format!("[{skipped} lines before this]\n") } else { String::new() };
    let state = match (&heard.state, heard.code()) {
        (State::Running, _) => "running".to_owned(),
        (_, Some(code)) => format!("exited with code {code}"),
        _ => "lost".to_owned(),
    };
    Ok(format!("[PID {}] {state}\n{head}{}", heard.pid, shown.join("\n")).trim_end().to_owned())
}

/// Steps that were given up or wait for something say so, since a plan knows neither.
fn write_todos(args: &Value) -> Result<Ours, String> {
    let step = |todo: &Value| {
        let words = text(todo, "description").unwrap_or_default();
        let (words, status) = match text(todo, "status").unwrap_or_default() {
            "cancelled" => (format!("{words} (cancelled)"), "completed"),
            "blocked" => (format!("{words} (blocked)"), "pending"),
            status => (words.to_owned(), status),
        };
        json!({"step": words, "status": status})
    };
    let steps: Vec<Value> = list(args, "todos").iter().map(step).collect();
    Ok(Ours::new("update_plan", json!({ "steps": steps })))
}

fn noted(came: Came<'_>) -> ToolOutcome {
    let todo = |(number, todo): (usize, &Value)| {
        let (status, words) = (text(todo, "status"), text(todo, "description"));
        format!("\n{}. [{}] {}", number + 1, status.unwrap_or_default(), words.unwrap_or_default())
    };
    let todos: String = list(came.args, "todos").iter().enumerate().map(todo).collect();
    came.said(|said, is_error| match is_error {
        true => said.to_owned(),
        false => format!("The todo list is now:{todos}"),
    })
}

fn answers(answered: &[Answered<'_>]) -> String {
    let answers: BTreeMap<String, &str> =
        answered.iter().enumerate().map(|(n, answered)| (n.to_string(), answered.answer.as_str())).collect();
    json!({ "answers": answers }).to_string()
}

/// The addresses in a prompt.
fn addresses(prompt: &str) -> Vec<&str> {
    let is_address = |word: &&str| word.starts_with("http://") || word.starts_with("https://");
    let ends: &[char] = &['.', ',', ';', ':', ')', ']', '>', '"', '\'', '!', '?'];
    let starts: &[char] = &['(', '[', '<', '"', '\''];
    let words = prompt.split_whitespace().map(|word| word.trim_start_matches(starts).trim_end_matches(ends));
    words.filter(is_address).collect()
}

fn web_fetch(args: &Value) -> Result<Ours, String> {
    let prompt = required(args, "prompt")?;
    let first = addresses(prompt).first().copied().ok_or("there is no address in the prompt")?;
    Ok(Ours::new("web_fetch", json!({ "url": first })))
}

/// The page itself: what the prompt asks of it, the model that reads this can tell best.
fn fetched(came: Came<'_>) -> ToolOutcome {
    let prompt = text(came.args, "prompt").unwrap_or_default().to_owned();
    came.said(|page, _| match addresses(&prompt).get(1..).unwrap_or_default() {
        [] => page.to_owned(),
        others => format!("{page}\n[one page is fetched by each call; not yet: {}]", others.join(" ")),
    })
}

#[cfg(test)]
mod tests;
