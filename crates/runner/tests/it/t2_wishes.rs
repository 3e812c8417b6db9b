//! What the real programs are asked for beside their task: instructions of any length, further directories, an answer
//! only; and what their runs cost and show.

use junto_core::{Body, Event, Mode};
use junto_llm::{CallCx, Cost, Provider as _, Request};
use junto_runner::{CliProvider, Definition};
use junto_testkit::cast::Who;
use junto_twin::{Options, Play, Step, Twin};

use crate::real::stage::{Scenario, Stage};

/// Longer than an argument may be; its end is what is looked for.
fn long(end: &str) -> String {
    format!("{}{end}", "Mind what the keeper of the lighthouse says. ".repeat(3000))
}

/// A session that goes on has them once, and learns of others.
async fn instructions_reach_it(who: Who, [ostend, dover]: [String; 2]) {
    let stage = Stage::new(who);
    let told = |instructions: String, resume| Scenario {
        instructions: Some(instructions),
        resume,
        ..Scenario::new([Step::text("Fine.")])
    };
    let first = stage.play(told(ostend.clone(), None)).await;
    first.answered(&["Fine."]);
    assert!(first.last_request().contains("The fog is at Ostend."));
    let same = stage.play(told(ostend, Some(first.handle()))).await;
    same.answered(&["Fine."]);
    assert_eq!(same.last_request().matches("The fog is at Ostend.").count(), 1);
    let other = stage.play(told(dover, Some(same.handle()))).await;
    other.answered(&["Fine."]);
    assert_eq!(other.last_request().matches("The fog is at Dover.").count(), 1);
}

const FOG: [&str; 2] = ["The fog is at Ostend.", "The fog is at Dover."];

async fn long_instructions_reach_it(who: Who) {
    instructions_reach_it(who, FOG.map(long)).await;
}

async fn changed_instructions_reach_it(who: Who) {
    instructions_reach_it(who, FOG.map(str::to_owned)).await;
    instructions_reach_it(who, [long(FOG[0]), FOG[1].to_owned()]).await;
}

/// Codex may always write to the folder for temporary files, which this one is in, unless it is told not to.
fn without_temporary_folders(definition: &mut Definition) {
    if definition.kind == "codex" {
        for place in ["exclude_slash_tmp", "exclude_tmpdir_env_var"] {
            definition.command.extend(["-c".to_owned(), format!("sandbox_workspace_write.{place}=true")]);
        }
    }
}

async fn works_in_further_directories(who: Who) {
    for given in [true, false] {
        let stage = Stage::new(who).changed(without_temporary_folders);
        let beside = stage.home().join("beside");
        std::fs::create_dir(&beside).unwrap();
        let write = match who {
            // Its patches name paths below its directory, or whole ones.
            Who::Codex => who.write(&beside, beside.join("made.txt").to_str().unwrap(), "one\n"),
            _ => who.write(&beside, "made.txt", "one\n"),
        };
        let directories = if given { vec![beside.clone()] } else { Vec::new() };
        let steps = [Step::calls([write]), Step::text("Fine.")];
        let played =
            stage.play(Scenario { mode: Mode::WorkspaceWrite, directories, ..Scenario::new(steps) }).await;
        played.answered(&["Fine."]);
        let made = std::fs::read_to_string(beside.join("made.txt")).ok();
        assert_eq!(made.as_deref(), given.then_some("one\n"), "{:#?}", played.events);
    }
}

/// So a gateway of ours knows it again, wherever it was led.
async fn shows_the_token_of_its_run(who: Who) {
    let stage = Stage::new(who);
    let played = stage.play(Scenario::new([Step::text("Fine.")])).await;
    played.answered(&["Fine."]);
    let shown: Vec<_> = played.requests.iter().map(|request| request.header("x-junto-run")).collect();
    assert!(
        !shown.is_empty() && shown.iter().all(|token| token.is_some_and(|token| token.len() > 16)),
        "{shown:?}"
    );
}

/// What it calls its answer is what it writes into a file, where it does.
async fn answers_with_its_final_text(who: Who) {
    let stage = Stage::new(who).changed(|definition| {
        if definition.kind == "codex" {
            // It takes one such file, and the test wants to read it.
            definition.options.last_message.clear();
            definition.command.extend(["--output-last-message", "answer.md"].map(str::to_owned));
        }
    });
    std::fs::write(stage.work().join("look.txt"), "it is blue\n").unwrap();
    let steps =
        [Step::calls([who.look(&stage.work(), "look.txt")]), Step::text("It is blue.\n\nSo: *blue*.")];
    let twin = Twin::start(Play::of(steps), Options::default()).unwrap();
    let (definition, host) = stage.host(&twin, &Scenario::new([]));
    let provider = CliProvider::new(definition, host);
    let request = Request::prompt("Which colour?").model(who.model());
    let response = provider.complete(request, &CallCx::new()).await.unwrap();
    assert_eq!(response.text(), "It is blue.\n\nSo: *blue*.");
    if who == Who::Codex {
        assert_eq!(stage.read("answer.md"), Some(response.text()));
    }
    stage.assert_no_survivors().await;
    twin.close().await;
}

macro_rules! by_all {
    ($($module:ident: $who:ident),*) => {
        $(mod $module {
            use super::Who;

            #[tokio::test]
            async fn long_instructions_reach_it() {
                super::long_instructions_reach_it(Who::$who).await;
            }

            #[tokio::test]
            async fn changed_instructions_reach_it() {
                super::changed_instructions_reach_it(Who::$who).await;
            }

            #[tokio::test]
            async fn works_in_further_directories() {
                super::works_in_further_directories(Who::$who).await;
            }

            #[tokio::test]
            async fn shows_the_token_of_its_run() {
                super::shows_the_token_of_its_run(Who::$who).await;
            }

            #[tokio::test]
            async fn answers_with_its_final_text() {
                super::answers_with_its_final_text(Who::$who).await;
            }
        })*
    };
}

by_all! { claude: Claude, codex: Codex, gemini: Gemini }

/// Its own sum is one over all runs of a session: each is booked once.
#[tokio::test]
async fn claude_costs_the_same_however_often_it_went_on() {
    let mut step = Step::text("Fine.").without_thinking();
    (step.usage.input, step.usage.output) = (Some(1000), Some(100));
    (step.usage.cache_read, step.usage.cache_write) = (Some(0), Some(0));
    let inputs = ["One", "Two", "Three"].map(str::to_owned).to_vec();
    let steps = vec![step; 3];
    let played = Stage::new(Who::Claude).play(Scenario { inputs, ..Scenario::new(steps) }).await;
    played.answered(&["Fine."; 3]).booked_as_told();
    let cost = |event: &Event| match &event.body {
        Body::Call { cost, .. } => Some(*cost),
        _ => None,
    };
    let costs: Vec<Cost> = played.events.iter().filter_map(cost).collect();
    let [Cost::Reported(first), ..] = costs[..] else { panic!("{costs:?}") };
    assert!(first.0 > 0);
    assert_eq!(costs, [Cost::Reported(first); 3]);
    let Some(Body::SessionEnd { cost, .. }) = played.events.last().map(|event| &event.body) else {
        panic!("{:?}", played.names())
    };
    assert_eq!(*cost, costs[0] + costs[1] + costs[2]);
}
