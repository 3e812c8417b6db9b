//! Commands that run another command, which is then looked at as well.

use super::options::read;
use crate::deed::Deed;
use crate::shell::{Word, is_name};
use crate::study::Study;
use crate::variables;

/// Long options that have no value.
const FLAGS: [&str; 16] = [
    "--background",
    "--exclusive",
    "--exit",
    "--foreground",
    "--help",
    "--interactive",
    "--list",
    "--no-run-if-empty",
    "--nonblock",
    "--null",
    "--preserve-status",
    "--shared",
    "--unlock",
    "--verbose",
    "--version",
    "--wait",
];

/// The words after the options. `valued` are letters of options that have a value.
fn behind<'w>(words: &'w [Word], valued: &str, deeds: &mut Vec<Deed>) -> &'w [Word] {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        match word.text() {
            Some("--") => return words.get(at + 1..).unwrap_or_default(),
            Some(text) if text.starts_with("--") => {
                if !text.contains('=') && !FLAGS.contains(&text) {
                    deeds.push(Deed::Unclear(format!("whether `{text}` has a value is not known")));
                    return &[];
                }
                at += 1;
            }
            Some(text) if text.starts_with('-') && text.len() > 1 => {
                // Only the last letter can have its value in the next word.
                let last = text.chars().last().is_some_and(|last| valued.contains(last));
                let first = text.chars().nth(1).is_some_and(|first| valued.contains(first));
                at += if last && (text.len() == 2 || !first) { 2 } else { 1 };
            }
            None if word.may_be_option() => {
                deeds.push(Deed::Unclear("which command it runs is known only then".to_owned()));
                return &[];
            }
            _ => break,
        }
    }
    words.get(at..).unwrap_or_default()
}

/// Those that only run the command after their options.
pub(super) fn transparent(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    study.inner(behind(words, "", deeds));
}

/// `nice -n 5 command`.
pub(super) fn nice(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    study.inner(behind(words, "n", deeds));
}

/// `ionice -c 2 -n 7 command`.
pub(super) fn ionice(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    study.inner(behind(words, "cnpPu", deeds));
}

/// `stdbuf -o L command`.
pub(super) fn stdbuf(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    study.inner(behind(words, "ioe", deeds));
}

/// `nohup` writes what is said into a file.
pub(super) fn nohup(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    deeds.push(Deed::Write(study.target(&Word::known("nohup.out"))));
    study.inner(behind(words, "", deeds));
}

/// `time` where it is no reserved word: the program.
pub(super) fn time(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let options = words.iter().take_while(|word| word.beginning().starts_with('-'));
    if options.clone().any(|word| word.beginning().starts_with("-o") || word.beginning().starts_with("--o")) {
        deeds.push(Deed::Opaque("it writes to a file".to_owned()));
    }
    study.inner(behind(words, "fo", deeds));
}

/// `timeout 5 command`.
pub(super) fn timeout(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let rest = behind(words, "sk", deeds);
    if rest.first().is_some_and(Word::splits) {
        deeds.push(Deed::Unclear("which command it runs is known only then".to_owned()));
    }
    study.inner(rest.get(1..).unwrap_or_default());
}

/// `taskset MASK command`.
pub(super) fn taskset(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let rest = behind(words, "", deeds);
    study.inner(rest.get(1..).unwrap_or_default());
}

/// `flock FILE command`.
pub(super) fn flock(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let rest = behind(words, "wE", deeds);
    deeds.extend(rest.first().map(|file| Deed::Write(study.target(file))));
    match rest.get(1..).unwrap_or_default() {
        [option, line, ..] if option.text() == Some("-c") => text(study, line, deeds),
        inner => study.inner(inner),
    }
}

/// `command`: `-v` only says what a name means.
pub(super) fn command(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    if words.first().is_some_and(|word| matches!(word.text(), Some("-v" | "-V"))) {
        return;
    }
    study.inner(behind(words, "", deeds));
}

/// `builtin`.
pub(super) fn builtin(study: &mut Study<'_>, words: &[Word], _deeds: &mut Vec<Deed>) {
    study.inner(words);
}

/// `exec`: without a command it keeps its redirections.
pub(super) fn exec(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    study.inner(behind(words, "a", deeds));
}

/// `sudo` and its like.
pub(super) fn privileged(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    deeds.push(Deed::Beyond("it acts as another user".to_owned()));
    let mut ignored = Vec::new();
    let inner = behind(words, "ugpCrtThUDRc", &mut ignored);
    let inner = inner.iter().position(|word| !is_assignment(word)).and_then(|at| inner.get(at..));
    study.inner(inner.unwrap_or_default());
}

/// `env`: options, variables, a command.
pub(super) fn env(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let beginning = word.beginning();
        match word.text() {
            Some("-" | "-i" | "-0" | "-v" | "--ignore-environment" | "--null" | "--debug") => at += 1,
            Some("-u" | "--unset") => at += 2,
            Some("-C" | "--chdir") => {
                study.go(words.get(at + 1));
                at += 2;
            }
            Some("--") => {
                at += 1;
                break;
            }
            Some(text)
                if text.starts_with("--unset=") || (text.starts_with("-u") && !text.starts_with("--")) =>
            {
                at += 1;
            }
            _ if is_assignment(word) => {
                let name = beginning.split('=').next().unwrap_or_default();
                deeds.extend(variables::effect(name).map(Deed::Opaque));
                at += 1;
            }
            // `-S` among them, which makes words of a text.
            Some(text) if !text.starts_with('-') => break,
            _ => {
                deeds.push(Deed::Unclear("which command it runs is known only then".to_owned()));
                return;
            }
        }
    }
    // Variables may stand behind `--`, too.
    while let Some(word) = words.get(at).filter(|word| is_assignment(word)) {
        let name = word.beginning().split('=').next().unwrap_or_default();
        deeds.extend(variables::effect(name).map(Deed::Opaque));
        at += 1;
    }
    study.inner(words.get(at..).unwrap_or_default());
}

fn is_assignment(word: &Word) -> bool {
    word.beginning().split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// `xargs`: the command gets words from elsewhere.
pub(super) fn xargs(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let replaced = replacement(words);
    if let Some(file) =
        words.iter().zip(words.iter().skip(1)).find(|(option, _)| matches!(option.text(), Some("-a")))
    {
        deeds.push(Deed::Read(study.target(file.1)));
    }
    let inner = behind(words, "adEILnPs", deeds);
    let mut inner: Vec<Word> = inner.to_vec();
    if inner.is_empty() {
        return;
    }
    match replaced {
        // What is replaced may be a part of any word, the first among them.
        Some(replaced) => {
            let known = |word: &Word| {
                word.text().is_some_and(|text| !replaced.is_empty() && !text.contains(&replaced))
            };
            inner = inner
                .iter()
                .map(|word| if known(word) { word.clone() } else { Word::unknown(word.source()) })
                .collect();
        }
        None => inner.push(Word::unknown("…")),
    }
    study.inner(&inner);
}

/// The text that `xargs` replaces in the words of its command; empty, if it is not known.
fn replacement(words: &[Word]) -> Option<String> {
    let options = words.iter().take_while(|word| word.may_be_option());
    let at = options.clone().position(|word| {
        let text = word.beginning();
        text.starts_with("-I")
            || text.starts_with("-i")
            || text.starts_with("--replace")
            || text.starts_with("-J")
    })?;
    let option = words.get(at).and_then(Word::text).unwrap_or_default();
    let text = match option {
        "-I" => words.get(at + 1).and_then(Word::text).unwrap_or_default(),
        "-i" | "--replace" => "{}",
        _ => option.strip_prefix("--replace=").or_else(|| option.get(2..)).unwrap_or_default(),
    };
    Some(text.to_owned())
}

/// `bash -c 'line'`.
pub(super) fn shell(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let mut at = 0;
    let mut runs_text = false;
    while let Some(word) = words.get(at) {
        match word.text() {
            Some("-o" | "+o") => at += 2,
            Some("--login" | "--noprofile" | "--norc" | "--posix") => at += 1,
            Some("--version" | "--help") if words.len() == 1 => return,
            Some(text) if text.starts_with('-') && !text.starts_with("--") && text.len() > 1 => {
                if !text.chars().skip(1).all(|c| "ceuxlivfn".contains(c)) {
                    deeds.push(Deed::Unclear("it starts a shell with unusual options".to_owned()));
                }
                runs_text |= text.contains('c');
                at += 1;
            }
            Some(text) if text.starts_with('-') => {
                deeds.push(Deed::Unclear("it starts a shell with unusual options".to_owned()));
                at += 1;
            }
            _ => break,
        }
    }
    match words.get(at) {
        Some(line) if runs_text => text(study, line, deeds),
        Some(_) => deeds.push(Deed::Opaque("it runs the commands of a file".to_owned())),
        None => deeds.push(Deed::Hidden("it runs the commands that it reads".to_owned())),
    }
}

/// A text that is run as a line, in a shell of its own.
fn text(study: &mut Study<'_>, line: &Word, deeds: &mut Vec<Deed>) {
    match line.text() {
        Some(text) => {
            // Other shells read these otherwise than bash does.
            if ["[[", "((", "&>", "|&", "<<<", "<(", ">(", "$'", "function "]
                .iter()
                .any(|odd| text.contains(odd))
            {
                deeds.push(Deed::Opaque("another shell may read the line otherwise".to_owned()));
            }
            let here = study.cwd.clone();
            study.outside(|study| study.nested(text));
            study.cwd = here;
        }
        None => deeds.push(Deed::Hidden("it runs a text that is known only when it runs".to_owned())),
    }
}

/// `watch` runs its words as a line, unless it is told not to.
pub(super) fn watch(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let inner = behind(words, "nq", deeds);
    let texts: Option<Vec<&str>> = inner.iter().map(Word::text).collect();
    match texts {
        Some(texts) => text(study, &Word::known(&texts.join(" ")), deeds),
        None => deeds.push(Deed::Hidden("it runs a text that is known only when it runs".to_owned())),
    }
}

/// `parallel` makes lines of its words in ways of its own; what can be seen is looked at.
pub(super) fn parallel(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    deeds.push(Deed::Hidden("`parallel` makes lines of what it reads".to_owned()));
    let given = read("-j:v -a:r --jobs:v -n:v -N:v --joblog:w --results:w -S:n --sshlogin:n", words);
    for (effect, value) in &given.found {
        match (effect, value) {
            ('w', Some(file)) => deeds.push(Deed::Write(study.target(file))),
            ('n', _) => deeds.push(Deed::Net(None)),
            _ => {}
        }
    }
    let command: Vec<Word> =
        given.operands.into_iter().take_while(|word| !word.beginning().starts_with(":::")).collect();
    study.inner(&command);
}
