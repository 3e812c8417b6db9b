//! What `git` can be told to run by its words.

use super::super::wrappers::line;
use crate::deed::Deed;
use crate::shell::Word;
use crate::study::Study;

/// Options whose value is run, of subcommands that do more than look.
const RUNNING: &[(&str, &[&str])] = &[
    ("archive", &["--exec"]),
    ("clone", &["-u", "--upload-pack"]),
    ("daemon", &["--access-hook"]),
    ("difftool", &["-x", "--extcmd"]),
    ("fetch", &["--upload-pack"]),
    ("fetch-pack", &["--exec", "--upload-pack"]),
    (
        "filter-branch",
        &[
            "--commit-filter",
            "--env-filter",
            "--index-filter",
            "--msg-filter",
            "--parent-filter",
            "--setup",
            "--tag-name-filter",
            "--tree-filter",
        ],
    ),
    ("instaweb", &["-b", "-d", "--browser", "--httpd"]),
    ("ls-remote", &["--exec", "--upload-pack"]),
    ("pull", &["--upload-pack"]),
    ("push", &["--exec", "--receive-pack"]),
    ("send-email", &["--cc-cmd", "--header-cmd", "--sendmail-cmd", "--smtp-server", "--to-cmd"]),
    ("send-pack", &["--exec", "--receive-pack"]),
    ("web--browse", &["-b", "--browser"]),
];

/// Settings that only say how something is called or shown.
const HARMLESS: &[&str] = &[
    "commit.gpgsign",
    "core.abbrev",
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.longpaths",
    "core.precomposeunicode",
    "core.quotepath",
    "diff.algorithm",
    "diff.renamelimit",
    "diff.renames",
    "fetch.prune",
    "init.defaultbranch",
    "log.date",
    "log.decorate",
    "merge.conflictstyle",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "rebase.autosquash",
    "rebase.autostash",
    "safe.directory",
    "tag.gpgsign",
];

/// Whether there are words with which a subcommand runs a text.
pub(super) fn can(subcommand: &str) -> bool {
    RUNNING.iter().any(|(name, _)| *name == subcommand)
}

/// Whether a text is run by an option before the subcommand: most settings can name a program.
pub(super) fn is_text(option: &str, value: Option<&Word>) -> bool {
    let name = option.split('=').next().unwrap_or_default();
    match name {
        "-c" => !value.is_some_and(is_harmless),
        "--config-env" => true,
        "--exec-path" => option != name,
        _ => false,
    }
}

fn is_harmless(setting: &Word) -> bool {
    if setting.breaks() {
        return false;
    }
    let key = setting.beginning().split_once('=').map_or("", |(key, _)| key).to_ascii_lowercase();
    HARMLESS.contains(&key.as_str())
        || ["advice.", "color.", "column.", "user."].iter().any(|section| key.starts_with(section))
        || matches!(setting.text(), Some("core.pager=cat" | "core.editor=true" | "core.editor=:"))
}

/// What a subcommand runs of its words.
pub(super) fn run(study: &mut Study<'_>, subcommand: &str, words: &[Word], deeds: &mut Vec<Deed>) {
    // It runs at the top of a repository, and of each of several.
    let here = study.cwd.take();
    match subcommand {
        "bisect" if words.first().is_some_and(|word| word.text() == Some("run")) => {
            command(study, words.get(1..).unwrap_or_default(), deeds);
        }
        "submodule" => {
            let each = words.iter().position(|word| word.text() == Some("foreach"));
            let told = each.and_then(|at| words.get(at + 1..)).unwrap_or_default();
            let flags = told
                .iter()
                .take_while(|word| matches!(word.text(), Some("--recursive" | "--quiet" | "-q" | "--")));
            command(study, told.get(flags.count()..).unwrap_or_default(), deeds);
        }
        "rebase" => {
            for (at, word) in words.iter().enumerate() {
                let Some(attached) = option(&["-x", "--exec"], word) else { continue };
                if attached.text() != Some("") {
                    line(study, &attached, deeds);
                } else if let Some(next) = words.get(at + 1) {
                    line(study, next, deeds);
                }
            }
        }
        "merge-index" | "remote-ext" => deeds.push(hidden(subcommand)),
        _ => {}
    }
    study.cwd = here;
    let own = RUNNING.iter().find(|(name, _)| *name == subcommand).map_or(&[][..], |(_, own)| own);
    let sets = |at: usize, word: &Word| {
        option(&["-c", "--config"], word).is_some_and(|attached| {
            let next = words.get(at + 1).filter(|_| attached.text() == Some(""));
            !is_harmless(next.unwrap_or(&attached))
        })
    };
    let settings = subcommand == "clone" && words.iter().enumerate().any(|(at, word)| sets(at, word));
    let runs = |word: &Word| option(own, word).is_some() || word.beginning().starts_with("ext::");
    if settings || words.iter().any(runs) {
        deeds.push(hidden(subcommand));
    }
}

fn hidden(subcommand: &str) -> Deed {
    Deed::Hidden(format!("`git {subcommand}` runs what it is told"))
}

/// What is attached to an option, if a word is one of these, whole or cut short; an empty word, if nothing is.
fn option(options: &[&str], word: &Word) -> Option<Word> {
    let beginning = word.beginning();
    let before = if beginning.starts_with("--") {
        let name = beginning.split('=').next().unwrap_or_default();
        options.iter().find(|own| name.len() > 2 && own.starts_with(name))?;
        format!("{name}=")
    } else {
        let letters = beginning.strip_prefix('-')?;
        let is = |c: char| options.iter().any(|own| own.len() == 2 && own.ends_with(c));
        let (at, own) = letters.char_indices().find(|(_, c)| is(*c))?;
        format!("-{}", letters.get(..at + own.len_utf8()).unwrap_or_default())
    };
    Some(word.without(&before).unwrap_or_default())
}

/// What a shell takes for more than a part of a word.
const SIGNS: [char; 12] = [' ', '\t', '\n', ';', '&', '|', '$', '`', '<', '>', '(', ')'];

/// A command whose words git hands to a shell. One word is a line; of several the first is one, to which the others are
/// given.
fn command(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let plain = |word: &Word| {
        word.text().is_some_and(|text| {
            !text.starts_with('-') && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
        })
    };
    let once_more = || Deed::Hidden("a shell reads the words once more".to_owned());
    match words {
        [] => {}
        [told] => line(study, told, deeds),
        [first, ..] if plain(first) => {
            study.outside(|study| study.inner(words));
            // Some versions put them together as they are.
            if words.iter().any(|word| word.text().is_none_or(|text| text.contains(SIGNS))) {
                deeds.push(once_more());
            }
        }
        _ => deeds.push(once_more()),
    }
}
