//! A session's tools, and the way of one call: look up, validate, judge, run, tell.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use junto_core::{
    Action, Advice, AgentError, Body, EventLog, Gate, JournalError, Leash, Payload, Permit, Questions,
    Rejected, Seen, Seq, Tool, ToolCx, ToolOutcome, ToolOutput, ToolSource, Unread, Via,
};
use junto_env::{ExecutionEnvironment, Jobs, RealPath, SeenFiles, Stamp};
use junto_llm::{ResultOutput, ToolCall, ToolResult};
use tokio_util::sync::CancellationToken;

use crate::caller::SessionCaller;
use crate::hooks::{Before, SessionHooks};
use crate::kit::{Entry, Kit};
use crate::late::Late;
use crate::output::OutputLimits;
use crate::panics::caught;
use crate::paths::{PathQueues, Turn};
use crate::refusals::Refusals;
use crate::round::Refusal;
use crate::said::media;
use crate::status::Status;
use crate::{ToolRegistry, alias, truncate};

/// How long a tool that was told to stop may take. A command that is ended politely needs some of it.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the model is told of a call that was stopped.
pub(crate) const INTERRUPTED: &str = "interrupted before it was done";

/// What the model is told of a call that was running when the session was cut off.
pub(crate) const CUT_OFF: &str =
    "interrupted, may have run: the session stopped before the result was known; look before you repeat it";

/// The tools of a session.
pub(crate) struct Toolbox {
    kit: RwLock<Arc<Kit>>,
    env: RwLock<Arc<dyn ExecutionEnvironment>>,
    gate: Gate,
    questions: Arc<Questions>,
    /// Where it is shown that a question is open.
    status: Arc<Status>,
    /// Commands in the background; ended with the session.
    jobs: Arc<Jobs>,
    /// What files were like when the model saw them last.
    seen: Arc<SeenFiles>,
    writing: PathQueues,
    /// What code was refused in the round under way.
    refusals: Refusals,
    log: EventLog,
    limits: OutputLimits,
    /// Whether files may be changed that were never read.
    unread: Unread,
    /// Tools that come and go.
    late: Option<Late>,
    /// What was wrong with some of them and has not been said.
    left_out: Mutex<Vec<String>>,
    /// The user's programs that are asked before a call and told after it.
    hooks: Option<Arc<SessionHooks>>,
    /// Tools that others have and this session has not, and why.
    withheld: Option<(&'static [&'static str], &'static str)>,
}

/// A call that was looked up, validated and asked what it would do; or why it makes no sense.
pub(crate) struct Prepared {
    call: ToolCall,
    /// Where it was looked at, and where it will run.
    env: Arc<dyn ExecutionEnvironment>,
    ready: Result<(Arc<Entry>, Vec<Action>), String>,
}

impl Prepared {
    /// The files it would write.
    fn writes(&self) -> impl Iterator<Item = &RealPath> {
        self.ready.iter().flat_map(|(_, actions)| actions).filter_map(|action| match action {
            Action::Write { path } => Some(path),
            _ => None,
        })
    }
}

/// What came of a call.
pub(crate) struct Ran {
    pub(crate) outcome: ToolOutcome,
    /// What the model sees of it, if it was the model that called.
    pub(crate) result: ToolResult,
    /// What somebody said who refused it, if somebody did.
    pub(crate) refused: Option<Refusal>,
}

impl Toolbox {
    /// # Errors
    /// `invalid` if a tool's schema has no object at its root.
    pub(crate) fn new(
        tools: ToolRegistry,
        env: Arc<dyn ExecutionEnvironment>,
        gate: Gate,
        log: EventLog,
        status: Arc<Status>,
        limits: OutputLimits,
    ) -> Result<Self, AgentError> {
        let (kit, env) = (RwLock::new(Arc::new(Kit::new(tools)?)), RwLock::new(env));
        let questions = Arc::new(Questions::new(log.clone()));
        let jobs = Arc::new(Jobs::new(ToolCx::MOST_JOBS));
        let seen = Arc::new(SeenFiles::new(ToolCx::MOST_SEEN));
        let writing = PathQueues::default();
        let (unread, late, hooks, withheld) = (Unread::default(), None, None, None);
        Ok(Self {
            kit,
            env,
            gate,
            questions,
            status,
            jobs,
            seen,
            writing,
            refusals: Refusals::default(),
            log,
            limits,
            unread,
            late,
            left_out: Mutex::default(),
            hooks,
            withheld,
        })
    }

    /// Says whether files may be changed that were never read.
    pub(crate) fn unread(&mut self, unread: Unread) {
        self.unread = unread;
    }

    /// Says where tools come from that come and go.
    pub(crate) fn late(&mut self, source: Arc<dyn ToolSource>) {
        self.late = Some(Late::new(source));
    }

    /// Takes the tools that have come, and lets those go that have gone. Says what is wrong with some.
    pub(crate) fn renew(&self) -> Vec<String> {
        self.catch_up();
        std::mem::take(&mut *self.left_out.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same, and what is wrong is said by the next [`Toolbox::renew`].
    pub(crate) fn catch_up(&self) {
        let Some(late) = &self.late else { return };
        let mut kit = self.kit.write().unwrap_or_else(PoisonError::into_inner);
        let Some((tools, left_out)) = late.renew(kit.registry()) else { return };
        // Each of them is known to be sound.
        if let Ok(renewed) = Kit::new(tools) {
            *kit = Arc::new(renewed);
        }
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner).extend(left_out);
    }

    /// Waits until no more tools are on their way, if a call is among these whose tool is not there.
    pub(crate) async fn await_tools(&self, calls: impl Iterator<Item = &ToolCall>, stop: &CancellationToken) {
        let Some(late) = &self.late else { return };
        let kit = self.kit();
        if calls.into_iter().all(|call| kit.find(call).is_ok()) {
            return;
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = late.settled() => {}
        }
    }

    /// Has hooks run before and after each call.
    pub(crate) fn watched_by(&mut self, hooks: Arc<SessionHooks>) {
        self.hooks = Some(hooks);
    }

    /// Notes that the model has seen a file whole.
    pub(crate) fn note_seen(&self, path: &RealPath, stamp: Stamp) {
        self.seen.note(path, stamp);
    }

    /// Whether somebody would be asked about a call.
    pub(crate) fn would_ask(&self, prepared: &Prepared) -> bool {
        let ready = prepared.ready.as_ref();
        ready.is_ok_and(|(_, actions)| self.gate.would_ask(&prepared.call.name, actions))
    }

    /// Says why tools are not there that a model may look for.
    pub(crate) fn withhold(&mut self, names: &'static [&'static str], why: &'static str) {
        self.withheld = Some((names, why));
    }

    /// What a model is told that calls a tool which is not there.
    fn unknown(&self, call: &ToolCall, told: String) -> String {
        let name = alias::ours(&call.name).unwrap_or(&call.name);
        match self.withheld {
            Some((names, why))
                if names.contains(&name) && self.kit().registry().get(&call.name).is_none() =>
            {
                why.to_owned()
            }
            _ => told,
        }
    }

    /// The tools as they are now.
    pub(crate) fn kit(&self) -> Arc<Kit> {
        Arc::clone(&self.kit.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes which tools there are.
    ///
    /// # Errors
    /// `invalid` if a tool's schema has no object at its root; nothing is changed then.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut ToolRegistry) -> T) -> Result<T, AgentError> {
        let mut kit = self.kit.write().unwrap_or_else(PoisonError::into_inner);
        let mut tools = kit.registry().clone();
        let changed = change(&mut tools);
        *kit = Arc::new(Kit::new(tools)?);
        Ok(changed)
    }

    /// Where the next call will act.
    pub(crate) fn env(&self) -> Arc<dyn ExecutionEnvironment> {
        Arc::clone(&self.env.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes the calls to come act elsewhere; those under way end where they began.
    pub(crate) fn move_to(&self, env: Arc<dyn ExecutionEnvironment>) {
        *self.env.write().unwrap_or_else(PoisonError::into_inner) = env;
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    pub(crate) fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    pub(crate) fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    pub(crate) fn questions(&self) -> &Questions {
        &self.questions
    }

    /// What the model sees of an outcome.
    fn result(&self, call: &ToolCall, outcome: &ToolOutcome) -> ToolResult {
        let text = truncate(&outcome.output, self.limits.of(&call.name));
        let (output, images) = (ResultOutput::Text(text), outcome.images.clone());
        ToolResult { call_id: call.id.clone(), output, is_error: outcome.is_error, images }
    }

    /// Finds out what a call would do. Changes nothing.
    pub(crate) async fn prepare(&self, call: ToolCall, stop: &CancellationToken) -> Prepared {
        let env = self.env();
        let ready = self.judge(&call, &env, stop).await;
        Prepared { call, env, ready }
    }

    async fn judge(
        &self,
        call: &ToolCall,
        env: &Arc<dyn ExecutionEnvironment>,
        stop: &CancellationToken,
    ) -> Result<(Arc<Entry>, Vec<Action>), String> {
        let entry = self.kit().find(call).map_err(|told| self.unknown(call, told))?;
        let cx = ToolCx { cancel: stop.clone(), ..ToolCx::alone(Arc::clone(env)) };
        let actions = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(INTERRUPTED.to_owned()),
            actions = caught(entry.tool.actions(call, &cx)) => actions,
        };
        match actions {
            Ok(Ok(actions)) => Ok((entry, actions)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(panic) => Err(format!("the tool crashed: {panic}")),
        }
    }

    /// Puts a call behind those that write the same files.
    pub(crate) fn queue(&self, prepared: &Prepared) -> Turn {
        self.writing.join(prepared.writes())
    }

    /// Waits for a call's turn, lets it through the gate and runs it. Its end is in the log when this
    /// returns, whatever happened. `asking` withdraws it while it has not started; `stop` interrupts it.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub(crate) async fn execute(
        &self,
        prepared: Prepared,
        turn: Turn,
        via: Via,
        asking: &CancellationToken,
        stop: &CancellationToken,
    ) -> Result<Ran, JournalError> {
        let Prepared { call, env, ready } = prepared;
        let (entry, actions) = match ready {
            Ok(ready) => ready,
            Err(message) => return self.told(&call, via, None, ToolOutcome::error(message)).await,
        };
        tokio::select! {
            biased;
            () = asking.cancelled() => {}
            () = turn.comes() => {}
        }
        if asking.is_cancelled() {
            let message = Rejected::Cancelled.message();
            return self.told(&call, via, None, ToolOutcome::error(message)).await;
        }
        let Before { block, advice, context } = match &self.hooks {
            Some(hooks) => hooks.before(&call, &actions, &env, asking).await?,
            None => Before::default(),
        };
        if let Some(reason) = block {
            let message = format!("not allowed: {reason}");
            return self.told(&call, via, None, ToolOutcome::rejected(message)).await;
        }
        let outside = env.unconfined().unwrap_or_else(|| Arc::clone(&env));
        // What is allowed by somebody runs without the sandbox, so it is looked at without it, too.
        let shown = self.shown(&call.name, &actions, &advice, &*outside).await;
        let judged = actions.clone();
        let permit = match caught(self.gate.pass_advised(call.clone(), actions, via, advice, asking)).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(Rejected::Failed(error))) => return Err(JournalError(error.to_string())),
            Ok(Err(rejected)) => {
                let outcome = match &rejected {
                    Rejected::Cancelled => ToolOutcome::error(rejected.message()),
                    _ => ToolOutcome::rejected(rejected.message()),
                };
                let ran = self.told(&call, via, None, outcome).await?;
                let refused = match rejected {
                    Rejected::Refused(why) => Some(why),
                    _ => None,
                };
                return Ok(Ran { refused, ..ran });
            }
            Err(panic) => {
                let message = format!("not allowed: the policy crashed: {panic}");
                return self.told(&call, via, None, ToolOutcome::error(message)).await;
            }
        };
        let start = permit.start();
        let place = place(&permit, Arc::clone(&env));
        let outcome = self.run(&*entry.tool, permit, (place, shown), stop).await;
        let after = match &self.hooks {
            Some(hooks) => hooks.after(&call, &judged, &outcome, &env, stop).await?,
            None => None,
        };
        let notes = [context, after].into_iter().flatten().collect::<Vec<_>>().join("\n");
        self.told_with(&call, via, Some(start), outcome, &notes).await
    }

    /// What the files are like that a call would write, if somebody will be asked about it: what is allowed
    /// then is a change of these. A file that cannot be looked at is not compared; nor can it be written.
    async fn shown(
        &self,
        tool: &str,
        actions: &[Action],
        advice: &Advice,
        env: &dyn ExecutionEnvironment,
    ) -> HashMap<RealPath, Option<Stamp>> {
        let mut shown = HashMap::new();
        let advised = matches!(advice, Advice::Ask { .. });
        let asks =
            async { advised || caught(async { self.gate.would_ask(tool, actions) }).await.unwrap_or(false) };
        if actions.iter().any(|action| matches!(action, Action::Write { .. })) && asks.await {
            for action in actions {
                if let Action::Write { path } = action
                    && let Ok(stamp) = env.stamp(path).await
                {
                    shown.insert(path.clone(), stamp);
                }
            }
        }
        shown
    }

    async fn run(
        &self,
        tool: &dyn Tool,
        permit: Permit,
        (env, shown): (Arc<dyn ExecutionEnvironment>, HashMap<RealPath, Option<Stamp>>),
        stop: &CancellationToken,
    ) -> ToolOutcome {
        let (questions, status) = (Arc::clone(&self.questions), Arc::clone(&self.status));
        let caller = SessionCaller::new(self.log.clone(), permit.start(), questions, status, stop.clone());
        let caller = Arc::new(caller);
        let cx = ToolCx {
            env,
            cancel: stop.clone(),
            caller: Arc::clone(&caller) as _,
            jobs: Arc::clone(&self.jobs),
            seen: Arc::clone(&self.seen),
            shown: Arc::new(shown),
            unread: self.unread,
        };
        let out_of_patience = async {
            stop.cancelled().await;
            tokio::time::sleep(PATIENCE).await;
        };
        tokio::select! {
            biased;
            outcome = caught(tool.run(permit, &cx)) => {
                outcome.unwrap_or_else(|panic| caller.broken_off(&format!("the tool crashed: {panic}")))
            }
            () = out_of_patience => caller.broken_off(INTERRUPTED),
        }
    }

    /// Puts the end of a call into the log, with what the model sees of it.
    async fn told(
        &self,
        call: &ToolCall,
        via: Via,
        of: Option<Seq>,
        outcome: ToolOutcome,
    ) -> Result<Ran, JournalError> {
        self.told_with(call, via, of, outcome, "").await
    }

    /// The same, with something that the model sees below the output.
    async fn told_with(
        &self,
        call: &ToolCall,
        via: Via,
        of: Option<Seq>,
        outcome: ToolOutcome,
        notes: &str,
    ) -> Result<Ran, JournalError> {
        if let Some(fault) = outcome.output.fault() {
            let message = format!("the middle of the output of {} is lost: {fault}", call.name);
            self.log.emit(Body::Warning { code: "output_lost".to_owned(), message }).await?;
        }
        let mut result = self.result(call, &outcome);
        if !notes.is_empty() {
            let text = format!("{}\n\n{notes}", result.output.to_text());
            result.output = ResultOutput::Text(text);
        }
        let end = Body::ToolCallEnd {
            of,
            call_id: call.id.clone(),
            name: call.name.clone(),
            call: of.is_none().then(|| call.clone()),
            output: Payload::from(&outcome.output),
            is_error: outcome.is_error,
            seen: if via == Via::Loop { seen(&outcome, &result) } else { None },
            via,
        };
        self.log.emit(end).await?;
        Ok(Ran { outcome, result, refused: None })
    }
}

/// Where a call acts: without the sandbox if it may. An agent that is started has its own calls judged, so it
/// is started inside, whoever allowed that.
fn place(permit: &Permit, env: Arc<dyn ExecutionEnvironment>) -> Arc<dyn ExecutionEnvironment> {
    let starts_agent = permit.actions().iter().any(|action| matches!(action, Action::Spawn { .. }));
    match permit.leash() {
        Leash::Loose if !starts_agent => env.unconfined().unwrap_or(env),
        Leash::Loose | Leash::Kept => env,
    }
}

/// What the log must say of a result beside the whole output; absent if the model saw exactly that.
fn seen(outcome: &ToolOutcome, result: &ToolResult) -> Option<Seen> {
    let text = match (&outcome.output, &result.output) {
        (ToolOutput::Text(whole), ResultOutput::Text(seen)) if whole == seen => None,
        (_, seen) => Some(seen.to_text().into()),
    };
    let seen = Seen { text, images: media(&result.images) };
    (seen != Seen::default()).then_some(seen)
}
