//! What commands and the servers behind them call things, as data.

use serde_json::Value;

use super::Class;

/// Codes in fields, without their case and separators.
const CODES: &[(&str, Class)] = &[
    ("authenticationerror", Class::Auth),
    ("permissionerror", Class::Auth),
    ("permissiondenied", Class::Auth),
    ("unauthenticated", Class::Auth),
    ("unauthorized", Class::Auth),
    ("invalidapikey", Class::Auth),
    ("authenticationfailed", Class::Auth),
    ("ratelimiterror", Class::RateLimit),
    ("ratelimitexceeded", Class::RateLimit),
    ("ratelimit", Class::RateLimit),
    ("resourceexhausted", Class::RateLimit),
    ("usagelimitreached", Class::UsageLimit),
    ("usagelimitexceeded", Class::UsageLimit),
    ("usagelimit", Class::UsageLimit),
    ("fivehour", Class::UsageLimit),
    ("sevenday", Class::UsageLimit),
    ("insufficientquota", Class::Quota),
    ("billingerror", Class::Quota),
    ("usagenotincluded", Class::Quota),
    ("overloadederror", Class::Overloaded),
    ("apierror", Class::Overloaded),
    ("serveroverloaded", Class::Overloaded),
    ("serverisoverloaded", Class::Overloaded),
    ("slowdown", Class::Overloaded),
    ("internalservererror", Class::Overloaded),
    ("unavailable", Class::Overloaded),
    ("contextlengthexceeded", Class::ContextLength),
    ("contextwindowexceeded", Class::ContextLength),
    ("prompttoolong", Class::ContextLength),
    ("requesttoolarge", Class::ContextLength),
    ("refusal", Class::Refused),
    ("contentfilter", Class::Refused),
    ("invalidprompt", Class::Refused),
    ("cyberpolicy", Class::Refused),
];

/// Phrases in messages, in small letters; the first that is found decides.
const PHRASES: &[(Class, &[&str])] = &[
    (
        Class::Cancelled,
        &["request was aborted", "interrupted by user", "operation was canceled", "turn interrupted"],
    ),
    (
        Class::ContextLength,
        &[
            "prompt is too long",
            "context window",
            "context length",
            "context_length_exceeded",
            "input token count",
            "maximum number of tokens",
        ],
    ),
    (
        Class::Refused,
        &["safeguards flagged", "usage policy", "content policy", "content filter", "content_filter"],
    ),
    (Class::Auth, &["invalid api key", "incorrect api key", "api key not valid", "invalid bearer token"]),
    (
        Class::NotSignedIn,
        &[
            "not logged in",
            "please run /login",
            "codex login",
            "not signed in",
            "sign in again",
            "log in again",
            "set an auth method",
            "when using gemini api, you must specify",
            "when using vertex ai, you must specify",
            "missing bearer",
            "no api key",
        ],
    ),
    (
        Class::Auth,
        &[
            "unauthorized",
            "authentication",
            "permission denied",
            "oauth token",
            "token has expired",
            "forbidden",
        ],
    ),
    (
        Class::UsageLimit,
        &[
            "usage limit",
            "usage_limit",
            "hit your limit",
            "5-hour limit",
            "five-hour limit",
            "daily limit",
            "weekly limit",
            "session limit",
            "exhausted your capacity",
            "exhausted your daily quota",
            "quota will reset",
        ],
    ),
    (
        Class::Quota,
        &[
            "insufficient_quota",
            "quota exceeded",
            "exceeded your current quota",
            "credit balance",
            "out of credits",
            "payment required",
            "billing",
        ],
    ),
    (Class::RateLimit, &["rate limit", "rate-limit", "rate_limit", "too many requests"]),
    (
        Class::Overloaded,
        &[
            "overloaded",
            "high demand",
            "at capacity",
            "temporarily unavailable",
            "service unavailable",
            "internal server error",
        ],
    ),
];

/// A connection that could not be made, or broke.
const CONNECTION: &[&str] = &[
    "stream disconnected",
    "connection refused",
    "connection reset",
    "connection error",
    "network error",
    "error sending request",
    "fetch failed",
    "terminated",
    "timed out",
    "econnreset",
    "econnrefused",
];

/// What a session that is to be gone on with and is not there is called.
const MISSING_SESSION: &[&str] = &[
    "no conversation found with session id",
    "no rollout found",
    // One that is there and cannot be read.
    "thread/resume failed",
    "no session found",
    "session not found",
    "thread not found",
    "invalid session identifier",
    "no previous sessions found",
    // What a server says of a conversation of which gemini has sent the results of tools twice, as 0.61.0 does with each
    // that it resumes.
    "number of function response parts is equal to the number of function call parts",
];

/// What stands before an HTTP status in a message.
const BEFORE_STATUS: &[&str] =
    &["unexpected status ", "last status: ", "api error: ", "status code ", "\"code\":"];

/// What a message says as a field would.
#[derive(Default)]
pub(super) struct Told {
    pub(super) status: Option<u16>,
    pub(super) code: Option<String>,
}

/// Reads what a message says as a field would: a status that is named as such, and the code in an error body
/// that is passed on as it is.
pub(super) fn told(message: &str) -> Told {
    Told { status: status(&message.to_lowercase()), code: body(message).as_ref().and_then(code) }
}

/// The class of a code.
pub(super) fn of_code(code: &str) -> Option<Class> {
    let plain: String =
        code.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    CODES.iter().find(|(known, _)| *known == plain).map(|(_, class)| *class)
}

/// The class that the words of a message speak for.
pub(super) fn of_message(message: &str) -> Option<Class> {
    let message = message.to_lowercase();
    let spoken = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    PHRASES.iter().find(|(_, phrases)| spoken(phrases)).map(|(class, _)| *class)
}

pub(super) fn is_connection(message: &str) -> bool {
    has(message, CONNECTION)
}

pub(super) fn is_missing_session(message: &str) -> bool {
    has(message, MISSING_SESSION)
}

fn has(message: &str, phrases: &[&str]) -> bool {
    let message = message.to_lowercase();
    phrases.iter().any(|phrase| message.contains(phrase))
}

fn status(message: &str) -> Option<u16> {
    BEFORE_STATUS.iter().find_map(|before| {
        let (_, after) = message.split_once(before)?;
        let digits = after.trim_start();
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits.get(..end)?.parse().ok().filter(|status| (400..600).contains(status))
    })
}

/// The JSON object in a message.
fn body(message: &str) -> Option<Value> {
    let (start, end) = (message.find('{')?, message.rfind('}')?);
    serde_json::from_str(message.get(start..=end)?).ok()
}

/// The code in an error body that means something to us.
fn code(body: &Value) -> Option<String> {
    let error = if body["error"].is_object() { &body["error"] } else { body };
    let fields = ["code", "status", "type"].into_iter().filter_map(|field| error[field].as_str());
    fields.into_iter().find(|code| of_code(code).is_some()).map(str::to_owned)
}
