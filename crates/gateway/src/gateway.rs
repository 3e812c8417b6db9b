//! The gateway and how it is put together.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use junto_llm::{Error, Narration, Secret};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::admit::Admission;
use crate::auth::ClientKey;
use crate::models::Models;
use crate::report::{CallReport, Sink};
use crate::route::{ClientKeyUse, Routes, Target};
use crate::{serve, surface};

/// Answers clients of the model APIs from the providers it was given. Cheap to clone.
#[derive(Clone)]
pub struct Gateway(pub(crate) Arc<Inner>);

/// What all requests share.
pub(crate) struct Inner {
    pub(crate) routes: Routes,
    pub(crate) models: Models,
    pub(crate) client_key: Option<ClientKey>,
    pub(crate) settings: Settings,
    pub(crate) admission: Admission,
    pub(crate) sink: Option<Sink>,
}

/// Limits and habits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many calls run at a time.
    pub running: usize,
    /// How many more may wait; others are refused with the wire's word for "overloaded".
    pub waiting: usize,
    /// The largest body of a request, in bytes.
    pub body_limit: usize,
    /// How long a translated stream may be silent before something is sent to keep it alive, again and
    /// again. Until the first time a failure of the provider still becomes an HTTP status.
    pub keep_alive: Duration,
    /// What becomes of what providers say about their progress.
    pub progress: Progress,
    /// How long running answers may take to finish after a shutdown was asked for.
    pub grace: Duration,
    /// How much providers that narrate shall say of their progress, where it is shown.
    pub narration: Narration,
    /// How long providers that narrate are silent between two lines. One that takes twice as long is
    /// spoken for: clients are told, from then on in this pace, that the work goes on.
    pub heartbeat: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            running: 1024,
            waiting: 1024,
            body_limit: 64 * 1024 * 1024,
            keep_alive: Duration::from_secs(3),
            progress: Progress::Shown,
            grace: Duration::from_secs(30),
            narration: Narration::default(),
            heartbeat: Duration::from_secs(5),
        }
    }
}

/// What becomes of what providers say about their progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// It is streamed to the client as reasoning, and taken out again when the client sends it back.
    #[default]
    Shown,
    /// It is left out.
    Hidden,
}

impl Gateway {
    /// Starts a gateway without routes.
    pub fn builder() -> Builder {
        Builder { routes: Routes::default(), client_key: None, settings: Settings::default(), sink: None }
    }

    /// The gateway as a service, for hosts with a server of their own. Such a host sees to it that
    /// the body of a reply is dropped when its client has gone: that is what cancels a call.
    pub fn router(&self) -> Router {
        surface::router(self.clone())
    }

    /// Serves HTTP/1.1 and cleartext HTTP/2 until `shutdown` is cancelled; then takes no more
    /// connections, lets running answers finish within [`Settings::grace`], closes what is left,
    /// and returns once everything it started has ended. Dropping the future closes everything at
    /// once.
    pub async fn serve(&self, listener: TcpListener, shutdown: CancellationToken) {
        serve::serve(self.router(), listener, shutdown, self.0.settings.grace).await;
    }
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway")
            .field("routes", &self.0.routes)
            .field("settings", &self.0.settings)
            .finish_non_exhaustive()
    }
}

/// Puts a [`Gateway`] together.
#[must_use]
pub struct Builder {
    routes: Routes,
    client_key: Option<Secret>,
    settings: Settings,
    sink: Option<Sink>,
}

impl Builder {
    /// Answers requests for models that fit this pattern, in which `*` stands for anything, from
    /// this target. The first route that fits decides.
    pub fn route(mut self, pattern: impl Into<String>, target: Target) -> Self {
        self.routes.push(pattern.into(), target);
        self
    }

    /// Takes requests only from clients that show this key, as a bearer token or as `x-api-key`.
    pub fn client_key(mut self, key: impl Into<Secret>) -> Self {
        self.client_key = Some(key.into());
        self
    }

    /// Replaces the default limits and habits.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Tells `sink` what became of each call, once: when its answer is over, when it has failed or was
    /// refused, or when its client has gone. The sink is called between two pieces of answers, so it
    /// should hand on and return.
    pub fn on_call(mut self, sink: impl Fn(CallReport) + Send + Sync + 'static) -> Self {
        self.sink = Some(Arc::new(sink));
        self
    }

    /// The gateway.
    ///
    /// # Errors
    /// `configuration` if there is no route, if the client key is empty, or if it would be
    /// forwarded to a provider.
    pub fn build(self) -> Result<Gateway, Error> {
        let Self { routes, client_key, settings, sink } = self;
        if routes.targets().next().is_none() {
            return Err(Error::configuration("the gateway has no routes")
                .with_hint("give it at least one, for instance for the pattern `*`"));
        }
        if client_key.as_ref().is_some_and(|key| key.expose().is_empty()) {
            return Err(Error::configuration("the gateway's client key is empty"));
        }
        let forwards = routes.targets().find(|target| target.client_key == ClientKeyUse::Forward);
        if let (Some(target), Some(_)) = (forwards, &client_key) {
            return Err(Error::configuration(format!(
                "the gateway's own client key would be forwarded to `{}`",
                target.name
            ))
            .with_hint("either clients share the gateway's key, or each brings one for the provider"));
        }
        let admission = Admission::new(settings.running, settings.waiting);
        let client_key = client_key.as_ref().map(ClientKey::new);
        let models = Models::of(&routes);
        Ok(Gateway(Arc::new(Inner { routes, models, client_key, settings, admission, sink })))
    }
}
