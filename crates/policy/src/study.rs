//! What a line does: every simple command in it, and what each does to the world.

mod paths;

use std::path::{Path, PathBuf};

use crate::Place;
use crate::commands;
use crate::deed::{Deed, Seen, Target};
use crate::place::Patience;
use crate::shell::{self, Assignment, Function, Script, Simple, Way, Word};
use crate::variables::{self, Lists, Values};

/// How deep lines may stand in lines (`bash -c "bash -c …"`).
const DEEPEST: usize = 6;

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
                    *misread |= script.only_bash;
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
        let is_cd = name == "chdir" && matches!(self.reader, Shell::Other { .. });
        match commands::common(if is_cd { "cd" } else { name }) {
            Some(name) => commands::look(self, name, words, deeds),
            None => deeds.push(Deed::Opaque(format!("`{name}` is a program of which nothing is known"))),
        }
    }
}

/// Whether a command goes to another directory.
pub(crate) fn moves(simple: &Simple) -> bool {
    let name = simple.words.first();
    name.is_some_and(|name| {
        name.text().is_none_or(|name| {
            matches!(
                name,
                "." | "builtin" | "cd" | "chdir" | "command" | "eval" | "popd" | "pushd" | "source"
            ) || name == "trap" && commands::trap_moves(simple.words.get(1..).unwrap_or_default())
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
    let assigned = |assignment: &shell::Assignment| {
        let value = assignment.value.as_ref().map_or("…", Word::source);
        format!("{}={value}", assignment.name)
    };
    let mut parts: Vec<String> = simple.assignments.iter().map(assigned).collect();
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
