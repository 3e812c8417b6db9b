//! `git`: which of its subcommands only look.

mod runs;

use super::options::read;
use crate::Place;
use crate::deed::{Deed, Target};
use crate::glob::is_pattern;
use crate::shell::Word;
use crate::study::Study;

/// Subcommands that only look, and their options.
const LOOKING: &[(&str, &str)] = &[
    ("annotate", BLAME),
    ("blame", BLAME),
    (
        "cat-file",
        "-etsp --batch:o --batch-check:o --textconv:x --filters:x --path:v --follow-symlinks --buffer --batch-all-objects --unordered",
    ),
    ("check-attr", "-az --stdin --cached --all"),
    ("check-ignore", "-qvnz --stdin --quiet --verbose --non-matching --no-index"),
    ("cherry", "-v --abbrev:o"),
    ("count-objects", "-vH --verbose --human-readable"),
    (
        "describe",
        "--all --tags --contains --abbrev:o --candidates:v --exact-match --debug --long --match:v --exclude:v --always \
         --first-parent --dirty:o --broken:o",
    ),
    ("diff", DIFF),
    ("diff-files", DIFF),
    ("diff-index", DIFF),
    ("diff-tree", DIFF),
    (
        "for-each-ref",
        "--format:p --sort:p --count:v --points-at:v --merged:o --no-merged:o --contains:o --no-contains:o --ignore-case --color:o",
    ),
    (
        "grep",
        "-aIiwvhHlLzrcnopWqEGFP -O:x -f:r -e:v -A:v -B:v -C:v -m:v -# --open-files-in-pager:x --ext-grep:x --textconv:x --cached \
         --untracked --no-index --no-exclude-standard --exclude-standard --recurse-submodules --text --ignore-case \
         --word-regexp --invert-match --full-name --extended-regexp --basic-regexp --perl-regexp --fixed-strings \
         --line-number --column --files-with-matches --name-only --files-without-match --null --only-matching --count \
         --color:o --no-color --break --heading --show-function --function-context --context:v --after-context:v \
         --before-context:v --max-count:v --max-depth:v --threads:v --and --or --not --all-match --quiet",
    ),
    ("log", DIFF),
    (
        "ls-files",
        "-cdomkustvfz -x:v -X:r --cached --deleted --others --modified --killed --unmerged --stage --ignored --directory \
         --no-empty-directory --exclude:v --exclude-from:r --exclude-per-directory:v --exclude-standard --error-unmatch \
         --full-name --recurse-submodules --abbrev:o --eol --deduplicate --format:v --sparse",
    ),
    (
        "ls-tree",
        "-drtlz --name-only --name-status --object-only --full-name --full-tree --long --abbrev:o --format:v",
    ),
    ("merge-base", "-a --all --octopus --independent --is-ancestor --fork-point"),
    (
        "name-rev",
        "--tags --refs:v --exclude:v --all --name-only --no-undefined --always --annotate-stdin --stdin",
    ),
    ("range-diff", DIFF),
    ("rev-list", DIFF),
    ("rev-parse", "*"),
    (
        "shortlog",
        "-nsec -w:o --numbered --summary --email --format:p --group:p --committer --all --since:v --until:v --no-merges \
         --author:v --grep:v --after:v --before:v --merges --branches:o --tags:o",
    ),
    ("show", DIFF),
    ("show-branch", "*"),
    ("show-ref", "*"),
    (
        "status",
        "-sbvz -u:o --short --branch --show-stash --porcelain:o --long --verbose --untracked-files:o --ignore-submodules:o \
         --ignored:o --column:o --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames:o",
    ),
    ("var", "*"),
    ("version", "*"),
    ("whatchanged", DIFF),
];
const BLAME: &str = "-bltfnswpce -L:v -S:r -M:o -C:o --contents:r --ignore-rev:v --ignore-revs-file:r --porcelain --line-porcelain \
                     --incremental --show-name --show-number --show-email --show-stats --root --date:v --reverse --first-parent \
                     --since:v --abbrev:o --color-lines --color-by-age --progress --no-progress";
/// Of `diff` and of all that show changes.
const DIFF: &str = "-pusazbwWRiEFPcgmtrq -U:v -O:r -S:v -G:v -n:v -l:v -L:e -B:o -M:o -C:o -D -I:v -X:o -# --output:w --ext-diff:x \
                    --textconv:x --show-signature:x --no-textconv --no-ext-diff --oneline --graph --decorate:o --no-decorate --all \
                    --branches:o --tags:o --remotes:o --stat:o --numstat --shortstat --dirstat:o --summary --name-only \
                    --name-status --patch --no-patch --raw --patch-with-stat --patch-with-raw --cached --staged --merge-base \
                    --color:o --no-color --color-words:o --word-diff:o --word-diff-regex:v --no-renames --find-renames:o \
                    --find-copies:o --find-copies-harder --follow --full-history --first-parent --merges --no-merges --reverse \
                    --date-order --topo-order --author-date-order --since:v --until:v --after:v --before:v --author:v \
                    --committer:v --grep:v --all-match --invert-grep --regexp-ignore-case --extended-regexp --fixed-strings \
                    --perl-regexp --max-count:v --skip:v --format:p --pretty:P --abbrev:o --abbrev-commit --no-abbrev-commit \
                    --date:v --relative-date --relative:o --no-relative --parents --children --left-right --cherry --cherry-pick \
                    --cherry-mark --left-only --right-only --boundary --simplify-by-decoration --walk-reflogs --merge --no-walk:o \
                    --notes:o --no-notes --source --encoding:v --no-index --exit-code --quiet --check --full-index --binary \
                    --unified:v --diff-algorithm:v --patience --histogram --minimal --anchored:v --indent-heuristic \
                    --no-indent-heuristic --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines \
                    --ignore-matching-lines:v --ignore-cr-at-eol --inter-hunk-context:v --function-context --text \
                    --diff-filter:v --pickaxe-all --pickaxe-regex --submodule:o --ignore-submodules:o --src-prefix:v \
                    --dst-prefix:v --no-prefix --default-prefix --line-prefix:v --output-indicator-new:v \
                    --output-indicator-old:v --output-indicator-context:v --ws-error-highlight:v --irreversible-delete \
                    --break-rewrites:o --no-rename-empty --base --ours --theirs --cc --remerge-diff --diff-merges:v \
                    --no-diff-merges --compact-summary --color-moved:o --color-moved-ws:v --stat-width:v --stat-count:v \
                    --stat-name-width:v --ancestry-path:o --show-pulls --full-diff --log-size --use-mailmap --no-mailmap \
                    --clear-decorations --decorate-refs:v --decorate-refs-exclude:v --exclude:v --glob:v --dense --sparse \
                    --simplify-merges --expand-tabs:o --no-expand-tabs --creation-factor:v --count --objects --disk-usage:o \
                    --root --no-commit-id --stdin";

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
            Some("--version") => return,
            // With a word behind it, the settings say which program shows the manual.
            Some("--help") if words.len() == at + 1 => return,
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
                let why = format!("`{text}` changes what git does");
                deeds.push(if runs::is_text(text, words.get(at + 1)) {
                    Deed::Hidden(why)
                } else {
                    Deed::Opaque(why)
                });
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
    // The settings of another repository, or of what looks like one, may make git run something.
    if study.cwd.as_deref().is_none_or(|places| places.iter().any(|place| *place != study.place.workdir)) {
        deeds.push(Deed::Opaque("git obeys the settings of wherever it is".to_owned()));
    } else if poses(study.place) {
        deeds.push(Deed::Opaque("git obeys settings that anybody may have put there".to_owned()));
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

/// Whether what git takes for the repository around the working directory is none that is kept from commands: a directory
/// that only looks like one, or one among temporary files.
fn poses(place: &Place) -> bool {
    for dir in place.workdir.ancestors() {
        match place.is_repository(dir) {
            None => return false,
            Some(true) => {
                return dir != place.workdir && place.temp.iter().any(|temp| dir.starts_with(temp));
            }
            Some(false) if place.finds.any(&dir.join("HEAD")) == Some(true) => return true,
            Some(false) => {}
        }
    }
    false
}

fn subcommand(study: &mut Study<'_>, subcommand: &str, words: &[Word], deeds: &mut Vec<Deed>) {
    if let Ok(at) = LOOKING.binary_search_by(|(name, _)| (*name).cmp(subcommand)) {
        let options = LOOKING.get(at).map_or("", |(_, options)| options);
        return look(study, subcommand, options, words, deeds);
    }
    if lists(subcommand, words) {
        return;
    }
    if REACHING.contains(&subcommand) {
        deeds.push(Deed::Net(None));
    }
    runs::run(study, subcommand, words, deeds);
    // A subcommand may be an alias of somebody's, and most run hooks.
    deeds.push(Deed::Opaque(format!("`git {subcommand}` is not known to only read")));
    deeds.push(Deed::Write(study.target(&Word::known(".git"))));
}

fn look(study: &mut Study<'_>, subcommand: &str, options: &str, words: &[Word], deeds: &mut Vec<Deed>) {
    let given = read(options, words);
    deeds.extend(given.unclear("git", options).map(Deed::Opaque));
    super::done(study, "git", &given, deeds);
    // These go into directories, `diff` also into some that are outside of the repository.
    let whole = matches!(subcommand, "diff" | "grep");
    let read = if whole { Deed::ReadAll } else { Deed::Read };
    let among_paths =
        words.iter().position(|word| word.text() == Some("--")).is_some_and(|at| at + 1 < words.len());
    if subcommand == "grep" && !among_paths {
        deeds.push(Deed::ReadAll(study.target(&Word::known("."))));
    }
    for word in &given.operands {
        deeds.push(read(study.target(word)));
        // `HEAD:path` names a file, too.
        deeds.extend(word.text().into_iter().flat_map(|text| behind_colons(study, text)));
        let Some(text) = word.text().filter(|text| is_pattern(text)) else { continue };
        // Patterns of git go through directories, and stand for names with a dot.
        if whole {
            deeds.push(read(study.target(&Word::known("."))));
        }
        deeds.extend(super::chosen(study, text));
    }
    // `-L 1,9:path` as well.
    for lines in given.values('e') {
        match lines.text() {
            Some(text) => deeds.extend(behind_colons(study, text)),
            None => deeds.push(Deed::Read(study.target(lines))),
        }
    }
}

/// The files that may be named behind a colon: each, because there may be colons in what is before, and in the path.
fn behind_colons(study: &Study<'_>, text: &str) -> Vec<Deed> {
    const MOST: usize = 8;
    let mut paths: Vec<&str> = Vec::new();
    for (at, _) in text.match_indices(':') {
        if paths.len() >= MOST {
            return vec![Deed::Unclear("a name with too many colons for git".to_owned())];
        }
        let path = text.get(at + 1..).unwrap_or_default();
        // `:(top)path` and `:/path` are from the top; what is left out is not read.
        let magic = path.strip_prefix('(').and_then(|path| path.split_once(')')).filter(|_| at == 0);
        match magic {
            Some((words, _)) if words.split(',').any(|word| word == "exclude") => {}
            None if at == 0 && path.starts_with(['!', '^']) => {}
            Some((_, path)) => paths.push(path),
            None if at == 0 && path.starts_with('/') => paths.extend([path, path.trim_start_matches('/')]),
            None => paths.push(path),
        }
    }
    let paths = paths.into_iter().filter(|path| !path.is_empty());
    let deeds = |path: &str| {
        let named = Deed::Read(study.target(&Word::known(path)));
        std::iter::once(named)
            .chain(super::chosen(study, path).filter(|_| is_pattern(path)))
            .collect::<Vec<_>>()
    };
    paths.flat_map(deeds).collect()
}

/// Whether a format, or what is sorted by, wants to know who signed something: another program is asked that.
pub(super) fn asks_who_signed(format: &Word) -> bool {
    let Some(text) = format.text() else { return true };
    let key = text.rsplit('=').next().unwrap_or(text).trim_start_matches(['-', '*']).starts_with("signature");
    let letter = |rest: &str| rest.trim_start_matches(['+', '-', ' ']).starts_with('G');
    key || text.contains("(signature") || text.contains("(*signature") || text.split('%').skip(1).any(letter)
}

/// Whether a subcommand does, or can be told to do, more than what its name says: to run a text, or to write elsewhere.
pub(super) fn has_powers(subcommand: &str) -> bool {
    LOOKING.binary_search_by(|(name, _)| (*name).cmp(subcommand)).is_ok()
        || REACHING.contains(&subcommand)
        || runs::can(subcommand)
        || matches!(subcommand, "format-patch" | "init" | "reflog" | "stash")
}

/// Whether a subcommand that can do both only lists here.
fn lists(subcommand: &str, words: &[Word]) -> bool {
    let texts: Option<Vec<&str>> = words.iter().map(Word::text).collect();
    let Some(texts) = texts else { return false };
    if words.iter().any(asks_who_signed) {
        return false;
    }
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
            let scope = |text: &&str| matches!(*text, "--global" | "--local" | "--system" | "--worktree");
            let rest: Vec<&str> = texts.into_iter().filter(|text| !scope(text)).collect();
            matches!(rest.as_slice(), ["--list" | "-l" | "list"] | ["--get" | "--get-all" | "get", _])
                // With nothing behind it, a key is asked for.
                || matches!(rest.as_slice(), [key] if key.contains('.') && !key.starts_with('-'))
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
