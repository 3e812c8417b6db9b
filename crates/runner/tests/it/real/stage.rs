//! A home, a directory, a twin, and what must hold of every agent that has worked there.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use junto::policy::Mode as GuardMode;
use junto::{Cli, Enforcement, Guard, Kind, Native, Workshop};
use junto_core::{
    Agent, AgentSpec, Body, Command, EndReason, Event, Item, Mode, OnReject, Purse, ResumeHandle, Seq,
    Subscription, When,
};
use junto_env::{ExecutionEnvironment, LocalEnvironment, survivors};
use junto_llm::{Allowance, Endpoint as ModelEndpoint, HttpProvider, Secret, Timeouts, Usage, Wire, retry};
use junto_runner::{Definition, Endpoint, Home, Host, Patience};
use junto_testkit::cast::{Who, search_path};
use junto_testkit::finished;
use junto_twin::{Call, DEFAULT_KEY, Fault, Options, Play, Received, Step, Twin};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Longer than anything healthy takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_mins(2);

const EAGER: retry::Policy =
    retry::Policy { max_retries: 2, base: Duration::ZERO, factor: 1.0, cap: LONG, jitter: 0.0 };

/// What is played.
pub(crate) struct Scenario {
    /// What the model does.
    pub(crate) steps: Vec<Step>,
    /// What goes wrong on the way to it, whatever it does.
    pub(crate) fault: Option<Fault>,
    /// What the agent is told, one after the other.
    pub(crate) inputs: Vec<String>,
    pub(crate) mode: Mode,
    /// What the agent is told over everything else.
    pub(crate) instructions: Option<String>,
    /// Where it may work beside its directory.
    pub(crate) directories: Vec<PathBuf>,
    /// What it goes on with.
    pub(crate) resume: Option<ResumeHandle>,
    pub(crate) allowance: Allowance,
    /// The key that the agent has.
    pub(crate) key: &'static str,
    /// How long it may be silent.
    pub(crate) idle: Duration,
    /// Whether there is a server at all.
    pub(crate) server: Server,
    pub(crate) meanwhile: Meanwhile,
}

/// Whom an agent asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// The one that plays.
    Twin,
    /// Nobody listens there.
    Nobody,
}

impl Server {
    fn url(self, twin: &Twin, wire: Wire) -> String {
        let url = twin.base_url(wire);
        match self {
            Self::Twin => url,
            Self::Nobody => {
                let address = url.split('/').nth(2).unwrap_or_default();
                // A port that nobody may listen on without being root, and nobody does.
                url.replace(address, "127.0.0.1:1")
            }
        }
    }
}

/// What the host does while the agent works.
pub(crate) enum Meanwhile {
    /// It waits.
    Nothing,
    /// It interrupts the agent when the model has been asked, and does not answer.
    InterruptTheModel,
    /// It interrupts the agent when a command has opened this pipe.
    InterruptTheCommand(PathBuf),
    /// It says something more while a command waits at this pipe, and lets that go on then.
    Steer(PathBuf, &'static str),
}

impl Scenario {
    /// This play, for an agent that is told something and may do anything.
    pub(crate) fn new(steps: impl Into<Vec<Step>>) -> Self {
        Self {
            steps: steps.into(),
            fault: None,
            inputs: vec!["Work".to_owned()],
            mode: Mode::Full,
            instructions: None,
            directories: Vec::new(),
            resume: None,
            allowance: Allowance::UNLIMITED,
            key: DEFAULT_KEY,
            idle: LONG,
            server: Server::Twin,
            meanwhile: Meanwhile::Nothing,
        }
    }
}

/// A home and a directory for one agent, or for several.
pub(crate) struct Stage {
    pub(crate) who: Who,
    folder: TempDir,
    env: Arc<LocalEnvironment>,
    /// What is changed in the program's definition.
    change: fn(&mut Definition),
}

/// What came of a scenario.
pub(crate) struct Played {
    pub(crate) events: Vec<Event>,
    /// What the model was asked.
    pub(crate) requests: Vec<Received>,
    /// What it said that it was used for.
    pub(crate) told: Usage,
}

impl Stage {
    pub(crate) fn new(who: Who) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "work"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let work = folder.path().join("work");
        let variables = [("PATH", search_path())];
        let env = Arc::new(LocalEnvironment::builder(work).variables(variables).build().unwrap());
        Self { who, folder, env, change: |_| {} }
    }

    /// The same, with another definition of the program.
    pub(crate) fn changed(mut self, change: fn(&mut Definition)) -> Self {
        self.change = change;
        self
    }

    /// Where the agent works.
    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work").canonicalize().unwrap()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home").canonicalize().unwrap()
    }

    /// Where the agent keeps its sessions.
    pub(crate) fn own_home(&self) -> PathBuf {
        self.home().join("own")
    }

    /// What the program is run with over this twin, where no agent does it: its definition and its host.
    pub(crate) fn host(&self, twin: &Twin, scenario: &Scenario) -> (Definition, Host) {
        let cli = self.program(twin, scenario);
        cli.definition.home.furnish(&self.own_home()).unwrap();
        let host = cli.host(Arc::clone(&self.env) as Arc<dyn ExecutionEnvironment>);
        (cli.definition, host)
    }

    /// A named pipe beside the directory, for a command to say that it runs.
    pub(crate) fn pipe(&self) -> PathBuf {
        let path = self.folder.path().join("pipe");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        path
    }

    /// A call that makes a file.
    pub(crate) fn write(&self, name: &str, content: &str) -> Call {
        self.who.write(&self.work(), name, content)
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.work().join(name)).ok()
    }

    /// Plays a scenario to its end.
    pub(crate) async fn play(&self, scenario: Scenario) -> Played {
        let Scenario { steps, fault, .. } = &scenario;
        let options = Options { fault: fault.clone(), ..Options::default() };
        let twin = Twin::start(Play::of(steps.clone()), options).unwrap();
        let purse = Purse::new(scenario.allowance);
        let agent = self.agent(&twin, &scenario, &purse).await;
        let events = self.told(agent, &twin, &scenario.inputs, &scenario.meanwhile).await;
        self.assert_no_survivors().await;
        twin.wait_until_idle().await;
        let played = Played { requests: twin.requests(), told: twin.usage_told(), events };
        twin.close().await;
        played.check(scenario.inputs.len());
        played
    }

    /// Plays a scenario twice at the same time: two agents, each of which is told one thing.
    pub(crate) async fn play_both(&self, scenario: Scenario, inputs: [&str; 2]) -> [Played; 2] {
        let twin = Twin::start(Play::of(scenario.steps.clone()), Options::default()).unwrap();
        let purse = Purse::new(scenario.allowance);
        let agents = [self.agent(&twin, &scenario, &purse).await, self.agent(&twin, &scenario, &purse).await];
        let [first, second] = agents;
        let inputs = inputs.map(|input| [input.to_owned()]);
        let (first, second) = tokio::join!(
            self.told(first, &twin, &inputs[0], &scenario.meanwhile),
            self.told(second, &twin, &inputs[1], &scenario.meanwhile),
        );
        self.assert_no_survivors().await;
        twin.wait_until_idle().await;
        let played = [first, second].map(|events| Played {
            requests: twin.requests(),
            told: twin.usage_told(),
            events,
        });
        twin.close().await;
        for played in &played {
            played.check(1);
        }
        played
    }

    /// Tells an agent one thing after the other, closes it, and gives its checked log.
    async fn told(
        &self,
        agent: Arc<dyn Agent>,
        twin: &Twin,
        inputs: &[String],
        meanwhile: &Meanwhile,
    ) -> Vec<Event> {
        for input in inputs {
            self.turn(&*agent, twin, input, meanwhile).await;
        }
        agent.close().await;
        finished(agent.log()).await
    }

    pub(crate) async fn assert_no_survivors(&self) {
        let env = Arc::clone(&self.env);
        let left = tokio::task::spawn_blocking(move || survivors::after(&env, LONG)).await.unwrap();
        assert_eq!(left, [], "nothing survives");
    }

    /// Tells the agent something and waits for the end of it.
    async fn turn(&self, agent: &dyn Agent, twin: &Twin, input: &str, meanwhile: &Meanwhile) {
        let mut reader = agent.log().subscribe(agent.log().last().next());
        agent.send(Command::Submit { input: input.into() }).await.unwrap();
        match meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::InterruptTheModel => twin.wait_for_requests(1).await,
            Meanwhile::InterruptTheCommand(pipe) => {
                drop(opened(pipe, std::fs::OpenOptions::new().read(true)).await);
                until(&mut reader, "tool_call_start").await;
            }
            Meanwhile::Steer(pipe, text) => {
                let held = opened(pipe, std::fs::OpenOptions::new().write(true)).await;
                until(&mut reader, "tool_call_start").await;
                agent.send(Command::Steer { input: (*text).into(), when: When::Round }).await.unwrap();
                drop(held);
            }
        }
        if matches!(meanwhile, Meanwhile::InterruptTheModel | Meanwhile::InterruptTheCommand(_)) {
            agent.send(Command::Interrupt).await.unwrap();
        }
        let ended = tokio::time::timeout(LONG, until(&mut reader, "input_end")).await;
        if ended.is_err() {
            let so_far = agent.log().subscribe(Seq::START).rest().await.unwrap_or_default();
            panic!("the input does not end: {:#?}\n{:#?}", so_far, summary(&twin.requests()));
        }
    }

    /// The agent that plays, over this twin.
    async fn agent(&self, twin: &Twin, scenario: &Scenario, purse: &Purse) -> Arc<dyn Agent> {
        let kind = if self.who.is_program() {
            Kind::Cli(Box::new(self.program(twin, scenario)))
        } else {
            Kind::Native(self.native(twin, scenario))
        };
        let env = Arc::clone(&self.env) as Arc<dyn ExecutionEnvironment>;
        let made = Arc::clone(&env);
        let mut workshop = Workshop::builder(self.work(), move |_| Ok(Arc::clone(&made)))
            .retry(EAGER)
            .budget(Arc::new(purse.clone()))
            .kind(self.who.kind(), kind);
        if scenario.mode == Mode::ReadOnly {
            let guard = Guard { enforcement: Enforcement::Off, ..Guard::new(GuardMode::ReadOnly) };
            workshop = workshop.policy(Arc::new(guard.judge(&*env)), OnReject::default());
        }
        let spec = AgentSpec {
            kind: self.who.kind().to_owned(),
            model: Some(self.who.model().to_owned()),
            instructions: scenario.instructions.clone(),
            directories: scenario.directories.clone(),
            resume: scenario.resume.clone(),
            mode: scenario.mode,
            ..AgentSpec::default()
        };
        workshop.build().start(spec, CancellationToken::new()).await.unwrap()
    }

    fn program(&self, twin: &Twin, scenario: &Scenario) -> Cli {
        let mut definition = Definition::shipped(self.who.kind()).unwrap();
        definition.command.splice(..1, [self.who.program()]);
        (self.change)(&mut definition);
        let variables = self.variables().map(|(name, value)| (name.to_owned(), Secret::new(value)));
        Cli {
            variables: variables.into(),
            patience: Patience { idle: scenario.idle, hard: None, grace: Duration::from_secs(3) },
            home: Home::Isolated(self.own_home()),
            steerable: matches!(scenario.meanwhile, Meanwhile::Steer(..)),
            endpoint: Some(Endpoint::new(scenario.server.url(twin, self.who.wire())).with_key(scenario.key)),
            is_root: nix::unistd::geteuid().is_root(),
            ..Cli::new(definition)
        }
    }

    fn native(&self, twin: &Twin, scenario: &Scenario) -> Native {
        let wire = self.who.wire();
        let endpoint = ModelEndpoint::new("anthropic", wire, scenario.server.url(twin, wire))
            .key(scenario.key)
            .timeouts(Timeouts { idle: scenario.idle, ..Timeouts::default() });
        Native::new(Arc::new(HttpProvider::new(endpoint).unwrap()))
    }

    fn variables(&self) -> [(&'static str, String); 2] {
        [("PATH", search_path()), ("HOME", self.home().to_str().unwrap().to_owned())]
    }
}

impl Played {
    /// What must hold in every scenario.
    fn check(&self, inputs: usize) {
        assert_eq!(
            (self.count("user_input"), self.count("input_end")),
            (inputs, inputs),
            "{:?}",
            self.names()
        );
        let Some(Body::SessionEnd { usage, .. }) = self.events.last().map(|event| &event.body) else {
            panic!("{:?}", self.names());
        };
        let calls = self.events.iter().filter_map(|event| match &event.body {
            Body::Call { usage, .. } => Some(usage),
            _ => None,
        });
        let sum = calls.fold((0, 0), |sum, usage| (sum.0 + usage.input, sum.1 + usage.output));
        assert_eq!(sum, (usage.input, usage.output), "the session's sum is that of its calls");
    }

    /// Checks that the books agree to the token with what the model said.
    #[track_caller]
    pub(crate) fn booked_as_told(&self) -> &Self {
        let Some(Body::SessionEnd { usage, .. }) = self.events.last().map(|event| &event.body) else {
            unreachable!()
        };
        let told = (self.told.input, self.told.output);
        assert_eq!((usage.input, usage.output), told, "booked, and told by the model");
        self
    }

    /// Checks how the inputs ended, and with which answers.
    #[track_caller]
    pub(crate) fn answered(&self, answers: &[&str]) -> &Self {
        let ends = self.ends();
        let expected: Vec<_> = answers.iter().map(|answer| (EndReason::Done, (*answer).to_owned())).collect();
        let shown = (self.names(), self.warnings(), summary(&self.requests));
        assert_eq!(ends, expected, "{shown:#?}");
        self
    }

    /// What a run warned of.
    fn warnings(&self) -> Vec<String> {
        let warning = |event: &Event| match &event.body {
            Body::Warning { code, message } => Some(format!("{code}: {message}")),
            _ => None,
        };
        self.events.iter().filter_map(warning).collect()
    }

    /// The kind and the message of the failure in which the one input ended.
    #[track_caller]
    pub(crate) fn failure(&self) -> (String, String) {
        match self.ends().pop() {
            Some((EndReason::Failed { error }, _)) => (error.kind, error.message),
            other => panic!("{other:?}\n{:?}\n{:#?}", self.names(), summary(&self.requests)),
        }
    }

    /// How the inputs ended.
    pub(crate) fn ends(&self) -> Vec<(EndReason, String)> {
        let end = |event: &Event| match &event.body {
            Body::InputEnd { reason, text } => Some((reason.clone(), text.preview())),
            _ => None,
        };
        self.events.iter().filter_map(end).collect()
    }

    /// The sessions of the program, as often as it told of one.
    pub(crate) fn sessions(&self) -> Vec<String> {
        let session = |event: &Event| match &event.body {
            Body::Handle { handle } => Some(handle.data["session"].as_str().unwrap().to_owned()),
            _ => None,
        };
        self.events.iter().filter_map(session).collect()
    }

    /// What brings its session back.
    #[track_caller]
    pub(crate) fn handle(&self) -> ResumeHandle {
        let handle = |event: &Event| match &event.body {
            Body::Handle { handle } => Some(handle.clone()),
            _ => None,
        };
        self.events.iter().rev().find_map(handle).expect("a handle")
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.events.iter().map(|event| event.body.name()).collect()
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.names().iter().filter(|other| **other == name).count()
    }

    /// The events that everybody must show alike: what is said and done, and how it ends.
    pub(crate) fn plot(&self) -> Vec<&'static str> {
        const TOLD: [&str; 8] = [
            "session_start",
            "user_input",
            "assistant_text_start",
            "assistant_text_end",
            "tool_call_start",
            "tool_call_end",
            "input_end",
            "session_end",
        ];
        self.names().into_iter().filter(|name| TOLD.contains(name)).collect()
    }

    /// The last request that a model answered, as text.
    #[track_caller]
    pub(crate) fn last_request(&self) -> String {
        self.requests.last().expect("a request").body.to_string()
    }
}

/// Opens a pipe once a command is at its other end.
pub(crate) async fn opened(pipe: &Path, how: &std::fs::OpenOptions) -> std::fs::File {
    let (pipe, how) = (pipe.to_owned(), how.clone());
    let opened = tokio::task::spawn_blocking(move || how.open(pipe).unwrap());
    tokio::time::timeout(LONG, opened).await.expect("the command runs").unwrap()
}

/// Reads on to an event of this name.
async fn until(reader: &mut Subscription, name: &str) {
    loop {
        match reader.next().await.unwrap() {
            Item::Event(event) if event.body.name() == name => return,
            _ => {}
        }
    }
}

/// What was asked, for a message.
pub(crate) fn summary(requests: &[Received]) -> Vec<String> {
    let line = |request: &Received| {
        let mut body = request.body.to_string();
        body.truncate((0..=200).rev().find(|end| body.is_char_boundary(*end)).unwrap_or(0));
        format!("{} {} -> {} {body}", request.method, request.path, request.status)
    };
    requests.iter().map(line).collect()
}
