//! What kept a run from an answer, in words that are the same for all commands.
//!
//! What a command says in fields (a code, an HTTP status) decides first. Its words decide what the fields
//! leave open, by phrases that are data. For how long a provider is then left alone says
//! [`suppressed_until`].

mod reset;
mod words;

use std::time::Duration;

use jiff::{Timestamp, Zoned};
use junto_core::{AgentError, AgentErrorKind};
use junto_llm::{Error, ErrorKind};

/// What kept a run from an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The key or the sign-in is not accepted.
    Auth,
    /// Too many requests in a short time.
    RateLimit,
    /// The plan's share of the hour, day or week is used up; it comes back by itself.
    UsageLimit,
    /// The account has nothing left; somebody must pay.
    Quota,
    /// The provider has too much to do, or is broken for the moment.
    Overloaded,
    /// The conversation is too long for the model.
    ContextLength,
    /// The model, or a filter before it, does not want to.
    Refused,
    /// The program is not there.
    NotInstalled,
    /// Nobody has signed in, and there is no key.
    NotSignedIn,
    /// The program ended without saying how it went.
    Crashed,
    /// It was silent for too long.
    TimedOutIdle,
    /// It took too long altogether.
    TimedOutHard,
    /// Somebody stopped it.
    Cancelled,
}

/// Every class, with the word it is written as, the kind of its errors, and how long a provider is left
/// alone after it if it does not say itself.
const CLASSES: &[(Class, &str, ErrorKind, Option<Duration>)] = &[
    (Class::Auth, "auth", ErrorKind::Authentication, Some(Duration::from_mins(10))),
    (Class::RateLimit, "rate-limit", ErrorKind::RateLimit, Some(Duration::from_mins(5))),
    (Class::UsageLimit, "usage-limit", ErrorKind::Quota, Some(Duration::from_hours(5))),
    (Class::Quota, "quota", ErrorKind::Quota, Some(Duration::from_hours(1))),
    (Class::Overloaded, "overloaded", ErrorKind::Server, Some(Duration::from_mins(1))),
    (Class::ContextLength, "context-length", ErrorKind::ContextLength, None),
    (Class::Refused, "refused", ErrorKind::ContentFilter, None),
    (Class::NotInstalled, "not-installed", ErrorKind::Configuration, None),
    (Class::NotSignedIn, "not-signed-in", ErrorKind::Authentication, Some(Duration::from_mins(10))),
    (Class::Crashed, "crashed", ErrorKind::Stream, None),
    (Class::TimedOutIdle, "timed-out-idle", ErrorKind::Timeout, None),
    (Class::TimedOutHard, "timed-out-hard", ErrorKind::Timeout, None),
    (Class::Cancelled, "cancelled", ErrorKind::Aborted, None),
];

impl Class {
    /// All classes.
    pub fn all() -> impl Iterator<Item = Self> {
        CLASSES.iter().map(|(class, ..)| *class)
    }

    /// The class as it is written in events and rows.
    pub fn as_str(self) -> &'static str {
        self.row().map_or("", |(_, word, ..)| word)
    }

    /// The class that is written so.
    pub fn parse(word: &str) -> Option<Self> {
        CLASSES.iter().find(|(_, written, ..)| *written == word).map(|(class, ..)| *class)
    }

    /// The class of an error: its own, else what its kind and status say.
    pub fn of(error: &Error) -> Option<Self> {
        let own = error.class().and_then(Self::parse);
        own.or_else(|| match (error.kind(), error.status()) {
            (ErrorKind::Authentication | ErrorKind::AccessDenied, _) => Some(Self::Auth),
            (ErrorKind::RateLimit, _) => Some(Self::RateLimit),
            (ErrorKind::Quota, _) => Some(Self::Quota),
            (ErrorKind::ContextLength, _) => Some(Self::ContextLength),
            (ErrorKind::ContentFilter, _) => Some(Self::Refused),
            (ErrorKind::Server, _) => Some(Self::Overloaded),
            (ErrorKind::Aborted, _) => Some(Self::Cancelled),
            _ => None,
        })
    }

    /// How long a provider is left alone after it, unless it says itself when it can be asked again.
    /// None: another call may succeed at once, or would fail anywhere.
    pub fn suppression(self) -> Option<Duration> {
        self.row().and_then(|(.., suppression)| *suppression)
    }

    /// Whether nobody would have been answered, so that another provider may take the same call. One that is not
    /// installed is among them, though it is not left alone: it is looked for before each run, and may be there
    /// by then.
    pub fn is_unavailable(self) -> bool {
        self == Self::NotInstalled || self.suppression().is_some()
    }

    /// An error of this class.
    pub fn error(self, message: impl Into<String>) -> Error {
        let kind = self.row().map_or(ErrorKind::Unknown, |(_, _, kind, _)| *kind);
        Error::new(kind, message).with_class(self.as_str())
    }

    fn row(self) -> Option<&'static (Self, &'static str, ErrorKind, Option<Duration>)> {
        CLASSES.iter().find(|(class, ..)| *class == self)
    }
}

/// The error that a command reports. `kind` is what it says in a field: a code such as `overloaded_error` or
/// `UNAUTHENTICATED`, or nothing of use; `status` is the HTTP status that it names.
///
/// Fields decide before words, except that a 429 may be a limit of the plan or of the account, and a 400
/// anything: there the words decide.
pub fn classify(kind: &str, message: &str, status: Option<u16>) -> Error {
    let told = words::told(message);
    let status = status.or(told.status);
    let by_field = words::of_code(kind).or_else(|| words::of_code(told.code.as_deref().unwrap_or_default()));
    let class = match (by_field, status) {
        (None | Some(Class::RateLimit), Some(429)) | (Some(Class::RateLimit), _) => {
            let finer = words::of_message(message);
            Some(
                finer
                    .filter(|class| matches!(class, Class::UsageLimit | Class::Quota))
                    .unwrap_or(Class::RateLimit),
            )
        }
        (Some(Class::Auth), _) | (None, Some(401 | 403)) => {
            let finer = words::of_message(message);
            Some(finer.filter(|class| *class == Class::NotSignedIn).unwrap_or(Class::Auth))
        }
        (Some(class), _) => Some(class),
        (None, Some(402)) => Some(Class::Quota),
        (None, Some(413)) => Some(Class::ContextLength),
        (None, Some(500..=599)) => Some(Class::Overloaded),
        (None, _) => words::of_message(message),
    };
    let error = match (class, status) {
        (Some(class), _) => class.error(message),
        (None, Some(status)) => Error::new(ErrorKind::from_status(status), message),
        (None, None) if words::is_connection(message) => Error::new(ErrorKind::Network, message),
        (None, None) => Error::new(ErrorKind::Unknown, message),
    };
    let error = match status {
        Some(status) => error.with_status(status),
        None => error,
    };
    let code = told.code.as_deref().filter(|_| words::of_code(kind).is_none()).unwrap_or(kind);
    let error = if words::of_code(code).is_some() { error.with_code(code) } else { error };
    error.with_retry_after(reset::wait(message))
}

/// Whether an error of a run that was to go on with a session says that this cannot be: it is not there, or not fit
/// for it.
pub fn is_missing_session(message: &str) -> bool {
    words::is_missing_session(message)
}

/// The error of what makes no sense, with what does.
pub(crate) fn invalid(error: &Error) -> AgentError {
    let told = AgentError::new(AgentErrorKind::Invalid, error.to_string());
    match error.hint() {
        Some(hint) => told.with_hint(hint),
        None => told,
    }
}

/// An error of a command, with how its user signs in if that is what is wrong.
pub(crate) fn with_sign_in(error: Error, how: &str) -> Error {
    let is_meant = Class::of(&error) == Some(Class::NotSignedIn) && !how.is_empty();
    if is_meant { error.with_hint(how) } else { error }
}

/// The same, and what can be done in any case.
pub(crate) fn advised(error: Error, how: &str) -> Error {
    let error = with_sign_in(error, how);
    if error.hint().is_some() { error } else { error.with_hint("try again, or let another agent do it") }
}

/// Until when a provider that failed so is left alone: as long as its message says, else as is usual for the
/// class. None: it is not left alone. `now` is in the zone of whoever reads the message, which names times of
/// the day.
pub fn suppressed_until(class: Class, message: &str, now: &Zoned) -> Option<Timestamp> {
    let usual = class.suppression()?;
    let told = match class {
        Class::RateLimit | Class::UsageLimit | Class::Quota | Class::Overloaded => reset::time(message, now),
        _ => None,
    };
    told.or_else(|| now.timestamp().checked_add(usual).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: &str, message: &str, status: Option<u16>, expected: Option<Class>) -> Error {
        let error = classify(kind, message, status);
        assert_eq!(Class::of(&error), expected, "{kind:?} {message:?} {status:?}: {error:?}");
        error
    }

    #[test]
    fn a_class_is_written_and_read() {
        for class in Class::all() {
            assert_eq!(Class::parse(class.as_str()), Some(class));
            assert_eq!(Class::of(&class.error("x")), Some(class));
        }
        assert_eq!(Class::parse("unheard-of"), None);
    }

    /// What `claude`, `codex` and `gemini` once printed: code, message, status.
    #[test]
    fn what_the_real_ones_say() {
        use Class as C;
        let too_long = "Prompt is too long · the request is ~250000 tokens (limit 200000) but this conversation \
                        is only ~2484 tokens";
        let flagged =
            "API Error: Opus 5.5's safeguards flagged this message (https://www.anthropic.com/legal/aup)";
        let room = "Codex ran out of room in the model's context window. Start a new thread or clear earlier \
                    history before retrying.";
        let demand = "We’re currently experiencing high demand, which may cause temporary errors.";
        let unauthorized = "unexpected status 401 Unauthorized: Incorrect API key provided: sk-dummy., url: \
                            http://127.0.0.1:8080/e401/v1/responses, request id: req_6";
        let many = "exceeded retry limit, last status: 429 Too Many Requests, request id: req_6";
        let gemini = |code: u16, message: &str, status: &str| {
            format!(
                "[API Error: {{\"error\":{{\"code\":{code},\"message\":\"{message}\",\"status\":\"{status}\"}}}}]"
            )
        };
        for (kind, message, status, expected) in [
            ("invalid_request_error", too_long, Some(400), Some(C::ContextLength)),
            ("authentication_error", "Invalid API key · Fix external API key", Some(401), Some(C::Auth)),
            (
                "overloaded_error",
                "API Error: 529 fake error 529. This is a server-side issue",
                Some(529),
                Some(C::Overloaded),
            ),
            ("refusal", flagged, None, Some(C::Refused)),
            ("", flagged, None, Some(C::Refused)),
            ("", "Not logged in · Please run /login", None, Some(C::NotSignedIn)),
            ("", "Claude AI usage limit reached|1763210000", None, Some(C::UsageLimit)),
            (
                "rate_limit_error",
                "You've hit your limit · resets 3pm (America/Los_Angeles)",
                Some(429),
                Some(C::UsageLimit),
            ),
            ("", "5-hour limit reached ∙ resets 3pm", None, Some(C::UsageLimit)),
            (
                "invalid_request_error",
                "Your credit balance is too low to access the API",
                Some(400),
                Some(C::Quota),
            ),
            ("", room, None, Some(C::ContextLength)),
            ("", demand, None, Some(C::Overloaded)),
            ("", unauthorized, None, Some(C::Auth)),
            ("", many, None, Some(C::RateLimit)),
            (
                "",
                "rate limit exceeded: Rate limit reached. Please try again in 1.5s.",
                None,
                Some(C::RateLimit),
            ),
            (
                "",
                "You've hit your usage limit. Upgrade to Pro, or try again in 3 hours 25 minutes.",
                None,
                Some(C::UsageLimit),
            ),
            ("", "Quota exceeded. Check your plan and billing details.", None, Some(C::Quota)),
            (
                "",
                "{\"error\": {\"message\": \"Bad thing\", \"type\": \"invalid_request_error\", \"code\": \"bad\"}}",
                None,
                None,
            ),
            ("", "Incomplete response returned, reason: max_output_tokens", None, None),
            ("", "stream disconnected before completion: Transport error: network error", None, None),
            ("unknown", &gemini(401, "API key not valid.", "UNAUTHENTICATED"), None, Some(C::Auth)),
            ("unknown", &gemini(403, "Permission denied.", "PERMISSION_DENIED"), None, Some(C::Auth)),
            (
                "unknown",
                &gemini(400, "Request contains an invalid argument.", "INVALID_ARGUMENT"),
                None,
                None,
            ),
            ("unknown", &gemini(503, "The model is overloaded.", "UNAVAILABLE"), None, Some(C::Overloaded)),
            (
                "unknown",
                &gemini(429, "Resource has been exhausted", "RESOURCE_EXHAUSTED"),
                None,
                Some(C::RateLimit),
            ),
            (
                "",
                "You have exhausted your capacity on this model. Your quota will reset after 3h25m10s.",
                None,
                Some(C::UsageLimit),
            ),
            ("", "Please set an Auth method in your settings.json", None, Some(C::NotSignedIn)),
            (
                "",
                "When using Gemini API, you must specify the GEMINI_API_KEY environment variable.",
                None,
                Some(C::NotSignedIn),
            ),
            ("usageLimitExceeded", "no more", None, Some(C::UsageLimit)),
            ("", "", Some(500), Some(C::Overloaded)),
            ("", "", None, None),
        ] {
            check(kind, message, status, expected);
        }
    }

    #[test]
    fn fields_decide_before_words() {
        check("overloaded_error", "usage limit reached", None, Some(Class::Overloaded));
        check("", "our quota is exceeded", Some(529), Some(Class::Overloaded));
        check("rate_limit_error", "insufficient_quota", None, Some(Class::Quota));
        check("", "please run /login", Some(401), Some(Class::NotSignedIn));
    }

    #[test]
    fn an_error_keeps_what_the_command_said() {
        let error = check("overloaded_error", "too much", Some(529), Some(Class::Overloaded));
        assert_eq!(
            (error.status(), error.code(), error.kind()),
            (Some(529), Some("overloaded_error"), ErrorKind::Server)
        );
        let error =
            check("claude", "Rate limit reached. Please try again in 1.5s.", None, Some(Class::RateLimit));
        assert_eq!((error.code(), error.retry_after()), (None, Some(Duration::from_millis(1500))));
        assert_eq!(classify("", "stream disconnected before completion", None).kind(), ErrorKind::Network);
        assert_eq!(classify("", "no such model", Some(404)).kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_session_that_is_not_there() {
        for (message, missing) in [
            ("No conversation found with session ID: 00000000-0000-0000-0000-000000000005", true),
            ("Error: thread/resume: thread/resume failed: no rollout found for thread id 0199", true),
            (
                "Error: thread/resume: thread/resume failed: failed to read thread: rollout at /r.jsonl is empty",
                true,
            ),
            ("Error resuming session: Invalid session identifier \"x\".", true),
            (
                "[API Error: Please ensure that the number of function response parts is equal to the number of \
                 function call parts of the function call turn.]",
                true,
            ),
            ("Invalid API key", false),
            ("", false),
        ] {
            assert_eq!(is_missing_session(message), missing, "{message}");
        }
    }

    #[test]
    fn who_could_answer_nobody_gives_way() {
        let unavailable: Vec<&str> =
            Class::all().filter(|class| class.is_unavailable()).map(Class::as_str).collect();
        let expected =
            ["auth", "rate-limit", "usage-limit", "quota", "overloaded", "not-installed", "not-signed-in"];
        assert_eq!(unavailable, expected);
    }

    #[test]
    fn a_provider_is_left_alone_as_long_as_it_says() {
        let now: Zoned = "2026-11-15T14:00:00Z[UTC]".parse().unwrap();
        let after = |class, message: &str| {
            let until = suppressed_until(class, message, &now)?;
            Some(until.duration_since(now.timestamp()).unsigned_abs())
        };
        let hours = Duration::from_hours;
        for (class, message, expected) in [
            (Class::UsageLimit, "", Some(hours(5))),
            (Class::Quota, "", Some(hours(1))),
            (Class::Auth, "try again in 1s", Some(Duration::from_mins(10))),
            (Class::NotInstalled, "", None),
            (Class::RateLimit, "", Some(Duration::from_mins(5))),
            (Class::Overloaded, "", Some(Duration::from_mins(1))),
            (Class::Crashed, "", None),
            (Class::ContextLength, "", None),
            (
                Class::UsageLimit,
                "or try again in 2 days 3 hours 5 minutes.",
                Some(hours(51) + Duration::from_mins(5)),
            ),
            (Class::UsageLimit, "limit reached ∙ resets 3pm", Some(hours(1))),
            (Class::UsageLimit, "usage limit reached|1794758400", Some(hours(2))),
            (Class::RateLimit, "Please try again in 1.5s.", Some(Duration::from_millis(1500))),
        ] {
            assert_eq!(after(class, message), expected, "{class:?} {message}");
        }
    }
}
