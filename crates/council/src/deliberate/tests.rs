//! What a council decides, with members that do as they are told.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use junto_llm::{
    CallCx, Error, ErrorKind, Finish, FinishReason, Provider, Request, Response, StreamEvent, ToolSpec, Usage,
};
use serde_json::json;

use crate::scripted::{Scripted, call, calls, text};
use crate::{Council, FanOut, Member, Options};

mod limits;
mod modes;
mod policy;
mod report;

/// A council of `a`, `b`, … and perhaps a judge.
struct Table {
    members: Vec<Arc<Scripted>>,
    judge: Option<Arc<Scripted>>,
    council: Council,
}

fn table_with<const N: usize>(members: [Scripted; N], judge: Option<Scripted>, options: Options) -> Table {
    let members: Vec<Arc<Scripted>> = members.into_iter().map(Arc::new).collect();
    let judge = judge.map(Arc::new);
    let seats = members.iter().zip(["a", "b", "c"]).map(|(m, name)| Member::new(name, m.clone())).collect();
    let bench = judge.clone().map(|judge| Member::new("judge", judge));
    let council = Council::new(seats, bench, options).unwrap();
    Table { members, judge, council }
}

fn table<const N: usize>(members: [Scripted; N], judge: Option<Scripted>) -> Table {
    table_with(members, judge, all())
}

/// Everybody is always asked.
fn all() -> Options {
    Options { fan_out: FanOut::Always, ask: 3, ..Options::default() }
}

/// A line without what it says about time and tokens.
fn short(line: &str) -> &str {
    line.split_once(" (").map_or(line, |(line, _)| line)
}

fn ask() -> Request {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    Request::prompt("?").tools(["f", "g"].map(|name| ToolSpec::new(name, "", schema.clone()).unwrap()))
}

/// What the calls of an answer used together, in and out, which is what the answer says it used.
fn tokens(usage: &Usage) -> (u64, u64) {
    let sum = usage.calls.iter().fold(Usage::default(), |sum, call| &sum + &call.usage);
    assert_eq!((sum.input, sum.output), (usage.input, usage.output));
    (usage.input, usage.output)
}

fn judge(verdict: &str) -> Scripted {
    Scripted::answers(text(verdict))
}

fn error(kind: ErrorKind, message: &str) -> Error {
    Error::new(kind, message)
}

impl Table {
    async fn complete(&self) -> Result<Response, Error> {
        self.council.complete(ask(), &CallCx::new()).await
    }

    /// The lines of narration, and the answer.
    async fn narrated(&self) -> (Vec<String>, Result<Response, Error>) {
        let mut events = self.council.stream(ask(), &CallCx::new()).await.unwrap();
        let mut lines = Vec::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(StreamEvent::Progress { text }) => lines.push(text),
                Ok(StreamEvent::Finish { response, .. }) => return (lines, Ok(*response.unwrap())),
                Ok(_) => {}
                Err(error) => return (lines, Err(error)),
            }
        }
        panic!("no end after {lines:?}");
    }
}

#[tokio::test]
async fn agreement_needs_no_judge() {
    let same = || Scripted::answers(calls(&[("f", r#"{"n": 1}"#), ("g", "{}")]));
    let table = table([same(), same()], Some(judge(r#"{"index": 1}"#)));
    let (lines, response) = table.narrated().await;
    let response = response.unwrap();
    assert_eq!(response.message, calls(&[("f", r#"{"n": 1}"#), ("g", "{}")]).message);
    assert_eq!((response.provider.as_str(), response.model.as_str()), ("council", "council"));
    assert_eq!(tokens(&response.usage), (20, 10));
    assert_eq!(table.judge.as_ref().unwrap().asked(), 0);
    let short: Vec<&str> = lines.iter().map(|line| short(line)).collect();
    assert_eq!(short, ["asking a, b", "a proposes f, g", "b proposes f, g", "all 2 agree: taking a"]);
    assert_eq!(lines[1], "a proposes f, g (0.0s, 10 tokens in, 5 out)");
}

#[tokio::test]
async fn the_judge_names_an_index_and_the_proposal_stays_as_it_is() {
    let chosen = calls(&[("g", r#"{ "n" :2 }"#), ("f", "{}")]);
    let members = [Scripted::answers(text("No need.")), Scripted::answers(chosen.clone())];
    let table = table(members, Some(judge(r#"{"index": 1, "reason": "it looks"}"#)));
    let (lines, response) = table.narrated().await;
    let response = response.unwrap();
    assert_eq!((response.message, response.finish_reason), (chosen.message, chosen.finish_reason));
    assert_eq!(tokens(&response.usage), (30, 15), "the judge's too");
    assert_eq!(lines[3..], ["they differ: asking judge to choose", "judge chose b: it looks"]);
}

#[tokio::test]
async fn a_judge_that_fails_leaves_the_first() {
    let members = || [Scripted::answers(text("one")), Scripted::answers(text("two"))];
    let broken = error(ErrorKind::Server, "down");
    for (judge, part) in [
        (Some(Scripted::fails(broken)), "down"),
        (Some(judge(r#"{"index": 2}"#)), "there are 2"),
        (Some(judge("hm")), "not the object"),
        (None, "no judge"),
    ] {
        let has_judge = judge.is_some();
        let (lines, response) = table(members(), judge).narrated().await;
        let response = response.unwrap();
        assert_eq!(response.text(), "one");
        let last = lines.last().unwrap();
        assert!(last.contains(part) && last.contains("taking a"), "{last}");
        assert_eq!(response.warnings.iter().any(|w| w.code == "judge_failed"), has_judge);
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_judge_is_not_waited_for() {
    let members = [Scripted::answers(text("one")), Scripted::answers(text("two"))];
    let table = table(members, Some(Scripted::hangs()));
    let response = table.complete().await.unwrap();
    assert_eq!(response.text(), "one");
    assert!(response.warnings[0].message.contains("judge timeout"));
    assert!(table.judge.unwrap().dropped.is_cancelled());
}

#[tokio::test]
async fn members_that_fail_or_err_are_left_out_and_named() {
    let members = [
        Scripted::fails(error(ErrorKind::Server, "down")),
        Scripted::answers(call("unknown", "{}")),
        Scripted::answers(call("f", r#"{"n": 3}"#)),
    ];
    let table = table(members, Some(judge(r#"{"index": 0}"#)));
    let (lines, response) = table.narrated().await;
    let response = response.unwrap();
    assert_eq!(response.message, call("f", r#"{"n": 3}"#).message);
    assert_eq!(table.judge.as_ref().unwrap().asked(), 0, "one survivor needs no judge");
    assert!(lines.contains(&"a is left out: down".to_owned()), "{lines:?}");
    assert!(lines.contains(&"b is left out: there is no tool named `unknown`".to_owned()), "{lines:?}");
    let warned: Vec<&str> = response.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(warned, ["a: down", "b: there is no tool named `unknown`"]);
    assert_eq!(tokens(&response.usage), (20, 10), "the dropped proposal was paid for");
}

#[tokio::test]
async fn refusals_count_only_if_all_refuse() {
    let refusal = || Response { finish_reason: FinishReason::new(Finish::ContentFilter), ..text("No.") };
    let one = table([Scripted::answers(refusal()), Scripted::answers(text("Yes."))], None);
    assert_eq!(one.complete().await.unwrap().text(), "Yes.");
    let all = table([Scripted::answers(refusal()), Scripted::answers(refusal())], None);
    assert_eq!(all.complete().await.unwrap().finish_reason.unified, Finish::ContentFilter);
}

#[tokio::test]
async fn when_all_fail_that_is_an_error() {
    let members = [
        Scripted::fails(error(ErrorKind::Authentication, "no key")),
        Scripted::breaks(Usage::new(1, 0), error(ErrorKind::RateLimit, "too fast").with_status(429)),
    ];
    let table = table(members, None);
    let (lines, response) = table.narrated().await;
    let failed = response.unwrap_err();
    assert_eq!((failed.kind(), failed.status()), (ErrorKind::RateLimit, Some(429)));
    assert!(failed.message().contains("a: no key; b: too fast"), "{failed}");
    assert_eq!(lines.len(), 3, "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn stragglers_are_left_behind() {
    let members = [
        Scripted::hangs(),
        Scripted::answers(text("soon")),
        Scripted::answers(text("soon")).after(Duration::from_secs(20)),
    ];
    let options = Options { straggler: Duration::from_secs(30), ..all() };
    let table = table_with(members, None, options);
    let began = tokio::time::Instant::now();
    let response = table.complete().await.unwrap();
    assert_eq!(response.text(), "soon");
    assert_eq!(began.elapsed().as_secs(), 30);
    assert_eq!(tokens(&response.usage), (20, 10));
    assert!(response.warnings[0].message.starts_with("a: no answer within 30s"), "{:?}", response.warnings);
    assert!(table.members[0].dropped.is_cancelled(), "its call was dropped");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_used_hurries_nobody() {
    let members = [
        Scripted::answers(call("unknown", "{}")),
        Scripted::answers(text("late")).after(Duration::from_secs(90)),
    ];
    assert_eq!(table(members, None).complete().await.unwrap().text(), "late");
}

#[tokio::test]
async fn members_get_the_request_as_it_is_one_deeper() {
    let table = table([Scripted::answers(text("x")), Scripted::answers(text("x"))], None);
    let request = ask().model("council").provider("council").max_tokens(9);
    table.council.complete(request.clone(), &CallCx::new()).await.unwrap();
    for member in &table.members {
        let seen = member.requests.lock().unwrap().clone();
        assert_eq!(seen, [(Request { model: None, provider: None, ..request.clone() }, 1)]);
    }
}

#[tokio::test]
async fn cancelling_and_dropping_end_every_member() {
    let table = table([Scripted::hangs(), Scripted::hangs()], None);
    let cx = CallCx::new();
    let (result, ()) = tokio::join!(table.council.complete(ask(), &cx), async { cx.cancel.cancel() });
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Aborted);

    let dropped = self::table([Scripted::hangs(), Scripted::hangs()], None);
    let mut events = dropped.council.stream(ask(), &CallCx::new()).await.unwrap();
    // The start, the first line, and one poll more so that both members are at work.
    assert!(matches!(events.next().await, Some(Ok(StreamEvent::StreamStart { .. }))));
    assert!(matches!(events.next().await, Some(Ok(StreamEvent::Progress { .. }))));
    assert!(futures_util::poll!(events.next()).is_pending());
    assert!(!dropped.members[0].dropped.is_cancelled());
    drop(events);
    assert!(dropped.members.iter().all(|member| member.dropped.is_cancelled()));
}

#[tokio::test]
async fn a_council_can_be_a_member_and_its_narration_is_heard() {
    let inner = table([Scripted::answers(text("x")), Scripted::answers(text("x"))], None);
    let single = Arc::new(Scripted::answers(text("x")));
    let seats = vec![Member::new("inner", Arc::new(inner.council)), Member::new("single", single)];
    let outer = Council::new(seats, None, Options { name: "outer".into(), ..all() }).unwrap();
    let mut events = outer.stream(ask(), &CallCx::new()).await.unwrap();
    let mut lines = Vec::new();
    let mut whole = None;
    while let Some(event) = events.next().await {
        match event.unwrap() {
            StreamEvent::Progress { text } => lines.push(text),
            StreamEvent::Finish { response, .. } => whole = response,
            _ => {}
        }
    }
    let whole = whole.unwrap();
    assert_eq!((whole.text().as_str(), whole.model.as_str()), ("x", "outer"));
    assert_eq!(tokens(&whole.usage), (30, 15));
    assert!(lines.contains(&"inner: all 2 agree: taking a".to_owned()), "{lines:?}");
    assert_eq!(inner.members[0].requests.lock().unwrap()[0].1, 2, "two deep");
}

#[tokio::test]
async fn nesting_has_an_end() {
    let mut provider: Arc<dyn Provider> = Arc::new(Scripted::answers(text("x")));
    for _ in 0..4 {
        let seats = vec![Member::new("m", provider)];
        provider = Arc::new(Council::new(seats, None, Options::default()).unwrap());
    }
    assert_eq!(provider.complete(ask(), &CallCx::new()).await.unwrap().text(), "x");
    let seats = vec![Member::new("m", provider)];
    let deeper = Council::new(seats, None, Options::default()).unwrap();
    let failed = deeper.complete(ask(), &CallCx::new()).await.unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Configuration);
    assert!(failed.message().contains("nested more than 4 deep"), "{failed}");
    let cx = CallCx { depth: 4, ..CallCx::new() };
    assert_eq!(deeper.stream(ask(), &cx).await.unwrap_err().kind(), ErrorKind::Configuration);
}

#[test]
fn a_council_needs_members_with_names_of_their_own() {
    let member = |name: &str| Member::new(name, Arc::new(Scripted::answers(text(""))));
    let check = |members: Vec<Member>, part: &str| {
        let failed = Council::new(members, None, Options::default()).unwrap_err();
        assert!(failed.message().contains(part), "{failed}");
    };
    check(Vec::new(), "not 0");
    check((0..17).map(|n| member(&n.to_string())).collect(), "not 17");
    check(vec![member("a"), member("b"), member("a")], "`a`");
}
