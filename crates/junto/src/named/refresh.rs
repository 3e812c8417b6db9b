//! When an agent begins a new conversation.

use std::fmt;

use jiff::{SignedDuration, Timestamp, ToSpan};
use junto_store::{AgentSession, DailyTime, Refresh};

/// Why a conversation is not gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is none.
    NoSession,
    /// It began before the last time of day at which a new one is due.
    Daily(DailyTime),
    /// Nothing was done in it for longer than this.
    Idle(SignedDuration),
    /// Its last model call was longer than it may be.
    MaxContext {
        /// How long it was, in tokens.
        length: u64,
        /// How long it may be.
        limit: u64,
    },
    /// It is too long for the model.
    Overfull,
}

impl fmt::Display for Reason {
    /// As it stands in rows and logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSession => f.write_str("no-session-handle"),
            Self::Daily(time) => write!(f, "daily-reset-at:{time}"),
            Self::Idle(limit) => write!(f, "idle-timeout-ms:{}", limit.as_millis()),
            Self::MaxContext { length, limit } => write!(f, "max-context-length:{length}>{limit}"),
            Self::Overfull => f.write_str("context-length-exceeded"),
        }
    }
}

/// Whether a conversation is too old, was left for too long, or is too long to be gone on with now.
pub fn before_run(policy: &Refresh, session: &AgentSession, now: Timestamp) -> Option<Reason> {
    let daily = policy.daily_at.filter(|time| last(*time, now).is_some_and(|at| session.created < at));
    let since = session.used.unwrap_or(session.created);
    let idle = policy.idle.filter(|limit| now.duration_since(since) > *limit);
    daily.map(Reason::Daily).or(idle.map(Reason::Idle)).or_else(|| after_run(policy, session.context))
}

/// Whether a conversation has become too long; its length after a run that failed counts as well. Where the
/// length is not known nothing is decided.
pub fn after_run(policy: &Refresh, context: Option<u64>) -> Option<Reason> {
    let (length, limit) = (context?, policy.max_context?);
    (length > limit).then_some(Reason::MaxContext { length, limit })
}

/// When it was this time of day last.
fn last(time: DailyTime, now: Timestamp) -> Option<Timestamp> {
    let here = time.offset.to_datetime(now);
    let today = here.date().to_datetime(time.at);
    let last = if today <= here { today } else { today.checked_sub(1.day()).ok()? };
    time.offset.to_timestamp(last).ok()
}

#[cfg(test)]
mod tests {
    use junto_core::ResumeHandle;
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// A conversation that began at the first time and was last used at the second, if there is one.
    fn session(created: &str, used: Option<&str>, context: Option<u64>) -> AgentSession {
        let handle = ResumeHandle { kind: "claude".into(), v: 1, data: json!({"session": "s"}) };
        let used = used.map(at);
        AgentSession { provider: "claude".into(), handle, created: at(created), used, context }
    }

    #[test]
    fn a_new_day_begins_at_its_time() {
        let check = |time: &str, created: &str, now: &str, fresh: bool| {
            let policy = Refresh { daily_at: Some(time.parse().unwrap()), ..Refresh::default() };
            let found = before_run(&policy, &session(created, None, None), at(now));
            let reason = found.map(|reason| reason.to_string());
            let expected = fresh.then(|| format!("daily-reset-at:{time}"));
            assert_eq!(reason, expected, "{time} {created} {now}");
        };
        check("04:00", "2026-11-14T03:59:59Z", "2026-11-14T04:00:00Z", true);
        check("04:00", "2026-11-14T04:00:00Z", "2026-11-14T23:00:00Z", false);
        check("04:00", "2026-11-14T04:00:00Z", "2026-11-15T03:59:59Z", false);
        check("04:00", "2026-11-14T23:00:00Z", "2026-11-15T04:00:00Z", true);
        check("04:00", "2026-11-01T05:00:00Z", "2026-11-15T01:00:00Z", true);
        // Four o'clock in Paris is three in UTC, four in New York is nine.
        check("04:00+01:00", "2026-11-15T02:30:00Z", "2026-11-15T03:00:00Z", true);
        check("04:00+01:00", "2026-11-15T03:00:00Z", "2026-11-15T12:00:00Z", false);
        check("04:00-05:00", "2026-11-15T05:00:00Z", "2026-11-15T08:59:00Z", false);
        check("04:00-05:00", "2026-11-15T05:00:00Z", "2026-11-15T09:00:00Z", true);
        // The day there is not the day in UTC.
        check("23:30+02:00", "2026-11-15T21:00:00Z", "2026-11-15T21:30:00Z", true);
        check("00:30-01:00", "2026-11-15T01:00:00Z", "2026-11-15T01:29:00Z", false);
    }

    #[test]
    fn a_conversation_is_left_after_its_time() {
        let policy = Refresh { idle: Some(SignedDuration::from_hours(1)), ..Refresh::default() };
        let check = |used: Option<&str>, now: &str, fresh: bool| {
            let found = before_run(&policy, &session("2026-11-15T10:00:00Z", used, None), at(now));
            let expected = fresh.then_some(Reason::Idle(SignedDuration::from_hours(1)));
            assert_eq!(found, expected, "{used:?} {now}");
        };
        check(None, "2026-11-15T11:00:00Z", false);
        check(None, "2026-11-15T11:00:00.000001Z", true);
        check(Some("2026-11-15T10:30:00Z"), "2026-11-15T11:30:00Z", false);
        check(Some("2026-11-15T10:30:00Z"), "2026-11-15T11:30:01Z", true);
        assert_eq!(Reason::Idle(SignedDuration::from_hours(1)).to_string(), "idle-timeout-ms:3600000");
    }

    #[test]
    fn a_conversation_may_be_so_long() {
        let check = |limit: Option<u64>, context: Option<u64>, expected: Option<&str>| {
            let policy = Refresh { max_context: limit, ..Refresh::default() };
            let reason = |found: Option<Reason>| found.map(|reason| reason.to_string());
            assert_eq!(reason(after_run(&policy, context)).as_deref(), expected, "{limit:?} {context:?}");
            let session = session("2026-11-15T10:00:00Z", None, context);
            let before = before_run(&policy, &session, at("2026-11-15T10:00:00Z"));
            assert_eq!(reason(before).as_deref(), expected, "a limit that was set meanwhile");
        };
        check(None, Some(1_000_000), None);
        check(Some(100), None, None);
        check(Some(100), Some(100), None);
        check(Some(100), Some(101), Some("max-context-length:101>100"));
    }
}
