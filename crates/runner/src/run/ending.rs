//! How a run ended.

use std::fmt;
use std::time::Duration;

use junto_env::Exit;
use junto_llm::Error;

use crate::failure::{self, Class};

/// Which of the two clocks ran out.
#[derive(Clone, Debug)]
pub(crate) enum Stall {
    /// It was silent for so long; the error is why it was to try again, if it had said that last.
    Idle(Duration, Option<Error>),
    /// It took so long altogether.
    Hard(Duration),
}

impl Stall {
    pub(crate) fn error(&self, kind: &str) -> Error {
        match self {
            Self::Idle(limit, retried) => {
                let message = format!("{kind} was silent for {limit:?} (idle timeout)");
                match retried.as_ref().and_then(|error| Some((busy(error)?, error.message()))) {
                    // Another provider may answer at once.
                    Some((class, words)) => {
                        class.error(format!("{message} before it tried again; the last answer was: {words}"))
                    }
                    None => Class::TimedOutIdle.error(message),
                }
            }
            Self::Hard(limit) => {
                Class::TimedOutHard.error(format!("{kind} took longer than {limit:?} (hard timeout)"))
            }
        }
    }
}

/// The class of a failure by which a provider says that it has too much to do.
fn busy(error: &Error) -> Option<Class> {
    use Class::{Overloaded, Quota, RateLimit, UsageLimit};
    Class::of(error).filter(|class| matches!(class, RateLimit | UsageLimit | Quota | Overloaded))
}

/// How a process ended, and what it said on standard error.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(super) exit: Option<Exit>,
    pub(super) stderr: String,
}

impl Ending {
    /// Whether it says itself that it went well.
    pub(crate) fn success(&self) -> bool {
        self.exit.is_some_and(Exit::success)
    }

    /// Its exit code, or 128 and the signal that ended it, as a shell has it.
    pub(crate) fn status(&self) -> Option<i32> {
        let exit = self.exit?;
        exit.code.or_else(|| exit.signal.map(|signal| 128 + signal))
    }

    /// What it said on standard error.
    pub(crate) fn stderr(&self) -> &str {
        &self.stderr
    }

    /// The error of a run that ended so without a result. What it said last, in the place of an answer or on
    /// standard error, may tell why.
    pub(crate) fn without_result(&self, kind: &str, excuse: Option<&str>) -> Error {
        let message = match excuse {
            Some(excuse) => format!("{kind} ended without a result ({self}); it said: {excuse}"),
            None => format!("{kind} ended without a result ({self})"),
        };
        // One that a signal ended had no time to say why, and one that ended well has nothing to say.
        let spoke = self.exit.and_then(|exit| exit.code).is_some_and(|code| code != 0);
        let words = excuse.unwrap_or(&self.stderr);
        let why = if spoke { Class::of(&failure::classify("", words, None)) } else { None };
        why.unwrap_or(Class::Crashed).error(message)
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exit {
            Some(Exit { code: Some(code), .. }) => write!(f, "status {code}")?,
            Some(Exit { signal: Some(signal), .. }) => write!(f, "signal {signal}")?,
            _ => f.write_str("status unknown")?,
        }
        if self.stderr.is_empty() { Ok(()) } else { write!(f, ": {}", self.stderr) }
    }
}

#[cfg(test)]
mod tests {
    use junto_llm::ErrorKind;

    use super::*;

    #[test]
    fn who_waits_for_a_provider_is_not_silent_by_itself() {
        let stalled = |retried: Option<Error>| Stall::Idle(Duration::from_secs(9), retried).error("codex");
        for (retried, class) in [
            (None, Class::TimedOutIdle),
            (Some(Class::RateLimit.error("slow down")), Class::RateLimit),
            (Some(Class::Overloaded.error("busy")), Class::Overloaded),
            (Some(Error::new(ErrorKind::Network, "no route")), Class::TimedOutIdle),
        ] {
            let error = stalled(retried);
            assert_eq!(Class::of(&error), Some(class), "{error:?}");
            assert!(error.message().starts_with("codex was silent for 9s (idle timeout)"), "{error:?}");
        }
        assert!(stalled(Some(Class::RateLimit.error("slow down"))).message().ends_with("slow down"));
    }

    #[test]
    fn why_there_is_no_result() {
        let ending = |code, signal, stderr: &str| Ending {
            exit: Some(Exit { code, signal }),
            stderr: stderr.to_owned(),
        };
        for (ending, excuse, class) in [
            (ending(Some(1), None, ""), None, Class::Crashed),
            (ending(Some(0), None, "Not logged in"), None, Class::Crashed),
            (ending(None, Some(9), "Not logged in"), None, Class::Crashed),
            (ending(Some(1), None, "Not logged in · Please run /login"), None, Class::NotSignedIn),
            (ending(Some(1), None, ""), Some("Invalid API key"), Class::Auth),
        ] {
            let error = ending.without_result("claude", excuse);
            assert_eq!(Class::of(&error), Some(class), "{ending:?}: {error}");
        }
        assert_eq!(ending(None, Some(9), "").status(), Some(137));
        assert_eq!(ending(Some(3), None, "").status(), Some(3));
    }
}
