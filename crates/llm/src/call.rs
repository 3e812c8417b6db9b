//! What travels beside a request and never goes to a vendor.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{Budget, Counts, Tally, Unlimited};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// A fresh id; later ones sort after earlier ones.
            pub fn fresh() -> Self {
                Self(crate::fresh::id())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// Names one call of a model.
    CallId
);
id!(
    /// Names one session.
    SessionId
);

/// The header that tells a gateway which gateways a call has come through, so that none of them asks itself without an
/// end. No built-in vendor is sent it.
pub const THROUGH: &str = "x-junto-gateway";

/// How much a provider shall say of its progress, beside its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Narration {
    /// Nothing: nobody would see it.
    Silent,
    /// Who is at work, how far they are, and how they end.
    #[default]
    Telemetry,
    /// The same, and what they say while they say it.
    Interleaved,
}

/// The context of a call: who asks, for what, within which limits. It travels from the host through
/// councils and middleware down to the leaf provider, and none of it leaks onto a vendor's wire
/// (but for the session, which becomes the cache key where a wire has one).
#[derive(Clone)]
pub struct CallCx {
    /// This call.
    pub call: CallId,
    /// The call that caused it.
    pub parent: Option<CallId>,
    /// The session it belongs to.
    pub session: Option<SessionId>,
    /// What kind of traffic it is, as the host that saw the wire knows it.
    pub traffic: Traffic,
    /// The working directory, for providers that are programs.
    pub workdir: Option<PathBuf>,
    /// How many calls deep this one is nested.
    pub depth: u8,
    /// The gateways of ours that it has come through, as [`THROUGH`] tells them to the next one. Absent: none.
    pub through: Option<Arc<str>>,
    /// How much a provider that narrates shall say of its progress.
    pub narration: Narration,
    /// What may still be spent. Whoever really asks a model reserves from it; see [`Budget`].
    pub budget: Arc<dyn Budget>,
    /// What the calls of a conversation counted, so that the next one's worst case is known better.
    pub counts: Counts,
    /// Where whoever really asks a model writes down what that used. Absent: nowhere.
    pub tally: Option<Tally>,
    /// Ends the call at once; the connection is closed.
    pub cancel: CancellationToken,
    /// Timeouts for this call instead of the provider's; the one to connect stays the provider's,
    /// whose connections calls share.
    pub timeouts: Option<Timeouts>,
}

impl CallCx {
    /// A context for a call of its own: no session, no budget, nothing that cancels it.
    pub fn new() -> Self {
        Self {
            call: CallId::fresh(),
            parent: None,
            session: None,
            traffic: Traffic::Ask,
            workdir: None,
            depth: 0,
            through: None,
            narration: Narration::default(),
            budget: Arc::new(Unlimited),
            counts: Counts::default(),
            tally: None,
            cancel: CancellationToken::new(),
            timeouts: None,
        }
    }

    /// A context for a call that this one causes: same session, budget, books and limits; cancelled
    /// when this one is.
    pub fn child(&self) -> Self {
        Self {
            call: CallId::fresh(),
            parent: Some(self.call.clone()),
            depth: self.depth.saturating_add(1),
            cancel: self.cancel.child_token(),
            ..self.clone()
        }
    }

    /// This context with a session.
    pub fn session(mut self, session: SessionId) -> Self {
        self.session = Some(session);
        self
    }

    /// This context with a cancel token.
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = token;
        self
    }

    /// This context with timeouts of its own.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = Some(timeouts);
        self
    }
}

impl Default for CallCx {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CallCx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallCx")
            .field("call", &self.call)
            .field("parent", &self.parent)
            .field("session", &self.session)
            .field("traffic", &self.traffic)
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

/// What a call is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Traffic {
    /// A person's question.
    Ask,
    /// The next round of a tool loop.
    Continuation,
    /// A chore of the client's.
    Background(Chore),
}

/// Chores that clients give to models behind the user's back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chore {
    /// A title for a conversation.
    Title,
    /// A summary that replaces a long history.
    Compaction,
    /// A probe of quota or reachability.
    Probe,
    /// Something else.
    Other(String),
}

impl Chore {
    /// Words in the names of models that clients choose for their own housekeeping.
    const SMALL: [&str; 6] = ["haiku", "small", "fast", "mini", "nano", "lite"];
    /// The word by which a name is that of several minds: whoever asks for them wants them, whatever else they are called.
    const SEVERAL: &str = "council";

    /// The chore that a request is by the name of its model alone.
    ///
    /// ```
    /// use junto_llm::Chore;
    ///
    /// assert!(Chore::of_model("claude-haiku-4-5").is_some());
    /// assert!(Chore::of_model("claude-opus-5-5").is_none());
    /// assert!(Chore::of_model("council:fast").is_none());
    /// ```
    pub fn of_model(name: &str) -> Option<Self> {
        let has = |wanted: &str| {
            name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word.eq_ignore_ascii_case(wanted))
        };
        let is_small = Self::SMALL.into_iter().any(has) && !has(Self::SEVERAL);
        is_small.then(|| Self::Other("small_model".to_owned()))
    }
}

/// How long to wait, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To connect.
    pub connect: Duration,
    /// For a whole answer that is not streamed, and for the headers of one that is.
    pub request: Duration,
    /// Of silence in a stream. A server's keep-alive is a sign of life.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            request: Duration::from_mins(2),
            idle: Duration::from_mins(5),
        }
    }
}
