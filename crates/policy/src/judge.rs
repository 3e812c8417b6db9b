//! The verdict on what a call would do.

mod defaults;
mod proposals;
mod ruled;

use std::sync::{PoisonError, RwLock};

use junto_core::{Action, Leash, Policy, Rule, Verdict};

use self::defaults::{Due, Ground};
use self::ruled::Compiled;
use crate::deed::{Deed, Seen, Target};
use crate::explanation::{By, Explanation, Step};
use crate::rule::{Answer, Origin, PolicyRule, RuleError};
use crate::study::study;
use crate::{Confined, Mode, Place, Rules};

/// Judges what calls would do: by the mode, and by the rules, of which the strictest that matches holds.
///
/// ```
/// use junto_policy::{Judge, Mode, Place, Answer};
///
/// let place = Place { workdir: "/home/ada/project".into(), home: Some("/home/ada".into()), ..Place::default() };
/// let judge = Judge::new(Mode::Workspace, place, Vec::new());
/// let explained = judge.explain_line("ls $(rm -rf ~/z)");
/// assert_eq!(explained.answer(), Answer::Ask);
/// assert_eq!(judge.explain_line("git log --oneline | head").answer(), Answer::Allow);
/// ```
#[derive(Debug)]
pub struct Judge {
    mode: Mode,
    place: Place,
    rules: RwLock<Vec<Compiled>>,
}

impl Judge {
    /// A judge for this place. Rules of a project are to be handed over only if the project is trusted.
    pub fn new(mode: Mode, place: Place, rules: Vec<Rules>) -> Self {
        let rules = rules.into_iter().flat_map(|rules| rules.rules);
        let rules = rules.map(|rule| Compiled::new(rule, &place)).collect();
        Self { mode, place, rules: RwLock::new(rules) }
    }

    /// The mode in force.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The place it judges for.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The verdict on the actions of one call, and what led to it.
    pub fn explain(&self, actions: &[Action]) -> Explanation {
        self.weigh(None, &actions.iter().map(|action| self.studied(action)).collect::<Vec<_>>())
    }

    /// The same for a call of a tool by its name, of which rules may speak.
    pub fn explain_call(&self, tool: &str, actions: &[Action]) -> Explanation {
        self.weigh(Some(tool), &actions.iter().map(|action| self.studied(action)).collect::<Vec<_>>())
    }

    /// The same for a shell line in the working directory.
    pub fn explain_line(&self, line: &str) -> Explanation {
        self.weigh(None, &[Studied::Line(study(line, &self.place.workdir, &self.place))])
    }

    fn studied<'a>(&self, action: &'a Action) -> Studied<'a> {
        match action {
            Action::Shell { line, cwd } => Studied::Line(study(line, cwd.as_path(), &self.place)),
            action => Studied::Other(action),
        }
    }

    fn weigh(&self, tool: Option<&str>, studied: &[Studied]) -> Explanation {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        let steps = |confined: Confined| {
            let bench = Bench { mode: self.mode, place: &self.place, confined, rules: &rules };
            let mut steps = Vec::new();
            for studied in studied {
                match studied {
                    Studied::Line(line) => {
                        for seen in line {
                            bench.seen(seen, &mut steps);
                        }
                    }
                    Studied::Other(action) => bench.action(action, &mut steps),
                }
            }
            if let Some(tool) = tool {
                bench.by_tool(tool, &mut steps);
            }
            steps
        };
        // Without the sandbox first: what is fine without it needs nobody, and what a rule allows is to run
        // without it only if all the rest of the call may, too.
        let free = steps(Confined::default());
        if free.iter().all(|step| step.step.answer == Answer::Allow) {
            let ruled = free.iter().any(|step| step.hold == Hold::Ruled);
            let held = free.iter().any(|step| step.hold == Hold::Held);
            let loose = ruled && !held && self.mode != Mode::ReadOnly;
            return self.explained(Verdict::Allow(if loose { Leash::Loose } else { Leash::Kept }), free);
        }
        let steps =
            if self.place.confined == Confined::default() { free } else { steps(self.place.confined) };
        let strictest = steps.iter().map(|step| step.step.answer).max().unwrap_or(Answer::Allow);
        let reason = reason(&steps, strictest);
        let verdict = match strictest {
            Answer::Allow => Verdict::Allow(Leash::Kept),
            Answer::Ask => Verdict::Ask { proposed: proposals::proposed(&steps), reason },
            Answer::Deny => Verdict::Deny { reason },
        };
        self.explained(verdict, steps)
    }

    fn explained(&self, verdict: Verdict, steps: Vec<Judged>) -> Explanation {
        let has_sandbox = self.place.confined != Confined::default()
            && matches!(self.mode, Mode::ReadOnly | Mode::Workspace);
        Explanation { verdict, has_sandbox, steps: steps.into_iter().map(|judged| judged.step).collect() }
    }

    /// Takes a rule in the one-line notation into force, for as long as this judge lives.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn learn(&self, rule: &Rule) -> Result<(), RuleError> {
        self.learn_each(std::slice::from_ref(rule))
    }

    fn learn_each(&self, rules: &[Rule]) -> Result<(), RuleError> {
        let read = |rule: &Rule| PolicyRule::read(&rule.0, Origin::Session);
        let rules = rules.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let compiled = rules.into_iter().map(|rule| Compiled::new(rule, &self.place));
        self.rules.write().unwrap_or_else(PoisonError::into_inner).extend(compiled);
        Ok(())
    }
}

impl Policy for Judge {
    fn decide(&self, actions: &[Action]) -> Verdict {
        self.explain(actions).verdict
    }

    fn decide_call(&self, tool: &str, actions: &[Action]) -> Verdict {
        self.explain_call(tool, actions).verdict
    }

    fn changes_nothing(&self, actions: &[Action]) -> bool {
        let changes_nothing = |action: &Action| match action {
            Action::Shell { line, cwd } => {
                let seen = study(line, cwd.as_path(), &self.place);
                !seen.is_empty() && seen.iter().all(|seen| is_harmless(seen) && all_read(&seen.asides))
            }
            other => other.only_reads(),
        };
        !actions.is_empty() && actions.iter().all(changes_nothing)
    }

    fn learn(&self, rule: &Rule) -> Result<(), String> {
        Self::learn(self, rule).map_err(|error| error.to_string())
    }

    fn learn_all(&self, rules: &[Rule]) -> Result<(), String> {
        self.learn_each(rules).map_err(|error| error.to_string())
    }

    fn yes(&self) -> Leash {
        if self.mode == Mode::ReadOnly { Leash::Kept } else { Leash::Loose }
    }
}

/// What is judged: a line that has been read, or another action.
enum Studied<'a> {
    Line(Vec<Seen>),
    Other(&'a Action),
}

/// A step, and what could be ruled of it.
struct Judged {
    step: Step,
    /// What it is about, for proposals.
    about: About,
    /// What it says of the sandbox.
    hold: Hold,
}

/// What something that is allowed says of the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// A rule allows it, so it needs none.
    Ruled,
    /// It is harmless, whatever else the call does.
    Harmless,
    /// It is kept in the sandbox, in case it is not what it seems.
    Held,
}

/// What a step is about.
enum About {
    Command(Vec<crate::shell::Word>),
    Read(Target),
    Write(Target),
    Net(Option<String>),
    Tool(String),
    Other,
}

impl Judged {
    /// The same, with what its command says of the sandbox, unless a rule has said it.
    fn or(mut self, hold: Hold) -> Self {
        if self.hold != Hold::Ruled {
            self.hold = hold;
        }
        self
    }
}

/// Commands that may stand beside one that a rule allows: they read, print and wait, and have no option that does
/// more; and those that only run another, which is seen by itself.
const BESIDE: &[&str] = &[
    ":", "basename", "cat", "cd", "cut", "date", "dirname", "echo", "exit", "false", "grep", "head", "ls",
    "nice", "pwd", "rg", "set", "sleep", "tail", "time", "timeout", "tr", "true", "wc",
];

/// Whether a command is harmless on its face: all of it is known, and it is one of those.
fn is_harmless(seen: &Seen) -> bool {
    let mut words = seen.words.iter();
    let name = words.next().and_then(crate::shell::Word::text);
    name.is_some_and(|name| BESIDE.contains(&name))
        && words.all(|word| word.text().is_some())
        && all_read(&seen.deeds)
}

fn all_read(deeds: &[Deed]) -> bool {
    deeds.iter().all(|deed| matches!(deed, Deed::Read(_) | Deed::ReadAll(_)))
}

/// Why, in a sentence for each step that decided.
fn reason(steps: &[Judged], strictest: Answer) -> String {
    const MOST: usize = 5;
    let mut reasons: Vec<String> = Vec::new();
    for judged in steps.iter().filter(|judged| judged.step.answer == strictest) {
        let Step { what, by, why, .. } = &judged.step;
        let reason = match by {
            By::Rule(rule) => format!("{what}: {why} ({rule})"),
            By::Mode(_) => format!("{what}: {why}"),
        };
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    let more = reasons.len().saturating_sub(MOST);
    reasons.truncate(MOST);
    if more > 0 {
        reasons.push(format!("and {more} more"));
    }
    reasons.join("; ")
}

/// All that decides.
struct Bench<'j> {
    mode: Mode,
    place: &'j Place,
    confined: Confined,
    rules: &'j [Compiled],
}

impl Bench<'_> {
    fn action(&self, action: &Action, steps: &mut Vec<Judged>) {
        match action {
            Action::Shell { line, cwd } => {
                for seen in &study(line, cwd.as_path(), self.place) {
                    self.seen(seen, steps);
                }
            }
            Action::Read { path } => {
                let deed = Deed::Read(Target::OneOf(vec![path.as_path().to_owned()]));
                steps.extend(self.deed(&deed, Due::None, Ground::Tool));
            }
            Action::ReadAll { path } => {
                let deed = Deed::ReadAll(Target::OneOf(vec![path.as_path().to_owned()]));
                steps.extend(self.deed(&deed, Due::None, Ground::Tool));
            }
            Action::Write { path } => {
                let deed = Deed::Write(Target::OneOf(vec![path.as_path().to_owned()]));
                steps.extend(self.deed(&deed, Due::None, Ground::Tool));
            }
            Action::Net { host } => {
                let deed = Deed::Net(Some(host.to_ascii_lowercase()));
                steps.extend(self.deed(&deed, Due::None, Ground::Tool));
            }
            Action::Code { .. } => {
                let deed = Deed::Hidden("code may do anything".to_owned());
                steps.extend(self.deed(&deed, Due::None, Ground::Code));
            }
            Action::Tool { name, .. } => steps.push(self.tool(name)),
            Action::Spawn { spec } => steps.push(self.spawn(spec)),
        }
    }

    /// Judges a command: the command itself, and what happens beside it.
    fn seen(&self, seen: &Seen, steps: &mut Vec<Judged>) {
        let what = format!("run {}", seen.shown);
        // With variables that may change what it does, a rule about the command would not be enough.
        let ruleless = seen.words.is_empty() || !seen.given.is_empty();
        let about = || if ruleless { About::Other } else { About::Command(seen.words.clone()) };
        let ruled = self.ruled_command(&seen.words);
        let before = steps.len();
        let mut due = Due::None;
        if let Some((answer, by, why)) = ruled {
            if answer == Answer::Allow {
                // In `read-only` no rule makes a command known that is not.
                due = if self.mode == Mode::ReadOnly { Due::None } else { Due::Command };
            }
            let step = Step { what: what.clone(), answer, by, why };
            steps.push(Judged { step, about: about(), hold: Hold::Ruled });
        }
        let harmless = if is_harmless(seen) { Hold::Harmless } else { Hold::Held };
        let first = steps.len();
        for deed in &seen.deeds {
            steps.extend(self.deed(deed, due, Ground::Command(&what)).map(|judged| judged.or(harmless)));
        }
        // Where only a rule about the command would help, rules about its files are not needed; else they are
        // better, because they allow less.
        let helps = |deed: &Deed| {
            matches!(deed, Deed::Opaque(_) | Deed::Hidden(_) | Deed::Beyond(_) | Deed::Net(None))
        };
        if seen.deeds.iter().any(helps) {
            for judged in steps.iter_mut().skip(first) {
                // Where keys are kept, only a rule about that helps.
                if !matches!(judged.about, About::Read(Target::OneOf(_))) {
                    judged.about = about();
                }
            }
        }
        if steps.len() == before && (!seen.words.is_empty() || seen.asides.is_empty()) {
            let why = "it changes nothing by itself".to_owned();
            let step = Step { what: what.clone(), answer: Answer::Allow, by: By::Mode(self.mode), why };
            steps.push(Judged { step, about: about(), hold: harmless });
        }
        for deed in &seen.asides {
            steps.extend(self.deed(deed, Due::None, Ground::Command(&what)));
        }
        // A rule is about a command as it is known, and not about what a variable makes of it.
        let by_rule = |judged: &Judged| judged.hold == Hold::Ruled && judged.step.answer == Answer::Allow;
        if self.mode != Mode::ReadOnly && steps.iter().skip(before).any(by_rule) {
            for name in &seen.given {
                let why = format!("it sets {name}, which may change what the program does");
                steps.extend(self.deed(&Deed::Opaque(why), Due::None, Ground::Command(&what)));
            }
        }
    }
}
