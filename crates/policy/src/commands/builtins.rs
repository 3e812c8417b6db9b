//! Builtins of the shell that change what the commands after them mean.

use super::options::leading;
use crate::deed::{Deed, Target};
use crate::paths::may_be_open;
use crate::shell::{Piece, Word, is_name};
use crate::study::{Study, moves};
use crate::variables;

/// `pushd`: without a directory it changes places with one that it remembers.
pub(super) fn pushd(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    match words {
        [word] if !word.beginning().starts_with(['-', '+']) => cd(study, words, deeds),
        _ => study.cwd = None,
    }
}

/// `cd`.
pub(super) fn cd(study: &mut Study<'_>, words: &[Word], _deeds: &mut Vec<Deed>) {
    let (given, rest) = leading("-LPe@", words);
    study.go(rest.first());
    // What is no option, a second word, or one that is none and leaves the home in its place.
    if given.odd.is_some() || rest.len() > 1 || rest.iter().any(Word::breaks) {
        study.cwd = None;
    }
}

/// Goes where the line does not tell.
pub(super) fn lost(study: &mut Study<'_>, _words: &[Word], _deeds: &mut Vec<Deed>) {
    study.cwd = None;
}

/// The words behind a `--`, which ends the options where there are none.
pub(super) fn behind_dashes(words: &[Word]) -> &[Word] {
    match words {
        [first, rest @ ..] if first.text() == Some("--") => rest,
        _ => words,
    }
}

/// `source` and `.` run a file in this shell.
pub(super) fn source(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    study.cwd = None;
    let words = behind_dashes(words);
    deeds.extend(words.first().map(|file| Deed::Read(study.target(file))));
    deeds.extend(words.first().map(|file| runs_file(study, file)));
}

/// What it is to run the commands of a file. What is open by then is no file but a text, which the line itself may have
/// made.
pub(super) fn runs_file(study: &Study<'_>, file: &Word) -> Deed {
    // What is open has a name of its own.
    let named = |word: &Word| {
        let name = match (word.text(), word.pieces().last()) {
            (Some(text), _) => text.rsplit('/').next(),
            (None, Some(Piece::Text(text))) => text.rsplit_once('/').map(|(_, name)| name),
            _ => None,
        };
        name.is_some_and(|name| {
            name.contains(char::is_alphabetic) && !matches!(name, "stdin" | "stdout" | "stderr")
        })
    };
    let is_text = match study.target(file) {
        Target::OneOf(paths) => paths.is_empty() || paths.iter().any(|path| may_be_open(path)),
        Target::Unknown(_) => !named(file),
    };
    let why = "it runs the commands of a file".to_owned();
    if is_text { Deed::Hidden(why) } else { Deed::Opaque(why) }
}

/// `eval` runs its words as a line.
pub(super) fn eval(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let texts: Option<Vec<&str>> = behind_dashes(words).iter().map(Word::text).collect();
    if let Some(texts) = texts {
        study.nested(&texts.join(" "));
    } else {
        study.cwd = None;
        deeds.push(Deed::Hidden("it runs a text that is known only when it runs".to_owned()));
    }
}

/// `trap 'line' SIGNAL` runs a line later.
pub(super) fn trap(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let leaves = trap_moves(words) && !is_last(words);
    let mut words = behind_dashes(words).iter();
    match words.next().map(Word::text) {
        None | Some(Some("-" | "" | "-l" | "-p")) if words.len() < 2 => {}
        Some(Some(line)) if !line.starts_with('-') => {
            // By then it may be anywhere.
            let here = study.cwd.take().filter(|_| !leaves);
            study.nested(line);
            study.cwd = here;
        }
        _ => deeds.push(Deed::Hidden("it runs a text that is known only when it runs".to_owned())),
    }
}

/// Whether the line of a trap goes to another directory. A function that does is known for that.
pub(crate) fn trap_moves(words: &[Word]) -> bool {
    let Some((line, [_, ..])) = behind_dashes(words).split_first() else { return false };
    let read = line.text().map(crate::shell::read);
    !matches!(read, Some(Ok(script)) if !script.commands.iter().any(moves))
}

/// Whether a trap runs when nothing follows any more.
fn is_last(words: &[Word]) -> bool {
    let mut signals = behind_dashes(words).iter().skip(1);
    signals.all(|signal| matches!(signal.text(), Some("EXIT" | "0")))
}

/// `alias` gives names another meaning.
pub(super) fn alias(_study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    if words.iter().any(|word| word.text().is_none_or(|text| text.contains('='))) {
        deeds.push(Deed::Hidden("it gives names another meaning".to_owned()));
    }
}

/// `hash -p` gives a name another meaning.
pub(super) fn hash(_study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let plain = |word: &Word| word.text().is_some_and(|text| text == "-r" || is_name(text));
    if !words.iter().all(plain) {
        deeds.push(Deed::Hidden("it gives names another meaning".to_owned()));
    }
}

/// `test` and `[`. The name that `-v` is given may have a subscript, and that is evaluated.
pub(super) fn test(_study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    for (word, next) in words.iter().zip(words.iter().skip(1)) {
        // A word that is not known may be this operator.
        if word.text().is_none_or(|text| matches!(text, "-v" | "-R")) {
            name(next, deeds);
        }
    }
}

/// A word that must be the plain name of a variable, or nothing that the shell evaluates.
fn name(word: &Word, deeds: &mut Vec<Deed>) {
    match word.text() {
        Some(text) if !text.contains('[') => {}
        Some(_) => deeds.push(Deed::Hidden("it evaluates a subscript".to_owned())),
        None => deeds.push(Deed::Hidden("it may evaluate a subscript".to_owned())),
    }
}

/// Builtins whose words are names that get values.
pub(super) fn names(_study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    for word in words {
        match word.text() {
            Some(text) if text.starts_with('-') => {}
            Some(text) if is_name(text) => {
                deeds.extend(variables::effect(text).map(Deed::Opaque));
                deeds.extend(variables::runs(text, None));
            }
            _ => deeds.push(Deed::Hidden("it evaluates the name of a variable".to_owned())),
        }
    }
}

/// A value that becomes several words leaves some to be names.
fn unsure(given: &super::options::Given, deeds: &mut Vec<Deed>) {
    if given.doubtful {
        deeds.push(Deed::Hidden("it may evaluate the name of a variable".to_owned()));
    }
}

/// `getopts`: the second word is the name.
pub(super) fn names_second(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    names(study, behind_dashes(words).get(1..2).unwrap_or_default(), deeds);
}

/// `read`: options with values, then names.
pub(super) fn read(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let options = "-ersE -a:e -d:v -i:v -n:v -N:v -p:v -t:v -u:v";
    let given = super::options::read(options, words);
    deeds.extend(given.unclear("read", options).map(Deed::Opaque));
    unsure(&given, deeds);
    names(study, &given.operands, deeds);
    let arrays: Vec<Word> =
        given.found.into_iter().filter(|(kind, _)| *kind == 'e').filter_map(|found| found.1).collect();
    names(study, &arrays, deeds);
}

/// `mapfile`: `-C` runs a line for each of some lines.
pub(super) fn mapfile(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let options = "-t -C:e -d:v -n:v -O:v -s:v -u:v -c:v";
    let given = super::options::read(options, words);
    deeds.extend(given.unclear("mapfile", options).map(Deed::Opaque));
    unsure(&given, deeds);
    if given.found.iter().any(|(kind, _)| *kind == 'e') {
        deeds.push(Deed::Hidden("it runs a text for what it reads".to_owned()));
    }
    names(study, &given.operands, deeds);
}

/// `wait -p NAME`.
pub(super) fn wait(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let options = "-fn -p:e";
    let given = super::options::read(options, words);
    deeds.extend(given.unclear("wait", options).map(Deed::Opaque));
    let named: Vec<Word> = given.values('e').cloned().collect();
    names(study, &named, deeds);
    // The number of what was started last is no option.
    let number = |word: &Word| word.source() == "$!" || word.text().is_some();
    if given.doubtful && !words.iter().all(number) {
        deeds.push(Deed::Hidden("it may evaluate the name of a variable".to_owned()));
    }
}

/// `printf -v NAME`.
pub(super) fn printf(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let mut words = words;
    // It may be given more than once.
    while let [first, variable, rest @ ..] = words
        && first.text() == Some("-v")
    {
        names(study, std::slice::from_ref(variable), deeds);
        words = rest;
    }
    match words {
        [first, ..] if first.beginning().starts_with("-v") => {
            deeds.push(Deed::Hidden("it evaluates the name of a variable".to_owned()));
        }
        // A format that is not known may be this option, if what follows may be such a name.
        [first, rest @ ..] if first.text().is_none() && first.may_be_option() => {
            let harmless = |word: &Word| word.text().is_some_and(|text| !text.contains('['));
            if first.splits() || !rest.first().is_none_or(harmless) {
                deeds.push(Deed::Hidden("it may evaluate the name of a variable".to_owned()));
            }
        }
        _ => {}
    }
}

/// `let`: all of it is arithmetic.
pub(super) fn evaluates(_study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let plain = |word: &Word| {
        word.text().is_some_and(|text| {
            text.split(|c: char| "+-*/%=<>!&|^~()?:, ".contains(c)).all(|part| {
                part.is_empty()
                    || part.bytes().all(|c| c.is_ascii_digit())
                    || part.contains(char::is_lowercase) && is_name(part)
            })
        })
    };
    if !words.iter().all(plain) || words.iter().any(|word| word.beginning().contains(char::is_lowercase)) {
        deeds.push(Deed::Hidden("arithmetic evaluates the text of variables".to_owned()));
    }
}

/// `declare`, `export` and their like. The assignments among their words are looked at where all are.
pub(super) fn declare(_study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    for word in words {
        match word.text() {
            // Reference to another variable, and values that are evaluated.
            Some(text) if text.starts_with(['-', '+']) => {
                if text.contains(['n', 'i']) {
                    deeds.push(Deed::Hidden("it declares variables whose text is evaluated".to_owned()));
                }
            }
            Some(text) => {
                let name = text.strip_suffix('=').unwrap_or(text);
                if is_name(name) {
                    deeds.extend(variables::effect(name).map(Deed::Opaque));
                    // Here it gets no text, or one that is looked at there.
                    deeds.extend(variables::runs(name, Some(&Word::default())));
                } else {
                    deeds.push(Deed::Hidden("it evaluates the name of a variable".to_owned()));
                }
            }
            None => deeds.push(Deed::Hidden("it sets variables that are known only when it runs".to_owned())),
        }
    }
}

/// `export` gives its variables to all that follows.
pub(super) fn export(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let names = words.iter().map(|word| word.beginning().split('=').next().unwrap_or_default());
    study.exported.extend(names.filter(|name| is_name(name) && variables::is_open(name)).map(str::to_owned));
    declare(study, words, deeds);
}

/// `declare` and its like, which with an option are `export`.
pub(super) fn typeset(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let exports = |word: &Word| word.beginning().starts_with('-') && word.beginning().contains('x');
    if words.iter().any(exports) { export(study, words, deeds) } else { declare(study, words, deeds) }
}

/// `set`: the options that only make a script stricter or louder, and parameters after `--`.
pub(super) fn set(_study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let harmless = match word.text() {
            Some("--") => return,
            Some("-o" | "+o" | "-eo" | "-euo" | "-uo" | "-exo" | "-euxo" | "-ueo") => {
                words.next().is_none_or(|name| {
                    name.text().is_some_and(|name| {
                        matches!(
                            name,
                            "pipefail" | "errexit" | "nounset" | "xtrace" | "noclobber" | "verbose"
                        )
                    })
                })
            }
            Some(text) if text.starts_with(['-', '+']) => text.chars().skip(1).all(|c| "euxvCf".contains(c)),
            Some(_) => true,
            None => false,
        };
        if !harmless {
            deeds.push(changed(word));
        }
    }
}

/// What comes of an option that changes how the shell reads what follows. History and aliases make other commands of what
/// is read.
fn changed(word: &Word) -> Deed {
    let why = "it changes how the shell reads what follows".to_owned();
    let other = |text: &str| {
        matches!(text, "expand_aliases" | "histexpand" | "history" | "posix")
            || text.starts_with(['-', '+']) && text.contains(['H', 'o'])
    };
    if word.text().is_none_or(other) { Deed::Hidden(why) } else { Deed::Opaque(why) }
}

/// `shopt`: what only makes patterns match more or less.
pub(super) fn shopt(_study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    // Not what makes patterns vanish, or match names in any case.
    const HARMLESS: [&str; 8] =
        ["-s", "-u", "-q", "-p", "failglob", "globstar", "nocasematch", "inherit_errexit"];
    let harmless = |word: &&Word| word.text().is_some_and(|text| HARMLESS.contains(&text));
    deeds.extend(words.iter().filter(|word| !harmless(word)).map(changed));
}

/// Builtins that run or load what is not looked at here.
pub(super) fn hidden(_study: &mut Study<'_>, _words: &[Word], deeds: &mut Vec<Deed>) {
    deeds.push(Deed::Hidden("it makes the shell run what is not read here".to_owned()));
}
