//! `git`: which of its subcommands only look.

use super::options::read;
use crate::deed::{Deed, Target};
use crate::shell::Word;
use crate::study::Study;

/// Subcommands that only look, and the options that make them do more.
const LOOKING: &[(&str, &str)] = &[
    ("annotate", "--contents:r"),
    ("blame", "--contents:r --ignore-revs-file:r -L:v -S:r"),
    ("cat-file", ""),
    ("check-attr", ""),
    ("check-ignore", ""),
    ("cherry", ""),
    ("count-objects", ""),
    ("describe", ""),
    ("diff", DIFF),
    ("diff-files", DIFF),
    ("diff-index", DIFF),
    ("diff-tree", DIFF),
    ("for-each-ref", ""),
    ("grep", "-O:x --open-files-in-pager:x -f:r --ext-grep:x -e:v -A:v -B:v -C:v -m:v"),
    ("log", DIFF),
    ("ls-files", "-X:r --exclude-from:r -x:v --exclude:v"),
    ("ls-tree", ""),
    ("merge-base", ""),
    ("name-rev", ""),
    ("range-diff", DIFF),
    ("rev-list", ""),
    ("rev-parse", ""),
    ("shortlog", DIFF),
    ("show", DIFF),
    ("show-branch", ""),
    ("show-ref", ""),
    ("status", ""),
    ("var", ""),
    ("version", ""),
    ("whatchanged", DIFF),
];
const DIFF: &str = "--output:w --ext-diff:x -O:r -S:v -G:v -n:v -U:v --format:v --pretty:v --author:v --grep:v --since:v --until:v \
                    --after:v --before:v --date:v --output-indicator-new:v --output-indicator-old:v --output-indicator-context:v";

/// Subcommands that reach out.
const REACHING: &[&str] = &[
    "archive",
    "clone",
    "fetch",
    "ls-remote",
    "pull",
    "push",
    "remote",
    "request-pull",
    "send-email",
    "submodule",
    "svn",
];

/// `git`.
pub(super) fn git(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let here = study.cwd.clone();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        match word.text() {
            Some(
                "--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" | "--no-replace-objects",
            ) => at += 1,
            Some("--version" | "--help") => return,
            Some("-C") => {
                // It looks there, so it does not stay where it was.
                let target = words.get(at + 1).map(|word| study.target(word));
                study.cwd = match target {
                    Some(Target::OneOf(paths)) => Some(paths),
                    _ => None,
                };
                at += 2;
            }
            Some(text) if text.starts_with('-') => {
                // `-c` among them, with which git can be made to run anything.
                let why = format!("`{text}` changes what git does");
                deeds.push(Deed::Opaque(why));
                at += if matches!(
                    text,
                    "-c" | "--git-dir" | "--work-tree" | "--exec-path" | "--namespace" | "--config-env"
                ) {
                    2
                } else {
                    1
                };
            }
            _ => break,
        }
    }
    let rest = words.get(at + 1..).unwrap_or_default();
    match words.get(at).map(Word::text) {
        None => {}
        Some(None) => {
            deeds.push(Deed::Opaque("what git is told to do is known only when it runs".to_owned()));
        }
        Some(Some(subcommand)) => self::subcommand(study, subcommand, rest, deeds),
    }
    study.cwd = here;
}

fn subcommand(study: &mut Study<'_>, subcommand: &str, words: &[Word], deeds: &mut Vec<Deed>) {
    if let Ok(at) = LOOKING.binary_search_by(|(name, _)| (*name).cmp(subcommand)) {
        let options = LOOKING.get(at).map_or("", |(_, options)| options);
        return look(study, options, words, deeds);
    }
    if lists(subcommand, words) {
        return;
    }
    if REACHING.contains(&subcommand) {
        deeds.push(Deed::Net(None));
    }
    // A subcommand may be an alias of somebody's, and most run hooks.
    deeds.push(Deed::Opaque(format!("`git {subcommand}` is not known to only read")));
    deeds.push(Deed::Write(study.target(&Word::known(".git"))));
}

fn look(study: &mut Study<'_>, options: &str, words: &[Word], deeds: &mut Vec<Deed>) {
    let given = read(options, words);
    if given.doubtful && super::options::matter(options) {
        deeds.push(Deed::Opaque("a word that is not known may be an option of git".to_owned()));
    }
    for (effect, value) in &given.found {
        match (effect, value) {
            ('w', Some(file)) => deeds.push(Deed::Write(study.target(file))),
            ('w', None) => deeds.push(Deed::Write(Target::Unknown("--output".to_owned()))),
            ('r', Some(file)) => deeds.push(Deed::Read(study.target(file))),
            ('x', _) => deeds.push(Deed::Opaque("an option lets git run something else".to_owned())),
            _ => {}
        }
    }
    for word in &given.operands {
        deeds.push(Deed::Read(study.target(word)));
        // `HEAD:path` names a file, too.
        if let Some((_, path)) = word.text().and_then(|text| text.split_once(':')) {
            deeds.push(Deed::Read(study.target(&Word::known(path))));
        }
    }
}

/// Whether a subcommand that can do both only lists here.
fn lists(subcommand: &str, words: &[Word]) -> bool {
    let texts: Option<Vec<&str>> = words.iter().map(Word::text).collect();
    let Some(texts) = texts else { return false };
    let only = |allowed: &[&str]| {
        texts
            .iter()
            .all(|text| allowed.iter().any(|flag| text == flag || text.starts_with(&format!("{flag}="))))
    };
    match subcommand {
        "branch" => {
            let flags = [
                "-a",
                "-r",
                "-v",
                "-vv",
                "--all",
                "--remotes",
                "--show-current",
                "--no-color",
                "--verbose",
                "--sort",
                "--format",
                "--list",
                "-l",
            ];
            // With `--list`, other words are patterns.
            only(&flags)
                || texts.first().is_some_and(|first| matches!(*first, "--list" | "-l"))
                    && texts.iter().skip(1).all(|text| !text.starts_with('-') || flags.contains(text))
        }
        "tag" => {
            texts.is_empty()
                || matches!(texts.first(), Some(&"-l" | &"--list"))
                    && texts
                        .iter()
                        .skip(1)
                        .all(|text| !text.starts_with('-') || text.starts_with("--sort=") || *text == "-n")
        }
        "remote" => {
            only(&["-v", "--verbose"])
                || matches!(texts.as_slice(), ["get-url", name] if !name.starts_with('-'))
        }
        "stash" => matches!(texts.as_slice(), ["list" | "show"] | ["show", "-p"]),
        "worktree" => matches!(texts.as_slice(), ["list"] | ["list", "--porcelain"]),
        "config" => {
            matches!(texts.as_slice(), ["--list" | "-l" | "list"] | ["--get" | "--get-all" | "get", _])
        }
        "reflog" => matches!(texts.as_slice(), [] | ["show"]),
        "submodule" => matches!(texts.as_slice(), ["status"]),
        "notes" => matches!(texts.as_slice(), ["list"]),
        "bisect" => matches!(texts.as_slice(), ["log"]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(LOOKING.is_sorted_by_key(|(name, _)| *name));
    }
}
