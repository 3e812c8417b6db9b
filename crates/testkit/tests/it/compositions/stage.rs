//! Puts a mind together in a directory of its own, and knows what was used.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use junto::core::Purse;
use junto::council::{self, Council, Member};
use junto::env::{ExecutionEnvironment, LocalEnvironment};
use junto::llm::{Allowance, Endpoint, HttpProvider, Provider, Secret, Usage, Wire, retry};
use junto::runner::{CliProvider, Definition, Endpoint as CliEndpoint, Home, Host as CliHost, Patience};
use junto::twin::{Options, Play, Twin};
use junto::{AskFirst, Cli, Kind, Native, Workshop};
use junto_testkit::cast::{Who, search_path};
use junto_testkit::fake_claude::Behaviour;
use serde_json::Value;
use tempfile::TempDir;

use super::gateway::Served;
use super::plays::{self, STEERING};
use super::table::{Event, Host, Mind};

/// Longer than anything healthy takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_mins(1);
/// The kind that a host starts, and the kind that it hands work to.
pub(crate) const ROOT: &str = "root";
pub(crate) const WORKER: &str = "worker";

const EAGER: retry::Policy =
    retry::Policy { max_retries: 2, base: Duration::ZERO, factor: 1.0, cap: Duration::ZERO, jitter: 0.0 };

/// A mind in a host, ready for an event.
pub(crate) struct Stage {
    pub(crate) mind: Mind,
    pub(crate) host: Host,
    pub(crate) event: Event,
    /// The real command-line agent in the place of the fake one.
    pub(crate) program: Option<Who>,
    pub(crate) env: Arc<LocalEnvironment>,
    pub(crate) workshop: Workshop,
    /// The models, the root's first.
    pub(crate) twins: Vec<Twin>,
    pub(crate) served: Option<Served>,
    /// Pays for everything, without a limit.
    pub(crate) purse: Purse,
    cast: Cast,
}

/// Tokens read and written.
pub(crate) type Tokens = (u64, u64);

pub(crate) fn add(a: Tokens, b: Tokens) -> Tokens {
    (a.0 + b.0, a.1 + b.1)
}

/// The directory, and what is cast in it.
struct Cast {
    dir: TempDir,
    env: Arc<LocalEnvironment>,
    behaviour: Behaviour,
    /// The real command-line agent, and what its model does.
    program: Option<(Who, Play, Options)>,
    twins: Vec<Twin>,
}

impl Stage {
    pub(crate) async fn new(mind: Mind, host: Host, event: Event) -> Self {
        Self::with(None, mind, host, event).await
    }

    /// The same, with a real command-line agent.
    pub(crate) async fn with(program: Option<Who>, mind: Mind, host: Host, event: Event) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = [("PATH", "/usr/local/bin:/usr/bin:/bin")];
        let env = Arc::new(LocalEnvironment::builder(dir.path()).variables(path).build().unwrap());
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let record = Some(dir.path().join("runs.jsonl"));
        let behaviour = Behaviour { record, ..plays::cli(mind, event, &pipe) };
        // Calls from outside are what happens there; the model itself only answers.
        let root_event = if host == Host::ToolSocket { Event::Plain } else { event };
        let real = program.map(|who| {
            let answers = host == Host::Gateway || mind == Mind::CouncilWithCli;
            let of_program = if mind == Mind::CouncilWithCli { root_event } else { event };
            let (play, options) = plays::program(who, dir.path(), answers, of_program);
            (who, play, options)
        });
        let mut cast = Cast { dir, env: Arc::clone(&env), behaviour, program: real, twins: Vec::new() };
        let mut served = None;
        let root = match (mind, host) {
            (Mind::Cli, Host::Library | Host::ToolSocket | Host::Program) => Kind::Cli(Box::new(cast.cli())),
            (_, Host::Gateway) => {
                let front = Served::start(mind, cast.provider(mind, root_event)).await;
                let native = front.native();
                served = Some(front);
                Kind::Native(native)
            }
            (Mind::NativeChild | Mind::CliChild, _) => {
                let play = match host {
                    Host::ToolSocket => plays::worker(Event::Plain),
                    Host::Program if mind == Mind::NativeChild => plays::family(event),
                    Host::Program => plays::parent(program.map_or("claude", Who::kind)),
                    _ => plays::parent(WORKER),
                };
                Kind::Native(cast.native(Wire::Anthropic, play))
            }
            _ => {
                Kind::Native(Native { model: model_of(mind), ..Native::new(cast.provider(mind, root_event)) })
            }
        };
        let made = Arc::clone(&env) as Arc<dyn ExecutionEnvironment>;
        let mut builder =
            Workshop::builder(cast.dir.path(), move |_| Ok(Arc::clone(&made))).retry(EAGER).kind(ROOT, root);
        let purse = Purse::new(Allowance::UNLIMITED);
        builder = builder.budget(Arc::new(purse.clone()));
        builder = match mind {
            Mind::NativeChild if host != Host::Program => {
                builder.kind(WORKER, Kind::Native(cast.native(Wire::Responses, plays::worker(event))))
            }
            Mind::CliChild => builder.kind(WORKER, Kind::Cli(Box::new(cast.cli()))),
            _ => builder,
        };
        if event == Event::Reject {
            builder = builder.policy(Arc::new(AskFirst), junto::core::OnReject::EndTurn);
        }
        let twins = std::mem::take(&mut cast.twins);
        Self { mind, host, event, program, env, workshop: builder.build(), twins, served, purse, cast }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.cast.dir.path().join(name)
    }

    /// Opens a pipe that a program waits at; waits until it is there. It goes on when this is closed.
    pub(crate) async fn at_pipe(&self, name: &str) -> File {
        let path = self.path(name);
        let open = move || OpenOptions::new().write(true).open(path).unwrap();
        tokio::task::spawn_blocking(open).await.unwrap()
    }

    /// Waits until the model of the real command-line agent has been asked.
    pub(crate) async fn program_is_at_work(&self) {
        let twin = self.twins.last().expect("the model of the program");
        tokio::time::timeout(LONG, twin.wait_for_requests(1)).await.expect("a request");
    }

    /// Checks that what was said while it worked has reached the root's model.
    pub(crate) fn check_steered(&self) {
        if let Some(asked) = self.twins.first().and_then(|twin| twin.requests().pop()) {
            assert!(asked.body.to_string().contains(STEERING), "{}", asked.body);
        }
    }

    /// How the command-line agent behaves.
    pub(crate) fn behaviour(&self) -> &Behaviour {
        &self.cast.behaviour
    }

    /// The directory.
    pub(crate) fn dir(&self) -> &Path {
        self.cast.dir.path()
    }

    /// What the models and the command said that they used, by their own count.
    pub(crate) fn told(&self) -> Tokens {
        let text = std::fs::read_to_string(self.behaviour().told().unwrap()).unwrap_or_default();
        let by_command = text.lines().map(|line| reported(&serde_json::from_str(line).unwrap()));
        let by_models = self.twins.iter().map(|twin| tokens([&twin.usage_told()]));
        by_command.chain(by_models).fold((0, 0), add)
    }
}

/// What a result of the command says that was used since the one before.
fn reported(result: &Value) -> Tokens {
    let models = ["model_usage_since_last_result", "modelUsage"].map(|field| result[field].as_object());
    let used = models.into_iter().flatten().next().into_iter().flat_map(|models| models.values());
    let each = used.map(|used| {
        let number = |field: &str| used[field].as_u64().unwrap_or_default();
        let read = ["inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"].map(number);
        (read.iter().sum(), number("outputTokens"))
    });
    each.fold((0, 0), add)
}

/// A provider's name in the catalog, and a model of it.
pub(crate) fn model(wire: Wire) -> (&'static str, &'static str) {
    match wire {
        Wire::Anthropic => ("anthropic", "claude-opus-5-5"),
        _ => ("openai", "gpt-5.5"),
    }
}

fn model_of(mind: Mind) -> Option<String> {
    match mind {
        Mind::NativeAnthropic => Some(model(Wire::Anthropic).1.to_owned()),
        Mind::NativeResponses => Some(model(Wire::Responses).1.to_owned()),
        _ => None,
    }
}

impl Cast {
    /// The provider that a mind is, or has.
    fn provider(&mut self, mind: Mind, event: Event) -> Arc<dyn Provider> {
        match mind {
            Mind::NativeAnthropic => self.twin(Wire::Anthropic, plays::worker(event)),
            Mind::NativeResponses => self.twin(Wire::Responses, plays::worker(event)),
            Mind::Cli => self.cli_provider(),
            Mind::Council => {
                // In a crash one member breaks off, and the other answers.
                let second = if event == Event::Crash { Event::Plain } else { event };
                let first = self.member(Wire::Anthropic, plays::worker(event));
                let second = self.member(Wire::Responses, plays::worker(second));
                council(vec![first, second])
            }
            Mind::CouncilWithCli => {
                let play = match event {
                    // It is the command that crashes, and the model that answers.
                    Event::Crash => plays::worker(Event::Plain),
                    Event::Cancel => plays::silent(),
                    event => plays::worker(event),
                };
                let first = self.member(Wire::Anthropic, play);
                let real = self.program.as_ref().map(|(who, ..)| who.model());
                let second = Member::new("claude", self.cli_provider());
                council(vec![
                    first,
                    match real {
                        Some(model) => second.model(model),
                        None => second,
                    },
                ])
            }
            Mind::NativeChild | Mind::CliChild => unreachable!("an agent, and no provider"),
        }
    }

    fn native(&mut self, wire: Wire, play: (Play, Options)) -> Native {
        Native { model: Some(model(wire).1.to_owned()), ..Native::new(self.twin(wire, play)) }
    }

    fn member(&mut self, wire: Wire, play: (Play, Options)) -> Member {
        Member::new(model(wire).0, self.twin(wire, play)).model(model(wire).1)
    }

    fn twin(&mut self, wire: Wire, (play, options): (Play, Options)) -> Arc<dyn Provider> {
        let twin = Twin::start(play, options).unwrap();
        let endpoint = Endpoint::new(model(wire).0, wire, twin.base_url(wire)).key(twin.key());
        self.twins.push(twin);
        Arc::new(HttpProvider::new(endpoint).unwrap())
    }

    fn cli(&mut self) -> Cli {
        match self.program.take() {
            None => self.fake(),
            Some((who, play, options)) => self.real(who, play, options),
        }
    }

    /// A real command-line agent over a twin of its model, with a home of its own.
    fn real(&mut self, who: Who, play: Play, options: Options) -> Cli {
        let mut definition = Definition::shipped(who.kind()).unwrap();
        definition.command.splice(..1, [who.program()]);
        let twin = Twin::start(play, options).unwrap();
        let home = self.dir.path().join("own");
        let variables = [("PATH", search_path()), ("HOME", home.to_str().unwrap().to_owned())];
        let endpoint = CliEndpoint::new(twin.base_url(who.wire())).with_key(twin.key());
        self.twins.push(twin);
        Cli {
            variables: variables.map(|(name, value)| (name.to_owned(), Secret::new(value))).into(),
            patience: Patience { idle: LONG, hard: None, grace: LONG },
            home: Home::Isolated(home),
            endpoint: Some(endpoint),
            model: Some(who.model().to_owned()),
            is_root: nix::unistd::geteuid().is_root(),
            ..Cli::new(definition)
        }
    }

    fn fake(&self) -> Cli {
        let mut definition = Definition::shipped("claude").unwrap();
        env!("CARGO_BIN_EXE_junto-fake-claude").clone_into(&mut definition.command[0]);
        definition.variables.allow.push(Behaviour::VARIABLE.to_owned());
        let variables =
            self.behaviour.variables().into_iter().map(|(name, value)| (name, Secret::new(value)));
        let patience = Patience { idle: LONG, hard: None, grace: LONG };
        Cli { variables: variables.collect(), patience, ..Cli::new(definition) }
    }

    fn cli_provider(&mut self) -> Arc<dyn Provider> {
        let Cli { definition, variables, patience, home, endpoint, is_root, .. } = self.cli();
        if let Home::Isolated(folder) = &home {
            definition.home.furnish(folder).unwrap();
        }
        let host = CliHost { variables, patience, home, endpoint, is_root, ..CliHost::new(self.env.clone()) };
        Arc::new(CliProvider::new(definition, host))
    }
}

fn council(members: Vec<Member>) -> Arc<dyn Provider> {
    let (fan_out, scope) = (council::FanOut::Always, council::Scope::PerTurn);
    let options = council::Options { fan_out, scope, straggler: LONG, ..council::Options::default() };
    Arc::new(Council::new(members, None, options).unwrap())
}

/// The sum of usages.
pub(crate) fn tokens<'a>(usages: impl IntoIterator<Item = &'a Usage>) -> Tokens {
    usages.into_iter().fold((0, 0), |sum, usage| add(sum, (usage.input, usage.output)))
}
