//! A council on a budget: each of its members, and its judge, is paid by itself, and nobody twice.

use std::sync::Arc;

use junto::core::{Amount, Body, Command, EndReason, Purse, Seq};
use junto::council::{Council, FanOut, Member, Options as CouncilOptions};
use junto::env::{ExecutionEnvironment, LocalEnvironment};
use junto::llm::{Allowance, Cost, Endpoint, HttpProvider, Usage, Usd, Wire};
use junto::twin::{Options, Play, Twin};
use junto::{Kind, Native, Workshop};
use tokio_util::sync::CancellationToken;

use crate::compositions::checks::{checked, record};
use crate::compositions::drive::spec;
use crate::compositions::stage::{ROOT, model};

struct Table {
    twins: Vec<Twin>,
    council: Council,
}

/// Two members that differ, and a judge.
fn table() -> Table {
    let plays = [(Wire::Anthropic, "Left."), (Wire::Responses, "Right.")];
    let judge = (Wire::Anthropic, r#"{"index": 1, "reason": "it is right"}"#);
    let (mut twins, mut members) = (Vec::new(), Vec::new());
    for (place, (wire, text)) in plays.into_iter().chain([judge]).enumerate() {
        let twin = Twin::start(Play::text(text), Options::default()).unwrap();
        let endpoint = Endpoint::new(model(wire).0, wire, twin.base_url(wire)).key(twin.key());
        let provider = Arc::new(HttpProvider::new(endpoint).unwrap());
        members.push(Member::new(format!("member {place}"), provider).model(model(wire).1));
        twins.push(twin);
    }
    let judge = members.pop();
    let options = CouncilOptions { fan_out: FanOut::Always, ..CouncilOptions::default() };
    Table { twins, council: Council::new(members, judge, options).unwrap() }
}

/// Asks the council once, and gives how that ended, and what was booked.
async fn ask(council: Council, purse: &Purse) -> (EndReason, Usage, Cost) {
    let dir = tempfile::tempdir().unwrap();
    let env: Arc<dyn ExecutionEnvironment> = Arc::new(LocalEnvironment::builder(dir.path()).build().unwrap());
    let workshop = Workshop::builder(dir.path(), move |_| Ok(Arc::clone(&env)))
        .kind(ROOT, Kind::Native(Native::new(Arc::new(council))))
        .budget(Arc::new(purse.clone()))
        .build();
    let agent = workshop.start(spec(), CancellationToken::new()).await.unwrap();
    let recorder = tokio::spawn(record(agent.log().subscribe(Seq::START)));
    let mut reader = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: "Left or right?".into() }).await.unwrap();
    let reason = loop {
        if let junto::core::Item::Event(event) = reader.next().await.unwrap()
            && let Body::InputEnd { reason, .. } = &event.body
        {
            break reason.clone();
        }
    };
    agent.close().await;
    match checked(&recorder.await.unwrap()).pop().unwrap().body {
        Body::SessionEnd { usage, cost, .. } => (reason, usage, cost),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn members_and_judge_are_paid_once() {
    let Table { twins, council } = table();
    let purse = Purse::new(Allowance { usd: Some(Usd::from_dollars(50.0)), tokens: Some(1_000_000) });
    let (reason, usage, cost) = ask(council, &purse).await;
    assert_eq!(reason, EndReason::Done);
    let charged = twins.iter().fold(Usage::default(), |sum, twin| &sum + &twin.usage_total());
    assert_eq!((usage.total, purse.spent().tokens), (charged.total, charged.total));
    assert_eq!(Some(purse.spent().usd), cost.amount(), "the price of each call is known");
    assert_eq!(purse.reserved(), Amount::default());
    for twin in twins {
        assert_eq!(twin.requests().len(), 1);
        twin.close().await;
    }
}

#[tokio::test]
async fn a_council_that_cannot_be_paid_is_not_asked() {
    let Table { twins, council } = table();
    let purse = Purse::new(Allowance::tokens(3000));
    let (reason, usage, _) = ask(council, &purse).await;
    assert_eq!((reason, usage.total, purse.spent()), (EndReason::Limit, 0, Amount::default()));
    for twin in twins {
        assert_eq!(twin.requests().len(), 0);
        twin.close().await;
    }
}
