//! One error type, with a kind, a context and a hint.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{RateLimit, Secret};

/// What went wrong, coarsely. It decides whether a retry makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The key is missing or wrong (401).
    Authentication,
    /// The key is right but may not do this (403).
    AccessDenied,
    /// No such model or path (404).
    NotFound,
    /// The provider does not take the request (400, 422, and what else it may refuse with).
    InvalidRequest,
    /// The conversation is too long for the model (413, or by message).
    ContextLength,
    /// Too many requests (429).
    RateLimit,
    /// The account, or the budget, has nothing left (402, or by message).
    Quota,
    /// A filter refused.
    ContentFilter,
    /// The provider failed (5xx, 529 too).
    Server,
    /// Nothing came in time (408, or our own clock).
    Timeout,
    /// The provider could not be reached, or the connection broke.
    Network,
    /// The stream broke or made no sense.
    Stream,
    /// The caller cancelled.
    Aborted,
    /// The model called a tool that does not exist, or with arguments that do not fit.
    InvalidToolCall,
    /// The provider cannot be made to choose tools that way.
    UnsupportedToolChoice,
    /// The answer is not the object that was asked for.
    NoObject,
    /// Something is missing or contradictory on our side; nothing was sent.
    Configuration,
    /// The provider said something we do not understand.
    Unknown,
}

impl ErrorKind {
    /// The kind as it is written in events and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Authentication => "authentication",
            Self::AccessDenied => "access_denied",
            Self::NotFound => "not_found",
            Self::InvalidRequest => "invalid_request",
            Self::ContextLength => "context_length",
            Self::RateLimit => "rate_limit",
            Self::Quota => "quota",
            Self::ContentFilter => "content_filter",
            Self::Server => "server",
            Self::Timeout => "timeout",
            Self::Network => "network",
            Self::Stream => "stream",
            Self::Aborted => "aborted",
            Self::InvalidToolCall => "invalid_tool_call",
            Self::UnsupportedToolChoice => "unsupported_tool_choice",
            Self::NoObject => "no_object",
            Self::Configuration => "configuration",
            Self::Unknown => "unknown",
        }
    }

    /// The kind that an HTTP status alone suggests; the wires refine it by code and message.
    pub fn from_status(status: u16) -> Self {
        match status {
            401 => Self::Authentication,
            403 => Self::AccessDenied,
            404 => Self::NotFound,
            402 => Self::Quota,
            408 => Self::Timeout,
            413 => Self::ContextLength,
            429 => Self::RateLimit,
            // Whatever else it refuses, it would refuse again.
            400..=499 => Self::InvalidRequest,
            500..=599 => Self::Server,
            _ => Self::Unknown,
        }
    }
}

/// An error of this crate. Cheap to move and to clone; never holds a key.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Error(Box<Inner>);

#[derive(Clone, Serialize, Deserialize)]
struct Inner {
    kind: ErrorKind,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after: Option<Duration>,
    /// It holds for a moment, so it is not written down.
    #[serde(skip)]
    rate_limit: Option<RateLimit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// Set when the same call may well succeed, although errors of this kind do not pass by themselves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    passing: bool,
    /// Set when content was already handed on, so that a retry would repeat it.
    #[serde(default)]
    delivered: bool,
    #[serde(skip)]
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// The most of a provider's error body that is kept.
const BODY_LIMIT: usize = 16 * 1024;

impl Error {
    /// An error of this kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            provider: None,
            status: None,
            code: None,
            class: None,
            retry_after: None,
            rate_limit: None,
            body: None,
            hint: None,
            passing: false,
            delivered: false,
            source: None,
        }))
    }

    /// Something on our side is missing or contradictory.
    pub fn configuration(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Configuration, message)
    }

    /// The stream broke or made no sense.
    pub fn stream(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Stream, message)
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What happened, in a sentence.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The provider that failed.
    pub fn provider(&self) -> Option<&str> {
        self.0.provider.as_deref()
    }

    /// The HTTP status.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The provider's own code for it.
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// What it means for whoever chooses whom to ask next, where that is finer than the kind: a stable word.
    pub fn class(&self) -> Option<&str> {
        self.0.class.as_deref()
    }

    /// How long the provider asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// What the provider said about its limits.
    pub fn rate_limit(&self) -> Option<&RateLimit> {
        self.0.rate_limit.as_ref()
    }

    /// The provider's body, at most 16 KiB of it.
    pub fn body(&self) -> Option<&str> {
        self.0.body.as_deref()
    }

    /// What to do about it: the error's own advice, else what fits its kind.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref().or(match self.0.kind {
            ErrorKind::Authentication => Some("check the provider's API key"),
            ErrorKind::AccessDenied => Some("the key is valid but may not use this model or feature"),
            ErrorKind::NotFound => {
                Some("check the model's name and the base URL; `junto models` lists what is known")
            }
            ErrorKind::ContextLength => {
                Some("shorten the conversation, or choose a model with a larger window")
            }
            ErrorKind::RateLimit => Some("wait, or lower the rate of requests"),
            ErrorKind::Quota => Some("check the account's billing, or the budget"),
            ErrorKind::Network => Some("check the base URL, the proxy and the network"),
            ErrorKind::Timeout => Some("try again, or raise the timeout"),
            _ => None,
        })
    }

    /// Whether the same call may succeed if it is made again.
    pub fn is_retryable(&self) -> bool {
        let may_pass = matches!(
            self.0.kind,
            ErrorKind::RateLimit
                | ErrorKind::Server
                | ErrorKind::Network
                | ErrorKind::Stream
                | ErrorKind::Unknown
        );
        !self.0.delivered && (may_pass || self.0.passing)
    }

    /// This error with a provider's name.
    pub fn with_provider(mut self, provider: impl Into<String>) -> Self {
        self.0.provider = Some(provider.into());
        self
    }

    /// This error with an HTTP status.
    pub fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// This error with the provider's code.
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// This error with a class of its own.
    pub fn with_class(mut self, class: impl Into<String>) -> Self {
        self.0.class = Some(class.into());
        self
    }

    /// This error with the time the provider asks to wait.
    pub fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.0.retry_after = wait;
        self
    }

    /// This error with what the provider said about its limits.
    pub fn with_rate_limit(mut self, limits: Option<RateLimit>) -> Self {
        self.0.rate_limit = limits;
        self
    }

    /// This error with the provider's body, cut at 16 KiB.
    pub fn with_body(mut self, body: &[u8]) -> Self {
        let cut = &body[..body.len().min(BODY_LIMIT)];
        self.0.body = Some(String::from_utf8_lossy(cut).into_owned());
        self
    }

    /// This error with advice.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// This error with its cause.
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// This error as one that passes by itself, whatever its kind.
    pub(crate) fn passing(mut self) -> Self {
        self.0.passing = true;
        self
    }

    /// This error after content was handed on: it is not retryable any more.
    pub fn after_content(mut self) -> Self {
        self.0.delivered = true;
        self
    }

    /// Whether content was handed on before it failed.
    pub fn is_after_content(&self) -> bool {
        self.0.delivered
    }

    /// This error with every occurrence of a secret replaced, whatever text a server echoed.
    pub fn redacted(mut self, secret: &Secret) -> Self {
        self.0.message = secret.redact(&self.0.message);
        for text in [&mut self.0.body, &mut self.0.code, &mut self.0.hint].into_iter().flatten() {
            *text = secret.redact(text);
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(provider) = &self.0.provider {
            write!(f, "{provider}: ")?;
        }
        f.write_str(&self.0.message)?;
        match (self.0.status, &self.0.code) {
            (Some(status), Some(code)) => write!(f, " ({status} {code})"),
            (Some(status), None) => write!(f, " ({status})"),
            (None, Some(code)) => write!(f, " ({code})"),
            (None, None) => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("provider", &self.0.provider)
            .field("status", &self.0.status)
            .field("code", &self.0.code)
            .field("retry_after", &self.0.retry_after)
            .field("hint", &self.hint())
            .finish_non_exhaustive()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|e| e as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retryable_kinds_are_exactly_these() {
        use ErrorKind as K;
        let retryable = |kind| Error::new(kind, "x").is_retryable();
        for kind in [K::RateLimit, K::Server, K::Network, K::Stream, K::Unknown] {
            assert!(retryable(kind), "{kind:?}");
        }
        for kind in [
            K::Authentication,
            K::InvalidRequest,
            K::ContextLength,
            K::Quota,
            K::Timeout,
            K::Aborted,
            K::NoObject,
        ] {
            assert!(!retryable(kind), "{kind:?}");
        }
        assert!(!Error::stream("cut").after_content().is_retryable());
        let silent = Error::new(K::Timeout, "silent").passing();
        assert!(silent.is_retryable() && !silent.after_content().is_retryable());
    }

    #[test]
    fn what_is_refused_is_not_tried_again() {
        for status in 400..500 {
            let error = Error::new(ErrorKind::from_status(status), "no");
            assert_eq!(error.is_retryable(), status == 429, "{status}");
        }
        assert_eq!(ErrorKind::from_status(402), ErrorKind::Quota);
        assert_eq!(ErrorKind::from_status(451), ErrorKind::InvalidRequest);
        assert_eq!(ErrorKind::from_status(529), ErrorKind::Server);
        assert_eq!(ErrorKind::from_status(302), ErrorKind::Unknown);
    }

    #[test]
    fn redaction_reaches_every_text() {
        let key = Secret::new("sk-1");
        let error = Error::new(ErrorKind::Authentication, "bad sk-1")
            .with_body(b"{\"k\":\"sk-1\"}")
            .with_code("sk-1")
            .redacted(&key);
        let all =
            format!("{error} {error:?} {} {}", error.body().unwrap(), serde_json::to_string(&error).unwrap());
        assert!(!all.contains("sk-1"), "{all}");
    }
}
