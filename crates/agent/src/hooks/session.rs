//! The hooks of one session, at work.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use junto_core::{Action, Advice, Body, EventLog, JournalError, Leash, ToolOutcome};
use junto_env::{CommandSpec, ExecutionEnvironment, Stdin, exec};
use junto_llm::ToolCall;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::heard::{Heard, Permission};
use super::view::{View, response, views};
use super::{Hook, HookEvent, Hooks};

/// How often the hooks of one input may keep the agent from stopping.
const MOST_STOPS: u32 = 8;

/// How a session came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// It is new.
    Startup,
    /// It was brought back.
    Resume,
}

/// What hooks say before a tool runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Before {
    /// It shall not, for this reason.
    pub(crate) block: Option<String>,
    /// What the gate is told.
    pub(crate) advice: Advice,
    /// What the model shall know.
    pub(crate) context: Option<String>,
}

/// The hooks of one session.
pub(crate) struct SessionHooks {
    hooks: Arc<Hooks>,
    log: EventLog,
    /// How many agents are above this one: children have no beginning and no end of their own here.
    depth: u8,
    /// The kind of agent.
    kind: String,
    /// Why a hook has ended the turn, if one has.
    ended: Mutex<Option<String>>,
}

impl SessionHooks {
    pub(crate) fn new(hooks: Arc<Hooks>, log: EventLog, depth: u8, kind: String) -> Self {
        Self { hooks, log, depth, kind, ended: Mutex::default() }
    }

    /// A turn begins: what ended an earlier one is over.
    pub(crate) fn begin_turn(&self) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether a hook has ended the turn.
    pub(crate) fn have_ended_turn(&self) -> bool {
        self.reason().is_some()
    }

    fn reason(&self) -> Option<String> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the turn if that is what hooks want. The user is told why, and the model is not.
    async fn heed(&self, heard: &Heard) -> Result<(), JournalError> {
        let Some(why) = &heard.stop else { return Ok(()) };
        self.tell(vec![format!("a hook ended the turn: {why}")]).await?;
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.clone());
        Ok(())
    }

    /// The session begins. What the model shall know, and what the user shall.
    pub(crate) async fn begin(
        &self,
        source: Source,
        env: &Arc<dyn ExecutionEnvironment>,
        cancel: &CancellationToken,
    ) -> (Option<String>, Vec<String>) {
        if self.depth > 0 || !self.hooks.has(HookEvent::SessionStart) {
            return (None, Vec::new());
        }
        let source = match source {
            Source::Startup => "startup",
            Source::Resume => "resume",
        };
        let heard = self.run(HookEvent::SessionStart, source, json!({"source": source}), env, cancel).await;
        let told = heard.told();
        (told, heard.messages.into_iter().chain(heard.block).chain(heard.stop).collect())
    }

    /// The session ends, for this reason. Its token is cancelled by then, so it is not heeded.
    pub(crate) async fn end(
        &self,
        reason: &str,
        env: &Arc<dyn ExecutionEnvironment>,
    ) -> Result<(), JournalError> {
        if self.depth > 0 || !self.hooks.has(HookEvent::SessionEnd) {
            return Ok(());
        }
        let never = CancellationToken::new();
        let heard = self.run(HookEvent::SessionEnd, reason, json!({"reason": reason}), env, &never).await;
        self.tell(heard.messages).await
    }

    /// Something is said to the session. What it shall know beside it.
    ///
    /// # Errors
    /// Why it shall not be said.
    pub(crate) async fn hear(
        &self,
        prompt: &str,
        env: &Arc<dyn ExecutionEnvironment>,
        cancel: &CancellationToken,
    ) -> Result<Result<Option<String>, String>, JournalError> {
        if self.depth > 0 || !self.hooks.has(HookEvent::UserPromptSubmit) {
            return Ok(Ok(None));
        }
        let heard = self.run(HookEvent::UserPromptSubmit, "", json!({"prompt": prompt}), env, cancel).await;
        let said = heard.told();
        self.tell(heard.messages).await?;
        Ok(heard.stop.or(heard.block).map_or(Ok(said), Err))
    }

    /// A tool is about to be called.
    pub(crate) async fn before(
        &self,
        call: &ToolCall,
        actions: &[Action],
        env: &Arc<dyn ExecutionEnvironment>,
        cancel: &CancellationToken,
    ) -> Result<Before, JournalError> {
        // Calls of the same round that come after the end do not happen.
        if let Some(why) = self.reason() {
            return Ok(Before { block: Some(why), ..Before::default() });
        }
        if !self.hooks.has(HookEvent::PreToolUse) {
            return Ok(Before::default());
        }
        let heard = self.of_call(HookEvent::PreToolUse, call, actions, None, env, cancel).await;
        self.heed(&heard).await?;
        let (context, advice) = (
            heard.told(),
            match heard.permission {
                Some(Permission::Allow) => Advice::Allow,
                Some(Permission::Ask(reason)) => Advice::Ask { reason },
                None => Advice::None,
            },
        );
        self.tell(heard.messages).await?;
        Ok(Before { block: heard.stop.or(heard.block), advice, context })
    }

    /// A tool was called, and this came of it. What the model shall know.
    pub(crate) async fn after(
        &self,
        call: &ToolCall,
        actions: &[Action],
        outcome: &ToolOutcome,
        env: &Arc<dyn ExecutionEnvironment>,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, JournalError> {
        let event = if outcome.is_error { HookEvent::PostToolUseFailure } else { HookEvent::PostToolUse };
        if !self.hooks.has(event) {
            return Ok(None);
        }
        let heard = self.of_call(event, call, actions, Some(outcome), env, cancel).await;
        self.heed(&heard).await?;
        let told = [heard.block.clone(), heard.told()].into_iter().flatten().collect::<Vec<_>>().join("\n");
        self.tell(heard.messages).await?;
        Ok((!told.is_empty()).then_some(told))
    }

    /// The agent would stop, having been kept from it so often. What it is told if it shall go on.
    pub(crate) async fn stop(
        &self,
        stops: u32,
        answer: &str,
        env: &Arc<dyn ExecutionEnvironment>,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, JournalError> {
        let event = if self.depth == 0 { HookEvent::Stop } else { HookEvent::SubagentStop };
        if !self.hooks.has(event) {
            return Ok(None);
        }
        let facts = json!({"stop_hook_active": stops > 0, "last_assistant_message": answer});
        let heard = self.run(event, "", facts, env, cancel).await;
        self.tell(heard.messages).await?;
        match heard.block.filter(|_| heard.stop.is_none()) {
            Some(_) if stops >= MOST_STOPS => {
                let message = format!("hooks kept the agent from stopping {MOST_STOPS} times; now it stops");
                self.tell(vec![message]).await?;
                Ok(None)
            }
            block => Ok(block),
        }
    }

    async fn tell(&self, messages: Vec<String>) -> Result<(), JournalError> {
        for message in messages {
            self.log.emit(Body::Warning { code: "hook".to_owned(), message }).await?;
        }
        Ok(())
    }

    /// Runs the hooks that are about a call.
    async fn of_call(
        &self,
        event: HookEvent,
        call: &ToolCall,
        actions: &[Action],
        outcome: Option<&ToolOutcome>,
        env: &Arc<dyn ExecutionEnvironment>,
        cancel: &CancellationToken,
    ) -> Heard {
        let mut runs = Vec::new();
        let views = views(call, actions);
        for view in &views {
            let mut facts = json!({"tool_name": view.name, "tool_input": view.input, "tool_use_id": call.id});
            if let (Some(outcome), Some(facts)) = (outcome, facts.as_object_mut()) {
                facts.insert("tool_response".to_owned(), response(view, outcome));
                if outcome.is_error {
                    facts.insert("error".to_owned(), json!(outcome.output.preview()));
                }
            }
            let hooks = self.hooks.all.iter().filter(|hook| is_about(hook, event, view));
            runs.extend(hooks.map(|hook| self.one(hook, facts.clone(), env, cancel)));
        }
        join_all(runs).await.into_iter().fold(Heard::default(), Heard::and)
    }

    /// Runs the hooks for an event that is about something of this name, side by side.
    async fn run(
        &self,
        event: HookEvent,
        name: &str,
        facts: Value,
        env: &Arc<dyn ExecutionEnvironment>,
        cancel: &CancellationToken,
    ) -> Heard {
        let hooks = self.hooks.all.iter().filter(|hook| hook.event == event);
        let hooks = hooks.filter(|hook| name.is_empty() || hook.matcher.fits(name));
        let runs = hooks.map(|hook| self.one(hook, facts.clone(), env, cancel));
        join_all(runs).await.into_iter().fold(Heard::default(), Heard::and)
    }

    /// Runs a hook to its end, which is also that of everything it started.
    async fn one(
        &self,
        hook: &Hook,
        facts: Value,
        env: &Arc<dyn ExecutionEnvironment>,
        cancel: &CancellationToken,
    ) -> Heard {
        let input = self.input(hook.event, facts, &**env).to_string();
        let project =
            self.hooks.project.as_deref().unwrap_or(env.facts().cwd.as_path()).display().to_string();
        let mut command = match &hook.args {
            Some(args) => CommandSpec::argv(std::iter::once(&hook.command).chain(args).cloned()),
            None => CommandSpec::shell(&hook.command),
        };
        command.stdin = Stdin::Bytes((input + "\n").into());
        command.variables =
            ["CLAUDE_PROJECT_DIR", "JUNTO_PROJECT_DIR"].map(|name| (name.to_owned(), project.clone())).into();
        let place = match hook.leash {
            Leash::Loose => env.unconfined().unwrap_or_else(|| Arc::clone(env)),
            Leash::Kept => Arc::clone(env),
        };
        match exec(&*place, command, hook.patience(), cancel, &mut |_| {}).await {
            Ok(result) => {
                let mut heard = Heard::of(hook, &result);
                // What runs in the sandbox is what agents can change: it must not give leave to go beyond.
                if hook.leash == Leash::Kept && matches!(heard.permission, Some(Permission::Allow)) {
                    heard.permission = None;
                    heard
                        .messages
                        .push(format!("the hook {hook} gives leave, which only hooks of yours can"));
                }
                heard
            }
            Err(error) => {
                let message = format!("the hook {hook} could not be run: {error}");
                Heard { messages: vec![message], ..Heard::default() }
            }
        }
    }

    /// What a hook reads.
    fn input(&self, event: HookEvent, facts: Value, env: &dyn ExecutionEnvironment) -> Value {
        let session = self.log.session();
        let transcript = self.hooks.transcripts.as_ref().and_then(|transcripts| transcripts(session));
        let mut input = Map::new();
        let mut say = |key: &str, value: Value| drop(input.insert(key.to_owned(), value));
        say("session_id", json!(session.to_string()));
        say("transcript_path", json!(transcript.map(|path| path.display().to_string()).unwrap_or_default()));
        say("cwd", json!(env.facts().cwd.to_string()));
        if !self.hooks.permission_mode.is_empty() {
            say("permission_mode", json!(self.hooks.permission_mode));
        }
        if self.depth > 0 {
            say("agent_id", json!(self.log.agent().to_string()));
            say("agent_type", json!(self.kind));
        }
        say("hook_event_name", json!(event.name()));
        if let Value::Object(facts) = facts {
            input.extend(facts);
        }
        Value::Object(input)
    }
}

fn is_about(hook: &Hook, event: HookEvent, view: &View) -> bool {
    hook.event == event
        && view.names.iter().any(|name| hook.matcher.fits(name))
        && hook.condition.as_ref().is_none_or(|condition| condition.holds(view))
}
