//! What the rules say.

use std::cell::LazyCell;
use std::path::Path;

use super::Bench;
use crate::Place;
use crate::commands::may_run_its_words;
use crate::deed::Target;
use crate::explanation::By;
use crate::glob::{Extent, RootedGlob, is_pattern};
use crate::pattern::{Fit, Pattern};
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
        let readings = LazyCell::new(|| readings(words));
        let runs_words = LazyCell::new(|| may_run_its_words(words));
        let answers = self.rules.iter().filter_map(|compiled| {
            let Subject::Command(pattern) = &compiled.rule.subject else { return None };
            let exact = pattern.fits(words);
            let fit = match compiled.rule.answer {
                Answer::Allow => exact,
                // A name with a path may be another program of that name, and options stand before subcommands.
                Answer::Ask | Answer::Deny => {
                    let fits = readings.iter().map(|(most, words)| pattern.fits(words).min(*most));
                    let fit = fits.fold(exact, Fit::max);
                    if fit == Fit::No && *runs_words { within(pattern, words) } else { fit }
                }
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
        self.forbids(|subject| !matches!(subject, Subject::Tool(_)))
    }

    /// Whether some rule denies or asks about commands.
    pub(super) fn some_forbid_commands(&self) -> bool {
        self.forbids(|subject| matches!(subject, Subject::Command(_)))
    }

    fn forbids(&self, what: impl Fn(&Subject) -> bool) -> bool {
        self.rules.iter().any(|compiled| compiled.rule.answer > Answer::Allow && what(&compiled.rule.subject))
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

/// How many words are looked at that may be the name of a program.
const MOST_NAMES: usize = 4;

/// Whether the command that a pattern is about may be among the words of another, which may run it.
fn within(pattern: &Pattern, words: &[Word]) -> Fit {
    let is_name = |word: &Word| {
        word.text().and_then(|text| text.rsplit('/').next()).is_some_and(|name| pattern.is_about(name))
    };
    let mut starts = (1..words.len()).filter(|at| words.get(*at).is_some_and(is_name));
    let fits = |at: usize| {
        let words = words.get(at..).unwrap_or_default();
        pattern.fits(words) > Fit::No
            || readings(words).iter().any(|(_, words)| pattern.fits(words) > Fit::No)
    };
    let found = starts.by_ref().take(MOST_NAMES).any(fits);
    if found || starts.next().is_some() { Fit::Perhaps } else { Fit::No }
}

/// How many words are looked at to find a subcommand.
const MOST_OPTIONS: usize = 16;

/// Options before a subcommand that have a value in the next word, and those that have none.
const LEADING: &[(&str, &[&str], &[&str])] = &[
    (
        "cargo",
        &["--color", "--config", "--manifest-path", "-C", "-Z"],
        &["--frozen", "--locked", "--offline", "--quiet", "--verbose", "-q", "-v", "-vv"],
    ),
    (
        "docker",
        &["--config", "--context", "--host", "--log-level", "-H", "-c", "-l"],
        &["--debug", "--tls", "-D"],
    ),
    (
        "git",
        &[
            "--attr-source",
            "--config-env",
            "--exec-path",
            "--git-dir",
            "--namespace",
            "--super-prefix",
            "--work-tree",
            "-C",
            "-c",
        ],
        &[
            "--bare",
            "--literal-pathspecs",
            "--no-optional-locks",
            "--no-pager",
            "--no-replace-objects",
            "--paginate",
            "-P",
            "-p",
        ],
    ),
    (
        "kubectl",
        &[
            "--as",
            "--as-group",
            "--cluster",
            "--context",
            "--kubeconfig",
            "--namespace",
            "--request-timeout",
            "--server",
            "--token",
            "--user",
            "-n",
            "-s",
            "-v",
        ],
        &[],
    ),
    ("npm", &["--prefix", "--registry", "--workspace", "-w"], &["--silent", "-g", "-s"]),
];

/// The same command as other words: by its bare name, and without options before the subcommand. Of an option that is
/// not known, the next word may be the value; then the command is only perhaps that one.
fn readings(words: &[Word]) -> Vec<(Fit, Vec<Word>)> {
    let Some((first, rest)) = words.split_first() else { return Vec::new() };
    let Some(name) = first.text() else { return Vec::new() };
    let short = name.rsplit('/').next().unwrap_or(name);
    let known = LEADING.iter().find(|(own, ..)| *own == short);
    let mut readings = Vec::new();
    // How sure it is that the words go on at each place.
    let mut from = vec![Fit::No; rest.len() + 3];
    if let Some(start) = from.first_mut() {
        *start = Fit::Yes;
    }
    for at in 0..=rest.len() {
        let fit = from.get(at).copied().unwrap_or(Fit::No);
        if fit == Fit::No {
            continue;
        }
        // Without a subcommand there are no options before it.
        let bare = at > 0 && (at < rest.len() || known.is_some());
        if bare || at == 0 && short != name {
            let after = rest.get(at..).unwrap_or_default();
            readings.push((fit, std::iter::once(Word::known(short)).chain(after.iter().cloned()).collect()));
        }
        let Some(option) = rest.get(at) else { break };
        let beginning = option.beginning();
        if !beginning.starts_with(['-', '+']) {
            continue;
        }
        if at >= MOST_OPTIONS {
            readings.push((Fit::Perhaps, vec![Word::known(short), Word::unknown("…")]));
            break;
        }
        let whole = option.text().unwrap_or_default();
        // How sure it is that it has no value in the next word, and that it has one.
        let (alone, valued) = match known {
            _ if beginning.starts_with("--") && beginning.contains('=') => (Fit::Yes, Fit::No),
            Some((_, valued, _)) if valued.contains(&whole) => (Fit::No, Fit::Yes),
            Some((_, _, flags)) if flags.contains(&whole) => (Fit::Yes, Fit::No),
            Some(_) if beginning.starts_with('+') => (Fit::Yes, Fit::No),
            Some(_) => (Fit::Yes, Fit::Perhaps),
            None => (Fit::Perhaps, Fit::Perhaps),
        };
        for (next, sure) in [(at + 1, alone), (at + 2, valued)] {
            if let Some(place) = from.get_mut(next) {
                *place = (*place).max(sure.min(fit));
            }
        }
    }
    readings
}
