//! A twin, a client that talks to it, and a session over both.

use std::sync::Arc;

use junto_agent::SessionConfig;
use junto_llm::http::{Endpoint, HttpProvider};
use junto_llm::{Client, Usage, Wire};
use junto_twin::{Fault, Options, Play, Step, Twin};

use crate::scene::{Record, Scene};

pub(crate) struct Stand {
    pub(crate) twin: Twin,
    pub(crate) wire: Wire,
    pub(crate) scene: Scene,
}

/// The provider's name in the catalog, and a reasoning model of it; a compatible server's for Chat
/// Completions.
pub(crate) fn model(wire: Wire) -> (&'static str, &'static str) {
    match wire {
        Wire::Anthropic => ("anthropic", "claude-opus-5-5"),
        Wire::Responses => ("openai", "gpt-5.5"),
        Wire::Gemini => ("gemini", "gemini-3.1-pro-preview"),
        Wire::Chat => ("local", "local-model"),
    }
}

/// A client with one provider.
pub(crate) fn client(twin: &Twin, wire: Wire, key: &str) -> Arc<Client> {
    let endpoint = Endpoint::new(model(wire).0, wire, twin.base_url(wire)).key(key);
    let provider = Arc::new(HttpProvider::new(endpoint).unwrap());
    Arc::new(Client::builder().provider(model(wire).0, provider).build().unwrap())
}

/// Runs a test on each wire.
pub(crate) async fn on_each_wire(test: impl AsyncFn(Wire)) {
    for wire in Wire::ALL {
        test(wire).await;
    }
}

impl Stand {
    pub(crate) async fn new(wire: Wire, steps: impl Into<Vec<Step>>) -> Self {
        Self::with(wire, steps, Options::default(), |config| config).await
    }

    pub(crate) async fn with(
        wire: Wire,
        steps: impl Into<Vec<Step>>,
        options: Options,
        change: impl FnOnce(SessionConfig) -> SessionConfig,
    ) -> Self {
        let twin = Twin::start(Play::of(steps), options).unwrap();
        let client = client(&twin, wire, junto_twin::DEFAULT_KEY);
        let scene = Scene::with(client, |config| {
            change(SessionConfig { model: Some(model(wire).1.into()), ..config })
        });
        Self { scene: scene.await, twin, wire }
    }

    /// The body of the last request, as text.
    pub(crate) fn last_body(&self) -> String {
        self.twin.requests().last().expect("a request").body.to_string()
    }

    /// Ends the session, checks it, and checks that it booked what the twin charged. Answers that were
    /// broken off, by their number from 0, cannot be compared: only the provider knows the whole.
    pub(crate) async fn end(self, broken_off: &[usize]) -> Record {
        let record = self.scene.end().await;
        let charged: Vec<Usage> = self.twin.requests().into_iter().filter_map(|r| r.usage).collect();
        let booked = record.usages();
        assert_eq!(booked.len(), charged.len(), "{:?}: one `call` for each answer", self.wire);
        let sum = |usages: &[Usage]| {
            let whole = usages.iter().enumerate().filter(|(n, _)| !broken_off.contains(n));
            let sum = whole.fold(Usage::default(), |sum, (_, usage)| &sum + usage);
            (sum.input, sum.output, sum.total)
        };
        assert_eq!(sum(&booked), sum(&charged), "{:?}", self.wire);
        if broken_off.is_empty() {
            assert_eq!(sum(&booked), sum(&[self.twin.usage_total()]));
            assert_eq!(sum(&booked), sum(&[record.session_end().1]));
        }
        self.twin.close().await;
        record
    }
}

/// A step that begins a long answer and then says no more.
pub(crate) fn falls_silent() -> Step {
    let fault = Fault { stall: Some(junto_twin::After(6000)), ..Fault::default() };
    Step { repeat: Some(2000), fault: Some(fault), ..Step::text("on and on ").without_thinking() }
}
