//! The mark by which processes are found that ran from their tree.
//!
//! Each child has a variable that names its environment and itself, and everything it starts
//! inherits it. A host that runs under another puts its own mark behind the other's, so that the
//! outer one still finds what the inner one started.

use std::ffi::{OsStr, OsString};

use super::proc_table::{self, Entry, Variable};

/// The variable; a path of marks, the outermost first.
pub(crate) const VARIABLE: &str = "JUNTO_TREE";

const SEPARATOR: char = ':';

/// What one process, or all of one environment, are marked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// All processes of an environment.
    Environment(String),
    /// One process and what it started.
    Tree(String),
}

impl Mark {
    /// The mark of an environment's process.
    pub(super) fn tree(environment: &str, number: u64) -> Self {
        Self::Tree(format!("{environment}.{number}"))
    }

    /// Whether a process was started with this mark; `None` if that cannot be told this moment.
    pub(super) fn is_on(&self, entry: &Entry) -> Option<bool> {
        match proc_table::variable(entry, VARIABLE) {
            Variable::Is(path) => Some(self.is_in(&path)),
            Variable::Missing => Some(false),
            Variable::Unknown => None,
        }
    }

    /// The variable's value for a child of a host that has itself the value `outer`.
    pub(super) fn value(&self, outer: Option<&OsStr>) -> OsString {
        let (Self::Environment(own) | Self::Tree(own)) = self;
        match outer {
            Some(outer) => {
                let mut value = outer.to_owned();
                value.push(SEPARATOR.to_string());
                value.push(own);
                value
            }
            None => own.into(),
        }
    }

    fn is_in(&self, path: &str) -> bool {
        path.split(SEPARATOR).any(|mark| match self {
            Self::Environment(own) => mark.split_once('.').is_some_and(|(environment, _)| environment == own),
            Self::Tree(own) => mark == own,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_in_paths() {
        let tree = Mark::tree("a", 1);
        let environment = Mark::Environment("a".into());
        for (path, in_tree, in_environment) in [
            ("a.1", true, true),
            ("a.12", false, true),
            ("aa.1", false, false),
            ("x.7:a.1:b.2", true, true),
            ("x.7:b.2", false, false),
            ("", false, false),
        ] {
            assert_eq!((tree.is_in(path), environment.is_in(path)), (in_tree, in_environment), "{path}");
        }
    }

    #[test]
    fn an_inner_mark_keeps_the_outer() {
        let mark = Mark::tree("b", 2);
        assert_eq!(mark.value(None), "b.2");
        assert_eq!(mark.value(Some(OsStr::new("a.1"))), "a.1:b.2");
    }
}
