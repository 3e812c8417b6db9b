//! How a command ends, and what it says when it ends badly.

use std::process::ExitCode;

use junto::llm::{Error, ErrorKind};

/// How a command ended. Scripts rely on the numbers; `docs/guide/running.md` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what was asked.
    Done,
    /// It failed.
    Failed,
    /// It was called or configured wrongly; nothing was sent.
    Usage,
    /// The provider failed or refused.
    Provider,
    /// A limit was reached; what came until then was printed.
    Limit,
    /// An action was refused, and that ended the work.
    Rejected,
    /// The user interrupted it.
    Interrupted,
    /// It ran a command, which ended with this.
    Of(u8),
}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Provider => 3,
            Self::Limit => 4,
            Self::Rejected => 5,
            Self::Interrupted => 130,
            Self::Of(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// A command that did not do what was asked: how it ends, what went wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// How the process ends.
    pub(crate) exit: Exit,
    /// What went wrong, one line for each thing.
    pub(crate) errors: Vec<String>,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// A failure with advice.
    pub(crate) fn new(exit: Exit, error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { exit, errors: vec![error.into()], hint: Some(hint.into()) }
    }

    /// A wrong call or configuration.
    pub(crate) fn usage(error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Exit::Usage, error, hint)
    }

    /// An end that needs no words: the reader of standard output has gone.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self { exit, errors: Vec::new(), hint: None }
    }

    /// The user's interrupt.
    pub(crate) fn interrupted() -> Self {
        Self { exit: Exit::Interrupted, errors: vec!["interrupted".to_owned()], hint: None }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (exit, fallback) = match error.kind() {
            ErrorKind::Aborted => return Self::interrupted(),
            ErrorKind::Configuration => {
                (Exit::Usage, "`junto config show` tells what is set and where it came from")
            }
            ErrorKind::NoObject => (Exit::Failed, "ask again, loosen the schema, or choose another model"),
            ErrorKind::InvalidToolCall | ErrorKind::UnsupportedToolChoice => {
                (Exit::Failed, "choose another model; `junto models` lists what is known")
            }
            ErrorKind::InvalidRequest => {
                (Exit::Provider, "change what the message names; `junto models` lists what models can do")
            }
            ErrorKind::ContentFilter => (Exit::Provider, "rephrase the prompt, or choose another model"),
            _ => (Exit::Provider, "try again, or choose another provider with --provider"),
        };
        Self::new(exit, error.to_string(), error.hint().unwrap_or(fallback))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_error_ends_with_what_to_do() {
        let check = |kind: ErrorKind, exit: Exit| {
            let failure = Failure::from(Error::new(kind, "x"));
            assert_eq!(failure.exit, exit, "{kind:?}");
            assert!(failure.hint.is_some() || exit == Exit::Interrupted, "{kind:?}");
        };
        check(ErrorKind::Configuration, Exit::Usage);
        check(ErrorKind::Aborted, Exit::Interrupted);
        check(ErrorKind::NoObject, Exit::Failed);
        for kind in
            [ErrorKind::Authentication, ErrorKind::InvalidRequest, ErrorKind::Server, ErrorKind::Unknown]
        {
            check(kind, Exit::Provider);
        }
    }
}
