//! Everything a session's task owns.

use std::sync::Arc;

use junto_core::{
    Body, CallPurpose, EndReason, EventError, EventLog, JournalError, Limits, Minutes, OnReject, Prefix,
};
use junto_llm::catalog::{Catalog, ModelInfo};
use junto_llm::{
    Budget, CallCx, Chore, Counts, Error, ErrorKind, Finish, Message, Provider, Request, Tally, Traffic,
    Warning, retry,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::books::Booked;
use crate::call::{self, Answer, Audience, Delivery, Ended};
use crate::compact::{Compaction, Made, Shortening};
use crate::config::Overflow;
use crate::context::Gauge;
use crate::desk::{Desk, Settings};
use crate::history::History;
use crate::hooks::SessionHooks;
use crate::kit::Kit;
use crate::loops::Loops;
use crate::prefix::Prefixes;
use crate::profile::{Capabilities, Profile};
use crate::round::{Calls, Order};
use crate::said::{Said, is_question, json};
use crate::status::Status;
use crate::toolbox::Toolbox;
use crate::totals::Totals;

/// How a note begins that tells the model of another working directory.
pub(crate) const WORKDIR_NOTE: &str = "The working directory is now";

/// What the loop works with.
pub(crate) struct State {
    pub(crate) log: EventLog,
    pub(crate) desk: Arc<Desk>,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) history: History,
    pub(crate) on_reject: OnReject,
    /// The text of the last answer to the current input.
    pub(crate) text: String,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) profile: Option<Profile>,
    pub(crate) catalog: Catalog,
    /// Where a council says how it came to its answers.
    pub(crate) minutes: Option<Minutes>,
    pub(crate) retry: retry::Policy,
    pub(crate) budget: Arc<dyn Budget>,
    /// What providers counted in the last requests.
    pub(crate) counts: Counts,
    pub(crate) totals: Arc<Totals>,
    pub(crate) loops: Loops,
    pub(crate) gauge: Gauge,
    /// What the last call for an input was warned of.
    pub(crate) warned: Vec<Warning>,
    /// What the requests so far began with.
    pub(crate) prefixes: Prefixes,
    /// How many tokens the model takes in, where the host knows better than the catalog.
    pub(crate) context_window: Option<u64>,
    pub(crate) on_overflow: Overflow,
    pub(crate) compaction: Compaction,
    pub(crate) shortening: Shortening,
    pub(crate) status: Arc<Status>,
    pub(crate) hooks: Arc<SessionHooks>,
    /// How often hooks have kept the current input from ending.
    pub(crate) stops: u32,
    /// Whether the host wants to know that an answer ends in a question.
    pub(crate) ask_on_question: bool,
    pub(crate) depth: u8,
    /// Rounds of tools for the current input so far.
    pub(crate) rounds: u32,
    /// Whether it was brought back in a place that the model does not know of.
    pub(crate) moved: bool,
    /// Calls that were left when the session was cut off; absent once they are taken up.
    pub(crate) left: Option<Calls>,
    /// The model that answered last, by its own name.
    pub(crate) answered_by: Option<String>,
}

impl State {
    /// An input begins.
    pub(crate) fn begin_input(&mut self, input: &Said) {
        self.text.clear();
        self.rounds = 0;
        self.stops = 0;
        self.hooks.begin_turn();
        self.history.begin(input);
        self.loops.begin_input();
    }

    /// The limit that keeps the model from being called again.
    pub(crate) fn limit_reached(&self) -> Option<Body> {
        let Limits { max_turns, max_tool_rounds } = self.desk.settings().limits;
        let over = |limit: u32, reached: u32| limit > 0 && reached >= limit;
        if over(max_tool_rounds, self.rounds) {
            let limit = format!("at most {max_tool_rounds} rounds of tools for one input");
            return Some(Body::TurnLimit { limit, reached: self.rounds });
        }
        let turns = self.history.turns();
        if over(max_turns, turns) {
            let limit = format!("at most {max_turns} turns in the session");
            return Some(Body::TurnLimit { limit, reached: turns });
        }
        None
    }

    /// Works where the settings say from here on, and tells the model if that is another place.
    pub(crate) async fn settle(&mut self) -> Result<(), JournalError> {
        let env = self.desk.settings().env;
        let moved = std::mem::take(&mut self.moved);
        if Arc::ptr_eq(&env, &self.toolbox.env()) && !moved {
            return Ok(());
        }
        let moved = Said::note(format!("{WORKDIR_NOTE} {}.", env.facts().cwd));
        self.toolbox.move_to(env);
        self.log.emit(moved.injected()).await?;
        self.history.say(&moved);
        Ok(())
    }

    /// Takes the tools that have come, and tells what is wrong with some.
    async fn renew_tools(&mut self) -> Result<(), JournalError> {
        for message in self.toolbox.renew() {
            self.warn("tool_left_out", message).await?;
        }
        Ok(())
    }

    /// Waits for the tools of calls that were left when the session was cut off, if they are yet to come.
    pub(crate) async fn await_tools(
        &mut self,
        left: &Calls,
        step: &CancellationToken,
    ) -> Result<(), JournalError> {
        self.renew_tools().await?;
        self.toolbox.await_tools(left.left().map(|(call, _)| call), step).await;
        self.renew_tools().await
    }

    /// Asks the model for the next step, and books what it used. Makes room in its window before, where
    /// that is due. `step` ends the call.
    pub(crate) async fn ask(&mut self, step: &CancellationToken) -> Result<Answer, JournalError> {
        match self.keep_room(step).await? {
            Made::Interrupted => return Ok(Answer::not_asked()),
            Made::Refused(error) => return Ok(Answer { end: Ended::Failed(error), ..Answer::not_asked() }),
            Made::Shorter | Made::Nothing => {}
        }
        self.check_context().await?;
        self.renew_tools().await?;
        let settings = self.desk.settings();
        let kit = self.toolbox.kit();
        let request = self.request(&settings, &kit);
        let prefix = self.prefixes.of(&request, self.history.marks(), &kit);
        let traffic = if self.rounds == 0 { Traffic::Ask } else { Traffic::Continuation };
        // Boxed: a call is large, and the loop that waits for it small.
        let answer = Box::pin(self.call(request, Some(prefix), &settings, traffic, step)).await?;
        self.text = answer.response.text();
        if let Ended::Whole = answer.end {
            self.history.count(&answer.response.usage);
            self.had_room();
        }
        Ok(answer)
    }

    /// Makes a model call, and books what it used. What a chore comes to is not shown, and does not enter the
    /// conversation. `step` ends the call.
    pub(crate) async fn call(
        &mut self,
        request: Request,
        prefix: Option<Prefix>,
        settings: &Settings,
        traffic: Traffic,
        step: &CancellationToken,
    ) -> Result<Answer, JournalError> {
        let audience = match traffic {
            Traffic::Ask | Traffic::Continuation => Audience::Everybody,
            Traffic::Background(_) => Audience::Nobody,
        };
        let cx = CallCx {
            session: Some(self.log.session().clone()),
            traffic,
            workdir: Some(self.toolbox.env().facts().cwd.as_path().to_owned()),
            depth: self.depth,
            budget: Arc::clone(&self.budget),
            counts: self.counts.clone(),
            tally: Some(Tally::default()),
            cancel: step.clone(),
            ..CallCx::new()
        };
        let streams = self.capabilities(settings).streaming;
        let delivery = if streams { Delivery::InPieces } else { Delivery::Whole };
        let way = (delivery, audience);
        let answer = call::ask(&self.log, &self.provider, self.retry, way, request, &cx).await?;
        let entering = answer.entering().filter(|_| audience == Audience::Everybody);
        self.book(&answer, entering.as_ref(), settings, &cx, prefix).await?;
        if let Some(message) = entering {
            self.history.enter(message);
        }
        Ok(answer)
    }

    /// The prefix (system prompt, tools, everything said so far) has the same bytes each time, so that
    /// providers find it in their caches.
    pub(crate) fn request(&self, settings: &Settings, kit: &Kit) -> Request {
        Request {
            model: settings.model.clone(),
            provider: settings.provider.clone(),
            messages: self.history.messages(),
            tools: kit.specs().to_vec(),
            // Who may call several is not told so: it is every provider's default.
            parallel_tool_calls: (!self.capabilities(settings).parallel_tool_calls).then_some(false),
            reasoning_effort: settings.effort.clone(),
            provider_options: self.options(settings),
            ..Request::default()
        }
    }

    /// In which order the calls of the model's answers run.
    pub(crate) fn order(&self) -> Order {
        if self.capabilities(&self.desk.settings()).parallel_tool_calls {
            Order::SideBySide
        } else {
            Order::OneByOne
        }
    }

    /// What the model can do that is asked with these settings.
    pub(crate) fn capabilities(&self, settings: &Settings) -> Capabilities {
        let (provider, model) = (settings.provider.as_deref(), settings.model.as_deref());
        let of = |profile: &Profile| profile.capabilities_at(provider, &self.catalog, model);
        self.profile.as_ref().map(of).unwrap_or_default()
    }

    /// What is asked of the provider beside the conversation.
    fn options(&self, settings: &Settings) -> Map<String, Value> {
        let of = |profile: &Profile| profile.options_at(settings.provider.as_deref());
        self.profile.as_ref().map(of).unwrap_or_default()
    }

    /// Warns when the model's context window gets full.
    pub(crate) async fn check_context(&mut self) -> Result<(), JournalError> {
        let Some(window) = self.window() else { return Ok(()) };
        let Some(message) = self.gauge.note(self.history.tokens(), window) else { return Ok(()) };
        self.warn("context_usage", message).await
    }

    /// How many tokens the model takes in, if anybody knows.
    pub(crate) fn window(&self) -> Option<u64> {
        let of_model = || self.model_info().map(|model| model.context_window);
        let of_profile = || self.capabilities(&self.desk.settings()).context_window;
        self.context_window.or_else(of_model).or_else(of_profile)
    }

    /// What the catalog knows of the model that is asked.
    pub(crate) fn model_info(&self) -> Option<&ModelInfo> {
        let settings = self.desk.settings();
        let names = [settings.model.as_deref(), self.answered_by.as_deref()];
        names.into_iter().flatten().find_map(|model| self.catalog.get(model))
    }

    pub(crate) async fn warn(&self, code: &str, message: String) -> Result<(), JournalError> {
        self.log.emit(Body::Warning { code: code.to_owned(), message }).await.map(drop)
    }

    /// The end of an input whose model call failed for good, or was not made since the budget is spent.
    pub(crate) async fn failed(&self, error: &Error) -> Result<EndReason, JournalError> {
        if let Some(exhausted) = error.exhausted() {
            let limit = Body::TurnLimit { limit: exhausted.to_string(), reached: self.history.turns() };
            self.log.emit(limit).await?;
            return Ok(EndReason::Limit);
        }
        if error.kind() == ErrorKind::ContextLength {
            let message = "the conversation is longer than the model's context window";
            self.warn("context_overflow", message.to_owned()).await?;
        }
        let error = EventError::from(error);
        self.log.emit(Body::Error { error: error.clone() }).await?;
        Ok(EndReason::Failed { error })
    }

    /// Whether a hook keeps the input from ending. The model is told why, and goes on.
    pub(crate) async fn is_kept_going(&mut self, step: &CancellationToken) -> Result<bool, JournalError> {
        let env = self.toolbox.env();
        let Some(reason) = self.hooks.stop(self.stops, &self.text, &env, step).await? else {
            return Ok(false);
        };
        self.stops += 1;
        let told = Said::note(reason);
        self.log.emit(told.injected()).await?;
        self.history.say(&told);
        Ok(true)
    }

    /// The end of an input whose last answer is there.
    pub(crate) fn done(&self) -> EndReason {
        if self.ask_on_question && is_question(&self.text) {
            EndReason::AwaitingInput
        } else {
            EndReason::Done
        }
    }

    /// Puts a call into the log, with what enters the conversation: before that, and before any tool the
    /// model asked for runs, since the start of a tool is written after it.
    async fn book(
        &mut self,
        answer: &Answer,
        entering: Option<&Message>,
        asked: &Settings,
        cx: &CallCx,
        prefix: Option<Prefix>,
    ) -> Result<(), JournalError> {
        let said = self.minutes.as_ref().map(|minutes| minutes.take(&cx.call)).unwrap_or_default();
        for minutes in said {
            self.log.emit_for(&cx.call, Body::Deliberation { minutes }).await?;
        }
        let made = cx.tally.as_ref().map(Tally::take).unwrap_or_default();
        let Some(booked) = Booked::of(answer, made, &self.catalog, asked.model.as_deref()) else {
            return Ok(());
        };
        let Booked { provider, model, usage, cost } = booked;
        let response = &answer.response;
        self.answered_by = Some(model.clone());
        self.totals.add(&usage, cost);
        let call = Body::Call {
            provider,
            model,
            response_id: (!response.id.is_empty()).then(|| response.id.clone()),
            usage: self.catalog.priced(usage),
            cost,
            answer: entering.and_then(json),
            end: answer.how(),
            purpose: match cx.traffic {
                Traffic::Background(Chore::Compaction) => CallPurpose::Compaction,
                _ => CallPurpose::Input,
            },
            prefix,
        };
        self.log.emit_for(&cx.call, call).await?;
        let short = match response.finish_reason.unified {
            Finish::Length => Some(("length", "the answer was cut off at the limit of tokens")),
            Finish::ContentFilter => Some(("content_filter", "the model, or a filter, refused")),
            Finish::Stop | Finish::ToolCalls | Finish::Error | Finish::Other => None,
        };
        // What the call before was warned of is known.
        let new = response.warnings.iter().filter(|warning| !self.warned.contains(warning));
        let warnings: Vec<_> = new.map(|w| (w.code.as_str(), w.message.as_str())).chain(short).collect();
        if !matches!(cx.traffic, Traffic::Background(_)) {
            self.warned.clone_from(&response.warnings);
        }
        for (code, message) in warnings {
            let warning = Body::Warning { code: code.to_owned(), message: message.to_owned() };
            self.log.emit_for(&cx.call, warning).await?;
        }
        Ok(())
    }
}
