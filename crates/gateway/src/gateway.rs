//! The gateway and how it is put together.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use junto_llm::{Allowance, Error, Narration, Secret, Usd};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::admit::Admission;
use crate::aside::Backlog;
use crate::books::{Books, Prices, Sink};
use crate::guard::{self, ClientKeys, Clients, Name};
use crate::metrics::Metrics;
use crate::models::Models;
use crate::pace::Long;
use crate::report::CallReport;
use crate::route::{ClientKeyUse, Routes, Target};
use crate::sessions::{self, SessionStore, Sessions};
use crate::warnings::{Warn, Warnings};
use crate::{serve, surface};

/// Answers clients of the model APIs from the providers it was given. Cheap to clone.
#[derive(Clone)]
pub struct Gateway(pub(crate) Arc<Inner>);

/// What all requests share.
pub(crate) struct Inner {
    pub(crate) name: Name,
    pub(crate) routes: Routes,
    pub(crate) models: Models,
    /// Absent: clients need no key.
    pub(crate) client_keys: Option<ClientKeys>,
    pub(crate) settings: Settings,
    pub(crate) admission: Admission,
    pub(crate) clients: Clients,
    pub(crate) books: Arc<Books>,
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
    /// Names, beside those of this machine's loopback and the address it was reached at, under which clients
    /// may address the gateway. Whatever else a request's `Host` says is refused: it may be a web page's own
    /// name, which leads here now.
    pub hosts: Vec<String>,
    /// Web pages that may ask, as `https://NAME`: others are refused.
    pub origins: Vec<String>,
    /// How often one client may ask in a minute, on average; that many at once at most. Clients are told
    /// apart by their keys, else by their addresses. Absent: without limit.
    pub client_rate: Option<NonZeroU32>,
    /// How many requests of one client may be under way. Absent: without limit but for all clients'.
    pub client_running: Option<NonZeroU32>,
    /// How many turns a session may have with targets that [count them](Target::counts_turns); then it gets
    /// an answer that says so. Absent: any number.
    pub session_turns: Option<u32>,
    /// What a session may use. It is looked at before each call: the one that uses it up is the last. Money
    /// needs [prices](Builder::prices), and a session with a call whose price is not known has none left.
    pub session_budget: Allowance,
    /// How many sessions are remembered; beyond, the one unused for longest is forgotten.
    pub sessions: usize,
    /// The directories within which clients may say they work. What they say is taken for a call's
    /// [working directory](junto_llm::CallCx::workdir) only if it is an existing directory below one of
    /// these, links followed. None by default, so that the host decides; a user's home is a good choice.
    pub workdir_roots: Vec<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            running: 4096,
            waiting: 1024,
            body_limit: 64 * 1024 * 1024,
            keep_alive: Duration::from_secs(3),
            progress: Progress::Shown,
            grace: Duration::from_secs(30),
            narration: Narration::default(),
            heartbeat: Duration::from_secs(5),
            hosts: Vec::new(),
            origins: Vec::new(),
            client_rate: None,
            client_running: None,
            session_turns: Some(60),
            session_budget: Allowance::UNLIMITED,
            sessions: 10_000,
            workdir_roots: Vec::new(),
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
        Builder {
            routes: Routes::default(),
            client_keys: Vec::new(),
            settings: Settings::default(),
            sink: None,
            warn: None,
            prices: None,
            sessions: None,
        }
    }

    /// The gateway as a service, for hosts with a server of their own. Such a host sees to it that
    /// the body of a reply is dropped when its client has gone: that is what cancels a call.
    pub fn router(&self) -> Router {
        surface::router(self.clone())
    }

    /// Serves HTTP/1.1 and cleartext HTTP/2 until `shutdown` is cancelled; then takes no more
    /// connections, lets running answers finish within [`Settings::grace`], closes what is left,
    /// and returns once everything it started has ended. Dropping the future closes everything at
    /// once. What sessions have used is saved meanwhile and at the end; if the future is dropped, the last
    /// seconds of that are lost.
    pub async fn serve(&self, listener: TcpListener, shutdown: CancellationToken) {
        self.serve_until(listener, shutdown, CancellationToken::new()).await;
    }

    /// The same; but when `stop` is cancelled, nothing is waited for any more: what is left is closed, and this returns
    /// once that has ended and is reported and saved.
    pub async fn serve_until(
        &self,
        listener: TcpListener,
        shutdown: CancellationToken,
        stop: CancellationToken,
    ) {
        let over = CancellationToken::new();
        let serving = async {
            serve::serve(self, listener, shutdown, &stop).await;
            over.cancel();
        };
        tokio::join!(serving, self.keep_sessions(over.clone()));
    }

    /// Saves what sessions have used while it changes, until `over` is cancelled, and once more then. For
    /// hosts with a server of their own; [`Gateway::serve`] does it by itself.
    pub async fn keep_sessions(&self, over: CancellationToken) {
        self.0.books.sessions.keep(over, &self.0.books.warnings).await;
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
    client_keys: Vec<Secret>,
    settings: Settings,
    sink: Option<Sink>,
    warn: Option<Warn>,
    prices: Option<Prices>,
    sessions: Option<Arc<dyn SessionStore>>,
}

impl Builder {
    /// Answers requests for models that fit this pattern, in which `*` stands for anything, from
    /// this target. The first route that fits decides.
    pub fn route(mut self, pattern: impl Into<String>, target: Target) -> Self {
        self.routes.push(pattern.into(), target);
        self
    }

    /// Takes requests only from clients that show this key: as a bearer token, as `x-api-key`, as
    /// `x-goog-api-key`, or as `key` in the query. Further keys may be given, for clients whose limits shall
    /// not be each other's.
    pub fn client_key(mut self, key: impl Into<Secret>) -> Self {
        self.client_keys.push(key.into());
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

    /// Tells `warn` what is not as it should be with the gateway itself, in words for whoever runs it: that no connection
    /// can be taken, or nothing saved. It should hand on and return, too. Without it this is a warning of `tracing`.
    pub fn on_warning(mut self, warn: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.warn = Some(Box::new(warn));
        self
    }

    /// Says what calls cost, for the budgets of sessions, the metrics and the page; none if nobody knows. Of one that did
    /// not come to its end it is asked where a budget has it counted; else nobody knows.
    pub fn prices(mut self, prices: impl Fn(&CallReport) -> Option<Usd> + Send + Sync + 'static) -> Self {
        self.prices = Some(Arc::new(prices));
        self
    }

    /// Keeps what sessions have used in this store, from one gateway to the next.
    pub fn session_store(mut self, store: impl SessionStore + 'static) -> Self {
        self.sessions = Some(Arc::new(store));
        self
    }

    /// The gateway.
    ///
    /// # Errors
    /// `configuration` if there is no route, if a client key is empty or would be forwarded to a provider,
    /// if sessions have a budget in money but nothing has a price, or if their store cannot be read.
    pub fn build(self) -> Result<Gateway, Error> {
        let Self { routes, client_keys, settings, sink, warn, prices, sessions } = self;
        if routes.targets().next().is_none() {
            return Err(Error::configuration("the gateway has no routes")
                .with_hint("give it at least one, for instance for the pattern `*`"));
        }
        if client_keys.iter().any(|key| key.expose().is_empty()) {
            return Err(Error::configuration("the gateway's client key is empty"));
        }
        let forwards = routes.targets().find(|target| target.client_key == ClientKeyUse::Forward);
        if let (Some(target), false) = (forwards, client_keys.is_empty()) {
            return Err(Error::configuration(format!(
                "the gateway's own client key would be forwarded to `{}`",
                target.name
            ))
            .with_hint("either clients share the gateway's key, or each brings one for the provider"));
        }
        if settings.session_budget.usd.is_some() && prices.is_none() {
            return Err(Error::configuration("sessions have a budget in money, but nothing has a price")
                .with_hint("give the gateway prices, or a budget in tokens"));
        }
        let limits = sessions::Limits {
            turns: settings.session_turns,
            budget: settings.session_budget,
            most: settings.sessions,
        };
        let sessions = Arc::new(Sessions::open(limits, sessions)?);
        let books = Arc::new(Books {
            sink,
            prices,
            sessions,
            metrics: Metrics::new(),
            backlog: Backlog::default(),
            long: Long::default(),
            warnings: Warnings(warn),
            catching_up: tokio::sync::Mutex::default(),
        });
        let limits = guard::Limits { rate: settings.client_rate, running: settings.client_running };
        let admission = Admission::new(settings.running, settings.waiting);
        let models = Models::of(&routes);
        Ok(Gateway(Arc::new(Inner {
            name: Name::fresh(),
            routes,
            models,
            client_keys: ClientKeys::new(&client_keys),
            settings,
            admission,
            clients: Clients::new(limits),
            books,
        })))
    }
}
