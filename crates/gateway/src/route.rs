//! Which provider answers for a model.

use std::collections::HashSet;
use std::sync::Arc;

use junto_llm::{ErrorKind, Provider};

use crate::models::ModelEntry;
use crate::reply::Failure;
use crate::sessions::Turn;

/// What the [alias] of a model begins with.
const ALIAS: &str = "claude-junto-";

/// Who answers: a provider, and the model it is asked for.
#[derive(Clone)]
pub struct Target {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) name: String,
    pub(crate) model: Option<String>,
    pub(crate) client_key: ClientKeyUse,
    /// Shared, since each call has a target of its own.
    pub(crate) models: Arc<[ModelEntry]>,
    pub(crate) turns: Turn,
}

/// What becomes of the key that a client shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientKeyUse {
    /// It stays here.
    Keep,
    /// It goes to the provider with requests that are passed through.
    Forward,
}

impl Target {
    /// This provider, asked for the model that the client names.
    ///
    /// `name` is the provider's own: reasoning that it signed is known by it when a client sends it
    /// back, and a [`junto_llm::Client`] finds by it which of its providers is meant.
    pub fn new(name: impl Into<String>, provider: Arc<dyn Provider>) -> Self {
        let (client_key, models, turns) = (ClientKeyUse::Keep, Arc::default(), Turn::Free);
        Self { provider, name: name.into(), model: None, client_key, models, turns }
    }

    /// This target, asked for this model instead. Such calls are always translated: a body whose
    /// model has to be replaced is not the client's body any more, and the answer must name the
    /// model the client knows.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// This target, which says what is known of its models, by the ids that clients ask for them by. Of
    /// these the gateway lists to its clients what the target's routes lead to. A route without a `*` is
    /// listed in any case.
    pub fn lists(mut self, models: impl IntoIterator<Item = ModelEntry>) -> Self {
        self.models = models.into_iter().collect();
        self
    }

    /// This target, whose turns are counted: a session may have as many as
    /// [`Settings::session_turns`](crate::Settings::session_turns) allows. For councils, whose turns cost
    /// many times what one model's do. A client's chores are no turns.
    pub fn counts_turns(mut self) -> Self {
        self.turns = Turn::Counted;
        self
    }

    /// This target, with the client's own key going to the provider when a call is passed through
    /// by bytes. For endpoints without a key of their own, whose clients each bring theirs.
    pub fn forward_client_key(mut self) -> Self {
        self.client_key = ClientKeyUse::Forward;
        self
    }
}

impl Target {
    /// This target, asked for this model if it is not always asked for another.
    fn asking_for(mut self, model: &str) -> Self {
        self.model.get_or_insert_with(|| model.to_owned());
        self
    }

    /// The models that a route to this target may lead to.
    fn offered(&self, pattern: &str) -> Vec<ModelEntry> {
        if pattern.contains('*') {
            return self.models.iter().filter(|entry| fits(pattern, &entry.id)).cloned().collect();
        }
        let known = self.models.iter().find(|entry| entry.id == pattern);
        vec![known.cloned().unwrap_or_else(|| ModelEntry::new(pattern))]
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target")
            .field("name", &self.name)
            .field("model", &self.model)
            .field("client_key", &self.client_key)
            .finish_non_exhaustive()
    }
}

/// The routes, in the order in which they were given.
#[derive(Debug, Default)]
pub(crate) struct Routes(Vec<(String, Target)>);

impl Routes {
    pub(crate) fn push(&mut self, pattern: String, target: Target) {
        self.0.push((pattern, target));
    }

    /// The patterns and where they lead.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Target)> {
        self.0.iter().map(|(pattern, target)| (pattern.as_str(), target))
    }

    pub(crate) fn targets(&self) -> impl Iterator<Item = &Target> {
        self.0.iter().map(|(_, target)| target)
    }

    /// Who answers for a model. An alias leads to where its model does, unless somebody has given it a
    /// route of its own.
    ///
    /// # Errors
    /// `not_found` if no route leads to it.
    pub(crate) fn target(&self, model: &str) -> Result<Target, Failure> {
        let has_own = self.0.iter().any(|(pattern, _)| pattern == model);
        if let Some(meant) = model.strip_prefix(ALIAS).filter(|_| !has_own)
            && let Some((_, target)) = self.find(meant)
        {
            return Ok(target.clone().asking_for(meant));
        }
        let missing = || Failure::new(ErrorKind::NotFound, format!("model: no route leads to `{model}`"));
        self.find(model).map(|(_, target)| target.clone()).ok_or_else(missing)
    }

    /// The first route that fits, by its place.
    fn find(&self, model: &str) -> Option<(usize, &Target)> {
        let mut routes = self.0.iter().enumerate();
        routes.find(|(_, (pattern, _))| fits(pattern, model)).map(|(at, (_, target))| (at, target))
    }

    /// What clients are told of: each model once, with the name of the provider that will answer for it.
    pub(crate) fn listed(&self) -> impl Iterator<Item = (ModelEntry, &str)> {
        let mut seen = HashSet::new();
        let routes = self.0.iter().enumerate();
        let all = routes.flat_map(|(at, (pattern, target))| {
            target.offered(pattern).into_iter().map(move |entry| (at, entry, target.name.as_str()))
        });
        let first = all.filter(|(at, entry, _)| self.find(&entry.id).is_some_and(|(first, _)| first == *at));
        first.filter(move |(_, entry, _)| seen.insert(entry.id.clone())).map(|(_, entry, name)| (entry, name))
    }
}

/// Another name for a model, where some of Anthropic's clients would not show it by its own: they look for
/// the names of their own house.
pub(crate) fn alias(id: &str) -> Option<String> {
    let lower = id.to_ascii_lowercase();
    let is_shown = ["claude", "anthropic"].iter().any(|word| lower.contains(word));
    (!is_shown).then(|| format!("{ALIAS}{id}"))
}

/// Whether a name fits a pattern, in which `*` stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let head = pieces.next().unwrap_or_default();
    let Some(tail) = pieces.next_back() else { return pattern == name };
    let Some(mut rest) = name.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail)) else {
        return false;
    };
    // The first place where a piece fits leaves the most for those that follow.
    pieces.all(|piece| rest.split_once(piece).map(|(_, after)| rest = after).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        };
        check("gpt-5", "gpt-5", true);
        check("gpt-5", "gpt-5.5", false);
        check("", "", true);
        check("*", "", true);
        check("*", "anything/at:all", true);
        check("claude-*", "claude-opus", true);
        check("claude-*", "my-claude-opus", false);
        check("*haiku*", "claude-haiku-4-5", true);
        check("*haiku*", "claude-opus", false);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-c-b", false);
        check("*ü", "für ü", true);
    }
}
