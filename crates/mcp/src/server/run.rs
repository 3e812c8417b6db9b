//! One agent that a host has started.

use std::sync::Arc;

use junto_core::{
    Addressed, Agent, AgentError, Body, Command, Decision, EndReason, Event, Input, Item, Reply, Seq, Steer,
    When,
};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How many characters a line about what an agent does has at most.
const LINE: usize = 160;

/// How far an agent is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Progress {
    /// How much has happened.
    pub(super) steps: u64,
    /// What happened last, in a line.
    pub(super) doing: String,
    /// Inputs that have not ended.
    pub(super) open: u32,
    /// How the last input ended, and its answer.
    pub(super) ended: Option<(EndReason, String)>,
    /// Whether it takes nothing more.
    pub(super) is_over: bool,
}

/// An agent, and the one who follows what it does.
pub(super) struct Run {
    pub(super) id: String,
    pub(super) task: String,
    agent: Arc<dyn Agent>,
    progress: watch::Sender<Progress>,
    /// Ends the one who follows.
    end: CancellationToken,
}

impl Run {
    /// Gives an agent its task, and follows what it does in a task that ends with the agent.
    ///
    /// # Errors
    /// If the agent does not take it; it is closed then.
    pub(super) async fn begin(
        id: String,
        task: String,
        agent: Arc<dyn Agent>,
    ) -> Result<Arc<Self>, AgentError> {
        let progress = watch::Sender::new(Progress { open: 1, ..Progress::default() });
        let run = Arc::new(Self { id, task: task.clone(), agent, progress, end: CancellationToken::new() });
        tokio::spawn(follow(Arc::clone(&run)));
        if let Err(error) = run.agent.send(Command::Submit { input: Input::text(task) }).await {
            run.close().await;
            return Err(error);
        }
        Ok(run)
    }

    pub(super) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Whether it works on something.
    pub(super) fn works(&self) -> bool {
        let progress = self.progress.borrow();
        progress.open > 0 && !progress.is_over
    }

    /// Tells it something: at once while it works, as the next task when it is done.
    ///
    /// # Errors
    /// If it cannot be told anything now.
    pub(super) async fn tell(&self, text: String) -> Result<&'static str, AgentError> {
        let input = Input::text(text);
        if self.works() && self.agent.abilities().steer != Steer::No {
            self.agent.send(Command::Steer { input, when: When::Round }).await?;
            return Ok("it was told");
        }
        self.progress.send_modify(|progress| progress.open += 1);
        let sent = self.agent.send(Command::FollowUp { input }).await;
        if let Err(error) = sent {
            self.progress.send_modify(|progress| progress.open = progress.open.saturating_sub(1));
            return Err(error);
        }
        Ok("it works on that now, or next")
    }

    /// Stops what it is doing.
    pub(super) async fn interrupt(&self) {
        if self.agent.send(Command::Interrupt).await.is_err() {
            self.close().await;
        }
    }

    /// Ends it, and waits for that.
    pub(super) async fn close(&self) {
        self.agent.close().await;
        self.progress.send_modify(|progress| progress.is_over = true);
        self.end.cancel();
    }

    /// How it stands, for the host.
    pub(super) fn told(&self) -> Value {
        let Progress { steps, doing, open, ended, is_over } = self.progress.borrow().clone();
        let state = match (is_over, open) {
            (true, _) => "over",
            (false, 0) => "done",
            (false, _) => "working",
        };
        let mut told = json!({"run": self.id, "state": state, "steps": steps, "task": line(&self.task)});
        if let Some(told) = told.as_object_mut() {
            if state == "working" {
                told.insert("doing".to_owned(), json!(doing));
            } else if let Some((reason, text)) = ended {
                // `end`, and with a failure what it was.
                if let Ok(Value::Object(reason)) = serde_json::to_value(&reason) {
                    told.extend(reason);
                }
                told.insert("text".to_owned(), json!(text));
            }
        }
        told
    }

    /// Takes note of an event.
    async fn see(&self, event: &Event) {
        if let Some(command) = refusal(&event.body) {
            let order = Addressed { agent: Some(event.agent.clone()), command };
            // A question that somebody has withdrawn needs no answer.
            let _ = order.send(&*self.agent).await;
        }
        let own = event.agent == *self.agent.log().agent();
        self.progress.send_modify(|progress| {
            progress.steps += 1;
            if let Some(doing) = doing(&event.body) {
                progress.doing = line(&doing);
            }
            match &event.body {
                Body::InputEnd { reason, text } if own => {
                    progress.open = progress.open.saturating_sub(1);
                    progress.ended = Some((reason.clone(), text.preview()));
                }
                Body::SessionEnd { reason, .. } if own => {
                    progress.is_over = true;
                    progress.ended.get_or_insert_with(|| (reason.clone(), String::new()));
                }
                _ => {}
            }
        });
    }
}

async fn follow(run: Arc<Run>) {
    let mut events = run.agent.log().subscribe(Seq::START);
    loop {
        let item = tokio::select! {
            biased;
            item = events.next() => item,
            () = run.end.cancelled() => break,
        };
        match item {
            Ok(Item::Event(event)) => {
                run.see(&event).await;
                if run.progress.borrow().is_over {
                    break;
                }
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
}

/// What is answered to a question: nobody is there who could decide.
fn refusal(body: &Body) -> Option<Command> {
    let reason = "nobody is there who can be asked; find another way, or say in the end what is missing";
    let reason = Some(reason.to_owned());
    match body {
        Body::Ask { request } => {
            Some(Command::Answer { ask: request.ask.clone(), decision: Decision::Unanswered { reason } })
        }
        Body::Question { ask, .. } => {
            Some(Command::Reply { ask: ask.clone(), reply: Reply::Declined { reason } })
        }
        _ => None,
    }
}

/// What an event says of what the agent is doing.
fn doing(body: &Body) -> Option<String> {
    match body {
        Body::ToolCallStart { call, .. } => Some(format!("{} {}", call.name, call.arguments)),
        Body::AssistantTextEnd { text, .. } => Some(text.preview()),
        Body::Progress { text } => Some(text.clone()),
        Body::Child { name, task, .. } => Some(format!("{name}: {task}")),
        Body::Retry { error, .. } => Some(format!("tries again: {}", error.message)),
        Body::InputEnd { .. } => Some("done".to_owned()),
        _ => None,
    }
}

fn line(text: &str) -> String {
    let mut line: String = text.chars().take(LINE).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(LINE).is_some() {
        line.push('…');
    }
    line
}
