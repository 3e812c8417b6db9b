//! The smallest policy that is worth having.

use junto_core::{Action, Leash, Policy, Verdict};

/// Asks before anything that is not reading.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskFirst;

impl Policy for AskFirst {
    fn decide(&self, actions: &[Action]) -> Verdict {
        if actions.iter().all(Action::only_reads) {
            return Verdict::Allow(Leash::Kept);
        }
        Verdict::Ask { proposed: Vec::new(), reason: String::new() }
    }
}
