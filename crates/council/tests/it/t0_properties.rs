//! Whatever members do, a council's answer is a sound one of theirs, within its limits, and once.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use junto_core::Purse;
use junto_council::{Council, Deliberation, FanOut, Member, Mode, Options, Outcome, Report, Scope};
use junto_llm::{
    Allowance, CallCx, Content, Error, Message, Part, Provider, Request, Response, StreamEvent, ToolCall,
    ToolResult, ToolSpec,
};
use proptest::prelude::*;
use serde_json::json;
use tokio::time::Instant;

use crate::actor::{Act, Actor, Role, Running, part};

const MARKS: [&str; 4] = ["a", "b", "c", "d"];

/// A council and what its members will do.
#[derive(Clone, Debug)]
struct Case {
    parts: Vec<Role>,
    judge: Option<Role>,
    mode: Mode,
    fan_out: FanOut,
    ask: usize,
    quorum: Option<usize>,
    straggler: u64,
    within: Option<u64>,
    budget: Option<u64>,
    /// After how many seconds the caller gives up.
    cancelled: Option<u64>,
    streamed: bool,
    /// Whether the first two sit in a council of their own.
    nested: bool,
    /// Whether it is a round of a tool loop, and whether those are worth several.
    continues: Option<Scope>,
}

fn case() -> impl Strategy<Value = Case> {
    let parts = (part("a"), part("b"), part("c"), part("d"), 1_usize..=4)
        .prop_map(|(a, b, c, d, n)| [a, b, c, d].into_iter().take(n).collect::<Vec<_>>());
    let verdict = prop_oneof![
        Just(Act::Say(r#"{"index":0,"reason":"r"}"#.to_owned())),
        Just(Act::Say(r#"{"index":1,"reason":"r"}"#.to_owned())),
        Just(Act::Say(r#"{"index":9}"#.to_owned())),
        Just(Act::Say("fused text".to_owned())),
        Just(Act::Fail),
        Just(Act::Stall("fused".to_owned())),
        Just(Act::Break("fused".to_owned())),
    ];
    let judge = (verdict, 0_u64..40, 1_u64..60).prop_map(|(act, after, tokens)| Role { act, after, tokens });
    let mode = prop_oneof![Just(Mode::Select), Just(Mode::Fuse), Just(Mode::Advise)];
    let fan_out = prop_oneof![3 => Just(FanOut::Always), 1 => Just(FanOut::Never)];
    let limits = (
        1_usize..=4,
        prop::option::of(1_usize..=3),
        0_u64..60,
        prop::option::of(1_u64..90),
        prop::option::of(1_u64..200),
        prop::option::weighted(0.2, 0_u64..60),
    );
    let continues = prop::option::of(prop_oneof![Just(Scope::FirstTurn), Just(Scope::PerTurn)]);
    let manner = (any::<bool>(), prop::bool::weighted(0.3), continues);
    (parts, prop::option::of(judge), mode, fan_out, limits, manner).prop_map(
        |(parts, judge, mode, fan_out, limits, (streamed, nested, continues))| {
            let (ask, quorum, straggler, within, budget, cancelled) = limits;
            let case = Case {
                parts,
                judge,
                mode,
                fan_out,
                ask,
                quorum,
                straggler,
                within,
                budget,
                cancelled,
                streamed,
                nested,
                continues,
            };
            // Nobody would end a call in which all fall silent.
            Case { within: case.within.or(Some(500)), ..case }
        },
    )
}

fn request(continues: bool) -> Request {
    let schema = json!({"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"],
        "additionalProperties": false});
    let mut request = Request::prompt("?");
    if continues {
        let call = ToolCall::function("c", "get", r#"{"key":"k"}"#);
        let called = Part::new(Content::ToolCall(call));
        request.messages.push(Message { content: vec![called], ..Message::assistant("") });
        request.messages.push(Message::tool_results([ToolResult::text("c", "found")]));
    }
    request.tools(["get", "put"].map(|name| ToolSpec::new(name, "", schema.clone()).unwrap()))
}

/// Whether a part is a proposal that may be used.
fn is_sound(part: &Role) -> bool {
    match &part.act {
        Act::Say(_) | Act::Refuse => true,
        Act::Call(calls) => calls.iter().all(|(name, arguments)| {
            name != "no_such_tool" && arguments.starts_with(r#"{"key":""#) && arguments.ends_with("\"}")
        }),
        Act::Fail | Act::Break(_) | Act::Stall(_) => false,
    }
}

/// What came of a case.
struct Ran {
    result: Result<Response, Error>,
    /// How many ends the stream had, and whether something came after the first.
    ends: usize,
    /// What was heard of calls before the end.
    called: Vec<String>,
    elapsed: Duration,
    running: Running,
    actors: Vec<Arc<Actor>>,
    judge: Option<Arc<Actor>>,
    purse: Purse,
    told: Vec<Deliberation>,
    was_cancelled: bool,
}

fn run(case: &Case) -> Ran {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(play(case))
}

async fn play(case: &Case) -> Ran {
    let running = Running::default();
    let actors: Vec<_> = case.parts.iter().map(|part| Actor::new(part.clone(), &running)).collect();
    let judge = case.judge.clone().map(|part| Actor::new(part, &running));
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let into = told.clone();
    let options = Options {
        mode: case.mode,
        fan_out: case.fan_out,
        ask: case.ask,
        quorum: case.quorum,
        straggler: Duration::from_secs(case.straggler),
        within: case.within.map(Duration::from_secs),
        budget: case.budget.map(Allowance::tokens),
        scope: case.continues.unwrap_or_default(),
        report: Some(Report::new(move |d: &Deliberation| into.lock().unwrap().push(d.clone()))),
        ..Options::default()
    };
    let mut seats: Vec<Member> =
        actors.iter().zip(MARKS).map(|(actor, name)| Member::new(name, actor.clone())).collect();
    if case.nested && seats.len() > 1 {
        let others = seats.split_off(2);
        let within = Options { fan_out: FanOut::Always, scope: Scope::PerTurn, ..Options::default() };
        let inner = Council::new(seats, None, within).unwrap();
        seats = std::iter::once(Member::new("inner", Arc::new(inner))).chain(others).collect();
    }
    let bench = judge.clone().map(|actor| Member::new("judge", actor));
    let council = Council::new(seats, bench, options).unwrap();
    let purse = Purse::new(Allowance::UNLIMITED);
    let cx = CallCx { budget: Arc::new(purse.clone()), ..CallCx::new() };
    let began = Instant::now();
    let (mut ends, mut called) = (0, Vec::new());
    let work = async {
        if !case.streamed {
            ends = 1;
            return council.complete(request(case.continues.is_some()), &cx).await;
        }
        let mut events = council.stream(request(case.continues.is_some()), &cx).await.unwrap();
        let mut result = Err(Error::stream("no end"));
        while let Some(item) = events.next().await {
            assert_eq!(ends, 0, "{item:?} after the end");
            match item {
                Ok(StreamEvent::Finish { response, .. }) => {
                    (ends, result) = (ends + 1, Ok(*response.unwrap()));
                }
                Ok(StreamEvent::ToolCallEnd { call, .. }) => called.push(call.raw_arguments),
                Ok(_) => {}
                Err(error) => (ends, result) = (ends + 1, Err(error)),
            }
        }
        result
    };
    let give_up = async {
        match case.cancelled {
            Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
            None => std::future::pending().await,
        }
        cx.cancel.cancel();
        std::future::pending::<()>().await;
    };
    let result = tokio::select! {
        biased;
        result = work => result,
        () = give_up => unreachable!(),
    };
    let elapsed = began.elapsed();
    let was_cancelled = cx.cancel.is_cancelled();
    let told = std::mem::take(&mut *told.lock().unwrap());
    Ran { result, ends, called, elapsed, running, actors, judge, purse, told, was_cancelled }
}

fn check(case: &Case) {
    let ran = run(case);
    assert_eq!(ran.running.count(), 0, "nothing is left running");
    assert_eq!(ran.ends, 1, "one end");
    let [told] = ran.told.as_slice() else { panic!("told {} times", ran.told.len()) };
    if let Some(within) = case.within {
        // Timers count in milliseconds, and round up.
        let most = Duration::from_secs(within) + Duration::from_millis(1);
        assert!(ran.elapsed <= most, "{:?} of {within}s", ran.elapsed);
    }
    if let Some(budget) = case.budget {
        assert!(ran.purse.spent().tokens <= budget, "{:?} of {budget}", ran.purse.spent());
    }
    assert_eq!(ran.purse.reserved().tokens, 0, "everything set aside was booked or given back");

    // Words of those who failed are in nobody's question and in no answer.
    let unsound = |word: &str| {
        let mut makers = case.parts.iter().zip(MARKS).filter(|(_, mark)| word == format!("word-of-{mark}"));
        makers.any(|(part, _)| !is_sound(part))
    };
    let bad: Vec<String> =
        MARKS.iter().map(|mark| format!("word-of-{mark}")).filter(|w| unsound(w)).collect();
    let others = ran.actors.iter().chain(&ran.judge);
    for request in others.flat_map(|actor| actor.asked.lock().unwrap().clone()) {
        let asked = serde_json::to_string(&request.messages).unwrap();
        assert!(!bad.iter().any(|word| asked.contains(word)), "{asked}");
    }

    match &ran.result {
        Ok(response) => {
            assert!(!matches!(told.outcome, Outcome::Failed | Outcome::Cancelled), "{told:?}");
            let said = &response.message;
            let fused = told.outcome == Outcome::Fused;
            let own = |actor: &Arc<Actor>| actor.answer().is_some_and(|answer| answer.message == *said);
            if fused {
                assert!(case.mode == Mode::Fuse && response.tool_calls().next().is_none());
            } else {
                let mut sound = ran.actors.iter().filter(|actor| is_sound(&actor.part) && own(actor));
                assert!(sound.next().is_some(), "{said:?} of {:?}", case.parts);
                assert_eq!(told.asked.iter().filter(|asked| asked.chosen).count(), 1, "{told:?}");
            }
            let all: u64 = told.asked.iter().map(|asked| asked.input).sum();
            assert!(response.usage.input <= all, "{} of {all}", response.usage.input);
            if case.streamed {
                let calls: Vec<_> = response.tool_calls().map(|call| call.raw_arguments.clone()).collect();
                assert_eq!(ran.called, calls, "what was heard is the answer");
            }
        }
        Err(error) => {
            let expected = if ran.was_cancelled { Outcome::Cancelled } else { Outcome::Failed };
            assert!(told.outcome == expected || told.outcome == Outcome::Failed, "{error}: {told:?}");
            assert!(ran.called.is_empty(), "a call was heard of a turn that failed");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_members_do_the_answer_is_a_sound_one_within_the_limits(case in case()) {
        check(&case);
    }
}
