//! How a command ends after its agent has.

use junto::core::{EndReason, EventError};
use junto::llm::ErrorKind;

use crate::failure::{Exit, Failure};

/// What the end of the agent means for the command. `limit` is the limit that was reached, in words.
pub(super) fn ending(reason: &EndReason, limit: Option<&str>) -> Result<Exit, Failure> {
    match reason {
        EndReason::Done | EndReason::AwaitingInput => Ok(Exit::Done),
        EndReason::Interrupted => Err(Failure::interrupted()),
        EndReason::Rejected => Err(Failure::new(
            Exit::Rejected,
            "stopped: an action was refused",
            "run it again without what was refused in the task, or allow it",
        )),
        EndReason::Limit => Err(Failure::new(
            Exit::Limit,
            format!("stopped at a limit: {}", limit.unwrap_or("it may go no further")),
            "raise --max-turns or --max-rounds, or give a smaller task",
        )),
        EndReason::Failed { error } => Err(failed(error)),
    }
}

/// The kinds of errors that are a provider's.
const PROVIDER: &[ErrorKind] = &[
    ErrorKind::Authentication,
    ErrorKind::AccessDenied,
    ErrorKind::NotFound,
    ErrorKind::InvalidRequest,
    ErrorKind::ContextLength,
    ErrorKind::RateLimit,
    ErrorKind::Quota,
    ErrorKind::ContentFilter,
    ErrorKind::Server,
    ErrorKind::Timeout,
    ErrorKind::Network,
    ErrorKind::Stream,
    ErrorKind::Unknown,
];

fn failed(error: &EventError) -> Failure {
    let is = |kind: &ErrorKind| kind.as_str() == error.kind;
    let (exit, fallback) = if is(&ErrorKind::Configuration) {
        (Exit::Usage, "`junto config show` tells what is set and where it came from")
    } else if error.kind == "provider" || PROVIDER.iter().any(is) {
        (Exit::Provider, "try again, or choose another provider with --provider")
    } else {
        (Exit::Failed, "`junto run --json` tells everything that happened")
    };
    Failure::new(exit, error.message.clone(), error.hint.as_deref().unwrap_or(fallback))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_its_code() {
        let check = |reason: EndReason, expected: Exit| {
            let exit = ending(&reason, None).unwrap_or_else(|failure| failure.exit);
            assert_eq!(exit, expected, "{reason:?}");
        };
        let failed = |kind: &str| EndReason::Failed {
            error: EventError { kind: kind.to_owned(), message: "x".to_owned(), hint: None },
        };
        check(EndReason::Done, Exit::Done);
        check(EndReason::Limit, Exit::Limit);
        check(EndReason::Interrupted, Exit::Interrupted);
        check(EndReason::Rejected, Exit::Rejected);
        check(failed("server"), Exit::Provider);
        check(failed("provider"), Exit::Provider);
        check(failed("configuration"), Exit::Usage);
        check(failed("journal"), Exit::Failed);
        check(failed("process"), Exit::Failed);
        check(failed("panic"), Exit::Failed);
    }
}
