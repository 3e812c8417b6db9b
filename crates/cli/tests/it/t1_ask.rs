use junto::llm::Wire;
use junto::twin::{After, Fault, Options, Play, Step, Stop};
use serde_json::{Value, json};

use crate::Run;
use crate::stage::{KEY, SETUPS, Stage, on_every_wire};

const ANSWER: &str = "Forty-two, and\nnothing else.";

#[test]
fn the_answer_is_all_of_standard_output() {
    on_every_wire(
        || Play::text(ANSWER),
        |setup, stage| {
            for flags in [&[][..], &["--no-stream"]] {
                let run = stage.machine.run(&[&["ask", "What is six times seven?"], flags].concat());
                assert_eq!(run.out, format!("{ANSWER}\n"), "{run:#?}");
                assert_eq!(run.code, Some(0), "{run:#?}");
                let closing = run.err.lines().last().unwrap_or_default().to_owned();
                assert!(
                    closing.starts_with(&format!("{}/{} · in ", setup.provider, setup.model)),
                    "{run:#?}"
                );
                assert!(closing.ends_with(" s"), "{run:#?}");
                let cost = if setup.wire == Wire::Chat { " · cost unknown · " } else { " · about $" };
                assert!(closing.contains(cost), "{run:#?}");
            }
            let quiet = stage.machine.run(&["ask", "--quiet", "Again?"]);
            assert_eq!((quiet.out.as_str(), quiet.err.as_str()), (&*format!("{ANSWER}\n"), ""));
        },
    );
}

#[test]
fn json_tells_everything() {
    on_every_wire(
        || Play::text(ANSWER),
        |setup, stage| {
            let out = stage.machine.run(&["ask", "--json", "What?"]).ok();
            let report: Value = serde_json::from_str(&out).unwrap();
            assert_eq!(report["text"], ANSWER);
            assert_eq!(report["provider"], setup.provider);
            assert_eq!(report["model"], setup.model);
            assert_eq!(report["finish_reason"]["unified"], "stop");
            assert!(report["usage"]["input"].as_u64() > Some(0), "{out}");
            assert!(report["usage"]["output"].as_u64() > Some(0), "{out}");
            let basis = if setup.wire == Wire::Chat { "unknown" } else { "estimated" };
            assert_eq!(report["cost"]["basis"], basis);
            assert_eq!(report["tool_calls"], json!([]));
        },
    );
}

#[test]
fn what_is_piped_in_comes_below_the_prompt() {
    let stage = Stage::on_any_wire(Play::default());
    let mut command = stage.machine.command(&["ask", "--system", "Be brief.", "Review this."]);
    assert_eq!(Run::of(command.write_stdin("the diff\n")).ok(), "Review this.\n\nthe diff\n");
    assert_eq!(Run::of(stage.machine.command(&["ask"]).write_stdin("only this")).ok(), "only this\n");
    let sent = stage.requests()[0].body.to_string();
    assert!(sent.contains("Be brief."), "{sent}");
}

#[test]
fn settings_reach_the_wire() {
    let stage = Stage::on_any_wire(Play::default());
    stage
        .machine
        .run(&["ask", "-m", "claude-haiku-5-5", "--max-tokens", "1234", "--effort", "low", "hi"])
        .ok();
    let body = &stage.requests()[0].body;
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("claude-haiku-5-5"), &json!(1234)));
    assert_eq!(body["output_config"]["effort"], "low", "{body}");
}

#[test]
fn pictures_are_sent() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    on_every_wire(Play::default, |_, stage| {
        stage.machine.write("project/a.png", PNG);
        assert_eq!(stage.machine.run(&["ask", "--image", "a.png", "What is this?"]).ok(), "What is this?\n");
        let sent = stage.requests()[0].body.to_string();
        assert!(sent.contains("iVBORw0KGgoAAAANSUhEUg") && sent.contains("image/png"), "{sent}");
    });
}

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": false
}"#;

#[test]
fn structured_answers_are_checked() {
    on_every_wire(
        || Play::of([Step::object(json!({"name": "Ada", "age": 36}))]),
        |_, stage| {
            stage.machine.write("project/s.json", SCHEMA);
            let out = stage.machine.run(&["ask", "--schema", "s.json", "Invent a person."]).ok();
            let object: Value = serde_json::from_str(&out).unwrap();
            assert_eq!(object, json!({"name": "Ada", "age": 36}));
            let out = stage.machine.run(&["ask", "--json", "--schema", "s.json", "Invent a person."]).ok();
            assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["object"], object);
        },
    );
}

#[test]
fn an_answer_that_does_not_fit_is_a_failure() {
    for (play, said) in [
        (Play::text("Ada, 36"), "the answer is not JSON"),
        (Play::text("{\"name\": \"Ada\", \"age\": \"old\"}"), "`age` must be an integer"),
    ] {
        let stage = Stage::on_any_wire(play);
        stage.machine.write("project/s.json", SCHEMA);
        stage.machine.run(&["ask", "--schema", "s.json", "Invent a person."]).fails(1, &[said]);
        assert_eq!(stage.requests().len(), 1, "it is not asked again");
    }
}

#[test]
fn an_answer_that_was_cut_off_is_printed_and_said_to_be() {
    on_every_wire(
        || Play::of([Step { finish: Some(Stop::Length), ..Step::text("Once upon") }]),
        |_, stage| {
            for flags in [&["ask", "Tell."][..], &["ask", "--no-stream", "Tell."]] {
                let run = stage.machine.run(flags);
                assert_eq!((run.code, run.out.as_str()), (Some(4), "Once upon\n"), "{run:#?}");
                assert!(run.err.contains("error: the answer was cut off after"), "{run:#?}");
                assert!(run.err.contains("hint: raise --max-tokens"), "{run:#?}");
            }
        },
    );
}

#[test]
fn a_refusal_is_said_to_be_one() {
    let stage =
        Stage::on_any_wire(Play::of([Step { finish: Some(Stop::ContentFilter), ..Step::text("No.") }]));
    let run = stage.machine.run(&["ask", "Tell."]);
    assert_eq!(run.code, Some(3), "{run:#?}");
    assert!(run.err.contains("refused or filtered"), "{run:#?}");
}

#[test]
fn a_wrong_key_is_named_but_not_shown() {
    on_every_wire(Play::default, |setup, stage| {
        let wrong = "wrong-key-8a7b";
        let variable = setup.variables().1;
        let mut command = stage.machine.command(&["ask", "hi"]);
        command.env(variable, wrong);
        let hint = format!("hint: check the key in {variable}");
        let run = Run::of(&mut command).fails(3, &[setup.provider, &hint]);
        assert!(!run.err.contains(wrong) && !run.err.contains(KEY), "{run:#?}");
    });
}

#[test]
fn passing_failures_are_tried_again_and_shown() {
    on_every_wire(
        || Play::of([Step { fault: Some(Fault::status(503).times(1)), ..Step::text(ANSWER) }]),
        |_, stage| {
            let run = stage.machine.run(&["ask", "hi"]);
            assert_eq!((run.code, run.out.as_str()), (Some(0), &*format!("{ANSWER}\n")), "{run:#?}");
            assert!(run.err.contains("trying again in 0s (1 of 2)"), "{run:#?}");
            assert_eq!(stage.requests().len(), 2);
        },
    );
}

#[test]
fn a_stream_that_breaks_keeps_what_came_and_is_not_repeated() {
    let fault = Fault { drop_after_bytes: Some(After(3000)), ..Fault::default() };
    for setup in &SETUPS {
        let play = Play::of([Step { repeat: Some(1000), ..Step::text("all work and no play ") }]);
        let options = Options { fault: Some(fault.clone()), ..Options::default() };
        let stage = Stage::with_options(setup, play, options);
        let run = stage.machine.run(&["ask", "hi"]);
        assert_eq!(run.code, Some(3), "{run:#?}");
        assert!(run.out.starts_with("all work") && run.out.ends_with('\n'), "{run:#?}");
        assert!(run.err.contains("error: ") && run.err.contains("hint: "), "{run:#?}");
        assert_eq!(stage.requests().len(), 1);
        let cost = crate::t1_session_cost::cost(&stage.machine, &[]);
        let total = &cost["total"];
        assert_eq!((&total["calls"], &total["cost"]["unknown_calls"]), (&json!(1), &json!(1)), "{cost:#}");
    }
}

#[test]
fn a_silent_provider_times_out() {
    let fault = Fault { stall: Some(After(1)), ..Fault::default() };
    let stage = Stage::on_any_wire(Play::of([Step { fault: Some(fault), ..Step::default() }]));
    let machine = stage.machine.with("JUNTO_IDLE_TIMEOUT", "200ms").with("JUNTO_MAX_RETRIES", "0");
    machine.run(&["ask", "hi"]).fails(3, &["idle timeout"]);
}
