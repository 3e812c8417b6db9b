//! How providers cache what requests begin with.

use std::time::Duration;

use serde::Deserialize;

use super::{Catalog, undated};

/// How a provider caches what requests begin with, as far as it says so.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caching {
    /// The provider.
    pub provider: String,
    /// The models it is said of, by id; none: all that no rule before this one is about.
    #[serde(default)]
    pub models: Vec<String>,
    /// The fewest tokens that are kept.
    pub minimum: u64,
    /// What is read is counted in steps of so many tokens.
    #[serde(default = "one")]
    pub step: u64,
    /// How long what was not used again is kept at least, in seconds.
    pub lifetime: u64,
    /// Whether the provider tells how many tokens it has written to the cache. If not, everything that a
    /// request had is taken to be kept.
    #[serde(default)]
    pub tells_writes: bool,
}

fn one() -> u64 {
    1
}

impl Caching {
    /// How long what was not used again is kept at least.
    pub fn lifetime(&self) -> Duration {
        Duration::from_secs(self.lifetime)
    }
}

impl Catalog {
    /// How a provider caches for a model, by its id or that with a date behind it; absent where nothing is
    /// known of the provider.
    pub fn caching(&self, provider: &str, model: &str) -> Option<&Caching> {
        let names = [Some(model), undated(model)];
        let is_about = |rule: &Caching| {
            rule.models.is_empty() || rule.models.iter().any(|id| names.contains(&Some(id.as_str())))
        };
        self.caching.iter().find(|rule| rule.provider == provider && is_about(rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_fits_counts() {
        let catalog = Catalog::builtin();
        let check = |provider: &str, model: &str, minimum: Option<u64>| {
            assert_eq!(catalog.caching(provider, model).map(|rule| rule.minimum), minimum, "{model}");
        };
        check("anthropic", "claude-opus-4-6", Some(4096));
        check("anthropic", "claude-haiku-4-5-20251001", Some(4096));
        check("anthropic", "claude-opus-5-5", Some(1024));
        check("openai", "gpt-5.5", Some(1024));
        check("gemini", "gemini-2.5-pro", Some(2048));
        check("gemini", "gemini-4-argon", Some(4096));
        check("local", "llama", None);
    }

    #[test]
    fn every_rule_is_sane() {
        let catalog = Catalog::builtin();
        for rule in catalog.caching.iter() {
            assert!(rule.step > 0 && rule.minimum > rule.step && rule.lifetime > 0, "{rule:?}");
            for id in &rule.models {
                assert_eq!(catalog.get(id).map(|model| &model.provider), Some(&rule.provider), "{id}");
            }
        }
        for provider in ["anthropic", "openai", "gemini"] {
            assert!(catalog.caching(provider, "one nobody knows").is_some(), "{provider} has a rule for all");
        }
    }
}
