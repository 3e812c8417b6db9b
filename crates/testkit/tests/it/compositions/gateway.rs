//! The mind behind the gateway, and a session in front of it.

use std::sync::{Arc, Mutex};

use junto::Native;
use junto::gateway::{Gateway, Target};
use junto::llm::{Endpoint, HttpProvider, Provider, Usage, Wire};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::stage::{Tokens, model, tokens};
use super::table::Mind;

/// A gateway that serves one mind.
pub(crate) struct Served {
    url: String,
    wire: Wire,
    model: &'static str,
    /// What the gateway says that calls used.
    reports: Arc<Mutex<Vec<Usage>>>,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

impl Served {
    pub(crate) async fn start(mind: Mind, provider: Arc<dyn Provider>) -> Self {
        // The wire of the client: one mind is passed through by bytes, the others are translated.
        let (wire, target, asked) = match mind {
            Mind::NativeAnthropic => (Wire::Responses, model(Wire::Anthropic).0, model(Wire::Anthropic).1),
            Mind::NativeResponses => (Wire::Responses, model(Wire::Responses).0, model(Wire::Responses).1),
            _ => (Wire::Anthropic, "mind", "claude-opus-5-5"),
        };
        let reports = Arc::<Mutex<Vec<Usage>>>::default();
        let told = Arc::clone(&reports);
        let gateway = Gateway::builder()
            .route("*", Target::new(target, provider))
            .on_call(move |report| told.lock().unwrap().push(report.usage))
            .build()
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let version = if wire == Wire::Responses { "/v1" } else { "" };
        let url = format!("http://{}{version}", listener.local_addr().unwrap());
        let shutdown = CancellationToken::new();
        let stop = shutdown.clone();
        let task = tokio::spawn(async move { gateway.serve(listener, stop).await });
        Self { url, wire, model: asked, reports, shutdown, task }
    }

    /// Our loop as a client of the gateway.
    pub(crate) fn native(&self) -> Native {
        let endpoint = Endpoint::new("gateway", self.wire, &self.url).key("any");
        let provider = Arc::new(HttpProvider::new(endpoint).unwrap());
        Native { model: Some(self.model.to_owned()), ..Native::new(provider) }
    }

    /// Ends the gateway, waits for everything it started, and gives what it has reported.
    pub(crate) async fn close(self) -> Tokens {
        self.shutdown.cancel();
        self.task.await.unwrap();
        tokens(&*self.reports.lock().unwrap())
    }
}
