//! Commands that write files in ways of their own.

use std::path::{Path, PathBuf};

use super::done;
use super::options::{Given, read};
use super::wrappers::line;
use crate::deed::{Deed, Target};
use crate::paths::{guarded, is_open};
use crate::shell::Word;
use crate::study::Study;

/// What copying or moving does: all but the last are read or taken away, into the last, or into the directories
/// that an option gave.
pub(super) fn copied(
    study: &Study<'_>,
    moves: bool,
    all: bool,
    into: &[Word],
    operands: &[Word],
    deeds: &mut Vec<Deed>,
) {
    let (sources, last) = match operands.split_last() {
        Some((last, sources)) if into.is_empty() => (sources, Some(last)),
        _ => (operands, None),
    };
    let away = |target| match (moves, all) {
        (true, _) => Deed::Remove(target),
        (false, true) => Deed::ReadAll(target),
        (false, false) => Deed::Read(target),
    };
    deeds.extend(sources.iter().map(|word| away(study.target(word))));
    // Under another name it can be read by who may not read it under this.
    if moves {
        deeds.extend(sources.iter().map(|word| Deed::ReadAll(study.entry(word))));
    }
    deeds.extend(last.map(|word| Deed::Write(study.target(word))));
    if into.len() > 1 {
        return deeds.push(several());
    }
    // Where the last may be none, the one before it is the last.
    if last.is_some_and(Word::breaks) {
        deeds.extend(sources.iter().map(|word| Deed::Write(study.target(word))));
    }
    for directory in last.into_iter().chain(into) {
        let directory = study.target(directory);
        deeds.extend(open(&directory));
        let sources: Vec<Target> = sources.iter().map(|source| study.target(source)).collect();
        if count(&directory).saturating_mul(sources.iter().map(count).sum()) > MOST_PAIRS {
            return deeds.push(too_many());
        }
        for source in &sources {
            landed(study, &directory, source, moves, all, deeds);
        }
    }
}

/// How many files may be thought to be put into how many directories.
pub(super) const MOST_PAIRS: usize = 8192;

/// Why such a command is not worked out.
pub(super) fn too_many() -> Deed {
    Deed::Unclear("it puts too many files into too many places".to_owned())
}

/// What it means to name more than one directory to put things into, which these commands refuse.
fn several() -> Deed {
    Deed::Unclear("it is told of more than one directory to put things into".to_owned())
}

fn count(target: &Target) -> usize {
    match target {
        Target::OneOf(paths) => paths.len(),
        Target::Unknown(_) => 1,
    }
}

/// What is put into a file that is open by then: that may be a directory, and any.
fn open(directory: &Target) -> Option<Deed> {
    super::is_one(directory, is_open).then(|| Deed::Write(Target::Unknown("what is open there".to_owned())))
}

/// Keeps in mind where copying or moving may have put links: those that it is told to keep, or that are among what it
/// takes as it is.
pub(super) fn linked(study: &mut Study<'_>, whole: bool, keeps: bool, into: &[Word], operands: &[Word]) {
    let (sources, last) = match operands.split_last() {
        Some((last, sources)) if into.is_empty() => (sources, Some(last)),
        _ => (operands, None),
    };
    if !(keeps || whole && sources.iter().any(|word| study.may_hold_links(word))) {
        return;
    }
    let places: Vec<Target> = last.into_iter().chain(into).map(|word| study.named(word)).collect();
    for place in &places {
        study.link(place, true);
    }
}

/// What something that is put into a directory becomes there, if that matters: settings keep their names, and what is
/// copied onto a link goes where that leads.
fn landed(
    study: &Study<'_>,
    directory: &Target,
    source: &Target,
    moves: bool,
    all: bool,
    deeds: &mut Vec<Deed>,
) {
    let (Target::OneOf(directories), Target::OneOf(sources)) = (directory, source) else { return };
    let there = |source: &PathBuf| {
        let name = source.file_name().map(PathBuf::from).unwrap_or_default();
        directories.iter().map(move |directory| directory.join(&name)).collect::<Vec<_>>()
    };
    let settings = |path: &PathBuf| guarded(path, study.place).is_some();
    let mut landed: Vec<PathBuf> = sources.iter().flat_map(there).collect();
    if !moves {
        deeds.extend(landed.iter().filter_map(|path| study.written_to(path)).map(Deed::Write));
    }
    landed.retain(settings);
    if !landed.is_empty() {
        deeds.push(Deed::Write(Target::OneOf(landed)));
    }
    // What is in a directory from elsewhere is not known, and links in it least of all.
    let elsewhere = |path: &PathBuf| !path.starts_with(&study.place.workdir);
    let here = |path: &PathBuf| path.starts_with(&study.place.workdir);
    if all && sources.iter().any(elsewhere) && directories.iter().any(here) {
        deeds.push(Deed::Write(Target::Unknown("whatever is in it".to_owned())));
    }
}

const LN: &str = "-bfinrvLPTF -s:E -S:v -t:t --backup:o --force --interactive --logical --no-dereference --no-target-directory --physical \
                  --relative --suffix:v --symbolic:E --target-directory:t --verbose";

/// `ln`: what is written through the link is written where it leads.
pub(super) fn link(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let given = read(LN, words);
    deeds.extend(given.unclear("ln", LN).map(Deed::Opaque));
    let into: Vec<&Word> = given.values('t').collect();
    if into.len() > 1 {
        return deeds.push(several());
    }
    let (sources, last) = match given.operands.split_last() {
        Some((last, sources)) if into.is_empty() && !sources.is_empty() => (sources, Some(last)),
        _ => (given.operands.as_slice(), None),
    };
    deeds.extend(last.into_iter().chain(into.iter().copied()).map(|word| Deed::Write(study.named(word))));
    deeds.extend(last.into_iter().chain(into.iter().copied()).filter_map(|word| open(&study.named(word))));
    let places: Vec<PathBuf> = last
        .into_iter()
        .chain(into)
        .filter_map(|word| match study.named(word) {
            Target::OneOf(paths) => Some(paths),
            Target::Unknown(_) => None,
        })
        .flatten()
        .collect();
    if places.len().saturating_mul(sources.len()) > MOST_PAIRS {
        return deeds.push(too_many());
    }
    for word in sources {
        let source = study.named(word);
        // A relative one is followed from where the link is.
        if let Some(text) = word.text().filter(|text| !text.starts_with('/')) {
            let from = |place: &PathBuf| {
                let above = place.parent().unwrap_or(Path::new("/"));
                [crate::paths::normal(&above.join(text)), crate::paths::normal(&place.join(text))]
            };
            // A link beside it leads into the directory, a link in it out of that; both may be.
            let paths: Vec<PathBuf> = places.iter().flat_map(from).collect();
            if !paths.is_empty() && text.split('/').any(|part| part == "..") {
                deeds.push(Deed::Write(Target::OneOf(paths)));
            }
        }
        // One that is the file itself can be read by who may not read it under its name.
        if !given.has('E') {
            deeds.push(Deed::Read(source.clone()));
        }
        deeds.push(Deed::Write(source));
    }
}

const MODE: &str = "-cfv -R:d --changes --silent --quiet --verbose --recursive:d --reference:f --preserve-root --no-dereference -h";

/// `chmod`, `chown` and `chgrp`: the mode first, then the files.
pub(super) fn mode(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    // `chmod -x file` has a mode that looks like an option.
    let is_mode = |word: &Word| {
        word.text().is_some_and(|text| {
            text.strip_prefix('-')
                .is_some_and(|mode| !mode.is_empty() && mode.chars().all(|c| "rwxXst".contains(c)))
        })
    };
    let dashed = words.iter().any(is_mode);
    let own: Vec<Word> = words.iter().filter(|word| !is_mode(word)).cloned().collect();
    let given = read(MODE, &own);
    deeds.extend(given.unclear("chmod", MODE).map(Deed::Opaque));
    if given.doubtful {
        deeds.push(Deed::Write(Target::Unknown("its files".to_owned())));
    }
    done(study, "chmod", &given, deeds);
    let all = given.has('d');
    let operands = given.operands.iter().skip(usize::from(!given.has('f') && !dashed));
    deeds.extend(operands.map(|word| {
        let target = study.target(word);
        if all { Deed::Remove(target) } else { Deed::Write(target) }
    }));
}

/// `dd of=file`.
pub(super) fn dd(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    for word in words {
        if let Some(file) = word.without("of=") {
            deeds.push(Deed::Write(study.target(&file)));
        } else if let Some(file) = word.without("if=") {
            deeds.push(Deed::Read(study.target(&file)));
        }
        if word.breaks() || word.text().is_none() && !word.beginning().contains('=') {
            deeds.push(Deed::Write(Target::Unknown(word.source().to_owned())));
        }
    }
}

const MKTEMP: &str = "-dqut -p:t --directory --dry-run --quiet --suffix:v --tmpdir:o";

/// `mktemp`: somewhere among the temporary files, unless it is told where.
pub(super) fn mktemp(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let given = read(MKTEMP, words);
    deeds.extend(given.unclear("mktemp", MKTEMP).map(Deed::Opaque));
    let places: Vec<&Word> = given.values('t').chain(given.values('o')).collect();
    deeds.extend(places.iter().map(|word| Deed::Write(study.target(word))));
    deeds.extend(places.iter().filter_map(|word| open(&study.target(word))));
    if given.values('v').any(|suffix| suffix.text().is_none_or(|text| text.contains('/'))) {
        deeds.push(Deed::Write(Target::Unknown("--suffix".to_owned())));
    }
    let temporary = words.iter().any(|word| {
        let text = word.beginning();
        text.starts_with("--tmpdir") || text.starts_with("-p") || matches!(text, "-t" | "-dt")
    });
    if temporary || given.operands.is_empty() {
        let place = study.place.temp.first().cloned().unwrap_or_else(|| PathBuf::from("/tmp"));
        deeds.push(Deed::Write(Target::OneOf(vec![place.join("tmp")])));
    }
    for word in &given.operands {
        let up = word.text().is_none_or(|text| text.split('/').any(|part| part == ".."));
        if !temporary {
            deeds.push(Deed::Write(study.target(word)));
        } else if up || word.beginning().starts_with('/') {
            deeds.push(Deed::Write(Target::Unknown(word.source().to_owned())));
        }
    }
}

const TAR: &str = "-tvzjJakmpswOSUWihnl -x:d -c:i -r:i -u:i -A:i -d:l -f:e -C:t -T:L -X:r -I:X -F:X -g:w -P:E -V:v -b:v -H:v -K:v -N:v \
                   --list --extract:d --get:d --create:i --append:i --update:i --delete:i --catenate:i --concatenate:i \
                   --file:e --directory:t --files-from:L --exclude-from:r --exclude:v --use-compress-program:X --to-command:X \
                   --checkpoint-action:X --info-script:X --new-volume-script:X --rsh-command:X --rmt-command:X --remove-files:u \
                   --listed-incremental:w --index-file:w --strip-components:v --transform:v --xform:v --one-top-level:o \
                   --format:v --owner:v --group:v --mode:v --mtime:v --sort:v --gzip --bzip2 --xz --zstd --verbose --totals \
                   --auto-compress --absolute-names:E --to-stdout --keep-old-files --overwrite --no-same-owner --numeric-owner \
                   --wildcards --anchored --no-recursion --dereference --exclude-vcs --full-time --warning:v --version --help";
/// Letters of `tar` that have a value.
const TAR_VALUED: &str = "fCTXIFgVbHKN";

/// `tar`: listing reads, creating writes the archive, extracting writes where it is.
pub(super) fn tar(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let words = dashed(words);
    let given = read(TAR, &words);
    deeds.extend(given.unclear("tar", TAR).map(Deed::Opaque));
    if given.has('X') || given.has('u') {
        deeds.push(Deed::Opaque("an option lets `tar` run or remove something".to_owned()));
    }
    let here = study.cwd.take();
    for told in given.values('X') {
        // What it does now and then is a command only behind this.
        let told = told.without("exec=").unwrap_or_else(|| told.clone());
        line(study, &told, deeds);
    }
    study.cwd = here;
    let extracts = given.has('d');
    let only_reads = !given.has('i') && !extracts;
    for word in given.values('e') {
        match word.text() {
            Some("-") => {}
            Some(text) if text.contains(':') => deeds.push(Deed::Net(None)),
            _ if only_reads || extracts => deeds.push(Deed::Read(study.target(word))),
            _ => deeds.push(Deed::Write(study.target(word))),
        }
    }
    deeds.extend(given.values('w').map(|word| Deed::Write(study.target(word))));
    deeds.extend(given.values('r').map(|word| Deed::Read(study.target(word))));
    deeds.extend(given.values('L').map(|word| Deed::Read(study.target(word))));
    if only_reads {
        return;
    }
    // A list names files, and also directories to go to.
    let listed = given.has('L').then(|| Target::Unknown("the files of a list".to_owned()));
    let told: Vec<Target> =
        given.values('t').chain(given.values('o')).map(|word| study.target(word)).collect();
    if !extracts {
        deeds.extend(given.operands.iter().map(|word| Deed::ReadAll(study.target(word))));
        deeds.extend(told.into_iter().chain(listed).map(Deed::ReadAll));
        return;
    }
    deeds.extend(listed.map(Deed::Write));
    unpacked(study, told, deeds);
    if given.has('E') {
        deeds.push(Deed::Write(Target::Unknown("whatever the archive names".to_owned())));
    }
}

/// The words with what has no dash as `tar` takes it: `tar xzf a.tgz` has `-x`, `-z`, and `-f a.tgz`.
fn dashed(words: &[Word]) -> Vec<Word> {
    let old = words.first().and_then(Word::text).filter(|text| !text.starts_with('-'));
    let Some(letters) = old else { return words.to_vec() };
    let mut rest = words.iter().skip(1);
    let mut all = Vec::new();
    for letter in letters.chars() {
        all.push(Word::known(&format!("-{letter}")));
        if TAR_VALUED.contains(letter) {
            all.extend(rest.next().cloned());
        }
    }
    all.extend(rest.cloned());
    all
}

/// What comes out of an archive is not known: where settings are kept it may be settings.
fn unpacked(study: &mut Study<'_>, told: Vec<Target>, deeds: &mut Vec<Deed>) {
    let told = if told.is_empty() { vec![study.target(&Word::known("."))] } else { told };
    for target in told {
        // There may be links in it.
        study.link(&target, false);
        let among_settings = super::is_one(&target, |path| study.place.workdir.starts_with(path));
        deeds.extend(open(&target));
        deeds.push(Deed::Write(target));
        if among_settings {
            deeds.push(Deed::Write(Target::Unknown("whatever the archive holds".to_owned())));
        }
    }
}

const UNZIP: &str = "-nojaCLKXVWqbuUf -d:t -P:v -l:l -v:l -t:l -Z:l -p:l -z:l -c:l";

/// `unzip`: `-l` lists, else it writes where it is or where it is told.
pub(super) fn unzip(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    // After the archive only `-d` and `-x` are options; the rest are names of what is in it.
    let (given, rest) = super::options::leading(UNZIP, words);
    deeds.extend(given.unclear("unzip", UNZIP).map(Deed::Opaque));
    let Given { doubtful, .. } = given;
    if doubtful {
        deeds.push(Deed::Opaque("which archive it unpacks is known only then".to_owned()));
    }
    deeds.extend(rest.first().map(|word| Deed::Read(study.target(word))));
    if given.has('l') {
        return;
    }
    let after = rest.iter().zip(rest.iter().skip(1)).filter(|(word, _)| word.beginning().starts_with("-d"));
    let mut told: Vec<Target> = given.values('t').map(|word| study.target(word)).collect();
    for (option, next) in after {
        told.push(match option.without("-d").filter(|own| own.text() != Some("")) {
            Some(own) => study.target(&own),
            None => study.target(next),
        });
    }
    if rest.iter().skip(1).any(|word| word.text().is_none()) {
        told.push(Target::Unknown("whatever it is told".to_owned()));
    }
    unpacked(study, told, deeds);
}
