//! The commands that are known, and what their words say of what they do.

mod builtins;
mod editors;
mod files;
mod finders;
mod git;
mod hex;
mod network;
mod options;
mod programs;
mod table;
mod wrappers;

use self::options::Given;
use crate::deed::{Deed, Target};
use crate::shell::Word;
use crate::study::Study;

pub(crate) use builtins::trap_moves;
pub(crate) use programs::{Proposal, proposable};

/// What a special command does is worked out by a function.
type Special = fn(&mut Study<'_>, &[Word], &mut Vec<Deed>);

/// What a command does with its operands.
#[derive(Clone, Copy)]
enum Does {
    /// They are no files, and it changes nothing.
    Nothing,
    /// It says something about them, and nothing of what is in them.
    Lists,
    /// It reads them.
    Reads,
    /// It reads them and everything below them; without any, the directory it is in.
    ReadsAll,
    /// It reads them and what is below them.
    Compares,
    /// The first is an expression, unless an option gave it; it reads the others.
    Searches,
    /// It creates or changes them.
    Writes,
    /// It removes them.
    Removes,
    /// It reads all but the last, into which it writes.
    Copies,
    /// It takes away all but the last, into which it puts them.
    Moves,
    /// It reads the first and writes the second.
    Converts,
    /// It sets the clock to one that is no format.
    Clock,
    /// It does what its operands do not tell.
    Runs,
    /// It reaches out.
    Reaches,
    /// It acts on more than files.
    Beyond(&'static str),
    /// It is worked out by a function.
    Special(Special),
}

/// A command that is known.
struct Spec {
    name: &'static str,
    does: Does,
    /// The options that matter, as [`options::read`] has them.
    options: &'static str,
}

/// Whether a command means something to us, so that a function of that name would hide it.
pub(crate) fn is_known(name: &str) -> bool {
    table::find(name).is_some()
}

/// The name of a program as the table has it, unless it is another program of that name.
pub(crate) fn common(name: &str) -> Option<&str> {
    match name.rsplit_once('/') {
        None => Some(name),
        Some(("/bin" | "/usr/bin" | "/sbin" | "/usr/sbin", name)) => Some(name),
        Some(_) => None,
    }
}

/// Whether a command may run another one that is among its words, without anybody having looked at that: a program that is
/// not known, or that is known to do so.
pub(crate) fn may_run_its_words(words: &[Word]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let Some(name) = first.text() else { return false };
    match common(name).and_then(|name| Some((name, table::find(name)?))) {
        None => true,
        Some((name, spec)) => {
            matches!(spec.does, Does::Runs | Does::Reaches | Does::Beyond(_))
                && programs::hands_on(name, rest)
                || name == "ssh"
        }
    }
}

/// Whether a command of the table has options with which it writes elsewhere, reaches out or runs something.
fn has_powers(name: &str) -> bool {
    table::find(name).is_some_and(|spec| match spec.does {
        Does::Special(_) => true,
        Does::Runs | Does::Reaches | Does::Beyond(_) => false,
        _ => options::matter(spec.options),
    })
}

/// What a command does.
pub(crate) fn look(study: &mut Study, name: &str, words: &[Word], deeds: &mut Vec<Deed>) {
    let Some(spec) = table::find(name) else {
        if !only_asks_for_version(name, words) {
            deeds.push(Deed::Opaque(format!("`{name}` is not known to only read")));
            if programs::runs_another(name) {
                deeds.push(Deed::Hidden(format!("`{name}` runs another command")));
            }
        }
        return;
    };
    match spec.does {
        Does::Special(special) => special(study, words, deeds),
        Does::Beyond(why) => {
            deeds.push(Deed::Beyond(format!("`{name}` {why}")));
            if programs::runs_another(name) {
                deeds.push(Deed::Hidden(format!("`{name}` runs another command")));
            }
        }
        Does::Reaches => deeds.push(Deed::Net(None)),
        Does::Runs => {
            if programs::reaches(name, words) {
                deeds.push(Deed::Net(None));
            }
            if !only_asks_for_version(name, words) {
                deeds.push(Deed::Opaque(format!("`{name}` runs what is not in the line")));
            }
        }
        _ => plain(study, spec, words, deeds),
    }
}

/// Whether a well-known program is only asked for its version.
fn only_asks_for_version(name: &str, words: &[Word]) -> bool {
    programs::VERSIONED.contains(&name)
        && matches!(words, [word] if matches!(word.text(), Some("--version" | "-V" | "--help")))
}

/// A command whose entry in the table says all.
fn plain(study: &mut Study, spec: &Spec, words: &[Word], deeds: &mut Vec<Deed>) {
    let given = options::read(spec.options, words);
    deeds.extend(given.unclear(spec.name, spec.options).map(Deed::Opaque));
    done(study, spec.name, &given, deeds);
    let read = if given.has('d') { Deed::ReadAll } else { Deed::Read };
    let operands = &given.operands;
    let targets = |words: &[Word]| words.iter().map(|word| study.target(word)).collect::<Vec<_>>();
    // Of what is read, a dash is the standard input.
    let files = |words: &[Word]| {
        let words = words.iter().filter(|word| word.text() != Some("-"));
        words.map(|word| study.target(word)).collect::<Vec<_>>()
    };
    match spec.does {
        Does::Reads | Does::Searches | Does::Copies if given.has('i') => {
            deeds.extend(targets(operands).into_iter().map(Deed::Write));
        }
        Does::Lists => {
            // Which names there are is no secret, as long as it is not asked for where keys are.
            let known = targets(operands).into_iter().filter(|target| matches!(target, Target::OneOf(_)));
            deeds.extend(known.map(Deed::Read));
        }
        Does::Reads => deeds.extend(files(operands).into_iter().map(read)),
        Does::Compares => deeds.extend(files(operands).into_iter().map(Deed::ReadAll)),
        Does::ReadsAll => {
            let here = [Word::known(".")];
            let operands = if operands.is_empty() { &here[..] } else { operands };
            deeds.extend(files(operands).into_iter().map(Deed::ReadAll));
        }
        Does::Searches => {
            let skipped = usize::from(!given.has('e') && !given.has('f') && !given.has('E'));
            // A word before that may be none, so that any may be the expression; they are files for sure.
            let skipped = if operands.first().is_some_and(Word::splits) { 0 } else { skipped };
            deeds.extend(files(operands.get(skipped..).unwrap_or_default()).into_iter().map(read));
        }
        Does::Writes => deeds.extend(targets(operands).into_iter().map(Deed::Write)),
        Does::Removes => deeds.extend(operands.iter().map(|word| Deed::Remove(study.entry(word)))),
        Does::Copies | Does::Moves => {
            let into: Vec<Word> = given.values('t').cloned().collect();
            let moves = matches!(spec.does, Does::Moves);
            files::copied(study, moves, given.has('d'), &into, operands, deeds);
            files::linked(study, moves || given.has('d'), given.has('K'), &into, operands);
        }
        Does::Converts => {
            let unsure = operands.first().is_some_and(Word::splits);
            let written = operands.get(usize::from(!unsure)..).unwrap_or_default();
            deeds.extend(files(operands).into_iter().take(1).map(Deed::Read));
            deeds.extend(files(written).into_iter().map(Deed::Write));
        }
        Does::Clock => {
            // What is not known at all is doubtful already. With `-j` nothing is set, where that is an option.
            let sets = |word: &Word| !word.beginning().is_empty() && !word.beginning().starts_with('+');
            if given.has('u') || (!given.has('l') && operands.iter().any(sets)) {
                deeds.push(Deed::Beyond(format!("`{}` sets the clock", spec.name)));
            }
        }
        Does::Nothing | Does::Runs | Does::Reaches | Does::Beyond(_) | Does::Special(_) => {}
    }
}

/// What options do by themselves, whatever the command.
fn done(study: &Study, name: &str, given: &Given, deeds: &mut Vec<Deed>) {
    for (effect, value) in &given.found {
        // A value that becomes several words leaves the others to be read.
        if let Some(value) = value.as_ref().filter(|value| value.breaks())
            && let unknown @ Target::Unknown(_) = study.named(value)
        {
            deeds.push(Deed::Read(unknown));
        }
        let target = || value.as_ref().map_or(Target::Unknown(name.to_owned()), |word| study.target(word));
        match effect {
            'w' | 't' => deeds.push(Deed::Write(target())),
            'r' | 'f' | '2' => deeds.push(Deed::Read(target())),
            'R' => deeds.push(Deed::ReadAll(target())),
            'L' => {
                deeds.push(Deed::Read(target()));
                deeds.push(Deed::Read(Target::Unknown("the files of a list".to_owned())));
            }
            // What it runs may stand in the option.
            'x' => deeds.push(runs_else(name)),
            'p' | 'P' if value.as_ref().is_some_and(git::asks_who_signed) => deeds.push(runs_else(name)),
            'u' => deeds.push(Deed::Opaque(format!("an option lets `{name}` do more than is read here"))),
            'n' => deeds.push(Deed::Net(None)),
            // It matters only where it chooses files that hold keys.
            'g' => {
                let files = value.as_ref().and_then(Word::text).map(|glob| glob.trim_start_matches('!'));
                deeds.extend(files.and_then(|files| chosen(study, files)));
            }
            _ => {}
        }
    }
}

fn runs_else(name: &str) -> Deed {
    Deed::Hidden(format!("an option lets `{name}` run something else"))
}

/// What is read where a pattern chooses files by their names, if those may hold keys. A star at the beginning may stand
/// for nothing, and, unlike that of the shell, for a dot.
fn chosen(study: &Study, pattern: &str) -> Option<Deed> {
    let last = pattern.rsplit('/').next().unwrap_or_default();
    let bare = last.trim_start_matches(['*', '?']);
    let dotted = format!(".{bare}");
    let others = [bare, &dotted].into_iter().filter(|_| bare.len() < last.len());
    std::iter::once(last)
        .chain(others)
        .filter(|name| name.contains(char::is_alphanumeric))
        .map(|name| study.named(&Word::known(name)))
        .find(|target| is_one(target, |path| crate::paths::is_secret(path, study.place)))
        .map(Deed::Read)
}

fn is_one(target: &Target, is: impl Fn(&std::path::Path) -> bool) -> bool {
    matches!(target, Target::OneOf(paths) if paths.iter().any(|path| is(path)))
}
