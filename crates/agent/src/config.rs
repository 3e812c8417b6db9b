//! What a session is made of.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use junto_core::{
    AgentSpec, Companion, EventLog, Fut, Limits, Minutes, OnReject, Open, Parent, Policy, Spawner,
    ToolSource, Unread,
};
use junto_env::ExecutionEnvironment;
use junto_llm::catalog::Catalog;
use junto_llm::{Allowance, Budget, Effort, Provider, Unlimited, retry};
use tokio_util::sync::CancellationToken;

use crate::profile::Profile;
use crate::{Compaction, Reach, ToolRegistry};

/// Makes the environment for another working directory, which is absolute.
pub type Environments =
    Arc<dyn Fn(PathBuf) -> Fut<'static, junto_env::Result<Arc<dyn ExecutionEnvironment>>> + Send + Sync>;

/// What is done when the conversation is longer than the model's context window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The session ends: whatever is asked next would be too long as well.
    #[default]
    Close,
    /// Only the input fails, and the host may go on with a model that has a larger window.
    Fail,
    /// The conversation is made shorter, also before it comes to that: see [`Compaction`]. Where that
    /// does not help, only the input fails.
    Compact,
}

/// What a session is made of. [`SessionConfig::new`] takes what has no default; the rest is set field
/// by field:
///
/// ```
/// # use junto_agent::SessionConfig;
/// # use junto_agent::profile::Profile;
/// # fn config(provider: std::sync::Arc<dyn junto_llm::Provider>,
/// #     env: std::sync::Arc<dyn junto_env::ExecutionEnvironment>,
/// #     log: junto_core::EventLog) -> SessionConfig {
/// SessionConfig {
///     profile: Some(Profile::anthropic()),
///     model: Some("claude-opus-5-5".into()),
///     instructions: Some("Answer in Latin.".into()),
///     ..SessionConfig::new(provider, env, log)
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct SessionConfig {
    /// Who answers.
    pub provider: Arc<dyn Provider>,
    /// Where tools act.
    pub env: Arc<dyn ExecutionEnvironment>,
    /// Where events go; a child's is its parent's [`EventLog::child`].
    pub log: EventLog,
    /// What models cost.
    pub catalog: Catalog,
    /// Where the provider says how it came to its answers, if it is a council that does: the log has it beside
    /// each call.
    pub minutes: Option<Minutes>,
    /// The provider to ask, where `provider` holds several; absent: its default.
    pub provider_name: Option<String>,
    /// The model to ask; absent: the provider's default.
    pub model: Option<String>,
    /// How hard it shall think; absent: the provider's default.
    pub effort: Option<Effort>,
    /// What the session does for the family of its models: their tools, their prompt, what is asked of
    /// their provider. Absent: none of it, and `system` and `tools` are all there is.
    pub profile: Option<Profile>,
    /// The system prompt, whole. Empty: the profile's, which is put together once when the session
    /// starts; without a profile none.
    pub system: String,
    /// What the user wants, over everything else: the last layer of the system prompt.
    pub instructions: Option<String>,
    /// What the model can call, beside the profile's tools; of two with one name this one wins. A call with fields that a tool's schema does not list is an error that the
    /// model is told, unless the schema says `additionalProperties`, or lists none.
    pub tools: ToolRegistry,
    /// Tools that come and go while the session runs, beside those: it is looked for them before each model call.
    /// Of two with one name the session's own wins.
    pub late_tools: Option<Arc<dyn ToolSource>>,
    /// Who lives beside the session and uses its tools, such as a kernel. Each is one session's: a child has its own.
    pub companions: Vec<Arc<dyn Companion>>,
    /// How long a command may take if the model does not say, with the profile's own tools; absent: as
    /// the profile says.
    pub shell_timeout: Option<Duration>,
    /// What may be done. By default everything.
    pub policy: Arc<dyn Policy>,
    /// What it means when somebody refuses a call. What the *policy* denies is always told to the
    /// model.
    pub on_reject: OnReject,
    /// How long a question about a call waits for its answer; absent: for ever. One that nobody answers in
    /// time is a no that the model is told of, whatever a refusal does otherwise.
    pub approval_timeout: Option<Duration>,
    /// Whether `write_file` and `edit_file` may change a file that the model has never read. One that somebody
    /// else changed since the model read it is left alone in any case.
    pub unread: Unread,
    /// When it must stop. By default never.
    pub limits: Limits,
    /// How often a failed model call is made again.
    pub retry: retry::Policy,
    /// What may be spent; shared with children. The call that could break it is not made: its input ends
    /// as at a limit. See [`junto_core::Purse`].
    pub budget: Arc<dyn Budget>,
    /// How much of the budget one input may take, with what children spend meanwhile.
    pub turn_budget: Allowance,
    /// Makes children. With one, and `depth` below `max_depth`, the model can call `spawn_agent`,
    /// `send_input`, `wait` and `close_agent`.
    pub spawner: Option<Arc<dyn Spawner>>,
    /// How many agents are above this one.
    pub depth: u8,
    /// How many levels of children there may be.
    pub max_depth: u8,
    /// How many children there may be at once. One counts until it is closed, also when it is done.
    pub max_children: usize,
    /// Ends the session.
    pub cancel: CancellationToken,
    /// The kind of agent that `session_start` names.
    pub kind: String,
    /// How many characters of a tool's output the model sees, by the tool's name. Others have their
    /// defaults; see the README.
    pub tool_output_limits: BTreeMap<String, usize>,
    /// How many lines of these, by the tool's name.
    pub tool_line_limits: BTreeMap<String, usize>,
    /// Makes environments for [`junto_core::Change::workdir`]. Without it the session stays where it is.
    pub environments: Option<Environments>,
    /// How many tokens the model takes in; absent: what the catalog says. A warning `context_usage` tells
    /// when four fifths are used.
    pub context_window: Option<u64>,
    /// What is done when that is not enough.
    pub on_overflow: Overflow,
    /// How the conversation is made shorter, with [`Overflow::Compact`] or when somebody asks for it.
    pub compaction: Compaction,
    /// Whether the model is told when it makes the same calls with the same results over and over. By
    /// default it is, once for each input.
    pub enable_loop_detection: bool,
    /// How many calls must follow a pattern of one to five calls; 10 by default, and below 2 never.
    pub loop_detection_window: usize,
    /// Whether the input ends, as at a limit, when that happens a second time.
    pub stop_on_loop: bool,
    /// Whether an input whose answer ends in a question ends as [`junto_core::EndReason::AwaitingInput`],
    /// so that the host knows that it is asked. The next input is the reply.
    pub ask_on_question: bool,
    /// What it has beside its tools: skills, commands, hooks, files in inputs. By default nothing.
    pub reach: Reach,
}

impl SessionConfig {
    /// A session without tools, limits or prompt that may do everything.
    pub fn new(provider: Arc<dyn Provider>, env: Arc<dyn ExecutionEnvironment>, log: EventLog) -> Self {
        Self {
            provider,
            env,
            log,
            catalog: Catalog::builtin(),
            minutes: None,
            provider_name: None,
            model: None,
            effort: None,
            profile: None,
            system: String::new(),
            instructions: None,
            tools: ToolRegistry::default(),
            late_tools: None,
            companions: Vec::new(),
            shell_timeout: None,
            policy: Arc::new(Open),
            on_reject: OnReject::default(),
            approval_timeout: None,
            unread: Unread::default(),
            limits: Limits::default(),
            retry: retry::Policy::default(),
            budget: Arc::new(Unlimited),
            turn_budget: Allowance::UNLIMITED,
            spawner: None,
            depth: 0,
            max_depth: 1,
            max_children: 8,
            cancel: CancellationToken::new(),
            kind: "native".to_owned(),
            tool_output_limits: BTreeMap::new(),
            tool_line_limits: BTreeMap::new(),
            environments: None,
            context_window: None,
            on_overflow: Overflow::default(),
            compaction: Compaction::default(),
            enable_loop_detection: true,
            loop_detection_window: 10,
            stop_on_loop: false,
            ask_on_question: false,
            reach: Reach::default(),
        }
    }

    /// A child of a session with this configuration: it speaks through the same log, works where its
    /// parent says, ends and pays with it, and has the model and limits of its own that the spec asks for.
    pub fn child(&self, spec: &AgentSpec, parent: &Parent) -> Self {
        Self {
            log: parent.log.as_ref().unwrap_or(&self.log).child(),
            env: Arc::clone(parent.env.as_ref().unwrap_or(&self.env)),
            model: spec.model.clone().or_else(|| self.model.clone()),
            limits: spec.limits,
            budget: Arc::clone(&parent.budget),
            // Its parent's input pays for it.
            turn_budget: Allowance::UNLIMITED,
            depth: parent.depth,
            cancel: parent.cancel.clone(),
            // They are the parent's.
            companions: Vec::new(),
            // Whoever hears a child's answer hears its question.
            ask_on_question: false,
            ..self.clone()
        }
    }
}

impl std::fmt::Debug for SessionConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionConfig")
            .field("kind", &self.kind)
            .field("provider_name", &self.provider_name)
            .field("model", &self.model)
            .field("profile", &self.profile.as_ref().map(|profile| &profile.id))
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}
