//! Conversations that are longer than the model's window, on every wire. The twins refuse what is too long,
//! and whatever else the providers would refuse.

use junto_agent::{Compaction, SessionConfig};
use junto_core::{Agent, Body, Command, CompactMethod, CompactReason, EndReason, SessionState};
use junto_llm::Wire;
use junto_twin::{After, Fault, Received, Step, When, tokens};
use serde_json::json;

use crate::ledger::{Known, LINES, WINDOW, compactions, hands_over, is_chore, page, stand, turn_page};
use crate::scene::Record;
use crate::stand::{Stand, on_each_wire};

const TASK: &str = "Find the guilder that is missing in this ledger, and never write into it.";
const PLAN: &str = "compare the sums at the foot of each page";
const HAND_OVER: &str = "## Task\nFind the guilder.\n## State\nNothing was missing so far.";
/// How many inputs there are, and how many pages are turned for each.
const INPUTS: u32 = 5;
const PAGES: u32 = 26;

/// A long day's work: a plan, then page after page.
fn day() -> Vec<Step> {
    let plan = json!({"steps": [{"step": PLAN, "status": "in_progress"}]});
    let mut steps = vec![hands_over(HAND_OVER), Step::call("update_plan", plan)];
    for input in 0..INPUTS {
        steps.extend((0..PAGES).map(|n| turn_page(input * PAGES + n)));
        steps.push(Step::text(format!("Part {input} is read.")));
    }
    steps
}

/// Which page the step of that number turns to.
fn turned(step: usize) -> Option<u32> {
    let number = u32::try_from(step).unwrap().checked_sub(2)?;
    let (input, n) = (number / (PAGES + 1), number % (PAGES + 1));
    (n < PAGES).then_some(input * PAGES + n)
}

/// Every request that asked for a step had the system prompt, the task, the input under way, the plan and
/// the latest turns.
fn check_requests(requests: &[Received], context: &str) {
    let (mut planned, mut pages, mut inputs) = (false, 0_u32, 0);
    for request in requests.iter().filter(|r| r.status == 200 && !is_chore(r)) {
        let body = request.body.to_string();
        let at = format!("{context}, request {}: {body}", request.number);
        let has = |text: &str| body.contains(&serde_json::to_string(text).unwrap().replace('"', ""));
        assert!(has("You are a test.") && has(TASK), "{at}");
        assert!(inputs == 0 || has(&format!("Now part {inputs}.")), "{at}");
        assert!(!planned || has(PLAN), "{at}");
        let latest = pages.checked_sub(1).into_iter().chain(pages.checked_sub(2));
        for page in latest {
            assert!(has(&format!("[begin-{page}]")) && has(&format!("[end-{page}]")), "page {page}, {at}");
        }
        match request.step.unwrap() {
            1 => planned = true,
            step => match turned(step) {
                Some(page) => {
                    assert_eq!(page, pages, "no page is turned twice, and none is left out");
                    pages += 1;
                }
                None => inputs += 1,
            },
        }
    }
    assert_eq!((pages, inputs), (INPUTS * PAGES, INPUTS), "{context}");
}

/// How many requests were refused, and how many in a row at most.
fn refused(requests: &[Received]) -> (usize, usize) {
    let (mut all, mut row, mut longest) = (0, 0, 0);
    for request in requests {
        row = if request.status == 200 { 0 } else { row + 1 };
        all += usize::from(request.status != 200);
        longest = longest.max(row);
    }
    (all, longest)
}

async fn work_all_day(stand: &mut Stand) {
    for input in 0..INPUTS {
        let said = if input == 0 { TASK.to_owned() } else { format!("Now part {input}.") };
        let (reason, text) = stand.scene.ask(&said).await;
        assert_eq!((reason, text), (EndReason::Done, format!("Part {input} is read.")), "{:?}", stand.wire);
    }
}

async fn ten_windows(wire: Wire, known: Known) -> (Record, Vec<Received>) {
    let read = u64::from(INPUTS * PAGES) * tokens::count(&page(0, LINES));
    assert!(read >= 10 * WINDOW, "{read} tokens are no ten windows");
    let compaction = Compaction { keep_turns: 2, ..Compaction::default() };
    let mut stand = stand(wire, known, day(), |config| SessionConfig { compaction, ..config }).await;
    work_all_day(&mut stand).await;
    let requests = stand.twin.requests();
    check_requests(&requests, &format!("{wire:?} {known:?}"));
    (stand.end(&[]).await, requests)
}

/// Where the window is known, no request is ever too long.
#[tokio::test]
async fn ten_windows_by_the_catalogs_word() {
    on_each_wire(async |wire| {
        let (record, requests) = ten_windows(wire, Known::Catalog).await;
        assert_eq!(refused(&requests), (0, 0), "{wire:?}");
        let made = compactions(&record);
        assert!(made.iter().all(|one| one.why == CompactReason::Threshold), "{wire:?}");
        assert!(made.iter().any(|one| one.how == CompactMethod::Summary), "{wire:?}");
        assert!(made.iter().any(|one| one.how == CompactMethod::Outputs && one.dropped.messages == 0));
        assert!(made.iter().all(|one| one.how != CompactMethod::Digest), "{wire:?}");
    })
    .await;
}

/// Where it is not, the provider says so, and is asked again with less.
#[tokio::test]
async fn ten_windows_by_the_providers_word() {
    on_each_wire(async |wire| {
        let (record, requests) = ten_windows(wire, Known::Nobody).await;
        let made = compactions(&record);
        assert!(made.iter().all(|one| one.why == CompactReason::Overflow), "{wire:?}");
        let (all, in_a_row) = refused(&requests);
        assert!(all >= made.len() && all <= 2 * made.len() && in_a_row <= 3, "{wire:?}: {all}, {in_a_row}");
    })
    .await;
}

/// Results that are too long by themselves are cut, and the model sees how they begin and end.
#[tokio::test]
async fn results_that_fill_the_window_are_cut() {
    on_each_wire(async |wire| {
        for known in [Known::Catalog, Known::Nobody] {
            let long = Step::call("turn_page", json!({"page": 7, "lines": 1000}));
            let mut stand =
                stand(wire, known, [hands_over(HAND_OVER), long, Step::text("Read.")], |config| config).await;
            assert_eq!(stand.scene.ask(TASK).await, (EndReason::Done, "Read.".into()), "{wire:?}");
            let last = stand.last_body();
            assert!(last.contains(TASK) && last.contains("[begin-7]") && last.contains("[end-7]"), "{last}");
            assert!(last.contains("characters left out"), "{last}");
            let made = compactions(&stand.end(&[]).await);
            assert_eq!(made.len(), 1, "{wire:?} {known:?}");
            assert_eq!((made[0].how, made[0].dropped.outputs), (CompactMethod::Outputs, 1), "{wire:?}");
        }
    })
    .await;
}

/// An input is never cut: one that is longer than the window fails by itself, in a bounded number of tries.
#[tokio::test]
async fn an_input_that_fills_the_window_fails() {
    on_each_wire(async |wire| {
        let steps = [hands_over(HAND_OVER), turn_page(1), Step::text("Read."), Step::text("Again.")];
        let mut stand = stand(wire, Known::Nobody, steps, |config| config).await;
        assert_eq!(stand.scene.ask(TASK).await.0, EndReason::Done);
        let (reason, _) = stand.scene.ask(&page(1, 2000)).await;
        let EndReason::Failed { error } = reason else { panic!("{reason:?}") };
        assert_eq!(error.kind, "context_length", "{wire:?}");
        assert!(error.message.contains("however short") && error.hint.unwrap().contains("larger window"));
        assert_eq!(stand.scene.session.state(), SessionState::Idle);
        let (all, _) = refused(&stand.twin.requests());
        assert!(all <= 8, "{wire:?}: {all} requests were refused");
        // It is no longer the input under way, so it may go. So may most of a first one like it.
        assert_eq!(stand.scene.ask("Shorter").await, (EndReason::Done, "Again.".into()), "{wire:?}");
        assert!(stand.last_body().contains(TASK));
        stand.end(&[]).await;

        let steps = [hands_over(HAND_OVER), Step::text("Read.")];
        let mut stand = crate::ledger::stand(wire, Known::Nobody, steps, |config| config).await;
        let (reason, _) = stand.scene.ask(&page(1, 2000)).await;
        assert!(matches!(reason, EndReason::Failed { .. }), "{wire:?}: {reason:?}");
        assert_eq!(stand.scene.ask("Shorter").await, (EndReason::Done, "Read.".into()), "{wire:?}");
        assert!(stand.last_body().contains("[begin-1]"));
        stand.end(&[]).await;
    })
    .await;
}

/// Turns as many pages as make a hand-over due.
fn pages(range: std::ops::Range<u32>) -> impl Iterator<Item = Step> {
    range.map(turn_page)
}

/// Nothing goes before the hand-over: output of tools is kept, so that there must be one.
fn keep_output(config: SessionConfig) -> SessionConfig {
    SessionConfig { compaction: Compaction { keep_turns: 100, ..Compaction::default() }, ..config }
}

/// An interruption leaves the conversation as it was, and the hand-over is written later.
#[tokio::test]
async fn an_interrupted_hand_over_changes_nothing() {
    on_each_wire(async |wire| {
        let stall = Fault { stall: Some(After(0)), ..Fault::default() };
        let silent = Step { times: Some(1), fault: Some(stall), ..hands_over("## Task") };
        let steps: Vec<Step> = [silent, hands_over(HAND_OVER)]
            .into_iter()
            .chain(pages(0..9))
            .chain([Step::text("Read.")])
            .collect();
        let mut stand = stand(wire, Known::Catalog, steps, keep_output).await;
        stand.scene.submit(TASK).await;
        let asked = async {
            let mut count = 1;
            loop {
                stand.twin.wait_for_requests(count).await;
                if stand.twin.requests().last().is_some_and(is_chore) {
                    return count;
                }
                count += 1;
            }
        };
        let before = asked.await;
        stand.scene.session.send(Command::Interrupt).await.unwrap();
        assert_eq!(stand.scene.input_end().await.0, EndReason::Interrupted, "{wire:?}");
        assert_eq!(stand.scene.ask("Go on.").await, (EndReason::Done, "Read.".into()), "{wire:?}");
        let requests = stand.twin.requests();
        let again = &requests[usize::try_from(before).unwrap()];
        assert!(is_chore(again), "{wire:?}: it is asked for again");
        for page in 0..again_pages(again) {
            assert!(again.body.to_string().contains(&format!("[end-{page}]")), "{wire:?}: page {page}");
        }
        let record = stand.scene.end().await;
        assert_eq!(compactions(&record).len(), 1, "{wire:?}");
        stand.twin.close().await;
    })
    .await;
}

/// The number of pages that were turned before a request.
fn again_pages(request: &Received) -> u32 {
    let body = request.body.to_string();
    (0..100).take_while(|page| body.contains(&format!("[begin-{page}]"))).last().map_or(0, |last| last + 1)
}

/// A provider that writes no hand-over is asked again later; in the end the work goes on without one.
#[tokio::test]
async fn without_a_hand_over_the_work_goes_on() {
    on_each_wire(async |wire| {
        let fails = Step { fault: Some(Fault::status(500)), ..hands_over("") };
        let steps: Vec<Step> = [fails].into_iter().chain(pages(0..30)).chain([Step::text("Read.")]).collect();
        let mut stand = stand(wire, Known::Catalog, steps, keep_output).await;
        assert_eq!(stand.scene.ask(TASK).await, (EndReason::Done, "Read.".into()), "{wire:?}");
        let last = stand.last_body();
        assert!(last.contains(TASK) && last.contains("Nobody summed it up"), "{last}");
        let record = stand.end(&[]).await;
        assert!(compactions(&record).iter().all(|one| one.how == CompactMethod::Digest), "{wire:?}");
        let warned = |body: &Body| matches!(body, Body::Warning { code, .. } if code == "compaction");
        assert!(record.events.iter().any(|e| warned(&e.body)), "{wire:?}");
    })
    .await;
}

/// A model that calls tools instead of writing is given the record to read, without any tools.
#[tokio::test]
async fn a_model_that_will_not_write_reads_the_record() {
    on_each_wire(async |wire| {
        let request = When { contains: Some("<hand-over-request>".into()), ..When::default() };
        let stubborn = Step { text: Some(String::new()), ..turn_page(99) }.when(request);
        let steps: Vec<Step> = [stubborn, hands_over(HAND_OVER)]
            .into_iter()
            .chain(pages(0..9))
            .chain([Step::text("Read.")])
            .collect();
        let mut stand = stand(wire, Known::Catalog, steps, keep_output).await;
        assert_eq!(stand.scene.ask(TASK).await, (EndReason::Done, "Read.".into()), "{wire:?}");
        let requests = stand.twin.requests();
        let records = requests.iter().filter(|r| r.body.to_string().contains("</record>")).count();
        assert!(records > 0, "{wire:?}");
        assert_eq!(refused(&requests), (0, 0), "{wire:?}");
        let record = stand.end(&[]).await;
        let made = compactions(&record);
        assert!(made.iter().all(|one| one.how == CompactMethod::Summary) && !made.is_empty(), "{wire:?}");
        assert_eq!(record.count("tool_call_start"), 9, "nobody runs what it called");
    })
    .await;
}
