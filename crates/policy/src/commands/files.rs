//! Commands that write files in ways of their own.

use super::options::read;
use crate::deed::{Deed, Target};
use crate::shell::Word;
use crate::study::Study;

/// `chmod`, `chown` and `chgrp`: the mode first, then the files.
pub(super) fn mode(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let given = read("--reference:f -R:d --recursive:d", words);
    let reference = given.found.iter().any(|(effect, _)| *effect == 'f');
    let all = given.found.iter().any(|(effect, _)| *effect == 'd');
    // `chmod -x file` has a mode that looks like an option.
    let dashed = words.iter().any(|word| {
        word.text().is_some_and(|text| {
            text.starts_with('-')
                && text.get(1..).is_some_and(|mode| mode.contains(['r', 'w', 'x', 's', 't']))
        })
    });
    let operands = given.operands.iter().skip(usize::from(!reference && !dashed));
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
        } else if word.text().is_none() && !word.beginning().contains('=') {
            deeds.push(Deed::Write(Target::Unknown(word.source().to_owned())));
        }
    }
}

/// `mktemp`: somewhere among the temporary files, unless it is told where.
pub(super) fn mktemp(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let given = read("-p:t --tmpdir:i --suffix:v -t:i", words);
    for (effect, value) in &given.found {
        if let ('t', Some(value)) = (effect, value) {
            deeds.push(Deed::Write(study.target(value)));
        }
    }
    let temporary = given.found.iter().any(|(effect, _)| matches!(effect, 't' | 'i'));
    let plain = words.iter().all(|word| !word.beginning().starts_with("--tmpdir="));
    if !plain {
        deeds.push(Deed::Write(Target::Unknown("--tmpdir".to_owned())));
    }
    if !temporary {
        deeds.extend(given.operands.iter().map(|word| Deed::Write(study.target(word))));
    }
}

const TAR: &str = "-f:w --file:w -C:t --directory:t -T:r --files-from:r -X:r --exclude-from:r --exclude:v -I:x --use-compress-program:x \
                   --to-command:x --checkpoint-action:x -F:x --info-script:x --new-volume-script:x --rsh-command:x --rmt-command:x \
                   --remove-files:i -g:w --listed-incremental:w --strip-components:v --transform:v --xform:v --index-file:w \
                   -V:v -b:v -H:v --format:v --owner:v --group:v --mode:v --mtime:v -K:v -N:v";

/// `tar`: listing reads, creating writes the archive, extracting writes where it is.
pub(super) fn tar(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let mut words = words.to_vec();
    // The first word may be options without a dash: `tar xzf a.tgz`.
    if let Some(first) = words.first_mut()
        && let Some(text) = first.text().filter(|text| !text.starts_with('-') && !text.contains(['/', '.']))
    {
        *first = Word::known(&format!("-{text}"));
    }
    let given = read(TAR, &words);
    if given.doubtful {
        deeds.push(Deed::Opaque("a word that is not known may be an option of `tar`".to_owned()));
    }
    let letters: String = words
        .iter()
        .map(Word::beginning)
        .filter(|text| text.starts_with('-') && !text.starts_with("--"))
        .collect();
    let long =
        |names: &[&str]| words.iter().any(|word| names.iter().any(|name| word.beginning().starts_with(name)));
    let lists = letters.contains('t') || long(&["--list"]);
    let extracts = letters.contains('x') || long(&["--ext", "--get"]);
    let only_reads = lists
        && !letters.contains(['x', 'c', 'r', 'u', 'A'])
        && !long(&["--cr", "--con", "--cat", "--ext", "--get", "--app", "--upd", "--del"]);
    let mut into = None;
    for (effect, value) in &given.found {
        match (effect, value) {
            ('w', Some(file)) if file.text().is_some_and(|text| text.contains(':')) => {
                deeds.push(Deed::Net(None));
            }
            ('w', Some(file)) if file.text() == Some("-") => {}
            ('w', Some(file)) if only_reads || extracts => deeds.push(Deed::Read(study.target(file))),
            ('w', Some(file)) => deeds.push(Deed::Write(study.target(file))),
            ('t', Some(directory)) => into = Some(study.target(directory)),
            ('r', Some(file)) => deeds.push(Deed::Read(study.target(file))),
            ('x', _) => deeds.push(Deed::Opaque("an option lets `tar` run something else".to_owned())),
            ('i', _) => deeds.push(Deed::Opaque("`tar` removes what it has packed".to_owned())),
            _ => {}
        }
    }
    if only_reads {
        return;
    }
    if extracts {
        deeds.push(Deed::Write(into.unwrap_or_else(|| study.target(&Word::known(".")))));
        if letters.contains('P') || long(&["--abs"]) {
            deeds.push(Deed::Write(Target::Unknown("whatever the archive names".to_owned())));
        }
    } else {
        deeds.extend(given.operands.iter().map(|word| Deed::ReadAll(study.target(word))));
        deeds.extend(into.map(Deed::ReadAll));
    }
}

/// `unzip`: `-l` lists, else it writes where it is or where it is told.
pub(super) fn unzip(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let given = read("-d:t -P:v -x:v", words);
    deeds.extend(given.operands.first().map(|word| Deed::Read(study.target(word))));
    let lists = words.iter().any(|word| matches!(word.text(), Some("-l" | "-v" | "-t" | "-Z" | "-p" | "-z")));
    if lists {
        return;
    }
    let into = given.found.iter().find_map(|(effect, value)| value.as_ref().filter(|_| *effect == 't'));
    deeds.push(Deed::Write(study.target(into.unwrap_or(&Word::known(".")))));
}
