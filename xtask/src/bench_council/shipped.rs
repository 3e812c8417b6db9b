//! `junto eval` on the tasks that are shipped, with models of which it is known what they can do.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::Outcome;
use crate::bench_loop::Twin;
use crate::command::{capture, root};
use crate::setup;

/// A model that solves every task, and one that solves every other.
const ALL: &str = "claude-opus-5-5";
const SOME: &str = "claude-sonnet-5";
/// How often each task is done.
const REPEAT: &str = "2";

/// Where two differ the first is taken: the worse, so that a loss is seen, and then the better.
const COUNCILS: [(&str, [&str; 2], &str); 3] = [
    ("some-first", [SOME, ALL], "select"),
    ("all-first", [ALL, SOME], "select"),
    ("fuse", [SOME, ALL], "fuse"),
];

/// Lets the binary evaluate models and councils, prints its report, and checks what is known of it.
pub(super) fn evaluate(release: &Path, scratch: &Path) -> Outcome {
    let evals = root().join("evals");
    let play = json!({"steps": steps(&evals)?}).to_string();
    let twin = Twin::playing(&release.join("junto-twin"), scratch, "tasks.json", &play)?;
    // Those that work do so unattended: what the sandbox holds needs nobody's leave.
    let mut path = vec![toolchain()?];
    path.extend(std::env::split_paths(&setup::beside(&setup::bwrap()?)?));
    let path = std::env::join_paths(path).map_err(|e| format!("cannot extend the search path: {e}"))?;
    let home = scratch.join("home");
    let config = home.join(".config/junto");
    fs::create_dir_all(&config).map_err(|e| format!("cannot make {}: {e}", config.display()))?;
    fs::write(config.join("config.toml"), councils()).map_err(|e| e.to_string())?;
    let report = |flags: &[&str]| {
        let mut command = Command::new(release.join("junto"));
        command.arg("eval").arg(&evals).args(["--repeat", REPEAT]);
        for name in [ALL, SOME] {
            command.args(["--with", &format!("anthropic/{name}")]);
        }
        for (name, ..) in COUNCILS {
            command.args(["--with", &format!("council:{name}")]);
        }
        command.args(["--with", &format!("agents:native:anthropic/{SOME},native:anthropic/{ALL}")]);
        let mut command = twin.address().point(flagged(command, flags), &home);
        capture(command.env("PATH", &path))
    };
    println!("{}", report(&[])?);
    let found: Value = serde_json::from_str(&report(&["--json"])?).map_err(|e| format!("no report: {e}"))?;
    let rate = |name: &str| {
        let rows = found["contenders"].as_array().into_iter().flatten();
        rows.clone().find(|row| row["contender"] == name).map(|row| row["pass"].clone()).unwrap_or_default()
    };
    let known = [
        (format!("anthropic/{ALL}"), 1.0),
        (format!("anthropic/{SOME}"), 0.5),
        ("council:all-first".to_owned(), 1.0),
        ("council:some-first".to_owned(), 0.5),
        // One of the two always passes, and the check knows which; but of twelve tasks two are questions, and where
        // nothing is changed nobody wins.
        (format!("agents:native:anthropic/{SOME},native:anthropic/{ALL}"), 10.0 / 12.0),
    ];
    let wrong: Vec<String> = known
        .iter()
        .filter(|(name, truth)| {
            let pass = rate(name);
            let end = |field: &str| pass[field].as_f64();
            !end("low").zip(end("high")).is_some_and(|(low, high)| (low..=high).contains(truth))
        })
        .map(|(name, truth)| format!("{name}: {truth} is not in the interval of {}", rate(name)))
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Where the compiler itself is: what stands for it on the path looks for it in the user's home, which is another here.
fn toolchain() -> Outcome<PathBuf> {
    let root = capture(Command::new("rustc").args(["--print", "sysroot"]))?;
    Ok(Path::new(root.trim()).join("bin"))
}

fn flagged(mut command: Command, flags: &[&str]) -> Command {
    command.args(flags);
    command
}

fn councils() -> String {
    let mut text = String::new();
    for (name, [first, second], mode) in COUNCILS {
        let _ = write!(
            text,
            "[council.{name}]\nmembers = [\"anthropic/{first}\", \"anthropic/{second}\"]\nmode = \"{mode}\"\n\
             fan_out = \"always\"\nscope = \"per-turn\"\n"
        );
        if mode == "fuse" {
            let _ = writeln!(text, "synthesizer = \"anthropic/{ALL}\"");
        }
    }
    text
}

/// What the models do: with a task that one can do it writes the files of the solution, or gives the answer.
fn steps(evals: &Path) -> Outcome<Vec<Value>> {
    let cannot = |e: std::io::Error| format!("cannot read the tasks: {e}");
    let mut folders: Vec<_> = fs::read_dir(evals)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>())
        .map_err(cannot)?;
    folders.retain(|folder| folder.join("task.toml").is_file());
    folders.sort();
    let mut steps = Vec::new();
    for (place, folder) in folders.iter().enumerate() {
        let task = fs::read_to_string(folder.join("task.toml")).map_err(cannot)?;
        // The first words of the prompt tell the tasks apart.
        let prompt = task.split_once("prompt = \"\"\"\n").map(|(_, prompt)| prompt).unwrap_or_default();
        let words: String = prompt.lines().next().unwrap_or_default().chars().take(40).collect();
        let solution = folder.join("solution");
        let answer = fs::read_to_string(solution.join(".answer")).ok();
        let models: &[&str] = if place % 2 == 0 { &[ALL, SOME] } else { &[ALL] };
        for model in models {
            let when = json!({"model": model, "round": 0, "contains": words});
            steps.push(match &answer {
                Some(answer) => json!({"when": when, "think": false, "text": answer.trim()}),
                None => json!({"when": when, "think": false, "calls": calls(&solution, &solution)?}),
            });
        }
    }
    // Whoever judges or writes is shown both, and one who cannot do a task says nothing of use.
    steps.push(json!({"think": false, "text": "Done."}));
    Ok(steps)
}

/// The calls that write a solution, one for each file.
fn calls(folder: &Path, below: &Path) -> Outcome<Vec<Value>> {
    let cannot = |e: std::io::Error| format!("cannot read {}: {e}", folder.display());
    let mut entries: Vec<_> = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>())
        .map_err(cannot)?;
    entries.sort();
    let mut all = Vec::new();
    for path in entries {
        if path.is_dir() {
            all.extend(calls(&path, below)?);
            continue;
        }
        let name = path.strip_prefix(below).unwrap_or(&path).display().to_string();
        let text = fs::read_to_string(&path).map_err(cannot)?;
        // Over what is there, as a model does that has read it.
        let command =
            format!("mkdir -p \"$(dirname {name})\" && cat > {name} <<'END-OF-FILE'\n{text}END-OF-FILE");
        all.push(json!({"tool": "shell", "args": {"command": command}}));
    }
    Ok(all)
}
