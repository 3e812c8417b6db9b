//! A session under test, and what must hold of every one when it is over.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use junto_agent::{Session, SessionConfig, tools};
use junto_core::{
    Agent, BlobId, Body, Command, Delta, Durability, EndReason, Event, EventLog, Fut, Item, Journal,
    JournalError, MemoryJournal, Outcome, Payload, Seq, Subscription, When, grammar,
};
use junto_env::{ExecutionEnvironment, LocalEnvironment, survivors};
use junto_llm::retry::Policy;
use junto_llm::{Provider, SessionId, Usage};
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// Retries without waiting.
pub(crate) const EAGER: Policy =
    Policy { max_retries: 2, base: Duration::ZERO, factor: 1.0, cap: Duration::from_secs(1), jitter: 0.0 };

/// A session in a directory of its own.
pub(crate) struct Scene {
    pub(crate) session: Session,
    pub(crate) env: Arc<LocalEnvironment>,
    dir: TempDir,
    /// Reads along for the test.
    reader: Subscription,
    /// Reads along for the checks at the end.
    recorder: JoinHandle<Vec<Item>>,
}

/// Everything a session did.
pub(crate) struct Record {
    pub(crate) events: Vec<Event>,
    pub(crate) outcome: Outcome,
}

/// A journal that takes its time, as one on a disk does: whoever writes holds the log meanwhile.
#[derive(Default)]
struct Slow(MemoryJournal);

impl Journal for Slow {
    fn append<'a>(&'a self, events: &'a [Event], d: Durability) -> Fut<'a, Result<(), JournalError>> {
        Box::pin(async move {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            self.0.append(events, d).await
        })
    }

    fn read(&self, from: Seq, max: usize) -> Fut<'_, Result<Vec<Event>, JournalError>> {
        self.0.read(from, max)
    }

    fn extend_blob<'a>(&'a self, blob: &'a BlobId, piece: Bytes) -> Fut<'a, Result<(), JournalError>> {
        self.0.extend_blob(blob, piece)
    }

    fn read_blob<'a>(
        &'a self,
        blob: &'a BlobId,
        from: u64,
        max: usize,
    ) -> Fut<'a, Result<Vec<u8>, JournalError>> {
        self.0.read_blob(blob, from, max)
    }
}

fn log() -> EventLog {
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    EventLog::new(SessionId::fresh(), Arc::new(Slow::default()), Seq(0), clock)
}

impl Scene {
    /// A session with the four tools.
    pub(crate) async fn start(provider: Arc<dyn Provider>) -> Self {
        Self::with(provider, |config| config).await
    }

    pub(crate) async fn with(
        provider: Arc<dyn Provider>,
        change: impl FnOnce(SessionConfig) -> SessionConfig,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = [("PATH", "/usr/local/bin:/usr/bin:/bin")];
        let env = Arc::new(LocalEnvironment::builder(dir.path()).variables(path).build().unwrap());
        let log = log();
        let config = SessionConfig {
            system: "You are a test.".into(),
            tools: tools::standard().into(),
            retry: EAGER,
            ..SessionConfig::new(provider, Arc::clone(&env) as Arc<dyn ExecutionEnvironment>, log.clone())
        };
        let recorder = tokio::spawn(record(log.subscribe(Seq::START)));
        let session = Session::start(change(config)).await.unwrap();
        Self { reader: session.log().subscribe(Seq::START), session, env, dir, recorder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub(crate) async fn submit(&self, text: &str) {
        self.session.send(Command::Submit { input: text.into() }).await.unwrap();
    }

    pub(crate) async fn steer(&self, text: &str, when: When) {
        self.session.send(Command::Steer { input: text.into(), when }).await.unwrap();
    }

    /// Submits an input and waits for its end.
    pub(crate) async fn ask(&mut self, text: &str) -> (EndReason, String) {
        self.submit(text).await;
        self.input_end().await
    }

    /// The end of the input under way.
    pub(crate) async fn input_end(&mut self) -> (EndReason, String) {
        let event = self.event("input_end").await;
        match event.body {
            Body::InputEnd { reason, text } => (reason, text.preview()),
            _ => unreachable!(),
        }
    }

    /// The next event of this type by the session itself.
    pub(crate) async fn event(&mut self, name: &str) -> Event {
        let own = self.session.log().agent().clone();
        let found =
            self.until(|item| matches!(item, Item::Event(e) if e.body.name() == name && e.agent == own));
        match found.await {
            Item::Event(event) => (*event).clone(),
            Item::Delta(_) => unreachable!(),
        }
    }

    /// The next item like this.
    pub(crate) async fn until(&mut self, is: impl Fn(&Item) -> bool) -> Item {
        let wait = async {
            loop {
                let item = self.reader.next().await.unwrap();
                if is(&item) {
                    return item;
                }
            }
        };
        tokio::time::timeout(Duration::from_mins(1), wait).await.expect("what is waited for comes")
    }

    /// Waits until the model has begun to say something.
    pub(crate) async fn talking(&mut self) {
        self.until(|item| matches!(item, Item::Delta(Delta::AssistantTextDelta { .. }))).await;
    }

    /// Waits until a command has said something.
    pub(crate) async fn command_says(&mut self, what: &str) {
        let says = |item: &Item| matches!(item, Item::Delta(Delta::ToolCallOutputDelta { text, .. }) if text.contains(what));
        self.until(says).await;
    }

    /// Closes the session and checks what must hold of every session.
    pub(crate) async fn end(self) -> Record {
        let outcome = self.session.close().await;
        assert_eq!(self.session.close().await, outcome, "a second close gives the same");
        self.check(outcome).await
    }

    async fn check(self, outcome: Outcome) -> Record {
        let items = self.recorder.await.unwrap();
        let events: Vec<Event> = items
            .iter()
            .filter_map(|item| match item {
                Item::Event(event) => Some((**event).clone()),
                Item::Delta(_) => None,
            })
            .collect();
        let names: Vec<&str> = events.iter().map(|e| e.body.name()).collect();
        grammar::check(&events).unwrap_or_else(|faults| panic!("{faults:#?}\n{names:?}"));
        assert_eq!((names[0], names[names.len() - 1]), ("session_start", "session_end"));
        check_deltas(&items);
        let env = Arc::clone(&self.env);
        let left = tokio::task::spawn_blocking(move || survivors::after(&env, Duration::from_secs(20)));
        assert_eq!(left.await.unwrap(), []);
        let record = Record { events, outcome };
        assert_eq!(record.session_end().0, record.outcome.reason);
        record
    }
}

async fn record(mut reader: Subscription) -> Vec<Item> {
    let mut items = Vec::new();
    loop {
        let item = reader.next().await.unwrap();
        let over = matches!(&item, Item::Event(e) if e.body.name() == "session_end" && e.parent.is_none());
        items.push(item);
        if over {
            return items;
        }
    }
}

/// Deltas come between the start and the end of what they belong to, and join to the whole.
fn check_deltas(items: &[Item]) {
    let mut joined: HashMap<Seq, String> = HashMap::new();
    let mut open: HashMap<Seq, &'static str> = HashMap::new();
    for item in items {
        match item {
            Item::Delta(
                Delta::AssistantTextDelta { of, text }
                | Delta::ReasoningDelta { of, text }
                | Delta::ToolCallOutputDelta { of, text },
            ) => {
                assert!(open.contains_key(of), "a delta of {of}, which is not open");
                joined.entry(*of).or_default().push_str(text);
            }
            Item::Event(event) => match &event.body {
                Body::AssistantTextStart {} | Body::ReasoningStart {} | Body::ToolCallStart { .. } => {
                    open.insert(event.seq, event.body.name());
                }
                Body::AssistantTextEnd { of, text } | Body::ReasoningEnd { of, text } => {
                    open.remove(of);
                    assert_eq!(joined.get(of), Some(&whole(text)));
                }
                Body::ToolCallEnd { of: Some(of), output, .. } => {
                    open.remove(of);
                    // A tool need not show what it does; what it shows is what it says in the end.
                    if let Some(joined) = joined.get(of) {
                        assert_eq!(*joined, whole(output));
                    }
                }
                _ => {}
            },
        }
    }
}

pub(crate) fn whole(payload: &Payload) -> String {
    match payload {
        Payload::Inline(text) => text.clone(),
        Payload::Spilled { .. } => panic!("no test says that much"),
    }
}

impl Record {
    /// The types of the events, without those that are beside the point.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let beside = ["reasoning_start", "reasoning_end", "warning"];
        self.events.iter().map(|e| e.body.name()).filter(|name| !beside.contains(name)).collect()
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.events.iter().filter(|e| e.body.name() == name).count()
    }

    /// What each model call used, in order.
    pub(crate) fn usages(&self) -> Vec<Usage> {
        let usage = |e: &Event| match &e.body {
            Body::Call { usage, .. } => Some(usage.clone()),
            _ => None,
        };
        self.events.iter().filter_map(usage).collect()
    }

    /// The ends of the tool calls, in the order they ended: name, output, whether it failed.
    pub(crate) fn tool_ends(&self) -> Vec<(String, String, bool)> {
        let end = |e: &Event| match &e.body {
            Body::ToolCallEnd { name, output, is_error, .. } => {
                Some((name.clone(), whole(output), *is_error))
            }
            _ => None,
        };
        self.events.iter().filter_map(end).collect()
    }

    pub(crate) fn session_end(&self) -> (EndReason, Usage) {
        match &self.events[self.events.len() - 1].body {
            Body::SessionEnd { reason, usage, .. } => (reason.clone(), usage.clone()),
            other => panic!("{other:?}"),
        }
    }
}

/// Lets a command go on that waits for a line from a named pipe.
pub(crate) async fn let_go(pipe: impl AsRef<Path>) {
    tokio::fs::write(pipe, "go\n").await.unwrap();
}
