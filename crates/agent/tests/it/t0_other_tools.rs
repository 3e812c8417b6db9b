//! Commands, searches, plans and questions, one tool at a time.

use std::fs::{FileTimes, OpenOptions};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use junto_agent::tools::{
    AskUser, Glob, Grep, Shell, ShellInput, ShellKill, ShellOutput, Timeouts, UpdatePlan,
};
use junto_core::{Action, EndReason, Tool};
use junto_llm::ToolCall;
use serde_json::{Value, json};

use crate::hand::Hand;
use crate::scene::Scene;
use crate::script::{Line, script};

/// Waits as long as it takes, and no test longer.
const LONG: u64 = 60_000;

async fn check(hand: &Hand, tool: &dyn Tool, args: Value, expected: &str, fails: bool) {
    let (text, failed) = hand.call(tool, args.clone()).await;
    assert_eq!((text.as_str(), failed), (expected, fails), "{args}");
}

async fn check_part(hand: &Hand, tool: &dyn Tool, args: Value, expected: &str, fails: bool) {
    let (text, failed) = hand.call(tool, args.clone()).await;
    assert!(text.contains(expected), "{args}: {text}");
    assert_eq!(failed, fails, "{args}: {text}");
}

#[tokio::test]
async fn commands_are_run_to_their_end() {
    let (hand, shell) = (Hand::new(), Shell::default());
    let run = |line: &str| json!({"command": line});
    check(&hand, &shell, run("echo a; echo b"), "a\nb\n[exit code 0]", false).await;
    check(&hand, &shell, run("exec 1>&2; echo a; echo b"), "a\nb\n[exit code 0]", false).await;
    check(&hand, &shell, run("printf x >&2; exit 7"), "x\n[exit code 7]", true).await;
    check(&hand, &shell, run("no-such-program-anywhere 2>/dev/null"), "[exit code 127]", true).await;
    check(&hand, &shell, run("cat"), "[exit code 0]", false).await;
    check(&hand, &shell, run("kill -KILL $$"), "[ended by signal 9]", true).await;
    check(&hand, &shell, run("printf '\\377\\303'"), "\u{fffd}\u{fffd}\n[exit code 0]", false).await;
    check(&hand, &shell, json!({"command": "echo x", "description": "says x"}), "x\n[exit code 0]", false)
        .await;
    check_part(&hand, &shell, json!({"command": "test -t 1 && echo yes", "tty": true}), "yes", false).await;
    check(&hand, &shell, json!({"command": "test -t 1 && echo yes; true"}), "[exit code 0]", false).await;
    hand.end().await;
}

#[tokio::test]
async fn a_command_whose_time_is_up_is_ended_with_what_it_said() {
    let hand = Hand::new();
    let message = |ms: u64| {
        format!(
            "up\n[ERROR: Command timed out after {ms}ms. Partial output is shown above.\n\
             You can retry with a longer timeout by setting the timeout_ms parameter.]"
        )
    };
    let line = "echo up; setsid sleep 600 & exec sleep 600";
    let timed = json!({"command": line, "timeout_ms": 300});
    check(&hand, &Shell::default(), timed, &message(300), true).await;
    let short = Timeouts { default: Duration::from_millis(250), max: Duration::from_millis(400) };
    check(&hand, &Shell::new(short), json!({"command": line}), &message(250), true).await;
    let beyond = json!({"command": line, "timeout_ms": 9_000_000});
    check(&hand, &Shell::new(short), beyond, &message(400), true).await;
    hand.end().await;
}

#[tokio::test]
async fn jobs_are_started_read_written_to_and_ended() {
    let hand = Hand::new();
    let (shell, output, input, kill) =
        (Shell::default(), ShellOutput::default(), ShellInput::default(), ShellKill::default());
    let line = "echo ready; while read line; do echo \"<$line>\"; done; echo over; exit 3";
    let (text, failed) = hand.call(&shell, json!({"command": line, "background": true})).await;
    assert!(!failed && text.starts_with("[job 1 runs in the background as process "), "{text}");
    let wait = json!({"job": 1, "wait_ms": LONG});
    check(&hand, &output, wait.clone(), "ready\n[job 1: runs]", false).await;
    check(&hand, &output, json!({"job": 1}), "[job 1: runs]", false).await;
    let say = json!({"job": 1, "text": "hello\n", "wait_ms": LONG});
    check(&hand, &input, say, "<hello>\n[job 1: runs]", false).await;
    check_part(&hand, &input, json!({"job": 1, "close": true}), "[job 1: ", false).await;
    let (rest, _) = hand.call(&output, json!({"job": 1, "wait_ms": LONG, "until": "end"})).await;
    assert!(rest.ends_with("[job 1: exit code 3]"), "{rest}");
    check_part(&hand, &input, json!({"job": 1, "text": "x"}), "it has ended", true).await;
    check(&hand, &kill, json!({"job": 1}), "[job 1: exit code 3]", false).await;
    check(&hand, &output, json!({"job": 1}), "there is no job 1; there are: none", true).await;

    hand.call(&shell, json!({"command": "echo on; setsid sleep 600 & sleep 600", "background": true})).await;
    check(&hand, &output, json!({"job": 2, "wait_ms": LONG}), "on\n[job 2: runs]", false).await;
    check(&hand, &kill, json!({"job": 2}), "[job 2: ended by signal 15]", false).await;
    hand.end().await;
}

#[tokio::test]
async fn a_job_on_a_terminal_is_typed_to() {
    let hand = Hand::new();
    let line = "stty -echo; echo ready; trap 'echo caught; exit 0' INT; while true; do read line; done";
    hand.call(&Shell::default(), json!({"command": line, "background": true, "tty": true})).await;
    check_part(&hand, &ShellOutput::default(), json!({"job": 1, "wait_ms": LONG}), "ready", false).await;
    hand.call(&ShellInput::default(), json!({"job": 1, "text": "\u{3}"})).await;
    let args = json!({"job": 1, "wait_ms": LONG, "until": "end"});
    check_part(&hand, &ShellOutput::default(), args, "[job 1: exit code 0]", false).await;
    hand.end().await;
}

#[tokio::test]
async fn there_is_room_for_so_many_jobs_and_a_wait_can_be_cut_short() {
    let hand = Hand::new();
    let start = json!({"command": "sleep 600", "background": true});
    for _ in 0..16 {
        assert!(!hand.call(&Shell::default(), start.clone()).await.1);
    }
    check_part(&hand, &Shell::default(), start, "end one first", true).await;
    let output = ShellOutput::default();
    let waiting = hand.call(&output, json!({"job": 3, "wait_ms": LONG}));
    let cancel = async { hand.cx.cancel.cancel() };
    let ((text, failed), ()) = tokio::join!(waiting, cancel);
    assert!(failed && text.contains("interrupted"), "{text}");
    hand.end().await;
}

#[tokio::test]
async fn what_is_written_to_a_job_is_judged_like_a_command() {
    let hand = Hand::new();
    let call = |name: &str, args: Value| ToolCall::function("c", name, args.to_string());
    for command in ["sh", "cat"] {
        let start = json!({"command": command, "background": true});
        assert!(!hand.call(&Shell::default(), start).await.1);
    }
    // A shell does what it reads; what another program does with it is not known, nor where a shell is by then.
    for (job, shell) in [(1, true), (2, false)] {
        let typed = call("shell_input", json!({"job": job, "text": "rm -r .\n"}));
        let actions = ShellInput::default().actions(&typed, &hand.cx).await.unwrap();
        let lines = actions
            .iter()
            .filter(|action| matches!(action, Action::Shell { line, .. } if line == "rm -r .\n"));
        assert_eq!(lines.count() == 1, shell, "{actions:?}");
        assert!(matches!(actions.last(), Some(Action::Code { code }) if code == "rm -r .\n"), "{actions:?}");
    }
    let read = call("shell_output", json!({"job": 1}));
    assert_eq!(ShellOutput::default().actions(&read, &hand.cx).await, Ok(vec![]));
    hand.end().await;
}

/// Some files, each changed later than the one before.
fn tree(hand: &Hand) {
    let files = [
        (".gitignore", "target/\n"),
        ("src/main.rs", "fn main() {\n    hello();\n}\n"),
        ("src/deep/hello.rs", "pub fn hello() {}\nfn Hello() {}\n"),
        ("README.md", "hello\n"),
        ("target/out.rs", "fn hello() {}\n"),
    ];
    std::fs::create_dir_all(hand.path(".git")).unwrap();
    for (n, (name, content)) in files.into_iter().enumerate() {
        hand.write(name, content);
        let file = OpenOptions::new().write(true).open(hand.path(name)).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + n as u64);
        file.set_times(FileTimes::new().set_modified(time)).unwrap();
    }
}

#[tokio::test]
async fn lines_are_found() {
    let hand = Hand::new();
    tree(&hand);
    let grep = Grep::default();
    let all = "README.md:1:hello\nsrc/deep/hello.rs:1:pub fn hello() {}\nsrc/main.rs:2:    hello();\n";
    check(&hand, &grep, json!({"pattern": "hello"}), all, false).await;
    let any_case =
        json!({"pattern": "hello", "case_insensitive": true, "path": "src", "glob_filter": "hello.*"});
    let both = "src/deep/hello.rs:1:pub fn hello() {}\nsrc/deep/hello.rs:2:fn Hello() {}\n";
    check(&hand, &grep, any_case, both, false).await;
    let around = json!({"pattern": "hello", "path": "src/main.rs", "context_lines": 1});
    let lines = "src/main.rs-1-fn main() {\nsrc/main.rs:2:    hello();\nsrc/main.rs-3-}\n";
    check(&hand, &grep, around, lines, false).await;
    let files = json!({"pattern": "fn", "output_mode": "files_with_matches"});
    check(&hand, &grep, files, "src/deep/hello.rs\nsrc/main.rs\n", false).await;
    let counts = json!({"pattern": "fn", "output_mode": "count"});
    check(&hand, &grep, counts, "src/deep/hello.rs:2\nsrc/main.rs:1\n", false).await;
    check(&hand, &grep, json!({"pattern": "nowhere"}), "no matches\n", false).await;
    let first = json!({"pattern": "hello", "max_results": 1});
    let more = "README.md:1:hello\n[there are more results than these; narrow the search, or set \
                max_results above 1]\n";
    check(&hand, &grep, first, more, false).await;
    check_part(&hand, &grep, json!({"pattern": "a(b"}), "(", true).await;
    check_part(&hand, &grep, json!({"pattern": "a", "path": "nowhere"}), "nowhere", true).await;
    check_part(&hand, &grep, json!({"pattern": "a", "glob_filter": "a{b"}), "a{b", true).await;
    check_part(&hand, &grep, json!({"pattern": "a", "path": ""}), "empty", true).await;
}

#[tokio::test]
async fn files_are_found_the_newest_first() {
    let hand = Hand::new();
    tree(&hand);
    let glob = Glob::default();
    check(&hand, &glob, json!({"pattern": "*.rs"}), "src/deep/hello.rs\nsrc/main.rs\n", false).await;
    check(&hand, &glob, json!({"pattern": "**/*.md"}), "README.md\n", false).await;
    check(&hand, &glob, json!({"pattern": "deep/*.rs", "path": "src"}), "src/deep/hello.rs\n", false).await;
    let whole = format!("{}/src/*.rs", hand.path("").display().to_string().trim_end_matches('/'));
    check(&hand, &glob, json!({"pattern": whole}), "src/main.rs\n", false).await;
    check(&hand, &glob, json!({"pattern": "*.py"}), "no files match\n", false).await;
    check_part(&hand, &glob, json!({"pattern": "a{b"}), "a{b", true).await;
    for n in 0..600 {
        hand.write(&format!("many/{n}.txt"), "");
    }
    let (many, _) = hand.call(&glob, json!({"pattern": "many/*"})).await;
    assert!(many.ends_with("\n[there are more; these were changed last]\n") && many.lines().count() == 491);
    check_part(&hand, &glob, json!({"pattern": "*", "path": "nowhere"}), "nowhere", true).await;
}

#[tokio::test]
async fn a_search_reads_where_it_searches_and_can_be_cancelled() {
    let hand = Hand::new();
    tree(&hand);
    for tool in [&Grep::default() as &dyn Tool, &Glob::default()] {
        for (args, place) in [(json!({"pattern": "x"}), ""), (json!({"pattern": "x", "path": "src"}), "src")]
        {
            let call = ToolCall::function("c", tool.spec().name.clone(), args.to_string());
            let actions = tool.actions(&call, &hand.cx).await.unwrap();
            let read = |action: &Action| matches!(action, Action::Read { path } | Action::ReadAll { path } if *path.as_path() == *hand.path(place));
            assert!(matches!(&actions[..], [only] if read(only)), "{actions:?}");
        }
    }
    hand.cx.cancel.cancel();
    check_part(&hand, &Grep::default(), json!({"pattern": "x"}), "interrupted", true).await;
    check_part(&hand, &Glob::default(), json!({"pattern": "x"}), "interrupted", true).await;
}

#[tokio::test]
async fn plans_are_noted_and_questions_need_somebody() {
    let hand = Hand::new();
    let steps = json!({"explanation": "why not", "steps": [
        {"step": "look", "status": "completed"}, {"step": "mend", "status": "in_progress"},
    ]});
    check(&hand, &UpdatePlan::default(), steps, "noted: 1 of 2 steps done; now: mend", false).await;
    let ask = json!({"question": "Which?", "choices": ["a", "b"]});
    check_part(&hand, &AskUser::default(), ask, "nobody is there to be asked", true).await;
    check(&hand, &AskUser::default(), json!({"question": " "}), "the question is empty", true).await;
}

#[tokio::test]
async fn a_provider_that_pauses_over_its_own_tools_is_asked_to_go_on() {
    let model = script([Line::Pauses("I search"), Line::Text("Found.")]);
    let mut scene = Scene::start(Arc::clone(&model) as _).await;
    let (reason, text) = scene.ask("Search").await;
    assert!(reason == EndReason::Done && text.ends_with("Found."), "{reason:?} {text}");
    scene.end().await;
    let requests = model.requests.lock().unwrap();
    assert_eq!(requests[1].messages.last().unwrap().text(), "I search");
}
