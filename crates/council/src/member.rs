//! Who is asked, and how.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use junto_llm::{Allowance, Effort, Provider};
use serde::{Deserialize, Serialize};

/// Somebody who is asked: a provider, and how to address it. Members, judges and synthesizers are
/// all of this kind.
#[derive(Clone)]
pub struct Member {
    /// What it is called in progress, warnings and errors.
    pub name: String,
    /// Who answers.
    pub provider: Arc<dyn Provider>,
    /// The model to ask for. Absent: the provider's own choice; a bare
    /// [`HttpProvider`](junto_llm::HttpProvider) has none and needs this.
    pub model: Option<String>,
    /// The provider to name in the request, where `provider` is a [`Client`](junto_llm::Client)
    /// that holds several.
    pub provider_name: Option<String>,
    /// What it is told beside what the client says: the angle from which it shall look. It stands
    /// behind the client's own instructions and is the same in every turn, so that caches hold.
    pub framing: Option<String>,
    /// How hard it shall think. Absent: as the client asks.
    pub effort: Option<Effort>,
    /// What one answer of it may cost, within the council's budget and the caller's. Absent: no
    /// limit of its own.
    pub budget: Option<Allowance>,
    /// How long a whole answer of it may take. Absent: as long as the council waits.
    pub within: Option<Duration>,
    /// How long it may say nothing. Absent: as long as its provider allows.
    pub silence: Option<Duration>,
    /// How it is told of tools.
    pub manner: Manner,
}

/// How a member is told of the client's tools, and how it calls them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manner {
    /// As a model is: the request is the client's, with its messages, tools and schemas.
    #[default]
    Native,
    /// As somebody who can only write: a command-line agent asked for an answer. Tools, their
    /// schemas and the conversation are laid before it as one JSON document, and what it writes is
    /// read as one JSON action.
    Actions,
}

impl Member {
    /// A native member that chooses its model by itself, without limits of its own.
    pub fn new(name: impl Into<String>, provider: Arc<dyn Provider>) -> Self {
        Self {
            name: name.into(),
            provider,
            model: None,
            provider_name: None,
            framing: None,
            effort: None,
            budget: None,
            within: None,
            silence: None,
            manner: Manner::Native,
        }
    }

    /// This member with a model.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// This member with a provider's name for the request.
    pub fn provider_name(mut self, name: impl Into<String>) -> Self {
        self.provider_name = Some(name.into());
        self
    }

    /// This member with an angle from which to look.
    pub fn framing(mut self, framing: impl Into<String>) -> Self {
        self.framing = Some(framing.into());
        self
    }

    /// This member, told of tools in this manner.
    pub fn manner(mut self, manner: Manner) -> Self {
        self.manner = manner;
        self
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("name", &self.name)
            .field("model", &self.model)
            .field("provider_name", &self.provider_name)
            .field("manner", &self.manner)
            .finish_non_exhaustive()
    }
}
