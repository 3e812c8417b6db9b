//! A repository, members that are lines of shell, and the contest between them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use junto_core::{
    Abilities, Ack, Agent, AgentError, AgentErrorKind, AgentSpec, Body, Command, EndReason, EventError,
    EventLog, Fut, Input, Outcome, Parent, Seq,
};
use junto_council::contest::{
    Candidate, Contest, ContestSetup, Crew, Member, Oracle, OracleChoice, Record, Runs,
};
use junto_env::{CommandSpec, ExecutionEnvironment, LocalEnvironment, exec};
use junto_llm::{Cost, Unlimited, Usage, Usd};
use tokio_util::sync::CancellationToken;

/// Longer than anything here takes: it only keeps a test that hangs from hanging for ever.
pub(crate) const HANG: Duration = Duration::from_mins(2);

/// A folder with a repository, and one for what is kept.
pub(crate) struct Ground {
    folder: tempfile::TempDir,
    pub(crate) crew: Arc<ShellCrew>,
}

impl Ground {
    /// A repository with a program that says what it should not, and a check that notices.
    pub(crate) fn new() -> Self {
        let ground = Self::empty();
        ground.git(&["init", "--quiet", "--initial-branch=trunk"]);
        ground.write("answer", "41\n");
        ground.write("check.sh", "test \"$(cat answer)\" = 42\n");
        ground.commit("The beginning");
        ground
    }

    /// Folders, and no repository.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        let home = folder.path().join("home");
        Self {
            crew: Arc::new(ShellCrew { home, path: Mutex::new("/usr/bin:/bin"), made: Mutex::default() }),
            folder,
        }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("project")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("state")
    }

    pub(crate) fn runs(&self) -> Runs {
        Runs::new(self.state())
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", message]);
    }

    /// Git in the project, as a user calls it.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.project(), args)
    }

    /// Everything that a contest must not touch: branches, stashes, settings, worktrees, and files as they are.
    pub(crate) fn untouched(&self) -> String {
        let parts = [
            self.git(&["for-each-ref"]),
            self.git(&["worktree", "list"]),
            self.git(&["status", "--porcelain", "--ignored"]),
            self.git(&["config", "--local", "--list"]),
            self.git(&["rev-parse", "HEAD"]),
            self.git(&["count-objects", "-v"]),
            listing(&self.project()),
        ];
        parts.join("\n---\n")
    }

    /// A contest of these lines of shell, judged by `sh check.sh`.
    pub(crate) fn setup(&self, members: &[&str]) -> ContestSetup {
        let member = |line: &&str| Member {
            name: format!("m{}", line.len()),
            spec: AgentSpec { kind: "shell".into(), model: Some((*line).into()), ..AgentSpec::default() },
        };
        ContestSetup {
            oracle: OracleChoice::Given(Oracle::given("sh check.sh")),
            ..ContestSetup::new(
                self.project(),
                self.runs(),
                self.crew.clone(),
                members.iter().map(member).collect(),
            )
        }
    }

    /// Holds it, checks that it left nothing behind and touched nothing, and gives its record and how it ended.
    pub(crate) async fn hold(&self, setup: ContestSetup) -> (Record, Outcome) {
        let before = self.untouched();
        let held = self.play(setup).await;
        assert_eq!(self.untouched(), before, "the user's repository");
        let (record, outcome) = held;
        let record = record.unwrap_or_else(|| panic!("no run: {outcome:?}"));
        (record, outcome)
    }

    /// The same where no run comes about: why.
    pub(crate) async fn refused(&self, setup: ContestSetup) -> EventError {
        let (record, outcome) = self.play(setup).await;
        assert!(record.is_none(), "{record:?}");
        let left: Vec<_> = fs::read_dir(self.state()).into_iter().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
        match outcome.reason {
            EndReason::Failed { error } => error,
            reason => panic!("{reason:?}"),
        }
    }

    /// Holds it, whatever it touches.
    pub(crate) async fn play(&self, setup: ContestSetup) -> (Option<Record>, Outcome) {
        let log = EventLog::in_memory(Arc::new(|| jiff::Timestamp::UNIX_EPOCH));
        let contest = Contest::start(setup, nobody(), log.clone()).await.unwrap();
        contest.send(Command::Submit { input: Input::text("Make it right.") }).await.unwrap();
        tokio::time::timeout(HANG, input_end(&log)).await.unwrap();
        let record = contest.record();
        let outcome = contest.close().await;
        let events = log.subscribe(Seq::START).rest().await.unwrap();
        junto_core::grammar::check(&events).unwrap();
        self.nothing_left(record.as_ref());
        (record, outcome)
    }

    /// No process, and no worktree but those that the record names.
    pub(crate) fn nothing_left(&self, record: Option<&Record>) {
        assert_eq!(self.crew.survivors(), Vec::<String>::new());
        let Some(record) = record else { return };
        let work = self.state().join(&record.run.0).join("work");
        let mut there: Vec<PathBuf> =
            fs::read_dir(work).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        there.sort();
        let named: Vec<PathBuf> = record.candidates.iter().filter_map(|c| c.left.clone()).collect();
        assert_eq!(there, named);
        // What is kept is what is known.
        assert_eq!(self.runs().read(&record.run).unwrap(), *record);
    }

    pub(crate) fn diff(&self, record: &Record, candidate: &Candidate) -> Vec<u8> {
        fs::read(self.runs().diff_file(&record.run, candidate.number).unwrap()).unwrap()
    }
}

/// Waits until the contest's own input has ended.
pub(crate) async fn input_end(log: &EventLog) {
    let mut events = log.subscribe(Seq::START);
    loop {
        if let junto_core::Item::Event(event) = events.next().await.unwrap()
            && event.agent == *log.agent()
            && matches!(event.body, Body::InputEnd { .. })
        {
            return;
        }
    }
}

pub(crate) fn nobody() -> Parent {
    Parent { log: None, env: None, depth: 0, cancel: CancellationToken::new(), budget: Arc::new(Unlimited) }
}

/// Git, as a user calls it.
pub(crate) fn git(directory: &Path, args: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.args(["-c", "protocol.file.allow=always"]).args(args).current_dir(directory).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("HOME", "/nonexistent");
    for who in ["GIT_AUTHOR", "GIT_COMMITTER"] {
        command.env(format!("{who}_NAME"), "user").env(format!("{who}_EMAIL"), "user@localhost");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Every file below a folder but git's own, with its mode and its content or target.
fn listing(folder: &Path) -> String {
    let mut lines = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(at) = waiting.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            if path.file_name().unwrap() == ".git" {
                continue;
            }
            let what = if meta.is_dir() {
                waiting.push(path.clone());
                String::new()
            } else if meta.is_symlink() {
                fs::read_link(&path).unwrap().display().to_string()
            } else {
                let content = fs::read(&path).unwrap();
                format!("{} {:?}", content.len(), &content[..content.len().min(200)])
            };
            lines.push(format!("{} {:o} {what}", path.display(), meta.permissions().mode()));
        }
    }
    lines.sort();
    lines.join("\n")
}

/// Makes agents that run a line of shell, and remembers where.
pub(crate) struct ShellCrew {
    home: PathBuf,
    /// Where programs are.
    pub(crate) path: Mutex<&'static str>,
    made: Mutex<Vec<Arc<LocalEnvironment>>>,
}

impl ShellCrew {
    fn local(&self, directory: &Path) -> Result<Arc<LocalEnvironment>, junto_env::Error> {
        let variables = [("PATH", *self.path.lock().unwrap()), ("SECRET_TOKEN", "s3cr3t")];
        let env = LocalEnvironment::builder(directory).variables(variables).home(&self.home).build()?;
        let env = Arc::new(env);
        self.made.lock().unwrap().push(Arc::clone(&env));
        Ok(env)
    }

    fn survivors(&self) -> Vec<String> {
        let made = self.made.lock().unwrap();
        made.iter().flat_map(|env| env.survivors()).map(|left| format!("{left:?}")).collect()
    }
}

impl Crew for ShellCrew {
    fn environment(&self, directory: &Path) -> Result<Arc<dyn ExecutionEnvironment>, junto_env::Error> {
        Ok(self.local(directory)?)
    }

    fn start<'a>(
        &'a self,
        spec: AgentSpec,
        directory: &'a Path,
        parent: Parent,
    ) -> Fut<'a, Result<Arc<dyn Agent>, AgentError>> {
        Box::pin(async move {
            let invalid = |message: String| AgentError::new(AgentErrorKind::Invalid, message);
            if spec.kind != "shell" {
                return Err(invalid(format!("there is no kind of agent named `{}`", spec.kind)));
            }
            let env = self.local(directory).map_err(|error| invalid(error.to_string()))?;
            let log = parent.log.unwrap().child();
            let abilities = Contest::ABILITIES;
            let kind = spec.kind.clone();
            log.emit(Body::SessionStart { kind, model: None, workdir: None, abilities, setup: None }).await?;
            let line = spec.model.unwrap_or_default();
            let agent = Shell { log, env, line, cancel: parent.cancel.child_token(), work: Mutex::default() };
            Ok(Arc::new(agent) as Arc<dyn Agent>)
        })
    }
}

/// An agent that runs a line of shell, whatever its task is.
struct Shell {
    log: EventLog,
    env: Arc<LocalEnvironment>,
    line: String,
    cancel: CancellationToken,
    work: Mutex<Option<tokio::task::JoinHandle<Outcome>>>,
}

impl Agent for Shell {
    fn abilities(&self) -> Abilities {
        Contest::ABILITIES
    }

    fn log(&self) -> &EventLog {
        &self.log
    }

    fn send(&self, command: Command) -> Fut<'_, Result<Ack, AgentError>> {
        Box::pin(async move {
            let Command::Submit { input } = command else { return Err(AgentError::unsupported("do that")) };
            self.log.begin_turn();
            self.log.emit(Body::UserInput { input, pictures: None }).await?;
            let (log, env, line) = (self.log.clone(), Arc::clone(&self.env), self.line.clone());
            let cancel = self.cancel.clone();
            let work = tokio::spawn(async move {
                let ran = exec(&*env, CommandSpec::shell(line), HANG, &cancel, &mut |_| {}).await.unwrap();
                let reason = if ran.cancelled {
                    EndReason::Interrupted
                } else if ran.exit.success() {
                    EndReason::Done
                } else {
                    let said = String::from_utf8_lossy(ran.stderr.head()).into_owned();
                    let error = AgentError::new(AgentErrorKind::Process, format!("{}: {said}", ran.exit));
                    EndReason::Failed { error: EventError::from(&error) }
                };
                let text = String::from_utf8_lossy(ran.stdout.head()).into_owned();
                let end = Body::InputEnd { reason: reason.clone(), text: text.clone().into() };
                log.emit(end).await.unwrap();
                Outcome { reason, text }
            });
            *self.work.lock().unwrap() = Some(work);
            Ok(Ack::Started)
        })
    }

    fn close(&self) -> Fut<'_, Outcome> {
        Box::pin(async move {
            self.cancel.cancel();
            let work = self.work.lock().unwrap().take();
            let outcome = match work {
                Some(work) => work.await.unwrap(),
                None => Outcome { reason: EndReason::Done, text: String::new() },
            };
            let usage = Usage { input: 10, output: 1, total: 11, ..Usage::default() };
            let cost = Cost::Reported(Usd::from_dollars(0.01));
            let end = Body::SessionEnd { reason: outcome.reason.clone(), usage, cost };
            self.log.emit(end).await.unwrap();
            outcome
        })
    }
}
