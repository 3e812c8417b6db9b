//! A session that is cut off after any of its events, and brought back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use junto_agent::{Past, Session, SessionConfig};
use junto_core::{
    Action, Agent, AgentId, BlobId, Body, CallPurpose, Command, Decision, Durability, EndReason, Event,
    EventLog, Fut, Input, Item, Journal, JournalError, Leash, MemoryJournal, OnReject, Permit, Plan,
    PlanStep, Policy, Seq, StepStatus, Subscription, Tool, ToolCx, ToolError, ToolOutcome, Verdict, Via,
    When, grammar,
};
use junto_env::{ExecutionEnvironment, LocalEnvironment};
use junto_llm::{
    CallCx, Content, Error, EventStream, Media, Message, Part, Provider, Request, Response, SessionId,
    ToolCall, ToolResult, ToolSpec, Usage,
};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::watch;

use crate::scene::EAGER;

/// The smallest thing that is taken for a picture.
pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// What the tool `nudge` says to the session.
pub(crate) const NUDGE: &str = "Faster, please.";

/// How the result of a call begins that was cut off.
pub(crate) const CUT_OFF: &str = "interrupted, may have run";

/// A journal that begins with some events of another, whose payloads it shares.
pub(crate) struct Cut {
    events: MemoryJournal,
    payloads: Arc<dyn Journal>,
}

impl Cut {
    pub(crate) async fn of(past: &[Event], payloads: Arc<dyn Journal>) -> Self {
        let events = MemoryJournal::default();
        events.append(past, Durability::Synced).await.unwrap();
        Self { events, payloads }
    }
}

impl Journal for Cut {
    fn append<'a>(&'a self, events: &'a [Event], d: Durability) -> Fut<'a, Result<(), JournalError>> {
        self.events.append(events, d)
    }

    fn read(&self, from: Seq, max: usize) -> Fut<'_, Result<Vec<Event>, JournalError>> {
        self.events.read(from, max)
    }

    fn extend_blob<'a>(&'a self, blob: &'a BlobId, piece: Bytes) -> Fut<'a, Result<(), JournalError>> {
        self.payloads.extend_blob(blob, piece)
    }

    fn read_blob<'a>(
        &'a self,
        blob: &'a BlobId,
        from: u64,
        max: usize,
    ) -> Fut<'a, Result<Vec<u8>, JournalError>> {
        self.payloads.read_blob(blob, from, max)
    }
}

/// Keeps what the session itself asks of a provider; what its children ask goes by.
struct Recorder {
    inner: Arc<dyn Provider>,
    requests: Mutex<Vec<Request>>,
}

impl Recorder {
    fn note(&self, request: &Request, cx: &CallCx) {
        let mut requests = self.requests.lock().unwrap();
        // A retry asks the same again.
        if cx.depth == 0 && requests.last() != Some(request) {
            requests.push(request.clone());
        }
    }
}

impl Provider for Recorder {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        self.note(&request, cx);
        self.inner.complete(request, cx)
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        self.note(&request, cx);
        self.inner.stream(request, cx)
    }

    fn check_names(&self, request: &Request) -> Result<(), Error> {
        self.inner.check_names(request)
    }
}

/// A tool whose result depends on nothing but its arguments.
struct Prop {
    spec: ToolSpec,
    /// The calls that ran.
    runs: Arc<Mutex<Vec<String>>>,
    session: watch::Receiver<Option<Session>>,
}

impl Prop {
    async fn act(&self, call: &ToolCall, cx: &ToolCx) -> ToolOutcome {
        let text = call.arguments["text"].as_str().unwrap_or_default();
        match call.name.as_str() {
            "long" => {
                let mut spool = cx.caller.spool();
                let lines = text.parse().unwrap_or(0);
                for n in 0..lines {
                    spool.push(&format!("line {n} {}\n", "of a long text ".repeat(100))).await;
                }
                spool.finish().await.into()
            }
            "look" => ToolOutcome { images: vec![Media::bytes(PNG)], ..ToolOutcome::ok("a picture") },
            "mean" => {
                let steps = vec![PlanStep { step: text.to_owned(), status: StepStatus::Pending }];
                cx.caller.plan(Plan { explanation: None, steps }).await.unwrap();
                ToolOutcome::ok("noted")
            }
            "nudge" => {
                let mut seat = self.session.clone();
                let session = seat.wait_for(Option::is_some).await.unwrap().clone().unwrap();
                session.send(Command::Steer { input: NUDGE.into(), when: When::Round }).await.unwrap();
                ToolOutcome::ok("said")
            }
            "fail" => ToolOutcome::error(format!("no {text}")),
            _ => ToolOutcome::ok(format!("{text}!")),
        }
    }
}

impl Tool for Prop {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, _cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        let action = Action::Tool { name: call.name.clone(), args: call.arguments.clone() };
        Box::pin(async { Ok(vec![action]) })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        self.runs.lock().unwrap().push(permit.call().id.clone());
        Box::pin(async move { self.act(permit.call(), cx).await })
    }
}

/// Asks about the tool `danger`.
struct Careful;

impl Policy for Careful {
    fn decide(&self, actions: &[Action]) -> Verdict {
        match actions {
            [Action::Tool { name, .. }] if name == "danger" => {
                Verdict::Ask { proposed: Vec::new(), reason: String::new() }
            }
            _ => Verdict::Allow(Leash::Kept),
        }
    }
}

/// Says yes to danger, unless it is great.
async fn host(mut reader: Subscription, mut seat: watch::Receiver<Option<Session>>) {
    loop {
        let Item::Event(event) = reader.next().await.unwrap() else { continue };
        if let Body::Ask { request } = &event.body {
            let session = seat.wait_for(Option::is_some).await.ok().and_then(|session| session.clone());
            let Some(session) = session else { return };
            let decision = if request.call.arguments["text"] == "great" {
                Decision::Reject { reason: Some("too great".to_owned()) }
            } else {
                Decision::Allow { remember: None }
            };
            // The session may have ended meanwhile.
            let _ = session.send(Command::Answer { ask: request.ask.clone(), decision }).await;
        }
        if event.body.name() == "session_end" && event.parent.is_none() {
            return;
        }
    }
}

/// Where a session is played again and again.
pub(crate) struct Stage {
    pub(crate) inputs: Vec<Input>,
    pub(crate) change: Box<dyn Fn(SessionConfig) -> SessionConfig>,
    pub(crate) env: Arc<LocalEnvironment>,
    pub(crate) dir: TempDir,
}

/// A session from its start, or from where it was brought back, to its end.
pub(crate) struct Performance {
    /// The whole log.
    pub(crate) events: Vec<Event>,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) root: AgentId,
    /// How many answers it had before it was brought back.
    asked_before: usize,
    /// What the session itself asked, from where it was brought back.
    pub(crate) requests: Vec<Request>,
    /// The calls that ran meanwhile.
    pub(crate) runs: Vec<String>,
}

impl Stage {
    pub(crate) fn new(
        inputs: impl IntoIterator<Item = Input>,
        change: impl Fn(SessionConfig) -> SessionConfig + 'static,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let env = Arc::new(LocalEnvironment::new(dir.path()).unwrap());
        Self { inputs: inputs.into_iter().collect(), change: Box::new(change), env, dir }
    }

    /// Plays it from the beginning.
    pub(crate) async fn play(&self, provider: &Arc<dyn Provider>) -> Performance {
        let nothing: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
        self.play_on(provider, Past::new([]), &nothing).await
    }

    /// Plays it from where it was cut off. The payloads of its past are in another journal.
    pub(crate) async fn play_on(
        &self,
        provider: &Arc<dyn Provider>,
        past: Past,
        payloads: &Arc<dyn Journal>,
    ) -> Performance {
        let events = past.events().to_vec();
        let journal: Arc<dyn Journal> = Arc::new(Cut::of(&events, Arc::clone(payloads)).await);
        let last = events.last().map_or(Seq(0), |event| event.seq);
        let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
        let session = events.first().map_or_else(SessionId::fresh, |event| event.session.clone());
        let log = EventLog::new(session, Arc::clone(&journal), last, clock);
        let (seat, seated) = watch::channel(None);
        let runs = Arc::new(Mutex::new(Vec::new()));
        let recorder = Arc::new(Recorder { inner: Arc::clone(provider), requests: Mutex::default() });
        let prop = |name: &str| {
            let text = json!({"type": "string", "description": "What about it"});
            let schema = json!({"type": "object", "properties": {"text": text}, "required": ["text"]});
            let spec = ToolSpec::foreign(name, "A prop", schema);
            Arc::new(Prop { spec, runs: Arc::clone(&runs), session: seated.clone() }) as Arc<dyn Tool>
        };
        let tools = ["echo", "long", "look", "mean", "nudge", "fail", "danger"].map(prop);
        let env = Arc::clone(&self.env) as Arc<dyn ExecutionEnvironment>;
        let config = (self.change)(SessionConfig {
            system: "You are a test.".into(),
            tools: tools.to_vec().into(),
            policy: Arc::new(Careful),
            on_reject: OnReject::TellModel,
            loop_detection_window: 3,
            tool_output_limits: BTreeMap::from([("long".to_owned(), 1000)]),
            retry: EAGER,
            ..SessionConfig::new(Arc::clone(&recorder) as _, env, log.clone())
        });
        let mut reader = log.subscribe(last.next());
        let host = tokio::spawn(host(log.subscribe(last.next()), seated));
        let session = match &events[..] {
            [] => Session::start(config).await,
            _ => Session::resume(config, past).await,
        };
        let session = session.unwrap();
        seat.send_replace(Some(session.clone()));
        let root = session.log().agent().clone();
        let count = |name: &str| events.iter().filter(|e| e.agent == root && e.body.name() == name).count();
        let begun = count("user_input");
        if begun > count("input_end") {
            input_end(&mut reader, &root).await;
        }
        for input in self.inputs.iter().skip(begun) {
            session.send(Command::Submit { input: input.clone() }).await.unwrap();
            input_end(&mut reader, &root).await;
        }
        session.close().await;
        seat.send_replace(None);
        host.await.unwrap();
        let all = log.subscribe(Seq::START).rest().await.unwrap();
        check(&all, &root);
        let requests = recorder.requests.lock().unwrap().clone();
        let runs = runs.lock().unwrap().clone();
        Performance { asked_before: answers(&events, &root), events: all, journal, root, requests, runs }
    }
}

/// How many model calls of the session itself have come to an end, good or bad.
pub(crate) fn answers(events: &[Event], root: &AgentId) -> usize {
    let own: Vec<&Event> = events.iter().filter(|e| e.agent == *root).collect();
    // A hand-over that came to nothing is asked for again.
    let counts = |at: usize| match &own[at].body {
        Body::Call { purpose: CallPurpose::Compaction, .. } => {
            own[at..].iter().any(|event| event.body.name() == "compacted")
        }
        body => body.name() == "call",
    };
    let calls = (0..own.len()).filter(|at| counts(*at)).count();
    let own: Vec<&str> = own.iter().map(|event| event.body.name()).collect();
    // One that failed before it had begun has no `call`.
    let failed = own.windows(2).filter(|pair| pair[1] == "error" && pair[0] != "call").count();
    calls + failed
}

async fn input_end(reader: &mut Subscription, root: &AgentId) {
    let wait = async {
        loop {
            if let Item::Event(event) = reader.next().await.unwrap()
                && event.body.name() == "input_end"
                && event.agent == *root
            {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_mins(1), wait).await.expect("the input ends");
}

/// What must hold of every log: its grammar, and that its last event counts each model call once.
fn check(events: &[Event], root: &AgentId) {
    let names: Vec<&str> = events.iter().map(|event| event.body.name()).collect();
    grammar::check(events).unwrap_or_else(|faults| panic!("{faults:#?}\n{names:?}"));
    let used = events.iter().fold(Usage::default(), |sum, event| match &event.body {
        Body::Call { usage, .. } => &sum + usage,
        _ => sum,
    });
    match &events[events.len() - 1] {
        Event { agent, body: Body::SessionEnd { usage, .. }, .. } if agent == root => {
            assert_eq!((usage.input, usage.output), (used.input, used.output));
        }
        other => panic!("{other:?}"),
    }
}

impl Performance {
    /// The answers of the session itself, and why each input ended.
    pub(crate) fn ends(&self) -> Vec<(EndReason, String)> {
        let end = |event: &Event| match &event.body {
            Body::InputEnd { reason, text } if event.agent == self.root => {
                Some((reason.clone(), text.preview()))
            }
            _ => None,
        };
        self.events.iter().filter_map(end).collect()
    }

    /// What this run asked next after these of its events, changed by what was cut off there: calls that were
    /// running, and steering that was not heard. `after` is the run that was brought back then.
    pub(crate) fn next_request(&self, past: &[Event], after: &Performance) -> Next {
        let own = || past.iter().filter(|event| event.agent == self.root);
        let asked = answers(past, &self.root) - self.asked_before;
        let Some(mut request) = self.requests.get(asked).cloned() else { return Next::None };
        let mut same = true;
        for start in own() {
            let Body::ToolCallStart { call, via: Via::Loop } = &start.body else { continue };
            let ended = |e: &Event| matches!(&e.body, Body::ToolCallEnd { of, .. } if *of == Some(start.seq));
            if !own().any(ended) {
                same = false;
                let told = after.events.iter().find(|event| ended(event)).expect("an end");
                let Body::ToolCallEnd { output, is_error: true, .. } = &told.body else { panic!("{told:?}") };
                assert!(output.preview().starts_with(CUT_OFF), "{told:?}");
                replace(&mut request, ToolResult::error(&call.id, output.preview()));
                // What was cut off is no part of a circle.
                if !own().any(|event| event.body.name() == "loop_detection") {
                    request.messages.retain(|message| !message.text().starts_with("Loop detected"));
                }
            }
            let heard = |e: &Event| e.body.name() == "steering_injected";
            if call.name == "nudge" && !own().any(heard) {
                same = false;
                request.messages.retain(|message| *message != Message::user(NUDGE));
            }
        }
        if same { Next::Same(asked) } else { Next::Changed(Box::new(request)) }
    }
}

/// What is asked next.
pub(crate) enum Next {
    /// Nothing.
    None,
    /// What was asked before, by its number.
    Same(usize),
    /// The like of it, with what was cut off.
    Changed(Box<Request>),
}

/// That two requests are the same; where they first differ, if not.
pub(crate) fn assert_same(asked: Option<&Request>, expected: Option<&Request>, at: &str) {
    if let (Some(asked), Some(expected)) = (asked, expected) {
        for (n, (asked, expected)) in asked.messages.iter().zip(&expected.messages).enumerate() {
            assert_eq!(asked, expected, "{at}: message {n}");
        }
        assert_eq!(asked.messages.len(), expected.messages.len(), "{at}");
    }
    assert!(asked == expected, "{at}");
}

fn replace(request: &mut Request, with: ToolResult) {
    for part in request.messages.iter_mut().flat_map(|message| &mut message.content) {
        if matches!(part.content(), Content::ToolResult(result) if result.call_id == with.call_id) {
            *part = Part::new(Content::ToolResult(with.clone()));
        }
    }
}
