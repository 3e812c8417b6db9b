//! The end-to-end script of the Definition of Done, with each profile, against strict twins.

use std::sync::Arc;
use std::time::Duration;

use junto::agent::profile::{Family, Profile};
use junto::llm::{Client, Endpoint, HttpProvider};
use junto::twin::{Call, DEFAULT_KEY, Options, Play, Step, Twin, When};
use serde_json::{Value, json};

use self::script::Setting;

#[path = "../../examples/live_agent/script.rs"]
#[allow(
    clippy::disallowed_methods,
    reason = "the script takes the world's clock and looks up where programs are"
)]
mod script;

fn call(name: &str, args: Value) -> Step {
    Step::calls([Call::new(name, args)])
}

fn write(path: &str, content: &str) -> Step {
    call("write_file", json!({"file_path": path, "content": content}))
}

/// One more line at the end of the file, in the family's own way.
fn goodbye(family: Family) -> Step {
    let (old, new) = ("print('Hello World')", "print('Goodbye')");
    match family {
        Family::OpenAi => {
            let patch =
                format!("*** Begin Patch\n*** Update File: hello.py\n@@\n {old}\n+{new}\n*** End Patch\n");
            call("apply_patch", json!({ "patch": patch }))
        }
        _ => call(
            "edit_file",
            json!({"file_path": "hello.py", "old_string": old, "new_string": format!("{old}\n{new}")}),
        ),
    }
}

/// What a good model does, told by the words of what it was last asked.
fn play(family: Family) -> Vec<Step> {
    let on = |contains: &str| When { contains: Some(contains.into()), ..When::default() };
    let says = |asked: &str, steps: Vec<Step>, answer: &str| {
        let steps = steps.into_iter().map(|step| Step { times: Some(1), ..step.when(on(asked)) });
        steps.chain([Step::text(answer).when(on(asked))]).collect::<Vec<_>>()
    };
    let read = |path: &str| call("read_file", json!({"file_path": path}));
    let shell = |command: &str| call("shell", json!({ "command": command }));
    let waits = call("shell", json!({"command": "echo up; read line < go", "timeout_ms": 60_000}));
    [
        says("Create a file called", vec![write("hello.py", "print('Hello World')\n")], "Created."),
        says("add a second print", vec![read("hello.py"), goodbye(family)], "Added."),
        says("Run hello.py", vec![shell("python3 hello.py")], "It says hello and goodbye."),
        says("big.txt", vec![read("big.txt")], "It is made of x."),
        says("Flask", vec![waits], "Never said."),
        says("single /health", vec![write("app.py", "# /health\n")], "One route."),
        says(
            "Spawn a subagent",
            vec![
                call("spawn_agent", json!({"task": "Write tests"})),
                call("wait", json!({"agent_id": "agent-1"})),
                read("test_hello.py"),
            ],
            "Good tests.",
        ),
        says("Write tests", vec![write("test_hello.py", "import hello\n")], "Tests written."),
        says("sleep 30", vec![shell("sleep 30")], "It took too long."),
    ]
    .concat()
}

async fn run(family: Family) {
    let wire = family.wire().unwrap();
    let twin = Twin::start(Play::of(play(family)), Options::default()).unwrap();
    let endpoint = Endpoint::new(family.name(), wire, twin.base_url(wire)).key(DEFAULT_KEY);
    let provider = Arc::new(HttpProvider::new(endpoint).unwrap());
    let client = Client::builder().provider(family.name(), provider).build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("go");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let setting = Setting {
        provider: Arc::new(client),
        provider_name: None,
        model: None,
        profile: Profile::of(family),
        workdir: dir.path().to_owned(),
        timeout: Duration::from_secs(3),
        steered: Some(pipe),
    };
    let verdicts = script::run(setting).await.unwrap();
    let failed: Vec<_> = verdicts.iter().filter(|(_, verdict)| verdict.is_err()).collect();
    assert!(failed.is_empty(), "{family:?}: {failed:#?}");
    assert_eq!(verdicts.len(), 7);
    twin.close().await;
}

mod dod_script {
    use super::*;

    #[tokio::test]
    async fn openai() {
        run(Family::OpenAi).await;
    }

    #[tokio::test]
    async fn anthropic() {
        run(Family::Anthropic).await;
    }

    #[tokio::test]
    async fn gemini() {
        run(Family::Gemini).await;
    }
}
