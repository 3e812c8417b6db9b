//! 9.1: a session and its loop.

use junto_agent::SessionConfig;
use junto_agent::profile::{Family, Profile};
use junto_core::{Agent, AgentErrorKind, Body, Command, EndReason, Limits};
use junto_twin::Step;

use super::model::{create, last, on_each_profile, read, requests, shell, stand, stand_with};

#[tokio::test]
async fn dod_made_of_a_profile_and_an_environment() {
    on_each_profile(async |family| {
        let mut stand = stand(family, [Step::text("Here.")]).await;
        assert_eq!(stand.scene.ask("Hello").await, (EndReason::Done, "Here.".into()), "{family:?}");
        let names: Vec<String> = Profile::of(family).tools.names().map(str::to_owned).collect();
        assert_eq!(last(&stand).tools, names);
        let here = stand.scene.path("").to_string_lossy().trim_end_matches('/').to_owned();
        assert!(last(&stand).system.contains(&here), "the model knows where it is");
        let record = stand.end(&[]).await;
        let Body::SessionStart { workdir, .. } = &record.events[0].body else {
            panic!("{:?}", record.names())
        };
        assert_eq!(workdir.as_deref(), Some(here.as_str()));
    })
    .await;
}

#[tokio::test]
async fn dod_calls_the_model_and_its_tools_until_it_is_done() {
    on_each_profile(async |family| {
        let steps = [
            Step::calls([create(family, "a", "1\n")]),
            Step::calls([read("a")]),
            Step::text("There is a 1."),
        ];
        let mut stand = stand(family, steps).await;
        assert_eq!(stand.scene.ask("Work").await, (EndReason::Done, "There is a 1.".into()), "{family:?}");
        let results: Vec<usize> = requests(&stand).iter().map(|said| said.results.len()).collect();
        assert_eq!(results, [0, 1, 2], "each call's result is in the next request, and stays");
        let round = ["call", "tool_call_start", "tool_call_end"];
        let answer = ["assistant_text_start", "assistant_text_end", "call", "input_end"];
        let all = [&["session_start", "user_input"], &round[..], &round, &answer, &["session_end"]].concat();
        assert_eq!(stand.end(&[]).await.names(), all, "{family:?}");
    })
    .await;
}

#[tokio::test]
async fn dod_an_answer_without_calls_is_the_end() {
    on_each_profile(async |family| {
        let mut stand = stand(family, [Step::text("Yes."), Step::text("Never said.")]).await;
        assert_eq!(stand.scene.ask("Is it so?").await, (EndReason::Done, "Yes.".into()), "{family:?}");
        assert_eq!(requests(&stand).len(), 1);
        stand.end(&[]).await;
    })
    .await;
}

/// Different commands, so that nobody sees a loop.
fn busy(rounds: u32) -> Vec<Step> {
    (0..rounds).map(|n| Step::calls([shell(&format!("echo {n}"))])).collect()
}

#[tokio::test]
async fn dod_rounds_of_an_input_are_limited() {
    on_each_profile(async |family| {
        let limits = Limits { max_tool_rounds: 2, ..Limits::default() };
        let change = |config| SessionConfig { limits, ..config };
        let mut stand = stand_with(family, busy(4), change).await;
        assert_eq!(stand.scene.ask("Work").await.0, EndReason::Limit, "{family:?}");
        assert_eq!(stand.scene.ask("Go on").await.0, EndReason::Limit, "each input has its own rounds");
        assert_eq!(requests(&stand).len(), 4);
        let record = stand.end(&[]).await;
        assert_eq!((record.count("turn_limit"), record.count("tool_call_end")), (2, 4));
    })
    .await;
}

#[tokio::test]
async fn dod_turns_of_a_session_are_limited() {
    on_each_profile(async |family| {
        let limits = Limits { max_turns: 7, ..Limits::default() };
        let change = |config| SessionConfig { limits, ..config };
        let steps = [busy(1), vec![Step::text("One.")], busy(1), vec![Step::text("Never said.")]].concat();
        let mut stand = stand_with(family, steps, change).await;
        assert_eq!(stand.scene.ask("1").await, (EndReason::Done, "One.".into()), "{family:?}");
        assert_eq!(stand.scene.ask("2").await.0, EndReason::Limit);
        assert_eq!(stand.scene.ask("3").await.0, EndReason::Limit);
        assert_eq!(requests(&stand).len(), 3);
        assert_eq!(stand.end(&[]).await.count("turn_limit"), 2);
    })
    .await;
}

#[tokio::test]
async fn dod_abort_ends_the_loop_its_processes_and_the_session() {
    on_each_profile(async |family| {
        let busy = shell("sleep 600 & (setsid sleep 600 &) ; echo up; wait");
        let mut stand = stand(family, [Step::calls([busy]), Step::text("Never said.")]).await;
        stand.scene.submit("Work").await;
        stand.scene.command_says("up").await;
        stand.scene.session.send(Command::Abort).await.unwrap();
        assert_eq!(stand.scene.input_end().await.0, EndReason::Interrupted, "{family:?}");
        stand.scene.event("session_end").await;
        assert_eq!(stand.scene.env.survivors(), [], "{family:?}");
        let refused = stand.scene.session.send(Command::Submit { input: "More".into() }).await;
        assert_eq!(refused.unwrap_err().kind(), AgentErrorKind::Closed);
        assert_eq!(requests(&stand).len(), 1);
        stand.end(&[]).await;
    })
    .await;
}

/// Rounds of these commands, one after another and around, and then an answer.
async fn loops(family: Family, commands: &[&str], rounds: usize) -> usize {
    let calls = commands.iter().cycle().take(rounds).map(|command| Step::calls([shell(command)]));
    let mut stand = stand(family, calls.chain([Step::text("Done.")]).collect::<Vec<_>>()).await;
    assert_eq!(stand.scene.ask("Work").await, (EndReason::Done, "Done.".into()), "{family:?}");
    let said = last(&stand).user;
    let record = stand.end(&[]).await;
    for event in &record.events {
        if let Body::LoopDetection { message, .. } = &event.body {
            assert!(said.iter().any(|said| said.contains(message)), "the model is told: {said:?}");
        }
    }
    record.count("loop_detection")
}

#[tokio::test]
async fn dod_repeated_calls_are_noticed() {
    on_each_profile(async |family| {
        assert_eq!(loops(family, &["echo a"], 10).await, 1, "{family:?}");
        assert_eq!(loops(family, &["echo a", "echo b"], 10).await, 1, "{family:?}");
        assert_eq!(loops(family, &["echo a"], 9).await, 0, "{family:?}: not yet");
        // The same question with another answer each time is no loop.
        assert_eq!(loops(family, &["echo x >> log; wc -l < log"], 10).await, 0, "{family:?}");
    })
    .await;
}

#[tokio::test]
async fn dod_inputs_follow_each_other() {
    on_each_profile(async |family| {
        let steps = [Step::text("First."), Step::calls([shell("echo x")]), Step::text("Second.")];
        let mut stand = stand(family, steps).await;
        assert_eq!(stand.scene.ask("1?").await, (EndReason::Done, "First.".into()), "{family:?}");
        assert_eq!(stand.scene.ask("2?").await, (EndReason::Done, "Second.".into()), "{family:?}");
        let last = last(&stand);
        assert_eq!((last.user, last.model), (vec!["1?".into(), "2?".into()], vec!["First.".into()]));
        assert_eq!(stand.end(&[]).await.count("input_end"), 2);
    })
    .await;
}
