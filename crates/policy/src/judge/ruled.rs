//! What the rules say.

use std::path::Path;

use super::Bench;
use crate::Place;
use crate::deed::Target;
use crate::explanation::By;
use crate::glob::{Extent, RootedGlob, is_pattern};
use crate::pattern::Fit;
use crate::rule::{Answer, PolicyRule, Subject};
use crate::shell::Word;

/// A rule, with the paths that it means here.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) rule: PolicyRule,
    paths: Option<RootedGlob>,
}

impl Compiled {
    pub(super) fn new(rule: PolicyRule, place: &Place) -> Self {
        let paths = match &rule.subject {
            Subject::Read(glob) | Subject::Write(glob) => glob.rooted(&place.workdir, place.home.as_deref()),
            Subject::Tool(_) | Subject::Command(_) | Subject::Net(_) => None,
        };
        Self { rule, paths }
    }
}

/// What rules are asked about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked<'a> {
    Tool(&'a str),
    Read(&'a Target, Extent),
    Write(&'a Target, Extent),
    Net(Option<&'a str>),
}

pub(super) type Ruled = (Answer, By, String);

impl Bench<'_> {
    /// What the rules say of a command. A rule that denies or asks holds also where it may match; one that
    /// allows must match for sure.
    pub(super) fn ruled_command(&self, words: &[Word]) -> Option<Ruled> {
        if words.is_empty() {
            return None;
        }
        let bare = bare(words);
        let answers = self.rules.iter().filter_map(|compiled| {
            let Subject::Command(pattern) = &compiled.rule.subject else { return None };
            let exact = pattern.fits(words);
            let fit = match (&bare, compiled.rule.answer) {
                // A name with a path may be another program of that name.
                (Some(bare), Answer::Ask | Answer::Deny) => exact.max(pattern.fits(bare)),
                _ => exact,
            };
            answer(&compiled.rule, fit)
        });
        strictest(answers)
    }

    /// What the rules say of something else.
    pub(super) fn ruled(&self, asked: Asked) -> Option<Ruled> {
        let answers = self.rules.iter().filter_map(|compiled| answer(&compiled.rule, fit(compiled, asked)));
        strictest(answers)
    }

    /// Whether some rule denies or asks about what a line may do.
    pub(super) fn some_forbid(&self) -> bool {
        self.rules.iter().any(|compiled| {
            compiled.rule.answer > Answer::Allow && !matches!(compiled.rule.subject, Subject::Tool(_))
        })
    }
}

fn strictest(answers: impl Iterator<Item = Ruled>) -> Option<Ruled> {
    // Of those that say the same, the first in the order of the files.
    answers.reduce(|best, next| if next.0 > best.0 { next } else { best })
}

fn answer(rule: &PolicyRule, fit: Fit) -> Option<Ruled> {
    let by = || By::Rule(rule.clone());
    let given = || rule.reason.clone();
    match (fit, rule.answer) {
        (Fit::No, _) | (Fit::Perhaps, Answer::Allow) => None,
        (Fit::Yes, Answer::Allow) => {
            Some((Answer::Allow, by(), given().unwrap_or_else(|| "a rule allows it".to_owned())))
        }
        (Fit::Yes, Answer::Deny) => {
            Some((Answer::Deny, by(), given().unwrap_or_else(|| "a rule denies it".to_owned())))
        }
        (Fit::Yes, Answer::Ask) => {
            Some((Answer::Ask, by(), given().unwrap_or_else(|| "a rule wants it asked about".to_owned())))
        }
        // What cannot be known before it runs may be what the rule is about.
        (Fit::Perhaps, Answer::Ask | Answer::Deny) => {
            Some((Answer::Ask, by(), "when it runs it may be what a rule is about".to_owned()))
        }
    }
}

fn fit(compiled: &Compiled, asked: Asked) -> Fit {
    let allows = compiled.rule.answer == Answer::Allow;
    match (&compiled.rule.subject, asked) {
        (Subject::Tool(glob), Asked::Tool(name)) => yes(glob.fits(name)),
        (Subject::Net(glob), Asked::Net(Some(host))) => yes(glob.fits(host)),
        (Subject::Net(_), Asked::Net(None)) => Fit::Perhaps,
        (Subject::Read(_), Asked::Read(target, extent))
        | (Subject::Write(_), Asked::Write(target, extent)) => {
            let Target::OneOf(paths) = target else { return Fit::Perhaps };
            let fits = paths.iter().map(|path| glob_fit(compiled, path, extent));
            // Allowed is what is in any case; denied what is in some.
            let fit = if allows { fits.min() } else { fits.max() };
            let is_open = allows && paths.iter().any(|path| has_pattern(path));
            fit.filter(|_| !is_open).unwrap_or(Fit::No)
        }
        _ => Fit::No,
    }
}

fn glob_fit(compiled: &Compiled, path: &Path, extent: Extent) -> Fit {
    compiled.paths.as_ref().map_or(Fit::No, |glob| glob.fit(path, extent))
}

fn yes(fits: bool) -> Fit {
    if fits { Fit::Yes } else { Fit::No }
}

/// Whether a path has patterns of the shell in it.
pub(super) fn has_pattern(path: &Path) -> bool {
    is_pattern(&path.to_string_lossy())
}

/// The same command by its bare name, and without git's options before the subcommand.
fn bare(words: &[Word]) -> Option<Vec<Word>> {
    let (first, rest) = words.split_first()?;
    let name = first.text()?;
    let short = name.rsplit('/').next().unwrap_or(name);
    let mut rest = rest;
    if matches!(short, "git" | "cargo" | "npm" | "docker" | "kubectl") {
        while let Some((option, after)) = rest.split_first() {
            let text = option.text().unwrap_or_default();
            if !text.starts_with(['-', '+']) {
                break;
            }
            let valued = matches!(
                text,
                "-C" | "-c"
                    | "--git-dir"
                    | "--work-tree"
                    | "--exec-path"
                    | "--namespace"
                    | "--config-env"
                    | "--config"
                    | "--prefix"
                    | "--manifest-path"
            );
            rest = if valued { after.get(1..).unwrap_or_default() } else { after };
        }
    }
    let changed = short != name || rest.len() + 1 != words.len();
    changed.then(|| std::iter::once(Word::known(short)).chain(rest.iter().cloned()).collect())
}
