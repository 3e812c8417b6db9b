//! The system prompt, in layers: the profile's base instructions, the environment, the tools and ways to use them, the project's own
//! documents, the skills, what hooks say, and last what the user says. A later layer wins over an earlier one.
//!
//! Everything is read through the [`ExecutionEnvironment`], once, when a session starts. The prompt does
//! not change afterwards, so that a provider's prefix cache holds from one turn to the next.
//!
//! A repository may come from anywhere. Nothing that is in it is run to make the prompt, and whatever is
//! odd about it leaves something out of the prompt and never fails the session.

mod documents;
mod environment;
mod git;
mod repository;
mod text;

use std::fmt::Write as _;
use std::sync::Arc;

use junto_env::ExecutionEnvironment;
use junto_llm::ToolSpec;
use junto_llm::catalog::ModelInfo;

use self::documents::Documents;
use crate::profile::Profile;
use crate::{SessionConfig, Skills};

/// What a prompt says that neither the profile nor the environment knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptFacts {
    /// Today's date, `2026-01-31`. It is passed in: no clock is read here.
    pub today: String,
    /// The model's name for people; empty: unknown.
    pub model: String,
    /// The month up to which the model knows the world; absent: unknown.
    pub knowledge_cutoff: Option<String>,
    /// The user's own instructions, the last layer.
    pub instructions: Option<String>,
    /// What the model can call.
    pub tools: Vec<ToolSpec>,
    /// What is to be said of the ways in which it can work, each a section with a heading.
    pub ways: Vec<String>,
    /// The skills that it can load.
    pub skills: Arc<Skills>,
    /// What the user's hooks say of the session that begins.
    pub context: Option<String>,
}

impl PromptFacts {
    /// The facts of a model that is asked for by this id, as far as a catalog knows it.
    pub fn of_model(id: &str, known: Option<&ModelInfo>) -> Self {
        Self {
            model: known.map_or_else(|| id.to_owned(), |known| known.name.clone()),
            knowledge_cutoff: known.and_then(|known| known.knowledge_cutoff.clone()),
            ..Self::default()
        }
    }
}

/// A system prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// The prompt.
    pub text: String,
    /// What was left out of it and why, as sentences for the user.
    pub warnings: Vec<String>,
}

/// Builds the system prompt. The same profile, facts and place give the same bytes.
///
/// Takes a few seconds at most where git is slow, and never fails: what cannot be had is left out, with
/// a warning if somebody would miss it.
pub async fn build(profile: &Profile, env: &dyn ExecutionEnvironment, facts: &PromptFacts) -> Built {
    let mut warnings = Vec::new();
    let git = git::look(env, &mut warnings).await;
    let root = git.root.as_ref().unwrap_or(&env.facts().cwd);
    let documents = Documents::load(env, root, &profile.documents, &mut warnings).await;
    let text = joined([
        profile.base.trim().to_owned(),
        environment::block(env.facts(), &git, facts),
        git.snapshot(),
        tools(&facts.tools),
        facts.ways.join("\n\n"),
        documents.layer(),
        facts.skills.layer(),
        context(facts.context.as_deref()),
        user(facts.instructions.as_deref()),
    ]);
    Built { text, warnings }
}

/// The project's own documents as they stand in a system prompt, and nothing else: `AGENTS.md` and those of these
/// names, from the root of the repository down to the working directory. For agents that do not read them by
/// themselves. Empty if there are none. Runs nothing and never fails.
pub async fn project_documents(env: &dyn ExecutionEnvironment, names: &[String]) -> Built {
    let mut warnings = Vec::new();
    let repository = repository::find(env).await.ok().flatten();
    let root = repository.as_ref().map_or(&env.facts().cwd, |repository| &repository.root);
    let documents = Documents::load(env, root, names, &mut warnings).await;
    Built { text: documents.layer(), warnings }
}

/// The system prompt of a session that has these tools: its own, else its profile's, else none; what the
/// user says comes last.
pub(crate) async fn of_session(config: &SessionConfig, tools: Vec<ToolSpec>, said: Option<String>) -> Built {
    let instructions = config.instructions.clone();
    let skills = Arc::clone(&config.reach.skills);
    let ways = config.companions.iter().filter_map(|companion| companion.prompt(&tools));
    let ways: Vec<String> = ways.collect();
    let Some(profile) = config.profile.as_ref().filter(|_| config.system.is_empty()) else {
        let (skills, said) = (skills.layer(), context(said.as_deref()));
        let text =
            joined([config.system.clone(), ways.join("\n\n"), skills, said, user(instructions.as_deref())]);
        return Built { text, warnings: Vec::new() };
    };
    let known = profile.model_info(&config.catalog, config.model.as_deref());
    let facts = PromptFacts {
        today: config.log.now().strftime("%Y-%m-%d").to_string(),
        instructions,
        tools,
        ways,
        skills,
        context: said,
        ..PromptFacts::of_model(config.model.as_deref().unwrap_or_default(), known)
    };
    // It is needed once and large; what starts a session shall not carry it along.
    Box::pin(build(profile, &*config.env, &facts)).await
}

/// The layers that say something.
fn joined<const N: usize>(layers: [String; N]) -> String {
    let said: Vec<String> = layers.into_iter().filter(|layer| !layer.is_empty()).collect();
    said.join("\n\n")
}

/// The tools, in the order in which they are declared. Their schemas go to the model beside the prompt.
fn tools(tools: &[ToolSpec]) -> String {
    let mut layer = String::new();
    for tool in tools {
        let _ = write!(layer, "\n\n## {}", tool.name);
        let description = tool.description.trim();
        if !description.is_empty() {
            let _ = write!(layer, "\n\n{description}");
        }
    }
    if layer.is_empty() { layer } else { format!("# Tools\n\nWhat you can call:{layer}") }
}

/// What hooks say.
fn context(said: Option<&str>) -> String {
    said.map(|said| format!("# Context\n\n{said}")).unwrap_or_default()
}

/// What the user says. Nothing follows it.
fn user(instructions: Option<&str>) -> String {
    match instructions.map(str::trim) {
        None | Some("") => String::new(),
        Some(said) => format!(
            "# User instructions\n\nThese come from the user. Where they disagree with anything above, they \
             win.\n\n{said}"
        ),
    }
}
