//! `cargo xtask bench loop`: what a run of the release binary costs beside the model, and what sessions do.
//!
//! The model is a twin that answers at once, so what is measured is ours: the start of the process,
//! the calls, the tools. Runs of all candidates take turns, so that a busy moment of the machine hits
//! all of them alike, and the middle one of each is what counts.

pub(crate) mod measure;
mod sessions;
mod verdict;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::Value;

use self::measure::{Cost, measure, middle};
use self::verdict::{Figures, Peer, Verdict, verdict};
use crate::Outcome;
use crate::clis;
use crate::command::{capture, cargo, quietly, root, run};

/// How often each candidate runs.
const TURNS: usize = 21;
/// How many rounds of tools the long run has, and how often the bare shell is started beside it.
const ROUNDS: u32 = 20;

/// What the model answers with rounds of tools: a word that hardly stands in an agent's own prompt.
pub(crate) const LONG: &str = "twentyfold";
/// The same, with commands that change a file: before the first of them and at the end the files are snapshotted, and
/// before each of them the disk has the session. What that takes is the disk's and git's, so it is shown and not judged.
const DEEDS: &str = "twentydeeds";
/// Nothing is written to disk, and commands run as the bare shell does, without a sandbox: the loop alone.
const LOOSE: &[&str] = &["--no-save", "--policy", "full"];
/// The same, and kept.
const KEPT: &[&str] = &["--policy", "full"];

/// A command-line agent of others, and what makes it answer once without asking; `{}` is the model's address.
struct Other {
    name: &'static str,
    args: &'static [&'static str],
}

const OTHERS: [Other; 5] = [
    Other {
        name: "codex",
        args: &[
            "exec",
            "--skip-git-repo-check",
            // Else it waits for these for seconds.
            "--disable",
            "plugins",
            "-c",
            "model_provider=\"twin\"",
            "-c",
            "model_providers.twin={name=\"twin\",base_url=\"{}\",wire_api=\"responses\",env_key=\"OPENAI_API_KEY\"}",
            "hello",
        ],
    },
    Other { name: "claude", args: &["-p", "hello"] },
    // Without a model it first asks one which to take, and tries again as long as the answer makes no sense to it.
    Other { name: "gemini", args: &["--skip-trust", "--model", "gemini-2.5-pro", "-p", "hello"] },
    Other { name: "goose", args: &["run", "--no-session", "-t", "hello"] },
    Other { name: "pi", args: &["-p", "hello"] },
];

/// Something that is run again and again.
struct Candidate {
    name: String,
    version: String,
    command: Box<dyn Fn() -> Command>,
    costs: Vec<Cost>,
}

/// Builds, measures, prints, and fails if a promise is broken.
pub(crate) fn run_all() -> Outcome {
    // In one go and of the whole workspace, as the other benchmarks do: the features of a library depend on
    // who is built along with it, and so nothing is built twice.
    run(cargo().args(["build", "--release", "--workspace", "--bins", "--example", "sessions"]))?;
    let release = root().join("target/release");
    let scratch = root().join("target/bench-loop");
    let _ = fs::remove_dir_all(&scratch);
    let twin = Twin::start(&release.join("junto-twin"), &scratch)?;
    let home = home_in(&scratch.join("ours"))?;
    // What they write into theirs would be a change of ours.
    let their_home = home_in(&scratch.join("theirs"))?;

    let junto = release.join("junto");
    let version = version_of(&junto);
    let ours = |name: &str, flags: &'static [&'static str], task: &'static str| {
        let (junto, twin, home) = (junto.clone(), twin.clone_address(), home.clone());
        let command: Box<dyn Fn() -> Command> = Box::new(move || {
            let mut command = Command::new(&junto);
            command.args(["run", "--quiet"]).args(flags).arg(task);
            at_work(twin.point(command, &home), &home)
        });
        Candidate { name: name.to_owned(), version: version.clone(), command, costs: Vec::new() }
    };
    let mut candidates = vec![
        ours("junto run, one answer", LOOSE, "hello"),
        ours("junto run, 20 rounds of `true`", LOOSE, LONG),
        Candidate {
            name: "bash -c true, 20 times".to_owned(),
            version: version_of(Path::new("bash")),
            command: Box::new(|| {
                let mut command = Command::new("sh");
                command.args(["-c", &format!("for i in $(seq {ROUNDS}); do bash -c true; done")]);
                command
            }),
            costs: Vec::new(),
        },
        ours("the same answer, kept", KEPT, "hello"),
        ours("the same rounds, kept", KEPT, LONG),
        ours("20 rounds that write a file", LOOSE, DEEDS),
        ours("the same, kept", KEPT, DEEDS),
        // What a sandbox adds is judged by `cargo xtask bench sandbox`.
        ours("the same rounds, kept, in a sandbox", &[], LONG),
    ];
    let own = candidates.len();
    for task in [LONG, DEEDS] {
        let mut long = Command::new(&junto);
        long.args(["run", "--json"]).args(LOOSE).arg(task);
        check_rounds(at_work(twin.clone_address().point(long, &home), &home))?;
    }
    let notes = scratch.join("peak");
    let clis = clis::ensure()?;
    for Other { name, args } in &OTHERS {
        let ours = clis.environment().find(|(variable, _)| variable.to_lowercase().ends_with(name));
        let program = ours.map_or(PathBuf::from(name), |(_, program)| PathBuf::from(program));
        if !quietly(Command::new(&program).arg("--version")) {
            println!("{name} is not installed: left out");
            continue;
        }
        let (twin, home, runs) = (twin.clone_address(), their_home.clone(), program.clone());
        let command: Box<dyn Fn() -> Command> = Box::new(move || {
            let mut command = Command::new(&runs);
            command.args(args.iter().map(|arg| arg.replace("{}", twin.url(name))));
            at_work(twin.point(command, &home), &home)
        });
        // One that cannot be made to talk to the twin proves nothing about us.
        if let Err(error) = measure(&command(), &notes) {
            println!("{name} does not answer here ({error}): left out");
            continue;
        }
        let version = version_of(&program);
        candidates.push(Candidate { name: (*name).to_owned(), version, command, costs: Vec::new() });
    }
    for _ in 0..TURNS {
        for candidate in &mut candidates {
            let cost =
                measure(&(candidate.command)(), &notes).map_err(|e| format!("{}: {e}", candidate.name))?;
            candidate.costs.push(cost);
        }
    }
    let mut verdict = report(&candidates, own)?;
    // Not before: for minutes a file system remembers what was removed, and looks at all of it for each new file.
    let _ = fs::remove_dir_all(&scratch);
    println!("\nnow the sessions, which takes some minutes");
    let sessions = sessions::measure(&release.join("examples/sessions"))?;
    sessions::judge(&sessions, &mut verdict);
    println!("{}", sessions::note(&sessions));
    for line in &verdict.kept {
        println!("ok    {line}");
    }
    if verdict.broken.is_empty() { Ok(()) } else { Err(verdict.broken.join("\n")) }
}

/// Prints what the runs cost, and judges it.
fn report(candidates: &[Candidate], own: usize) -> Outcome<Verdict> {
    println!("\n{:<34} {:<28} {:>9} {:>9} {:>10}", "", "version", "CPU ms", "wall ms", "peak MiB");
    let mut middles = Vec::new();
    for candidate in candidates {
        let cost = middle(&candidate.costs).ok_or("nothing was measured")?;
        let Cost { cpu, wall, peak } = cost;
        println!(
            "{:<34} {:<28} {:>9.1} {:>9.1} {:>10.1}",
            candidate.name,
            candidate.version,
            cpu.as_secs_f64() * 1e3,
            wall.as_secs_f64() * 1e3,
            mebibytes(peak),
        );
        middles.push(cost);
    }
    let [one_shot, rounds, bare, kept_one_shot, kept_rounds, ..] = &middles[..] else {
        return Err("nothing was measured".to_owned());
    };
    let peers = candidates.iter().zip(&middles).skip(own);
    let figures = Figures {
        one_shot: *one_shot,
        rounds: *rounds,
        bare: *bare,
        count: ROUNDS,
        kept_one_shot: *kept_one_shot,
        kept_rounds: *kept_rounds,
        fastest: peers
            .map(|(peer, cost)| Peer { name: peer.name.clone(), wall: cost.wall })
            .min_by_key(|peer| peer.wall),
    };
    Ok(verdict(&figures))
}

/// Makes sure that the long run is as long as it is said to be: a figure for each round must not come from
/// rounds that never were.
fn check_rounds(mut long: Command) -> Outcome {
    let events = capture(&mut long)?;
    let is_end = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        event["type"] == "tool_call_end" && event["is_error"] == false
    };
    let rounds = events.lines().filter(|line| is_end(line)).count();
    if rounds == ROUNDS as usize {
        return Ok(());
    }
    Err(format!("the long run has {rounds} rounds of tools that went well, and is measured as {ROUNDS}"))
}

/// For people: precision beyond a tenth is noise.
#[expect(clippy::cast_precision_loss, reason = "sizes of processes are far below 2^52")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The first line of `--version`, cut to fit the table.
fn version_of(program: &Path) -> String {
    let text = capture(Command::new(program).arg("--version")).unwrap_or_default();
    text.lines().next().unwrap_or_default().chars().take(28).collect()
}

/// Where every candidate works in its home: what it keeps is not a part of that.
const WORK: &str = "work";

fn at_work(mut command: Command, home: &Path) -> Command {
    command.current_dir(home.join(WORK));
    command
}

/// A home without anybody's settings, with a place to work in: a repository of its own, or it would be a part of this
/// one, and what git says of that would be measured, too.
fn home_in(scratch: &Path) -> Outcome<PathBuf> {
    let home = scratch.join("home");
    let config = home.join(".config/junto");
    let cannot = |e: std::io::Error| format!("cannot make a home for the runs: {e}");
    fs::create_dir_all(&config).map_err(cannot)?;
    fs::write(config.join("config.toml"), "model = \"anthropic/claude-opus-5-5\"\n").map_err(cannot)?;
    // With a key and nothing else.
    let gemini = home.join(".gemini");
    fs::create_dir_all(&gemini).map_err(cannot)?;
    let settings = r#"{"security": {"auth": {"selectedType": "gemini-api-key"}}}"#;
    fs::write(gemini.join("settings.json"), settings).map_err(cannot)?;
    capture(Command::new("git").args(["init", "--quiet"]).arg(home.join(WORK)))?;
    Ok(home)
}

/// The model: one answer, or rounds of a shell command and then an answer. It serves until its
/// standard input closes, which dropping this does.
pub(crate) struct Twin {
    child: Child,
    input: Option<ChildStdin>,
    address: Address,
}

/// Where the model is.
#[derive(Clone)]
pub(crate) struct Address {
    anthropic: String,
    openai: String,
    gemini: String,
    key: String,
}

impl Twin {
    /// Starts it; `scratch` is a folder to use.
    pub(crate) fn start(program: &Path, scratch: &Path) -> Outcome<Self> {
        Self::playing(program, scratch, "play.toml", &play_text())
    }

    /// Starts it with another play, in a file of this name.
    pub(crate) fn playing(program: &Path, scratch: &Path, name: &str, text: &str) -> Outcome<Self> {
        let cannot = |e: std::io::Error| format!("cannot start the model: {e}");
        fs::create_dir_all(scratch).map_err(cannot)?;
        let play = scratch.join(name);
        fs::write(&play, text).map_err(cannot)?;
        let mut child = Command::new(program)
            .arg("--lenient")
            .arg("--play")
            .arg(&play)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(cannot)?;
        let input = child.stdin.take();
        let mut greeting = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut greeting).map_err(cannot)?;
        }
        let greeting: Value =
            serde_json::from_str(&greeting).map_err(|e| format!("the model did not say where it is: {e}"))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let address = Address {
            anthropic: text(&greeting["urls"]["anthropic"]),
            openai: text(&greeting["urls"]["openai"]),
            gemini: text(&greeting["urls"]["gemini"]),
            key: text(&greeting["key"]),
        };
        Ok(Self { child, input, address })
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    fn clone_address(&self) -> Address {
        self.address.clone()
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        drop(self.input.take());
        // It ends by itself now; nobody is told of a bad end.
        let _ = self.child.wait();
    }
}

impl Address {
    /// The address for a command-line agent.
    pub(crate) fn url(&self, kind: &str) -> &str {
        match kind {
            "claude" => &self.anthropic,
            "codex" => &self.openai,
            _ => &self.gemini,
        }
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// A command that asks this model, in this home, and sees nothing else of the environment.
    pub(crate) fn point(&self, mut command: Command, home: &Path) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().current_dir(home).env("HOME", home).env("PATH", path);
        for (vendor, url) in
            [("ANTHROPIC", &self.anthropic), ("OPENAI", &self.openai), ("GEMINI", &self.gemini)]
        {
            command.env(format!("{vendor}_BASE_URL"), url).env(format!("{vendor}_API_KEY"), &self.key);
        }
        command.env("GOOGLE_GEMINI_BASE_URL", &self.gemini);
        command
    }
}

/// The play. Each round's command is another: a session interferes with one that goes in circles.
fn play_text() -> String {
    let rounds = |task: &str, command: &str| {
        format!(
            "[[steps]]\nwhen = {{ contains = \"{task}\" }}\nloop = {ROUNDS}\nthink = false\n\
             calls = [{{ tool = \"shell\", args = {{ command = \"{command}\" }} }}]\n\n"
        )
    };
    let (looks, deeds) = (rounds(LONG, "true {{round}}"), rounds(DEEDS, "true {{round}} > round"));
    format!("{looks}{deeds}[[steps]]\nthink = false\ntext = \"Done.\"\n")
}
