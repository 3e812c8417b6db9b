//! The policy of those who want to see everything.

use junto_core::{Action, Policy, Verdict};

/// Asks about every call, whatever it would do.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskAlways;

impl Policy for AskAlways {
    fn decide(&self, _: &[Action]) -> Verdict {
        Verdict::Ask { proposed: Vec::new(), reason: String::new() }
    }
}
