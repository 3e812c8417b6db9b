//! Rules that would spare the next such question.

use junto_core::Rule;

use super::ruled::has_pattern;
use super::{About, Judged};
use crate::commands::{Proposal, proposable};
use crate::deed::Target;
use crate::glob::Glob;
use crate::pattern::Pattern;
use crate::rule::{Answer, PolicyRule, Subject};

/// The rules that together would have allowed all that is asked about; none, if there are no such.
pub(super) fn proposed(steps: &[Judged]) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for judged in steps.iter().filter(|judged| judged.step.answer == Answer::Ask) {
        // A rule that asks is stronger than one that allows.
        if matches!(judged.step.by, crate::explanation::By::Rule(_)) {
            return Vec::new();
        }
        let Some(subject) = subject(&judged.about) else { return Vec::new() };
        let rule = Rule::from(&PolicyRule::made(Answer::Allow, subject));
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    rules
}

fn subject(about: &About) -> Option<Subject> {
    match about {
        About::Command(words) => Some(Subject::Command(match proposable(words)? {
            Proposal::Beginning(words) => Pattern::beginning(&words),
            Proposal::Exactly(words) => Pattern::exactly(&words),
        })),
        About::Read(target) => Some(Subject::Read(path(target)?)),
        About::Write(target) => Some(Subject::Write(path(target)?)),
        About::Net(host) => Some(Subject::Net(Glob::word(host.as_deref()?).ok()?)),
        About::Tool(name) => Some(Subject::Tool(Glob::word(name).ok()?)),
        About::Other => None,
    }
}

/// The path itself, if it is known and names a single file.
fn path(target: &Target) -> Option<Glob> {
    let Target::OneOf(paths) = target else { return None };
    match paths.as_slice() {
        [path] if !has_pattern(path) => Glob::path(path.to_str()?).ok(),
        _ => None,
    }
}
