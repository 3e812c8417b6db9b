//! Where sessions are killed: one scenario on one wire.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use junto_core::CallPurpose;
use junto_llm::Wire;
use junto_twin::{Options, Repeats, Twin};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::aim::{Aim, Chance, Course};
use super::checks::{self, Asked, Requests};
use super::journal::Journal;
use super::life::{End, Host, Lived, Start, live};
use super::outcome::{Outcome, Place};
use super::plays::{LOCAL, RAN, Scenario, TASKS, model};
use super::{Tried, survivors};

/// How often one session is killed at most.
const KILLS: u64 = 3;
/// What is asked of the index.
const QUESTIONS: [&[&str]; 4] = [
    &["sessions", "--all", "--json"],
    &["cost", "--json", "--by", "session"],
    &["cost", "--json", "--by", "model"],
    &["cost", "--json", "--by", "agent"],
];

/// One scenario on one wire, with a home and a project of its own, and a run that nobody killed.
pub struct Ground {
    junto: PathBuf,
    folder: PathBuf,
    scenario: Scenario,
    wire: Wire,
    reference: Reference,
    /// Serves the twins.
    runtime: Runtime,
}

/// A run that nobody killed.
#[derive(Default)]
struct Reference {
    system: Option<String>,
    requests: Vec<Asked>,
    /// How many of them do not depend on how long a command took.
    timeless: usize,
    /// What each was for.
    purposes: Vec<CallPurpose>,
    course: Course,
}

/// Whether a request is of the agent itself, and not of a child.
fn is_own(body: &[u8]) -> bool {
    let [first, _] = TASKS;
    String::from_utf8_lossy(body).contains(first)
}

/// What the agent itself asked from a request on; what was asked twice in a row counts once.
fn asked(twin: &Twin, from: usize, journal: &Journal) -> Vec<Asked> {
    let (received, bodies) = (twin.requests(), twin.bodies());
    let all = received.iter().zip(&bodies).skip(from).filter(|(_, body)| is_own(body));
    let mut asked: Vec<Asked> =
        all.map(|(received, body)| Asked::new(&received.path, body, journal.session())).collect();
    asked.dedup_by(|a, b| a.body == b.body);
    asked
}

impl Ground {
    /// Makes the place in a folder that is its own, and runs the scenario once without killing it.
    ///
    /// # Errors
    /// If that run does not go as it should.
    pub fn new(junto: &Path, folder: &Path, scenario: Scenario, wire: Wire) -> Result<Self, String> {
        let told = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(told)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let mut ground = Self {
            junto: junto.to_owned(),
            folder: folder.canonicalize().map_err(told)?,
            scenario,
            wire,
            reference: Reference::default(),
            runtime: runtime.map_err(told)?,
        };
        ground.reference = ground.refer()?;
        Ok(ground)
    }

    fn refer(&self) -> Tried<Reference> {
        let twin = self.begin()?;
        let lived = self.live(&twin, &Journal::default(), None)?;
        let journal = Journal::of(&self.state())?;
        let mut faults = Vec::new();
        self.check_end(&lived, &journal, &mut faults);
        if !faults.is_empty() {
            return Err(format!("the run that nobody killed: {}", faults.join("\n")));
        }
        let mut course = Course {
            bytes: super::journal::size(&self.state()),
            requests: twin.bodies().len() as u64,
            took: lived.took,
            ..Course::default()
        };
        for kind in lived.shown.iter().filter_map(|line| line["type"].as_str()) {
            *course.lines.entry(kind.to_owned()).or_default() += 1;
        }
        let requests = asked(&twin, 0, &journal);
        let (system, purposes, timeless) = (journal.system(), journal.answers(), journal.timeless());
        if purposes.len() != requests.len() {
            return Err(format!("{} requests have {} answers", requests.len(), purposes.len()));
        }
        let numbered = (1..).zip(&purposes);
        course.chores =
            numbered.filter(|(_, purpose)| **purpose == CallPurpose::Compaction).map(|(n, _)| n).collect();
        self.runtime.block_on(twin.close());
        Ok(Reference { system, requests, timeless, purposes, course })
    }

    /// Kills a session where the seed says, brings it back, perhaps more than once, and judges what became of
    /// it. What it left is in the folder until the next.
    pub fn case(&mut self, seed: u64) -> Outcome {
        let mut outcome = Outcome {
            scenario: self.scenario,
            wire: self.wire,
            seed,
            kills: Vec::new(),
            compared: 0,
            changed: 0,
            faults: Vec::new(),
        };
        match self.try_case(&mut outcome) {
            Ok(Compared::WithIt) => {}
            // The prompt names the day, and that is another now.
            Ok(Compared::WithAnotherDay) => {
                let blank = Outcome { kills: Vec::new(), faults: Vec::new(), ..outcome.clone() };
                outcome = blank;
                let again = self.refer().map(|reference| self.reference = reference);
                match again.and_then(|()| self.try_case(&mut outcome)) {
                    Ok(Compared::WithIt) => {}
                    Ok(Compared::WithAnotherDay) => {
                        outcome.faults.push("the system prompt is another each time".to_owned());
                    }
                    Err(fault) => outcome.faults.push(fault),
                }
            }
            Err(fault) => outcome.faults.push(fault),
        }
        let left = survivors::wait(&self.folder);
        outcome.faults.extend(left.into_iter().map(|line| format!("it was left behind: {line}")));
        outcome
    }

    /// Moves what the last session left to another folder, to be looked at.
    ///
    /// # Errors
    /// If it cannot be moved.
    pub fn put_aside(&self, to: &Path) -> Result<(), String> {
        let told = |error: std::io::Error| format!("{}: {error}", to.display());
        fs::create_dir_all(to).map_err(told)?;
        for name in ["home", "project"] {
            fs::rename(self.folder.join(name), to.join(name)).map_err(told)?;
        }
        Ok(())
    }

    fn try_case(&self, outcome: &mut Outcome) -> Tried<Compared> {
        let mut chance = Chance::new(outcome.seed);
        let times = 1 + chance.below(KILLS);
        let twin = self.begin()?;
        let mut requests = Requests {
            reference: &self.reference.requests,
            timeless: self.reference.timeless,
            purposes: &self.reference.purposes,
            wire: self.wire,
            scenario: self.scenario,
            same: true,
            compared: 0,
            changed: 0,
        };
        let faults = &mut outcome.faults;
        let mut past = Journal::default();
        for life in 0..=times {
            let aim = (life < times).then(|| Aim::choose(&self.reference.course, &mut chance));
            let before = twin.bodies().len();
            let lived = self.live(&twin, &past, aim.as_ref())?;
            let left = survivors::below(&self.project());
            let journal = Journal::of(&self.state())?;
            if journal.system().is_some() && journal.system() != self.reference.system {
                return Ok(Compared::WithAnotherDay);
            }
            checks::shown(&lived, &journal, faults);
            let killed = lived.end == End::Killed;
            let requested = asked(&twin, before, &journal);
            requests.check(&past, &requested, (&journal, !killed), faults);
            past = journal;
            if !killed {
                self.check_end(&lived, &past, faults);
                break;
            }
            let in_snapshot = left.iter().any(|process| process.line.starts_with("git "));
            outcome.kills.push(if in_snapshot { Place::Snapshot } else { self.place(&past, &twin) });
            // What it started may still be at work when it comes back, or not.
            if chance.below(2) == 0 {
                faults.extend(survivors::wait(&self.project()));
            }
            if chance.below(4) == 0 {
                self.check_index(faults)?;
            }
        }
        outcome.compared = requests.compared;
        outcome.changed = requests.changed;
        survivors::wait(&self.project());
        self.check_index(faults)?;
        self.runtime.block_on(twin.close());
        Ok(Compared::WithIt)
    }

    fn place(&self, journal: &Journal, twin: &Twin) -> Place {
        let answers = journal.answers().len();
        let made = asked(twin, 0, journal).len();
        if journal.events.is_empty() {
            Place::NotBegun
        } else if journal.is_over() {
            Place::Over
        } else if !journal.is_open() {
            Place::Idle
        } else if journal.has_children() {
            Place::Child
        } else if journal.is_asking() {
            Place::Approval
        } else if !journal.running().is_empty() {
            Place::Tool
        } else if made > answers {
            match self.reference.purposes.get(answers) {
                Some(CallPurpose::Compaction) => Place::Compaction,
                _ => Place::Model,
            }
        } else {
            Place::Between
        }
    }

    fn check_end(&self, lived: &Lived, journal: &Journal, faults: &mut Vec<String>) {
        if lived.end != End::Ended(Some(0)) {
            faults.push(format!("it ended with {:?}: {}", lived.end, lived.said));
        }
        // Whoever is told that files are not kept, cannot take anything back.
        if lived.said.contains("warning:") {
            faults.push(format!("it warns: {}", lived.said));
        }
        checks::ended(journal, TASKS.len(), faults);
        let ran = fs::read_to_string(self.project().join(RAN)).unwrap_or_default();
        checks::ran(journal, &ran, faults);
    }

    /// What the index says is what one says that is made anew.
    fn check_index(&self, faults: &mut Vec<String>) -> Tried {
        let ask = |question: &&[&str]| self.query(question);
        let then = QUESTIONS.iter().map(ask).collect::<Tried<Vec<Value>>>()?;
        for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
            // Some are there only while it is open.
            let _ = fs::remove_file(self.state().join(name));
        }
        let now = QUESTIONS.iter().map(ask).collect::<Tried<Vec<Value>>>()?;
        for (question, (then, now)) in QUESTIONS.iter().zip(then.iter().zip(&now)) {
            if then != now {
                faults.push(format!("`{}` says {then}, and with a new index {now}", question.join(" ")));
            }
        }
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "it is what is tested that is started")]
    fn query(&self, args: &[&str]) -> Tried<Value> {
        let mut command = Command::new(&self.junto);
        command.args(args).env_clear().envs(self.variables(None)).current_dir(self.project());
        let told = command.output().map_err(|error| error.to_string())?;
        let failed =
            |why: &str| format!("`{}`: {why}: {}", args.join(" "), String::from_utf8_lossy(&told.stderr));
        if !told.status.success() {
            return Err(failed("it failed"));
        }
        serde_json::from_slice(&told.stdout).map_err(|error| failed(&error.to_string()))
    }

    fn live(&self, twin: &Twin, past: &Journal, aim: Option<&Aim>) -> Tried<Lived> {
        let mut args: Vec<&str> = match past.session() {
            Some(session) => vec!["resume", session],
            None => vec!["run"],
        };
        args.extend(["--json", "--input", "json"]);
        args.extend(self.scenario.flags());
        let start = Start {
            junto: &self.junto,
            args: args.into_iter().map(str::to_owned).collect(),
            variables: &self.variables(Some(twin)),
            project: &self.project(),
            state: &self.state(),
        };
        live(&start, Host::after(past, self.scenario), twin, aim)
    }

    /// An empty home, an empty project, and a twin that has answered nothing yet.
    fn begin(&self) -> Tried<Twin> {
        let told = |error: std::io::Error| format!("{}: {error}", self.folder.display());
        for folder in [self.folder.join("home"), self.project()] {
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(told(error)),
                _ => fs::create_dir_all(&folder).map_err(told)?,
            }
        }
        // The least that git takes for a repository, so that it does not look for one above.
        let repository = self.project().join(".git");
        for part in ["objects", "refs"] {
            fs::create_dir_all(repository.join(part)).map_err(told)?;
        }
        fs::write(repository.join("HEAD"), "ref: refs/heads/main\n").map_err(told)?;
        let inside = self.runtime.enter();
        let options = Options { repeats: Repeats::Same, ..Options::default() };
        let twin = Twin::start(self.scenario.play(self.wire), options).map_err(told)?;
        drop(inside);
        let config = self.folder.join("home/.config/junto");
        fs::create_dir_all(&config).map_err(told)?;
        fs::write(config.join("config.toml"), self.config(&twin)).map_err(told)?;
        Ok(twin)
    }

    fn config(&self, twin: &Twin) -> String {
        let (provider, model) = model(self.wire);
        let mut config = format!("model = \"{provider}/{model}\"\nretry.base = \"0s\"\n");
        if self.wire == Wire::Chat {
            let (window, answer) = LOCAL;
            let url = twin.base_url(self.wire);
            let _ = write!(
                config,
                "[providers.{provider}]\nwire = \"chat\"\nbase_url = \"{url}\"\nkey_env = \"LOCAL_KEY\"\n\
                 [[models]]\nid = \"{model}\"\nprovider = \"{provider}\"\nname = \"{model}\"\n\
                 context_window = {window}\nmax_output = {answer}\nreleased = \"2026-01-01\"\ntools = true\n"
            );
        }
        config
    }

    fn variables(&self, twin: Option<&Twin>) -> Vec<(String, String)> {
        let text = |path: PathBuf| path.display().to_string();
        let mut variables = vec![
            ("HOME", text(self.folder.join("home"))),
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
        ];
        let names = match self.wire {
            Wire::Anthropic => Some(("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")),
            Wire::Responses => Some(("OPENAI_BASE_URL", "OPENAI_API_KEY")),
            Wire::Gemini => Some(("GEMINI_BASE_URL", "GEMINI_API_KEY")),
            Wire::Chat => None,
        };
        if let Some(twin) = twin {
            let key = twin.key().to_owned();
            match names {
                Some((url, name)) => variables.extend([(url, twin.base_url(self.wire)), (name, key)]),
                None => variables.push(("LOCAL_KEY", key)),
            }
        }
        variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    fn state(&self) -> PathBuf {
        self.folder.join("home/.local/state/junto")
    }
}

/// Whether a case could be compared.
enum Compared {
    WithIt,
    /// With a run of another day.
    WithAnotherDay,
}
