//! What the calls of a log are booked as where a budget is to pay for them.
//!
//! While a session runs, a call whose cost nobody knows is booked by what was seen of it, or else as its worst case.
//! Once the session is brought back it is booked by what the log says of it, and again rather too high than too low.

use junto_core::{AgentId, Body, CallEnd, Event};
use junto_llm::catalog::Catalog;
use junto_llm::{Allowance, Cost, LeafCall, Spending, UNKNOWN_OUTPUT, Usage, Usd};

use super::lost::{Lost, lost};

/// What a request may have that is in no event: the definitions of tools, above all.
const FRAME: u64 = 64 * 1024;

/// What each call from this event on is booked as, without those that were cut off with their process. Of a model whose
/// price is unknown it is the tokens alone: no budget of money pays for it.
pub(crate) fn calls(events: &[Event], from: usize, catalog: &Catalog) -> Vec<Spending> {
    let mut bill = Vec::new();
    for (index, event) in events.iter().enumerate().skip(from) {
        let Body::Call { provider, model, usage, cost, end, .. } = &event.body else { continue };
        let before = events.get(..index).unwrap_or_default();
        if cost.amount().is_some() {
            bill.push(Spending { cost: *cost, tokens: usage.total });
        } else if usage.calls.is_empty() {
            let (provider, model, usage) = (provider.clone(), model.clone(), usage.clone());
            let call = LeafCall { provider, model, usage, cost: *cost };
            let seen = match end {
                CallEnd::Whole | CallEnd::Paused => 0,
                CallEnd::Interrupted | CallEnd::Failed { .. } => seen(before, &event.agent),
            };
            bill.push(booked(&call, seen, || Some(request(before, &event.agent)), catalog));
        } else {
            // What the members of a council were asked is in no event.
            bill.extend(usage.calls.iter().map(|call| booked(call, 0, || None, catalog)));
        }
    }
    bill
}

/// What the calls are booked as that were cut off with their process: the most that each of them could have taken. Where the
/// session had a limit no call was made for which not as much was left as it could take, so that none has taken more.
/// `limit` tells what held after these events.
pub(crate) fn bill_of_lost(
    events: &[Event],
    catalog: &Catalog,
    limit: &dyn Fn(&[Event]) -> Allowance,
) -> Vec<Spending> {
    let mut held: Vec<Spending> = Vec::new();
    for lost in lost(events) {
        let before = events.get(..lost.at).unwrap_or_default();
        let calls = calls(before, 0, catalog);
        let spent = || calls.iter().chain(&held);
        let usd: Usd = spent().filter_map(|paid| paid.cost.amount()).sum();
        let tokens = spent().fold(0_u64, |sum, paid| sum.saturating_add(paid.tokens));
        let limit = limit(before);
        let mut most = worst(&lost, events, catalog);
        if let (Some(limit), Some(amount)) = (limit.usd, most.cost.amount()) {
            most.cost = Cost::Estimated(amount.min((limit - usd).max(Usd::ZERO)));
        }
        if let Some(limit) = limit.tokens {
            most.tokens = most.tokens.min(limit.saturating_sub(tokens));
        }
        held.push(most);
    }
    held
}

/// The most that a call could have taken of which nothing is known but whom it asked.
fn worst(lost: &Lost, events: &[Event], catalog: &Catalog) -> Spending {
    let Lost { at, agent, provider, model } = lost;
    if provider.is_none() && model.is_none() {
        // What the members of a council were asked is in no event.
        return Spending { cost: Cost::Unknown, tokens: 0 };
    }
    let model = model.as_deref().unwrap_or_default();
    let known = match provider {
        Some(provider) => catalog.of(provider, model),
        None => catalog.get(model),
    };
    let input = request(events.get(..*at).unwrap_or_default(), agent);
    let window = known.map(|model| model.context_window).filter(|window| *window > 0);
    let input = window.map_or(input, |window| input.min(window));
    let output = known.map(|model| model.max_output).filter(|most| *most > 0).unwrap_or(UNKNOWN_OUTPUT);
    let price = known.and_then(|model| model.price);
    let cost = price.map_or(Cost::Unknown, |price| Cost::Estimated(price.worst(input, output)));
    Spending { cost, tokens: input.saturating_add(output) }
}

/// What a call is booked as of whose answer so many bytes were seen. `request` tells how many tokens it could have
/// read, where that can be told.
fn booked(call: &LeafCall, seen: u64, request: impl FnOnce() -> Option<u64>, catalog: &Catalog) -> Spending {
    let LeafCall { provider, model, usage, cost } = call;
    let known = catalog.of(provider, model);
    if cost.amount().is_some() || (known.is_none() && usage.total == 0) {
        return Spending { cost: *cost, tokens: usage.total };
    }
    let price = known.and_then(|model| model.price);
    if usage.total > 0 {
        // Each token of what was seen has at least a byte.
        let output = usage.output.max(seen.min(known.map_or(0, |model| model.max_output)));
        let total = usage.total.max(usage.input.saturating_add(output));
        let cost = price.map_or(Cost::Unknown, |price| price.cost(&Usage { output, total, ..usage.clone() }));
        return Spending { cost, tokens: total };
    }
    let (window, output) = known.map_or((0, 0), |model| (model.context_window, model.max_output));
    let input = request().map_or(window, |tokens| if window > 0 { tokens.min(window) } else { tokens });
    let cost = price.map_or(Cost::Unknown, |price| Cost::Estimated(price.worst(input, output)));
    Spending { cost, tokens: input.saturating_add(output) }
}

/// The most tokens that an agent's next request could have: as many as were counted last, and one for each byte of
/// what came after.
fn request(before: &[Event], agent: &AgentId) -> u64 {
    let mut tokens: u64 = 0;
    for event in before.iter().rev().filter(|event| event.agent == *agent) {
        if let Body::Call { usage, .. } = &event.body
            && usage.total > 0
            && usage.calls.is_empty()
        {
            return tokens.saturating_add(usage.total);
        }
        tokens = tokens.saturating_add(size(event));
    }
    tokens.saturating_add(FRAME)
}

/// How many bytes were seen of the answer that an agent is given.
fn seen(before: &[Event], agent: &AgentId) -> u64 {
    let own = before.iter().rev().filter(|event| event.agent == *agent);
    let answer = own.take_while(|event| !matches!(event.body, Body::Call { .. } | Body::UserInput { .. }));
    let texts = answer.filter_map(|event| match &event.body {
        Body::AssistantTextEnd { text, .. } | Body::ReasoningEnd { text, .. } => Some(text.bytes()),
        _ => None,
    });
    texts.fold(0, u64::saturating_add)
}

/// How long an event is. Of a text that is kept beside it this is the ends, which is what a model is shown of the output
/// of a tool.
fn size(event: &Event) -> u64 {
    serde_json::to_vec(event).map_or(0, |json| json.len() as u64)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use junto_core::{
        ApprovalRequest, AskId, BlobId, CallPurpose, EndReason, EventLog, Input, Limits, Payload, Seq, Setup,
        Via,
    };
    use junto_llm::{Content, Message, Part, ToolCall};

    use super::*;
    use crate::frame::ABILITIES;

    const CATALOG: &str = "[[model]]\nid = \"m\"\nprovider = \"p\"\nname = \"M\"\ncontext_window = 100_000\n\
        max_output = 1000\nreleased = \"2026-01-01\"\nprice = { input = 1e6, output = 2e6 }\n";

    fn call(usage: Usage, cost: Cost, end: CallEnd) -> Body {
        let (provider, model) = ("p".to_owned(), "m".to_owned());
        let purpose = CallPurpose::default();
        Body::Call {
            provider,
            model,
            response_id: None,
            usage,
            cost,
            answer: None,
            end,
            purpose,
            prefix: None,
        }
    }

    async fn events(bodies: Vec<Body>) -> Vec<Event> {
        let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
        for body in bodies {
            log.emit(body).await.unwrap();
        }
        log.subscribe(Seq::START).rest().await.unwrap()
    }

    fn lost_of(events: &[Event], catalog: &Catalog) -> Vec<Spending> {
        bill_of_lost(events, catalog, &|_| Allowance::UNLIMITED)
    }

    async fn billed(bodies: Vec<Body>) -> Vec<(Option<i64>, u64)> {
        let events = events(bodies).await;
        let dollars = |cost: Cost| cost.amount().map(|usd| usd.0 / 1_000_000_000);
        let catalog = Catalog::parse(CATALOG).unwrap();
        let bill = calls(&events, 0, &catalog).into_iter().chain(lost_of(&events, &catalog));
        bill.map(|paid| (dollars(paid.cost), paid.tokens)).collect()
    }

    #[tokio::test]
    async fn what_nobody_knows_takes_nothing_from_what_is_known() {
        let nine = Cost::Reported(Usd::from_dollars(9.0));
        let bodies = vec![
            call(Usage::new(4, 1), nine, CallEnd::default()),
            // What was counted has a price, and what was seen beyond it too.
            call(Usage::new(10, 1), Cost::Unknown, CallEnd::Interrupted),
            Body::AssistantTextEnd { of: Seq(1), text: "x".repeat(50).into() },
            call(Usage::new(10, 1), Cost::Unknown, CallEnd::Interrupted),
        ];
        assert_eq!(billed(bodies).await, [(Some(9), 5), (Some(12), 11), (Some(110), 60)]);
    }

    #[tokio::test]
    async fn a_call_that_told_nothing_is_its_worst_case() {
        let nothing = || call(Usage::default(), Cost::Unknown, CallEnd::Interrupted);
        let input = |text: &str| Body::UserInput { input: Input::text(text), pictures: None };
        // The window is the most that it could have read.
        assert_eq!(billed(vec![input(&"x".repeat(200_000)), nothing()]).await, [(Some(102_000), 101_000)]);
        let counted = call(Usage::new(500, 0), Cost::Estimated(Usd(0)), CallEnd::default());
        let paid = billed(vec![counted, input("more"), nothing()]).await;
        assert!((1500 + 4..4000).contains(&paid[1].1), "{paid:?}");
    }

    fn start(kind: &str) -> Body {
        let setup = (kind == "native").then(|| Setup {
            system: "".into(),
            provider: None,
            effort: None,
            profile: None,
            dialect: None,
            limits: Limits::default(),
            forked_from: None,
        });
        let (kind, model) = (kind.to_owned(), Some("m".to_owned()));
        Body::SessionStart { kind, model, workdir: None, abilities: ABILITIES, setup }
    }

    fn input() -> Body {
        Body::UserInput { input: Input::text("x"), pictures: None }
    }

    /// A call that cost nothing, whose answer calls these tools.
    fn calling(ids: &[&str]) -> Body {
        let mut body = call(Usage::new(1, 1), Cost::Reported(Usd(0)), CallEnd::default());
        let content = ids.iter().map(|id| Part::new(Content::ToolCall(ToolCall::function(*id, "f", "{}"))));
        let message = Message { content: content.collect(), ..Message::assistant("") };
        if let Body::Call { answer, .. } = &mut body {
            *answer = Some(serde_json::to_string(&message).unwrap().into());
        }
        body
    }

    fn started(id: &str) -> Body {
        Body::ToolCallStart { call: ToolCall::function(id, "f", "{}"), via: Via::Loop }
    }

    fn ended(id: &str) -> Body {
        Body::ToolCallEnd {
            of: None,
            call_id: id.to_owned(),
            name: "f".to_owned(),
            call: None,
            output: "".into(),
            is_error: false,
            seen: None,
            via: Via::Loop,
        }
    }

    /// How many calls are booked as lost, and that each is at its worst: a thousand tokens are written, and all that
    /// was said is read.
    async fn check_lost(bodies: Vec<Body>, expected: usize) {
        let whole = bodies.iter().filter(|body| matches!(body, Body::Call { .. })).count();
        let said = format!("{bodies:?}");
        let paid = billed(bodies).await;
        let lost = paid.get(whole..).unwrap_or_default();
        assert_eq!(lost.len(), expected, "{said}");
        assert!(lost.iter().all(|(usd, tokens)| usd.is_some() && *tokens > 1000), "{said} {lost:?}");
    }

    #[tokio::test]
    async fn a_call_that_was_cut_off_with_its_process_is_its_worst_case() {
        let resumed = || Body::SessionResumed { cut_off: Vec::new() };
        let end = || Body::InputEnd { reason: EndReason::Done, text: "".into() };
        let native = || start("native");
        check_lost(vec![native()], 0).await;
        check_lost(vec![native(), input()], 1).await;
        // Whoever asks models by itself tells afterwards.
        check_lost(vec![start("other"), input()], 0).await;
        check_lost(vec![native(), input(), calling(&[]), end()], 0).await;
        // Only its end is missing.
        check_lost(vec![native(), input(), calling(&[])], 0).await;
        // The tools are at work, or about to be.
        check_lost(vec![native(), input(), calling(&["a", "b"])], 0).await;
        check_lost(vec![native(), input(), calling(&["a", "b"]), started("a"), ended("a")], 0).await;
        let round = || vec![native(), input(), calling(&["a"]), started("a"), ended("a")];
        check_lost(round(), 1).await;
        // Each time that it was cut off.
        let again = || vec![resumed(), calling(&["b"]), started("b"), ended("b")];
        check_lost([round(), again()].concat(), 2).await;
        check_lost([round(), again(), vec![calling(&[]), end(), input()]].concat(), 2).await;
        check_lost([round(), vec![resumed(), end(), resumed()]].concat(), 1).await;
        let limit = Body::TurnLimit { limit: "x".to_owned(), reached: 1 };
        check_lost([round(), vec![limit]].concat(), 0).await;
    }

    /// As live: of such a model an answer of a length is asked for that is the same for all.
    #[tokio::test]
    async fn a_lost_call_of_an_unknown_model_takes_tokens_and_one_of_a_council_is_not_counted() {
        let begun = |model: Option<&str>| {
            let mut body = start("native");
            if let Body::SessionStart { model: own, .. } = &mut body {
                *own = model.map(str::to_owned);
            }
            body
        };
        let paid = billed(vec![begun(Some("other")), input()]).await;
        assert!(matches!(paid[..], [(None, tokens)] if tokens > FRAME + UNKNOWN_OUTPUT), "{paid:?}");
        assert_eq!(billed(vec![begun(None), input()]).await, [(None, 0)]);
        // Whoever answered as a council is one.
        let leaf = LeafCall {
            provider: "p".into(),
            model: "m".into(),
            usage: Usage::new(1, 1),
            cost: Cost::Reported(Usd(0)),
        };
        let mut answer = calling(&["a"]);
        if let Body::Call { usage, .. } = &mut answer {
            usage.calls = vec![leaf];
        }
        let paid = billed(vec![begun(None), input(), answer, started("a"), ended("a")]).await;
        assert_eq!(paid, [(Some(0), 2), (None, 0)]);
    }

    /// Live, an answer is held to what the budget pays for.
    #[tokio::test]
    async fn a_lost_call_takes_no_more_than_was_left() {
        let catalog = Catalog::parse(CATALOG).unwrap();
        let nine = call(Usage::new(4, 1), Cost::Reported(Usd::from_dollars(9.0)), CallEnd::default());
        let again = Body::SessionResumed { cut_off: Vec::new() };
        let events = events(vec![start("native"), input(), nine, input(), again, input()]).await;
        let lost = |usd: Option<f64>, tokens| {
            let limit = move |_: &[Event]| Allowance { usd: usd.map(Usd::from_dollars), tokens };
            let lost = bill_of_lost(&events, &catalog, &limit);
            let usd = lost.iter().map(|paid| paid.cost.amount().unwrap().dollars());
            usd.zip(lost.iter().map(|paid| paid.tokens)).collect::<Vec<_>>()
        };
        let all = lost(None, None);
        assert!(all.len() == 2 && all.iter().all(|(usd, tokens)| *usd > 1000.0 && *tokens > 1000), "{all:?}");
        assert_eq!(lost(Some(1e9), Some(u64::MAX)), all);
        assert_eq!(lost(Some(10.0), Some(6)), [(1.0, 1), (0.0, 0)]);
        assert_eq!(lost(Some(1.0), Some(1)), [(0.0, 0), (0.0, 0)]);
    }

    /// A fork ends where its turn did, and its children with it, whatever they did then.
    #[tokio::test]
    async fn a_child_that_asked_when_the_session_ended_has_lost_nothing() {
        let catalog = Catalog::parse(CATALOG).unwrap();
        let end = || Body::InputEnd { reason: EndReason::Done, text: "".into() };
        let over = Body::SessionEnd { reason: EndReason::Done, usage: Usage::default(), cost: Cost::Unknown };
        let bodies = vec![start("native"), input(), calling(&[]), start("native"), input(), end(), over];
        let mut events = events(bodies).await;
        let child = AgentId::fresh();
        for place in [3, 4] {
            events[place].agent = child.clone();
        }
        let lost = |events: &[Event]| lost_of(events, &catalog).len();
        assert_eq!((lost(&events), lost(&events[..6])), (0, 1));
    }

    /// The calls of an answer that is kept beside its event are known by what became of them.
    #[tokio::test]
    async fn who_waits_for_a_call_that_is_asked_about_does_not_ask_a_model() {
        let spilled = |mut body| {
            if let Body::Call { answer, .. } = &mut body {
                let (head, tail, blob) = (String::new(), String::new(), BlobId("b".to_owned()));
                *answer = Some(Payload::Spilled { head, tail, bytes: 2_000_000, blob, crc: None });
            }
            body
        };
        let asked = |id: &str, via| Body::Ask {
            request: ApprovalRequest {
                ask: AskId("q".to_owned()),
                via,
                call: ToolCall::function(id, "f", "{}"),
                actions: Vec::new(),
                proposed: Vec::new(),
                reason: String::new(),
                expires: None,
            },
        };
        let until =
            |more: Vec<Body>| [vec![start("native"), input(), spilled(calling(&["a", "b"]))], more].concat();
        check_lost(until(vec![started("a"), asked("b", Via::Loop), ended("a")]), 0).await;
        check_lost(until(vec![started("a"), ended("a"), asked("b", Via::Loop)]), 0).await;
        check_lost(until(vec![asked("b", Via::Loop), started("a"), ended("a"), ended("b")]), 1).await;
        // That of a cell ends with the cell.
        check_lost(until(vec![started("a"), asked("c", Via::Cell), ended("a")]), 1).await;
    }

    #[tokio::test]
    async fn of_what_has_no_price_the_tokens_count() {
        let other = |usage| {
            let mut body = call(usage, Cost::Unknown, CallEnd::default());
            if let Body::Call { model, .. } = &mut body {
                "other".clone_into(model);
            }
            body
        };
        assert_eq!(
            billed(vec![other(Usage::new(3, 4)), other(Usage::default())]).await,
            [(None, 7), (None, 0)]
        );
        // A council: each member by itself.
        let leaf = |usage, cost| LeafCall { provider: "p".into(), model: "m".into(), usage, cost };
        let calls =
            vec![leaf(Usage::new(1, 1), Cost::Unknown), leaf(Usage::new(1, 1), Cost::Reported(Usd(0)))];
        let usage = Usage { calls, ..Usage::new(2, 2) };
        assert_eq!(
            billed(vec![call(usage, Cost::Unknown, CallEnd::default())]).await,
            [(Some(3), 2), (Some(0), 2)]
        );
    }
}
