//! When several are asked, and who answers alone.

use junto_llm::{Chore, Message, Traffic};

use super::*;
use crate::scripted::results;
use crate::{Decision, Report, Why};

/// Asks a council of two and says how many were asked, and why.
async fn decided(options: Options, triage: Option<Scripted>, request: Request) -> (Vec<usize>, Decision) {
    let decision = Arc::new(std::sync::Mutex::new(None));
    let told = decision.clone();
    let report = Report::new(move |d| *told.lock().unwrap() = Some(d.fan_out));
    let options = Options { report: Some(report), ..options };
    let same = || Scripted::answers(text("x"));
    let table = table_with([same(), same()], None, options);
    let mut council = table.council.clone();
    if let Some(triage) = triage {
        council = council.triage(Member::new("triage", Arc::new(triage)));
    }
    council.complete(request, &CallCx::new()).await.unwrap();
    let asked = table.members.iter().map(|member| member.asked()).collect();
    let decision = decision.lock().unwrap().unwrap();
    (asked, decision)
}

#[tokio::test]
async fn triage_has_the_last_word_and_fails_closed() {
    let auto = || Options { fan_out: FanOut::Auto, ..Options::default() };
    let check = async |triage: Option<Scripted>, text: &str, expected: (Vec<usize>, Decision)| {
        assert_eq!(decided(auto(), triage, Request::prompt(text)).await, expected, "{text}");
    };
    let says = |word: &str| Some(Scripted::answers(text(word)));
    let (both, one) = (vec![1, 1], vec![1, 0]);
    check(says("fan-out"), "Why?", (both.clone(), Decision::FanOut(Why::Triage))).await;
    check(says("single"), "Why?", (one.clone(), Decision::Single(Why::Triage))).await;
    check(says("hm"), "Why?", (one.clone(), Decision::Single(Why::TriageFailed))).await;
    let broken = Scripted::fails(error(ErrorKind::Server, "down"));
    check(Some(broken), "Why?", (one.clone(), Decision::Single(Why::TriageFailed))).await;
    check(None, "Why?", (both, Decision::FanOut(Why::Signal))).await;
    let unasked = Scripted::fails(error(ErrorKind::Server, "must not be asked"));
    check(Some(unasked), "Hi", (one, Decision::Single(Why::Plain))).await;
}

#[tokio::test(start_paused = true)]
async fn triage_that_says_nothing_is_not_waited_for() {
    let auto = Options { fan_out: FanOut::Auto, ..Options::default() };
    let (_, decision) = decided(auto, Some(Scripted::hangs()), Request::prompt("Why?")).await;
    assert_eq!(decision, Decision::Single(Why::TriageFailed));
}

#[tokio::test]
async fn a_continuation_is_the_first_members() {
    let (asked, decision) = decided(all(), None, results("Why?")).await;
    assert_eq!((asked, decision), (vec![1, 0], Decision::Single(Why::Continuation)));
}

#[tokio::test]
async fn alone_a_member_that_fails_is_replaced_before_it_was_heard() {
    let members = [
        Scripted::fails(error(ErrorKind::Server, "down")),
        Scripted::answers(call("unknown", "{}")),
        Scripted::answers(text("third")),
    ];
    let table = table_with(members, None, Options { fan_out: FanOut::Never, ..Options::default() });
    let (lines, response) = table.narrated().await;
    let response = response.unwrap();
    assert_eq!((response.text().as_str(), response.warnings.len()), ("third", 2));
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(tokens(&response.usage), (20, 10));
}

#[tokio::test]
async fn what_was_heard_is_not_said_again_by_another() {
    // It speaks, and then calls a tool that is not there.
    let mut broken = call("unknown", "{}");
    broken.message.content.insert(0, junto_llm::Part::text("Let me see."));
    let members = [Scripted::answers(broken), Scripted::answers(text("unasked"))];
    let table = table_with(members, None, Options { fan_out: FanOut::Never, ..Options::default() });
    let items: Vec<_> = table.council.stream(ask(), &CallCx::new()).await.unwrap().collect().await;
    let failed = items.last().unwrap().as_ref().unwrap_err();
    assert!(failed.is_after_content() && failed.kind() == ErrorKind::InvalidToolCall, "{failed}");
    let is_call = |item: &Result<StreamEvent, Error>| matches!(item, Ok(StreamEvent::ToolCallStart { .. }));
    assert!(!items.iter().any(is_call), "nobody saw the call: {items:?}");
    assert_eq!(table.members[1].asked(), 0);
}

#[tokio::test]
async fn chores_go_to_the_exact_model_without_directive_and_framing() {
    let [opus, haiku, other] = [(); 3].map(|()| Arc::new(Scripted::answers(text("x"))));
    let seats = || {
        vec![
            Member::new("opus", opus.clone()).model("claude-opus-5-5").framing("Think."),
            Member::new("haiku", haiku.clone()).model("claude-haiku-4-5").framing("Think."),
        ]
    };
    let options = || Options { directive: Some("Be thorough.".into()), ..all() };
    let council = Council::new(seats(), None, options()).unwrap();
    let chore = |model: &str| Request::prompt("Why?").model(model);
    let cx = CallCx::new();
    council.complete(chore("claude-haiku-4-5"), &cx).await.unwrap();
    assert_eq!((opus.asked(), haiku.asked()), (0, 1));
    assert_eq!(haiku.requests.lock().unwrap()[0].0, chore("claude-haiku-4-5"), "nothing is added");

    council.complete(chore("gpt-6-mini"), &cx).await.unwrap();
    assert_eq!((opus.asked(), haiku.asked()), (1, 1), "nobody has it: the first, with its own");
    assert_eq!(opus.requests.lock().unwrap()[0].0, chore("claude-opus-5-5"));

    let council = council.chores(Member::new("chores", other.clone()));
    council.complete(chore("gpt-6-mini"), &cx).await.unwrap();
    assert_eq!(other.requests.lock().unwrap()[0].0, chore("gpt-6-mini"));

    // By what the host says, a chore may name the council itself.
    let cx = CallCx { traffic: Traffic::Background(Chore::Title), ..CallCx::new() };
    council.complete(Request::prompt("Why?").model("council"), &cx).await.unwrap();
    assert_eq!((opus.asked(), other.asked()), (2, 1));
}

#[tokio::test]
async fn directive_and_framing_are_all_that_differs() {
    let [a, b] = [(); 2].map(|()| Arc::new(Scripted::answers(text("x"))));
    let seats = vec![Member::new("a", a.clone()).framing("As a critic."), Member::new("b", b.clone())];
    let options = Options { directive: Some("Be thorough.".into()), ..all() };
    let council = Council::new(seats, None, options).unwrap();
    let request = Request { messages: [Message::system("S"), Message::user("?")].into(), ..ask() };
    council.complete(request.clone(), &CallCx::new()).await.unwrap();
    for (member, told) in [(a, "As a critic.\n\nBe thorough."), (b, "Be thorough.")] {
        let (mut sent, _) = member.requests.lock().unwrap()[0].clone();
        assert_eq!(sent.messages.remove(1), Message::system(told));
        assert_eq!(sent, request);
    }
}
