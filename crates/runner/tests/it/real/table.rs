//! What everybody plays. A scenario says what a user would lose: the same words go in, and the same story
//! comes out, whoever works.

use std::time::Duration;

use junto_core::{Body, EndReason, Mode};
use junto_llm::{Allowance, Usd};
use junto_testkit::cast::Who;
use junto_twin::{After, Fault, RetryAfter, Step};

use super::stage::{Meanwhile, Played, Scenario, Server, Stage};

const ANSWER: &str = "Fine.";

/// The story of one answer.
const ONE_ANSWER: &[&str] = &[
    "session_start",
    "user_input",
    "assistant_text_start",
    "assistant_text_end",
    "input_end",
    "session_end",
];

/// A command that starts others, in sessions of their own too, says so, and does not end by itself. (One that
/// begins by sleeping is refused by claude.)
pub(crate) fn busy(pipe: &str) -> String {
    format!("(setsid sleep 600 &) ; sleep 600 & echo up > {pipe} ; wait")
}

/// An answer of some length. It does not repeat itself: gemini would take that for going in circles.
fn long_answer() -> String {
    let sheep: Vec<String> = (0..400).map(|number| format!("Sheep number {number} jumps.")).collect();
    sheep.join(" ")
}

/// A long answer with which something goes wrong in the middle.
fn breaking(fault: Fault) -> Step {
    Step { fault: Some(fault), ..Step::text(long_answer()).without_thinking() }
}

pub(crate) async fn plain_answer(who: Who) {
    let played = Stage::new(who).play(Scenario::new([Step::text(ANSWER)])).await;
    played.answered(&[ANSWER]).booked_as_told();
    assert_eq!(played.plot(), ONE_ANSWER);
}

pub(crate) async fn tool_rounds_change_files(who: Who) {
    let stage = Stage::new(who);
    let steps = [
        Step::calls([stage.write("made.txt", "one\n")]),
        Step::calls([who.shell("echo two >> made.txt; cat made.txt")]),
        Step::text(ANSWER),
    ];
    let played = stage.play(Scenario::new(steps)).await;
    played.answered(&[ANSWER]).booked_as_told();
    assert_eq!(stage.read("made.txt").as_deref(), Some("one\ntwo\n"));
    let round = ["tool_call_start", "tool_call_end"];
    let story = [&ONE_ANSWER[..2], &round, &round, &ONE_ANSWER[2..]].concat();
    assert_eq!(played.plot(), story);
    let failed =
        played.events.iter().any(|event| matches!(event.body, Body::ToolCallEnd { is_error: true, .. }));
    assert!(!failed, "{:#?}", played.events);
    assert_eq!(played.requests.len(), 3, "one for each round, and one for the answer");
    assert!(played.last_request().contains("one\\ntwo"), "the model saw what the command printed");
}

pub(crate) async fn three_runs_are_one_conversation(who: Who) {
    let steps = ["first", "second", "third"].map(Step::text);
    let inputs = ["My number is 4711.", "And hers is 4712.", "Whose are they?"].map(str::to_owned);
    let played = Stage::new(who).play(Scenario { inputs: inputs.to_vec(), ..Scenario::new(steps) }).await;
    played.answered(&["first", "second", "third"]).booked_as_told();
    let asked = played.last_request();
    for said in ["4711", "first", "4712", "second", "Whose"] {
        assert!(asked.contains(said), "{said} is forgotten");
    }
    if who.is_program() {
        let sessions = played.sessions();
        assert!(!sessions.is_empty());
        assert!(sessions.iter().all(|session| session == &sessions[0]), "{sessions:?}");
    }
}

pub(crate) async fn instructions_reach_the_model(who: Who) {
    let instructions = "Speak of the lighthouse at \"Ostend\" in every answer; C:\\new is a path.";
    let scenario =
        Scenario { instructions: Some(instructions.to_owned()), ..Scenario::new([Step::text(ANSWER)]) };
    let played = Stage::new(who).play(scenario).await;
    played.answered(&[ANSWER]);
    let asked = serde_json::to_string(instructions).unwrap();
    assert!(played.last_request().contains(asked.trim_matches('"')));
}

/// The model tries it whether or not it was told of such tools.
pub(crate) async fn read_only_refuses_to_write(who: Who) {
    let stage = Stage::new(who);
    let steps = [
        Step::calls([stage.write("made.txt", "one\n").undeclared()]),
        Step::calls([who.shell("echo two > made.txt").undeclared()]),
        Step::text(ANSWER),
    ];
    let played = stage.play(Scenario { mode: Mode::ReadOnly, ..Scenario::new(steps) }).await;
    assert_eq!(stage.read("made.txt"), None, "{:#?}", played.events);
    played.answered(&[ANSWER]);
}

pub(crate) async fn money_runs_out(who: Who) {
    // Each answer is said to take a million tokens, which is more than is there to spend.
    let mut step = Step::calls([who.shell("true")]);
    step.usage.input = Some(1_000_000);
    let allowance = Allowance::usd(Usd::from_dollars(1.0));
    let played = Stage::new(who).play(Scenario { allowance, ..Scenario::new([step]) }).await;
    let ends = played.ends();
    match who {
        // It looks at its own limit after each answer.
        Who::Claude => assert_eq!(ends[0].0, EndReason::Limit, "{ends:?}"),
        // Who looks before sees that the first may cost too much, or cannot be held to money at all.
        _ => assert!(matches!(ends[0].0, EndReason::Failed { .. } | EndReason::Limit), "{ends:?}"),
    }
    assert!(played.requests.len() <= 1, "nothing is asked for that cannot be paid");
}

pub(crate) async fn a_wrong_key_is_said_to_be_wrong(who: Who) {
    let played = Stage::new(who).play(Scenario { key: "wrong", ..Scenario::new([Step::text(ANSWER)]) }).await;
    let (kind, message) = played.failure();
    assert_eq!(kind, "authentication", "{message}");
    assert!(played.requests.len() <= 4, "it is not tried for minutes: {}", played.requests.len());
}

pub(crate) async fn too_many_requests_and_then_an_answer(who: Who) {
    let fault = Fault { retry_after: Some(RetryAfter::Seconds(1)), ..Fault::status(429).times(1) };
    let played =
        Stage::new(who).play(Scenario { fault: Some(fault), ..Scenario::new([Step::text(ANSWER)]) }).await;
    played.answered(&[ANSWER]).booked_as_told();
    assert_eq!(played.plot(), ONE_ANSWER);
    let answered: Vec<u16> = played.requests.iter().map(|request| request.status).collect();
    assert_eq!(answered, [429, 200]);
}

pub(crate) async fn a_storm_of_errors_ends(who: Who) {
    let fault = Some(Fault::status(500));
    let played = Stage::new(who).play(Scenario { fault, ..Scenario::new([Step::text(ANSWER)]) }).await;
    let (kind, message) = played.failure();
    assert_eq!(kind, "server", "{message}");
    assert!(played.requests.len() <= 10, "retries are few: {}", played.requests.len());
}

/// It is said soon, whatever they do until then.
pub(crate) async fn a_server_that_is_not_there(who: Who) {
    let scenario = Scenario { server: Server::Nobody, ..Scenario::new([Step::text(ANSWER)]) };
    let played = Stage::new(who).play(scenario).await;
    let (kind, message) = played.failure();
    assert_eq!(kind, "network", "{message}");
}

/// Once; who asks again gets the whole answer.
pub(crate) async fn an_answer_breaks_off(who: Who) {
    let fault = Fault { drop_after_bytes: Some(After(3000)), ..Fault::default() }.times(1);
    let played = Stage::new(who).play(Scenario::new([breaking(fault)])).await;
    match who {
        // What was handed on is not started over, and a cut stream is the end for gemini.
        Who::Native | Who::Gemini => drop(played.failure()),
        Who::Claude | Who::Codex => drop(played.answered(&[&long_answer()])),
    }
}

pub(crate) async fn a_silent_model_is_left(who: Who) {
    let fault = Fault { stall: Some(After(3000)), ..Fault::default() };
    let scenario = Scenario { idle: Duration::from_secs(8), ..Scenario::new([breaking(fault)]) };
    let played = Stage::new(who).play(scenario).await;
    let (kind, message) = played.failure();
    assert_eq!(kind, "timeout", "{message}");
    assert!(message.contains("idle"), "it says which clock ran out: {message}");
}

pub(crate) async fn interrupted_while_the_model_thinks(who: Who) {
    let fault = Fault { stall: Some(After(0)), ..Fault::default() };
    let scenario = Scenario { meanwhile: Meanwhile::InterruptTheModel, ..Scenario::new([breaking(fault)]) };
    interrupted(&Stage::new(who).play(scenario).await);
}

pub(crate) async fn interrupted_while_a_command_runs(who: Who) {
    let stage = Stage::new(who);
    let pipe = stage.pipe();
    let steps = [Step::calls([who.shell(&busy(pipe.to_str().unwrap()))]), Step::text(ANSWER)];
    let meanwhile = Meanwhile::InterruptTheCommand(pipe);
    let played = stage.play(Scenario { meanwhile, ..Scenario::new(steps) }).await;
    interrupted(&played);
    assert_eq!((played.count("tool_call_start"), played.count("tool_call_end")), (1, 1));
}

#[track_caller]
fn interrupted(played: &Played) {
    let ends = played.ends();
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0].0, EndReason::Interrupted, "{:?}", played.names());
}

pub(crate) async fn a_prompt_of_600_kilobytes(who: Who) {
    let prompt = format!("{}And this is its end.", "All work and no play. ".repeat(600_000 / 22));
    let played = told(who, &prompt).await;
    let asked = played.last_request();
    assert!(asked.len() > 600_000 && asked.contains("And this is its end."), "{}", asked.len());
}

pub(crate) async fn a_prompt_that_looks_like_an_option(who: Who) {
    let played = told(who, "--help me, -p please").await;
    assert!(played.last_request().contains("--help me, -p please"));
}

/// Whatever the pieces in which the answer comes.
pub(crate) async fn beyond_ascii(who: Who) {
    const TEXT: &str = "naïve Größe 東京 🦀👩‍👩‍👧 \u{301}e\u{301} ∑ ﷽";
    let steps: Vec<Step> = (1..=4).map(|chunk| Step { chunk: Some(chunk), ..Step::text(TEXT) }).collect();
    let inputs = vec![TEXT.to_owned(); steps.len()];
    let played = Stage::new(who).play(Scenario { inputs, ..Scenario::new(steps) }).await;
    played.answered(&[TEXT; 4]).booked_as_told();
    assert!(played.last_request().contains(TEXT));
}

/// Tells it something and gets the answer.
async fn told(who: Who, prompt: &str) -> Played {
    let inputs = vec![prompt.to_owned()];
    let played = Stage::new(who).play(Scenario { inputs, ..Scenario::new([Step::text(ANSWER)]) }).await;
    played.answered(&[ANSWER]).booked_as_told();
    assert_eq!(played.plot(), ONE_ANSWER);
    played
}

/// One home, one directory, one model: neither hears the other.
pub(crate) async fn two_side_by_side(who: Who) {
    let stage = Stage::new(who);
    let on = |text: &str| junto_twin::When { contains: Some(text.to_owned()), ..Default::default() };
    let steps = vec![Step::text("one").when(on("First")), Step::text("two").when(on("Second"))];
    let [first, second] = stage.play_both(Scenario::new(steps), ["First", "Second"]).await;
    assert_eq!((first.ends(), second.ends()), (done("one"), done("two")));
    if who.is_program() {
        assert_ne!(first.sessions(), second.sessions());
    }
}

fn done(text: &str) -> Vec<(EndReason, String)> {
    vec![(EndReason::Done, text.to_owned())]
}
