//! The built `junto run --json`, driven as a program drives it: lines of JSON in, lines of JSON out.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command as Process, Stdio};

use junto::core::{Action, Body, Command, Decision, Delta, Item, When};
use junto::llm::Wire;
use junto_testkit::cast::{Who, search_path};
use junto_testkit::kills::built_junto;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::checks::{End, check_world, checked};
use super::drive::{check_events, expected_end, refusal};
use super::plays::{PROOF, STEERING};
use super::stage::{LONG, Stage, model};
use super::table::{Event, Host, Mind};

/// How many lines may wait to be looked at.
const WAITING: usize = 64;

/// Runs one cell of the program's column.
pub(crate) async fn run(mind: Mind, event: Event) {
    play(Stage::new(mind, Host::Program, event).await).await;
}

pub(crate) async fn play(stage: Stage) {
    let Stage { mind, event, program, .. } = stage;
    let mut junto = Junto::start(&stage, "Work");
    let mut held = None;
    match event {
        Event::Crash => {
            if let Some(who) = program {
                stage.program_is_at_work().await;
                kill_in(stage.dir(), &who.program());
            }
        }
        Event::Plain | Event::Tools | Event::Failure => {}
        Event::Steer => {
            let by_command = mind == Mind::CliChild;
            if !by_command {
                junto.until(says_up).await;
            }
            let pipe = stage.at_pipe(if by_command { "pipe" } else { "go" }).await;
            let input = STEERING.into();
            junto.tell(&json!(Command::Steer { input, when: When::Round })).await;
            drop(pipe);
        }
        Event::Reject => junto.answer_questions(mind).await,
        Event::Cancel => {
            match mind {
                _ if program.is_some() => {
                    for twin in &stage.twins {
                        tokio::time::timeout(LONG, twin.wait_for_requests(1)).await.expect("a request");
                    }
                }
                Mind::Cli | Mind::CliChild => drop(junto.until(talks).await),
                Mind::CouncilWithCli => {
                    stage.twins[0].wait_for_requests(1).await;
                    held = Some(stage.at_pipe("pipe").await);
                }
                _ => drop(junto.until(says_up).await),
            }
            kill(Pid::from_raw(junto.child.id().cast_signed()), Signal::SIGINT).unwrap();
        }
    }
    let (code, items, said) = junto.end().await;
    drop(held);
    if event == Event::Steer {
        stage.check_steered();
    }
    let events = checked(&items);
    let ends = events.iter().filter(|event| event.parent.is_none());
    let (end, text) = ends
        .filter_map(|event| match &event.body {
            Body::InputEnd { reason, text } => Some((End::from(reason), text.preview())),
            _ => None,
        })
        .next_back()
        .unwrap();
    assert_eq!(end, expected_end(mind, event), "{said}");
    assert_eq!(code, Some(exit_code(mind, event)), "{said}");
    assert!(!stage.path(PROOF).exists(), "what was refused did not happen");
    let by_command = matches!(mind, Mind::Cli | Mind::CouncilWithCli | Mind::CliChild);
    let refused = (mind, event) == (Mind::CliChild, Event::Reject);
    let ran = match program {
        Some(_) => stage.twins.last().is_some_and(|twin| !twin.requests().is_empty()),
        None => stage.path("runs.jsonl").exists(),
    };
    assert_eq!(ran, by_command && !refused, "whether it ran: {said}");
    check_events(mind, Host::Program, event, &text, &events);
    let dir = stage.dir().canonicalize().unwrap();
    let left = tokio::task::spawn_blocking(move || left_in(&dir)).await.unwrap();
    assert_eq!(left, Vec::<String>::new());
    check_world(stage, &events).await;
}

fn exit_code(mind: Mind, event: Event) -> i32 {
    match (expected_end(mind, event), mind, event) {
        (End::Done, ..) => 0,
        (End::Failed, Mind::Cli, Event::Crash) => 1,
        (End::Failed, ..) => 3,
        (End::Limit, ..) => 4,
        (End::Rejected, ..) => 5,
        (End::Interrupted, ..) => 130,
    }
}

fn says_up(item: &Item) -> bool {
    matches!(item, Item::Delta(Delta::ToolCallOutputDelta { text, .. }) if text.contains("up"))
}

fn talks(item: &Item) -> bool {
    matches!(item, Item::Delta(Delta::AssistantTextDelta { .. }))
}

/// The flags that make a mind.
fn flags(mind: Mind, cli: &str) -> Vec<String> {
    let member = |wire: Wire| {
        let (provider, model) = model(wire);
        format!("{provider}/{model}")
    };
    let (flag, value) = match mind {
        Mind::Cli => ("--kind", cli.to_owned()),
        Mind::Council => ("--council", [Wire::Anthropic, Wire::Responses].map(member).join(",")),
        Mind::CouncilWithCli => ("--council", [member(Wire::Anthropic), cli.to_owned()].join(",")),
        Mind::NativeAnthropic | Mind::NativeResponses | Mind::NativeChild | Mind::CliChild => {
            return Vec::new();
        }
    };
    vec![flag.to_owned(), value]
}

/// The wires of a mind's models, the root's first.
fn wires(mind: Mind) -> &'static [Wire] {
    match mind {
        Mind::NativeResponses => &[Wire::Responses],
        Mind::Council => &[Wire::Anthropic, Wire::Responses],
        _ => &[Wire::Anthropic],
    }
}

/// A running `junto run --json`.
struct Junto {
    child: Child,
    input: ChildStdin,
    lines: mpsc::Receiver<Item>,
    errors: mpsc::Receiver<String>,
    seen: Vec<Item>,
    said: Vec<String>,
}

impl Junto {
    fn start(stage: &Stage, task: &str) -> Self {
        let mut command = Process::new(built_junto());
        command.args(["run", "--json", "--input", "json"]).env_clear().envs(variables(stage));
        command.args(match (stage.event, stage.mind) {
            (Event::Reject, _) => &["--ask"][..],
            // What such a child does is judged by nobody here, so that to start one would be asked about.
            (_, Mind::CliChild) => &["--policy", "full"],
            _ => &[],
        });
        let cli = stage.program.map_or("claude", Who::kind);
        command.args(flags(stage.mind, cli)).arg(task).current_dir(stage.dir());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output, errors) =
            (child.stdin.take().unwrap(), child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (lines, errors) = (reading(output, item), reading(errors, |line| line));
        Self { child, input, lines, errors, seen: Vec::new(), said: Vec::new() }
    }

    /// Reads on to an item like this.
    async fn until(&mut self, is: impl Fn(&Item) -> bool) -> Item {
        loop {
            let next = tokio::time::timeout(LONG, self.lines.recv()).await;
            let item = next.expect("what is waited for comes").expect("it goes on");
            self.seen.push(item.clone());
            if is(&item) {
                return item;
            }
        }
    }

    /// Gives it a command, and waits until it was taken.
    async fn tell(&mut self, command: &Value) {
        // Lines are taken one after another, and one that is no command is complained about.
        writeln!(self.input, "{command}\nand then").unwrap();
        loop {
            let line = self.errors.recv().await.expect("a complaint");
            self.said.push(line);
            if self.said.last().is_some_and(|line| line.contains("no command")) {
                return;
            }
        }
    }

    /// Allows a child to be started, and nothing else.
    async fn answer_questions(&mut self, mind: Mind) {
        loop {
            let asks = |item: &Item| matches!(item, Item::Event(event) if event.body.name() == "ask");
            let Item::Event(event) = self.until(asks).await else { unreachable!() };
            let Body::Ask { request } = &event.body else { unreachable!() };
            let starts = matches!(&request.actions[..], [Action::Spawn { .. }]);
            let allow = starts && mind == Mind::NativeChild;
            let decision = if allow { Decision::Allow { remember: None } } else { refusal() };
            let answer = json!(Command::Answer { ask: request.ask.clone(), decision });
            writeln!(self.input, "{answer}").unwrap();
            if !allow {
                return;
            }
        }
    }

    /// Its exit code, everything it printed, and what it said to people.
    async fn end(mut self) -> (Option<i32>, Vec<Item>, String) {
        while let Some(item) = self.lines.recv().await {
            self.seen.push(item);
        }
        while let Some(line) = self.errors.recv().await {
            self.said.push(line);
        }
        let mut child = self.child;
        let status = tokio::task::spawn_blocking(move || child.wait()).await.unwrap().unwrap();
        drop(self.input);
        (status.code(), self.seen, self.said.join("\n"))
    }
}

/// Reads lines on a thread of its own.
fn reading<T: Send + 'static>(from: impl Read + Send + 'static, read: fn(String) -> T) -> mpsc::Receiver<T> {
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::task::spawn_blocking(move || {
        for line in BufReader::new(from).lines() {
            if sender.blocking_send(read(line.unwrap())).is_err() {
                return;
            }
        }
    });
    receiver
}

/// A line of `--json`: an event has a position, a delta has none.
fn item(line: String) -> Item {
    let value: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
    assert_eq!(value["v"], 1, "{line}");
    if value["seq"].is_null() {
        return Item::Delta(serde_json::from_value(value).unwrap());
    }
    Item::Event(std::sync::Arc::new(serde_json::from_value(value).unwrap()))
}

/// A home with a configuration, the models' addresses, and a `claude` in the PATH that is the fake; or a real
/// command-line agent that is configured.
fn variables(stage: &Stage) -> BTreeMap<&'static str, String> {
    let wires = wires(stage.mind);
    let (provider, model) = model(wires[0]);
    let home = stage.path("home");
    let config = home.join(".config/junto");
    fs::create_dir_all(&config).unwrap();
    let mut settings = format!("model = \"{provider}/{model}\"\nretry.base = \"0s\"\n");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let mut variables = BTreeMap::from([("HOME", text(&home))]);
    // The last twin is the model of the real command-line agent, where there is one.
    let models = if let (Some(who), Some((twin, models))) = (stage.program, stage.twins.split_last()) {
        let runner = format!(
            "[runners.{}]\ncommand = [{:?}]\nendpoint = {:?}\nkey_env = \"TWIN_KEY\"\nmodel = {:?}\nhome = \
             \"isolated\"\n",
            who.kind(),
            who.program(),
            twin.base_url(who.wire()),
            who.model()
        );
        settings.push_str(&runner);
        variables.extend([("PATH", search_path()), ("TWIN_KEY", twin.key().to_owned())]);
        models
    } else {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", text(&install_claude(stage)));
        variables.insert("PATH", path);
        &stage.twins[..]
    };
    fs::write(config.join("config.toml"), settings).unwrap();
    for (twin, wire) in models.iter().zip(wires) {
        let (url, key) = (twin.base_url(*wire), twin.key().to_owned());
        match wire {
            Wire::Responses => variables.extend([("OPENAI_BASE_URL", url), ("OPENAI_API_KEY", key)]),
            _ => variables.extend([("ANTHROPIC_BASE_URL", url), ("ANTHROPIC_API_KEY", key)]),
        }
    }
    variables
}

/// The fake under the real one's name. Its behaviour is written into the script, since only variables
/// of the real one are passed on.
fn install_claude(stage: &Stage) -> PathBuf {
    let folder = stage.path("bin");
    fs::create_dir_all(&folder).unwrap();
    let set: Vec<String> =
        stage.behaviour().variables().iter().map(|(name, value)| format!("{name}='{value}'")).collect();
    let script =
        format!("#!/bin/sh\n{} exec {} \"$@\"\n", set.join(" "), env!("CARGO_BIN_EXE_junto-fake-claude"));
    let program = folder.join("claude");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Kills the program that works below a directory.
fn kill_in(dir: &Path, program: &str) {
    let dir = dir.canonicalize().unwrap();
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
    let below =
        processes.filter(|path| fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&dir)));
    let is_it = |path: &PathBuf| {
        let line = fs::read_to_string(path.join("cmdline")).unwrap_or_default();
        // Not the host, which has the name of no program among its arguments.
        line.contains(program)
    };
    let found: Vec<i32> =
        below.filter(is_it).filter_map(|path| path.file_name()?.to_str()?.parse().ok()).collect();
    assert!(!found.is_empty(), "no {program} works in {}", dir.display());
    for pid in found {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

/// The command lines of processes that still work below a directory, after a moment to die in.
fn left_in(dir: &Path) -> Vec<String> {
    let pause = std::time::Duration::from_millis(2);
    let mut waited = std::time::Duration::ZERO;
    loop {
        let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
        let below =
            processes.filter(|path| fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir)));
        let left: Vec<String> = below
            .filter_map(|path| fs::read_to_string(path.join("cmdline")).ok())
            .filter(|line| !line.is_empty())
            .collect();
        if left.is_empty() || waited > LONG {
            return left;
        }
        std::thread::sleep(pause);
        waited += pause;
    }
}
