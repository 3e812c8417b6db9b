//! The kinds of agents that can be made.

use std::collections::BTreeMap;
use std::sync::Arc;

use junto_agent::{Overflow, Profile, SessionConfig};
use junto_llm::{Effort, Provider, Secret};
use junto_runner::{Definition, Patience};

/// Changes what a session is made of.
pub type Adjust = Arc<dyn Fn(SessionConfig) -> SessionConfig + Send + Sync>;

/// A kind of agent that a [`Workshop`](crate::Workshop) can make.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one for each kind, and not for each agent")]
pub enum Kind {
    /// Our own loop over any provider.
    Native(Native),
    /// A command-line agent.
    Cli(Box<Cli>),
}

impl Kind {
    /// What a model is told that may start one.
    pub(crate) fn description(&self) -> String {
        match self {
            Self::Native(Native { model: Some(model), .. }) => {
                format!("has tools like yours; its model is {model} unless you name another")
            }
            Self::Native(_) => "has tools like yours".to_owned(),
            Self::Cli(cli) => format!(
                "the command-line agent {} with its own tools and rules; it takes messages only between \
                 two tasks",
                cli.definition.kind
            ),
        }
    }
}

/// Our own loop over any provider: a client, a council, a command-line agent asked for answers.
#[derive(Clone)]
pub struct Native {
    /// Who answers.
    pub provider: Arc<dyn Provider>,
    /// The provider to ask, where `provider` holds several.
    pub provider_name: Option<String>,
    /// The model to ask, unless the spec names one.
    pub model: Option<String>,
    /// How hard it shall think.
    pub effort: Option<Effort>,
    /// What the loop does for the family of the model: tools, prompt, options. Absent: the standard
    /// tools, and no prompt but `system`.
    pub profile: Option<Profile>,
    /// The system prompt, whole; empty: the profile's.
    pub system: String,
    /// What the user wants, over everything else: the last layer of the system prompt.
    pub instructions: Option<String>,
    /// What is done when a conversation gets too long for the model.
    pub on_overflow: Overflow,
    /// Sets what nothing else here sets, such as when a loop is noticed or how much of an output the model
    /// sees. It is asked last, for each session of this kind, also for children.
    pub adjust: Option<Adjust>,
}

impl Native {
    /// The loop over this provider, with its defaults.
    pub fn new(provider: Arc<dyn Provider>) -> Self {
        Self {
            provider,
            provider_name: None,
            model: None,
            effort: None,
            profile: None,
            system: String::new(),
            instructions: None,
            on_overflow: Overflow::default(),
            adjust: None,
        }
    }

    /// The same, with sessions that are changed like this before they start:
    ///
    /// ```
    /// # use junto::agent::SessionConfig;
    /// # fn native(native: junto::Native) -> junto::Native {
    /// native.adjusted(|config| SessionConfig { stop_on_loop: true, max_children: 2, ..config })
    /// # }
    /// ```
    #[must_use]
    pub fn adjusted(
        mut self,
        adjust: impl Fn(SessionConfig) -> SessionConfig + Send + Sync + 'static,
    ) -> Self {
        self.adjust = Some(Arc::new(adjust));
        self
    }
}

/// A command-line agent.
#[derive(Clone)]
pub struct Cli {
    /// How it is run and read.
    pub definition: Definition,
    /// Variables that the definition may pass on.
    pub variables: BTreeMap<String, Secret>,
    /// How long it is waited for.
    pub patience: Patience,
}

impl Cli {
    /// A command-line agent by its definition, with no variables of its own.
    pub fn new(definition: Definition) -> Self {
        Self { definition, variables: BTreeMap::new(), patience: Patience::default() }
    }
}
