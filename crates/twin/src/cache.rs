//! Prompt caches as the providers keep them: usage tells how much of a request was there before.
//!
//! A request is cut into [`Unit`]s in the order in which the model reads them. A running hash over
//! the units names every prefix; the cache remembers the names of the prefixes it has seen. So a
//! client that reorders its tools, puts a clock into its system prompt or rewrites its history sees
//! its reads go to zero, as it would at the real provider.

use serde_json::Value;

use crate::sign::digest;
use crate::strict::recent::Recent;
use crate::tokens;

/// Prefixes below this many tokens are not cached by any of the providers.
const MINIMUM: u64 = 1024;
/// How many blocks before a breakpoint Anthropic looks for an earlier entry.
const LOOKBACK: usize = 20;
/// How many prefixes are remembered (32 bytes each; at most twice as many are held).
const CAPACITY: usize = 32_768;

/// A piece of a request that is cached whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The piece, without what does not reach the model (cache breakpoints, for instance).
    pub text: String,
    /// Its tokens.
    pub tokens: u64,
    /// Whether the client asked for the prefix up to and with this unit to be cached.
    pub breakpoint: bool,
}

impl Unit {
    /// A piece of JSON under a name, such as a role, that keeps it apart from equal pieces elsewhere.
    pub(crate) fn of(name: &str, piece: &Value) -> Self {
        Self { text: format!("{name} {piece}"), tokens: tokens::weigh(piece), breakpoint: false }
    }
}

/// How a provider caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Only where the client says so (Anthropic): a prefix is written at each breakpoint and read
    /// from the longest one that was written before, up to twenty blocks ahead of a breakpoint.
    Breakpoints,
    /// By itself, in steps of this many tokens (OpenAI: 128; Gemini: 1).
    Automatic {
        /// Reads are rounded down to a multiple of this.
        step: u64,
    },
}

/// What a cache had and took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hit {
    /// Tokens read from the cache.
    pub read: u64,
    /// Tokens written to it, where the provider counts them.
    pub write: u64,
}

/// The prefixes of earlier requests. Bounded: what was not used for long is forgotten.
#[derive(Debug)]
pub struct PromptCache {
    seen: Recent<[u8; 32], ()>,
}

impl Default for PromptCache {
    fn default() -> Self {
        Self { seen: Recent::new(CAPACITY) }
    }
}

impl PromptCache {
    /// Looks a request up and remembers it. `scope` keeps wires and models apart.
    pub fn visit(&mut self, rule: Rule, scope: &str, units: &[Unit]) -> Hit {
        let prefixes = prefixes(scope, units);
        match rule {
            Rule::Automatic { step } => self.automatic(step, &prefixes),
            Rule::Breakpoints => self.breakpoints(&prefixes, units),
        }
    }

    fn automatic(&mut self, step: u64, prefixes: &[Prefix]) -> Hit {
        let shared = prefixes.iter().rev().find(|p| self.seen.get(&p.name).is_some());
        let tokens = shared.map_or(0, |p| p.tokens);
        let read = if tokens < MINIMUM { 0 } else { tokens - tokens % step.max(1) };
        for prefix in prefixes {
            self.seen.insert(prefix.name, ());
        }
        Hit { read, write: 0 }
    }

    fn breakpoints(&mut self, prefixes: &[Prefix], units: &[Unit]) -> Hit {
        let marked: Vec<usize> =
            units.iter().enumerate().filter(|(_, unit)| unit.breakpoint).map(|(i, _)| i).collect();
        let mut read = 0;
        for &at in marked.iter().rev() {
            let window = prefixes.get(at.saturating_sub(LOOKBACK - 1)..=at).unwrap_or_default();
            if let Some(found) = window.iter().rev().find(|p| self.seen.get(&p.name).is_some()) {
                read = found.tokens;
                break;
            }
        }
        let mut end = read;
        for prefix in marked.iter().filter_map(|&at| prefixes.get(at)) {
            if prefix.tokens >= MINIMUM {
                self.seen.insert(prefix.name, ());
                end = end.max(prefix.tokens);
            }
        }
        Hit { read, write: end - read }
    }
}

/// The name of everything up to and with one unit, and its tokens.
struct Prefix {
    name: [u8; 32],
    tokens: u64,
}

fn prefixes(scope: &str, units: &[Unit]) -> Vec<Prefix> {
    let mut name = digest(&[scope.as_bytes()]);
    let mut tokens = 0;
    units
        .iter()
        .map(|unit| {
            name = digest(&[&name, unit.text.as_bytes()]);
            tokens += unit.tokens;
            Prefix { name, tokens }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENAI: Rule = Rule::Automatic { step: 128 };

    /// Units from their texts; each costs 500 tokens, a trailing `!` is a breakpoint.
    fn units(texts: &[&str]) -> Vec<Unit> {
        texts
            .iter()
            .map(|text| Unit {
                text: text.trim_end_matches('!').to_owned(),
                tokens: 500,
                breakpoint: text.ends_with('!'),
            })
            .collect()
    }

    /// Sends the requests one after the other; what the last of them hits must be this.
    fn check(rule: Rule, requests: &[&[&str]], expected: Hit) {
        let mut cache = PromptCache::default();
        let mut hit = Hit::default();
        for request in requests {
            hit = cache.visit(rule, "m", &units(request));
        }
        assert_eq!(hit, expected, "{requests:?}");
    }

    fn hit(read: u64, write: u64) -> Hit {
        Hit { read, write }
    }

    #[test]
    fn automatic_caches_read_the_longest_shared_prefix_in_steps() {
        check(OPENAI, &[&["a", "b", "c"]], hit(0, 0));
        check(OPENAI, &[&["a", "b", "c"], &["a", "b", "c"]], hit(1408, 0));
        check(OPENAI, &[&["a", "b", "c"], &["a", "b", "c", "d"]], hit(1408, 0));
        check(OPENAI, &[&["a", "b", "c", "d"], &["a", "b", "c", "x"]], hit(1408, 0));
        check(OPENAI, &[&["a", "b", "c"], &["x", "b", "c"]], hit(0, 0));
        check(OPENAI, &[&["a", "b"], &["a", "b"]], hit(0, 0));
        check(Rule::Automatic { step: 1 }, &[&["a", "b", "c"], &["a", "b", "c"]], hit(1500, 0));
    }

    #[test]
    fn scopes_do_not_share() {
        let mut cache = PromptCache::default();
        let request = units(&["a", "b", "c"]);
        cache.visit(OPENAI, "one", &request);
        assert_eq!(cache.visit(OPENAI, "two", &request).read, 0);
    }

    #[test]
    fn breakpoints_write_and_read() {
        let rule = Rule::Breakpoints;
        check(rule, &[&["a", "b", "c"], &["a", "b", "c"]], hit(0, 0));
        check(rule, &[&["a", "b", "c!"]], hit(0, 1500));
        check(rule, &[&["a", "b", "c!"], &["a", "b", "c", "d", "e!"]], hit(1500, 1000));
        check(rule, &[&["a", "b", "c!"], &["a", "b", "c!"]], hit(1500, 0));
        check(rule, &[&["a!", "b!"]], hit(0, 0));
        check(rule, &[&["a", "b", "c!", "d!"], &["a", "b", "c!", "x!"]], hit(1500, 500));
        check(rule, &[&["a", "b", "c!"], &["x", "b", "c!"]], hit(0, 1500));
    }

    #[test]
    fn breakpoints_look_back_twenty_blocks() {
        let first = ["a", "b", "c!"];
        let long = |n: usize| {
            let mut texts = vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
            texts.extend((0..n).map(|i| format!("n{i}")));
            texts.push("end!".to_owned());
            texts
        };
        for (between, read) in [(18, 1500), (19, 0)] {
            let texts = long(between);
            let second: Vec<&str> = texts.iter().map(String::as_str).collect();
            let mut cache = PromptCache::default();
            cache.visit(Rule::Breakpoints, "m", &units(&first));
            assert_eq!(cache.visit(Rule::Breakpoints, "m", &units(&second)).read, read, "{between}");
        }
    }
}
