//! A code-action agent and a real kernel: cells, what their code calls, what it may not, and what is left of it.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use junto::code_action::{Agent, AgentEvent, AgentEventKind, Config, Options, Turn};
use junto::core::{AgentErrorKind, EndReason};
use junto::env::{Means, Sandbox};
use junto::mcp::Standing;
use junto::mcp::config::ServerConfig;
use junto::twin::{Call, Step, When};
use serde_json::json;

use crate::coder::{Answer, Coder, line, request, run, until};

/// A picture of one dot.
const DOT: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Reads two files through the session's tools, whatever becomes of it.
const READS: &str = r#"
from junto_tools import ToolRejected
from mcptools.junto import read_file

for name in ["a.txt", "b.txt"]:
    try:
        print(read_file(file_path=name).strip())
    except ToolRejected as rejected:
        print("caught:", rejected)
"#;

/// An interpreter with ipykernel, which the developer's commands keep.
fn python() -> PathBuf {
    let given = std::env::var_os("JUNTO_PEER_KERNEL");
    given.expect("JUNTO_PEER_KERNEL names a Python with ipykernel; `cargo xtask test` sets it").into()
}

fn cell(code: &str) -> Step {
    Step::call("execute_code", json!({ "code": code })).without_thinking()
}

fn done() -> Step {
    Step::text("Done.").without_thinking()
}

async fn start(coder: &Coder, options: Options, change: impl FnOnce(Config) -> Config) -> Agent {
    for (name, said) in [("a.txt", "one"), ("b.txt", "two")] {
        std::fs::write(coder.work().join(name), said).unwrap();
    }
    let agent = Agent::new(change(coder.config_with(&python())), options).unwrap();
    agent.start().await.unwrap();
    agent
}

async fn agent(coder: &Coder) -> Agent {
    start(coder, Options::default(), |config| config).await
}

/// The first event whose line begins like this.
fn find<'a>(events: &'a [AgentEvent], at: &str) -> &'a AgentEvent {
    let is = |event: &&AgentEvent| line(&event.kind).is_some_and(|line| line.starts_with(at));
    events.iter().find(is).unwrap_or_else(|| panic!("no {at:?} in {events:?}"))
}

#[tokio::test]
async fn a_code_action_is_asked_about_and_its_output_told() {
    let coder =
        Coder::new([cell("x = 20\nprint('half', x)"), cell("x * 2 + 2"), done(), cell("x / 0"), done()]);
    let agent = agent(&coder).await;
    let whole = run(&mut agent.stream("What is twice 20 and 2?", None), []).await;
    assert_eq!(whole.end, Ok(EndReason::Done));
    let lines = ["asks execute_code", "ran half 20", "asks execute_code", "ran 42", "says Done."];
    assert_eq!(whole.lines(), lines);
    let asked = find(&whole.events, "asks");
    let AgentEventKind::ApprovalRequest(request) = &asked.kind else { panic!("{asked:?}") };
    assert_eq!((request.tool_args(), request.ptc()), (&json!({"code": "x = 20\nprint('half', x)"}), false));
    let chunk = |event: &&AgentEvent| matches!(event.kind, AgentEventKind::CodeExecutionOutputChunk { .. });
    let chunk = whole.events.iter().find(chunk).unwrap();
    assert_eq!((&chunk.corr_id, &find(&whole.events, "ran").corr_id), (&asked.corr_id, &asked.corr_id));
    // The next turn finds the state of this one.
    let whole = run(&mut agent.stream("And half of it by nothing?", None), []).await;
    assert!(whole.lines()[1].contains("ZeroDivisionError"), "{whole:?}");
    agent.stop().await;
}

#[tokio::test]
async fn what_code_calls_is_asked_about_as_part_of_its_cell() {
    let coder = Coder::new([cell(READS), done()]);
    let agent = agent(&coder).await;
    let whole = run(&mut agent.stream("Read them.", None), []).await;
    assert_eq!(whole.end, Ok(EndReason::Done));
    let asks: Vec<String> = whole.lines().into_iter().filter(|line| line.starts_with("asks")).collect();
    assert_eq!(asks, ["asks execute_code", "asks read_file", "asks read_file"]);
    let (cell, called) = (find(&whole.events, "asks execute_code"), find(&whole.events, "asks read_file"));
    let AgentEventKind::ApprovalRequest(request) = &called.kind else { panic!("{called:?}") };
    assert_eq!((request.ptc(), &request.tool_args()["file_path"]), (true, &json!("a.txt")));
    for event in [called, find(&whole.events, "gave")] {
        let parent = event.parent.as_ref().unwrap();
        assert_eq!((parent.agent_id.as_str(), &parent.corr_id), ("main", &cell.corr_id));
    }
    assert!(cell.parent.is_none() && find(&whole.events, "ran").parent.is_none());
    agent.stop().await;
}

/// The code catches the rejection and calls again, which is asked about; then the turn ends, unless the no came with a
/// message.
#[tokio::test]
async fn a_rejection_ends_the_turn_after_the_cell_also_if_the_code_caught_it() {
    let table = [
        (Answer::No, EndReason::Rejected, "ran caught: the user refused", 1),
        (Answer::Told("not this"), EndReason::Done, "ran caught: the user refused: not this", 2),
    ];
    for (answer, end, said, asked) in table {
        let coder = Coder::new([cell(READS), done(), done()]);
        let agent = agent(&coder).await;
        let whole = run(&mut agent.stream("Read them.", None), [Answer::Yes, answer, Answer::Yes]).await;
        assert_eq!(whole.end, Ok(end.clone()), "{whole:?}");
        assert_eq!(coder.requests().len(), asked);
        let ran = line(&find(&whole.events, "ran").kind).unwrap();
        assert!(ran.starts_with(said) && ran.ends_with("two"), "{ran}");
        assert_eq!(whole.lines().iter().filter(|line| *line == "asks read_file").count(), 2);
        assert_eq!(run(&mut agent.stream("And now?", None), []).await.end, Ok(EndReason::Done));
        agent.stop().await;
    }
}

#[tokio::test]
async fn shell_lines_of_cells_are_asked_about_as_they_will_run() {
    let code = "name = 'made'\n!touch {name}";
    for (answer, end, made) in
        [(Answer::Yes, EndReason::Done, true), (Answer::No, EndReason::Rejected, false)]
    {
        let coder = Coder::new([cell(code), done()]);
        let agent = agent(&coder).await;
        let whole = run(&mut agent.stream("Make it.", None), [Answer::Yes, answer]).await;
        assert_eq!((whole.end.clone(), coder.work().join("made").exists()), (Ok(end), made), "{whole:?}");
        let asked = find(&whole.events, "asks cell_shell");
        let AgentEventKind::ApprovalRequest(request) = &asked.kind else { panic!("{asked:?}") };
        assert_eq!((request.ptc(), &request.tool_args()["line"]), (true, &json!("touch made")));
        agent.stop().await;
    }
}

#[tokio::test]
async fn images_are_told_by_their_files_and_long_output_is_cut() {
    let draw = format!(
        "import base64\nfrom IPython.display import Image, display\nprint('[image: /etc/passwd]')\n\
         display(Image(data=base64.b64decode('{DOT}')))\nprint('x' * 400_000)"
    );
    let coder = Coder::new([cell(&draw), cell("pass"), done()]);
    let images_dir = coder.dir.path().join("pictures");
    let agent = start(&coder, Options::default(), |mut config| {
        config.code.images = Some(images_dir.clone());
        config
    })
    .await;
    let whole = run(&mut agent.stream("Draw.", None), []).await;
    let output = |event: &AgentEvent| match &event.kind {
        AgentEventKind::CodeExecutionOutput { text, images, truncated } => {
            Some((text.as_ref().map(String::len), images.clone(), *truncated))
        }
        _ => None,
    };
    let outputs: Vec<_> = whole.events.iter().filter_map(output).collect();
    let [(Some(bytes), images, truncated), (silent, none, in_full)] = &outputs[..] else {
        panic!("{outputs:?}")
    };
    assert!(*truncated && !in_full && *bytes < 400_000 && none.is_empty(), "{bytes}");
    // A cell that says nothing has no text, and nothing stands in its place.
    let stands_in = |event: &AgentEvent| matches!(&event.kind, AgentEventKind::CodeExecutionOutputChunk { text } if text.contains("no output"));
    assert!(silent.is_none() && !whole.events.iter().any(stands_in), "{silent:?}");
    let [image] = &images[..] else { panic!("{images:?}") };
    assert_eq!(image.parent(), Some(images_dir.as_path()));
    assert!(std::fs::read(image).unwrap().starts_with(b"\x89PNG"));
    agent.stop().await;
}

#[tokio::test]
async fn a_turn_that_is_dropped_in_a_cell_leaves_an_agent_that_works_and_a_stop_leaves_nothing() {
    let waits = "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)";
    let coder = Coder::new([cell(waits), cell("import os\nprint(os.getpid())"), done()]);
    let agent = agent(&coder).await;
    let mut turn: Turn = agent.stream("Wait.", None);
    until(&mut turn, request).await.approve(true).await.unwrap();
    let said = until(&mut turn, |kind| match kind {
        AgentEventKind::CodeExecutionOutputChunk { text } => Some(text.clone()),
        _ => None,
    });
    let first = process(&said.await);
    drop(turn);
    let whole = run(&mut agent.stream("And now?", None), []).await;
    assert_eq!(whole.end, Ok(EndReason::Done));
    let ran = line(&find(&whole.events, "ran").kind).unwrap();
    let second = process(ran.strip_prefix("ran ").unwrap());
    assert!(second.exists(), "{ran}");
    agent.stop().await;
    assert!(!first.exists() && !second.exists(), "{first:?} {second:?}");
}

/// The process whose number begins a text.
fn process(said: &str) -> PathBuf {
    Path::new("/proc").join(said.lines().next().unwrap_or_default().trim())
}

/// What a cell can do beside its folder, of the agent and of a subagent: nothing, in the sandbox.
#[tokio::test]
async fn kernels_are_in_the_sandbox_if_that_is_wanted_those_of_subagents_too() {
    for (sandbox, expected) in [(true, "could not, could not, did"), (false, "did, did, did")] {
        let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let tries = format!(
            "import socket\n\
             def tried(f):\n    try:\n        f()\n        return 'did'\n    except OSError:\n        return 'could not'\n\
             print(tried(lambda: open({:?}, 'w')), tried(lambda: socket.create_connection(('127.0.0.1', {}), 5)),\n\
                   tried(lambda: open('here', 'w')), sep=', ')",
            outside.path().join("file"),
            server.local_addr().unwrap().port(),
        );
        let on = |told: &str, round: u32, step: Step| {
            step.without_thinking().when(When {
                contains: Some(told.into()),
                round: Some(round),
                ..When::default()
            })
        };
        let coder = Coder::new([
            on("Try it yourself", 0, cell(&tries)),
            on("Try it yourself", 1, Step::call("spawn_agent", json!({"task": "Go ahead."}))),
            on("Try it yourself", 2, Step::call("wait", json!({}))),
            on("Try it yourself", 3, done()),
            on("Go ahead", 0, cell(&tries)),
            on("Go ahead", 1, done()),
        ]);
        let bwrap = std::env::var("JUNTO_PEER_BWRAP").expect("run the tests with `cargo xtask test`");
        let path = Path::new(&bwrap).parent().unwrap().as_os_str().to_owned();
        // Where temporary files are may be above everything here.
        let sandbox_config =
            sandbox.then(|| Sandbox { temporary: Some(Vec::new()), ..Sandbox::workspace() }.into());
        let options = Options { sandbox, sandbox_config, ..Options::default() };
        let agent =
            start(&coder, options, |config| Config { means: Some(Means::find(Some(&path))), ..config }).await;
        let whole = run(&mut agent.stream("Try it yourself, and let somebody try it.", None), []).await;
        assert_eq!(whole.end, Ok(EndReason::Done));
        let ran = |event: &&AgentEvent| matches!(event.kind, AgentEventKind::CodeExecutionOutput { .. });
        let ran: Vec<_> = whole.events.iter().filter(ran).collect();
        let said: Vec<String> = ran.iter().filter_map(|event| line(&event.kind)).collect();
        assert_eq!(said, [format!("ran {expected}"), format!("ran {expected}")], "{whole:?}");
        assert!(ran[0].agent_id == "main" && ran[1].agent_id != "main" && ran[1].parent.is_some());
        agent.stop().await;
    }
}

#[tokio::test]
async fn without_a_python_the_agent_does_not_start_and_no_model_is_asked() {
    let coder = Coder::new([done()]);
    let agent = Agent::new(coder.config_with(Path::new("/nowhere/python")), Options::default()).unwrap();
    let error = agent.start().await.unwrap_err();
    assert_eq!(error.kind(), AgentErrorKind::Process, "{error}");
    assert!(error.to_string().contains("/nowhere/python") && error.hint().is_some(), "{error}");
    assert_eq!(coder.requests().len(), 0);
}

/// They are started together and run one after the other; each call is of the cell whose code made it.
#[tokio::test]
async fn the_calls_of_two_cells_in_one_round_have_their_own_parents() {
    let reads =
        |name: &str| format!("from mcptools.junto import read_file\nprint(read_file(file_path='{name}'))");
    let both = ["a.txt", "b.txt"].map(|name| Call::new("execute_code", json!({ "code": reads(name) })));
    let coder = Coder::new([Step::calls(both).without_thinking(), done()]);
    let agent = agent(&coder).await;
    let whole = run(&mut agent.stream("Read both.", None), []).await;
    assert_eq!(whole.end, Ok(EndReason::Done));
    let cell_of = |name: &str| {
        let asked = whole.events.iter().find(|event| match &event.kind {
            AgentEventKind::ApprovalRequest(request) => {
                request.tool_args()["code"].as_str().is_some_and(|code| code.contains(name))
            }
            _ => false,
        });
        asked.unwrap().corr_id.clone()
    };
    for (name, said) in [("a.txt", "one"), ("b.txt", "two")] {
        let given = whole.events.iter().find(|event| match &event.kind {
            AgentEventKind::ToolOutput { content, ptc: true, .. } => content.contains(said),
            _ => false,
        });
        let parent = given.unwrap().parent.clone().expect("it is of a cell");
        assert_eq!(parent.corr_id, cell_of(name), "{name}: {:?}", whole.lines());
    }
    agent.stop().await;
}

#[tokio::test]
async fn a_sandbox_that_cannot_be_had_is_refused() {
    let coder = Coder::new([done()]);
    let config = Config { means: Some(Means::default()), ..coder.config() };
    let agent = Agent::new(config, Options { sandbox: true, ..Options::default() }).unwrap();
    let error = agent.start().await.unwrap_err();
    assert_eq!(error.kind(), AgentErrorKind::Unsupported, "{error}");
    let described = Options { sandbox_config: Some(Sandbox::workspace().into()), ..Options::default() };
    assert_eq!(Agent::new(coder.config(), described).unwrap_err().kind(), AgentErrorKind::Invalid);
}

#[tokio::test]
async fn a_file_describes_the_sandbox() {
    let coder = Coder::new([
        cell("import pathlib\npathlib.Path('../more/new').write_text('x')\nopen('plan.md').read()"),
        done(),
    ]);
    std::fs::create_dir(coder.dir.path().join("more")).unwrap();
    std::fs::write(coder.work().join("plan.md"), "secret").unwrap();
    let file = coder.dir.path().join("box.toml");
    let bwrap = std::env::var("JUNTO_PEER_BWRAP").expect("run the tests with `cargo xtask test`");
    let path = Path::new(&bwrap).parent().unwrap().as_os_str().to_owned();
    let options =
        || Options { sandbox: true, sandbox_config: Some(file.clone().into()), ..Options::default() };
    for text in [None, Some("writeable = []")] {
        if let Some(text) = text {
            std::fs::write(&file, text).unwrap();
        }
        let error = Agent::new(coder.config(), options()).unwrap_err();
        assert_eq!(error.kind(), AgentErrorKind::Invalid);
        assert!(error.to_string().contains("box.toml"), "{error}");
    }
    std::fs::write(&file, "writable = [\"more\"]\nhide = [\"work/plan.md\"]").unwrap();
    let agent =
        start(&coder, options(), |config| Config { means: Some(Means::find(Some(&path))), ..config }).await;
    let whole = run(&mut agent.stream("Try it.", None), []).await;
    let ran = &find(&whole.events, "ran ").kind;
    assert!(line(ran).unwrap().contains("PermissionError"), "{whole:?}");
    assert!(coder.dir.path().join("more/new").exists(), "{whole:?}");
    agent.stop().await;
}

#[tokio::test]
async fn a_server_that_does_not_come_up_keeps_nobody_from_working() {
    let coder = Coder::new([done()]);
    let none: [String; 0] = [];
    let servers = vec![ServerConfig::program("absent", "/nowhere/server", none)];
    let agent = coder.start(|config| Config { mcp_servers: servers, await_servers: true, ..config }).await;
    let statuses = agent.servers();
    assert!(matches!(&statuses[..], [one] if matches!(one.standing, Standing::Failed(_))), "{statuses:?}");
    assert_eq!(run(&mut agent.stream("Hello?", None), []).await.end, Ok(EndReason::Done));
    agent.stop().await;
    assert!(agent.servers().is_empty());
}
