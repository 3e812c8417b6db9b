//! Quorum, deadlines, budgets, and those who stand by.

use junto_llm::Allowance;
use tokio::time::Instant;

use super::*;

fn slow(said: &str, seconds: u64) -> Scripted {
    Scripted::answers(text(said)).after(Duration::from_secs(seconds))
}

#[tokio::test(start_paused = true)]
async fn with_a_quorum_nobody_else_is_waited_for() {
    let members = [Scripted::hangs(), slow("x", 5), slow("x", 9)];
    let table = table_with(members, None, Options { quorum: Some(1), ..all() });
    let began = Instant::now();
    let (lines, response) = table.narrated().await;
    assert_eq!(response.unwrap().warnings, [], "those who were not waited for did nothing wrong");
    assert_eq!(began.elapsed().as_secs(), 5);
    assert!(lines.contains(&"a is not waited for".to_owned()), "{lines:?}");
    assert!(table.members[0].dropped.is_cancelled());
}

#[tokio::test]
async fn a_refusal_is_no_part_of_a_quorum() {
    let refusal = Response { finish_reason: FinishReason::new(Finish::ContentFilter), ..text("No.") };
    let members = [Scripted::answers(refusal), slow("yes", 0)];
    let table = table_with(members, None, Options { quorum: Some(1), ..all() });
    assert_eq!(table.complete().await.unwrap().text(), "yes");
}

#[tokio::test]
async fn who_stands_by_takes_the_place_of_one_that_fails() {
    let down = || Scripted::fails(error(ErrorKind::Server, "down"));
    let members = [down(), Scripted::answers(text("b")), Scripted::answers(text("b"))];
    let table = table_with(members, None, Options { ask: 2, ..all() });
    let (lines, response) = table.narrated().await;
    assert_eq!(response.unwrap().text(), "b");
    assert!(lines.contains(&"asking c instead".to_owned()), "{lines:?}");
    let well = [Scripted::answers(text("a")), Scripted::answers(text("a")), Scripted::answers(text("a"))];
    let well = table_with(well, None, Options { ask: 2, ..all() });
    well.complete().await.unwrap();
    assert_eq!(well.members[2].asked(), 0);
}

#[tokio::test(start_paused = true)]
async fn when_the_time_is_over_the_best_that_is_there_is_taken() {
    let within = |seconds| Options { within: Some(Duration::from_secs(seconds)), ..all() };
    let began = Instant::now();
    let members = [slow("late", 20), slow("soon", 5), slow("soon enough", 6)];
    let table = table_with(members, Some(judge(r#"{"index": 1}"#)), within(10));
    let response = table.complete().await.unwrap();
    assert_eq!((response.text().as_str(), began.elapsed().as_secs()), ("soon", 10));
    assert_eq!(table.judge.as_ref().unwrap().asked(), 0, "there was no time to ask it");

    let began = Instant::now();
    let undecided = [slow("one", 5), slow("two", 6)];
    let table = table_with(undecided, Some(Scripted::hangs()), within(10));
    assert_eq!(table.complete().await.unwrap().text(), "one");
    assert_eq!(began.elapsed().as_secs(), 10);

    let began = Instant::now();
    let nobody = table_with([slow("late", 20), Scripted::hangs()], None, within(10));
    let failed = nobody.complete().await.unwrap_err();
    assert_eq!((failed.kind(), began.elapsed().as_secs()), (ErrorKind::Timeout, 10));
    assert!(nobody.members[1].dropped.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_single_member_is_bound_by_the_time_as_well() {
    let options =
        Options { within: Some(Duration::from_secs(3)), fan_out: FanOut::Never, ..Options::default() };
    let table = table_with([Scripted::hangs(), slow("unasked", 0)], None, options);
    let failed = table.complete().await.unwrap_err();
    assert!(failed.message().contains("3s in all"), "{failed}");
    assert_eq!(table.members[1].asked(), 0);
}

#[tokio::test]
async fn budgets_lie_within_each_other() {
    let [a, b] = [(); 2].map(|()| Arc::new(Scripted::answers(text("x"))));
    let seats = vec![
        Member { budget: Some(Allowance::tokens(10)), ..Member::new("a", a.clone()) },
        Member::new("b", b.clone()),
    ];
    let options = Options { budget: Some(Allowance::tokens(100)), ..all() };
    let council = Council::new(seats, None, options).unwrap();
    council.complete(ask(), &CallCx::new()).await.unwrap();
    assert_eq!(*a.allowed.lock().unwrap(), [Allowance::tokens(10)]);
    assert_eq!(*b.allowed.lock().unwrap(), [Allowance::tokens(100)]);
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    let check = |options: Options, part: &str| {
        let member = Member::new("a", Arc::new(Scripted::answers(text(""))));
        let failed = Council::new(vec![member], None, options).unwrap_err();
        assert!(failed.kind() == ErrorKind::Configuration && failed.message().contains(part), "{failed}");
    };
    check(Options { ask: 0, ..Options::default() }, "not 0");
    check(Options { ask: 1000, ..Options::default() }, "not 1000");
    check(Options { quorum: Some(0), ..Options::default() }, "quorum");
}
