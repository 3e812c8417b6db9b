//! What a session does differently for each family of models, as data: which tools it declares and
//! under which names, what it tells the model first, what it asks of the provider, and what the
//! model can do.
//!
//! ```
//! use junto_agent::profile::{Dialect, Profile};
//! let profile = Profile::openai().with_model("gpt-5.5");
//! assert!(profile.tools.get("apply_patch").is_some() && profile.tools.get("edit_file").is_none());
//! assert_eq!(Profile::anthropic().with_dialect(Dialect::Native).id, "anthropic");
//! ```
//!
//! A profile goes into [`SessionConfig::profile`](crate::SessionConfig). Tools of one's own are
//! registered in `tools`, here or in the session's configuration; of two with one name the later wins.

mod apply;
mod builtin;
mod file;
pub(crate) mod native;
mod options;

use std::sync::Arc;
use std::time::Duration;

use junto_core::Tool;
use junto_llm::catalog::{Catalog, ModelInfo, Reasoning};
use junto_llm::{Effort, Wire};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::tools::Timeouts;
use crate::{ToolRegistry, alias};

pub(crate) use apply::apply;
use file::Listed;
pub use file::{CapabilitiesEntry, ProfileFile, ProfileHead, ToolEntry};

/// A family of models: those that were trained with the same tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// OpenAI's, used to patches.
    OpenAi,
    /// Anthropic's, used to replacing texts.
    Anthropic,
    /// Google's.
    Gemini,
    /// Any other, behind an endpoint that speaks one of the wires.
    Compatible,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Compatible];

    /// Its name: that of the provider, or `compatible`.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Compatible => "compatible",
        }
    }

    /// The family of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.name() == name)
    }

    /// The wire its provider speaks; none where there is no one provider.
    pub fn wire(self) -> Option<Wire> {
        match self {
            Self::OpenAi => Some(Wire::Responses),
            Self::Anthropic => Some(Wire::Anthropic),
            Self::Gemini => Some(Wire::Gemini),
            Self::Compatible => None,
        }
    }
}

/// Under which names and schemas tools are declared. What either says is understood in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Ours, the same for every family.
    #[default]
    Spec,
    /// Those of the vendor's own agent. A family without one speaks ours.
    Native,
}

impl Dialect {
    /// Its name, as files and logs have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Native => "native",
        }
    }
}

/// What a model can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Capabilities {
    /// Whether it reasons, so that it can be told how hard.
    pub reasoning: bool,
    /// Whether its answers come in pieces.
    pub streaming: bool,
    /// Whether it may call several tools at once. If not, those of one answer run one after another.
    pub parallel_tool_calls: bool,
    /// How many tokens it can read and write; absent: nobody knows.
    pub context_window: Option<u64>,
}

/// What is assumed of a model that nothing is known of.
impl Default for Capabilities {
    fn default() -> Self {
        Self { reasoning: true, streaming: true, parallel_tool_calls: true, context_window: None }
    }
}

/// How a session treats a family of models.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name: the family's, or that of the file it comes from.
    pub id: String,
    /// The model to ask where nobody says; absent: the provider's default.
    pub model: Option<String>,
    /// How hard it shall think where nobody says; absent: the provider's default.
    pub effort: Option<Effort>,
    /// What the model can call. Subagents are added by the session.
    pub tools: ToolRegistry,
    /// The first layer of the system prompt.
    pub base: String,
    /// Fields for the request, by the name of the wire they are for; see
    /// [`Request::provider_options`](junto_llm::Request).
    pub options: Map<String, Value>,
    /// What the model can do, where the catalog does not know the model.
    pub capabilities: Capabilities,
    /// The names of the project documents to read beside `AGENTS.md`.
    pub documents: Vec<String>,
    /// Tools that its file declares and that we have not; empty for ours.
    pub left_out: Vec<String>,
    family: Family,
    dialect: Dialect,
    shell_timeout: Duration,
    /// The tools that its file lists; absent: they are the family's.
    listed: Option<Listed>,
    /// The tools as the profile made them: what differs in `tools` is somebody's own.
    made: ToolRegistry,
}

impl Profile {
    /// For OpenAI's models.
    pub fn openai() -> Self {
        Self::of(Family::OpenAi)
    }

    /// For Anthropic's models.
    pub fn anthropic() -> Self {
        Self::of(Family::Anthropic)
    }

    /// For Google's models.
    pub fn gemini() -> Self {
        Self::of(Family::Gemini)
    }

    /// For any other model.
    pub fn compatible() -> Self {
        Self::of(Family::Compatible)
    }

    /// For the models of a provider: by its name if it is a vendor's, else by the wire it speaks. What
    /// speaks Chat Completions can be anything.
    pub fn for_provider(name: &str, wire: Wire) -> Self {
        Self::of(Family::named(name).unwrap_or(match wire {
            Wire::Responses => Family::OpenAi,
            Wire::Anthropic => Family::Anthropic,
            Wire::Gemini => Family::Gemini,
            Wire::Chat => Family::Compatible,
        }))
    }

    /// For a family of models.
    pub fn of(family: Family) -> Self {
        let builtin = builtin::of(family);
        let dialect = Dialect::default();
        let made: ToolRegistry = tools(family, dialect, builtin.shell_timeout).into();
        Self {
            id: family.name().to_owned(),
            model: None,
            effort: None,
            tools: made.clone(),
            base: builtin.base(dialect).to_owned(),
            options: options::defaults(family),
            capabilities: builtin.capabilities,
            documents: builtin.documents.iter().map(|&name| name.to_owned()).collect(),
            left_out: Vec::new(),
            family,
            dialect,
            shell_timeout: builtin.shell_timeout,
            listed: None,
            made,
        }
    }

    /// The family it is for.
    pub fn family(&self) -> Family {
        self.family
    }

    /// How its tools are named.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// How long a command may take if neither the model nor the host says.
    pub fn shell_timeout(&self) -> Duration {
        self.shell_timeout
    }

    /// The profile with its tools and its base instructions in this dialect. Tools that were registered
    /// in it stay, and so do instructions that are not its own.
    pub fn with_dialect(mut self, dialect: Dialect) -> Self {
        let builtin = builtin::of(self.family);
        if self.base == builtin.base(self.dialect) {
            builtin.base(dialect).clone_into(&mut self.base);
        }
        self.dialect = dialect;
        self.rebuilt()
    }

    /// Whether its file lists its tools: then they have the names that stand there, whatever the dialect.
    pub fn lists_tools(&self) -> bool {
        self.listed.is_some()
    }

    /// The profile with this model.
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// The profile with another time for commands. A shell that was registered in it stays as it is.
    pub fn with_shell_timeout(mut self, timeout: Duration) -> Self {
        self.shell_timeout = timeout;
        self.rebuilt()
    }

    /// What a model can do: what the catalog knows, else what the profile says. Without a name it is the
    /// model that the provider takes by default.
    pub fn capabilities_of(&self, catalog: &Catalog, model: Option<&str>) -> Capabilities {
        with_catalog(self.capabilities, self.model_info(catalog, model))
    }

    /// What a model can do, as [`Self::capabilities_of`], at this provider: one of another family's is not
    /// taken for one of the profile's.
    pub(crate) fn capabilities_at(
        &self,
        provider: Option<&str>,
        catalog: &Catalog,
        model: Option<&str>,
    ) -> Capabilities {
        let Some(other) = self.other_family(provider) else { return self.capabilities_of(catalog, model) };
        let known = match model {
            Some(name) => catalog.get(name),
            None => catalog.latest(other.name(), None),
        };
        with_catalog(builtin::of(other).capabilities, known)
    }

    /// The fields for a request to this provider: the profile's, over those that its family asks for where
    /// it is another.
    pub(crate) fn options_at(&self, provider: Option<&str>) -> Map<String, Value> {
        let Some(other) = self.other_family(provider) else { return self.options.clone() };
        let mut options = options::defaults(other);
        file::lay_over(&mut options, self.options.clone());
        options
    }

    /// The family of a vendor's provider, if it is not the profile's.
    fn other_family(&self, provider: Option<&str>) -> Option<Family> {
        provider.and_then(Family::named).filter(|family| *family != self.family)
    }

    /// What the catalog knows of the model that is asked under this name, or without one.
    pub fn model_info<'a>(&self, catalog: &'a Catalog, model: Option<&str>) -> Option<&'a ModelInfo> {
        match model.or(self.model.as_deref()) {
            Some(name) => catalog.get(name),
            None => catalog.latest(self.family.name(), None),
        }
    }

    /// Tools that are added to it, in its dialect: where the vendor's agent asks the user, reads the web or
    /// starts other agents in a way of its own, that way.
    pub(crate) fn in_dialect(&self, tools: &ToolRegistry) -> ToolRegistry {
        match self.dialect {
            Dialect::Spec => tools.clone(),
            Dialect::Native => {
                native::added(self.family, Timeouts::of(Some(self.shell_timeout), None), tools)
            }
        }
    }

    /// Makes its own tools anew, and leaves alone what somebody registered or removed.
    fn rebuilt(mut self) -> Self {
        let made = match &self.listed {
            None => tools(self.family, self.dialect, self.shell_timeout),
            // They could be made before, and are made of the same.
            Some(listed) => match listed.make(&self) {
                Ok(found) => found.tools,
                Err(_) => return self,
            },
        };
        let own = |tool: &&Arc<dyn Tool>| !self.made.iter().any(|made| Arc::ptr_eq(made, tool));
        // What was removed under one dialect's name is not there under another's.
        let has = |tools: &ToolRegistry, name: &str| tools.names().any(|other| ours(other) == ours(name));
        let removed = |name: &str| has(&self.made, name) && !has(&self.tools, name);
        let kept = made.iter().filter(|tool| !removed(&tool.spec().name)).cloned();
        let tools: ToolRegistry = kept.chain(self.tools.iter().filter(own).cloned()).collect();
        (self.tools, self.made) = (tools, made.into());
        self
    }
}

/// What a model can do: what the catalog knows of it, else what is said of its family.
fn with_catalog(of_family: Capabilities, known: Option<&ModelInfo>) -> Capabilities {
    known.map_or(of_family, |info| Capabilities {
        reasoning: info.reasoning != Reasoning::None,
        context_window: Some(info.context_window),
        ..of_family
    })
}

/// Our name for a tool.
fn ours(name: &str) -> &str {
    alias::ours(name).unwrap_or(name)
}

/// The tools of a family in a dialect.
fn tools(family: Family, dialect: Dialect, shell_timeout: Duration) -> Vec<Arc<dyn Tool>> {
    let timeouts = Timeouts::of(Some(shell_timeout), None);
    match dialect {
        Dialect::Spec => builtin::tools(family, timeouts),
        Dialect::Native => native::tools(family, timeouts),
    }
}

#[cfg(test)]
mod tests;
