//! What is told of a run whose command says little, or in an unusual way.

use std::time::Duration;

use junto_core::{Agent, Body, Command, Delta, EndReason, Event, Item, Seq};
use junto_llm::Cost;
use junto_testkit::fake_claude::{Behaviour, Fault};

use crate::stage::{Stage, count, runs_of, submit, the_end, until, warnings};

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s-1","model":"claude-x"}"#;

/// A `claude` that begins a session and then does this.
fn claude(then: &str) -> Stage {
    Stage::scripted("claude", &format!("cat >/dev/null\necho '{INIT}'\n{then}"))
}

/// A result with this text, which cost a cent.
fn result(text: &str) -> String {
    format!(
        r#"echo '{{"type":"result","subtype":"success","is_error":false,"result":"{text}","total_cost_usd":0.01,"usage":{{"input_tokens":9,"output_tokens":1}}}}'"#
    )
}

/// The assistant says this in a message of its own.
fn says(id: &str, text: &str) -> String {
    format!(
        r#"echo '{{"type":"assistant","message":{{"id":"{id}","model":"claude-x","content":[{{"type":"text","text":"{text}"}}]}}}}'"#
    )
}

/// The texts in a log.
fn texts(events: &[Event]) -> Vec<String> {
    let texts = events.iter().filter_map(|event| match &event.body {
        Body::AssistantTextEnd { text, .. } => Some(text.preview()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn an_answer_that_only_the_result_has_is_said() {
    let cases = [
        (vec![result("42 tokens")], vec!["42 tokens"]),
        (vec![says("m1", "Hello"), result("Hello")], vec!["Hello"]),
        (vec![says("m1", "I look."), says("m2", "Done. "), result("Done.")], vec!["I look.", "Done. "]),
        // The line of the last message was lost.
        (vec![says("m1", "I look."), result("Done.")], vec!["I look.", "Done."]),
        (vec!["printf 'a\\377b\\n'".to_owned(), result("Done.")], vec!["Done."]),
        // The same message in two blocks.
        (vec![says("m1", "One. "), says("m1", "Two."), result("One. Two.")], vec!["One. ", "Two."]),
        (vec![says("m1", "Hello"), result("Hello"), result("")], vec!["Hello"]),
        // It was told something else meanwhile.
        (vec![says("m1", "Hello"), says("m2", "And more."), result("Hello")], vec!["Hello", "And more."]),
        (vec![says("m1", "Hello"), result("Hello"), result("More.")], vec!["Hello", "More."]),
    ];
    for (lines, expected) in cases {
        let script = lines.join("\n");
        let events = claude(&script).play("/context").await;
        assert_eq!(texts(&events), expected, "{script}");
        assert_eq!(the_end(&events).0, EndReason::Done);
    }
}

#[tokio::test]
async fn it_is_said_in_pieces_too() {
    let stage = claude(&result("42 tokens"));
    let agent = stage.agent().await;
    let mut reader = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: "/context".into() }).await.unwrap();
    let mut said = String::new();
    loop {
        match reader.next().await.unwrap() {
            Item::Delta(Delta::AssistantTextDelta { text, .. }) => said += &text,
            Item::Event(event) if event.body.name() == "input_end" => break,
            _ => {}
        }
    }
    assert_eq!(said, "42 tokens");
    stage.end(agent).await;
}

#[tokio::test]
async fn what_failed_is_no_answer() {
    let failed = r#"echo '{"type":"result","subtype":"success","is_error":true,"result":"no"}'"#;
    let events = claude(failed).play("hello").await;
    assert_eq!(texts(&events), [""; 0]);
}

#[tokio::test]
async fn an_answer_that_was_cut_off_cost_nobody_knows_what() {
    let aborted = r#"echo '{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","total_cost_usd":0,"modelUsage":{},"usage":{"input_tokens":0,"output_tokens":0}}'"#;
    let end = |events: &[Event]| {
        let Body::SessionEnd { cost, .. } = events.last().unwrap().body else { unreachable!() };
        (runs_of(events)[0].1, cost)
    };
    let events = claude(&format!("{}\n{aborted}", says("m1", "Well"))).play("hello").await;
    assert_eq!(the_end(&events).0, EndReason::Interrupted);
    assert_eq!(end(&events), (None, Cost::Unknown));
    // What it told before is told.
    let script = [says("m1", "Hello"), result("Hello"), says("m2", "Well"), aborted.to_owned()].join("\n");
    let events = claude(&script).play("hello").await;
    assert_eq!((end(&events), count(&events, "call")), ((None, Cost::Unknown), 1));
    // So is what the calls before it used.
    let used = r#"{"claude-x":{"inputTokens":10,"outputTokens":1,"costUSD":0.01}}"#;
    let part = aborted.replace(r#""modelUsage":{}"#, &format!(r#""modelUsage":{used}"#));
    let events = claude(&format!("{}\n{part}", says("m1", "Well"))).play("hello").await;
    assert_eq!((end(&events), count(&events, "call")), ((None, Cost::Unknown), 1));
    // The tools of an answer are no call.
    let events = claude(&part.replace("aborted_streaming", "aborted_tools")).play("hello").await;
    assert_eq!(end(&events).0, Some((10, 1)));
    // It was asked, and nothing came yet.
    let events = claude(aborted).play("hello").await;
    assert_eq!(end(&events), (None, Cost::Unknown));
}

#[tokio::test]
async fn what_never_started_used_nothing() {
    let mut stage = Stage::new(Behaviour::default());
    stage.definition.command.splice(..1, ["no-such-program-as-this".to_owned()]);
    let events = stage.play("hello").await;
    assert_eq!(runs_of(&events)[0].1, Some((0, 0)));
    let Body::SessionEnd { cost, .. } = events.last().unwrap().body else { unreachable!() };
    assert_eq!(cost, Cost::Reported(junto_llm::Usd::ZERO));
}

#[tokio::test]
async fn who_closed_its_output_is_not_waited_for() {
    let script = [says("m1", "Hello"), result("Hello"), "exec 1>&-".to_owned(), "sleep 600".to_owned()];
    let mut stage = claude(&script.join("\n"));
    stage.host.patience.grace = Duration::from_millis(50);
    let events = stage.play("hello").await;
    assert_eq!(the_end(&events), (EndReason::Done, "Hello".to_owned()));
    assert_eq!(warnings(&events), [""; 0], "it was not waited for until it had been silent for too long");
}

#[tokio::test]
async fn who_is_killed_tells_its_end() {
    let stage = Stage::new(Behaviour::default().then(4, Fault::Hang));
    let agent = stage.agent().await;
    let mut reader = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: "hello".into() }).await.unwrap();
    until(&mut reader, |body| matches!(body, Body::AssistantTextStart {})).await;
    assert!(agent.kill());
    assert_eq!(agent.ended().await.reason, EndReason::Interrupted);
    let events = stage.end(agent).await;
    for name in ["run_end", "input_end", "session_end"] {
        assert_eq!(count(&events, name), 1, "{name}");
    }
}

#[tokio::test]
async fn who_is_not_signed_in_is_told_how() {
    let said = "echo 'When using Gemini API, you must specify the GEMINI_API_KEY environment variable.' >&2";
    let stage = Stage::scripted("gemini", &format!("cat >/dev/null\n{said}\nexit 41"));
    let events = stage.play("hello").await;
    let (_, _, exit, class) = runs_of(&events).remove(0);
    assert_eq!((exit, class.as_deref()), (Some(41), Some("not-signed-in")));
    let EndReason::Failed { error } = the_end(&events).0 else { unreachable!() };
    assert_eq!(error.hint, Some(stage.definition.sign_in.how.clone()));
}

#[tokio::test]
async fn a_codex_session_that_cannot_be_read_is_begun_anew() {
    let script = r#"cat >/dev/null
case "$*" in
*resume*) echo 'Error: thread/resume: thread/resume failed: rollout at /x.jsonl is empty' >&2; exit 1 ;;
esac
cat "$RECORDINGS/plain.jsonl""#;
    let stage = Stage::codex(script);
    let agent = stage.agent().await;
    assert_eq!(submit(&agent, "one").await, EndReason::Done);
    assert_eq!(submit(&agent, "two").await, EndReason::Done);
    assert_eq!(warnings(&stage.end(agent).await), ["resume_failed"]);
}
