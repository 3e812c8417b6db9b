//! The matrix: fifteen tasks, each with three profiles.
//!
//! A row is data: the files that are there, what the model does in its profile's own words, what the
//! user says and hears, and what must be so in the end.

use std::collections::BTreeMap;
use std::path::Path;

use junto_agent::SessionConfig;
use junto_agent::profile::Family;
use junto_core::{Agent, Body, Change, Command, EndReason, When};
use junto_twin::{Call, Step};
use serde_json::json;

use super::body::Said;
use super::model::{create, edit, read, requests, shell, stand_with, waits, with_children};
use crate::scene::{Record, let_go};

struct Row {
    files: Vec<(&'static str, String)>,
    play: Vec<Step>,
    moves: Vec<Move>,
    check: fn(&End),
}

/// What the user does.
enum Move {
    /// Says something, and hears this in the end.
    Ask(&'static str, &'static str),
    /// Says something, something else while a command waits for it, and hears this in the end.
    Steer(&'static str, &'static str, &'static str),
    /// Wants the model to think so hard.
    Effort(&'static str),
}
use Move::{Ask, Effort, Steer};

/// How it was in the end.
struct End {
    family: Family,
    files: BTreeMap<String, String>,
    requests: Vec<Said>,
    record: Record,
}

impl End {
    /// What the model was told by its tools.
    fn results(&self) -> &[String] {
        &self.requests.last().expect("a request").results
    }

    fn has_file(&self, name: &str, content: &str) {
        assert_eq!(self.files.get(name).map(String::as_str), Some(content), "{:?}: {name}", self.family);
    }

    /// Which of the tool calls failed, in the order they ended.
    fn failures(&self) -> Vec<bool> {
        self.record.tool_ends().into_iter().map(|(_, _, failed)| failed).collect()
    }
}

fn files_below(dir: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files_below(&entry.path(), &format!("{name}/"), found);
        } else if kind.is_file() {
            found.insert(name, std::fs::read_to_string(entry.path()).unwrap());
        }
    }
}

async fn run(family: Family, row: fn(Family) -> Row) {
    let Row { files, play, moves, check } = row(family);
    let change: fn(SessionConfig) -> SessionConfig = with_children;
    let mut stand = stand_with(family, play, change).await;
    for (name, content) in files {
        std::fs::create_dir_all(stand.scene.path(name).parent().unwrap()).unwrap();
        stand.scene.write(name, content);
    }
    for step in moves {
        let heard = match step {
            Ask(said, hears) => (stand.scene.ask(said).await, hears),
            Steer(said, then, hears) => {
                stand.scene.submit(said).await;
                stand.scene.command_says("up").await;
                stand.scene.steer(then, When::Round).await;
                let_go(stand.scene.path("go")).await;
                (stand.scene.input_end().await, hears)
            }
            Effort(level) => {
                let change = Change { effort: Some(level.into()), ..Change::default() };
                stand.scene.session.send(Command::Configure { change }).await.unwrap();
                continue;
            }
        };
        assert_eq!(heard.0, (EndReason::Done, heard.1.to_owned()), "{family:?}");
    }
    let mut files = BTreeMap::new();
    files_below(&stand.scene.path(""), "", &mut files);
    let requests = requests(&stand);
    let record = stand.end(&[]).await;
    check(&End { family, files, requests, record });
}

/// One test for each row and profile.
macro_rules! matrix {
    ($($name:ident: $row:ident),* $(,)?) => {
        $(
            mod $name {
                use super::*;

                #[tokio::test]
                async fn openai() {
                    run(Family::OpenAi, $row).await;
                }

                #[tokio::test]
                async fn anthropic() {
                    run(Family::Anthropic, $row).await;
                }

                #[tokio::test]
                async fn gemini() {
                    run(Family::Gemini, $row).await;
                }
            }
        )*
    };
}

matrix! {
    dod_file_creation: file_creation,
    dod_read_then_edit: read_then_edit,
    dod_several_files: several_files,
    dod_shell_command: shell_command,
    dod_shell_timeout: shell_timeout,
    dod_grep_and_glob: grep_and_glob,
    dod_several_steps: several_steps,
    dod_large_output: large_output,
    dod_parallel_calls: parallel_calls,
    dod_steering: steering,
    dod_effort: effort,
    dod_subagent: subagent,
    dod_loop_detection: loop_detection,
    dod_recovery: recovery,
    dod_editing_format: editing_format,
}

fn file(name: &'static str, content: &str) -> (&'static str, String) {
    (name, content.to_owned())
}

fn file_creation(family: Family) -> Row {
    Row {
        files: vec![],
        play: vec![Step::calls([create(family, "src/hello.py", "print('Hello')\n")]), Step::text("Made.")],
        moves: vec![Ask("Create hello.py", "Made.")],
        check: |end| {
            end.has_file("src/hello.py", "print('Hello')\n");
            assert_eq!(end.failures(), [false]);
        },
    }
}

fn read_then_edit(family: Family) -> Row {
    Row {
        files: vec![file("hello.py", "import sys\nprint('Hello')\n")],
        play: vec![
            Step::calls([read("hello.py")]),
            Step::calls([edit(family, "hello.py", "print('Hello')", "print('Hello')\nprint('Goodbye')")]),
            Step::text("Done."),
        ],
        moves: vec![Ask("Say goodbye, too", "Done.")],
        check: |end| {
            end.has_file("hello.py", "import sys\nprint('Hello')\nprint('Goodbye')\n");
            assert!(end.results()[0].contains("  2 | print('Hello')"), "{:?}", end.results());
        },
    }
}

fn several_files(family: Family) -> Row {
    Row {
        files: vec![file("a.py", "old = 1\n"), file("lib/b.py", "from a import old\n")],
        play: vec![
            Step::calls([
                edit(family, "a.py", "old = 1", "new = 1"),
                edit(family, "lib/b.py", "from a import old", "from a import new"),
            ]),
            Step::text("Renamed."),
            Step::calls([create(family, "c.py", "import a\n")]),
            Step::text("Added."),
        ],
        moves: vec![Ask("Rename it", "Renamed."), Ask("Add c.py", "Added.")],
        check: |end| {
            end.has_file("a.py", "new = 1\n");
            end.has_file("lib/b.py", "from a import new\n");
            end.has_file("c.py", "import a\n");
        },
    }
}

fn shell_command(_: Family) -> Row {
    Row {
        files: vec![],
        play: vec![
            Step::calls([shell("echo to both; echo sides >&2; exit 3")]),
            Step::calls([shell("pwd > here; cat here")]),
            Step::text("Ran."),
        ],
        moves: vec![Ask("Run it", "Ran.")],
        check: |end| {
            let [first, second] = end.results() else { panic!("{:?}", end.results()) };
            assert!(
                first.contains("to both\n") && first.contains("sides\n") && first.contains("[exit code 3")
            );
            assert!(second.contains(end.files["here"].trim()) && second.contains("[exit code 0"), "{second}");
            assert_eq!(end.failures(), [true, false]);
        },
    }
}

fn shell_timeout(_: Family) -> Row {
    Row {
        files: vec![],
        play: vec![
            Step::calls([Call::new(
                "shell",
                json!({"command": "echo begun; sleep 600", "timeout_ms": 2000}),
            )]),
            Step::text("Too slow."),
        ],
        moves: vec![Ask("Run it", "Too slow.")],
        check: |end| {
            let told = "begun\n[ERROR: Command timed out after 2000ms. Partial output is shown above.\nYou can \
                        retry with a longer timeout by setting the timeout_ms parameter.]";
            assert_eq!(end.results(), [told], "{:?}", end.family);
            assert_eq!(end.failures(), [true]);
        },
    }
}

fn grep_and_glob(_: Family) -> Row {
    Row {
        files: vec![
            file("src/a.py", "x = 1\nneedle = 2\n"),
            file("src/deep/b.py", "# no\n"),
            file("c.txt", "needle\n"),
        ],
        play: vec![
            Step::calls([
                Call::new("grep", json!({"pattern": "^needle", "glob_filter": "*.py"})),
                Call::new("glob", json!({"pattern": "**/*.py"})),
            ]),
            Step::text("Found."),
        ],
        moves: vec![Ask("Find it", "Found.")],
        check: |end| {
            let [lines, files] = end.results() else { panic!("{:?}", end.results()) };
            assert!(lines.contains("src/a.py:2:needle = 2") && !lines.contains("c.txt"), "{lines}");
            assert!(files.contains("src/a.py") && files.contains("src/deep/b.py"), "{files}");
            assert!(!files.contains("c.txt"), "{files}");
        },
    }
}

fn several_steps(family: Family) -> Row {
    Row {
        files: vec![file("sum.sh", "echo $(($1 - $2))\n"), file("test.sh", "[ $(sh sum.sh 2 3) = 5 ]\n")],
        play: vec![
            Step::calls([shell("sh test.sh")]),
            Step::calls([read("sum.sh")]),
            Step::calls([edit(family, "sum.sh", "echo $(($1 - $2))", "echo $(($1 + $2))")]),
            Step::calls([shell("sh test.sh && echo passed")]),
            Step::text("It adds now."),
        ],
        moves: vec![Ask("The test fails", "It adds now.")],
        check: |end| {
            end.has_file("sum.sh", "echo $(($1 + $2))\n");
            assert_eq!(end.failures(), [true, false, false, false]);
            assert!(end.results()[3].starts_with("passed\n"), "{:?}", end.results());
        },
    }
}

fn large_output(_: Family) -> Row {
    Row {
        files: vec![("big.txt", "x".repeat(100_000))],
        play: vec![Step::calls([read("big.txt")]), Step::text("Long.")],
        moves: vec![Ask("Read big.txt", "Long.")],
        check: |end| {
            let [(_, whole, false)] = &end.record.tool_ends()[..] else { panic!("one that works") };
            assert_eq!(whole.matches('x').count(), 100_000);
            let [told] = end.results() else { panic!("one result") };
            let removed = whole.chars().count() - 50_000;
            let note = format!(
                "[WARNING: Tool output was truncated. {removed} characters were removed from the middle."
            );
            assert!(told.contains(&note), "{:?}", end.family);
            assert!(told.chars().count() < 50_000 + 300);
        },
    }
}

fn parallel_calls(_: Family) -> Row {
    Row {
        files: vec![],
        play: vec![
            Step::calls([shell("mkfifo pipe")]),
            // The first cannot end before the second has begun.
            Step::calls([shell("read word < pipe; echo heard $word"), shell("echo hello > pipe")]),
            Step::text("Both."),
        ],
        moves: vec![Ask("Do both", "Both.")],
        check: |end| {
            assert!(end.results()[1].starts_with("heard hello\n"), "{:?}", end.results());
            assert_eq!(end.failures(), [false, false, false]);
        },
    }
}

fn steering(_: Family) -> Row {
    Row {
        files: vec![],
        play: vec![waits(), Step::text("One route.")],
        moves: vec![Steer("Make a web site", "Only /health", "One route.")],
        check: |end| {
            let [before, after] = &end.requests[..] else { panic!("two requests") };
            assert!(!before.user.iter().any(|said| said.contains("Only /health")));
            assert!(after.user.last().is_some_and(|said| said.contains("Only /health")), "{:?}", after.user);
            assert_eq!(end.record.count("steering_injected"), 1);
        },
    }
}

fn effort(_: Family) -> Row {
    Row {
        files: vec![],
        play: vec![Step::text("Quick."), Step::text("Deep.")],
        moves: vec![Effort("low"), Ask("Think", "Quick."), Effort("high"), Ask("Think", "Deep.")],
        check: |end| {
            let efforts: Vec<_> = end.requests.iter().map(|said| said.effort.as_deref()).collect();
            assert_eq!(efforts, [Some("low"), Some("high")], "{:?}", end.family);
        },
    }
}

fn subagent(family: Family) -> Row {
    let on = |contains: &str| junto_twin::When { contains: Some(contains.into()), ..Default::default() };
    let once = |step: Step, contains: &str| Step { times: Some(1), ..step.when(on(contains)) };
    Row {
        files: vec![],
        play: vec![
            once(Step::call("spawn_agent", json!({"task": "write tests"})), "Delegate"),
            once(Step::call("wait", json!({"agent_id": "agent-1"})), "Delegate"),
            once(Step::calls([create(family, "test.py", "assert True\n")]), "write tests"),
            Step::text("Tests written.").when(on("write tests")),
            Step::text("Reviewed.").when(on("Delegate")),
        ],
        moves: vec![Ask("Delegate", "Reviewed.")],
        check: |end| {
            end.has_file("test.py", "assert True\n");
            assert!(end.results()[1].contains("Tests written."), "{:?}", end.results());
            let of_child = |event: &&junto_core::Event| {
                event.parent.is_some() && matches!(event.body, Body::ToolCallEnd { .. })
            };
            assert_eq!(end.record.events.iter().filter(of_child).count(), 1);
        },
    }
}

fn loop_detection(_: Family) -> Row {
    Row {
        files: vec![],
        play: vec![
            Step { times: Some(10), ..Step::calls([shell("echo the same")]) },
            Step::text("Something else, then."),
        ],
        moves: vec![Ask("Work", "Something else, then.")],
        check: |end| {
            let warning = end.record.events.iter().find_map(|event| match &event.body {
                Body::LoopDetection { message, .. } => Some(message.clone()),
                _ => None,
            });
            let (warning, told) = (warning.expect("a warning"), end.requests.last().unwrap());
            assert!(told.user.last().is_some_and(|said| said.contains(&warning)), "{:?}", told.user);
            assert_eq!(end.record.count("loop_detection"), 1);
        },
    }
}

fn recovery(_: Family) -> Row {
    Row {
        files: vec![file("config.toml", "port = 80\n")],
        play: vec![
            Step::calls([read("config.tml")]),
            Step::calls([read("config.toml")]),
            Step::text("It is 80."),
        ],
        moves: vec![Ask("Which port?", "It is 80.")],
        check: |end| {
            assert_eq!(end.failures(), [true, false]);
            assert!(end.results()[1].contains("port = 80"), "{:?}", end.results());
        },
    }
}

/// The format that the family's models were trained with: patches, or replaced texts.
fn editing_format(family: Family) -> Row {
    let replace = |old: &str, new: &str, all: bool| {
        let args = json!({"file_path": "a.py", "old_string": old, "new_string": new, "replace_all": all});
        Step::call("edit_file", args)
    };
    let patch = "*** Begin Patch\n*** Add File: new.py\n+x = 3\n*** Update File: a.py\n@@ def f():\n-    return 1\n\
                 +    return 2\n@@ def g():\n-    return 1\n+    return 2\n*** Delete File: gone.py\n\
                 *** Update File: from.py\n*** Move to: to.py\n@@\n-y = 1\n+y = 2\n*** End Patch\n";
    let (play, failures): (Vec<Step>, fn(&End)) = match family {
        Family::OpenAi => (vec![Step::call("apply_patch", json!({ "patch": patch }))], |end| {
            assert_eq!(end.failures(), [false]);
            end.has_file("new.py", "x = 3\n");
            end.has_file("to.py", "y = 2\n");
            assert!(!end.files.contains_key("gone.py") && !end.files.contains_key("from.py"));
            assert_eq!(end.files["a.py"].matches("return 2").count(), 2);
        }),
        // A text that is there twice is not replaced once; with more of it around, or for both, it is.
        _ => (
            vec![
                replace("return 1", "return 2", false),
                replace("def g():\n    return 1", "def g():\n    return 2", false),
                replace("return ", "return 0 + ", true),
            ],
            |end| {
                assert_eq!(end.failures(), [true, false, false]);
                end.has_file("a.py", "def f():\n    return 0 + 1\ndef g():\n    return 0 + 2\n");
            },
        ),
    };
    Row {
        files: vec![
            file("a.py", "def f():\n    return 1\ndef g():\n    return 1\n"),
            file("gone.py", "z = 1\n"),
            file("from.py", "y = 1\n"),
        ],
        play: play.into_iter().chain([Step::text("Edited.")]).collect(),
        moves: vec![Ask("Edit", "Edited.")],
        check: failures,
    }
}
