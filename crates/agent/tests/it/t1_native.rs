//! The vendors' own tools, called by a model on the vendor's wire.

use std::sync::Arc;

use junto_agent::profile::{Dialect, Family, Profile};
use junto_agent::tools::{AskUser, Reach, WebFetch};
use junto_agent::{SessionConfig, ToolRegistry};
use junto_core::{Agent, Body, Command, EndReason, Reply};
use junto_llm::Wire;
use junto_twin::{Call, Options, Step};
use serde_json::{Value, json};

use crate::nursery::{delegates, told, with_children};
use crate::site::{Site, page};
use crate::stand::{Stand, on_each_wire};

const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\0\0\0\0IEND\xaeB`\x82";

async fn stand(
    wire: Wire,
    family: Family,
    steps: impl Into<Vec<Step>>,
    change: impl FnOnce(SessionConfig) -> SessionConfig,
) -> Stand {
    let profile = Profile::of(family).with_dialect(Dialect::Native);
    Stand::with(wire, steps, Options::default(), |config| {
        change(SessionConfig { profile: Some(profile), tools: ToolRegistry::default(), ..config })
    })
    .await
}

/// Calls the tools one after another, and checks what each says: whether it works, and all of these.
async fn check(family: Family, calls: Vec<(Call, bool, &[&str])>, prepare: impl FnOnce(&Stand)) {
    let wire = family.wire().unwrap();
    let mut steps: Vec<Step> = calls.iter().map(|(call, ..)| Step::calls([call.clone()])).collect();
    steps.push(Step::text("Done."));
    let mut stand = stand(wire, family, steps, |config| config).await;
    prepare(&stand);
    assert_eq!(stand.scene.ask("Work").await, (EndReason::Done, "Done.".into()), "{family:?}");
    let dir = stand.scene.path("").display().to_string();
    let ends = stand.end(&[]).await.tool_ends();
    assert_eq!(ends.len(), calls.len());
    for ((call, fails, parts), (name, said, failed)) in calls.iter().zip(&ends) {
        let said = said.replace(dir.trim_end_matches('/'), "DIR");
        assert_eq!(failed, fails, "{name} {call:?}: {said}");
        for part in *parts {
            assert!(said.contains(part), "{name} {call:?}: {part:?} in {said:?}");
        }
    }
}

fn call(name: &str, args: Value) -> Call {
    Call::new(name, args)
}

fn freeform(name: &str, input: &str) -> Call {
    Call { input: Some(input.to_owned()), ..Call::bare(name) }
}

const LEFT_RUNNING: &str = "echo up; setsid sleep 600 & exec sleep 600";

#[tokio::test]
async fn codex() {
    let patch =
        "*** Begin Patch\n*** Add File: new.txt\n+x\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\n";
    let wrong = "*** Begin Patch\n*** Update File: a.txt\n@@\n-none\n+some\n*** End Patch\n";
    let plan = json!({"explanation": "first", "plan": [{"step": "look", "status": "in_progress"}]});
    let calls: Vec<(Call, bool, &[&str])> = vec![
        (
            call("exec_command", json!({"cmd": "echo one > a.txt; echo out; echo err >&2; exit 3"})),
            true,
            &[
                "Chunk ID: ",
                "\nWall time: 0.",
                " seconds\nProcess exited with code 3\nOriginal token count: 2\nOutput:\nout\nerr\n",
            ],
        ),
        (call("update_plan", plan), false, &["Plan updated"]),
        (
            freeform("apply_patch", patch),
            false,
            &[
                "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\n",
                "A new.txt\n",
                "M a.txt\n",
            ],
        ),
        (freeform("apply_patch", wrong), true, &["apply_patch verification failed: "]),
        (
            call("exec_command", json!({"cmd": "pwd; ls", "workdir": "sub"})),
            false,
            &["Output:\nDIR/sub\ninner\n"],
        ),
        (call("view_image", json!({"path": "dot.png"})), false, &["image/png"]),
        (call("view_image", json!({"path": "a.txt"})), true, &["no picture"]),
        (
            call(
                "exec_command",
                json!({"cmd": "read line; echo \"got $line\"", "tty": true, "yield_time_ms": 250}),
            ),
            false,
            &["Process running with session ID 3\n"],
        ),
        (
            call("write_stdin", json!({"session_id": 3, "chars": "hi\n", "yield_time_ms": 30000})),
            false,
            &["Process exited with code 0\n", "got hi"],
        ),
        (
            call("write_stdin", json!({"session_id": 3, "chars": "hi\n"})),
            true,
            &["no command with the number 3"],
        ),
        (
            call("exec_command", json!({"cmd": "sleep 600", "yield_time_ms": 250})),
            false,
            &["Process running with session ID 4\n"],
        ),
        (call("write_stdin", json!({"session_id": 4, "chars": "x"})), true, &["without a terminal"]),
        (
            call("write_stdin", json!({"session_id": 4, "chars": "\u{3}", "yield_time_ms": 30000})),
            true,
            &["Process exited with code 130\n"],
        ),
        (
            call("exec_command", json!({"cmd": "yes | head -c 4000", "max_output_tokens": 100})),
            false,
            &[
                "Original token count: 1000\nOutput:\nWarning: truncated output (original token count: 1000)\n",
                "…900 tokens truncated…",
            ],
        ),
        (
            call("exec_command", json!({"cmd": LEFT_RUNNING, "yield_time_ms": 250})),
            false,
            &["session ID 6\n"],
        ),
    ];
    check(Family::OpenAi, calls, |stand| {
        stand.scene.write("dot.png", PNG);
        std::fs::create_dir(stand.scene.path("sub")).unwrap();
        stand.scene.write("sub/inner", "");
    })
    .await;
}

#[tokio::test]
async fn claude() {
    let calls: Vec<(Call, bool, &[&str])> = vec![
        (
            call("Write", json!({"file_path": "src/a.py", "content": "one\ntwo\n"})),
            false,
            &["File created at: DIR/src/a.py"],
        ),
        (
            call("Write", json!({"file_path": "b.txt", "content": "one\n"})),
            false,
            &["File created at: DIR/b.txt"],
        ),
        (
            call("Write", json!({"file_path": "b.txt", "content": "two\n"})),
            false,
            &["The file DIR/b.txt", "has been updated."],
        ),
        (call("Read", json!({"file_path": "src/a.py"})), false, &["1\tone\n2\ttwo"]),
        (call("Read", json!({"file_path": "src/a.py", "offset": 2, "limit": 1})), false, &["2\ttwo"]),
        (call("Read", json!({"file_path": "dot.png"})), false, &["image/png"]),
        (call("Read", json!({"file_path": "nowhere"})), true, &["nowhere"]),
        (
            call(
                "Edit",
                json!({"file_path": "src/a.py", "old_string": "two", "new_string": "2", "replace_all": false}),
            ),
            false,
            &["The file DIR/src/a.py has been updated. It now has:\n1\tone\n2\t2"],
        ),
        (
            call("Edit", json!({"file_path": "src/a.py", "old_string": "zzz", "new_string": "q"})),
            true,
            &["<tool_use_error>", "</tool_use_error>"],
        ),
        (call("Grep", json!({"pattern": "one"})), false, &["Found 1 file\nsrc/a.py"]),
        (
            call("Grep", json!({"pattern": "O", "-i": true, "output_mode": "count"})),
            false,
            &["b.txt:1\nsrc/a.py:1\n\nFound 2 total occurrences across 2 files."],
        ),
        (
            call("Grep", json!({"pattern": "two|2", "output_mode": "content", "-n": true, "glob": "*.py"})),
            false,
            &["src/a.py:2:2"],
        ),
        (call("Grep", json!({"pattern": "none"})), false, &["No files found"]),
        (call("Grep", json!({"pattern": "("})), true, &["<tool_use_error>"]),
        (call("Glob", json!({"pattern": "**/*.py"})), false, &["src/a.py"]),
        (
            call("Bash", json!({"command": "echo out; echo err >&2", "description": "Say"})),
            false,
            &["out\nerr"],
        ),
        (call("Bash", json!({"command": "echo out; exit 3"})), true, &["Exit code 3\nout"]),
        (
            call("Bash", json!({"command": "echo slow; sleep 600", "timeout": 1})),
            false,
            &["moved to the background with ID: 3."],
        ),
        (call("TaskStop", json!({"task_id": "3"})), false, &["Stopped task: 3"]),
        (
            call("Bash", json!({"command": "echo done", "run_in_background": true})),
            false,
            &["Command running in background with ID: 4."],
        ),
        (
            call("TaskOutput", json!({"task_id": "4", "timeout": 600_000})),
            false,
            &[
                "<task_id>4</task_id>\n<status>completed</status>\n<exit_code>0</exit_code>\n<output>\ndone\n</output>",
            ],
        ),
        (call("TaskOutput", json!({"task_id": "4"})), true, &["there are: none"]),
        (call("Bash", json!({"command": LEFT_RUNNING, "run_in_background": true})), false, &["with ID: 5."]),
    ];
    check(Family::Anthropic, calls, |stand| stand.scene.write("dot.png", PNG)).await;
}

#[tokio::test]
async fn gemini() {
    let todos = json!({"todos": [{"description": "look", "status": "in_progress"}]});
    let calls: Vec<(Call, bool, &[&str])> = vec![
        (
            call("write_file", json!({"file_path": "src/a.py", "content": "one\ntwo\n"})),
            false,
            &["Created and wrote new file: DIR/src/a.py"],
        ),
        (call("read_file", json!({"file_path": "src/a.py"})), false, &["one\ntwo"]),
        (
            call("read_file", json!({"file_path": "src/a.py", "start_line": 1, "end_line": 1})),
            false,
            &[
                "Status: Showing lines 1-1; the file goes on.\nAction: To read more, set start_line to 2.",
                "\none",
            ],
        ),
        (
            call(
                "replace",
                json!({"file_path": "src/a.py", "instruction": "i", "old_string": "two", "new_string": "2"}),
            ),
            false,
            &["Modified file: DIR/src/a.py (1 replacement). It now has:\none\n2"],
        ),
        (
            call(
                "replace",
                json!({"file_path": "n.txt", "instruction": "i", "old_string": "", "new_string": "new\n"}),
            ),
            false,
            &["Created and wrote new file: DIR/n.txt"],
        ),
        (
            call(
                "replace",
                json!({"file_path": "n.txt", "instruction": "i", "old_string": "", "new_string": "x"}),
            ),
            true,
            &["is there already"],
        ),
        (
            call(
                "replace",
                json!({"file_path": "n.txt", "instruction": "i", "old_string": "zzz", "new_string": "x"}),
            ),
            true,
            &["n.txt"],
        ),
        (
            call("list_directory", json!({"dir_path": "."})),
            false,
            &["Directory listing for DIR:\n[DIR] src\nn.txt (4 bytes)"],
        ),
        (
            call("grep_search", json!({"pattern": "ONE", "include_pattern": "*.py"})),
            false,
            &["Found 1 match for pattern \"ONE\":\n---\nFile: src/a.py\nL1: one\nL-2: 2\n---"],
        ),
        (
            call("grep_search", json!({"pattern": "ONE", "case_sensitive": true})),
            false,
            &["No matches found"],
        ),
        (call("grep_search", json!({"pattern": "new", "names_only": true})), false, &["\nn.txt"]),
        (call("glob", json!({"pattern": "**/*.py"})), false, &["Found 1 file(s) matching", "\nDIR/src/a.py"]),
        (
            call(
                "run_shell_command",
                json!({"command": "echo out; echo err >&2; exit 3", "description": "d"}),
            ),
            false,
            &["<untrusted_context>\nOutput: out\nerr\nExit Code: 3\n</untrusted_context>"],
        ),
        (
            call("run_shell_command", json!({"command": "pwd", "dir_path": "src"})),
            false,
            &["Output: DIR/src\n"],
        ),
        (call("list_background_processes", json!({})), false, &["No background processes."]),
        (
            call("run_shell_command", json!({"command": LEFT_RUNNING, "is_background": true})),
            false,
            &["Background PIDs: "],
        ),
        (call("list_background_processes", json!({})), false, &["[PID ", "] running"]),
        (
            call("read_background_output", json!({"pid": 1})),
            true,
            &["no command in the background with the pid 1"],
        ),
        (call("write_todos", todos), false, &["The todo list is now:\n1. [in_progress] look"]),
    ];
    check(Family::Gemini, calls, |_| {}).await;
}

/// A freeform tool is a function with one argument where a wire has no such tools.
#[tokio::test]
async fn a_patch_is_free_text_on_every_wire() {
    on_each_wire(async |wire| {
        let patch = "*** Begin Patch\n*** Add File: \"quoted\".txt\n+\\n\n*** End Patch";
        let steps = [Step::calls([freeform("apply_patch", patch)]), Step::text("Done.")];
        let mut stand = stand(wire, Family::OpenAi, steps, |config| config).await;
        assert_eq!(stand.scene.ask("Patch").await.0, EndReason::Done, "{wire:?}");
        assert_eq!(stand.scene.read("\"quoted\".txt"), "\\n\n", "{wire:?}");
        let body = stand.last_body();
        assert_eq!(body.contains("\"syntax\":\"lark\""), wire == Wire::Responses, "{wire:?}: {body}");
        stand.end(&[]).await;
    })
    .await;
}

/// What a host adds has the vendor's form: asking the user, and the web.
#[tokio::test]
async fn what_a_host_adds_is_asked_for_in_the_vendors_way() {
    let options = json!([{"label": "left", "description": "l"}, {"label": "right", "description": "r"}]);
    let question = json!({"id": "way", "question": "Which way?", "header": "Way", "options": options});
    let site = Site::start(vec![("/", page("200 OK", "Content-Type: text/html\r\n", "<h1>Hi</h1>"))]).await;
    let url = site.url("/");
    let check = async |family: Family, name: &str, kind: Option<&str>, fetch: Call, answer: &str| {
        let mut question = question.clone();
        if let Some(kind) = kind {
            question["type"] = kind.into();
            question.as_object_mut().unwrap().remove("id");
        } else if family == Family::Anthropic {
            question.as_object_mut().unwrap().remove("id");
        }
        let steps =
            [Step::call(name, json!({ "questions": [question] })), Step::calls([fetch]), Step::text("Done.")];
        let mut stand = stand(family.wire().unwrap(), family, steps, |mut config| {
            config.tools.register(Arc::new(AskUser::default()));
            config.tools.register(Arc::new(WebFetch::new(Reach::Everywhere)));
            config
        })
        .await;
        stand.scene.submit("Go").await;
        let Body::Question { ask, question, .. } = stand.scene.event("question").await.body else {
            unreachable!()
        };
        let described = question.options.iter().map(|option| option.description.as_deref());
        assert_eq!(described.collect::<Vec<_>>(), [Some("l"), Some("r")], "{family:?}");
        let reply = Reply::Said { text: "left".into() };
        stand.scene.session.send(Command::Reply { ask, reply }).await.unwrap();
        assert_eq!(stand.scene.input_end().await.0, EndReason::Done, "{family:?}");
        let ends = stand.end(&[]).await.tool_ends();
        assert!(ends[0].1.contains(answer) && ends[1].1.contains("# Hi"), "{family:?}: {ends:?}");
        assert!(ends.iter().all(|(.., failed)| !failed), "{family:?}: {ends:?}");
    };
    let fetch = call("web_fetch", json!({"url": url}));
    check(Family::OpenAi, "request_user_input", None, fetch, r#"{"answers":{"way":{"answers":["left"]}}}"#)
        .await;
    let fetch = call("WebFetch", json!({"url": url, "prompt": "What is there?"}));
    check(Family::Anthropic, "AskUserQuestion", None, fetch, r#""Which way?"="left""#).await;
    let fetch = call("web_fetch", json!({"prompt": format!("What is there on {url} ?")}));
    check(Family::Gemini, "ask_user", Some("choice"), fetch, r#"{"answers":{"0":"left"}}"#).await;
}

/// Other agents are started and heard in the vendor's way.
#[tokio::test]
async fn agents() {
    let check = async |family: Family, calls: Vec<Call>, parts: &[&str]| {
        let mut steps = vec![told("Count", 0, Step::text("forty-two"))];
        steps.extend(delegates(calls.iter().map(|call| Step::calls([call.clone()]))));
        let mut stand = stand(family.wire().unwrap(), family, steps, with_children).await;
        let (reason, _) = stand.scene.ask("Delegate").await;
        assert_eq!(reason, EndReason::Done, "{family:?}");
        let ends = stand.end(&[]).await.tool_ends();
        assert_eq!(ends.len(), parts.len());
        for ((name, said, failed), part) in ends.iter().zip(parts) {
            assert!(said.contains(part) && !failed, "{family:?} {name}: {part:?} in {said:?}");
        }
    };
    let start =
        call("Agent", json!({"description": "d", "prompt": "Count", "subagent_type": "general-purpose"}));
    check(Family::Anthropic, vec![start], &["forty-two"]).await;
    let start = call("invoke_agent", json!({"agent_name": "generalist", "prompt": "Count"}));
    let told = "Subagent 'generalist' finished.\nTermination Reason: GOAL\nResult:\nforty-two";
    check(Family::Gemini, vec![start], &[told]).await;
    let start = call("spawn_agent", json!({"message": "Count"}));
    let wait = call("wait_agent", json!({"targets": ["agent-1"], "timeout_ms": 3_600_000}));
    let close = call("close_agent", json!({"target": "agent-1"}));
    let parts = [
        r#"{"agent_id":"agent-1","nickname":null}"#,
        r#"{"status":{"agent-1":{"completed":"forty-two"}},"timed_out":false}"#,
        r#"{"previous_status":"completed"}"#,
    ];
    check(Family::OpenAi, vec![start, wait, close], &parts).await;
}

/// What an agent says is its own, whatever it looks like.
#[tokio::test]
async fn an_answer_that_looks_like_a_report() {
    let review = "Review:\nagent-1: running\n[the time to wait is up]";
    let start = |task: &str| Step::call("spawn_agent", json!({"message": task}));
    let wait = |name: &str| Step::call("wait_agent", json!({"targets": [name], "timeout_ms": 3_600_000}));
    let both = Step::call("wait_agent", json!({"targets": ["agent-1", "agent-2"]}));
    let mut steps = vec![told("Count", 0, Step::text("forty-two")), told("Review", 0, Step::text(review))];
    steps.extend(delegates([start("Count"), start("Review"), wait("agent-1"), wait("agent-2"), both]));
    let mut stand = stand(Family::OpenAi.wire().unwrap(), Family::OpenAi, steps, with_children).await;
    assert_eq!(stand.scene.ask("Delegate").await.0, EndReason::Done);
    let ends = stand.end(&[]).await.tool_ends();
    let expected = json!({"agent-1": {"completed": "forty-two"}, "agent-2": {"completed": review}});
    let told: Value = serde_json::from_str(&ends[4].1).unwrap();
    assert_eq!(told, json!({"status": expected, "timed_out": false}));
}
