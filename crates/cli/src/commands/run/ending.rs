//! How a command ends after its agent has.

use junto::core::{EndReason, EventError};
use junto::llm::{Error, ErrorKind};

use super::drive::End;
use super::view::Short;
use crate::config::ProviderSettings;
use crate::failure::{Exit, Failure};

/// What the end of the agent means for the command. `providers` are those that may have been asked.
pub(super) fn ending(end: &End, providers: &[ProviderSettings]) -> Result<Exit, Failure> {
    match &end.reason {
        EndReason::Done | EndReason::AwaitingInput => {
            end.short.map_or(Ok(Exit::Done), |short| Err(lacking(short)))
        }
        EndReason::Interrupted => Err(Failure::interrupted()),
        EndReason::Rejected => Err(Failure::new(
            Exit::Rejected,
            "stopped: an action was refused",
            "run it again without what was refused in the task, or allow it",
        )),
        EndReason::Limit => Err(Failure::new(
            Exit::Limit,
            format!("stopped at a limit: {}", end.limit.as_deref().unwrap_or("it may go no further")),
            "raise --max-turns, --max-usd or --timeout (for Junto's own agent also --max-rounds and --max-tokens), or \
             give a smaller task",
        )),
        EndReason::Failed { error } => Err(failed(error, providers)),
    }
}

/// The agent was done, but its last answer is not what the model would have said.
fn lacking(short: Short) -> Failure {
    match short {
        Short::Cut => Failure::new(
            Exit::Limit,
            "the answer was cut off at the limit of tokens",
            "raise --max-answer-tokens, or ask for a shorter answer",
        ),
        Short::Refused => Failure::new(
            Exit::Provider,
            "the model refused, or its answer was filtered",
            "rephrase the task, or choose another model",
        ),
    }
}

fn failed(error: &EventError, providers: &[ProviderSettings]) -> Failure {
    let failure = match serde_json::from_value::<ErrorKind>(error.kind.as_str().into()) {
        Ok(kind) => Failure::from(Error::new(kind, error.message.as_str())),
        Err(_) if error.kind == "provider" => Failure::new(
            Exit::Provider,
            error.message.as_str(),
            "try again, or choose another provider with --provider",
        ),
        Err(_) => Failure::new(
            Exit::Failed,
            error.message.as_str(),
            "`junto run --json` tells everything that happened",
        ),
    };
    let hint = key_hint(error, providers).or_else(|| error.hint.clone()).or(failure.hint);
    Failure { hint, ..failure }
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
    use junto::named::EndedBy;

    use super::*;

    #[test]
    fn every_end_has_its_code() {
        let check = |reason: EndReason, expected: Exit| {
            let end = End { reason, limit: None, short: None, by: EndedBy::Itself };
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
    #[test]
    fn an_answer_that_is_not_whole_is_not_done() {
        let check = |reason: EndReason, short: Short, expected: Exit| {
            let end = End { reason, limit: None, short: Some(short), by: EndedBy::Itself };
            assert_eq!(ending(&end, &[]).unwrap_err().exit, expected, "{:?} {short:?}", end.reason);
        };
        check(EndReason::Done, Short::Cut, Exit::Limit);
        check(EndReason::AwaitingInput, Short::Refused, Exit::Provider);
        check(EndReason::Interrupted, Short::Cut, Exit::Interrupted);
    }

    #[test]
    fn hints_are_those_of_ask() {
        use ErrorKind as K;
        let hint = |kind: ErrorKind| {
            let error = Error::new(kind, "x");
            let told = EndReason::Failed { error: EventError::from(&error) };
            let end = End { reason: told, limit: None, short: None, by: EndedBy::Itself };
            let failure = ending(&end, &[]).unwrap_err();
            assert_eq!(failure, Failure::from(error), "{kind:?}");
        };
        for kind in
            [K::InvalidRequest, K::Authentication, K::RateLimit, K::Server, K::Configuration, K::NoObject]
        {
            hint(kind);
        }
    }
}
