//! Who wins, and what is told of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use junto_core::{Agent as _, Command, EndReason, EventLog, Input};
use junto_council::contest::{
    Contest, ContestSetup, Ended, Mark, Member, Oracle, OracleChoice, Phase, Proof, Role, State,
};

use crate::rivals::{Ground, HANG, input_end, nobody};

const RIGHT: &str = "echo 42 >answer";
const LONG: &str = "echo 42 >answer; seq 20 >notes";
const WRONG: &str = "echo 43 >answer";

#[tokio::test]
async fn the_smallest_diff_that_passes_wins() {
    let ground = Ground::new();
    let (record, outcome) = ground.hold(ground.setup(&[LONG, WRONG, RIGHT, "true"])).await;
    assert_eq!((record.phase, record.winner), (Phase::Done, Some(3)));
    assert_eq!(outcome.reason, EndReason::Done);
    let proofs: Vec<_> =
        record.candidates.iter().map(|c| c.verdict.as_ref().map(|v| v.proof.clone())).collect();
    let failed = Proof::Failed { exit: "exit 1".into() };
    // Who changed nothing is not judged.
    assert_eq!(proofs, [Some(Proof::Passed), Some(failed.clone()), Some(Proof::Passed), None]);
    assert_eq!(record.base_verdict.as_ref().unwrap().proof, failed);
    let near: Vec<u32> = record.near_misses().map(|c| c.number).collect();
    assert_eq!(near, [2]);
    assert!(record.candidates.iter().all(|c| c.state == State::Done && c.usage.total == 11));
    for part in ["candidate 3", "3. ", "passes", "fails: exit 1", "changed nothing", "junto apply"] {
        assert!(outcome.text.contains(part), "no {part:?} in {}", outcome.text);
    }
    let diff = String::from_utf8(ground.diff(&record, &record.candidates[2])).unwrap();
    assert!(diff.contains("-41\n+42\n"), "{diff}");
}

#[tokio::test]
async fn near_misses_are_shown_and_nobody_wins() {
    let ground = Ground::new();
    let (record, outcome) = ground.hold(ground.setup(&[WRONG, "exit 3", "echo 42 >answer; exit 3"])).await;
    assert_eq!(record.winner, Some(3), "what counts is what it left");
    assert!(matches!(record.candidates[1].ended, Some(Ended::Failed { .. })));
    let (record, again) = ground.hold(ground.setup(&[WRONG, WRONG])).await;
    assert_eq!(record.winner, None);
    assert!(matches!(&again.reason, EndReason::Failed { error } if error.kind == "no_winner"), "{again:?}");
    assert!(again.text.contains("none of 2 candidates passes") && again.text.contains("NUMBER"));
    assert_eq!(outcome.reason, EndReason::Done);
}

#[tokio::test]
async fn who_changes_the_tests_is_marked_and_comes_last() {
    let ground = Ground::new();
    ground.write("tests/one", "1\n");
    ground.commit("A test");
    let cheats = ["echo true >check.sh", "echo 42 >answer; rm tests/one", LONG];
    let (record, _) = ground.hold(ground.setup(&cheats)).await;
    assert_eq!(record.candidates[0].marks, [Mark::Oracle { path: "check.sh".into() }]);
    assert_eq!(record.candidates[1].marks, [Mark::Tests { path: "tests/one".into() }]);
    assert_eq!(record.winner, Some(3));
    // A new test is no mark; without another that passes, a marked one is named, and called so.
    let (record, _) = ground.hold(ground.setup(&["echo 42 >answer; echo 2 >tests/two"])).await;
    assert!(record.candidates[0].marks.is_empty());
    let (record, _) = ground.hold(ground.setup(&cheats[..1])).await;
    assert_eq!(record.winner, Some(1));
    assert!(record.reason.contains("look at it first"), "{}", record.reason);
}

#[tokio::test]
async fn members_take_turns_and_numbers_that_make_no_sense_are_refused() {
    let ground = Ground::new();
    let setup = ContestSetup { candidates: Some(5), ..ground.setup(&[RIGHT, WRONG]) };
    let (record, _) = ground.hold(setup.clone()).await;
    let names: Vec<&str> = record.candidates.iter().map(|c| c.member.as_str()).collect();
    assert_eq!(names, ["m15", "m15", "m15", "m15", "m15"]);
    let passing: Vec<u32> = record.candidates.iter().filter(|c| c.passes()).map(|c| c.number).collect();
    assert_eq!((passing, record.winner), (vec![1, 3, 5], Some(1)));
    for wrong in [0, 17, 1000] {
        let log = EventLog::in_memory(Arc::new(|| jiff::Timestamp::UNIX_EPOCH));
        let setup = ContestSetup { candidates: Some(wrong), ..setup.clone() };
        let error = Contest::start(setup, nobody(), log).await.err().unwrap();
        assert!(error.to_string().contains(&wrong.to_string()) && error.hint().is_some(), "{error}");
    }
    let log = EventLog::in_memory(Arc::new(|| jiff::Timestamp::UNIX_EPOCH));
    assert!(Contest::start(ground.setup(&[]), nobody(), log).await.is_err());
}

#[tokio::test]
async fn an_unknown_member_is_a_candidate_that_failed() {
    let ground = Ground::new();
    let mut setup = ground.setup(&[RIGHT, RIGHT]);
    setup.members[0].spec.kind = "nobody".into();
    let (record, _) = ground.hold(setup).await;
    assert!(
        matches!(&record.candidates[0].ended, Some(Ended::Failed { message }) if message.contains("nobody"))
    );
    assert_eq!(record.winner, Some(2));
}

#[tokio::test]
async fn without_an_oracle_one_may_work_and_several_may_not() {
    let ground = Ground::new();
    let setup = ContestSetup { oracle: OracleChoice::Detect, ..ground.setup(&[RIGHT, WRONG]) };
    let error = ground.refused(setup.clone()).await;
    assert!(error.hint.unwrap().contains("--oracle"), "{}", error.message);
    let (record, outcome) = ground.hold(ContestSetup { candidates: Some(1), ..setup }).await;
    assert_eq!((record.winner, outcome.reason), (None, EndReason::Done));
    assert!(record.candidates[0].is_applicable() && outcome.text.contains("NUMBER"), "{}", outcome.text);
}

#[tokio::test]
async fn an_oracle_that_cannot_be_run_is_found_out_before_anybody_works() {
    let ground = Ground::new();
    let oracle = OracleChoice::Given(Oracle::given("no-such-program --all"));
    let error = ground.refused(ContestSetup { oracle, ..ground.setup(&[RIGHT, WRONG]) }).await;
    assert!(error.message.contains("no-such-program"), "{}", error.message);
}

#[tokio::test]
async fn an_oracle_that_hangs_or_forks_is_ended_with_everything_it_started() {
    let ground = Ground::new();
    ground
        .write("check.sh", "if test \"$(cat answer)\" = 42; then setsid sleep 300 & sleep 300; fi; false\n");
    ground.commit("A check that hangs");
    let setup = ContestSetup { oracle_time: Duration::from_millis(300), ..ground.setup(&[RIGHT, WRONG]) };
    let (record, _) = ground.hold(setup).await;
    assert_eq!(record.candidates[0].verdict.as_ref().unwrap().proof, Proof::TimedOut);
    assert_eq!(record.winner, None);
    ground.write("check.sh", "setsid sleep 300 >/dev/null 2>&1 & test \"$(cat answer)\" = 42\n");
    ground.commit("A check that leaves something behind");
    let (record, _) = ground.hold(ground.setup(&[RIGHT, WRONG])).await;
    assert_eq!(record.winner, Some(1));
}

#[tokio::test]
async fn the_oracle_sees_no_secrets_and_nothing_that_is_not_in_the_diff() {
    let ground = Ground::new();
    ground.write(".gitignore", "cache\n");
    ground.write("check.sh", "env >seen; ! grep -q s3cr3t seen && test -f cache\n");
    ground.commit("A check that needs what is ignored");
    let (record, _) = ground.hold(ground.setup(&["touch cache; echo 42 >answer", WRONG])).await;
    assert_eq!(record.winner, None, "what is ignored is not applied, and so is not judged");
    ground.write("cache", "kept\n");
    let setup = ContestSetup { bring: vec!["cache".into()], ..ground.setup(&[RIGHT]) };
    let (record, _) = ground.hold(setup).await;
    assert_eq!(record.winner, Some(1));
    let setup = ContestSetup { bring: vec!["answer".into()], ..ground.setup(&[RIGHT]) };
    let log = EventLog::in_memory(Arc::new(|| jiff::Timestamp::UNIX_EPOCH));
    let contest = Contest::start(setup, nobody(), log.clone()).await.unwrap();
    contest.send(Command::Submit { input: Input::text("x") }).await.unwrap();
    input_end(&log).await;
    assert!(
        matches!(contest.close().await.reason, EndReason::Failed { error } if error.message.contains("answer"))
    );
}

#[tokio::test]
async fn a_member_that_takes_too_long_is_ended_and_judged_by_what_it_left() {
    let ground = Ground::new();
    let line = "echo 42 >answer; setsid sleep 300 & sleep 300";
    let setup = ContestSetup { member_time: Duration::from_millis(500), ..ground.setup(&[line]) };
    let (record, _) = ground.hold(setup).await;
    assert_eq!(record.candidates[0].ended, Some(Ended::TimedOut));
    assert_eq!(record.winner, Some(1));
}

#[tokio::test]
async fn an_interrupt_ends_everything_and_keeps_what_was_done() {
    for close in [false, true] {
        let ground = Ground::new();
        let before = ground.untouched();
        let log = EventLog::in_memory(Arc::new(|| jiff::Timestamp::UNIX_EPOCH));
        let (told, mut states) = tokio::sync::mpsc::channel(1000);
        let mut setup = ground.setup(&["echo 7 >answer; touch done; sleep 300", "sleep 300"]);
        setup.report = Some(Arc::new(move |record| {
            let _ = told.try_send(record.clone());
        }));
        let contest = Contest::start(setup, nobody(), log.clone()).await.unwrap();
        contest.send(Command::Submit { input: Input::text("x") }).await.unwrap();
        let run = tokio::time::timeout(HANG, async {
            loop {
                let record = states.recv().await.unwrap();
                let file = ground.state().join(&record.run.0).join("work/1/done");
                if record.candidates[0].state == State::Working {
                    while !file.exists() {
                        tokio::task::yield_now().await;
                    }
                    return record.run;
                }
            }
        });
        let run = run.await.unwrap();
        if close {
            contest.close().await;
        } else {
            contest.send(Command::Interrupt).await.unwrap();
            tokio::time::timeout(HANG, input_end(&log)).await.unwrap();
            assert_eq!(contest.close().await.reason, EndReason::Interrupted);
        }
        let record = ground.runs().read(&run).unwrap();
        ground.nothing_left(Some(&record));
        assert_eq!((record.phase, record.winner), (Phase::Failed, None));
        let diff = String::from_utf8(ground.diff(&record, &record.candidates[0])).unwrap();
        assert!(diff.contains("+7"), "{diff}");
        assert_eq!(ground.untouched(), before);
    }
}

#[tokio::test]
async fn members_are_children_and_can_be_spoken_to() {
    let ground = Ground::new();
    let log = EventLog::in_memory(Arc::new(|| jiff::Timestamp::UNIX_EPOCH));
    let contest = Contest::start(ground.setup(&["sleep 300"]), nobody(), log.clone()).await.unwrap();
    contest.send(Command::Submit { input: Input::text("x") }).await.unwrap();
    let mut events = log.subscribe(junto_core::Seq::START);
    let child = loop {
        if let junto_core::Item::Event(event) = events.next().await.unwrap()
            && let junto_core::Body::Child { agent, name, .. } = &event.body
        {
            assert_eq!(name, "1-m9");
            break agent.clone();
        }
    };
    while contest.child(&child).is_none() {
        tokio::task::yield_now().await;
    }
    let busy = contest.send(Command::Submit { input: Input::text("y") }).await.unwrap_err();
    assert!(busy.to_string().contains("busy"), "{busy}");
    contest.close().await;
    assert!(contest.child(&child).is_none());
}

#[tokio::test]
async fn a_synthesis_counts_only_if_it_passes_and_stays_small() {
    let ground = Ground::new();
    let shown = Arc::new(Mutex::new(String::new()));
    let check = async |line: &str, winner: u32, said: &str| {
        let synthesis = Member { name: "s".into(), ..ground.setup(&[line]).members.remove(0) };
        let setup = ContestSetup {
            synthesis: Some(synthesis),
            ..ground.setup(&[LONG, "echo 42 >answer; echo x >y"])
        };
        let (record, _) = ground.hold(setup).await;
        assert_eq!(record.winner, Some(winner), "{record:?}");
        assert!(record.reason.contains(said), "{}", record.reason);
        assert_eq!(record.candidates[2].role, Role::Synthesis);
        shown.lock().unwrap().push_str(&record.candidates[2].said);
    };
    // It begins with the smallest that passes, and its diff is against the base.
    check("cat y && rm y", 3, "the synthesis passes").await;
    check("seq 200 >more", 2, "more than 1.5 times").await;
    check("echo 1 >answer", 2, "does not pass").await;
    assert_eq!(*shown.lock().unwrap(), "x\n");
    let one = ContestSetup {
        synthesis: Some(ground.setup(&[RIGHT]).members.remove(0)),
        ..ground.setup(&[RIGHT, WRONG])
    };
    assert_eq!(ground.hold(one).await.0.candidates.len(), 2, "nothing is made of one");
}
