//! Code that runs for the model and is refused something: what becomes of the turn.

use std::sync::{Arc, OnceLock};

use junto_agent::{Past, Session, SessionConfig, tool};
use junto_core::{
    Action, Agent, Body, Command, Decision, EndReason, Event, EventLog, Leash, MemoryJournal, OnReject,
    Policy, Seq, ToolCx, ToolHost, ToolOutcome, Verdict, Via,
};
use junto_llm::{SessionId, ToolCall};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::scene::{Record, Scene};
use crate::script::{Line, Script, script};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// Asks about the tool `touch`, whoever calls it.
struct AskTouch;

impl Policy for AskTouch {
    fn decide(&self, _: &[Action]) -> Verdict {
        Verdict::Allow(Leash::Kept)
    }

    fn decide_call(&self, tool: &str, _: &[Action]) -> Verdict {
        if tool == "touch" {
            return Verdict::Ask { proposed: vec![], reason: String::new() };
        }
        Verdict::Allow(Leash::Kept)
    }
}

fn cells(config: &mut SessionConfig, calls: usize) -> Arc<OnceLock<Arc<dyn ToolHost>>> {
    let host = Arc::new(OnceLock::new());
    let own = Arc::clone(&host);
    // Code that catches whatever is raised, and goes on.
    let cell = tool("cell", "", move |_: Nothing, _: ToolCx| {
        let host: Arc<dyn ToolHost> = Arc::clone(own.get().expect("a host"));
        async move {
            let mut said = Vec::new();
            for n in 0..calls {
                let call = ToolCall::function(format!("cell-{n}"), "touch", "{}");
                said.push(host.call(call, Via::Cell).await.output.preview().into_owned());
            }
            said.join("; ")
        }
    });
    let touch = tool("touch", "", |_: Nothing, _: ToolCx| async { "touched" });
    config.tools.register(Arc::new(cell));
    config.tools.register(Arc::new(touch));
    config.policy = Arc::new(AskTouch);
    host
}

async fn scene(lines: Vec<Line>, on_reject: OnReject, calls: usize) -> (Scene, Arc<Script>) {
    let model = script(lines);
    let mut host = None;
    let scene = Scene::with(Arc::clone(&model) as _, |mut config| {
        host = Some(cells(&mut config, calls));
        SessionConfig { on_reject, ..config }
    })
    .await;
    let _ = host.expect("a host").set(scene.session.tool_host());
    (scene, model)
}

async fn answer(scene: &mut Scene, decision: Decision) {
    let Body::Ask { request } = scene.event("ask").await.body else { unreachable!() };
    scene.session.send(Command::Answer { ask: request.ask, decision }).await.unwrap();
}

fn one_cell() -> Vec<Line> {
    vec![Line::Calls(vec![("cell", json!({}))]), Line::Text("Done.")]
}

fn no(reason: Option<&str>) -> Decision {
    Decision::Reject { reason: reason.map(str::to_owned) }
}

const YES: Decision = Decision::Allow { remember: None };

/// A cell that calls twice, whatever it is told; what the two calls are answered, how the turn ends, what the cell said.
#[tokio::test]
async fn what_code_is_refused_ends_the_turn_after_the_cell() {
    let unanswered = || Decision::Unanswered { reason: None };
    let table = [
        (OnReject::EndTurn, [no(None), YES], EndReason::Rejected, "the user refused; touched"),
        (OnReject::EndTurn, [YES, no(None)], EndReason::Rejected, "touched; the user refused"),
        (
            OnReject::EndTurn,
            [no(Some("a")), no(None)],
            EndReason::Rejected,
            "the user refused: a; the user refused",
        ),
        (OnReject::EndUnlessTold, [no(None), YES], EndReason::Rejected, "the user refused; touched"),
        (OnReject::EndUnlessTold, [no(Some("a")), YES], EndReason::Done, "the user refused: a; touched"),
        (OnReject::TellModel, [no(None), YES], EndReason::Done, "the user refused; touched"),
        (
            OnReject::EndTurn,
            [unanswered(), YES],
            EndReason::Done,
            "not allowed: nobody is there to decide; touched",
        ),
    ];
    for (on_reject, answers, reason, said) in table {
        let at = format!("{on_reject:?} {answers:?}");
        let (mut scene, model) = scene(one_cell(), on_reject, 2).await;
        scene.submit("Go").await;
        for decision in answers {
            answer(&mut scene, decision).await;
        }
        assert_eq!(scene.input_end().await.0, reason, "{at}");
        let asked = if reason == EndReason::Rejected { 1 } else { 2 };
        assert_eq!(model.requests.lock().unwrap().len(), asked, "{at}: the model is not asked after a no");
        let record = scene.end().await;
        let ends = record.tool_ends();
        let (_, output, failed) = ends.iter().find(|(name, ..)| name == "cell").expect("the cell");
        assert_eq!((output.as_str(), *failed), (said, false), "{at}");
    }
}

/// The turn that ended is over: the next is as any other, and what is refused while nothing runs ends none.
#[tokio::test]
async fn the_next_turn_is_not_ended_by_an_old_refusal() {
    let lines = one_cell().into_iter().chain([Line::Text("Again."), Line::Text("More.")]).collect();
    let (mut scene, _) = scene(lines, OnReject::EndTurn, 1).await;
    scene.submit("Go").await;
    answer(&mut scene, no(None)).await;
    assert_eq!(scene.input_end().await.0, EndReason::Rejected);
    assert_eq!(scene.ask("And now?").await, (EndReason::Done, "Done.".to_owned()));
    let host = scene.session.tool_host();
    let call = ToolCall::function("alone", "touch", "{}");
    let alone = tokio::spawn(async move { host.call(call, Via::Cell).await });
    answer(&mut scene, no(None)).await;
    assert_eq!(alone.await.unwrap(), ToolOutcome::rejected("the user refused"));
    assert_eq!(scene.ask("Still there?").await, (EndReason::Done, "Again.".to_owned()));
    scene.end().await;
}

/// What the model itself asked for beside the cell, and has not started, never does.
#[tokio::test]
async fn a_refusal_in_a_cell_withdraws_what_waits_beside_it() {
    let both = vec![("cell", json!({})), ("touch", json!({}))];
    let (mut scene, _) = scene(vec![Line::Calls(both), Line::Text("Done.")], OnReject::EndTurn, 1).await;
    scene.submit("Go").await;
    let mut asks = Vec::new();
    for _ in 0..2 {
        let Body::Ask { request } = scene.event("ask").await.body else { unreachable!() };
        asks.push(request);
    }
    let of_cell = asks.into_iter().find(|request| request.via == Via::Cell).expect("the cell's");
    scene.session.send(Command::Answer { ask: of_cell.ask, decision: no(None) }).await.unwrap();
    assert_eq!(scene.input_end().await.0, EndReason::Rejected);
    let record = scene.end().await;
    assert_eq!((record.count("answered"), record.count("tool_call_end")), (1, 3));
}

/// Cut off between the no and the end of the cell, the input ends when the session is brought back.
#[tokio::test]
async fn a_refusal_in_a_cell_is_not_forgotten_with_the_process() {
    let (mut scene, _) = scene(one_cell(), OnReject::EndTurn, 1).await;
    scene.submit("Go").await;
    answer(&mut scene, no(None)).await;
    scene.input_end().await;
    let env = Arc::clone(&scene.env);
    let Record { events, .. } = scene.end().await;
    let cut = events.iter().position(|event| event.body.name() == "answered").expect("an answer");
    let past: Vec<Event> = events[..=cut].to_vec();
    let (journal, last) = (MemoryJournal::default(), past[cut].seq);
    junto_core::Journal::append(&journal, &past, junto_core::Durability::Synced).await.unwrap();
    let session: SessionId = past[0].session.clone();
    let log = EventLog::new(session, Arc::new(journal), last, Arc::new(|| jiff::Timestamp::UNIX_EPOCH));
    let model = script([]);
    let mut config = SessionConfig::new(Arc::clone(&model) as _, env, log);
    let host = cells(&mut config, 1);
    let session = Session::resume(config, Past::new(past)).await.unwrap();
    let _ = host.set(session.tool_host());
    let mut events = session.log().subscribe(Seq(last.0 + 1));
    let reason = loop {
        let junto_core::Item::Event(event) = events.next().await.unwrap() else { continue };
        if let Body::InputEnd { reason, .. } = &event.body {
            break reason.clone();
        }
    };
    assert_eq!(reason, EndReason::Rejected);
    assert!(model.requests.lock().unwrap().is_empty());
    session.close().await;
}
