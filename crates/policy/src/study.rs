//! What a line does: every simple command in it, and what each does to the world.

use std::path::{Path, PathBuf};

use crate::Place;
use crate::commands;
use crate::deed::{Deed, Seen, Target};
use crate::glob::is_pattern;
use crate::paths::{is_harmless, leads_through_open, normal};
use crate::place::Patience;
use crate::shell::{self, Assignment, Function, Piece, Script, Simple, Way, Word};
use crate::variables::{self, Lists, Values};

/// How deep lines may stand in lines (`bash -c "bash -c …"`).
const DEEPEST: usize = 6;
/// In how many directories a command may be thought to run.
const MOST_PLACES: usize = 8;
/// How many texts a word may be thought to be.
const MOST_TEXTS: usize = 16;
/// How long a path may be: Linux takes no longer ones.
const LONGEST_PATH: usize = 4096;

/// A line that is being studied.
pub(crate) struct Study<'p> {
    pub(crate) place: &'p Place,
    /// The directories in which the next command may run; `None`: any.
    pub(crate) cwd: Option<Vec<PathBuf>>,
    /// The functions that the line defines.
    functions: Vec<String>,
    /// Whether something in the line may take functions away again.
    forgets: bool,
    /// Places into which the line puts what may be a link, and whether they may be one themselves: a path there may lead
    /// anywhere.
    linked: Vec<(PathBuf, bool)>,
    /// How much is still looked up to find links.
    pub(crate) patience: Patience,
    /// Whether a command may run again, after those behind it.
    repeats: bool,
    /// Variables that are given to the next command, of those that are not known to change nothing.
    pub(crate) given: Vec<String>,
    /// The same, to all that follow.
    pub(crate) exported: Vec<String>,
    /// Whether something in the line runs between the commands, and may set variables.
    traps: bool,
    /// The values that variables take in this line, and in those around it.
    variables: Values,
    /// Which of them may be lists.
    lists: Lists,
    pub(crate) seen: Vec<Seen>,
    depth: usize,
    /// How many words there were.
    words: usize,
    reader: Shell,
}

/// The shell that reads what is studied.
enum Shell {
    Bash,
    Other {
        /// Whether there was something that it may read otherwise than bash.
        misread: bool,
    },
}

/// Every command of a line, and what it does.
pub(crate) fn study(line: &str, cwd: &Path, place: &Place) -> Vec<Seen> {
    let once = |linked: Vec<(PathBuf, bool)>, exported: Vec<String>, forgets: bool| {
        let mut study = Study {
            place,
            cwd: Some(vec![cwd.to_owned()]),
            functions: Vec::new(),
            forgets,
            linked,
            patience: Patience::default(),
            repeats: false,
            given: Vec::new(),
            exported,
            traps: false,
            variables: Values::default(),
            lists: Lists::default(),
            seen: Vec::new(),
            depth: 0,
            words: 0,
            reader: Shell::Bash,
        };
        study.line(line);
        study
    };
    let study = once(Vec::new(), Vec::new(), false);
    // What runs again comes behind all of the line.
    if study.repeats && !(study.linked.is_empty() && study.exported.is_empty() && !study.forgets) {
        return once(study.linked, study.exported, study.forgets).seen;
    }
    study.seen
}

impl Study<'_> {
    /// Studies a line of its own.
    fn line(&mut self, line: &str) {
        if let Some(what) = shell::suspicious(line) {
            self.unclear(line, format!("there is {what}"));
        }
        match shell::read(line) {
            Err(shell::Unclear(why)) => self.unclear(line, format!("it is not understood: {why}")),
            Ok(script) => {
                if let Shell::Other { misread } = &mut self.reader {
                    *misread |= script.only_bash || shell::is_odd(line);
                }
                self.script(&script);
            }
        }
    }

    fn unclear(&mut self, line: &str, why: String) {
        let deeds = vec![Deed::Unclear(why)];
        self.seen.push(Seen { shown: shown(line), deeds, ..Seen::default() });
    }

    /// Studies a text that a command runs as a line: the string of `bash -c`, of `eval`, of `trap`.
    pub(crate) fn nested(&mut self, line: &str) {
        if self.depth >= DEEPEST {
            return self.unclear(line, "lines within lines, too deep".to_owned());
        }
        self.depth += 1;
        let functions = self.functions.clone();
        let variables = self.variables.depth();
        self.line(line);
        self.functions = functions;
        self.variables.back_to(variables);
        self.depth -= 1;
    }

    /// Studies a line that is run by a shell of its own, which may be another than bash. Says whether that may read it
    /// otherwise.
    pub(crate) fn in_shell(&mut self, line: &str, is_bash: bool) -> bool {
        let here = self.cwd.clone();
        let reader = if is_bash { Shell::Bash } else { Shell::Other { misread: false } };
        let outer = std::mem::replace(&mut self.reader, reader);
        self.outside(|study| study.nested(line));
        self.cwd = here;
        matches!(std::mem::replace(&mut self.reader, outer), Shell::Other { misread: true })
    }

    fn script(&mut self, script: &Script) {
        self.words += script.words;
        if self.words > shell::MOST_WORDS {
            return self.unclear("…", "it has too many words".to_owned());
        }
        self.lists.note(script);
        let says = |name: &str| {
            let is = |word: &Word| word.text().is_some_and(|text| text.rsplit('/').next() == Some(name));
            script.commands.iter().any(|simple| simple.words.iter().any(is))
        };
        self.forgets |= says("unset");
        if says("ln") {
            self.link(&Target::Unknown("ln".to_owned()), true);
        }
        self.traps |= says("trap");
        self.repeats |= self.traps || script.commands.iter().any(|simple| simple.again);
        self.variables.add(script, self.traps);
        if script.commands.iter().any(|simple| simple.again && moves(simple)) {
            // It may run again after it has gone elsewhere.
            self.cwd = None;
        }
        let later = !script.functions.is_empty() && script.commands.iter().any(moves);
        for (at, simple) in script.commands.iter().enumerate() {
            let there =
                script.functions.iter().filter(|function| function.from.is_some_and(|from| from <= at));
            for function in there {
                if !self.functions.contains(&function.name) {
                    self.functions.push(function.name.clone());
                }
            }
            let here = if simple.again && later { self.cwd.take() } else { None };
            self.simple(simple);
            if here.is_some() {
                self.cwd = here;
            }
        }
        for evaluated in &script.evaluated {
            if !self.variables.is_number(evaluated) {
                let name = &evaluated.name;
                let why = "arithmetic evaluates a text that is not known before it runs".to_owned();
                let asides = vec![Deed::Hidden(why)];
                self.seen.push(Seen { shown: format!("$(({name}))"), asides, ..Seen::default() });
            }
        }
        for Function { name, .. } in script.functions.iter().filter(|function| function.from.is_none()) {
            if commands::is_known(name) {
                let asides = vec![Deed::Opaque(format!("it gives `{name}` another meaning"))];
                self.seen.push(Seen { shown: format!("{name}() {{ … }}"), asides, ..Seen::default() });
            }
        }
    }

    fn simple(&mut self, simple: &Simple) {
        let mut asides = Vec::new();
        for redirection in &simple.redirections {
            let target = self.target(&redirection.file);
            if let Some(reached) = network(&target) {
                asides.push(reached);
                continue;
            }
            if matches!(redirection.way, Way::From | Way::Both) {
                asides.push(Deed::Read(target.clone()));
            }
            if matches!(redirection.way, Way::To | Way::Both) {
                asides.push(Deed::Write(target));
            }
        }
        let mut names: Vec<&str> = simple.assignments.iter().map(|assignment| &*assignment.name).collect();
        names.dedup();
        for name in names {
            asides.extend(variables::effect(name).map(Deed::Opaque));
        }
        for assignment in &simple.assignments {
            let runs = variables::runs(&assignment.name, assignment.value.as_ref());
            asides.extend(runs.filter(|runs| !asides.contains(runs)));
        }
        if shell::declares(simple) {
            asides.extend(self.lists.declared(simple));
        }
        if simple.words.is_empty() {
            // What somebody thinks to be a text may be more for the shell.
            if !asides.is_empty() || !simple.assignments.iter().all(variables::is_plain) {
                let shown = described(simple);
                self.seen.push(Seen { shown, asides, ..Seen::default() });
            }
            return;
        }
        let before = self.given.len();
        let given = simple.assignments.iter().map(|assignment| &assignment.name);
        self.given.extend(given.filter(|name| variables::is_open(name)).cloned());
        self.command(&simple.words, asides);
        self.given.truncate(before);
    }

    /// Studies a command, which stands by itself or inside another one.
    pub(crate) fn command(&mut self, words: &[Word], asides: Vec<Deed>) {
        let Some(first) = words.first() else { return };
        let at = self.seen.len();
        let source: Vec<&str> = words.iter().map(Word::source).collect();
        let shown = shown(&source.join(" "));
        let mut given = self.exported.clone();
        given.extend(self.given.iter().cloned());
        self.seen.push(Seen { words: words.to_vec(), shown, deeds: Vec::new(), asides, given });
        let mut deeds = Vec::new();
        match first.text() {
            None => deeds.push(Deed::Opaque("the name of the command is known only when it runs".to_owned())),
            // What it is given its commands are given.
            Some(name) if !self.forgets && self.functions.iter().any(|function| function == name) => {
                self.exported.extend_from_slice(&self.given);
            }
            Some(name) => self.program(name, words.get(1..).unwrap_or_default(), &mut deeds),
        }
        if let Some(seen) = self.seen.get_mut(at) {
            // Many words may do the same.
            deeds.dedup();
            seen.deeds = deeds;
        }
    }

    /// Studies a command inside another one, which is a program and not a function.
    pub(crate) fn inner(&mut self, words: &[Word]) {
        if self.depth >= DEEPEST {
            return self.unclear("…", "commands within commands, too deep".to_owned());
        }
        self.depth += 1;
        self.outside(|study| study.command(words, Vec::new()));
        self.depth -= 1;
    }

    /// Studies a command inside another one, which gives it these variables.
    pub(crate) fn given(&mut self, assignments: &[Assignment], words: &[Word]) {
        let variables = self.variables.depth();
        self.variables.hand_on(assignments);
        self.inner(words);
        self.variables.back_to(variables);
    }

    /// Studies what runs in another process, in which the functions of this shell are not.
    pub(crate) fn outside(&mut self, look: impl FnOnce(&mut Self)) {
        let functions = std::mem::take(&mut self.functions);
        look(self);
        self.functions = functions;
    }

    fn program(&mut self, name: &str, words: &[Word], deeds: &mut Vec<Deed>) {
        if let Some(what) = shell::look_alike(name) {
            deeds.push(Deed::Unclear(format!("there is {what}")));
            return;
        }
        let known = match name.rsplit_once('/') {
            None => Some(name),
            Some(("/bin" | "/usr/bin" | "/sbin" | "/usr/sbin", name)) => Some(name),
            Some(_) => None,
        };
        match known {
            Some(name) => commands::look(self, name, words, deeds),
            None => deeds.push(Deed::Opaque(format!("`{name}` is a program of which nothing is known"))),
        }
    }

    /// The files that a word names, and those that they lead to.
    pub(crate) fn target(&self, word: &Word) -> Target {
        self.followed(word, |path| Some(path), |path| self.place.links.follow(path))
    }

    /// The same for what acts on a link itself, and not on what it leads to.
    pub(crate) fn entry(&self, word: &Word) -> Target {
        self.followed(word, Path::parent, |path| match (path.parent(), path.file_name()) {
            (Some(above), Some(name)) => Some(self.place.links.follow(above)?.join(name)),
            _ => self.place.links.follow(path),
        })
    }

    fn followed(
        &self,
        word: &Word,
        through: impl Fn(&Path) -> Option<&Path>,
        follow: impl Fn(&Path) -> Option<PathBuf>,
    ) -> Target {
        let unknown = || Target::Unknown(word.source().to_owned());
        // A substitution is a pipe, whatever its name is.
        if word.source().starts_with(['<', '>']) && word.text() == Some("/dev/fd/63") {
            return Target::OneOf(Vec::new());
        }
        let Some(written) = self.paths(word) else { return unknown() };
        if written.iter().any(|path| leads_through_open(path)) {
            return unknown();
        }
        let mut paths: Vec<PathBuf> = written.iter().map(|path| normal(path)).collect();
        if paths.iter().filter_map(|path| through(path)).any(|path| self.is_linked(path)) {
            return unknown();
        }
        for path in &written {
            let Some(real) = self.elsewhere(path, &follow) else { return unknown() };
            for real in real {
                if !paths.contains(&real) {
                    paths.push(real);
                }
            }
        }
        Target::OneOf(paths)
    }

    /// Where else a path leads through the links that are there, and those that a pattern in it stands for. None if
    /// they are too many.
    fn elsewhere(&self, path: &Path, follow: impl Fn(&Path) -> Option<PathBuf>) -> Option<Vec<PathBuf>> {
        let mut found = vec![path.to_owned()];
        if is_pattern(&path.to_string_lossy()) {
            found.extend(self.place.links.expanded(path, &self.patience)?);
        }
        let leads = |path: PathBuf| {
            let written = normal(&path);
            if is_harmless(&written) { None } else { follow(&path).filter(|real| *real != written) }
        };
        Some(found.into_iter().filter_map(leads).collect())
    }

    /// Where something that is written under this path ends up, if that is elsewhere; unknown, if it cannot be told.
    pub(crate) fn written_to(&self, path: &Path) -> Option<Target> {
        let real = self.elsewhere(path, |path| self.place.links.follow(path));
        match real {
            None => Some(Target::Unknown(path.display().to_string())),
            Some(real) if real.is_empty() => None,
            Some(real) => Some(Target::OneOf(real)),
        }
    }

    /// Whether the line may have put a link there.
    fn is_linked(&self, path: &Path) -> bool {
        self.linked.iter().any(|(place, itself)| path.starts_with(place) && (*itself || path != place))
    }

    /// Keeps in mind that there may be links below a place, or that it may be one itself.
    pub(crate) fn link(&mut self, place: &Target, itself: bool) {
        match place {
            Target::OneOf(paths) => self.linked.extend(paths.iter().map(|path| (path.clone(), itself))),
            Target::Unknown(_) => self.linked.push((PathBuf::from("/"), true)),
        }
    }

    /// Whether there may be a link at or below what a word names.
    pub(crate) fn may_hold_links(&self, word: &Word) -> bool {
        let Target::OneOf(paths) = self.target(word) else { return true };
        paths.iter().any(|path| {
            let pattern = path.ancestors().filter(|path| is_pattern(&path.to_string_lossy())).last();
            let whole = pattern.and_then(Path::parent).unwrap_or(path);
            self.place.links.follow(path).is_some_and(|real| real != *path)
                || self.place.links.below(whole, &self.patience, |_| false) == Some(true)
        })
    }

    /// The same, by their names: without regard to where links may lead.
    pub(crate) fn named(&self, word: &Word) -> Target {
        match self.paths(word) {
            Some(paths) => Target::OneOf(paths.iter().map(|path| normal(path)).collect()),
            None => Target::Unknown(word.source().to_owned()),
        }
    }

    /// The absolute paths that a word may be, as they are written.
    fn paths(&self, word: &Word) -> Option<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for text in self.texts(word, 0)? {
            let path = Path::new(&text);
            if path.is_absolute() {
                paths.push(path.to_owned());
            } else {
                paths.extend(self.cwd.as_ref()?.iter().map(|place| place.join(path)));
            }
        }
        Some(paths)
    }

    /// The texts that a word may be, with the shell's patterns in them; `None` if that is not known.
    fn texts(&self, word: &Word, depth: usize) -> Option<Vec<String>> {
        let mut texts = vec![String::new()];
        for piece in word.pieces() {
            let more = match piece {
                Piece::Text(text) | Piece::Glob(text) => vec![text.clone()],
                Piece::OneOf(some) => some.clone(),
                Piece::Home => vec![self.home()?],
                Piece::Variable { name, quoted, assigned } => self.values(name, *quoted, *assigned, depth)?,
                Piece::Number | Piece::Unknown { .. } => return None,
            };
            // No file has a longer path, and texts in texts grow fast.
            if more.iter().any(|text| text.len() > LONGEST_PATH) {
                return None;
            }
            texts =
                texts.iter().flat_map(|text| more.iter().map(move |more| format!("{text}{more}"))).collect();
            if texts.len() > MOST_TEXTS || texts.iter().any(|text| text.len() > LONGEST_PATH) {
                return None;
            }
        }
        Some(texts)
    }

    fn home(&self) -> Option<String> {
        if self.variables.has("HOME") {
            return None;
        }
        Some(self.place.home.as_ref()?.to_str()?.to_owned())
    }

    fn values(&self, name: &str, quoted: bool, assigned: bool, depth: usize) -> Option<Vec<String>> {
        match (name, self.cwd.as_deref()) {
            _ if depth > 3 => return None,
            ("HOME", _) => return Some(vec![self.home()?]),
            ("PWD", Some([cwd])) if self.variables.leaves("PWD") => {
                return Some(vec![cwd.to_str()?.to_owned()]);
            }
            // Before that, it has whatever the environment gives it, or nothing.
            _ if !assigned => return None,
            _ => {}
        }
        let mut texts = Vec::new();
        for word in self.variables.of(name)? {
            texts.extend(self.texts(word, depth + 1)?);
        }
        // Unquoted, a value with blanks becomes several words.
        let split = !quoted && texts.iter().any(|text| text.contains(char::is_whitespace));
        (!split && !texts.is_empty()).then_some(texts)
    }

    /// Goes to another directory; whether that worked is not known, so it may also stay.
    pub(crate) fn go(&mut self, word: Option<&Word>) {
        // The one before, or an option, also if a variable has it.
        let is_sign = |word: &Word| {
            self.texts(word, 0).is_none_or(|texts| texts.iter().any(|text| text.starts_with(['-', '+'])))
        };
        let target = match word {
            None => self.place.home.clone().map(|home| Target::OneOf(vec![home])),
            Some(word) if is_sign(word) => None,
            Some(word) => Some(self.target(word)),
        };
        self.cwd = match (self.cwd.take(), target) {
            (Some(mut places), Some(Target::OneOf(paths))) => {
                for path in paths {
                    // A pattern may be anything that is there.
                    if path.to_string_lossy().contains(['*', '?', '[']) {
                        return;
                    }
                    if !places.contains(&path) {
                        places.push(path);
                    }
                }
                (places.len() <= MOST_PLACES).then_some(places)
            }
            _ => None,
        };
    }
}

/// Whether a command goes to another directory.
pub(crate) fn moves(simple: &Simple) -> bool {
    let name = simple.words.first();
    name.is_some_and(|name| {
        name.text().is_none_or(|name| {
            matches!(name, "cd" | "pushd" | "popd" | "eval" | "source" | "." | "builtin" | "command")
                || name == "trap" && commands::trap_moves(simple.words.get(1..).unwrap_or_default())
        })
    })
}

/// What a redirection reaches over the network: the shell does that by itself.
fn network(target: &Target) -> Option<Deed> {
    let Target::OneOf(paths) = target else { return None };
    paths.iter().find_map(|path| {
        let rest = path.strip_prefix("/dev/tcp").or_else(|_| path.strip_prefix("/dev/udp")).ok()?;
        let host = rest.components().next()?.as_os_str().to_str()?;
        Some(Deed::Net((!host.contains(['*', '?', '['])).then(|| host.to_owned())))
    })
}

/// A line as it is shown: on one line, and not too long.
fn shown(line: &str) -> String {
    const LONGEST: usize = 200;
    let mut text = String::new();
    for (at, c) in line.chars().enumerate() {
        if at >= LONGEST {
            text.push('…');
            break;
        }
        if c.is_control() { text.extend(c.escape_debug()) } else { text.push(c) }
    }
    text
}

/// How something is shown that has no words.
fn described(simple: &Simple) -> String {
    let mut parts: Vec<String> =
        simple.assignments.iter().map(|assignment| format!("{}=…", assignment.name)).collect();
    parts.dedup();
    for redirection in &simple.redirections {
        let sign = match redirection.way {
            Way::From => "<",
            Way::To => ">",
            Way::Both => "<>",
        };
        parts.push(format!("{sign} {}", redirection.file.source()));
    }
    shown(&parts.join(" "))
}
