//! Variables: those that change what programs do, and the values that a line gives to its own.

use std::collections::HashMap;

use crate::deed::Deed;
use crate::glob::component_fits;
use crate::shell::{self, Assignment, Evaluated, Piece, Script, Simple, Word};

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
    "I_WANT_A_BROKEN_PS",
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
    "PS_*",
    "PYTHON*",
    "RIPGREP_*",
    "RUBY*",
    "RUSTC*",
    "RUSTDOC*",
    "RUSTUP_*",
    "SSH_*",
    "SSLKEYLOGFILE",
    "SSL_*",
    "SUDO_*",
    "TAPE",
    "TAR_*",
    "TEXTDOMAIN*",
    "TMOUT",
    "VISUAL",
    "WGETRC",
    "XDG_*",
    "_*",
    "npm_*",
    "CARGO_*",
    "TERMINFO*",
    "TERMCAP",
    "CMD_ENV",
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

/// Variables that the shell makes numbers, in some version or other: whatever text they get is evaluated at once, and
/// that can run commands.
const EVALUATED: [&str; 14] = [
    "BASHPID",
    "BASH_MONOSECONDS",
    "BASH_SUBSHELL",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "HISTCMD",
    "LINENO",
    "OPTIND",
    "PPID",
    "RANDOM",
    "SECONDS",
    "SRANDOM",
    "UID",
];
/// Variables whose text the shell runs or expands, or that say which commands names mean.
const RUN: &[&str] = &["BASH_*", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4"];

/// What the shell runs because a variable gets a text; without one, because it gets some that is not known.
pub(crate) fn runs(name: &str, value: Option<&Word>) -> Option<Deed> {
    if EVALUATED.contains(&name) {
        let harmless = value.is_some_and(is_number);
        return (!harmless)
            .then(|| Deed::Hidden(format!("what {name} is set to is evaluated as arithmetic")));
    }
    is_any(RUN, name).then(|| Deed::Hidden(format!("the shell runs or expands what {name} is set to")))
}

/// Whether a text can only be a number.
fn is_number(value: &Word) -> bool {
    value.pieces().iter().all(|piece| match piece {
        Piece::Number => true,
        Piece::Text(text) => text.bytes().all(|c| c.is_ascii_digit() || c == b'-'),
        _ => false,
    })
}

/// Whether a variable gets a text that is in the line, and nothing that a shell could take for more.
pub(crate) fn is_plain(assignment: &Assignment) -> bool {
    let plain = |piece: &Piece| match piece {
        Piece::Text(text) => !text.contains(['$', '`', '[', '(']),
        Piece::Glob(_) | Piece::Home | Piece::Number | Piece::OneOf(_) => true,
        Piece::Variable { .. } | Piece::Unknown { .. } => false,
    };
    assignment.value.as_ref().is_some_and(|value| value.pieces().iter().all(plain))
}

/// Variables that are lists without anybody's doing, or when some commands have run. A `*` stands for any letters.
const LISTS: &[&str] =
    &["BASH*", "COMP*", "COPROC", "DIRSTACK", "FUNCNAME", "GROUPS", "MAPFILE", "PIPESTATUS"];

/// How deep lines in lines are looked into for lists.
const DEEPEST: usize = 6;

/// Which variables may be lists. What a declaration gives to one of these is expanded once more, if it stands in
/// parentheses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    /// Whether any may be.
    any: bool,
    names: Vec<String>,
}

impl Lists {
    /// Notes what a line makes lists.
    pub(crate) fn note(&mut self, script: &Script) {
        self.script(script, 0);
    }

    fn script(&mut self, script: &Script, depth: usize) {
        for simple in &script.commands {
            // Of what gets no single value, some get several.
            let several = simple.assignments.iter().filter(|assignment| assignment.value.is_none());
            self.names.extend(several.map(|assignment| assignment.name.clone()));
            self.command(&simple.words, depth);
        }
    }

    fn command(&mut self, words: &[Word], depth: usize) {
        let runs = |word: &&Word| matches!(word.text(), Some("command" | "builtin" | "-p" | "--"));
        let mut words = words.iter().skip_while(runs);
        let Some(first) = words.next() else { return };
        let words: Vec<&Word> = words.collect();
        let dashes = usize::from(words.first().is_some_and(|word| word.text() == Some("--")));
        let texts: Option<Vec<&str>> = words.iter().map(|word| word.text()).collect();
        let option = |letters: &[char]| {
            let is = |text: &str| text.starts_with('-') && text.contains(letters);
            words.iter().any(|word| word.text().is_none_or(is))
        };
        match (first.text(), texts) {
            (Some("eval"), Some(texts)) => {
                self.line(&texts.get(dashes..).unwrap_or_default().join(" "), depth);
            }
            (Some("trap"), Some(texts)) => self.line(texts.get(dashes).unwrap_or(&""), depth),
            (Some("read"), _) => self.any |= option(&['a']),
            (Some("declare" | "typeset" | "local" | "export" | "readonly"), Some(texts))
                if option(&['a', 'A']) =>
            {
                let name = |text: &&str| text.split(['=', '[', '+']).next().unwrap_or_default().to_owned();
                self.names.extend(texts.iter().map(name));
            }
            (None | Some("." | "eval" | "trap" | "mapfile" | "readarray" | "source"), _)
            | (Some("declare" | "typeset" | "local" | "export" | "readonly"), None) => self.any = true,
            _ => {}
        }
    }

    fn line(&mut self, line: &str, depth: usize) {
        match shell::read(line) {
            Ok(script) if depth < DEEPEST => self.script(&script, depth + 1),
            _ => self.any = true,
        }
    }

    fn may_have(&self, name: &str) -> bool {
        self.any || is_any(LISTS, name) || self.names.iter().any(|own| own == name)
    }

    /// What the shell runs because a declaration gives a list a text.
    pub(crate) fn declared(&self, simple: &Simple) -> Option<Deed> {
        let listing =
            |word: &Word| word.text().is_none_or(|text| text.starts_with('-') && text.contains(['a', 'A']));
        let listing = simple.words.iter().any(listing);
        let opens = |assignment: &&Assignment| {
            !assignment.list
                && (listing || self.may_have(&assignment.name))
                && assignment.value.as_ref().is_none_or(|value| match value.pieces().first() {
                    Some(Piece::Text(text)) => text.starts_with('('),
                    Some(Piece::Variable { .. } | Piece::Unknown { .. } | Piece::OneOf(_)) => true,
                    None | Some(Piece::Glob(_) | Piece::Home | Piece::Number) => false,
                })
        };
        simple.assignments.iter().find(opens).map(|assignment| {
            Deed::Hidden(format!("what {} is set to may be expanded once more", assignment.name))
        })
    }
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
        let name = evaluated.name.as_str();
        if NUMBERS.contains(&name) {
            return self.leaves(name);
        }
        evaluated.assigned && self.of(name).is_some_and(|values| values.iter().all(is_number))
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
