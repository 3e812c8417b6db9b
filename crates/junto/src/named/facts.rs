//! What the events of a run tell of it.

use junto_core::{AgentId, Body, EndReason, Event, EventLog, JournalError, ResumeHandle, Seq};
use junto_llm::{Cost, Error, ErrorKind, Usage};
use junto_runner::failure::Class;

/// What the events of a run tell of it. What is absent they do not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFacts {
    /// How it ended.
    pub end: Option<EndReason>,
    /// The answer.
    pub text: String,
    /// What brings the conversation back.
    pub handle: Option<ResumeHandle>,
    /// The provider's own name for the conversation.
    pub session: Option<String>,
    /// How long the last model call was, in tokens.
    pub context: Option<u64>,
    /// What it used.
    pub usage: Option<Usage>,
    /// What it cost.
    pub cost: Option<Cost>,
    /// The status that its program ended with.
    pub exit: Option<i32>,
    /// The class of its failure.
    pub class: Option<Class>,
    /// Which limit stopped it.
    pub limit: Option<String>,
    /// Whether something was said to the user, or done with a tool.
    pub begun: bool,
    /// Whether its program told at its end what it used.
    pub(super) told: bool,
}

impl RunFacts {
    /// What a log tells of the run of its agent, once that has ended.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn of_log(log: &EventLog, provider: &str) -> Result<Self, JournalError> {
        Ok(Self::of(&log.subscribe(Seq::START).rest().await?, provider))
    }

    /// What events tell of the run of the agent that began first. Of a very long answer only the ends are taken.
    pub fn of(events: &[Event], provider: &str) -> Self {
        let mut facts = Self::default();
        if let Some(first) = events.first() {
            for event in events {
                facts.take(event, &first.agent, provider);
            }
        }
        facts
    }

    /// Whether it failed because its provider could have answered nobody.
    pub fn was_unavailable(&self) -> bool {
        matches!(self.end, Some(EndReason::Failed { .. })) && self.class.is_some_and(Class::is_unavailable)
    }

    /// Whether another may take its place: it failed in that way, and what it was told was not begun.
    pub fn gives_way(&self) -> bool {
        self.was_unavailable() && !self.begun
    }

    fn take(&mut self, event: &Event, own: &AgentId, provider: &str) {
        self.begun |= match &event.body {
            Body::ToolCallStart { .. } => true,
            Body::AssistantTextEnd { text, .. } => text.bytes() > 0,
            _ => false,
        };
        if let Body::Call { usage, cost, .. } = &event.body {
            self.cost = Some(self.cost.map_or(*cost, |sum| sum + *cost));
            if !self.told && event.agent == *own {
                *self.usage.get_or_insert_default() += usage;
            }
        }
        if event.agent != *own {
            return;
        }
        match &event.body {
            Body::Handle { handle } if handle.kind == provider => {
                self.session = handle.data["session"].as_str().map(str::to_owned).or(self.session.take());
                self.context = handle.data["context"].as_u64().or(self.context);
                self.handle = Some(handle.clone());
            }
            Body::RunEnd { context, billing, exit, class, session } => {
                self.context = context.or(self.context);
                // A second process that took over adds to what the first used, if both are known.
                self.usage = match (self.told, self.usage.take(), billing) {
                    (true, Some(before), Some(more)) => Some(&before + more),
                    (true, None, _) | (_, _, None) => None,
                    (false, _, Some(first)) => Some(first.clone()),
                };
                self.told = true;
                // What its calls tell is not all.
                if billing.is_none() {
                    self.cost = self.cost.map(|_| Cost::Unknown);
                }
                self.exit = *exit;
                self.class = class.as_deref().and_then(Class::parse);
                self.session = session.clone().or(self.session.take());
            }
            Body::TurnLimit { limit, .. } => self.limit = Some(limit.clone()),
            Body::InputEnd { reason, text } => {
                self.text = text.preview();
                if let (EndReason::Failed { error }, None) = (reason, self.class) {
                    self.class = class_of(&error.kind);
                }
                self.end = Some(reason.clone());
            }
            _ => {}
        }
    }
}

/// The class of a failure of which only the kind is known.
fn class_of(kind: &str) -> Option<Class> {
    if kind == "process" {
        return Some(Class::Crashed);
    }
    let kind: ErrorKind = serde_json::from_value(kind.into()).ok()?;
    Class::of(&Error::new(kind, ""))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use junto_core::{CallEnd, CallPurpose, EventError};
    use junto_llm::Usd;
    use serde_json::json;

    use super::*;

    fn handle(kind: &str, data: serde_json::Value) -> Body {
        Body::Handle { handle: ResumeHandle { kind: kind.to_owned(), v: 1, data } }
    }

    fn call(input: u64, cost: Cost) -> Body {
        Body::Call {
            provider: "claude".into(),
            model: "m".into(),
            response_id: None,
            usage: Usage::new(input, 1),
            cost,
            answer: None,
            end: CallEnd::Whole,
            purpose: CallPurpose::Input,
            prefix: None,
        }
    }

    fn run_end(billing: Option<Usage>, class: Option<&str>) -> Body {
        let (session, class) = (Some("s-2".to_owned()), class.map(str::to_owned));
        Body::RunEnd { context: Some(7), billing, exit: Some(1), class, session }
    }

    fn failed(kind: &str) -> Body {
        let error = EventError { kind: kind.to_owned(), message: "no".into(), hint: None };
        Body::InputEnd { reason: EndReason::Failed { error }, text: "half".into() }
    }

    /// What is told of a run by the events of its agent, and these of a child of it.
    async fn facts(bodies: Vec<Body>, child: Vec<Body>) -> RunFacts {
        let log = EventLog::in_memory(Arc::new(|| jiff::Timestamp::UNIX_EPOCH));
        for body in bodies {
            log.emit(body).await.unwrap();
        }
        for body in child {
            log.child().emit(body).await.unwrap();
        }
        RunFacts::of_log(&log, "claude").await.unwrap()
    }

    #[tokio::test]
    async fn the_last_handle_of_the_provider_counts() {
        let bodies = vec![
            handle("claude", json!({"session": "s-1"})),
            handle("claude", json!({"session": "s-2", "context": 5, "totals": {"input": 9}})),
            handle("named", json!({"agent": "nex"})),
            handle("codex", json!({"session": "other"})),
        ];
        let found = facts(bodies, vec![handle("claude", json!({"session": "child"}))]).await;
        assert_eq!((found.session.as_deref(), found.context), (Some("s-2"), Some(5)));
        assert_eq!(found.handle.unwrap().data["totals"], json!({"input": 9}));
    }

    #[tokio::test]
    async fn what_was_used_is_what_the_program_says_in_the_end() {
        let usd = |nano| Cost::Reported(Usd(nano));
        let found = facts(vec![call(10, usd(1)), call(20, usd(2))], vec![call(5, usd(4))]).await;
        assert_eq!(
            (found.usage, found.cost),
            (Some(Usage::new(30, 2)), Some(usd(7))),
            "as far as calls tell"
        );
        let end = |input: Option<u64>| run_end(input.map(|input| Usage::new(input, 2)), None);
        for (ends, expected) in [
            (vec![end(Some(9))], Some(Usage::new(9, 2))),
            (vec![end(None)], None),
            (vec![end(Some(9)), end(Some(1))], Some(Usage::new(10, 4))),
            (vec![end(None), end(Some(1))], None),
            (vec![end(Some(1)), end(None)], None),
        ] {
            let bodies = std::iter::once(call(10, usd(1))).chain(ends).collect();
            let found = facts(bodies, Vec::new()).await;
            let cost = if expected.is_some() { usd(1) } else { Cost::Unknown };
            assert_eq!((found.usage, found.cost), (expected, Some(cost)));
        }
    }

    #[tokio::test]
    async fn who_has_said_or_done_something_does_not_give_way() {
        let said = |text: &str| Body::AssistantTextEnd { of: Seq::START, text: text.into() };
        let reasoned = Body::ReasoningEnd { of: Seq::START, text: "Hm.".into() };
        let call = junto_llm::ToolCall::function("c-1", "Write", "{}");
        let done = Body::ToolCallStart { call, via: junto_core::Via::Loop };
        for (body, begun) in
            [(said("Well"), true), (done.clone(), true), (said(""), false), (reasoned, false)]
        {
            let found =
                facts(vec![body, run_end(None, Some("auth")), failed("authentication")], Vec::new()).await;
            assert_eq!((found.begun, found.gives_way(), found.was_unavailable()), (begun, !begun, true));
        }
        let found = facts(vec![failed("authentication")], vec![done]).await;
        assert!(found.begun, "what a child does is done");
    }

    #[tokio::test]
    async fn a_failure_has_the_class_that_was_told_or_that_of_its_kind() {
        for (bodies, expected) in [
            (vec![run_end(None, Some("usage-limit")), failed("quota")], Some(Class::UsageLimit)),
            (vec![run_end(None, None), failed("quota")], Some(Class::Quota)),
            (vec![failed("authentication")], Some(Class::Auth)),
            (vec![failed("process")], Some(Class::Crashed)),
            (vec![failed("no_such_kind")], None),
        ] {
            let found = facts(bodies, Vec::new()).await;
            assert_eq!((found.class, found.text.as_str()), (expected, "half"));
        }
        let found = facts(vec![run_end(None, None)], Vec::new()).await;
        assert_eq!((found.exit, found.session.as_deref(), found.end), (Some(1), Some("s-2"), None));
    }
}
