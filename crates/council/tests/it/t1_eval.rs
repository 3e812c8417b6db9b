//! Evaluations of contenders whose success is known, on real folders with real oracles.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use junto_council::eval::{
    Deliberations, ErrorKind, Evaluated, Progress, Report, Runs, Skipped, Stopped, Task, Terms, Verdict,
    evaluate, markdown, table,
};
use junto_llm::{Cost, Usd};
use tokio_util::sync::CancellationToken;

use crate::eval_stand::{Stand, Twin, Way, terms};

#[tokio::test]
async fn known_rates_are_found_again_within_their_intervals() {
    let stand = Stand::new(&["one", "two", "three"]);
    let rates = [("weak", 0.2), ("middling", 0.55), ("strong", 0.9)];
    let twins: Vec<_> = rates.iter().map(|(name, rate)| Twin::sometimes(name, *rate)).collect();
    let plan = stand.plan(&twins, 16);
    let evaluated = stand.evaluate(&plan, &terms()).await;
    assert_eq!(evaluated, Evaluated { done: 144, kept: 0, stopped: None });
    let report = Report::new(&plan, &stand.runs(), Vec::new());
    assert_eq!((report.wanted, report.done), (144, 144));
    for (name, rate) in rates {
        let pass = report.row(name).unwrap().pass.unwrap();
        assert_eq!(pass.of, 48);
        assert!(pass.contains(rate), "{name}: {rate} is not in {pass:?}");
        assert!(pass.high - pass.low < 0.3, "{pass:?} says nothing");
    }
    assert!(stand.is_clean());
}

#[tokio::test]
async fn what_was_done_is_not_done_again_and_what_changed_is() {
    let stand = Stand::new(&["one", "two"]);
    let twin = Twin::sometimes("twin", 0.5);
    let plan = stand.plan(&[Arc::clone(&twin)], 2);
    stand.evaluate(&plan, &terms()).await;
    assert_eq!(twin.worked(), 4);
    // A crash in the middle of writing leaves at most this.
    let half = stand.path("kept/runs/one").read_dir().unwrap().next().unwrap().unwrap().path();
    fs::write(half.join("2.json"), "{\"v\":1,\"task\":\"on").unwrap();
    fs::write(half.join("1.new"), "{").unwrap();
    let evaluated = stand.evaluate(&plan, &terms()).await;
    assert_eq!((evaluated, twin.worked()), (Evaluated { done: 1, kept: 3, stopped: None }, 5));
    // One more repetition is only that.
    let plan = stand.plan(&[Arc::clone(&twin)], 3);
    let evaluated = stand.evaluate(&plan, &terms()).await;
    assert_eq!((evaluated.done, evaluated.kept, twin.worked()), (2, 4, 7));
    // Another task of the same name is another task.
    stand.write("tasks/two/repo/readme", "read this instead\n");
    let plan = stand.plan(&[Arc::clone(&twin)], 3);
    let evaluated = stand.evaluate(&plan, &terms()).await;
    assert_eq!((evaluated.done, evaluated.kept, twin.worked()), (3, 3, 10));
    let mut runs = stand.runs();
    runs.forget(&plan).unwrap();
    drop(runs);
    assert_eq!(stand.runs().of_plan(&plan).count(), 0);
}

#[tokio::test]
async fn two_evaluations_do_not_share_a_folder() {
    let stand = Stand::new(&["one"]);
    let first = stand.runs();
    let error = Runs::open(&stand.path("kept")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Keep);
    assert!(error.to_string().contains("another evaluation"), "{error}");
    drop(first);
    stand.runs();
}

#[tokio::test]
async fn runs_begin_in_order_and_no_more_than_wanted_are_under_way() {
    let stand = Stand::new(&["a", "b"]);
    let twins = [Twin::sometimes("x", 1.0), Twin::sometimes("y", 0.0)];
    let plan = stand.plan(&twins, 2);
    let (mut began, mut most) = (Vec::new(), 0);
    let none = CancellationToken::new();
    let mut tell = |progress: Progress<'_>| {
        if let Progress::Began { cell, under_way } = progress {
            began.push(format!("{}{}{}", cell.repetition, cell.task.name, cell.contender.name()));
            most = most.max(under_way);
        }
    };
    evaluate(&plan, &terms(), &stand.arena(), &mut stand.runs(), &none, &mut tell).await.unwrap();
    assert_eq!(began, ["1ax", "1ay", "1bx", "1by", "2ax", "2ay", "2bx", "2by"]);
    assert_eq!(most, 2);
    assert!(twins.iter().all(|twin| twin.at_work.lock().unwrap().1 <= 2));
}

#[tokio::test]
async fn no_run_begins_that_could_go_beyond_the_budget() {
    let stand = Stand::new(&["one"]);
    let twin = Twin::sometimes("twin", 1.0);
    let plan = stand.plan(&[Arc::clone(&twin)], 10);
    let usd = Usd::from_dollars;
    // A quarter each: with at most a third for one, the third and a third would be too much after three.
    let tight = Terms { most: Some(usd(1.0)), most_per_run: Some(usd(0.33)), ..terms() };
    let evaluated = stand.evaluate(&plan, &tight).await;
    assert_eq!((evaluated.stopped, evaluated.done), (Some(Stopped::Budget), 3));
    // Without a limit for one, none begins once the limit is reached.
    let alone = Terms { most: Some(usd(0.5)), parallel: 1, ..terms() };
    let evaluated = stand.evaluate(&plan, &alone).await;
    assert_eq!((evaluated.stopped, evaluated.done, evaluated.kept), (Some(Stopped::Budget), 2, 3));
    let report = Report::new(&plan, &stand.runs(), Vec::new());
    assert!(table(&report).contains("5 of 10 runs are done"), "{}", table(&report));
}

#[tokio::test]
async fn a_budget_that_cannot_be_held_is_an_error() {
    let stand = Stand::new(&["one"]);
    let twin = Arc::new(Twin { cost: Cost::Unknown, ..Twin::new("twin", Way::Sometimes(1.0)) });
    let plan = stand.plan(&[twin], 3);
    let limited = Terms { most: Some(Usd::from_dollars(1.0)), parallel: 1, ..terms() };
    let none = CancellationToken::new();
    let error =
        evaluate(&plan, &limited, &stand.arena(), &mut stand.runs(), &none, &mut |_| {}).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Budget);
    assert_eq!(stand.runs().of_plan(&plan).count(), 1, "what was done is kept");
    // Without a budget it is no error, and no zero either.
    stand.evaluate(&plan, &terms()).await;
    let report = Report::new(&plan, &stand.runs(), Vec::new());
    let row = report.row("twin").unwrap();
    assert_eq!((row.usd_per_run, row.usd_per_pass, row.unknown_costs), (None, None, 3));
    assert!(table(&report).contains("unknown (3)"), "{}", table(&report));
}

#[tokio::test]
async fn a_contender_that_cannot_begin_ends_the_evaluation_and_one_in_trouble_counts() {
    let stand = Stand::new(&["one"]);
    let none = CancellationToken::new();
    let plan = stand.plan(&[Arc::new(Twin::new("keyless", Way::Unable))], 2);
    let error =
        evaluate(&plan, &terms(), &stand.arena(), &mut stand.runs(), &none, &mut |_| {}).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Contender, "keyless cannot work: there is no key")
    );
    assert!(stand.is_clean());

    let plan = stand.plan(&[Arc::new(Twin::new("flaky", Way::FailsAfterwards))], 1);
    stand.evaluate(&plan, &terms()).await;
    let runs = stand.runs();
    let run = runs.of_plan(&plan).next().unwrap();
    assert_eq!((run.verdict, run.trouble.as_deref()), (Verdict::Passed, Some("the provider hung up")));
    assert_eq!(Report::new(&plan, &runs, Vec::new()).row("flaky").unwrap().troubled, 1);
}

#[tokio::test]
async fn whoever_takes_too_long_has_failed_and_whoever_is_cancelled_has_not_run() {
    let stand = Stand::new(&["one"]);
    let plan = stand.plan(&[Arc::new(Twin::new("slow", Way::Hangs))], 1);
    let cancel = CancellationToken::new();
    let mut runs = stand.runs();
    let token = cancel.clone();
    let mut tell = move |_: Progress<'_>| token.cancel();
    let evaluated = evaluate(&plan, &terms(), &stand.arena(), &mut runs, &cancel, &mut tell).await.unwrap();
    assert_eq!(evaluated, Evaluated { done: 0, kept: 0, stopped: None });
    assert_eq!(runs.of_plan(&plan).count(), 0);
    drop(runs);
    let short = Terms { within: Duration::from_millis(50), ..terms() };
    stand.evaluate(&plan, &short).await;
    let runs = stand.runs();
    let run = runs.of_plan(&plan).next().unwrap();
    assert_eq!(run.verdict, Verdict::Failed);
    assert!(run.trouble.as_deref().unwrap().contains("longer than"), "{run:?}");
    assert!(stand.is_clean());
}

#[tokio::test]
async fn an_oracle_that_hangs_is_ended_and_fails() {
    let stand = Stand::new(&[]);
    stand.task("slow", "prompt = \"x\"\noracle = \"sleep 600 & wait\"\nwithin_seconds = 1\n");
    let plan = stand.plan(&[Twin::sometimes("twin", 1.0)], 1);
    stand.evaluate(&plan, &terms()).await;
    let runs = stand.runs();
    let run = runs.of_plan(&plan).next().unwrap();
    assert_eq!(run.verdict, Verdict::Failed);
    assert!(run.oracle_said.contains("longer than 1 s"), "{run:?}");
}

#[tokio::test]
async fn answers_are_judged_and_hidden_files_win() {
    let stand = Stand::new(&[]);
    stand.task("ask", "prompt = \"How many?\"\noracle = 'grep -qx 42 \"$JUNTO_ANSWER\" && sh check.sh'\n");
    stand.write("tasks/ask/repo/check.sh", "exit 1\n");
    stand.write(
        "tasks/ask/hidden/check.sh",
        "git log --oneline | grep -q base && test -z \"$(git status --short readme)\"\n",
    );
    let twins = [
        Arc::new(Twin::new("right", Way::Answers("42\n"))),
        Arc::new(Twin::new("wrong", Way::Answers("41\n"))),
    ];
    let plan = stand.plan(&twins, 1);
    stand.evaluate(&plan, &terms()).await;
    let report = Report::new(&plan, &stand.runs(), Vec::new());
    let passed = |name: &str| report.row(name).unwrap().pass.unwrap().passed;
    assert_eq!((passed("right"), passed("wrong")), (1, 0));
}

#[tokio::test]
async fn a_task_may_be_a_revision_of_a_repository_without_its_future() {
    let stand = Stand::new(&[]);
    stand.write("project/old", "old\n");
    let git = |line: &str| {
        let git = "git -c user.name=me -c user.email=me@localhost";
        let line = line.replace("git", git);
        let done =
            std::process::Command::new("sh").args(["-ec", &line]).current_dir(stand.path("project")).status();
        assert!(done.unwrap().success(), "{line}");
    };
    git("git init -q -b main; git add -A; git commit -qm one; git tag v1");
    stand.write("project/done", "the solution\n");
    git("git add -A; git commit -qm two");
    let text = "prompt = \"x\"\noracle = \"test -f done\"\n[git]\nrepository = \"../../project\"\nrevision = \"v1\"\n";
    stand.write("tasks/past/task.toml", text);
    stand.write("tasks/gone/task.toml", &text.replace("\"v1\"", "\"v2\""));
    let tasks = Task::read_all(&stand.path("tasks")).unwrap();
    let checked = stand.arena().check(&tasks[1]).await.unwrap();
    assert_eq!(checked, None, "it is as it was before the solution");
    let error = stand.arena().check(&tasks[0]).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Arena && error.to_string().contains("v2"), "{error}");
}

#[tokio::test]
async fn the_report_shows_lift_or_loss_beside_cost_and_time() {
    let stand = Stand::new(&["one", "two", "three", "four"]);
    let better = Arc::new(Twin {
        members: vec!["a".to_owned(), "b".to_owned()],
        cost: Cost::Reported(Usd::from_dollars(0.75)),
        ..Twin::new("better", Way::Sometimes(1.0))
    });
    let worse = Arc::new(Twin {
        members: vec!["b".to_owned(), "b".to_owned(), "b".to_owned()],
        ..Twin::new("worse", Way::Sometimes(0.1))
    });
    let twins = [Twin::sometimes("a", 0.3), Twin::sometimes("b", 0.6), better, worse];
    let plan = stand.plan(&twins, 10);
    stand.evaluate(&plan, &terms()).await;
    let skipped = vec![Skipped { task: "five".to_owned(), why: "there is no node".to_owned() }];
    let report = Report::new(&plan, &stand.runs(), skipped);

    let lift = report.lift("better").unwrap();
    assert_eq!(lift.against, "b");
    assert!(lift.difference.contains(0.4) && lift.difference.low > 0.0, "{lift:?}");
    assert_eq!(lift.times_cost, Some(3.0));
    // One of two that pass in 30 % and 60 % does in 72 %.
    assert!((lift.possible.unwrap().rate - 0.72).abs() < 0.12, "{lift:?}");
    let loss = report.lift("worse").unwrap();
    assert!(loss.difference.contains(-0.5) && loss.difference.high < 0.0, "{loss:?}");
    // One of three runs of the same that passes in 60 % does in 94 %.
    assert!((loss.possible.unwrap().rate - 0.936).abs() < 0.06, "{loss:?}");
    assert_eq!(report.lift("a"), None);

    let text = table(&report);
    for part in [
        "CONTENDER",
        "95% INTERVAL",
        "better   b",
        "nothing",
        "SKIPPED",
        "five     there is no node",
        "40/40",
    ] {
        assert_eq!(text.contains(part), part != "nothing", "{part}: {text}");
    }
    let page = markdown(&report);
    for part in ["# Evaluation", "## Councils", "| better | b | +", "| --- |", "| five | there is no node |"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["contenders"][2]["pass"]["passed"], 40);
    assert_eq!(json["lifts"][0]["shown"], "better");
    assert_eq!(json["skipped"][0]["task"], "five");
}

#[test]
fn what_councils_decided_is_added_up() {
    let mut all = Deliberations { fanned_out: 2, agreed: 1, selected: 1, ..Deliberations::default() };
    all += Deliberations { fanned_out: 1, synthesized: 1, alone: 4, ..Deliberations::default() };
    let expected = Deliberations { fanned_out: 3, agreed: 1, selected: 1, synthesized: 1, alone: 4 };
    assert_eq!(all, expected);
}

#[tokio::test]
async fn the_tasks_that_are_shipped_fail_as_they_are_and_pass_when_they_are_solved() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals");
    let tasks = Task::read_all(&folder).unwrap();
    assert_eq!(tasks.len(), 12);
    let mut languages: BTreeMap<String, usize> = BTreeMap::new();
    let stand = Stand::new(&[]);
    let arena = stand.arena();
    for task in &tasks {
        assert!(task.solution.is_some(), "{}", task.name);
        *languages.entry(task.language.clone().unwrap()).or_default() += 1;
        // The others are tried wherever their language is.
        if arena.missing(task).await.unwrap().is_empty() {
            assert_eq!(arena.check(task).await.unwrap(), None, "{}", task.name);
        }
    }
    assert!(languages.len() >= 5, "{languages:?}");
    assert_eq!(
        arena.missing(&Task { needs: vec!["no-such-program".to_owned()], ..tasks[0].clone() }).await.unwrap(),
        ["no-such-program"]
    );
}
