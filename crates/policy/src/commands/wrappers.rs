//! Commands that run another command, which is then looked at as well.

use super::builtins::runs_file;
use super::done;
use super::options::{leading, read};
use crate::deed::Deed;
use crate::shell::{Assignment, Word, is_name};
use crate::study::Study;
use crate::variables;

const WHICH: &str = "which command it runs is known only then";

/// The words after the options of a wrapper; `None` if it is not sure where they begin.
fn behind<'w>(
    study: &Study<'_>,
    name: &str,
    options: &str,
    words: &'w [Word],
    deeds: &mut Vec<Deed>,
) -> Option<&'w [Word]> {
    let (given, rest) = leading(options, words);
    done(study, name, &given, deeds);
    if let Some(odd) = &given.odd {
        deeds.push(Deed::Unclear(format!("`{odd}` is no option of `{name}` that is understood")));
        return None;
    }
    if given.doubtful {
        deeds.push(Deed::Unclear(WHICH.to_owned()));
        return None;
    }
    Some(rest)
}

/// Runs the command after the options.
fn after(study: &mut Study<'_>, name: &str, options: &str, words: &[Word], deeds: &mut Vec<Deed>) {
    if let Some(rest) = behind(study, name, options, words, deeds) {
        study.inner(rest);
    }
}

/// The command after a first operand, which may not be several words or none.
fn after_first<'w>(rest: &'w [Word], deeds: &mut Vec<Deed>) -> &'w [Word] {
    if rest.first().is_some_and(Word::splits) {
        deeds.push(Deed::Unclear(WHICH.to_owned()));
        return &[];
    }
    rest.get(1..).unwrap_or_default()
}

/// `busybox` and its like: the command is one of their own.
pub(super) fn many(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    after(study, "busybox", "", words, deeds);
}

/// `setsid command`.
pub(super) fn setsid(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    after(study, "setsid", "-cfw --ctty --fork --wait", words, deeds);
}

/// `nice -n 5 command`.
pub(super) fn nice(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    after(study, "nice", "-n:v -# --adjustment:v", words, deeds);
}

/// `ionice -c 2 -n 7 command`.
pub(super) fn ionice(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    after(study, "ionice", "-t -c:v -n:v --class:v --classdata:v --ignore", words, deeds);
}

/// `stdbuf -o L command`.
pub(super) fn stdbuf(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    after(study, "stdbuf", "-i:v -o:v -e:v --input:v --output:v --error:v", words, deeds);
}

/// `nohup` writes what is said into a file.
pub(super) fn nohup(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    deeds.push(Deed::Write(study.target(&Word::known("nohup.out"))));
    after(study, "nohup", "", words, deeds);
}

const TIME: &str =
    "-apqv -o:w -f:v --append --portability --quiet --verbose --output:w --format:v --version --help";

/// `time` where it is no reserved word: the program.
pub(super) fn time(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    after(study, "time", TIME, words, deeds);
}

const TIMEOUT: &str = "-v -s:v -k:v --foreground --preserve-status --verbose --kill-after:v";

/// `timeout 5 command`.
pub(super) fn timeout(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    if let Some(rest) = behind(study, "timeout", TIMEOUT, words, deeds) {
        let inner = after_first(rest, deeds);
        study.inner(inner);
    }
}

/// `taskset MASK command`.
pub(super) fn taskset(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    if let Some(rest) = behind(study, "taskset", "-c --cpu-list", words, deeds) {
        let inner = after_first(rest, deeds);
        study.inner(inner);
    }
}

const FLOCK: &str = "-eFnosuxv -w:v -E:v --exclusive --shared --nonblock --nb --no-fork --close --unlock --verbose --wait:v --timeout:v \
                     --conflict-exit-code:v";

/// `flock FILE command`.
pub(super) fn flock(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let Some(rest) = behind(study, "flock", FLOCK, words, deeds) else { return };
    deeds.extend(rest.first().map(|file| Deed::Write(study.target(file))));
    match after_first(rest, deeds) {
        [option, line] if matches!(option.text(), Some("-c" | "--command")) => {
            text(study, line, Dialect::Other, deeds);
        }
        inner if inner.first().is_some_and(|word| word.beginning().starts_with('-')) => {
            deeds.push(Deed::Unclear(WHICH.to_owned()));
        }
        inner => study.inner(inner),
    }
}

/// `command`: `-v` only says what a name means.
pub(super) fn command(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    if words.first().is_some_and(|word| matches!(word.text(), Some("-v" | "-V"))) {
        return;
    }
    after(study, "command", "-p", words, deeds);
}

/// `builtin`.
pub(super) fn builtin(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    after(study, "builtin", "", words, deeds);
}

/// `exec`: without a command it keeps its redirections.
pub(super) fn exec(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    after(study, "exec", "-cl -a:v", words, deeds);
}

const SUDO: &str = "-AbEeHKklNnPSsVv -i:d -u:v -g:v -p:v -C:v -r:v -t:v -T:v -h:v -U:v -D:e -R:e --user:v --group:v --prompt:v \
     --preserve-env:o --set-home --login:d --non-interactive --stdin --background --chdir:e";

/// `sudo` and its like.
pub(super) fn privileged(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    deeds.push(Deed::Beyond("it acts as another user".to_owned()));
    let (given, rest) = leading(SUDO, words);
    // `su -c` takes a line, and other shells come with it.
    if given.odd.is_some() || given.doubtful {
        deeds.push(Deed::Hidden(WHICH.to_owned()));
    }
    let elsewhere = given.has('d') || given.has('e');
    let (given, inner) = rest.split_at(rest.iter().take_while(|word| is_assignment(word)).count());
    let cwd = study.cwd.clone();
    study.cwd = study.cwd.take().filter(|_| !elsewhere);
    study.given(&given.iter().filter_map(assignment).collect::<Vec<_>>(), inner);
    study.cwd = cwd;
}

/// `env`: options, variables, a command.
pub(super) fn env(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let unsure = |deeds: &mut Vec<Deed>| deeds.push(Deed::Unclear(WHICH.to_owned()));
    // `-S` is not among them, which makes words of a text.
    let options = "-i0v -u:v -C:e --ignore-environment --null --debug --unset:v --chdir:e";
    let (given, mut rest) = leading(options, words);
    if given.odd.is_some() {
        return unsure(deeds);
    }
    // A dash alone is an option, too.
    while rest.first().is_some_and(|word| word.text() == Some("-")) {
        rest = rest.get(1..).unwrap_or_default();
    }
    for place in given.values('e') {
        study.go(Some(place));
    }
    let mut names = Vec::new();
    let mut assignments = Vec::new();
    while let Some((word, after)) = rest.split_first().filter(|(word, _)| is_assignment(word)) {
        let name = word.beginning().split('=').next().unwrap_or_default();
        deeds.extend(variables::effect(name).map(Deed::Opaque));
        names.extend(variables::is_open(name).then(|| name.to_owned()));
        deeds.extend(variables::runs(name, word.without(&format!("{name}=")).as_ref()));
        if !is_name(name) {
            // A function is handed to a shell under such a name.
            deeds.push(Deed::Hidden(format!("`{name}` is no name of a plain variable")));
        }
        if word.splits() {
            return unsure(deeds);
        }
        assignments.extend(assignment(word));
        rest = after;
    }
    if given.doubtful || rest.first().is_some_and(|word| word.text().is_none_or(|text| text.starts_with('-')))
    {
        return unsure(deeds);
    }
    let before = study.given.len();
    study.given.extend(names);
    study.given(&assignments, rest);
    study.given.truncate(before);
}

/// What a word before a command gives to a variable.
fn assignment(word: &Word) -> Option<Assignment> {
    let (name, _) = word.beginning().split_once('=')?;
    Some(Assignment { name: name.to_owned(), value: word.without(&format!("{name}=")), list: false })
}

/// Whether a word before a command is a variable. Programs, unlike the shell, take any name.
fn is_assignment(word: &Word) -> bool {
    word.beginning().contains('=')
}

const XARGS: &str = "-0prtxo -a:r -d:v -E:v -e:o -I:e -i:I -J:e -L:m -l:M -n:m -P:v -R:v -s:v -S:v --null --arg-file:r --delimiter:v \
                     --max-lines:M --max-args:m --max-procs:v --max-chars:v --no-run-if-empty --verbose --exit --interactive \
                     --open-tty --replace:I --show-limits --version --help";

/// `xargs`: the command gets words from elsewhere.
pub(super) fn xargs(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let (given, rest) = leading(XARGS, words);
    done(study, "xargs", &given, deeds);
    if given.odd.is_some() || given.doubtful {
        deeds.push(Deed::Unclear(WHICH.to_owned()));
        return;
    }
    if rest.is_empty() {
        return;
    }
    // What is replaced may be a part of any word, the first among them.
    let replaced = given.found.iter().rev().find_map(|(effect, value)| match (effect, value) {
        ('e', value) => Some(value.as_ref().and_then(Word::text).unwrap_or_default()),
        ('I', None) => Some("{}"),
        ('I', Some(value)) => Some(value.text().unwrap_or_default()),
        _ => None,
    });
    let inner: Vec<Word> = match replaced {
        Some(replaced) => {
            let known = |word: &Word| {
                word.text().is_some_and(|text| !replaced.is_empty() && !text.contains(replaced))
            };
            let seen = |word: &Word| if known(word) { word.clone() } else { Word::unknown(word.source()) };
            // Of these options the last holds; with the others, the words come at the end.
            let several = (given.has('m') || given.has('M')).then(|| Word::unknown("…"));
            rest.iter().map(seen).chain(several).collect()
        }
        None => rest.iter().cloned().chain([Word::unknown("…")]).collect(),
    };
    study.inner(&inner);
}

/// How a shell reads a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// As it is read here.
    Bash,
    /// Like that, but for some signs.
    Other,
    /// In ways of its own.
    Foreign,
}

/// `bash -c 'line'`.
pub(super) fn bash(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    shell(study, words, Dialect::Bash, deeds);
}

/// `sh` and its like.
pub(super) fn sh(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    shell(study, words, Dialect::Other, deeds);
}

/// Shells whose grammar is another.
pub(super) fn other_shell(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    shell(study, words, Dialect::Foreign, deeds);
}

fn shell(study: &mut Study<'_>, words: &[Word], dialect: Dialect, deeds: &mut Vec<Deed>) {
    let unusual = "it starts a shell with unusual options";
    let mut at = 0;
    let mut runs_text = false;
    while let Some(word) = words.get(at) {
        match word.text() {
            Some("--login" | "--noprofile" | "--norc" | "--posix") => at += 1,
            Some("--version" | "--help") if words.len() == 1 => return,
            Some(text) if text.starts_with("--") => {
                deeds.push(Deed::Unclear(unusual.to_owned()));
                at += 1;
            }
            // After it come no options; it is no file either.
            Some("-") => {
                at += 1;
                break;
            }
            Some(text) if text.starts_with(['-', '+']) => {
                let letters = text.get(1..).unwrap_or_default();
                // The name of an option may follow, but only the last letter has one.
                let named = letters.ends_with('o');
                let flags = letters.strip_suffix('o').unwrap_or(letters);
                if !flags.chars().all(|c| "ceuxlivfn".contains(c)) {
                    deeds.push(Deed::Unclear(unusual.to_owned()));
                }
                if flags.contains('i') {
                    deeds.push(Deed::Opaque("a shell for a terminal reads more than the line".to_owned()));
                }
                if named && !words.get(at + 1).is_some_and(is_strict) {
                    deeds.push(Deed::Unclear(unusual.to_owned()));
                }
                runs_text |= flags.contains('c');
                at += if named { 2 } else { 1 };
            }
            _ => break,
        }
    }
    match words.get(at) {
        Some(line) if runs_text => text(study, line, dialect, deeds),
        Some(file) => deeds.push(runs_file(study, file)),
        None => deeds.push(Deed::Hidden("it runs the commands that it reads".to_owned())),
    }
}

/// Whether this is the name of an option that only makes a shell stricter.
fn is_strict(word: &Word) -> bool {
    matches!(word.text(), Some("pipefail" | "errexit" | "nounset" | "xtrace" | "noclobber" | "verbose"))
}

/// A text that is run as a line, in a shell of its own.
fn text(study: &mut Study<'_>, line: &Word, dialect: Dialect, deeds: &mut Vec<Deed>) {
    let Some(text) = line.text() else {
        deeds.push(Deed::Hidden("it runs a text that is known only when it runs".to_owned()));
        return;
    };
    if dialect == Dialect::Foreign {
        deeds.push(Deed::Hidden("another shell reads the line in ways of its own".to_owned()));
    }
    if study.in_shell(text, dialect == Dialect::Bash) && dialect == Dialect::Other {
        deeds.push(Deed::Hidden("another shell may read the line otherwise".to_owned()));
    }
}

const WATCH: &str = "-bcegprtw -x:l -d:o -n:v -q:v --beep --color --differences:o --errexit --chgexit --precise --no-title --no-wrap --exec:l \
                     --interval:v --equexit:v";

/// `watch` runs its words as a line, unless it is told not to.
pub(super) fn watch(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let Some(inner) = behind(study, "watch", WATCH, words, deeds) else { return };
    if leading(WATCH, words).0.has('l') {
        return study.inner(inner);
    }
    let texts: Option<Vec<&str>> = inner.iter().map(Word::text).collect();
    match texts {
        Some(texts) => text(study, &Word::known(&texts.join(" ")), Dialect::Other, deeds),
        None => deeds.push(Deed::Hidden("it runs a text that is known only when it runs".to_owned())),
    }
}

/// `parallel` makes lines of its words in ways of its own; what can be seen is looked at.
pub(super) fn parallel(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    deeds.push(Deed::Hidden("`parallel` makes lines of what it reads".to_owned()));
    let options =
        "-k0m -j:v -a:r --jobs:v -n:v -N:v --joblog:w --results:w -S:n --sshlogin:n --will-cite --halt:v";
    let given = read(options, words);
    done(study, "parallel", &given, deeds);
    let command: Vec<Word> =
        given.operands.into_iter().take_while(|word| !word.beginning().starts_with(":::")).collect();
    study.inner(&command);
}

/// A text that a program hands to a shell, to run it as a line.
pub(super) fn line(study: &mut Study<'_>, line: &Word, deeds: &mut Vec<Deed>) {
    text(study, line, Dialect::Other, deeds);
}
