//! Variables: those that change what programs do, and the values that a line gives to its own.

use std::collections::HashMap;

use crate::deed::Deed;
use crate::glob::component_fits;
use crate::shell::{self, Assignment, Evaluated, MOST_WORDS, Piece, Script, Simple, Word};

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
    /// How many words have been looked at.
    words: usize,
}

impl Lists {
    /// Notes what a line makes lists.
    pub(crate) fn note(&mut self, script: &Script) {
        self.words = 0;
        self.script(script, 0);
    }

    fn script(&mut self, script: &Script, depth: usize) {
        self.words += script.words;
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
        let read = (depth < DEEPEST && self.words <= MOST_WORDS).then(|| shell::read(line));
        match read {
            Some(Ok(script)) => self.script(&script, depth + 1),
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

/// How many values a variable may have to be known.
const MOST_VALUES: usize = 16;

/// The values that variables get: in a line, and in those around it. What an inner line gives comes beside what the
/// outer ones have given, because an assignment can fail.
#[derive(Debug, Default)]
pub(crate) struct Values(Vec<Layer>);

/// The values that variables get in one place.
#[derive(Debug, Default)]
struct Layer {
    /// Whether some are given that are not in the line.
    unseen: bool,
    /// `None` for variables that may have others.
    seen: HashMap<String, Option<Vec<Word>>>,
    /// How many words have been looked at.
    words: usize,
}

impl Values {
    /// Adds those of a line; with `unseen`, some are given that are not in it.
    pub(crate) fn add(&mut self, script: &Script, unseen: bool) {
        let mut layer = Layer { unseen, ..Layer::default() };
        layer.script(script, 0);
        self.0.push(layer);
    }

    /// Adds those that a command gives to another one.
    pub(crate) fn hand_on(&mut self, assignments: &[Assignment]) {
        let mut layer = Layer::default();
        layer.assigned(assignments);
        self.0.push(layer);
    }

    pub(crate) fn depth(&self) -> usize {
        self.0.len()
    }

    /// Takes away what was added last, down to this depth.
    pub(crate) fn back_to(&mut self, depth: usize) {
        self.0.truncate(depth);
    }

    fn unseen(&self) -> bool {
        self.0.iter().any(|layer| layer.unseen)
    }

    /// Whether the line, as far as one sees, gives a variable a value.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|layer| layer.seen.contains_key(name))
    }

    /// The values that a variable may have that has got one in this line, if they are all in the line.
    pub(crate) fn of(&self, name: &str) -> Option<Vec<&Word>> {
        if self.unseen() || NUMBERS.contains(&name) || is_any(OF_THE_SHELL, name) || !self.has(name) {
            return None;
        }
        let mut all = Vec::new();
        for values in self.0.iter().filter_map(|layer| layer.seen.get(name)) {
            all.extend(values.as_deref()?);
        }
        (all.len() <= MOST_VALUES).then_some(all)
    }

    /// Whether the line, as far as one sees, leaves a variable as it found it.
    pub(crate) fn leaves(&self, name: &str) -> bool {
        !self.unseen() && !self.has(name)
    }

    /// Whether a variable can only be a number, so that evaluating it runs nothing that somebody put there.
    pub(crate) fn is_number(&self, evaluated: &Evaluated) -> bool {
        let name = evaluated.name.as_str();
        if NUMBERS.contains(&name) {
            return self.leaves(name);
        }
        evaluated.assigned && self.of(name).is_some_and(|values| values.into_iter().all(is_number))
    }
}

impl Layer {
    fn script(&mut self, script: &Script, depth: usize) {
        self.words += script.words;
        // What fails because of these is looked for on the line itself only.
        let lets_fail = |simple: &Simple| {
            matches!(simple.words.first().map(Word::text), Some(Some("readonly" | "shopt")))
        };
        let strict = !script.functions.is_empty() || script.commands.iter().any(lets_fail);
        self.unseen |= depth > 0 && strict;
        for simple in &script.commands {
            self.assigned(&simple.assignments);
            self.declared(simple);
            match run_here(simple) {
                // What it gives is in the line as well.
                Some(line) if depth < DEEPEST && self.words <= MOST_WORDS => match shell::read(&line) {
                    Ok(script) => self.script(&script, depth + 1),
                    Err(_) => self.unseen = true,
                },
                _ => self.unseen |= assigns_unseen(simple),
            }
        }
    }

    /// In a function these have no value, until they get one.
    fn declared(&mut self, simple: &Simple) {
        if let Some((Some("declare" | "local" | "typeset"), names)) =
            simple.words.split_first().map(|(first, rest)| (first.text(), rest))
        {
            for name in names.iter().filter_map(Word::text).filter(|name| shell::is_name(name)) {
                let nothing = Some(Word::default());
                self.assigned(&[Assignment { name: name.to_owned(), value: nothing, list: false }]);
            }
        }
    }

    fn assigned(&mut self, assignments: &[Assignment]) {
        for assignment in assignments {
            let entry = self.seen.entry(assignment.name.clone()).or_insert_with(|| Some(Vec::new()));
            match (entry, assignment.value.clone()) {
                (Some(all), Some(value)) if all.len() < MOST_VALUES => all.push(value),
                (entry, _) => *entry = None,
            }
        }
    }
}

fn is_any(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| component_fits(pattern, name))
}

/// The text that `eval` runs, if that is known.
fn run_here(simple: &Simple) -> Option<String> {
    let (first, words) = simple.words.split_first()?;
    if first.text() != Some("eval") {
        return None;
    }
    let words = words.iter().map(Word::text).skip_while(|text| *text == Some("--"));
    Some(words.collect::<Option<Vec<&str>>>()?.join(" "))
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
        // It only says what a name means.
        Some(Some("command")) => !words.next().is_some_and(|word| matches!(word.text(), Some("-v" | "-V"))),
        Some(Some(name)) => ASSIGNING.contains(&name),
    }
}
