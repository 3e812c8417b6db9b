//! Which provider answers for a model.

use std::sync::Arc;

use junto_llm::{ErrorKind, Provider};

use crate::reply::Failure;

/// Who answers: a provider, and the model it is asked for.
#[derive(Clone)]
pub struct Target {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) name: String,
    pub(crate) model: Option<String>,
    pub(crate) client_key: ClientKeyUse,
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
        Self { provider, name: name.into(), model: None, client_key: ClientKeyUse::Keep }
    }

    /// This target, asked for this model instead. Such calls are always translated: a body whose
    /// model has to be replaced is not the client's body any more, and the answer must name the
    /// model the client knows.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// This target, with the client's own key going to the provider when a call is passed through
    /// by bytes. For endpoints without a key of their own, whose clients each bring theirs.
    pub fn forward_client_key(mut self) -> Self {
        self.client_key = ClientKeyUse::Forward;
        self
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

    pub(crate) fn targets(&self) -> impl Iterator<Item = &Target> {
        self.0.iter().map(|(_, target)| target)
    }

    /// Who answers for a model; `not_found` if no route leads to it.
    pub(crate) fn target(&self, model: &str) -> Result<Target, Failure> {
        let missing = || Failure::new(ErrorKind::NotFound, format!("model: no route leads to `{model}`"));
        self.find(model).cloned().ok_or_else(missing)
    }

    /// The target for a model: of the first route that fits.
    fn find(&self, model: &str) -> Option<&Target> {
        self.0.iter().find(|(pattern, _)| fits(pattern, model)).map(|(_, target)| target)
    }
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
