//! What follows from how a run ended.

use jiff::{SignedDuration, Timestamp, Zoned};
use junto_core::EndReason;
use junto_runner::failure::{Class, suppressed_until};
use junto_store::{Finish, InputFate, Refresh, RunResult, RunStatus, SessionChange, Suppression};

use super::RunFacts;
use super::refresh::{self, Reason};

/// Who ended a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndedBy {
    /// It came to its end.
    #[default]
    Itself,
    /// Somebody who does not want its input worked on any more.
    User,
    /// The host, which was told to end; the input shall be worked on later.
    Host,
}

/// What follows from how a run of this provider ended, after so many failed ones of the same input; and why
/// the conversation is over, if it is.
///
/// That a provider cannot answer anybody is no fault of the input: it waits, uncounted, for the next provider, or, if it
/// was begun, until this one can be asked again. Everything else that fails is tried again a little later, except what
/// would fail again. `now` is in the user's zone, in which commands name times.
pub fn judge(
    policy: &Refresh,
    provider: &str,
    attempts: u32,
    facts: &RunFacts,
    by: EndedBy,
    now: &Zoned,
) -> (Finish, Option<Reason>) {
    let suppression = suppression(provider, facts, now);
    let now = now.timestamp();
    let Ruling { status, class, error, fate } = rule(facts, by, attempts, now);
    let fate = match (&suppression, facts.was_unavailable()) {
        (_, true) if facts.gives_way() => InputFate::Waits { due: now },
        // Another would do it a second time: it waits for the one that knows what was done.
        (Some(aside), true) => InputFate::Waits { due: aside.until },
        _ => fate,
    };
    let overfull = (class == Some(Class::ContextLength)).then_some(Reason::Overfull);
    let over = overfull.or_else(|| refresh::after_run(policy, facts.context));
    let session = match (&over, &facts.handle) {
        (Some(_), _) => SessionChange::Forget,
        (None, Some(handle)) => SessionChange::Set(handle.clone(), facts.context),
        (None, None) => SessionChange::Keep,
    };
    let result = RunResult {
        session: facts.session.clone(),
        context: facts.context.filter(|_| status == RunStatus::Completed),
        usage: facts.usage.clone(),
        cost: facts.cost,
        exit: facts.exit,
        class: class.map(|class| class.as_str().to_owned()),
        error,
        text: facts.text.clone(),
    };
    (Finish { status, result, fate, session, suppression }, over)
}

/// That a provider is left alone for a while, if its failure says that it could not answer anybody. `now` is in the
/// user's zone: a time of day without a zone of its own is one of the user's.
pub fn suppression(provider: &str, facts: &RunFacts, now: &Zoned) -> Option<Suppression> {
    let (class, message) = match (&facts.end, facts.class) {
        (Some(EndReason::Failed { error }), Some(class)) => (class, error.message.clone()),
        _ => return None,
    };
    let until = suppressed_until(class, &message, now)?;
    let (provider, class) = (provider.to_owned(), class.as_str().to_owned());
    Some(Suppression { provider, class, since: now.timestamp(), until, message })
}

struct Ruling {
    status: RunStatus,
    class: Option<Class>,
    error: Option<String>,
    fate: InputFate,
}

fn rule(facts: &RunFacts, by: EndedBy, attempts: u32, now: Timestamp) -> Ruling {
    let failed =
        |class, error: String, fate| Ruling { status: RunStatus::Failed, class, error: Some(error), fate };
    let again = InputFate::Again { due: later(attempts, now) };
    // One that was killed has no end of its own.
    let killed = (by != EndedBy::Itself).then_some(EndReason::Interrupted);
    match &facts.end.clone().or(killed) {
        Some(EndReason::Done | EndReason::AwaitingInput) => {
            Ruling { status: RunStatus::Completed, class: None, error: None, fate: InputFate::Done }
        }
        Some(EndReason::Interrupted) if by == EndedBy::Host => {
            let error = "its host was told to end".to_owned();
            failed(Some(Class::Cancelled), error, InputFate::Waits { due: now })
        }
        Some(EndReason::Interrupted) => Ruling {
            status: RunStatus::Cancelled,
            class: Some(Class::Cancelled),
            error: Some(if by == EndedBy::User { "abort" } else { "interrupted" }.to_owned()),
            fate: InputFate::Cancelled,
        },
        Some(EndReason::Limit) => {
            let limit = facts.limit.as_deref().unwrap_or("it may go no further");
            failed(None, format!("stopped at a limit: {limit}"), InputFate::GivenUp)
        }
        Some(EndReason::Rejected) => failed(None, "an action was refused".to_owned(), InputFate::GivenUp),
        Some(EndReason::Failed { error }) => {
            let fate = match facts.class {
                Some(Class::Refused) => InputFate::GivenUp,
                // In a conversation of its own it may fit.
                Some(Class::ContextLength) => InputFate::Again { due: now },
                _ => again,
            };
            failed(facts.class, error.message.clone(), fate)
        }
        None => failed(facts.class, "it ended without a word".to_owned(), again),
    }
}

/// When something that failed is tried again: after a minute, then after ten.
fn later(attempts: u32, now: Timestamp) -> Timestamp {
    let pause = SignedDuration::from_mins(if attempts == 0 { 1 } else { 10 });
    now.checked_add(pause).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use junto_core::{EventError, ResumeHandle};
    use serde_json::json;

    use super::*;

    const NOW: &str = "2026-11-15T10:00:00Z";

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn here(zone: &str) -> Zoned {
        at(NOW).in_tz(zone).unwrap()
    }

    fn failed(class: Option<Class>, message: &str) -> RunFacts {
        let error = EventError { kind: "x".into(), message: message.to_owned(), hint: None };
        RunFacts { end: Some(EndReason::Failed { error }), class, ..RunFacts::default() }
    }

    fn ended(end: EndReason) -> RunFacts {
        RunFacts { end: Some(end), ..RunFacts::default() }
    }

    fn judged(facts: &RunFacts, by: EndedBy, attempts: u32) -> Finish {
        judge(&Refresh::default(), "claude", attempts, facts, by, &here("UTC")).0
    }

    #[test]
    fn an_input_is_never_lost_by_a_run_that_fails() {
        use InputFate::{Again, Cancelled, Done, GivenUp, Waits};
        let (soon, later) = (at("2026-11-15T10:01:00Z"), at("2026-11-15T10:10:00Z"));
        let now = at(NOW);
        for (facts, by, attempts, status, fate) in [
            (ended(EndReason::Done), EndedBy::Itself, 0, RunStatus::Completed, Done),
            (ended(EndReason::AwaitingInput), EndedBy::Itself, 0, RunStatus::Completed, Done),
            // It may have been done before it heard that it should stop.
            (ended(EndReason::Done), EndedBy::User, 0, RunStatus::Completed, Done),
            (ended(EndReason::Interrupted), EndedBy::User, 0, RunStatus::Cancelled, Cancelled),
            (ended(EndReason::Interrupted), EndedBy::Itself, 0, RunStatus::Cancelled, Cancelled),
            (ended(EndReason::Interrupted), EndedBy::Host, 0, RunStatus::Failed, Waits { due: now }),
            (RunFacts::default(), EndedBy::User, 0, RunStatus::Cancelled, Cancelled),
            (RunFacts::default(), EndedBy::Host, 0, RunStatus::Failed, Waits { due: now }),
            (ended(EndReason::Limit), EndedBy::Itself, 0, RunStatus::Failed, GivenUp),
            (ended(EndReason::Rejected), EndedBy::Itself, 0, RunStatus::Failed, GivenUp),
            (failed(Some(Class::Refused), ""), EndedBy::Itself, 0, RunStatus::Failed, GivenUp),
            (
                failed(Some(Class::ContextLength), ""),
                EndedBy::Itself,
                0,
                RunStatus::Failed,
                Again { due: now },
            ),
            (failed(Some(Class::Crashed), ""), EndedBy::Itself, 0, RunStatus::Failed, Again { due: soon }),
            (
                failed(Some(Class::TimedOutIdle), ""),
                EndedBy::Itself,
                1,
                RunStatus::Failed,
                Again { due: later },
            ),
            (failed(None, ""), EndedBy::Itself, 0, RunStatus::Failed, Again { due: soon }),
            (RunFacts::default(), EndedBy::Itself, 0, RunStatus::Failed, Again { due: soon }),
            (failed(Some(Class::UsageLimit), ""), EndedBy::Itself, 2, RunStatus::Failed, Waits { due: now }),
            (
                RunFacts { begun: true, ..failed(Some(Class::UsageLimit), "") },
                EndedBy::Itself,
                2,
                RunStatus::Failed,
                Waits { due: at("2026-11-15T15:00:00Z") },
            ),
            (
                RunFacts { begun: true, ..failed(Some(Class::Crashed), "") },
                EndedBy::Itself,
                0,
                RunStatus::Failed,
                Again { due: soon },
            ),
            (
                failed(Some(Class::NotInstalled), ""),
                EndedBy::Itself,
                0,
                RunStatus::Failed,
                Waits { due: now },
            ),
        ] {
            let found = judged(&facts, by, attempts);
            assert_eq!((found.status, found.fate), (status, fate), "{facts:?} {by:?}");
        }
    }

    #[test]
    fn a_provider_is_set_aside_as_long_as_its_failure_says() {
        for (class, message, until) in [
            (Class::UsageLimit, "usage limit reached", Some("2026-11-15T15:00:00Z")),
            (Class::UsageLimit, "usage limit reached; try again in 2 hours", Some("2026-11-15T12:00:00Z")),
            (Class::Quota, "", Some("2026-11-15T11:00:00Z")),
            (Class::Auth, "", Some("2026-11-15T10:10:00Z")),
            (Class::NotSignedIn, "", Some("2026-11-15T10:10:00Z")),
            (Class::RateLimit, "", Some("2026-11-15T10:05:00Z")),
            (Class::Overloaded, "", Some("2026-11-15T10:01:00Z")),
            (Class::Crashed, "", None),
            (Class::ContextLength, "", None),
            (Class::Refused, "", None),
            // It is looked for each time.
            (Class::NotInstalled, "", None),
        ] {
            let found = judged(&failed(Some(class), message), EndedBy::Itself, 0).suppression;
            assert_eq!(found.as_ref().map(|found| found.until), until.map(at), "{class:?} {message}");
            let named = found.map(|found| (found.provider, found.class, found.message));
            let expected =
                until.map(|_| ("claude".to_owned(), class.as_str().to_owned(), message.to_owned()));
            assert_eq!(named, expected);
        }
    }

    #[test]
    fn a_time_of_day_is_the_users() {
        let facts = failed(Some(Class::UsageLimit), "limit reached ∙ resets 3pm");
        for (zone, until) in [
            ("UTC", "2026-11-15T15:00:00Z"),
            ("Europe/Paris", "2026-11-15T14:00:00Z"),
            ("America/Los_Angeles", "2026-11-15T23:00:00Z"),
            // It is past three there.
            ("Asia/Tokyo", "2026-11-16T06:00:00Z"),
        ] {
            let found = suppression("claude", &facts, &here(zone)).unwrap();
            assert_eq!((found.since, found.until), (at(NOW), at(until)), "{zone}");
        }
        // Who names a zone means that.
        let facts = failed(Some(Class::UsageLimit), "limit reached ∙ resets 3pm (Europe/Paris)");
        let found = suppression("claude", &facts, &here("Asia/Tokyo")).unwrap();
        assert_eq!(found.until, at("2026-11-15T14:00:00Z"));
    }

    #[test]
    fn a_conversation_that_is_too_long_is_over_whatever_came_of_the_run() {
        let handle = ResumeHandle { kind: "claude".into(), v: 1, data: json!({"session": "s"}) };
        let policy = Refresh { max_context: Some(100), ..Refresh::default() };
        let check = |facts: RunFacts, context: Option<u64>, expected: SessionChange, row: Option<u64>| {
            let facts = RunFacts { context, handle: Some(handle.clone()), ..facts };
            let (finish, over) = judge(&policy, "claude", 0, &facts, EndedBy::Itself, &here("UTC"));
            assert_eq!(finish.session, expected, "{facts:?}");
            assert_eq!(over.is_some(), expected == SessionChange::Forget);
            // A row has a length only if its run was completed.
            assert_eq!(finish.result.context, row, "{facts:?}");
        };
        let set = |context| SessionChange::Set(handle.clone(), context);
        check(ended(EndReason::Done), Some(100), set(Some(100)), Some(100));
        check(ended(EndReason::Done), Some(101), SessionChange::Forget, Some(101));
        check(ended(EndReason::Done), None, set(None), None);
        check(failed(Some(Class::Crashed), ""), Some(101), SessionChange::Forget, None);
        check(failed(Some(Class::Crashed), ""), Some(99), set(Some(99)), None);
        check(ended(EndReason::Interrupted), Some(101), SessionChange::Forget, None);
        check(failed(Some(Class::ContextLength), ""), None, SessionChange::Forget, None);
    }
}
