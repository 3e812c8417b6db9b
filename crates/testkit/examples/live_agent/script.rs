//! The end-to-end script of the Definition of Done: seven things a user asks of one session, and what
//! must have come of each. The models are whoever answers: real ones, or twins with a play for it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use junto::agent::profile::Profile;
use junto::agent::{Session, SessionConfig};
use junto::core::{AgentError, EventLog, Parent, Spawner, Subscription, When};
use junto::env::{ExecutionEnvironment, LocalEnvironment};
use junto::llm::{CallCx, Content, Error, EventStream, Fut, Provider, Request, Response};
use junto::prelude::*;

/// Who is asked, and where.
pub(crate) struct Setting {
    /// Who answers.
    pub provider: Arc<dyn Provider>,
    /// Which of its providers; absent: its default.
    pub provider_name: Option<String>,
    /// The model; absent: the provider's default.
    pub model: Option<String>,
    /// How it is treated.
    pub profile: Profile,
    /// An empty directory.
    pub workdir: PathBuf,
    /// How long a command may take if the model does not say; less than thirty seconds.
    pub timeout: Duration,
    /// A named pipe that gets a line once the model was steered, for one that waits for it.
    pub steered: Option<PathBuf>,
}

/// What came of a step: nothing to say, or what is wrong.
pub(crate) type Verdict = Result<(), String>;

/// Runs the script: the name of each step and what came of it. A step that fails does not keep the next
/// from being tried.
///
/// # Errors
/// If there is no session to begin with.
pub(crate) async fn run(
    setting: Setting,
) -> Result<Vec<(&'static str, Verdict)>, Box<dyn std::error::Error>> {
    let mut user = User::sit_down(setting).await?;
    let verdicts = vec![
        ("file creation", user.file_creation().await),
        ("read and edit", user.read_and_edit().await),
        ("shell", user.shell().await),
        ("truncation", user.truncation().await),
        ("steering", user.steering().await),
        ("subagent", user.subagent().await),
        ("timeout", user.timeout().await),
    ];
    user.session.close().await;
    Ok(verdicts)
}

/// Notes what tools told the model.
struct Witness {
    inner: Arc<dyn Provider>,
    results: Mutex<Vec<String>>,
}

impl Witness {
    fn note(&self, request: &Request) {
        let last = request.messages.last().into_iter().flat_map(|message| &message.content);
        let results = last.filter_map(|part| match part.content() {
            Content::ToolResult(result) => Some(result.output.to_text()),
            _ => None,
        });
        self.results.lock().unwrap_or_else(PoisonError::into_inner).extend(results);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.results.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Provider for Witness {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        self.note(&request);
        self.inner.complete(request, cx)
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        self.note(&request);
        self.inner.stream(request, cx)
    }
}

/// Makes subagents like the session itself.
#[derive(Default)]
struct Alike(Mutex<Option<SessionConfig>>);

impl Spawner for Alike {
    fn spawn(&self, spec: AgentSpec, parent: Parent) -> Fut<'_, Result<Arc<dyn Agent>, AgentError>> {
        let config = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(async move {
            let config = config.ok_or_else(|| AgentError::unsupported("start agents yet"))?;
            Ok(Arc::new(Session::start(config.child(&spec, &parent)).await?) as Arc<dyn Agent>)
        })
    }
}

/// The one who asks, and sees everything.
struct User {
    session: Session,
    events: Subscription,
    witness: Arc<Witness>,
    workdir: PathBuf,
    timeout: Duration,
    steered: Option<PathBuf>,
}

/// What happened while a step went on.
struct Seen(Vec<Event>);

impl Seen {
    /// The whole outputs of the tools that ended, children's included.
    fn outputs(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter_map(|event| match &event.body {
            Body::ToolCallEnd { output, .. } => Some(output.preview()),
            _ => None,
        })
    }

    fn has(&self, is: impl Fn(&Event) -> bool) -> bool {
        self.0.iter().any(is)
    }
}

fn expect(holds: bool, otherwise: impl Into<String>) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

impl User {
    async fn sit_down(setting: Setting) -> Result<Self, Box<dyn std::error::Error>> {
        let Setting { provider, provider_name, model, profile, workdir, timeout, steered } = setting;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let env = LocalEnvironment::builder(&workdir).variables([("PATH", path)]).build()?;
        let log = EventLog::in_memory(Arc::new(jiff::Timestamp::now));
        let events = log.subscribe(Seq::START);
        let witness = Arc::new(Witness { inner: provider, results: Mutex::default() });
        let spawner = Arc::new(Alike::default());
        let env: Arc<dyn ExecutionEnvironment> = Arc::new(env);
        let config = SessionConfig {
            provider_name,
            model,
            profile: Some(profile),
            shell_timeout: Some(timeout),
            spawner: Some(Arc::clone(&spawner) as _),
            ..SessionConfig::new(Arc::clone(&witness) as _, env, log)
        };
        *spawner.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(config.clone());
        let session = Session::start(config).await?;
        Ok(Self { session, events, witness, workdir, timeout, steered })
    }

    fn read(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.workdir.join(name)).map_err(|e| format!("{name}: {e}"))
    }

    async fn submit(&self, text: &str) -> Verdict {
        self.witness.take();
        let done = self.session.send(Command::Submit { input: text.into() }).await;
        done.map(drop).map_err(|error| error.to_string())
    }

    /// The next thing that happens.
    async fn next(&mut self) -> Result<Item, String> {
        self.events.next().await.map_err(|error| error.to_string())
    }

    /// Everything up to the end of the input under way, which must be a good one.
    async fn end(&mut self) -> Result<Seen, String> {
        let mut seen = Vec::new();
        loop {
            let Item::Event(event) = self.next().await? else { continue };
            seen.push((*event).clone());
            match &event.body {
                _ if event.parent.is_some() => {}
                Body::InputEnd { reason: EndReason::Done, .. } => return Ok(Seen(seen)),
                Body::InputEnd { reason, .. } => return Err(format!("the input ended as {reason:?}")),
                Body::SessionEnd { reason, .. } => return Err(format!("the session ended as {reason:?}")),
                _ => {}
            }
        }
    }

    async fn ask(&mut self, text: &str) -> Result<Seen, String> {
        self.submit(text).await?;
        self.end().await
    }

    async fn file_creation(&mut self) -> Verdict {
        self.ask("Create a file called hello.py that prints 'Hello World'").await?;
        let hello = self.read("hello.py")?;
        expect(hello.contains("Hello"), hello)
    }

    async fn read_and_edit(&mut self) -> Verdict {
        self.ask("Read hello.py and add a second print statement that says 'Goodbye'").await?;
        let hello = self.read("hello.py")?;
        expect(hello.contains("Hello") && hello.contains("Goodbye"), hello)
    }

    async fn shell(&mut self) -> Verdict {
        let seen = self.ask("Run hello.py with python3 and show the output").await?;
        let ran = seen.outputs().any(|output| output.contains("Hello") && output.contains("[exit code 0"));
        expect(ran, "no tool ran it")
    }

    async fn truncation(&mut self) -> Verdict {
        std::fs::write(self.workdir.join("big.txt"), "x".repeat(100_000)).map_err(|e| e.to_string())?;
        let seen =
            self.ask("Read the whole of big.txt in one call, and say which letter it is made of").await?;
        let whole = seen.outputs().any(|output| output.matches('x').count() >= 100_000);
        expect(whole, "no event has all of the file")?;
        let told = self.witness.take();
        let is_cut = |told: &String| {
            told.contains("[WARNING: Tool output was truncated.") && told.chars().count() < 51_000
        };
        expect(told.iter().any(is_cut), "the model was not told that something was removed")
    }

    async fn steering(&mut self) -> Verdict {
        self.submit("Create a Flask web application with multiple routes in app.py").await?;
        // Not before it has begun to do something about it.
        loop {
            match self.next().await? {
                Item::Delta(Delta::ToolCallOutputDelta { .. }) => break,
                Item::Event(event) if matches!(event.body, Body::ToolCallEnd { .. }) => break,
                Item::Event(event) if matches!(event.body, Body::InputEnd { .. }) => {
                    return Err("it was done before it could be steered".to_owned());
                }
                _ => {}
            }
        }
        let input = "Actually, just create a single /health endpoint for now".into();
        let steered = self.session.send(Command::Steer { input, when: When::Round }).await;
        steered.map_err(|error| error.to_string())?;
        if let Some(pipe) = &self.steered {
            tokio::fs::write(pipe, "go\n").await.map_err(|e| e.to_string())?;
        }
        let seen = self.end().await?;
        expect(
            seen.has(|event| matches!(event.body, Body::SteeringInjected { .. })),
            "the message is not there",
        )?;
        let app = self.read("app.py")?;
        expect(app.contains("/health"), app)
    }

    async fn subagent(&mut self) -> Verdict {
        let seen = self
            .ask("Spawn a subagent to write tests for hello.py into test_hello.py, then review its output");
        let seen = seen.await?;
        expect(seen.has(|event| matches!(event.body, Body::Child { .. })), "no subagent was started")?;
        let of_child =
            |event: &Event| event.parent.is_some() && matches!(event.body, Body::ToolCallEnd { .. });
        expect(seen.has(of_child), "no call of the subagent is among the events")?;
        expect(Path::new(&self.workdir).join("test_hello.py").exists(), "there are no tests")
    }

    async fn timeout(&mut self) -> Verdict {
        let seen = self.ask("Run 'sleep 30' with the default timeout, and say what happened").await?;
        let message = format!(
            "[ERROR: Command timed out after {}ms. Partial output is shown above.\nYou can retry with a longer \
             timeout by setting the timeout_ms parameter.]",
            self.timeout.as_millis()
        );
        expect(seen.outputs().any(|output| output.contains(&message)), "nothing timed out")?;
        expect(self.witness.take().iter().any(|told| told.contains(&message)), "the model was not told")
    }
}
