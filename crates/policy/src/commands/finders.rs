//! Commands that look for files, and may do something with what they find.

use super::options::{matter, read};
use crate::deed::{Deed, Target};
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
    let mut rest = words.get(starts.len()..).unwrap_or_default();
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if std::mem::take(&mut valued) && !word.splits() {
            continue;
        }
        match word.text() {
            Some(action @ ("-exec" | "-execdir" | "-ok" | "-okdir")) => {
                let ends = |word: &Word| matches!(word.text(), Some(";" | "+"));
                let end = after.iter().position(ends).unwrap_or(after.len());
                let command = after.get(..end).unwrap_or_default();
                runs = true;
                let here = matches!(action, "-exec" | "-ok");
                study.inner(&found(command, if here { &starts } else { &[] }));
                rest = after.get(end + 1..).unwrap_or_default();
            }
            Some("-delete") => deeds.extend(targets.iter().cloned().map(Deed::Remove)),
            Some("-fprint" | "-fprint0" | "-fls" | "-fprintf") => {
                deeds.extend(after.first().map(|file| Deed::Write(study.target(file))));
            }
            Some("-files0-from") => deeds.extend(after.first().map(|file| Deed::Read(study.target(file)))),
            Some(text) => valued = VALUED.contains(&text) || text.starts_with("-newer"),
            None => doubt(deeds),
        }
    }
    if runs {
        deeds.extend(targets.into_iter().map(Deed::ReadAll));
    } else {
        let known = targets.into_iter().filter(|target| matches!(target, Target::OneOf(_)));
        deeds.extend(known.map(Deed::Read));
    }
}

/// The command that is run for what is found. A `{}` by itself is something at or below the starting point; with
/// several, or within a word, it is not known.
fn found(command: &[Word], starts: &[Word]) -> Vec<Word> {
    let start = match starts {
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

const FD: &str = "-x:x -X:x --exec:x --exec-batch:x -d:v --max-depth:v -e:v --extension:v -E:v --exclude:v -t:v --type:v \
                  --search-path:r --base-directory:r -j:v --ignore-file:r -c:v --color:v -S:v --size:v --max-results:v";

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
    if given.doubtful {
        deeds.push(Deed::Opaque("a word that is not known may be an option of `fd`".to_owned()));
    }
    for (effect, value) in &given.found {
        if let ('r', Some(value)) = (effect, value) {
            deeds.push(Deed::Read(study.target(value)));
        }
    }
    let read = if command.is_empty() { Deed::Read } else { Deed::ReadAll };
    deeds.extend(given.operands.iter().skip(1).map(|word| read(study.target(word))));
    if let Some((option, command)) = command.split_first() {
        match option.text() {
            Some("-x" | "-X" | "--exec" | "--exec-batch") => {
                let mut command = found(command, &[]);
                command.push(Word::unknown("…"));
                study.inner(&command);
            }
            _ => deeds.push(Deed::Opaque("an option lets `fd` run something else".to_owned())),
        }
    }
}

const GREP: &str = "-e:e --regexp:e -f:f --file:f -r:d -R:d --recursive:d --dereference-recursive:d -A:v -B:v -C:v -m:v \
                    --max-count:v --include:v --exclude:v --exclude-dir:v --exclude-from:r -d:v -D:v --color:v --label:v";

/// `grep`.
pub(super) fn grep(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    search(study, "grep", GREP, words, deeds);
}

const RG: &str = "-e:e --regexp:e -f:f --file:f --files:E --type-list:E --pre:x --hostname-bin:x -z:x --search-zip:x -A:v -B:v -C:v \
                  -g:v --glob:v --iglob:v -t:v --type:v -T:v --type-not:v -m:v --max-count:v -j:v -M:v -d:v --max-depth:v -r:v \
                  --replace:v --ignore-file:r --sort:v --sortr:v --type-add:v --type-clear:v --color:v --colors:v -E:v --encoding:v \
                  --context:v --after-context:v --before-context:v --threads:v --max-columns:v --engine:v --path-separator:v \
                  --pre-glob:v --generate:v --max-filesize:v --context-separator:v --field-match-separator:v";

/// `rg`.
pub(super) fn rg(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    search(study, "rg", RG, words, deeds);
}

fn search(study: &mut Study<'_>, name: &str, options: &str, words: &[Word], deeds: &mut Vec<Deed>) {
    let given = read(options, words);
    if given.doubtful && matter(options) {
        deeds.push(Deed::Opaque(format!("a word that is not known may be an option of `{name}`")));
    }
    let (mut expression, mut all) = (false, name == "rg");
    for (effect, value) in &given.found {
        match (effect, value) {
            ('e' | 'E', _) => expression = true,
            ('f', Some(value)) => {
                expression = true;
                deeds.push(Deed::Read(study.target(value)));
            }
            ('r', Some(value)) => deeds.push(Deed::Read(study.target(value))),
            ('d', _) => all = true,
            ('x', _) => deeds.push(Deed::Opaque(format!("an option lets `{name}` run something else"))),
            _ => {}
        }
    }
    let read = if all { Deed::ReadAll } else { Deed::Read };
    let operands: Vec<&Word> = given.operands.iter().skip(usize::from(!expression)).collect();
    if operands.is_empty() && all {
        deeds.push(read(study.target(&Word::known("."))));
    }
    let files = operands.into_iter().filter(|word| word.text() != Some("-"));
    deeds.extend(files.map(|word| read(study.target(word))));
}
