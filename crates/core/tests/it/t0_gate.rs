//! Nothing runs without a permit, and a permit comes only after the start is in the journal.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use junto_core::{
    Action, ApprovalRequest, AskId, BlobId, Body, Decision, Durability, Event, EventLog, Fut, Gate, Item,
    Journal, JournalError, Leash, MemoryJournal, Open, Policy, Rejected, Rule, Seq, Verdict, Via,
};
use junto_env::RealPath;
use junto_llm::{SessionId, ToolCall};
use serde_json::json;
use tokio_util::sync::CancellationToken;

struct Fixed(Verdict);

impl Policy for Fixed {
    fn decide(&self, _actions: &[Action]) -> Verdict {
        self.0.clone()
    }
}

fn log() -> EventLog {
    EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH))
}

fn call() -> ToolCall {
    ToolCall::function("c1", "shell", "{\"command\":\"ls\"}")
}

fn actions() -> Vec<Action> {
    vec![Action::Tool { name: "shell".into(), args: json!({}) }]
}

/// The question, once it is asked.
async fn asked(log: &EventLog) -> AskId {
    let mut reader = log.subscribe(Seq::START);
    loop {
        if let Item::Event(event) = reader.next().await.unwrap()
            && let Body::Ask { request } = &event.body
        {
            return request.ask.clone();
        }
    }
}

async fn names(log: &EventLog) -> Vec<&'static str> {
    log.subscribe(Seq::START).rest().await.unwrap().iter().map(|e| e.body.name()).collect()
}

/// Keeps how safe what was appended had to be.
#[derive(Default)]
struct Watching {
    journal: MemoryJournal,
    asked: Mutex<Vec<Durability>>,
}

impl Journal for Watching {
    fn append<'a>(&'a self, events: &'a [Event], d: Durability) -> Fut<'a, Result<(), JournalError>> {
        self.asked.lock().unwrap().push(d);
        self.journal.append(events, d)
    }

    fn read(&self, from: Seq, max: usize) -> Fut<'_, Result<Vec<Event>, JournalError>> {
        self.journal.read(from, max)
    }

    fn extend_blob<'a>(&'a self, blob: &'a BlobId, piece: Bytes) -> Fut<'a, Result<(), JournalError>> {
        self.journal.extend_blob(blob, piece)
    }

    fn read_blob<'a>(
        &'a self,
        blob: &'a BlobId,
        from: u64,
        max: usize,
    ) -> Fut<'a, Result<Vec<u8>, JournalError>> {
        self.journal.read_blob(blob, from, max)
    }
}

/// A call that may change something runs once its start is safe on the disk; one that only reads does not wait.
#[tokio::test]
async fn what_only_reads_does_not_wait_for_the_disk() {
    let path = || RealPath::resolved("/w/a");
    let check = async |actions: Vec<Action>, expected| {
        let journal = Arc::new(Watching::default());
        let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
        let log = EventLog::new(SessionId("s".into()), Arc::clone(&journal) as _, Seq(0), clock);
        let gate = Gate::new(Arc::new(Open), log.clone());
        gate.pass(call(), actions.clone(), Via::Loop, &CancellationToken::new()).await.unwrap();
        assert_eq!(names(&log).await, ["tool_call_start"]);
        assert_eq!(journal.asked.lock().unwrap().last(), Some(&expected), "{actions:?}");
    };
    check(vec![Action::Read { path: path() }], Durability::Soon).await;
    check(vec![Action::Read { path: path() }, Action::ReadAll { path: path() }], Durability::Soon).await;
    check(vec![Action::Read { path: path() }, Action::Write { path: path() }], Durability::Synced).await;
    check(actions(), Durability::Synced).await;
    // Whatever says nothing of what it does.
    check(Vec::new(), Durability::Synced).await;
}

#[tokio::test]
async fn an_allowed_call_is_in_the_journal_before_it_runs() {
    let log = log();
    let gate = Gate::new(Arc::new(Open), log.clone());
    let permit = gate.pass(call(), actions(), Via::Loop, &CancellationToken::new()).await.unwrap();
    assert_eq!((permit.call(), permit.start()), (&call(), Seq(1)));
    assert_eq!(permit.actions(), actions());
    assert_eq!(names(&log).await, ["tool_call_start"]);
}

#[tokio::test]
async fn a_denied_call_never_starts() {
    let log = log();
    let gate = Gate::new(Arc::new(Fixed(Verdict::Deny { reason: "no net".into() })), log.clone());
    let rejected = gate.pass(call(), actions(), Via::Cell, &CancellationToken::new()).await.unwrap_err();
    assert_eq!(rejected, Rejected::Denied("no net".into()));
    assert!(rejected.message().contains("no net"));
    assert!(names(&log).await.is_empty());
}

#[tokio::test]
async fn a_question_waits_for_its_answer() {
    for (decision, allowed) in [
        (Decision::Allow { remember: None }, true),
        (Decision::Reject { reason: Some("later".into()) }, false),
    ] {
        let log = log();
        let gate =
            Gate::new(Arc::new(Fixed(Verdict::Ask { proposed: vec![], reason: String::new() })), log.clone());
        let never = CancellationToken::new();
        let (result, ()) = tokio::join!(gate.pass(call(), actions(), Via::Loop, &never), async {
            let ask = asked(&log).await;
            assert!(gate.answer(&AskId::fresh(), decision.clone()).is_err(), "a question nobody asked");
            gate.answer(&ask, decision.clone()).unwrap();
            assert!(gate.answer(&ask, decision.clone()).is_err(), "answered already");
        });
        assert_eq!(result.is_ok(), allowed);
        let expected: &[&str] =
            if allowed { &["ask", "answered", "tool_call_start"] } else { &["ask", "answered"] };
        assert_eq!(names(&log).await, expected);
    }
}

#[tokio::test]
async fn a_cancelled_or_dropped_wait_withdraws_the_question() {
    let log = log();
    let gate =
        Gate::new(Arc::new(Fixed(Verdict::Ask { proposed: vec![], reason: String::new() })), log.clone());
    let cancel = CancellationToken::new();
    let (result, ask) = tokio::join!(gate.pass(call(), actions(), Via::Loop, &cancel), async {
        let ask = asked(&log).await;
        cancel.cancel();
        ask
    });
    assert_eq!(result.unwrap_err(), Rejected::Cancelled);
    assert!(gate.answer(&ask, Decision::Allow { remember: None }).is_err());
}

/// Asks about everything until it has learned a rule with the call's tool in it.
#[derive(Default)]
struct Pupil(Mutex<Vec<String>>);

impl Policy for Pupil {
    fn decide(&self, actions: &[Action]) -> Verdict {
        let learned = self.0.lock().unwrap();
        let known = actions.iter().all(|action| match action {
            Action::Tool { name, .. } => learned.contains(name),
            _ => false,
        });
        if known {
            return Verdict::Allow(Leash::Kept);
        }
        let proposed = vec![Rule("shell".to_owned())];
        Verdict::Ask { proposed, reason: "it is new".to_owned() }
    }

    fn learn(&self, rule: &Rule) -> Result<(), String> {
        if rule.0.contains(' ') {
            return Err("a rule is one word".to_owned());
        }
        self.0.lock().unwrap().push(rule.0.clone());
        Ok(())
    }
}

fn remembering(rule: &str) -> Decision {
    Decision::Allow { remember: Some(Rule(rule.to_owned())) }
}

#[tokio::test]
async fn what_somebody_said_yes_to_is_loose_and_what_the_policy_allows_is_not() {
    let log = log();
    let gate = Gate::new(Arc::new(Pupil::default()), log.clone());
    let never = CancellationToken::new();
    let (asked_about, ()) = tokio::join!(gate.pass(call(), actions(), Via::Loop, &never), async {
        gate.answer(&asked(&log).await, remembering("shell")).unwrap();
    });
    assert_eq!(asked_about.unwrap().leash(), Leash::Loose);
    let learned = gate.pass(call(), actions(), Via::Loop, &never).await.unwrap();
    assert_eq!(learned.leash(), Leash::Kept);
    assert_eq!(names(&log).await, ["ask", "answered", "tool_call_start", "tool_call_start"]);
}

#[tokio::test]
async fn a_policy_says_what_a_yes_is_worth() {
    struct Strict;
    impl Policy for Strict {
        fn decide(&self, _: &[Action]) -> Verdict {
            Verdict::Ask { proposed: vec![], reason: String::new() }
        }

        fn yes(&self) -> Leash {
            Leash::Kept
        }
    }
    let log = log();
    let gate = Gate::new(Arc::new(Strict), log.clone());
    let never = CancellationToken::new();
    let (permit, ()) = tokio::join!(gate.pass(call(), actions(), Via::Loop, &never), async {
        gate.answer(&asked(&log).await, Decision::Allow { remember: None }).unwrap();
    });
    assert_eq!(permit.unwrap().leash(), Leash::Kept);
}

/// The question stays open, so that whoever answers can answer again.
#[tokio::test]
async fn a_rule_that_cannot_be_kept_is_no_answer() {
    let log = log();
    let gate = Gate::new(Arc::new(Pupil::default()), log.clone());
    let never = CancellationToken::new();
    let (permit, ()) = tokio::join!(gate.pass(call(), actions(), Via::Loop, &never), async {
        let ask = asked(&log).await;
        let error = gate.answer(&ask, remembering("allow everything")).unwrap_err();
        assert!(error.to_string().contains("a rule is one word"), "{error}");
        let elsewhere = gate.answer(&AskId::fresh(), remembering("shell"));
        assert!(
            elsewhere.is_err() && gate.would_ask("shell", &actions()),
            "nobody asked, and nothing was learned"
        );
        gate.answer(&ask, remembering("other\nshell\n")).unwrap();
    });
    assert!(permit.is_ok());
    assert!(!gate.would_ask("shell", &actions()), "each line is a rule");
}

#[tokio::test]
async fn a_rule_answers_the_other_questions_that_it_is_about() {
    let log = log();
    let gate = Gate::new(Arc::new(Pupil::default()), log.clone());
    let never = CancellationToken::new();
    let other = vec![Action::Tool { name: "other".into(), args: json!({}) }];
    let stop = CancellationToken::new();
    let (one, two, three, ()) = tokio::join!(
        gate.pass(call(), actions(), Via::Loop, &never),
        gate.pass(call(), actions(), Via::Loop, &never),
        gate.pass(call(), other, Via::Loop, &stop),
        async {
            let mut reader = log.subscribe(Seq::START);
            let mut asks = Vec::new();
            while asks.len() < 3 {
                if let Item::Event(event) = reader.next().await.unwrap()
                    && let Body::Ask { request } = &event.body
                {
                    asks.push(request.ask.clone());
                }
            }
            gate.answer(&asks[0], remembering("shell")).unwrap();
            let mut starts = 0;
            while starts < 2 {
                if let Item::Event(event) = reader.next().await.unwrap() {
                    starts += usize::from(matches!(event.body, Body::ToolCallStart { .. }));
                }
            }
            stop.cancel();
        }
    );
    assert_eq!(one.unwrap().leash(), Leash::Loose);
    assert_eq!(two.unwrap().leash(), Leash::Kept, "the rule says how far it may go");
    assert_eq!(three.unwrap_err(), Rejected::Cancelled, "the rule is not about this one");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_in_time_is_a_no() {
    let log = log();
    let gate = Gate::new(Arc::new(Pupil::default()), log.clone()).patient(Some(Duration::from_secs(90)));
    let rejected = gate.pass(call(), actions(), Via::Loop, &CancellationToken::new()).await.unwrap_err();
    assert!(matches!(&rejected, Rejected::Unanswered(Some(why)) if why.contains("in time")), "{rejected:?}");
    let events = log.subscribe(Seq::START).rest().await.unwrap();
    let Body::Ask { request } = &events[0].body else { panic!("{events:?}") };
    assert_eq!(request.expires, Some("1970-01-01T00:01:30Z".parse().unwrap()));
    assert_eq!((request.reason.as_str(), request.proposed.len()), ("it is new", 1));
    let Body::Answered { decision, .. } = &events[1].body else { panic!("{events:?}") };
    assert!(matches!(decision, Decision::Unanswered { .. }));
    assert!(gate.answer(&request.ask, remembering("shell")).is_err(), "it is too late");
}

/// What was decided before holds for exactly what was shown, and once.
#[tokio::test]
async fn a_recalled_yes_is_for_what_was_shown() {
    let log = log();
    let gate = Gate::new(Arc::new(Pupil::default()), log.clone());
    let request = ApprovalRequest {
        ask: AskId::fresh(),
        via: Via::Loop,
        call: call(),
        actions: actions(),
        proposed: vec![],
        reason: String::new(),
        expires: None,
    };
    let write = Action::Write { path: junto_env::RealPath::resolved("/w/a") };
    let changes = ApprovalRequest { actions: vec![write.clone()], ..request.clone() };
    gate.recall(request, Decision::Allow { remember: None });
    gate.recall(changes, Decision::Allow { remember: None });
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let unknown = gate.pass(call(), vec![write], Via::Loop, &cancelled).await;
    assert!(unknown.is_err(), "what the file was like then is not known");
    let changed = ToolCall::function("c1", "shell", "{\"command\":\"ls; rm -rf z\"}");
    assert!(gate.pass(changed, actions(), Via::Loop, &cancelled).await.is_err());
    assert!(gate.pass(call(), actions(), Via::Cell, &cancelled).await.is_err());
    let permit = gate.pass(call(), actions(), Via::Loop, &cancelled).await.unwrap();
    assert_eq!(permit.leash(), Leash::Loose);
    assert!(gate.pass(call(), actions(), Via::Loop, &cancelled).await.is_err(), "it holds once");
}
