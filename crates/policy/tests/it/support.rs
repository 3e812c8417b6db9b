//! The place in which lines are judged.

use junto_core::Action;
use junto_env::RealPath;
use junto_policy::{Confined, Judge, Mode, Origin, Place, Rules};

pub(crate) const WORKDIR: &str = "/w/project";

pub(crate) fn place(confined: Confined) -> Place {
    Place {
        workdir: WORKDIR.into(),
        temp: vec!["/tmp".into()],
        home: Some("/home/ada".into()),
        confined,
        ..Place::default()
    }
}

/// A judge without a sandbox, with rules in TOML.
pub(crate) fn judge(mode: Mode, rules: &str) -> Judge {
    Judge::new(mode, place(Confined::default()), vec![Rules::parse(rules, Origin::User, None).unwrap()])
}

/// One in a sandbox.
pub(crate) fn confined(mode: Mode, rules: &str) -> Judge {
    let sandbox = Confined { files: true, network: true };
    Judge::new(mode, place(sandbox), vec![Rules::parse(rules, Origin::User, None).unwrap()])
}

/// Rules in TOML, from `decision kind pattern`.
pub(crate) fn rules(lines: &[&str]) -> String {
    let entry = |line: &&str| {
        let mut parts = line.splitn(3, ' ');
        let (decision, kind, pattern) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        format!("[[policy.rule]]\n{kind} = {pattern:?}\ndecision = \"{decision}\"\n")
    };
    lines.iter().map(entry).collect()
}

pub(crate) fn shell(line: &str) -> Action {
    Action::Shell { line: line.to_owned(), cwd: RealPath::resolved(WORKDIR) }
}
