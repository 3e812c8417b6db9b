use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::sync::{Notify, watch};

use super::bid::SENSIBLE;
use super::*;
use crate::catalog::Catalog;
use crate::middleware::BudgetGuard;
use crate::{
    Allowance, Budget, CallCx, Client, Cost, Error, ErrorKind, EventStream, Exhausted, Finish, FinishReason,
    Freed, Fut, Message, Provider, Request, Reservation, Response, SegmentId, Spending, StreamEvent, Usage,
    Usd,
};

/// A purse as simple as can be: so much, and nothing around it.
#[derive(Clone)]
struct Purse(Arc<Inner>);

struct Inner {
    limit: Allowance,
    held: Mutex<(Amount, Amount)>,
    freed: watch::Sender<u64>,
}

/// Nano-dollars and tokens.
type Amount = (i64, u64);

impl Purse {
    fn new(limit: Allowance) -> Self {
        Self(Arc::new(Inner { limit, held: Mutex::default(), freed: watch::Sender::default() }))
    }

    fn spent(&self) -> Amount {
        self.0.held.lock().unwrap().0
    }

    fn minus(&self, (usd, tokens): Amount) -> Allowance {
        let Allowance { usd: most, tokens: many } = self.0.limit;
        Allowance { usd: most.map(|most| most - Usd(usd)), tokens: many.map(|many| many - tokens) }
    }
}

impl Budget for Purse {
    fn left(&self) -> Allowance {
        let (spent, set) = *self.0.held.lock().unwrap();
        self.minus((spent.0 + set.0, spent.1 + set.1))
    }

    fn reserve(&self, worst: Spending) -> Result<Box<dyn Reservation>, Box<Exhausted>> {
        let left = self.left();
        let (spent, set) = &mut *self.0.held.lock().unwrap();
        if !left.covers(worst) {
            return Err(Box::new(Exhausted {
                budget: "the test's budget".into(),
                limit: self.0.limit,
                left,
                unspent: self.minus(*spent),
                worst,
                freed: (*set != (0, 0)).then(|| Freed::new(self.0.freed.subscribe())),
            }));
        }
        let amount = (worst.cost.amount().unwrap_or_default().0, worst.tokens);
        *set = (set.0 + amount.0, set.1 + amount.1);
        Ok(Box::new(Set(self.clone(), amount)))
    }
}

struct Set(Purse, Amount);

impl Reservation for Set {
    fn settle(self: Box<Self>, actual: Spending) {
        let usd = actual.cost.amount().map_or(self.1.0, |usd| usd.0);
        let (spent, _) = &mut *self.0.0.held.lock().unwrap();
        *spent = (spent.0 + usd, spent.1 + actual.tokens);
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        let (_, set) = &mut *self.0.0.held.lock().unwrap();
        *set = (set.0 - self.1.0, set.1 - self.1.1);
        self.0.0.freed.send_modify(|count| *count += 1);
    }
}

/// What a provider does.
#[derive(Clone, Debug)]
enum Play {
    Answers(Usage),
    Refuses,
    /// Begins, tells this much of its usage, says so many bytes, and breaks off.
    Breaks(Option<Usage>, usize),
    Hangs,
    /// Answers once it may.
    Waits(Usage),
}

#[derive(Default)]
struct Fake {
    go: Notify,
    plays: Mutex<Vec<Play>>,
    /// The limits it was asked with.
    limits: Mutex<Vec<Option<u64>>>,
}

impl Fake {
    async fn play(&self, request: &Request) -> Result<Play, Error> {
        self.limits.lock().unwrap().push(request.max_tokens);
        let play = self.plays.lock().unwrap().remove(0);
        match play {
            Play::Refuses => Err(Error::new(ErrorKind::Server, "down").with_status(500)),
            Play::Hangs => std::future::pending().await,
            Play::Waits(usage) => {
                self.go.notified().await;
                Ok(Play::Answers(usage))
            }
            play => Ok(play),
        }
    }
}

impl Provider for Fake {
    fn complete<'a>(&'a self, request: Request, _cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move {
            let Play::Answers(usage) = self.play(&request).await? else { return Err(Error::stream("cut")) };
            Ok(Response { usage, ..Response::empty("fake", request.model.unwrap_or_default()) })
        })
    }

    fn stream<'a>(&'a self, request: Request, _cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            let start = |usage| StreamEvent::StreamStart {
                id: String::new(),
                model: "m".into(),
                provider: "fake".into(),
                origin: None,
                usage,
                warnings: Vec::new(),
                rate_limit: None,
            };
            let items = match self.play(&request).await? {
                Play::Breaks(usage, bytes) => {
                    let text = StreamEvent::TextDelta { id: SegmentId(0), text: "x".repeat(bytes) };
                    vec![Ok(start(usage)), Ok(text), Err(Error::stream("cut"))]
                }
                Play::Answers(usage) => {
                    let reason = FinishReason::new(Finish::Stop);
                    vec![Ok(start(None)), Ok(StreamEvent::Finish { reason, usage, response: None })]
                }
                Play::Refuses | Play::Hangs | Play::Waits(_) => Vec::new(),
            };
            Ok(EventStream::new(stream::iter(items)))
        })
    }
}

/// A dollar for each million tokens read, two for those written to a cache, four for those of the answer.
const MODELS: &str = r#"
[[model]]
id = "m"
provider = "fake"
name = "M"
context_window = 100_000
max_output = 40_000
released = "2026-01-01"
price = { input = 1.0, output = 4.0, cache_write = 2.0 }

[[model]]
id = "free"
provider = "fake"
name = "Nobody knows what it costs"
context_window = 100_000
max_output = 40_000
released = "2025-01-01"
"#;

struct Stand {
    fake: Arc<Fake>,
    client: Client,
    purse: Purse,
    cx: CallCx,
}

impl Stand {
    fn new(limit: Allowance, plays: Vec<Play>) -> Self {
        let catalog = Catalog::parse(MODELS).unwrap();
        let fake = Arc::new(Fake { plays: Mutex::new(plays), ..Fake::default() });
        let client = Client::builder()
            .provider("fake", fake.clone())
            .catalog(catalog.clone())
            .middleware(Arc::new(BudgetGuard::new(catalog)))
            .build()
            .unwrap();
        let purse = Purse::new(limit);
        let budget = Arc::new(purse.clone());
        let cx = CallCx { budget, tally: Some(Tally::default()), ..CallCx::new() };
        Self { fake, client, purse, cx }
    }

    fn rows(&self) -> Vec<(u64, Cost)> {
        let rows = self.cx.tally.as_ref().unwrap().take();
        rows.into_iter().map(|row| (row.usage.total, row.cost)).collect()
    }

    fn limits(&self) -> Vec<Option<u64>> {
        self.fake.limits.lock().unwrap().clone()
    }

    async fn stream(&self) -> Vec<Result<StreamEvent, Error>> {
        self.client.stream(ask(), &self.cx).await.unwrap().collect().await
    }
}

fn ask() -> Request {
    Request::prompt("?").model("m").max_tokens(1000)
}

fn dollars(usd: f64) -> Allowance {
    Allowance::usd(Usd::from_dollars(usd))
}

/// What a usage costs, in nano-dollars.
fn nano(input: i64, output: i64) -> i64 {
    input * 1000 + output * 4000
}

#[tokio::test]
async fn what_was_used_is_booked_however_a_call_ends() {
    // The worst case of `ask()` is more than the overhead, and less than twice that.
    let worst = nano(2 * 1024, 1000)..nano(2 * 2048, 1000);
    let answer = Usage::new(500, 20);
    let known = Usage::new(500, 0);
    // Streamed or not; tokens and cost of the row, if there is one; what was spent.
    let checks = [
        (
            true,
            Play::Answers(answer.clone()),
            Some((520, Cost::Estimated(Usd(nano(500, 20))))),
            nano(500, 20)..nano(500, 20) + 1,
        ),
        (
            false,
            Play::Answers(answer.clone()),
            Some((520, Cost::Estimated(Usd(nano(500, 20))))),
            nano(500, 20)..nano(500, 20) + 1,
        ),
        // Who does not count is believed the worst.
        (true, Play::Answers(Usage::default()), Some((0, Cost::Unknown)), worst.clone()),
        (false, Play::Refuses, None, 0..1),
        // What was read is known, and of what was written no more than was seen can have been.
        (true, Play::Breaks(Some(known), 30), Some((500, Cost::Unknown)), nano(500, 30)..nano(500, 30) + 1),
        (true, Play::Breaks(None, 30), Some((0, Cost::Unknown)), worst.clone()),
        (false, Play::Hangs, Some((0, Cost::Unknown)), worst),
    ];
    for (streamed, play, row, spent) in checks {
        let stand = Stand::new(dollars(1.0), vec![play.clone()]);
        if streamed {
            stand.stream().await;
        } else {
            let answer = stand.client.complete(ask(), &stand.cx);
            drop(tokio::time::timeout(Duration::ZERO, answer).await);
        }
        assert_eq!(stand.rows(), Vec::from_iter(row), "{play:?}");
        assert!(spent.contains(&stand.purse.spent().0), "{play:?}: {:?}", stand.purse.spent());
        assert_eq!(stand.purse.0.held.lock().unwrap().1, (0, 0), "{play:?}: all is settled");
    }
}

#[tokio::test]
async fn a_stream_that_is_dropped_half_way_is_booked() {
    let stand = Stand::new(dollars(1.0), vec![Play::Breaks(Some(Usage::new(500, 0)), 30)]);
    let mut events = stand.client.stream(ask(), &stand.cx).await.unwrap();
    events.next().await.unwrap().unwrap();
    drop(events);
    assert_eq!((stand.rows(), stand.purse.spent().0), (vec![(500, Cost::Unknown)], nano(500, 0)));
}

#[tokio::test]
async fn the_call_that_could_break_the_budget_is_not_made() {
    for limit in [dollars(0.004), Allowance::tokens(2000), dollars(0.0)] {
        let stand = Stand::new(limit, vec![]);
        let error = stand.client.complete(ask(), &stand.cx).await.unwrap_err();
        let exhausted = error.exhausted().unwrap();
        assert_eq!((error.kind(), exhausted.limit, exhausted.left), (ErrorKind::Quota, limit, limit));
        assert_eq!((stand.limits(), stand.rows()), (vec![], vec![]));
    }
}

#[tokio::test]
async fn what_has_no_price_cannot_be_paid_with_money() {
    let stand = Stand::new(dollars(100.0), vec![]);
    let error = stand.client.complete(Request::prompt("?").model("free"), &stand.cx).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.message().contains("`free` at `fake`"), "{error}");
    assert!(error.hint().unwrap().contains("[[models]]"), "{error:?}");
    let stand = Stand::new(Allowance::tokens(10_000), vec![Play::Answers(Usage::new(500, 20))]);
    let request = ask().model("free");
    stand.client.complete(request, &stand.cx).await.unwrap();
    assert_eq!(stand.purse.spent().1, 520);
}

#[tokio::test]
async fn a_shorter_answer_is_asked_for_if_the_longest_cannot_be_paid() {
    let check = async |limit: Allowance, asked: Option<u64>, lowered: Option<std::ops::Range<u64>>| {
        let stand = Stand::new(limit, vec![Play::Answers(Usage::new(500, 20))]);
        let request = Request { max_tokens: asked, ..ask() };
        let response = stand.client.complete(request, &stand.cx).await.unwrap();
        let codes: Vec<&str> = response.warnings.iter().map(|w| w.code.as_str()).collect();
        match lowered {
            Some(range) => {
                assert!(range.contains(&stand.limits()[0].unwrap()), "{limit}: {:?}", stand.limits());
                assert_eq!(codes, ["max_tokens_lowered"]);
            }
            None => assert_eq!((stand.limits()[0], codes), (asked, vec![])),
        }
    };
    check(dollars(1.0), None, None).await;
    check(dollars(1.0), Some(7), None).await;
    // Two cents less what can be read, at four dollars for a million.
    check(dollars(0.02), None, Some(3900..4500)).await;
    check(dollars(0.02), Some(30_000), Some(3900..4500)).await;
    check(Allowance::tokens(5000), None, Some(3700..4000)).await;
    // Less than makes sense.
    let stand = Stand::new(Allowance::tokens(1024 + SENSIBLE), vec![]);
    assert!(stand.client.complete(Request::prompt("?").model("m"), &stand.cx).await.is_err());
}

#[tokio::test]
async fn what_was_counted_makes_the_next_worst_case_smaller() {
    let usage = || Play::Answers(Usage::new(900, 100));
    let stand = Stand::new(Allowance::tokens(14_000), vec![usage(), usage(), usage()]);
    let mut request = ask();
    request.messages.push(Message::user("x".repeat(8000)));
    stand.client.complete(request.clone(), &stand.cx).await.unwrap();
    request.messages.push(Message::assistant("y".repeat(1000)));
    // 13,000 are left, and by its bytes this could take more than 9000; as counted it is 3200.
    let before = stand.purse.left();
    stand.client.complete(request.clone(), &stand.cx).await.unwrap();
    assert_eq!(before, Allowance::tokens(13_000));
    let tight = Stand::new(Allowance::tokens(5000), vec![usage()]);
    let cx = CallCx { counts: stand.cx.counts.clone(), ..tight.cx.clone() };
    assert!(tight.client.complete(request.clone(), &tight.cx).await.is_err());
    tight.client.complete(request, &cx).await.unwrap();
}

#[tokio::test]
async fn who_cannot_be_paid_while_others_are_under_way_waits_for_them() {
    let usage = || Usage::new(500, 20);
    let stand = Stand::new(dollars(0.01), vec![Play::Waits(usage()), Play::Answers(usage())]);
    let first = stand.client.complete(ask(), &stand.cx);
    let second = stand.client.complete(ask(), &stand.cx);
    let both = futures_util::future::join(first, second);
    let mut both = std::pin::pin!(both);
    tokio::select! {
        biased;
        _ = &mut both => panic!("the first may not answer yet"),
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(stand.limits().len(), 1, "the second waits");
    stand.fake.go.notify_one();
    let (first, second) = both.await;
    assert!(first.is_ok() && second.is_ok(), "{second:?}");
    assert_eq!(stand.purse.spent().0, 2 * nano(500, 20));
}

#[tokio::test]
async fn a_wait_can_be_cancelled() {
    let stand = Stand::new(dollars(0.012), vec![Play::Hangs]);
    let first = stand.client.complete(ask(), &stand.cx);
    let mut first = std::pin::pin!(first);
    let cx = stand.cx.clone();
    let second = async {
        let waiting = stand.client.complete(ask(), &cx);
        let cancel = async {
            tokio::task::yield_now().await;
            cx.cancel.cancel();
        };
        futures_util::future::join(waiting, cancel).await.0
    };
    tokio::select! {
        biased;
        _ = &mut first => panic!("it hangs"),
        answer = second => assert_eq!(answer.unwrap_err().kind(), ErrorKind::Aborted),
    }
}

#[test]
fn as_much_output_as_is_paid_for_fits() {
    let price = Catalog::parse(MODELS).unwrap().get("m").unwrap().price.unwrap();
    for (usd, input) in [(0.0, 0), (0.001, 400), (0.02, 1000), (3.7, 99_999), (0.001, 1_000_000)] {
        let usd = Usd::from_dollars(usd);
        let output = price.output_for(usd, input);
        assert!(output == 0 || price.worst(input, output) <= usd, "{usd} {input}");
        assert!(price.worst(input, output + 1) > usd, "{usd} {input}: {output} is not the most");
        let usage = Usage { cache_write: Some(input), ..Usage::new(input, output) };
        assert!(price.cost(&usage).amount().unwrap() <= price.worst(input, output));
    }
}
