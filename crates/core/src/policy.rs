//! What judges the calls of an agent.

use crate::{Action, Rule};

/// Judges what a call would do. Pure but for what it has learned: the same actions get the same verdict until
/// it learns something.
pub trait Policy: Send + Sync {
    /// The verdict on all actions of one call together.
    fn decide(&self, actions: &[Action]) -> Verdict;

    /// The same, of a call of the tool with this name: for a policy that has something to say of names.
    fn decide_call(&self, _tool: &str, actions: &[Action]) -> Verdict {
        self.decide(actions)
    }

    /// Whether a call that does all this leaves everything as it was, so that its start need not be safe on the disk
    /// before it runs. What is not known to do so does not.
    fn changes_nothing(&self, actions: &[Action]) -> bool {
        !actions.is_empty() && actions.iter().all(Action::only_reads)
    }

    /// Takes up a rule that somebody gave with an answer. It holds from the next verdict on, and for as long
    /// as this policy lives: a host that wants it for longer writes it down.
    ///
    /// # Errors
    /// Why the rule cannot be kept, for whoever gave it. A policy that says nothing of rules takes none.
    fn learn(&self, rule: &Rule) -> Result<(), String> {
        let Rule(rule) = rule;
        Err(format!("this policy keeps no rules, so not `{rule}` either"))
    }

    /// Takes up several rules that were given together. One that can keep all or none should do that: without
    /// more, those before the first that cannot be kept are in force.
    ///
    /// # Errors
    /// As of [`Self::learn`].
    fn learn_all(&self, rules: &[Rule]) -> Result<(), String> {
        rules.iter().try_for_each(|rule| self.learn(rule))
    }

    /// What a person's yes is worth: whether what was asked about may leave the sandbox, where there is one.
    fn yes(&self) -> Leash {
        Leash::Loose
    }
}

/// What a policy says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go ahead, on this leash.
    Allow(Leash),
    /// Somebody must be asked.
    Ask {
        /// Rules that would spare the next such question.
        proposed: Vec<Rule>,
        /// Why it is asked, for whoever answers; empty where there is nothing to say.
        reason: String,
    },
    /// No.
    Deny {
        /// Why, for the model.
        reason: String,
    },
}

/// How far an allowed call may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leash {
    /// As far as its environment lets it: inside the sandbox, if that is one.
    #[default]
    Kept,
    /// Without the sandbox: somebody said yes to exactly this, or a rule that somebody wrote did.
    Loose,
}

/// The policy that allows everything: what a library without a policy has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Open;

impl Policy for Open {
    fn decide(&self, _actions: &[Action]) -> Verdict {
        Verdict::Allow(Leash::Kept)
    }
}

/// What a refusal does. One of something that code wants is the code's to handle, and does the same to the turn of
/// whoever runs the code, once that is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnReject {
    /// It ends the turn.
    #[default]
    EndTurn,
    /// A plain no ends the turn. One that says why is told to the model, which goes on.
    EndUnlessTold,
    /// The model is told, and goes on.
    TellModel,
}

impl OnReject {
    /// Whether a refusal with this reason ends the turn.
    pub fn ends(self, reason: Option<&str>) -> bool {
        match self {
            Self::EndTurn => true,
            Self::EndUnlessTold => reason.is_none(),
            Self::TellModel => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_refusal_does() {
        let ends = |on_reject: OnReject| [on_reject.ends(None), on_reject.ends(Some("later"))];
        assert_eq!(ends(OnReject::EndTurn), [true, true]);
        assert_eq!(ends(OnReject::EndUnlessTold), [true, false]);
        assert_eq!(ends(OnReject::TellModel), [false, false]);
    }

    #[test]
    fn a_policy_that_says_nothing_of_rules_takes_none() {
        let error = Open.learn(&Rule("allow everything".to_owned())).unwrap_err();
        assert!(error.contains("allow everything"), "{error}");
    }
}
