//! Sessions without a gateway around them.

use super::*;
use junto_llm::{Usd, Wire};
use serde_json::json;

const CENT: Cost = Cost::Estimated(Usd(10_000_000));

fn sessions(turns: Option<u32>, budget: Allowance, most: usize) -> Arc<Sessions> {
    Arc::new(Sessions::open(Limits { turns, budget, most }, None).unwrap())
}

fn id(name: &str) -> Key {
    Key::Id(SessionId(name.into()))
}

fn opening(asked: &str) -> Key {
    Key::of(Wire::Chat, None, &json!({"messages": [{"role": "user", "content": asked}]}))
}

fn conversation(asked: &str, answered: &str) -> Key {
    let answered = json!({"role": "assistant", "content": answered});
    Key::of(Wire::Chat, None, &json!({"messages": [{"role": "user", "content": asked}, answered]}))
}

/// A turn with an answer that used this much.
fn turn(sessions: &Arc<Sessions>, key: Key, tokens: u64, cost: Cost) -> (SessionId, Verdict) {
    let (ticket, verdict) = sessions.begin(key, Turn::Counted);
    let id = ticket.id().clone();
    let used = if matches!(verdict, Verdict::Goes) { Spending { cost, tokens } } else { Spending::NOTHING };
    ticket.settle(Outcome::Answered, used);
    (id, verdict)
}

fn goes(sessions: &Arc<Sessions>, key: Key) -> SessionId {
    let (id, verdict) = turn(sessions, key, 10, CENT);
    assert!(matches!(verdict, Verdict::Goes), "{verdict:?}");
    id
}

#[test]
fn turns_are_counted_up_to_the_cap_and_free_ones_are_not() {
    let all = sessions(Some(2), Allowance::UNLIMITED, 10);
    for _ in 0..2 {
        goes(&all, id("a"));
    }
    assert!(matches!(turn(&all, id("a"), 0, CENT).1, Verdict::Capped(2)));
    assert!(matches!(all.begin(id("a"), Turn::Free).1, Verdict::Goes));
    goes(&all, id("b"));
    let records = all.latest(10);
    assert_eq!(records.iter().map(|r| (r.id.0.as_str(), r.turns)).collect::<Vec<_>>(), [("b", 1), ("a", 2)]);
}

/// Turns that run at the same time are counted when they begin: none slips through.
#[test]
fn a_turn_counts_from_its_beginning_and_one_without_an_answer_is_none() {
    let all = sessions(Some(1), Allowance::UNLIMITED, 10);
    let (running, verdict) = all.begin(id("a"), Turn::Counted);
    assert!(matches!(verdict, Verdict::Goes));
    assert!(matches!(turn(&all, id("a"), 0, CENT).1, Verdict::Capped(1)));
    running.settle(Outcome::Nothing, Spending::NOTHING);
    goes(&all, id("a"));
    assert!(matches!(turn(&all, id("a"), 0, CENT).1, Verdict::Capped(1)));
}

#[test]
fn a_budget_ends_with_the_call_that_uses_it_up() {
    let check = |budget: Allowance, cost: Cost, goes: usize, words: &str| {
        let all = sessions(None, budget, 10);
        for _ in 0..goes {
            assert!(matches!(turn(&all, id("a"), 10, cost).1, Verdict::Goes), "{budget}");
        }
        let Verdict::Spent(failure) = turn(&all, id("a"), 10, cost).1 else { panic!("{budget}") };
        assert_eq!(failure.error().kind(), ErrorKind::Quota);
        assert!(failure.error().message().contains(words), "{}", failure.error().message());
        assert!(matches!(turn(&all, id("b"), 10, cost).1, Verdict::Goes), "another session has its own");
    };
    check(Allowance::tokens(20), Cost::Unknown, 2, "20 tokens used");
    check(Allowance::tokens(15), CENT, 2, "20 tokens used");
    check(Allowance::usd(Usd::from_dollars(0.03)), CENT, 3, "$0.03 spent");
    check(Allowance::usd(Usd::from_dollars(9.0)), Cost::Unknown, 1, "not known");
}

#[test]
fn a_conversation_keeps_its_session_when_it_goes_on() {
    let all = sessions(None, Allowance::UNLIMITED, 10);
    let first = goes(&all, opening("hi"));
    assert_eq!(goes(&all, conversation("hi", "hello")), first);
    assert_eq!(goes(&all, conversation("hi", "hello")), first);
    assert_eq!(all.latest(1)[0].turns, 3);
    let other = goes(&all, opening("hi"));
    assert_ne!(other, first);
    assert_eq!(goes(&all, conversation("hi", "good day")), other);
    assert_eq!(goes(&all, conversation("hi", "hello")), first);
    let unseen = goes(&all, conversation("hi", "who are you"));
    assert!(unseen != first && unseen != other);
    assert_eq!(all.len(), 3);
}

#[test]
fn a_beginning_without_an_answer_is_forgotten() {
    let all = sessions(None, Allowance::UNLIMITED, 10);
    let (ticket, _) = all.begin(opening("hi"), Turn::Counted);
    ticket.settle(Outcome::Nothing, Spending::NOTHING);
    assert_eq!(all.len(), 0);
    let (ticket, _) = all.begin(opening("hi"), Turn::Counted);
    ticket.settle(Outcome::Nothing, Spending { cost: CENT, tokens: 1 });
    assert_eq!(all.len(), 1, "what it used is not forgotten");
}

#[test]
fn a_call_that_fails_does_not_take_the_session_of_another_with_it() {
    let all = sessions(None, Allowance::tokens(10), 10);
    let (running, _) = all.begin(id("a"), Turn::Free);
    let (failing, _) = all.begin(id("a"), Turn::Free);
    failing.settle(Outcome::Nothing, Spending::NOTHING);
    running.settle(Outcome::Answered, Spending { cost: CENT, tokens: 15 });
    assert!(matches!(all.begin(id("a"), Turn::Free).1, Verdict::Spent(_)));

    let [first, second] = [(); 2].map(|()| all.begin(id("b"), Turn::Free).0);
    first.settle(Outcome::Nothing, Spending::NOTHING);
    assert_eq!(all.len(), 2);
    second.settle(Outcome::Nothing, Spending::NOTHING);
    assert_eq!(all.len(), 1, "none of its calls was answered");
}

#[test]
fn the_one_unused_for_longest_makes_room() {
    let all = sessions(Some(1), Allowance::UNLIMITED, 3);
    for name in ["a", "b", "c"] {
        goes(&all, id(name));
    }
    assert!(matches!(turn(&all, id("a"), 0, CENT).1, Verdict::Capped(1)), "it is used again");
    goes(&all, id("d"));
    assert_eq!(all.len(), 3);
    assert!(matches!(turn(&all, id("a"), 0, CENT).1, Verdict::Capped(1)));
    goes(&all, id("b"));
    let names: Vec<String> = all.latest(9).into_iter().map(|record| record.id.0).collect();
    assert_eq!(names, ["b", "a", "d"]);
}

#[test]
fn a_call_of_a_session_that_was_forgotten_meanwhile_harms_nobody() {
    let all = sessions(None, Allowance::UNLIMITED, 1);
    let (ticket, _) = all.begin(id("a"), Turn::Counted);
    goes(&all, id("b"));
    ticket.settle(Outcome::Answered, Spending { cost: CENT, tokens: 1 });
    assert_eq!(all.latest(9).len(), 1);
}

/// A program that asks the same thing again and again does not drive out everybody else.
#[test]
fn those_that_begin_alike_and_never_go_on_are_few() {
    let all = sessions(None, Allowance::UNLIMITED, 100);
    let kept = goes(&all, id("kept"));
    for _ in 0..1000 {
        goes(&all, opening("ping"));
    }
    assert!(all.len() < 20, "{}", all.len());
    assert_eq!(goes(&all, id("kept")), kept);
    assert_eq!(all.latest(1)[0].turns, 2);
}

/// Keeps what it is given, like a file.
#[derive(Default)]
struct Memory(Mutex<Vec<SessionRecord>>, Notify);

impl SessionStore for Memory {
    fn load(&self) -> std::io::Result<Vec<SessionRecord>> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn save(&self, sessions: &[SessionRecord]) -> std::io::Result<()> {
        *self.0.lock().unwrap() = sessions.to_vec();
        self.1.notify_one();
        Ok(())
    }
}

#[tokio::test]
async fn what_changed_is_saved_by_and_by_and_at_the_end() {
    let store = Arc::new(Memory::default());
    let limits = Limits { turns: Some(9), budget: Allowance::UNLIMITED, most: 10 };
    let open = || Arc::new(Sessions::open(limits, Some(store.clone())).unwrap());
    let all = open();
    let over = CancellationToken::new();
    let keeper = tokio::spawn({
        let (all, over) = (all.clone(), over.clone());
        async move { all.keep(over, &Warnings::default()).await }
    });
    tokio::time::pause();
    let first = goes(&all, opening("hi"));
    goes(&all, id("a"));
    store.1.notified().await;
    assert_eq!(store.0.lock().unwrap().len(), 2);
    goes(&all, id("b"));
    over.cancel();
    keeper.await.unwrap();

    let again = open();
    assert_eq!(again.latest(9), all.latest(9));
    assert_eq!(goes(&again, conversation("hi", "hello")), first, "also where it has not gone on yet");
    goes(&again, id("a"));
    assert_eq!(again.latest(1)[0].turns, 2);
}

#[test]
fn without_what_was_saved_there_is_no_start() {
    struct Broken;
    impl SessionStore for Broken {
        fn load(&self) -> std::io::Result<Vec<SessionRecord>> {
            Err(std::io::Error::other("unreadable"))
        }

        fn save(&self, _: &[SessionRecord]) -> std::io::Result<()> {
            Ok(())
        }
    }
    let limits = Limits { turns: None, budget: Allowance::UNLIMITED, most: 10 };
    let Err(error) = Sessions::open(limits, Some(Arc::new(Broken))) else { panic!("it starts") };
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.message().contains("unreadable"));
}
