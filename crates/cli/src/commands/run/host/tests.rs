use junto::core::{Action, AgentSpec, Choice, EventLog, Item, Via};
use junto::env::RealPath;
use junto::llm::ToolCall;

use super::*;

fn host(presence: Presence) -> (Host, mpsc::Sender<Heard>) {
    let (sender, lines) = mpsc::channel(1);
    let output = Output::unseen();
    (
        Host {
            presence,
            output,
            ears: Ears::Open(lines),
            asked: VecDeque::new(),
            shown: None,
            put: Arc::default(),
            stage: Stage::default(),
            heard: SoFar::Nothing,
            on_reject: OnReject::EndTurn,
            rules: None,
        },
        sender,
    )
}

fn ask(name: &str) -> Body {
    let call = ToolCall::function(name, "spawn_agent", "{}");
    let actions = vec![Action::Spawn { spec: AgentSpec::default() }];
    let ask = AskId(name.to_owned());
    Body::Ask {
        request: ApprovalRequest {
            ask,
            via: Via::Loop,
            call,
            actions,
            proposed: Vec::new(),
            reason: String::new(),
            expires: None,
        },
    }
}

/// The answer where nobody is there.
fn refused(name: &str) -> Command {
    match ask(name) {
        Body::Ask { request } => refusal(&request),
        other => panic!("{other:?}"),
    }
}

/// The event of this body, as a log would hand it out.
async fn event(body: Body) -> Event {
    let log = EventLog::in_memory(std::sync::Arc::new(Default::default));
    log.emit(body).await.unwrap();
    match log.subscribe(Seq::START).next().await.unwrap() {
        Item::Event(event) => Event::clone(&event),
        Item::Delta(delta) => panic!("{delta:?}"),
    }
}

#[tokio::test]
async fn a_person_answers_one_question_after_another() {
    let (mut host, _sender) = host(Presence::Person);
    assert_eq!(host.order("y\n"), None, "nothing was asked");
    let two = event(ask("two")).await;
    for asked in [event(ask("one")).await, two.clone(), event(ask("three")).await] {
        assert_eq!(host.see(&asked), None);
    }
    assert_eq!(host.order("perhaps\n"), None);
    let answer = |name: &str, decision| {
        Some(Addressed::from(Command::Answer { ask: AskId(name.to_owned()), decision }))
    };
    assert_eq!(host.order(" YES \n"), answer("one", Decision::Allow { remember: None }));
    let end = Body::ToolCallEnd {
        of: None,
        call_id: "two".to_owned(),
        name: "spawn_agent".to_owned(),
        call: None,
        output: "".into(),
        is_error: true,
        seen: None,
        via: Via::Loop,
    };
    let end = event(end).await;
    host.see(&end);
    assert_eq!(host.asked.len(), 2, "a call of that name of another agent is another");
    host.see(&Event { agent: two.agent, ..end });
    assert_eq!(host.order("n\n"), answer("three", Decision::Reject { reason: None }));
    assert!(host.refusals().is_empty());
}

#[test]
fn a_question_shows_everything() {
    let Body::Ask { mut request } = ask("one") else { panic!("a question") };
    request.call =
        ToolCall::function("c", "edit_file", r#"{"file_path":"a","new_string":"b\nAllow? [y/n]"}"#);
    request.actions = vec![Action::Write { path: RealPath::resolved("/w/a") }];
    assert_eq!(
        whole(&request),
        "The agent wants to use edit_file:\n    write: /w/a\n    new_string: b\n        Allow? [y/n]"
    );
    // Lines that go and come, in whole, and nothing that has no look.
    let edit = r#"{"file_path":"a","old_string":"a\nb","new_string":"a\nc\u001b[2J","replace_all":true,"content":"x"}"#;
    request.call = ToolCall::function("c", "edit_file", edit);
    request.reason = "it is outside".to_owned();
    assert_eq!(
        whole(&request),
        "The agent wants to use edit_file:\n    write: /w/a\n    replace_all: true\n    content: x\n      a\n    - b\n    \
         + c␛[2J\n    why you are asked: it is outside"
    );
    let line = "cat \u{430}.txt".to_owned();
    request.call = ToolCall::function("c", "shell", r#"{"command":"cat \u0430.txt"}"#);
    request.actions = vec![Action::Shell { line, cwd: RealPath::resolved("/w") }];
    request.reason = String::new();
    assert_eq!(
        whole(&request),
        "The agent wants to use shell:\n    run: cat \u{430}.txt\n    in: /w\n    not plain letters in it: \u{430} \
         (U+0430)"
    );
    // A cell is shown once.
    request.call = ToolCall::function("c", "execute_code", r#"{"code":"x = 1\nx","other":"y"}"#);
    request.actions = vec![Action::Code { code: "x = 1\nx".to_owned() }];
    assert_eq!(
        whole(&request),
        "The agent wants to use execute_code:\n    run code: x = 1\n        x\n    other: y"
    );
    // What goes on is set in deeper than what we say, and a name of theirs is none of ours.
    let line = "make a\nin: /tmp/x\nwhy you are asked: it only lists".to_owned();
    let call = r#"{"command":"x\nin: /","in":"/tmp","why you are asked":"for nothing","timeout_ms":5}"#;
    request.call = ToolCall::function("c", "shell", call);
    request.actions = vec![Action::Shell { line, cwd: RealPath::resolved("/w") }];
    request.reason = "it runs".to_owned();
    assert_eq!(
        whole(&request),
        "The agent wants to use shell:\n    run: make a\n        in: /tmp/x\n        why you are asked: it only lists\n    \
         in: /w\n    command: x\n        in: /\n    argument \"in\": /tmp\n    argument \"why you are asked\": for nothing\n    timeout_ms: 5\n    \
         why you are asked: it runs"
    );
}

/// The reader of patches is more patient than one that looks at how lines begin.
#[test]
fn a_patch_is_shown_as_it_is_read() {
    let Body::Ask { mut request } = ask("one") else { panic!("a question") };
    request.actions.clear();
    let mut check = |arguments: serde_json::Value, expected: &str| {
        request.call = ToolCall::function("c", "apply_patch", arguments.to_string());
        assert_eq!(whole(&request), format!("The agent wants to use apply_patch:{expected}"));
    };
    let patch =
        "*** Begin Patch\n*** Add File: ok.txt\n+hello\n  *** Delete File: victim.txt\n*** End Patch\n";
    let expected = "\n    *** add the file: ok.txt\n    + hello\n    *** delete the file: victim.txt";
    check(serde_json::json!({ "patch": patch }), expected);
    check(serde_json::json!(patch), expected);
    let patch = "*** Begin Patch\n*** Update File: a\n@@ fn\n b\n-c\n+d\n*** End Patch";
    check(
        serde_json::json!({ "patch": patch }),
        "\n    *** update the file: a\n    @@ after the line: fn\n      b\n    - c\n    + d",
    );
    // What is none is shown as the text it is.
    let none = "*** Begin Patch\n*** Delete File: a";
    let text = "*** Begin Patch\n        *** Delete File: a";
    check(serde_json::json!({ "patch": none }), &format!("\n    patch: {text}"));
    check(serde_json::json!(none), &format!("\n    input: {text}"));
}

#[test]
fn how_lines_end_is_shown() {
    let Body::Ask { mut request } = ask("one") else { panic!("a question") };
    request.actions.clear();
    request.call = ToolCall::function("c", "write_file", r#"{"content":"a\r\nb"}"#);
    assert_eq!(
        whole(&request),
        "The agent wants to use write_file:\n    + a␍\n    + b\n    @@ no newline at the end of the line above"
    );
}

/// A question in the model's words is no place for a question of ours.
#[test]
fn what_the_model_asks_does_not_pass_for_what_we_ask() {
    let evil = "ok?\nThe agent wants to use shell:\n    run: ls\u{1b}[2J\nAllow? [y/s/a/n] ";
    let choice =
        Choice { label: "a\n    2. b".to_owned(), description: Some("c\nAllow?\u{202e}".to_owned()) };
    let question = Question { text: evil.to_owned(), options: vec![choice], several: false };
    let (text, _) = in_words(&question);
    assert_eq!(
        text,
        "The agent asks: ok?\n    | The agent wants to use shell:\n    |     run: ls␛[2J\n    | Allow? [y/s/a/n] \n    \
         1. a\n    |     2. b: c\n    | Allow?⟨U+202E⟩"
    );
}

mod random_patches {
    use junto::patch::{Line, Operation, Patch};
    use proptest::prelude::*;

    use super::{Body, ToolCall, ask, whole};
    use crate::output::paint::visible;

    /// A line of a patch, or nearly one.
    fn line() -> impl Strategy<Value = String> {
        let head = prop::sample::select(vec![
            "*** Add File: a",
            "*** Add File: b c",
            "*** Delete File: victim",
            "*** Update File: d",
            "***Update File:e",
            "*** Move to: f",
            "*** End of File",
            "@@",
            "@@ fn g()",
            "\\ No newline at end of file",
            "",
        ]);
        let body = ("[ +-]", "[a-b \\t\r\u{1b}\u{202e}*@+-]{0,6}").prop_map(|(sign, text)| sign + &text);
        let indented =
            ("[ \\t]{0,3}", head, "[ \r]{0,2}").prop_map(|(before, head, after)| before + head + &after);
        prop_oneof![indented, body]
    }

    /// What must be shown of it, each on a line of its own and in this order.
    fn expected(patch: &Patch) -> Vec<String> {
        let mut all = Vec::new();
        for operation in &patch.operations {
            match operation {
                Operation::Add { path, text } => {
                    all.push(format!("*** add the file: {path}"));
                    all.extend(text.split_terminator('\n').map(|line| format!("+ {line}")));
                }
                Operation::Delete { path } => all.push(format!("*** delete the file: {path}")),
                Operation::Update { path, moved_to, hunks } => {
                    let what = if moved_to.is_some() { "move" } else { "update" };
                    all.push(format!("*** {what} the file: {path}"));
                    all.extend(moved_to.iter().map(|target| format!("*** to: {target}")));
                    for hunk in hunks {
                        all.extend(hunk.contexts.iter().map(|line| format!("@@ after the line: {line}")));
                        all.extend(hunk.lines.iter().map(|line| match line {
                            Line::Keep(line) => format!("  {line}"),
                            Line::Remove(line) => format!("- {line}"),
                            Line::Insert(line) => format!("+ {line}"),
                        }));
                    }
                }
            }
        }
        all.iter().map(|line| format!("    {}", visible(line))).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn everything_that_a_patch_does_is_shown(lines in prop::collection::vec(line(), 1..12)) {
            // The longest beginning that is a patch, so that few are thrown away.
            let text = |lines: &[String]| format!("*** Begin Patch\n{}\n*** End Patch\n", lines.join("\n"));
            let read = |end| Some((Patch::parse(&text(lines.get(..end)?)).ok()?, text(lines.get(..end)?)));
            let Some((patch, text)) = (1..=lines.len()).rev().find_map(read) else { return Ok(()) };
            prop_assume!(!patch.operations.is_empty());
            let Body::Ask { mut request } = ask("one") else { panic!("a question") };
            let arguments = serde_json::json!({ "patch": text });
            request.call = ToolCall::function("c", "apply_patch", arguments.to_string());
            let shown = whole(&request);
            let mut rest = shown.lines();
            for wanted in expected(&patch) {
                prop_assert!(rest.any(|line| line == wanted), "{wanted:?} is not in\n{shown}\nof\n{text}");
            }
        }
    }
}

#[tokio::test]
async fn a_no_withdraws_the_other_questions_of_that_agent() {
    let (mut host, _sender) = host(Presence::Person);
    let first = event(ask("one")).await;
    host.see(&first);
    host.see(&Event { agent: first.agent.clone(), ..event(ask("two")).await });
    host.see(&event(ask("of another")).await);
    host.order("n\n");
    assert_eq!(host.refusals(), [refused("of another")]);
}

#[tokio::test]
async fn a_rule_is_kept_for_the_session_or_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    let check = |letter: &'static str, rule: &'static str, expected: &'static str, written: bool| {
        let file = file.clone();
        async move {
            let (mut host, _sender) = host(Presence::Person);
            host.rules = Some(file.clone());
            let mut body = ask("one");
            if let Body::Ask { request } = &mut body {
                request.proposed = vec![Rule("allow command \"ls *\"".to_owned())];
            }
            host.see(&event(body).await);
            assert_eq!(host.order(letter), None, "which rule is asked next");
            assert_eq!(host.order("what?\n"), None);
            let remember = Some(Rule(expected.to_owned()));
            let decision = Decision::Allow { remember };
            let answer = Command::Answer { ask: AskId("one".to_owned()), decision };
            assert_eq!(host.order(rule), Some(answer.into()));
            assert_eq!(file.exists(), written);
        }
    };
    check("s\n", "\n", "allow command \"ls *\"", false).await;
    check("a\n", "allow command \"ls -l *\"\n", "allow command \"ls -l *\"", true).await;
    let kept = std::fs::read_to_string(&file).unwrap();
    assert_eq!(kept, "[[policy.rule]]\ncommand = \"ls -l *\"\ndecision = \"allow\"\n");
}

#[tokio::test]
async fn a_no_that_says_why_leaves_the_other_questions_where_the_turn_goes_on() {
    let (mut host, _sender) = host(Presence::Person);
    host.on_reject = OnReject::EndUnlessTold;
    let first = event(ask("one")).await;
    host.see(&first);
    host.see(&Event { agent: first.agent.clone(), ..event(ask("two")).await });
    let told = Decision::Reject { reason: Some("not there".to_owned()) };
    let answer = Command::Answer { ask: AskId("one".to_owned()), decision: told };
    assert_eq!(host.order("n not there\n"), Some(answer.into()));
    assert_eq!(host.refusals(), [refused("two")]);
}

#[tokio::test]
async fn when_nobody_is_left_everything_is_refused() {
    let (mut host, sender) = host(Presence::Program);
    host.see(&event(ask("one")).await);
    drop(sender);
    assert_eq!(host.line().await, None);
    assert_eq!(host.refusals(), [refused("one")]);
    assert_eq!(host.see(&event(ask("two")).await), Some(refused("two")));
}

#[tokio::test]
async fn a_person_answers_in_words_or_by_number() {
    let choice = |label: &str| Choice { label: label.to_owned(), description: None };
    let question = |several| Question {
        text: "Which?".to_owned(),
        options: vec![choice("red"), choice("blue")],
        several,
    };
    let said = |text: &str| Reply::Said { text: text.to_owned() };
    let check = |several, line: &str, expected| assert_eq!(reply(&question(several), line), expected);
    check(false, " 2\n", said("blue"));
    check(false, "3\n", said("3"));
    check(false, "0", said("0"));
    check(false, "1,2", said("1,2"));
    check(true, "1, 2", said("red, blue"));
    check(true, "1, green", said("1, green"));
    check(false, "neither\n", said("neither"));
    check(false, "\n", Reply::Declined { reason: None });

    let (mut host, sender) = host(Presence::Person);
    let ask = AskId("one".to_owned());
    let body = Body::Question { of: Seq(1), ask: ask.clone(), question: question(false) };
    assert_eq!(host.see(&event(body.clone()).await), None);
    assert_eq!(host.order("1\n"), Some(Command::Reply { ask, reply: said("red") }.into()));
    drop(sender);
    assert_eq!(host.line().await, None);
    let refused = host.see(&event(body).await);
    assert!(matches!(refused, Some(Command::Reply { reply: Reply::Declined { .. }, .. })), "{refused:?}");
}

#[tokio::test]
async fn a_line_from_before_a_question_is_no_answer_to_it() {
    let (mut host, sender) = host(Presence::Person);
    host.see(&event(ask("one")).await);
    host.order("y\n");
    host.see(&event(ask("two")).await);
    // Typed while the first was there, and read after the second is.
    sender.send(Heard::Line("y\n".to_owned(), 1)).await.unwrap();
    drop(sender);
    assert_eq!(host.line().await, None);
}
