//! The commands that are known, and what their words say of what they do.

mod builtins;
mod editors;
mod files;
mod finders;
mod git;
mod network;
mod options;
mod programs;
mod table;
mod wrappers;

use crate::deed::{Deed, Target};
use crate::shell::Word;
use crate::study::Study;

pub(crate) use programs::proposable;

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

/// What a command does.
pub(crate) fn look(study: &mut Study, name: &str, words: &[Word], deeds: &mut Vec<Deed>) {
    let Some(spec) = table::find(name) else {
        if !only_asks_for_version(name, words) {
            deeds.push(Deed::Opaque(format!("`{name}` is not known to only read")));
        }
        return;
    };
    match spec.does {
        Does::Special(special) => special(study, words, deeds),
        Does::Beyond(why) => deeds.push(Deed::Beyond(format!("`{name}` {why}"))),
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
    if given.doubtful && options::matter(spec.options) {
        deeds.push(Deed::Opaque(format!("a word that is not known may be an option of `{}`", spec.name)));
    }
    let (mut expression, mut into, mut in_place, mut all) = (false, false, false, false);
    for (effect, value) in &given.found {
        let target =
            || value.as_ref().map_or(Target::Unknown(spec.name.to_owned()), |word| study.target(word));
        match effect {
            'w' => deeds.push(Deed::Write(target())),
            't' => {
                into = true;
                deeds.push(Deed::Write(target()));
            }
            'r' => deeds.push(Deed::Read(target())),
            'x' => deeds.push(Deed::Opaque(format!("an option lets `{}` run something else", spec.name))),
            'n' => deeds.push(Deed::Net(None)),
            'e' => expression = true,
            'f' => {
                expression = true;
                deeds.push(Deed::Read(target()));
            }
            'i' => in_place = true,
            'd' => all = true,
            _ => {}
        }
    }
    let mut operands: Vec<Target> = given
        .operands
        .iter()
        .filter(|word| word.text() != Some("-"))
        .map(|word| study.target(word))
        .collect();
    let read = if all { Deed::ReadAll } else { Deed::Read };
    match spec.does {
        Does::Reads | Does::Searches | Does::Copies if in_place => {
            deeds.extend(operands.into_iter().map(Deed::Write));
        }
        Does::Lists => {
            // Which names there are is no secret, as long as it is not asked for where keys are.
            let known = operands.into_iter().filter(|target| matches!(target, Target::OneOf(_)));
            deeds.extend(known.map(Deed::Read));
        }
        Does::Reads => deeds.extend(operands.into_iter().map(read)),
        Does::ReadsAll => {
            if operands.is_empty() {
                operands.push(study.target(&Word::known(".")));
            }
            deeds.extend(operands.into_iter().map(Deed::ReadAll));
        }
        Does::Searches => {
            let skipped = usize::from(!expression).min(operands.len());
            deeds.extend(operands.drain(skipped..).map(read));
        }
        Does::Writes => deeds.extend(operands.into_iter().map(Deed::Write)),
        Does::Removes => deeds.extend(operands.into_iter().map(Deed::Remove)),
        Does::Copies | Does::Moves => {
            let away = if matches!(spec.does, Does::Moves) { Deed::Remove } else { read };
            let last = if into { None } else { operands.pop() };
            deeds.extend(operands.into_iter().map(away));
            deeds.extend(last.map(Deed::Write));
        }
        Does::Converts => {
            let mut operands = operands.into_iter();
            deeds.extend(operands.next().map(Deed::Read));
            deeds.extend(operands.map(Deed::Write));
        }
        Does::Nothing | Does::Runs | Does::Reaches | Does::Beyond(_) | Does::Special(_) => {}
    }
}
