//! Variables: those that change what programs do, and the values that a line gives to its own.

use std::collections::HashMap;

use crate::glob::component_fits;
use crate::shell::{Evaluated, Piece, Script, Simple, Word};

/// Names of variables that change which programs run, or what they run. A `*` stands for any letters.
const POWERFUL: &[&str] = &[
    "*COMMAND*",
    "*OPT",
    "*_RSH",
    "ACK*",
    "BAT_*",
    "BZIP*",
    "EXINIT",
    "FZF_*",
    "GAWK*",
    "GZIP",
    "HOSTALIASES",
    "JQ_*",
    "TEMP",
    "TMP*",
    "UNZIP*",
    "VIM*",
    "XZ_*",
    "ZIP*",
    "*CONFIG*",
    "*EDITOR*",
    "*FLAGS",
    "*HOME",
    "*OPTIONS",
    "*OPTS*",
    "*PAGER*",
    "*PATH",
    "*PRELOAD*",
    "*PROXY*",
    "*SHELL*",
    "*WRAPPER*",
    "*_proxy",
    "AR",
    "BASH*",
    "BROWSER",
    "CC",
    "CDPATH",
    "COMPILER_PATH",
    "CURL_*",
    "CXX",
    "DOCKER_*",
    "DYLD_*",
    "ENV",
    "EXECIGNORE",
    "FCEDIT",
    "FIGNORE",
    "GIT_*",
    "GLOBIGNORE",
    "GREP_*",
    "GH_*",
    "HIST*",
    "IFS",
    "INPUTRC",
    "JAVA_*",
    "KUBECONFIG",
    "LD",
    "KUBECTL_*",
    "LD_*",
    "LESS*",
    "LINKER",
    "LOCALDOMAIN",
    "LUA_*",
    "MAGIC",
    "MAIL*",
    "MAKE*",
    "MANROFFOPT",
    "NODE_*",
    "OPENSSL_*",
    "OPTIND",
    "PERL*",
    "POSIXLY_CORRECT",
    "PROMPT*",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PYTHON*",
    "RIPGREP_*",
    "RUBY*",
    "RUSTC*",
    "RUSTDOC*",
    "SSH_*",
    "SSLKEYLOGFILE",
    "SSL_*",
    "SUDO_*",
    "TAPE",
    "TAR_*",
    "TMOUT",
    "VISUAL",
    "WGETRC",
    "XDG_*",
    "_*",
    "npm_*",
    "CARGO_*",
    "TERMINFO*",
    "TERMCAP",
    "COLUMN_*",
    "LOCPATH",
    "NLSPATH",
    "GCONV_PATH",
    "MALLOC_*",
];
/// Those of them that only say how something is printed.
const HARMLESS: &[&str] = &["NODE_ENV", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "CARGO_TERM_*", "_"];

/// Variables that change nothing of what any program does to the world: how it prints, where it listens, how loud it is.
const PLAIN: &[&str] = &[
    "APP_ENV",
    "CARGO_TERM_*",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "DEBUG",
    "FORCE_COLOR",
    "LANG",
    "LC_*",
    "LINES",
    "LOG_LEVEL",
    "NODE_ENV",
    "NO_COLOR",
    "PORT",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONUNBUFFERED",
    "RACK_ENV",
    "RAILS_ENV",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUST_TEST_THREADS",
    "SOURCE_DATE_EPOCH",
    "TERM",
    "TZ",
    "VERBOSE",
];

/// Whether it is not known of a variable what it changes, so that a command which a rule allows may be another with it.
pub(crate) fn is_open(name: &str) -> bool {
    let powerful = is_any(POWERFUL, name) && !is_any(HARMLESS, name);
    !powerful && !is_any(PLAIN, name)
}

/// What setting a variable does to the commands after it, in words.
pub(crate) fn effect(name: &str) -> Option<String> {
    (is_any(POWERFUL, name) && !is_any(HARMLESS, name))
        .then(|| format!("it sets {name}, which changes what programs do"))
}

/// Builtins that give variables values which are not in the line, or run something that may.
const ASSIGNING: [&str; 13] = [
    ".",
    "builtin",
    "command",
    "eval",
    "getopts",
    "let",
    "mapfile",
    "read",
    "readarray",
    "source",
    "trap",
    "unset",
    "wait",
];
/// Variables that the shell itself gives values, whatever a line assigns. A `*` stands for any letters.
const OF_THE_SHELL: &[&str] = &[
    "BASH*",
    "COMP*",
    "COPROC*",
    "DIRSTACK",
    "FUNC*",
    "GROUPS",
    "HIST*",
    "MAPFILE",
    "OPT*",
    "PIPESTATUS",
    "OLDPWD",
    "PWD",
    "READLINE*",
    "REPLY",
    "SHELLOPTS",
    "_",
];
/// Those of them that are numbers as long as nobody takes that from them.
const NUMBERS: [&str; 8] = ["EPOCHSECONDS", "EUID", "LINENO", "PPID", "RANDOM", "SECONDS", "SRANDOM", "UID"];

/// The values that a line gives to its variables.
#[derive(Debug, Default)]
pub(crate) struct Values {
    /// Whether some are given that are not in the line.
    pub(crate) unseen: bool,
    /// `None` for variables that may have others.
    seen: HashMap<String, Option<Vec<Word>>>,
}

impl Values {
    /// The values that a variable may have that has got one in this line, if they are all in the line.
    pub(crate) fn of(&self, name: &str) -> Option<&[Word]> {
        if self.unseen || NUMBERS.contains(&name) || is_any(OF_THE_SHELL, name) {
            None
        } else {
            self.seen.get(name)?.as_deref()
        }
    }

    /// Whether the line, as far as one sees, leaves a variable as it found it.
    pub(crate) fn leaves(&self, name: &str) -> bool {
        !self.unseen && !self.seen.contains_key(name)
    }

    /// Whether a variable can only be a number, so that evaluating it runs nothing that somebody put there.
    pub(crate) fn is_number(&self, evaluated: &Evaluated) -> bool {
        let number = |value: &Word| {
            value.pieces().iter().all(|piece| match piece {
                Piece::Number => true,
                Piece::Text(text) => text.bytes().all(|c| c.is_ascii_digit() || c == b'-'),
                _ => false,
            })
        };
        let name = evaluated.name.as_str();
        if NUMBERS.contains(&name) {
            return self.leaves(name);
        }
        evaluated.assigned && self.of(name).is_some_and(|values| values.iter().all(number))
    }
}

fn is_any(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| component_fits(pattern, name))
}

/// Collects the values that a line gives to its variables.
pub(crate) fn values(script: &Script) -> Values {
    let unseen = script.commands.iter().any(assigns_unseen);
    let mut values: HashMap<String, Option<Vec<Word>>> = HashMap::new();
    for assignment in script.commands.iter().flat_map(|simple| &simple.assignments) {
        let entry = values.entry(assignment.name.clone()).or_insert_with(|| Some(Vec::new()));
        match (entry, assignment.value.clone()) {
            (Some(all), Some(value)) if all.len() < 16 => all.push(value),
            (entry, _) => *entry = None,
        }
    }
    Values { unseen, seen: values }
}

fn assigns_unseen(simple: &Simple) -> bool {
    let mut words = simple.words.iter();
    match words.next().map(Word::text) {
        None => false,
        Some(None) => true,
        // A word that is not known may be an option, which has more to say.
        Some(Some("printf" | "declare" | "typeset" | "local" | "export" | "readonly")) => {
            words.any(|word| word.text().is_none_or(|text| text.starts_with('-')))
        }
        Some(Some(name)) => ASSIGNING.contains(&name),
    }
}
