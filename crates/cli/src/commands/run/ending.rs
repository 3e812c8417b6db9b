//! How a command ends after its agent has.

use junto::core::{EndReason, EventError};
use junto::llm::ErrorKind;

use super::drive::End;
use crate::config::ProviderSettings;
use crate::failure::{Exit, Failure};

/// What the end of the agent means for the command. `providers` are those that may have been asked.
pub(super) fn ending(end: &End, providers: &[ProviderSettings]) -> Result<Exit, Failure> {
    match &end.reason {
        EndReason::Done | EndReason::AwaitingInput => Ok(Exit::Done),
        EndReason::Interrupted => Err(Failure::interrupted()),
        EndReason::Rejected => Err(Failure::new(
            Exit::Rejected,
            "stopped: an action was refused",
            "run it again without what was refused in the task, or allow it",
        )),
        EndReason::Limit => Err(Failure::new(
            Exit::Limit,
            format!("stopped at a limit: {}", end.limit.as_deref().unwrap_or("it may go no further")),
            "raise --max-turns, --max-rounds, --max-usd, --max-tokens or --timeout, or give a smaller task",
        )),
        EndReason::Failed { error } => Err(failed(error, providers)),
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

fn failed(error: &EventError, providers: &[ProviderSettings]) -> Failure {
    let is = |kind: &ErrorKind| kind.as_str() == error.kind;
    let (exit, fallback) = if is(&ErrorKind::Configuration) {
        (Exit::Usage, "`junto config show` tells what is set and where it came from")
    } else if error.kind == "provider" || PROVIDER.iter().any(is) {
        (Exit::Provider, "try again, or choose another provider with --provider")
    } else {
        (Exit::Failed, "`junto run --json` tells everything that happened")
    };
    let hint = key_hint(error, providers).or_else(|| error.hint.clone());
    Failure::new(exit, error.message.clone(), hint.unwrap_or_else(|| fallback.to_owned()))
}

/// Which variable holds the key that was refused. An error's message begins with the provider's name.
fn key_hint(error: &EventError, providers: &[ProviderSettings]) -> Option<String> {
    if error.kind != ErrorKind::Authentication.as_str() {
        return None;
    }
    let (name, _) = error.message.split_once(": ")?;
    let provider = providers.iter().find(|provider| provider.name == name)?;
    Some(format!("check the key in {}", provider.key_variable.as_deref()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_its_code() {
        let check = |reason: EndReason, expected: Exit| {
            let end = End { reason, limit: None };
            let exit = ending(&end, &[]).unwrap_or_else(|failure| failure.exit);
            assert_eq!(exit, expected, "{:?}", end.reason);
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
