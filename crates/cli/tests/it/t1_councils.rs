//! Councils of the configuration: in a run, and behind the gateway.

use futures_util::StreamExt as _;
use junto::llm::{CallCx, Request, StreamEvent, ToolSpec, Wire};
use junto::twin::{Play, Step, When};
use serde_json::{Value, json};

use crate::stage::{SETUPS, Stage};
use crate::t1_gateway::{Gateway, run};

/// A question that looks as if several minds were worth it, and one that does not.
const HARD: &str = "Compare the two designs, and explain why.";
const PLAIN: &str = "Hello.";

/// A stage whose provider `local` has models that answer with their own names, and this beside.
fn stage(more: &str) -> Stage {
    let says = |model: &str| Step {
        when: Some(When { model: Some(format!("{model}*")), ..When::default() }),
        ..Step::text(format!("I am {model}."))
    };
    let verdict = Step {
        when: Some(When { model: Some("judge*".into()), ..When::default() }),
        ..Step::text(r#"{"index": 1, "reason": "it is the second"}"#)
    };
    with_play(more, Play::of([says("a"), says("b"), says("c"), says("small"), verdict]))
}

fn with_play(more: &str, play: Play) -> Stage {
    let stage = Stage::new(&SETUPS[3], play);
    let path = ".config/junto/config.toml";
    let text = std::fs::read_to_string(stage.machine.path(path)).unwrap();
    stage.machine.write(path, format!("{text}{more}"));
    stage
}

/// The models that were asked, sorted.
fn asked(stage: &Stage) -> Vec<String> {
    let mut models: Vec<String> =
        stage.requests().iter().map(|request| request.body["model"].as_str().unwrap().to_owned()).collect();
    models.sort();
    models
}

const PAIR: &str = "[council.pair]\nmembers = [\"local/a-1\", \"local/b-1\"]\nfan_out = \"always\"\n";

#[test]
fn a_council_that_has_a_name_is_a_model() {
    let stage = stage(&format!("{PAIR}judge = \"local/judge-1\"\n"));
    let run = stage.machine.run(&["run", "--model", "council:pair", PLAIN]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "I am b.\n"), "{run:#?}");
    assert!(run.err.starts_with("native · council pair of local/a-1, local/b-1 · "), "{run:#?}");
    assert_eq!(asked(&stage), ["a-1", "b-1", "judge-1"]);
    // The session knows whom it asked.
    let again = stage.machine.run(&["resume", "And now again."]).ok();
    assert_eq!(again, "I am b.\n");
    assert_eq!(asked(&stage).len(), 6);
}

#[test]
fn a_council_that_was_given_up_does_not_come_back() {
    let stage = stage("");
    let machine = &stage.machine;
    let run = machine.run(&["run", "--council", "local/a-1,local/b-1", PLAIN]);
    assert!(run.code == Some(0) && run.err.starts_with("native · council "), "{run:#?}");
    for flags in [&["-m", "local/a-1"][..], &[]] {
        let run = machine.run(&[&["resume"], flags, &["latest", PLAIN]].concat());
        assert!(run.code == Some(0) && run.err.starts_with("native · local/a-1 · "), "{run:#?}");
    }
}

#[test]
fn how_it_came_to_its_answer_is_in_the_log_and_in_the_ledger() {
    let stage = stage(&format!("{PAIR}judge = \"local/judge-1\"\n"));
    stage.price(&["a-1", "b-1", "judge-1"]);
    let out = stage.machine.run(&["run", "--model", "council:pair", "--json", PLAIN]).ok();
    let events: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let place = |kind: &str| events.iter().position(|event| event["type"] == kind);
    let at = place("deliberation").unwrap_or_else(|| panic!("{out}"));
    assert_eq!(at + 1, place("call").unwrap(), "it stands before its call");
    let minutes = &events[at]["minutes"];
    assert_eq!((&minutes["council"], &minutes["outcome"]), (&json!("pair"), &json!("selected")), "{minutes}");
    assert_eq!(minutes["reason"], "local/judge-1 chose local/b-1: it is the second");
    let member = |name: &str| {
        let asked = minutes["asked"].as_array().unwrap();
        asked.iter().find(|asked| asked["name"] == name).unwrap().clone()
    };
    assert_eq!(
        (&member("local/a-1")["chosen"], &member("local/b-1")["chosen"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(events[at]["corr"], events[at + 1]["corr"]);

    let table = stage.machine.run(&["cost", "--by", "council"]).ok();
    for row in ["pair: local/a-1", "pair: local/b-1", "pair: local/judge-1"] {
        assert!(table.contains(row), "{row} in {table}");
    }
    assert!(table.contains("pair answered 1 time: asked several 1, selected 1"), "{table}");
    let json: Value =
        serde_json::from_str(&stage.machine.run(&["cost", "--by", "council", "--json"]).ok()).unwrap();
    assert_eq!(json["deliberations"][0]["minutes"]["council"], "pair", "{json}");
}

#[test]
fn a_council_sits_in_a_council() {
    let more = format!(
        "{PAIR}[council.all]\nmembers = [\"council:pair\", \"third\"]\nfan_out = \"always\"\nn = 2\n\
         [council.all.member.third]\nwho = \"local/c-1\"\nframing = \"Be brief.\"\n"
    );
    let stage = stage(&more);
    let run = stage.machine.run(&["run", "--model", "council:all", PLAIN]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "I am a.\n"), "{run:#?}");
    assert_eq!(asked(&stage), ["a-1", "b-1", "c-1"]);
    let framed = |model: &str| {
        let requests = stage.requests();
        requests.iter().find(|r| r.body["model"] == model).unwrap().body.to_string().contains("Be brief.")
    };
    assert!(framed("c-1") && !framed("a-1"), "a framing is its member's alone");
}

#[test]
fn who_cannot_be_asked_is_left_out_and_named() {
    let more = "[council.mixed]\nmembers = [\"openai/x-1\", \"local/a-1\", \"codex\"]\n";
    let stage = stage(more);
    let run = stage.machine.run(&["run", "--model", "council:mixed", PLAIN]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "I am a.\n"), "{run:#?}");
    for said in [
        "the council mixed is without openai/x-1: provider \"openai\" has no key",
        "the council mixed is without codex: the command-line agent codex is not installed",
    ] {
        assert!(run.err.contains(said), "{said} in {run:#?}");
    }
}

#[test]
fn councils_that_cannot_be_are_refused() {
    let check = |more: &str, flags: &[&str], said: &[&str]| {
        let stage = stage(more);
        stage.machine.run(&[&["run", PLAIN], flags].concat()).fails(2, said);
        assert!(stage.requests().is_empty());
    };
    let nobody = "[council.c]\nmembers = [\"openai/x-1\", \"codex\"]\n";
    let without = ["nobody in the council \"c\" can be asked", "openai/x-1: ", "codex: ", "not installed"];
    check(nobody, &["-m", "council:c"], &without);
    let few = "[council.c]\nmembers = [\"local/a-1\", \"codex\"]\nquorum = 2\n";
    check(few, &["-m", "council:c"], &["1 in the council \"c\" can be asked, and its quorum is 2"]);
    check(PAIR, &["-m", "council:pairs"], &["there is no council \"pairs\"; did you mean \"pair\"?"]);
    check("", &["-m", "council:pair"], &["there is no council \"pair\"; [council.pair]"]);
    check(&format!("{PAIR}n = 0\n"), &["-m", "council:pair"], &["`council.pair.n`: expected 1 to 2"]);
    check(&format!("{PAIR}n = 1000\n"), &["-m", "council:pair"], &["`council.pair.n`: expected 1 to 2"]);
    check(
        PAIR,
        &["-m", "council:pair", "--provider", "local"],
        &["--provider does nothing beside --council"],
    );
    let stage = stage(PAIR);
    stage.machine.run(&["ask", "-m", "council:pair", PLAIN]).fails(2, &["council:pair is a council"]);
}

/// Asks the gateway, streamed, and gives the reasoning and the text.
fn ask(gateway: &Gateway, request: Request) -> (String, String) {
    let client = gateway.client(Wire::Anthropic, "any");
    run(async {
        let mut events = client.stream(request, &CallCx::new()).await.unwrap();
        let (mut thought, mut text) = (String::new(), String::new());
        while let Some(event) = events.next().await {
            match event.unwrap() {
                StreamEvent::ReasoningDelta { text, .. } => thought.push_str(&text),
                StreamEvent::TextDelta { text: more, .. } => text.push_str(&more),
                _ => {}
            }
        }
        (thought, text)
    })
}

#[test]
fn the_gateway_fans_out_where_it_pays() {
    let more = "[gateway]\ncouncil = [\"council:pair\"]\n[council.pair]\nmembers = [\"local/a-1\", \"local/b-1\"]\n\
                judge = \"local/judge-1\"\n";
    let stage = stage(more);
    stage.price(&["small-haiku-1", "a-1", "b-1"]);
    let gateway = Gateway::start(&stage.machine, &[]);
    let tool = || ToolSpec::foreign("look", "", json!({"type": "object"}));
    let mut before = 0;
    let mut check = |request: Request, expected: &[&str], said: &str| {
        let (thought, text) = ask(&gateway, request);
        let mut models: Vec<String> = stage.requests()[before..]
            .iter()
            .map(|request| request.body["model"].as_str().unwrap().to_owned())
            .collect();
        before += models.len();
        models.sort();
        assert_eq!(
            (models, text.as_str()),
            (expected.iter().map(ToString::to_string).collect(), said),
            "{thought}"
        );
        thought
    };
    check(Request::prompt(PLAIN).model("junto-council"), &["a-1"], "I am a.");
    let several = ["a-1", "b-1", "judge-1"];
    let thought = check(Request::prompt(HARD).model("junto-council"), &several, "I am b.");
    for part in ["local/a-1: about $", "local/b-1: about $", "pair: 3 calls · "] {
        assert!(thought.contains(part), "{part} in {thought}");
    }
    check(Request::prompt(HARD).model("frites-council"), &several, "I am b.");
    check(Request::prompt(HARD).model("council:pair").tools([tool()]), &several, "I am b.");
    // What a client does for itself is done by the model that it names, whatever it is about.
    check(Request::prompt(HARD).model("small-haiku-1"), &["small-haiku-1"], "I am small.");
    check(Request::prompt(HARD).model("claude-haiku-4-5"), &["a-1"], "I am a.");
    let ids = gateway.models();
    for id in ["junto-council", "frites-council", "council:pair"] {
        assert!(ids.iter().any(|found| found == id), "{id} in {ids:?}");
    }
    let (code, said) = gateway.end();
    assert_eq!(code, Some(0), "{said}");
    let table = stage.machine.run(&["cost", "--by", "council"]).ok();
    assert!(table.contains("pair answered 6 times: asked several 3"), "{table}");
}

#[test]
fn counters_are_told_in_the_pace_of_the_variable() {
    let slow = Step { chunk: Some(4), chunk_delay_ms: 5, ..Step::text("word ".repeat(40)) };
    let mut stage = with_play(PAIR, Play::of([Step { when: Some(When::default()), ..slow }]));
    let counters = |stage: &Stage| {
        let gateway = Gateway::start(&stage.machine, &[]);
        let (thought, _) = ask(&gateway, Request::prompt(PLAIN).model("junto-council"));
        assert_eq!(gateway.end().0, Some(0));
        thought.matches(" out · 0s").count()
    };
    assert_eq!(counters(&stage), 0, "two seconds have not passed");
    stage.machine = stage.machine.with("FRITES_TELEMETRY_MS", "1");
    assert!(counters(&stage) > 4);
}
