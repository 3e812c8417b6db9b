//! Commands that look for files, and may do something with what they find.

use super::done;
use super::options::read;
use crate::deed::{Deed, Seen, Target};
use crate::paths::guarded;
use crate::shell::{Piece, Word};
use crate::study::Study;

/// Tests of `find` that have a value, which is then no action.
const VALUED: &[&str] = &[
    "-amin",
    "-atime",
    "-cmin",
    "-ctime",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-samefile",
    "-size",
    "-type",
    "-user",
    "-wholename",
];

/// Tests and other words of `find` that have none.
const PLAIN: &[&str] = &[
    "!",
    "(",
    ")",
    ",",
    "-a",
    "-and",
    "-daystart",
    "-depth",
    "-empty",
    "-executable",
    "-false",
    "-follow",
    "-ls",
    "-mount",
    "-nogroup",
    "-noleaf",
    "-not",
    "-nouser",
    "-nowarn",
    "-o",
    "-or",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-readable",
    "-true",
    "-warn",
    "-writable",
    "-xdev",
];

/// `find`: starting points, then an expression whose actions run, remove and write.
pub(super) fn find(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let expression = |word: &&Word| {
        let text = word.beginning();
        (text.starts_with('-') && text.len() > 1) || matches!(word.text(), Some("(" | ")" | "!" | ","))
    };
    let doubt = |deeds: &mut Vec<Deed>| {
        deeds.push(Deed::Hidden("a word that is not known may be an action of `find`".to_owned()));
    };
    let leading = |word: &&Word| matches!(word.text(), Some("-H" | "-L" | "-P"));
    let words: Vec<Word> = words.iter().skip_while(leading).cloned().collect();
    let starts: Vec<Word> = words.iter().take_while(|word| !expression(word)).cloned().collect();
    // No action has a slash in it.
    let path = |word: &Word| {
        word.pieces().iter().any(|piece| matches!(piece, Piece::Text(text) if text.contains('/')))
    };
    if starts
        .iter()
        .any(|word| word.text().is_none() && word.may_be_option() && (word.splits() || !path(word)))
    {
        doubt(deeds);
    }
    let mut targets: Vec<_> = starts.iter().map(|word| study.target(word)).collect();
    if targets.is_empty() {
        targets.push(study.target(&Word::known(".")));
    }
    let mut runs = false;
    let mut valued = false;
    let mut deletes = Vec::new();
    let tests = words.get(starts.len()..).unwrap_or_default();
    let mut rest = tests;
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if std::mem::take(&mut valued) && !word.splits() {
            continue;
        }
        match word.text() {
            Some(action @ ("-exec" | "-execdir" | "-ok" | "-okdir")) => {
                let end = end(action, after);
                let command = after.get(..end).unwrap_or_default();
                // What is not known may end it, and then an action may follow.
                if command.iter().any(|word| word.text().is_none()) {
                    doubt(deeds);
                }
                runs = true;
                let here = matches!(action, "-exec" | "-ok");
                let at = study.seen.len();
                // Otherwise it runs wherever something is found.
                let cwd = study.cwd.clone();
                study.cwd = study.cwd.take().filter(|_| here);
                study.inner(&found(command, if here { &starts } else { &[] }));
                study.cwd = cwd;
                if let [start] = starts.as_slice()
                    && !is_plain(study, start)
                {
                    may_be_others(study.seen.get_mut(at..).unwrap_or_default());
                }
                rest = after.get(end + 1..).unwrap_or_default();
            }
            Some("-delete") => {
                let before = tests.get(..tests.len() - after.len() - 1).unwrap_or_default();
                let some = chooses(before);
                if deletes.contains(&some) {
                    continue;
                }
                deletes.push(some);
                // What is chosen by its name is not the working directory itself.
                let own =
                    |target: &Target| some && super::is_one(target, |path| *path == study.place.workdir);
                let removed = targets.iter().map(|target| {
                    if own(target) { Target::Unknown("{}".to_owned()) } else { target.clone() }
                });
                deeds.extend(removed.map(Deed::Remove));
            }
            Some("-fprint" | "-fprint0" | "-fls" | "-fprintf") => {
                deeds.extend(after.first().map(|file| Deed::Write(study.target(file))));
                valued = true;
            }
            Some("-files0-from") => {
                deeds.extend(after.first().map(|file| Deed::Read(study.target(file))));
                targets.push(Target::Unknown("the files of a list".to_owned()));
                valued = true;
            }
            Some(text) if VALUED.contains(&text) || text.starts_with("-newer") => valued = true,
            Some(text) if PLAIN.contains(&text) || !text.starts_with('-') => {}
            Some(text) => {
                deeds.push(Deed::Opaque(format!("`{text}` is no word of `find` that is understood")));
            }
            None => doubt(deeds),
        }
    }
    if runs {
        deeds.extend(targets.into_iter().map(Deed::ReadAll));
        deeds.extend(named(study, tests));
    } else {
        let known = targets.into_iter().filter(|target| matches!(target, Target::OneOf(_)));
        deeds.extend(known.map(Deed::Read));
    }
}

/// Whether tests before an action leave out what has another name, or something in it.
fn chooses(tests: &[Word]) -> bool {
    let is = |word: &Word, texts: &[&str]| word.text().is_some_and(|text| texts.contains(&text));
    let chosen = |pair: &[Word]| match pair {
        [test, name] => {
            is(test, BY_NAME) && name.text().is_some_and(|name| name.contains(char::is_alphanumeric))
        }
        _ => false,
    };
    let open = tests
        .iter()
        .any(|word| word.text().is_none() || is(word, &["!", "-not", "-o", "-or", ",", "(", "-false"]));
    !open && (tests.windows(2).any(chosen) || tests.iter().any(|word| is(word, &["-empty"])))
}

/// Tests for names.
const BY_NAME: &[&str] = &["-name", "-iname", "-path", "-ipath", "-wholename"];

/// What is read if files with keys are looked for by their names.
fn named(study: &Study<'_>, tests: &[Word]) -> Vec<Deed> {
    let of = |at: usize| tests.get(at).and_then(Word::text);
    let mut deeds = Vec::new();
    for (at, value) in tests.iter().enumerate().skip(1) {
        let Some(test) = of(at - 1) else { continue };
        // Others than these are found.
        if at >= 2 && matches!(of(at - 2), Some("!" | "-not")) {
            continue;
        }
        if BY_NAME.contains(&test) {
            deeds.extend(value.text().and_then(|pattern| super::chosen(study, pattern)));
        } else if test == "-samefile" {
            deeds.push(Deed::Read(study.target(value)));
        }
    }
    deeds
}

/// Whether all that is found is plain files and directories: no link that leads elsewhere, and nothing that others obey.
fn is_plain(study: &Study<'_>, start: &Word) -> bool {
    let Target::OneOf(paths) = study.target(start) else { return false };
    let obeyed = |name: &str| guarded(&study.place.workdir.join(name), study.place).is_some();
    paths.iter().all(|path| match study.place.links.below(path, &study.patience, obeyed) {
        Some(odd) => !odd,
        None => path.starts_with(&study.place.workdir) && *path != study.place.workdir,
    })
}

/// What is written to something that is found, or gets its name, may be written elsewhere.
fn may_be_others(all: &mut [Seen]) {
    for seen in all.iter_mut().filter(|seen| seen.deeds.iter().any(|deed| matches!(deed, Deed::Write(_)))) {
        seen.deeds.push(Deed::Write(Target::Unknown("{}".to_owned())));
    }
}

/// Where the command of an action ends: at a semicolon, or at a plus behind what is found.
fn end(action: &str, words: &[Word]) -> usize {
    let is = |at: usize, text: &str| words.get(at).and_then(Word::text) == Some(text);
    let many = matches!(action, "-exec" | "-execdir");
    let ends = |at: &usize| is(*at, ";") || many && *at > 0 && is(*at, "+") && is(*at - 1, "{}");
    (0..words.len()).find(ends).unwrap_or(words.len())
}

/// The command that is run for what is found. A `{}` by itself is something at or below the starting point; with
/// several, or within a word, it is not known.
fn found(command: &[Word], starts: &[Word]) -> Vec<Word> {
    let start = match starts {
        // It is a path, and no program of that name.
        [start] if start.text().is_some_and(|text| !text.contains('/')) => {
            Word::known(&format!("./{}", start.text().unwrap_or_default()))
        }
        [start] => start.clone(),
        _ => Word::unknown("{}"),
    };
    let found = |word: &Word| match word.text() {
        Some("{}") => start.clone(),
        Some(text) if !text.contains('{') => word.clone(),
        _ => Word::unknown(word.source()),
    };
    command.iter().map(found).collect()
}

const FD: &str = "-HIuaisgFLlp01qVh -x:x -X:x -d:v -e:v -E:v -t:v -j:v -c:v -S:v -o:v --exec:x --exec-batch:x --max-depth:v \
                  --min-depth:v --exact-depth:v --extension:v --exclude:v --type:v --search-path:r --base-directory:r --ignore-file:r \
                  --color:v --size:v --max-results:v --changed-within:v --changed-before:v --owner:v --hidden --no-ignore \
                  --no-ignore-vcs --unrestricted --case-sensitive --ignore-case --glob --regex --fixed-strings --absolute-path \
                  --list-details --follow --full-path --print0 --prune --one-file-system --quiet --version --help --threads:v";

/// `fd`: like `find`, with the command at the end.
pub(super) fn fd(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let runs = |word: &Word| {
        let text = word.beginning();
        text.starts_with("--ex") && !text.starts_with("--exc") && !text.starts_with("--ext")
            || (text.starts_with('-') && !text.starts_with("--") && text.contains(['x', 'X']))
    };
    let (own, command) = match words.iter().position(runs) {
        Some(at) => words.split_at(at),
        None => (words, Default::default()),
    };
    let given = read(FD, own);
    deeds.extend(given.unclear("fd", FD).map(Deed::Opaque));
    done(study, "fd", &given, deeds);
    let read = if command.is_empty() { Deed::Read } else { Deed::ReadAll };
    deeds.extend(given.operands.iter().skip(1).map(|word| read(study.target(word))));
    if let Some((option, command)) = command.split_first() {
        match option.text() {
            Some("-x" | "-X" | "--exec" | "--exec-batch") => {
                let mut command = found(command, &[]);
                command.push(Word::unknown("…"));
                study.inner(&command);
            }
            _ => deeds.push(Deed::Hidden("an option lets `fd` run something else".to_owned())),
        }
    }
}

const GREP: &str = "-EFGPiywxvcLlqsbHhnTUazoIuZV -e:e -f:f -r:d -R:d -A:v -B:v -C:v -m:v -d:D -D:v -# --regexp:e --file:f \
                    --recursive:d --dereference-recursive:d --max-count:v --include:g --exclude:v --exclude-dir:v --exclude-from:r \
                    --color:o --colour:o --label:v --after-context:v --before-context:v --context:v --binary-files:v --devices:v \
                    --directories:D --extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case --no-ignore-case \
                    --invert-match --word-regexp --line-regexp --count --files-without-match --files-with-matches --only-matching \
                    --quiet --silent --no-messages --byte-offset --with-filename --no-filename --line-number --initial-tab \
                    --null --null-data --text --line-buffered --binary --group-separator:v --no-group-separator --help --version";

/// `grep`.
pub(super) fn grep(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    search(study, "grep", GREP, words, deeds);
}

const RG: &str = "-FiswxvclLqnNHIopPSuUa0.VhR -e:e -f:f -z:u -A:v -B:v -C:v -g:g -t:v -T:v -m:v -j:v -M:v -d:v -r:v -E:v --regexp:e \
                  --file:f --files:E --type-list:E --pre:x --hostname-bin:x --search-zip:u --glob:g --iglob:g --type:v --type-not:v \
                  --max-count:v --max-depth:v --maxdepth:v --replace:v --ignore-file:r --sort:v --sortr:v --type-add:v \
                  --type-clear:v --color:v --colors:v --encoding:v --context:v --after-context:v --before-context:v --threads:v \
                  --max-columns:v --engine:v --path-separator:v --pre-glob:v --generate:E --max-filesize:v --context-separator:v \
                  --field-match-separator:v --field-context-separator:v --dfa-size-limit:v --regex-size-limit:v --mmap --no-mmap \
                  --fixed-strings --ignore-case --case-sensitive --smart-case --word-regexp --line-regexp --invert-match --count \
                  --count-matches --files-with-matches --files-without-match --quiet --line-number --no-line-number \
                  --with-filename --no-filename --no-heading --heading --only-matching --pretty --pcre2 --unrestricted --multiline \
                  --multiline-dotall --text --null --null-data --hidden --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent \
                  --no-config --follow --no-messages --trim --vimgrep --column --no-column --json --stats --passthru --debug \
                  --glob-case-insensitive --one-file-system --crlf --max-columns-preview --include-zero --no-require-git --version \
                  --help -L";

const AG: &str = "-acilLnQsuvwz0HUfS -A:v -B:v -C:v -g:e -G:g -m:v -p:r --pager:x --path-to-ignore:r --ignore:v --depth:v --hidden \
                  --ignore-case --literal --nocolor --color --nogroup --nonumbers --count --files-with-matches --word-regexp \
                  --smart-case --vimgrep --column";

/// `ag`.
pub(super) fn ag(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    search(study, "ag", AG, words, deeds);
}

/// `rg`.
pub(super) fn rg(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    search(study, "rg", RG, words, deeds);
}

fn search(study: &mut Study<'_>, name: &str, options: &str, words: &[Word], deeds: &mut Vec<Deed>) {
    let given = read(options, words);
    deeds.extend(given.unclear(name, options).map(Deed::Opaque));
    done(study, name, &given, deeds);
    let expression = given.has('e') || given.has('f') || given.has('E');
    // Of what it can do with directories, all but these is to go into them.
    let goes = |word: &Word| !matches!(word.text(), Some("read" | "skip"));
    let all = name != "grep" || given.has('d') || given.values('D').any(goes);
    let read = if all { Deed::ReadAll } else { Deed::Read };
    // A word before that may be none, so that any may be the expression; they are files for sure.
    let unsure = given.operands.first().is_some_and(Word::splits);
    let operands: Vec<&Word> = given.operands.iter().skip(usize::from(!expression && !unsure)).collect();
    if operands.is_empty() && all {
        deeds.push(read(study.target(&Word::known("."))));
    }
    let files = operands.into_iter().filter(|word| word.text() != Some("-"));
    deeds.extend(files.map(|word| read(study.target(word))));
}

const PS: &str = "-AadefFHjlLMNTwyZcmV -C:v -G:v -U:v -g:v -n:v -o:v -O:v -p:v -q:v -s:v -t:v -u:v --forest --headers --no-headers \
                  --sort:v --pid:v --ppid:v --user:v --User:v --format:v --cols:v --columns:v --width:v --lines:v --tty:v --version --help";

/// `ps`: without a dash, one of its letters shows the variables of every process.
pub(super) fn ps(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let given = read(PS, words);
    deeds.extend(given.unclear("ps", PS).map(Deed::Opaque));
    let plain = |word: &Word| {
        word.text().is_some_and(|text| text.chars().all(|c| "afghjlrsTuvwxXcHmLSkO,0123456789".contains(c)))
    };
    if !given.operands.iter().all(plain) || misread(words, given.odd.is_some()) {
        deeds.push(Deed::Read(study.target(&Word::known("/proc/self/environ"))));
    }
}

/// Whether it may read words with a dash as if they had none, which it does where it makes no sense of them: with a value
/// that is missing, or with threads beside what has none.
fn misread(words: &[Word], odd: bool) -> bool {
    let dashed = |word: &&Word| word.beginning().starts_with('-') && !word.beginning().starts_with("--");
    let has = |letters: &[char]| words.iter().filter(dashed).any(|word| word.beginning().contains(letters));
    has(&['e']) && (odd || has(&['T']) && has(&['H', 'O', 'n']))
}
