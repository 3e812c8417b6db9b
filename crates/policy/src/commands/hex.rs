//! `xxd`, whose options are words: `-ps` is not `-p` and `-s`.

use crate::deed::{Deed, Target};
use crate::shell::Word;
use crate::study::Study;

/// Options without a value.
const FLAGS: &[&str] = &[
    "-C",
    "-E",
    "-EBCDIC",
    "-a",
    "-autoskip",
    "-b",
    "-bits",
    "-capitalize",
    "-d",
    "-e",
    "-h",
    "-help",
    "-i",
    "-include",
    "-p",
    "-plain",
    "-postscript",
    "-ps",
    "-r",
    "-revert",
    "-t",
    "-u",
    "-uppercase",
    "-v",
    "-version",
];
/// Options whose value is the next word.
const VALUED: &[&str] =
    &["-R", "-c", "-cols", "-g", "-l", "-len", "-n", "-name", "-o", "-s", "-seek", "-skip"];

/// `xxd`: it reads the first file and writes the second.
pub(super) fn xxd(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let mut operands = Vec::new();
    let mut sure = true;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        // A word that is not known may be an option, or several words.
        sure &= !word.splits() && (word.text().is_some() || !word.may_be_option());
        match word.text() {
            Some(text) if text.starts_with('-') && text.len() > 1 => {
                let option = if text.starts_with("--") { text.get(1..).unwrap_or_default() } else { text };
                if VALUED.contains(&option) {
                    sure &= words.next().is_none_or(|value| !value.splits());
                } else if !FLAGS.contains(&option) && !is_attached(option) {
                    let why = format!("`{text}` is no option of `xxd` that is understood");
                    deeds.push(Deed::Opaque(why));
                    sure = false;
                }
            }
            _ => operands.push(word),
        }
    }
    for (at, word) in operands.into_iter().enumerate().filter(|(_, word)| word.text() != Some("-")) {
        if at == 0 || !sure {
            deeds.push(Deed::Read(study.target(word)));
        }
        if at > 0 || !sure {
            deeds.push(Deed::Write(study.target(word)));
        }
    }
    if !sure {
        deeds.push(Deed::Write(Target::Unknown("its second file".to_owned())));
    }
}

/// `-c16`: a number that stands with its letter.
fn is_attached(option: &str) -> bool {
    let number = option.strip_prefix(['-']).and_then(|rest| rest.strip_prefix(['c', 'g', 'l', 'o', 's']));
    number.is_some_and(|number| {
        !number.is_empty() && number.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, 'x' | '+' | '-'))
    })
}
