//! Answers of command-line agents: when one cannot answer anybody, another takes the same call.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::unfold;
use jiff::Zoned;
use junto_llm::{
    CallCx, Error, ErrorKind, EventStream, Fut, Provider, Request, Response, StreamEvent, ToolChoice, Warning,
};
use junto_runner::failure::{Class, suppressed_until};
use junto_store::{Agents, Suppression};

use crate::named::{Unavailable, Why};

/// How many events are held back before the first piece of an answer, so that the start that is handed on is that of
/// whoever answers. A command tells of no more than some retries before it gives up; one that tells more is at work.
const MOST_HELD: usize = 8;

/// One who can be asked.
#[derive(Clone)]
pub struct Runner {
    /// The name by which it is left alone.
    pub name: String,
    /// The command, asked for answers only.
    pub provider: Arc<dyn Provider>,
}

/// What is done when everybody is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastResort {
    /// The first is asked all the same, and says itself why not: somebody named it.
    AskFirst,
    /// The call fails at once: others are asked beside it, and need not wait.
    Refuse,
}

/// Command-line agents as one provider. The first that is not left alone is asked; if it fails for a reason that
/// would fail any call, it is left alone for a while, by every process, and the next takes the same call. So it is
/// while nothing of an answer was handed on.
#[derive(Clone)]
pub struct Relay {
    /// In their order.
    runners: Vec<Runner>,
    /// Where it is kept who is left alone; absent: nowhere.
    aside: Option<Agents>,
    last_resort: LastResort,
    /// The time, in the zone in which commands name times to their user.
    now: Arc<dyn Fn() -> Zoned + Send + Sync>,
}

impl Relay {
    /// A relay of these, in their order. `aside` is where it is kept who is left alone, and `now` the time in the
    /// user's zone.
    pub fn new(
        runners: Vec<Runner>,
        aside: Option<Agents>,
        last_resort: LastResort,
        now: Arc<dyn Fn() -> Zoned + Send + Sync>,
    ) -> Self {
        Self { runners, aside, last_resort, now }
    }

    /// Begins a call: who may be asked, and who is passed over.
    async fn begin(&self, request: Request) -> Result<Leg, Error> {
        let aside = self.suppressed().await;
        let mut leg = Leg { relay: self.clone(), request, left: VecDeque::new(), passed: Vec::new() };
        let mut class = None;
        for runner in &self.runners {
            match aside.iter().find(|suppression| suppression.provider == runner.name) {
                Some(suppression) => {
                    class = class.or(Some(suppression.class.clone()));
                    let (provider, why) = (runner.name.clone(), Why::Suppressed(suppression.clone()));
                    leg.passed.push(Unavailable { provider, why }.to_string());
                }
                None => leg.left.push_back(runner.clone()),
            }
        }
        if !leg.left.is_empty() {
            return Ok(leg);
        }
        match (self.last_resort, class, self.runners.first()) {
            (LastResort::AskFirst, _, Some(first)) => {
                leg.left.push_back(first.clone());
                leg.passed.clear();
                Ok(leg)
            }
            // Nothing that a second attempt would change.
            (LastResort::Refuse, Some(class), _) => {
                Err(Error::new(ErrorKind::Quota, leg.passed.join("; ")).with_class(class))
            }
            _ => Err(nobody()),
        }
    }

    /// Who is left alone now. That it cannot be read keeps nobody from being asked.
    async fn suppressed(&self) -> Vec<Suppression> {
        let Some(agents) = self.aside.clone() else { return Vec::new() };
        let now = (self.now)().timestamp();
        let read = tokio::task::spawn_blocking(move || agents.suppressed(now).unwrap_or_default());
        read.await.unwrap_or_default()
    }

    /// Leaves one alone, if its failure says so. What cannot be kept is found out again by the next call.
    async fn leave_alone(&self, provider: &str, class: Class, error: &Error) {
        let now = (self.now)();
        let until = suppressed_until(class, error.message(), &now);
        let (Some(agents), Some(until)) = (self.aside.clone(), until) else { return };
        let suppression = Suppression {
            provider: provider.to_owned(),
            class: class.as_str().to_owned(),
            since: now.timestamp(),
            until,
            message: error.message().to_owned(),
        };
        let _ = tokio::task::spawn_blocking(move || agents.suppress(&suppression)).await;
    }
}

/// One call on its way.
struct Leg {
    relay: Relay,
    request: Request,
    /// Who is still to be asked.
    left: VecDeque<Runner>,
    /// Who was passed over, in words that were not told yet.
    passed: Vec<String>,
}

impl Leg {
    /// Who is asked next, and what. A model is that of the one it was named for.
    fn next(&mut self) -> Option<(Runner, Request)> {
        let runner = self.left.pop_front()?;
        let is_first = self.relay.runners.first().is_some_and(|first| first.name == runner.name);
        let request = self.request.clone();
        let model = request.model.clone().filter(|_| is_first);
        Some((runner, Request { model, ..request }))
    }

    /// Takes a failure: `Ok` if another is to be asked.
    async fn failed(&mut self, runner: &Runner, error: Error) -> Result<(), Error> {
        // Only what a command said of itself: that our own budget is spent has no class.
        let class = error.class().and_then(Class::parse).filter(|class| class.is_unavailable());
        let Some(class) = class.filter(|_| !error.is_after_content()) else { return Err(error) };
        self.relay.leave_alone(&runner.name, class, &error).await;
        let Some(next) = self.left.front() else { return Err(error) };
        let (name, class, next) = (&runner.name, class.as_str(), &next.name);
        self.passed.push(format!("{name} cannot answer ({class}); {next} takes over"));
        Ok(())
    }
}

impl Provider for Relay {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move {
            let mut leg = self.begin(request).await?;
            while let Some((runner, request)) = leg.next() {
                match runner.provider.complete(request, cx).await {
                    Ok(mut response) => {
                        let warning = |text| Warning::new("stand_in", text);
                        response.warnings.extend(leg.passed.drain(..).map(warning));
                        return Ok(response);
                    }
                    Err(error) => leg.failed(&runner, error).await?,
                }
            }
            Err(nobody())
        })
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            let leg = self.begin(request).await?;
            let mut answering = Answering {
                leg,
                cx: cx.clone(),
                current: None,
                held: Vec::new(),
                ready: VecDeque::new(),
                started: false,
                delivered: false,
                over: false,
            };
            // Who cannot even begin is known before there is a stream.
            answering.open().await?;
            Ok(EventStream::new(unfold(answering, |mut answering| async move {
                let item = answering.next().await?;
                Some((item, answering))
            })))
        })
    }

    fn supports_tool_choice(&self, choice: &ToolChoice) -> bool {
        self.runners.iter().all(|runner| runner.provider.supports_tool_choice(choice))
    }
}

/// An answer that is under way.
struct Answering {
    leg: Leg,
    cx: CallCx,
    current: Option<(Runner, EventStream)>,
    /// What came before the first piece of the answer.
    held: Vec<StreamEvent>,
    /// What is handed out next.
    ready: VecDeque<StreamEvent>,
    /// Whether the start of an answer went out: a later one is left out.
    started: bool,
    /// Whether a piece of the answer went out: then nobody else can take over.
    delivered: bool,
    over: bool,
}

impl Answering {
    /// Asks until one begins.
    async fn open(&mut self) -> Result<(), Error> {
        while let Some((runner, request)) = self.leg.next() {
            match runner.provider.stream(request, &self.cx).await {
                Ok(events) => {
                    self.current = Some((runner, events));
                    return Ok(());
                }
                Err(error) => self.leg.failed(&runner, error).await?,
            }
        }
        Err(nobody())
    }

    async fn next(&mut self) -> Option<Result<StreamEvent, Error>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.over {
                return None;
            }
            let (runner, events) = self.current.as_mut()?;
            match events.next().await {
                None => {
                    self.over = true;
                    self.let_go();
                }
                Some(Ok(event)) => {
                    let is_content = event.is_content();
                    self.held.push(event);
                    if self.delivered || is_content || self.held.len() > MOST_HELD {
                        self.delivered |= is_content;
                        self.let_go();
                    }
                }
                Some(Err(error)) => {
                    let runner = runner.clone();
                    let error = if self.delivered { error.after_content() } else { error };
                    self.held.clear();
                    self.current = None;
                    let failed = self.leg.failed(&runner, error).await;
                    let goes_on = match failed {
                        Ok(()) => self.open().await,
                        Err(error) => Err(error),
                    };
                    if let Err(error) = goes_on {
                        self.over = true;
                        return Some(Err(error));
                    }
                }
            }
        }
    }

    /// Hands on what was held back: the start once, then who was passed over, then the rest.
    fn let_go(&mut self) {
        for event in self.held.drain(..) {
            if !matches!(event, StreamEvent::StreamStart { .. }) {
                self.ready.push_back(event);
                continue;
            }
            if !std::mem::replace(&mut self.started, true) {
                self.ready.push_back(event);
            }
            self.ready.extend(self.leg.passed.drain(..).map(|text| StreamEvent::Progress { text }));
        }
    }
}

/// There is nobody to ask.
fn nobody() -> Error {
    Error::configuration("there is no command-line agent to ask")
}
