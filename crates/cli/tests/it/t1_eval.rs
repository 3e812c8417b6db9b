//! `junto eval`, with twins whose success is known.

use std::fs;

use junto::twin::{Play, Step, When};
use serde_json::{Value, json};

use crate::Run;
use crate::stage::{SETUPS, Stage};
use crate::terminal::Terminal;

/// What the models of the twin are called: one that only does what is easy, one that does all.
const WEAK: &str = "anthropic/claude-sonnet-5";
const STRONG: &str = "anthropic/claude-opus-5-5";

fn when(model: &str, round: u32, contains: &str) -> When {
    let model = model.split('/').next_back().map(str::to_owned);
    When { model, round: Some(round), contains: Some(contains.to_owned()), ..When::default() }
}

/// Each answers in its own way: which one, and to what, is all that matters.
fn play() -> Play {
    let touch = || Step::call("shell", json!({"command": "touch done"})).without_thinking();
    let nothing = || Step::call("shell", json!({"command": "true"})).without_thinking();
    let says = |text: &str| Step::text(text).without_thinking();
    Play::of([
        touch().when(when(WEAK, 0, "easy")),
        touch().when(when(STRONG, 0, "easy")),
        nothing().when(when(WEAK, 0, "hard")),
        touch().when(when(STRONG, 0, "hard")),
        says("41").when(when(WEAK, 0, "How many")),
        says("42").when(when(STRONG, 0, "How many")),
        says("42").when(When { model: Some("claude-haiku-5-5".to_owned()), ..When::default() }),
        says("Done."),
    ])
}

/// Councils of the two: one that takes an answer, one that writes one. Where they differ the first is taken.
const COUNCILS: &str = "\
[council.pick]\nmembers = [\"anthropic/claude-sonnet-5\", \"anthropic/claude-opus-5-5\"]\nfan_out = \"always\"\nscope = \"per-turn\"\n\
[council.write]\nmembers = [\"anthropic/claude-sonnet-5\", \"anthropic/claude-opus-5-5\"]\nfan_out = \"always\"\nscope = \"per-turn\"\n\
mode = \"fuse\"\nsynthesizer = \"anthropic/claude-haiku-5-5\"\n";

fn stage() -> Stage {
    let stage = Stage::new(&SETUPS[0], play());
    let config = stage.machine.path(".config/junto/config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}{COUNCILS}")).unwrap();
    for (name, task) in [
        ("easy", "prompt = \"An easy one.\"\noracle = \"test -f done\"\n"),
        ("hard", "prompt = \"A hard one.\"\noracle = \"test -f done\"\n"),
        ("question", "prompt = \"How many?\"\noracle = 'grep -qx 42 \"$JUNTO_ANSWER\"'\n"),
        ("foreign", "prompt = \"x\"\noracle = \"true\"\nneeds = [\"no-such-program\"]\n"),
    ] {
        stage.machine.write(&format!("project/tasks/{name}/task.toml"), task);
        stage.machine.write(&format!("project/tasks/{name}/repo/readme"), "read me\n");
    }
    stage
}

fn report(run: &Run) -> Value {
    assert_eq!(run.code, Some(0), "{run:#?}");
    serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {run:#?}"))
}

/// The row of a contender, or the lift of a council.
fn named<'a>(rows: &'a Value, field: &str, name: &str) -> &'a Value {
    rows.as_array()
        .unwrap()
        .iter()
        .find(|row| row[field] == name)
        .unwrap_or_else(|| panic!("{name}: {rows:#}"))
}

#[test]
fn known_rates_are_found_and_councils_are_put_beside_their_best_member() {
    let stage = stage();
    let all = [
        "eval",
        "tasks",
        "--repeat",
        "2",
        "--json",
        "--with",
        WEAK,
        "--with",
        STRONG,
        "--with",
        "council:pick",
        "--with",
        "council:write",
    ];
    let run = stage.machine.run(&all);
    assert!(run.err.contains("foreign is skipped: there is no no-such-program"), "{run:#?}");
    assert!(run.err.contains("[24/24]"), "{run:#?}");
    let found = report(&run);
    assert_eq!((found["wanted"].as_u64(), found["done"].as_u64()), (Some(24), Some(24)));
    assert_eq!(found["skipped"][0]["task"], "foreign");
    let passed =
        |name: &str| named(&found["contenders"], "contender", name)["pass"]["passed"].as_u64().unwrap();
    assert_eq!((passed(WEAK), passed(STRONG)), (2, 6), "{found:#}");

    // The first of two that differ is the weak one: a loss, and two thirds would have been lost at most.
    let pick = named(&found["lifts"], "council", "council:pick");
    assert_eq!((passed("council:pick"), pick["against"].as_str()), (2, Some(STRONG)), "{found:#}");
    assert!(pick["difference"]["difference"].as_f64().unwrap() < -0.6, "{pick:#}");
    assert!(pick["difference"]["high"].as_f64().unwrap() < 0.0 && pick["shown"] == "worse", "{pick:#}");
    assert_eq!(pick["possible"]["rate"].as_f64(), Some(1.0), "{pick:#}");
    // They agree on what is easy, and on having done it; nobody is asked then.
    let decided = &named(&found["contenders"], "contender", "council:pick")["deliberations"];
    assert_eq!(decided["agreed"].as_u64(), Some(6), "{decided}");
    assert_eq!(
        (decided["synthesized"].as_u64(), decided["fanned_out"].as_u64()),
        (Some(0), Some(10)),
        "{decided}"
    );
    // An answer is written only where they differ.
    let wrote = &named(&found["contenders"], "contender", "council:write")["deliberations"];
    assert_eq!((wrote["synthesized"].as_u64(), wrote["agreed"].as_u64()), (Some(2), Some(6)), "{wrote}");
    assert_eq!(passed("council:write"), 4, "{found:#}");
    let asked =
        stage.requests().iter().filter(|asked| asked.body.to_string().contains("claude-haiku-5-5")).count();
    assert_eq!(asked, 2, "nobody writes where they agree");

    // What is done is not done again, and the report has other forms.
    let asked = stage.requests().len();
    let again: Vec<&str> = all.iter().copied().filter(|word| *word != "--json").collect();
    let run = stage.machine.run(&again);
    assert!(run.err.contains("24 are there from before"), "{run:#?}");
    for part in ["CONTENDER", "95% INTERVAL", "council:pick", "worse", "6 agreed", "SKIPPED", "foreign"] {
        assert!(run.out.contains(part), "{part}: {run:#?}");
    }
    let page = stage.machine.run(&[&again[..], &["--markdown"]].concat()).ok();
    assert!(page.starts_with("# Evaluation\n") && page.contains("| council:pick | anthropic/"), "{page}");
    assert_eq!(stage.requests().len(), asked);
    // Afresh it is.
    let fresh = ["eval", "tasks", "--task", "question", "--repeat", "1", "--with", WEAK, "--fresh"];
    stage.machine.run(&fresh).ok();
    assert_eq!(stage.requests().len(), asked + 1);
}

#[test]
fn a_council_of_agents_is_as_good_as_the_better_of_them() {
    let stage = stage();
    let agents = format!("agents:native:{WEAK},native:{STRONG}");
    let run = stage.machine.run(&[
        "eval", "tasks", "--task", "easy", "--task", "hard", "--repeat", "1", "--json", "--with", WEAK,
        "--with", STRONG, "--with", &agents,
    ]);
    let found = report(&run);
    let council = named(&found["contenders"], "contender", &agents);
    assert_eq!(council["pass"]["passed"].as_u64(), Some(2), "{found:#}\n{run:#?}");
    assert_eq!(council["troubled"].as_u64(), Some(0), "{found:#}\n{run:#?}");
    assert!(council["tokens_per_run"].as_f64() > Some(0.0), "{found:#}");
    let lift = named(&found["lifts"], "council", &agents);
    assert_eq!(
        (lift["against"].as_str(), lift["possible"]["rate"].as_f64()),
        (Some(STRONG), Some(1.0)),
        "{lift:#}"
    );
}

#[test]
fn an_agent_of_ones_own_flags_and_everybodys_flags_reach_the_run() {
    let stage = stage();
    let run = stage.machine.run(&[
        "eval",
        "tasks",
        "--task",
        "question",
        "--repeat",
        "1",
        "--json",
        "--with",
        &format!("own=--model {STRONG} --instructions Hurry"),
        "--keep-folders",
        "--",
        "--max-rounds",
        "3",
    ]);
    let found = report(&run);
    assert_eq!(found["contenders"][0]["contender"], "own");
    assert!(stage.requests()[0].body.to_string().contains("Hurry"));
    let folder = run.err.lines().find_map(|line| line.strip_prefix("the folders are in ")).unwrap();
    assert!(fs::read_dir(folder).unwrap().next().is_some());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_budget_ends_an_evaluation_and_the_next_goes_on() {
    let stage = stage();
    let base = ["eval", "tasks", "--task", "question", "--repeat", "4", "--with", STRONG];
    let run = stage.machine.run(&[&base[..], &["--max-usd", "0.000001"]].concat());
    assert_eq!(run.code, Some(4), "{run:#?}");
    assert!(run.out.contains("1 of 4 runs are done."), "{run:#?}");
    assert!(run.err.contains("3 of 4 runs were not done: --max-usd is reached\nhint: "), "{run:#?}");
    let run = stage.machine.run(&[&base[..], &["--max-usd", "0.000001"]].concat());
    assert_eq!((run.code, run.err.contains("2 of 4 runs were not done")), (Some(4), true), "{run:#?}");
    stage.machine.run(&base).ok();
    assert_eq!(stage.requests().len(), 4);
}

#[test]
fn what_cannot_be_evaluated_is_said() {
    let stage = stage();
    let check = |args: &[&str], code: i32, said: &[&str]| {
        stage.machine.run(&[&["eval"], args].concat()).fails(code, said);
    };
    check(&["nowhere"], 2, &["nowhere"]);
    check(&["tasks", "--task", "esay"], 2, &["no task \"esay\"", "did you mean \"easy\"?"]);
    check(&["tasks", "--task", "foreign"], 1, &["foreign is skipped", "no task can be judged"]);
    check(&["tasks", "--with", "council:pik"], 2, &["there is no council \"pik\"", "did you mean \"pick\"?"]);
    check(&["tasks", "--with", WEAK, "--with", WEAK], 2, &["is there twice"]);
    check(&["tasks", "--with", "x=y"], 2, &["has no flags"]);
    check(&["tasks", "--with", "agents:,"], 2, &["names nobody"]);
    check(&["tasks", "--timeout", "soon"], 2, &["no duration"]);
    check(&["tasks", "--max-usd", "0"], 2, &["no amount"]);
    check(&["tasks", "--max-usd", "1", "--run-usd", "2"], 2, &["more than all of them"]);
    check(&["tasks", "--repeat", "0"], 2, &["--repeat"]);
    let keyless =
        Run::of(stage.machine.command(&["eval", "tasks", "--task", "easy"]).env_remove("ANTHROPIC_API_KEY"));
    keyless.fails(2, &["native cannot work"]);
    assert_eq!(stage.requests().len(), 0);
}

/// Whoever only looks around is asked before it costs.
#[test]
fn all_that_is_shipped_is_not_run_unasked() {
    let stage = stage();
    stage
        .machine
        .run(&["eval"])
        .fails(2, &["nobody has said yes to ", " runs with native (anthropic/", "--yes"]);
    for (key, ends) in [("n\n", 5), ("\u{3}", 130)] {
        let mut terminal = Terminal::start(&stage.machine, 300, &["eval", "--with", STRONG]);
        terminal.wait_for("Begin? [y/n]");
        terminal.keys(key);
        let (code, screen, _) = terminal.end();
        assert!(screen.contains(&format!(" runs with {STRONG}, ")), "{screen}");
        assert_eq!((code, screen.matches("Begin?").count()), (Some(ends), 1), "{screen}");
    }
    assert_eq!(stage.requests().len(), 0);
    let one = ["eval", "--yes", "--with", STRONG, "--max-usd", "0.000001"];
    let run = stage.machine.run(&one);
    assert_eq!((run.code, stage.requests().is_empty()), (Some(4), false), "{run:#?}");
}

#[test]
fn tasks_are_checked() {
    let stage = stage();
    let run = stage.machine.run(&["eval", "tasks", "--task", "easy", "--check"]);
    assert_eq!(run.ok(), "easy: fails as it is\n");
    stage.machine.write("project/tasks/done/task.toml", "prompt = \"x\"\noracle = \"true\"\n");
    stage.machine.write("project/tasks/done/repo/readme", "");
    let run = stage.machine.run(&["eval", "tasks", "--check"]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(run.err.contains("error: done: it passes before anybody has done anything\n"), "{run:#?}");
    // Those that come with the program need no folder.
    let run = stage.machine.run(&["eval", "--check", "--task", "sh-rotate", "--task", "sh-topwords"]);
    assert_eq!(
        run.ok(),
        "sh-rotate: fails as it is, passes when solved\nsh-topwords: fails as it is, passes when solved\n"
    );
}
