//! Why a call read less from its provider's cache than it could have.
//!
//! What a call could have read is what the call before it left there, if it begins with the same. Wires
//! differ in what they tell of that: Anthropic's says what was written, and exactly that can be read;
//! OpenAI's and Gemini's say nothing of writing and keep what they like of everything that was sent, the
//! one in steps of tokens, the other as it comes.

use std::collections::{HashMap, HashSet};

use junto_core::Prefix;
use junto_llm::catalog::{Caching, Catalog};
use serde::Serialize;

use super::CallRow;

/// What became of what a call could have read from its provider's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum CacheVerdict {
    /// It was read.
    Hit,
    /// There was nothing to read: it is the agent's first call.
    FirstCall,
    /// The request before was too short to be kept.
    TooShort {
        /// How many tokens it had.
        tokens: u64,
        /// From how many on the provider keeps it.
        minimum: u64,
    },
    /// The provider wrote nothing of the request before to its cache: it was not asked to.
    NotStored,
    /// The request does not begin like the one before.
    Changed {
        /// What is different.
        what: PrefixPart,
        /// Which message is the first that is different, from 0 and without the system prompt.
        #[serde(skip_serializing_if = "Option::is_none")]
        at: Option<u32>,
    },
    /// It came later than the provider keeps what is not used.
    Expired {
        /// By how many seconds it came after the call before.
        after: u64,
    },
    /// Nothing of this explains it: the provider lost it, or never kept it.
    Unexplained {
        /// How many tokens could have been read.
        expected: u64,
        /// How many were.
        got: u64,
    },
}

impl CacheVerdict {
    /// Whether tokens were paid that could have been read from the cache.
    pub fn is_miss(self) -> bool {
        !matches!(self, Self::Hit | Self::FirstCall | Self::TooShort { .. })
    }
}

/// A part of what a request begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefixPart {
    /// The provider or the model.
    Model,
    /// The tools.
    Tools,
    /// The system prompt.
    System,
    /// The effort, or another option.
    Options,
    /// The conversation.
    Messages,
}

/// What became of a call's cache; `previous` is the agent's call before it. Absent where nobody knows what
/// its request began with, or whether its provider tells of its cache at all.
pub fn verdict(call: &CallRow, previous: Option<&CallRow>, caching: &Caching) -> Option<CacheVerdict> {
    let prefix = call.prefix.as_ref()?;
    let Some(previous) = previous else { return Some(CacheVerdict::FirstCall) };
    let before = previous.prefix.as_ref()?;
    let got = call.usage.cache_read.unwrap_or(0);
    let (expected, tolerance) = kept(previous, caching);
    let tokens = previous.usage.input;
    Some(if expected > 0 && got.saturating_add(tolerance) >= expected {
        CacheVerdict::Hit
    } else if tokens < caching.minimum {
        CacheVerdict::TooShort { tokens, minimum: caching.minimum }
    } else if expected == 0 {
        CacheVerdict::NotStored
    } else if let Some((what, at)) = changed(prefix, before) {
        CacheVerdict::Changed { what, at }
    } else if let Some(after) = expired(call, previous, caching) {
        CacheVerdict::Expired { after }
    } else {
        CacheVerdict::Unexplained { expected, got }
    })
}

/// How many tokens a call left in the cache, and by how many fewer may be read.
fn kept(call: &CallRow, caching: &Caching) -> (u64, u64) {
    let usage = &call.usage;
    if caching.tells_writes {
        return (usage.cache_read.unwrap_or(0).saturating_add(usage.cache_write.unwrap_or(0)), 0);
    }
    let step = caching.step.max(1);
    let whole = usage.input / step * step;
    // A cache that promises nothing need not keep the last few tokens.
    (whole, step.max(whole / 10))
}

/// The first thing that is different, in the order in which it matters.
fn changed(now: &Prefix, before: &Prefix) -> Option<(PrefixPart, Option<u32>)> {
    let parts = [
        (now.model != before.model, PrefixPart::Model),
        (now.tools != before.tools, PrefixPart::Tools),
        (now.system != before.system, PrefixPart::System),
        (now.options != before.options, PrefixPart::Options),
    ];
    if let Some((_, part)) = parts.into_iter().find(|(is_other, _)| *is_other) {
        return Some((part, None));
    }
    match now.shared {
        Some(shared) => (shared < before.count).then_some((PrefixPart::Messages, Some(shared))),
        None => (now.messages != before.messages).then_some((PrefixPart::Messages, None)),
    }
}

/// The seconds between two calls, if they are more than the provider keeps what is not used. Calls are known
/// by their ends, so that a long answer counts as waiting.
fn expired(call: &CallRow, previous: &CallRow, caching: &Caching) -> Option<u64> {
    let between = call.at.as_second().saturating_sub(previous.at.as_second());
    u64::try_from(between).ok().filter(|seconds| *seconds > caching.lifetime)
}

/// The verdict on each of these calls, which come in the order they were made in.
pub fn explain(calls: &[CallRow], catalog: &Catalog) -> Vec<Option<CacheVerdict>> {
    // Calls that were made for one answer are each compared with the same member's call before.
    let several: HashSet<&str> =
        calls.iter().filter(|call| call.leaf > 0).map(|call| call.id.as_str()).collect();
    let mut last: HashMap<_, &CallRow> = HashMap::new();
    let mut verdicts = Vec::with_capacity(calls.len());
    for call in calls {
        let member = several.contains(call.id.as_str()).then_some((&call.provider, &call.model));
        let agent = (&call.session, &call.agent, member);
        let caching = catalog.caching(&call.provider, &call.model);
        verdicts.push(caching.and_then(|caching| verdict(call, last.get(&agent).copied(), caching)));
        // A call that was broken off before it was counted tells nothing, nor does a chore of another kind.
        if call.usage.input > 0 && call.prefix.is_some() {
            last.insert(agent, call);
        }
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use junto_core::{AgentId, Fingerprint};
    use junto_llm::{Cost, SessionId, Usage};

    use super::*;

    const LIFETIME: u64 = 300;

    fn rule(minimum: u64, step: u64, tells_writes: bool) -> Caching {
        Caching { provider: "p".into(), models: Vec::new(), minimum, step, lifetime: LIFETIME, tells_writes }
    }

    /// A provider that tells what it writes, one that counts in steps, one that promises nothing.
    fn wires() -> [Caching; 3] {
        [rule(1024, 1, true), rule(1024, 128, false), rule(2048, 1, false)]
    }

    fn prefix(count: u32, shared: Option<u32>) -> Prefix {
        let print = Fingerprint(1);
        Prefix {
            model: print,
            options: print,
            tools: print,
            system: print,
            messages: Fingerprint(u64::from(count)),
            count,
            shared,
        }
    }

    /// A call at a second, with its input and what of it was read and written.
    fn call(at: i64, (input, read, write): (u64, u64, u64), prefix: Prefix) -> CallRow {
        CallRow {
            id: at.to_string(),
            leaf: 0,
            session: Some(SessionId("s".into())),
            agent: Some(AgentId("a".into())),
            who: String::new(),
            turn: 1,
            at: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(at),
            provider: "p".into(),
            model: "m".into(),
            usage: Usage { cache_read: Some(read), cache_write: Some(write), ..Usage::new(input, 1) },
            cost: Cost::Unknown,
            prefix: Some(prefix),
            council: None,
        }
    }

    /// What is said of a call that has these tokens, after one that had those.
    fn check(wire: &Caching, before: (u64, u64, u64), now: (u64, u64, u64), expected: CacheVerdict) {
        let first = call(0, before, prefix(2, None));
        let next = call(60, now, prefix(4, Some(2)));
        assert_eq!(verdict(&next, Some(&first), wire), Some(expected), "{before:?} {now:?}");
    }

    #[test]
    fn a_hit_is_what_the_wire_can_give() {
        let [tells, steps, likes] = wires();
        check(&tells, (5000, 0, 4990), (6000, 4990, 900), CacheVerdict::Hit);
        check(&tells, (5000, 4000, 990), (6000, 4990, 900), CacheVerdict::Hit);
        check(&steps, (5000, 0, 0), (6000, 4992, 0), CacheVerdict::Hit);
        check(&steps, (5000, 0, 0), (6000, 4864, 0), CacheVerdict::Hit);
        check(&likes, (5000, 0, 0), (6000, 4600, 0), CacheVerdict::Hit);
    }

    #[test]
    fn a_miss_without_a_reason_is_said_to_be_one() {
        let [tells, steps, likes] = wires();
        let missed = |expected, got| CacheVerdict::Unexplained { expected, got };
        check(&tells, (5000, 0, 4990), (6000, 4989, 900), missed(4990, 4989));
        check(&steps, (5000, 0, 0), (6000, 1024, 0), missed(4992, 1024));
        check(&steps, (5000, 0, 0), (6000, 0, 0), missed(4992, 0));
        check(&likes, (5000, 0, 0), (6000, 0, 0), missed(5000, 0));
    }

    #[test]
    fn what_is_short_or_was_not_asked_for_is_not_kept() {
        let [tells, steps, likes] = wires();
        let short = |tokens, minimum| CacheVerdict::TooShort { tokens, minimum };
        check(&tells, (1000, 0, 0), (1100, 0, 0), short(1000, 1024));
        check(&steps, (1000, 0, 0), (1100, 0, 0), short(1000, 1024));
        check(&steps, (100, 0, 0), (1100, 0, 0), short(100, 1024));
        check(&likes, (2047, 0, 0), (3000, 0, 0), short(2047, 2048));
        check(&tells, (5000, 0, 0), (6000, 0, 0), CacheVerdict::NotStored);
    }

    #[test]
    fn what_changed_is_named_the_first_thing_first() {
        let before = prefix(4, Some(2));
        let other = Fingerprint(2);
        let same = prefix(6, Some(4));
        let cases = [
            (Prefix { model: other, tools: other, ..same }, PrefixPart::Model, None),
            (Prefix { tools: other, system: other, ..same }, PrefixPart::Tools, None),
            (Prefix { system: other, shared: Some(0), ..same }, PrefixPart::System, None),
            (Prefix { options: other, shared: Some(0), ..same }, PrefixPart::Options, None),
            (Prefix { shared: Some(3), ..same }, PrefixPart::Messages, Some(3)),
            (Prefix { shared: Some(0), count: 1, ..same }, PrefixPart::Messages, Some(0)),
            (Prefix { shared: None, ..same }, PrefixPart::Messages, None),
        ];
        for wire in wires() {
            let first = call(0, (5000, 0, 5000), before);
            for (now, what, at) in cases {
                let miss = call(60, (6000, 1280, 0), now);
                let expected = CacheVerdict::Changed { what, at };
                assert_eq!(verdict(&miss, Some(&first), &wire), Some(expected), "{now:?}");
                let hit = call(60, (6000, 5000, 0), now);
                assert_eq!(
                    verdict(&hit, Some(&first), &wire),
                    Some(CacheVerdict::Hit),
                    "it hit all the same"
                );
            }
            let again = call(60, (5000, 0, 0), Prefix { shared: None, ..before });
            let unexplained = verdict(&again, Some(&first), &wire);
            assert!(matches!(unexplained, Some(CacheVerdict::Unexplained { .. })), "nothing changed");
        }
    }

    #[test]
    fn what_comes_late_is_gone() {
        for wire in wires() {
            let first = call(0, (5000, 0, 5000), prefix(2, None));
            let after = |seconds| {
                let late = call(seconds, (6000, 0, 0), prefix(4, Some(2)));
                verdict(&late, Some(&first), &wire).unwrap()
            };
            assert!(matches!(after(300), CacheVerdict::Unexplained { .. }));
            assert_eq!(after(301), CacheVerdict::Expired { after: 301 });
            assert!(matches!(after(-500), CacheVerdict::Unexplained { .. }), "a clock that was put back");
        }
    }

    #[test]
    fn calls_are_compared_with_the_one_before_of_the_same_agent() {
        let catalog = Catalog::builtin();
        let on = |provider: &str, row: CallRow| CallRow { provider: provider.into(), ..row };
        let by = |agent: &str, row: CallRow| CallRow { agent: Some(AgentId(agent.into())), ..row };
        let calls = [
            on("openai", call(0, (5000, 0, 0), prefix(2, None))),
            by("b", on("openai", call(1, (5000, 0, 0), prefix(2, None)))),
            on("openai", call(2, (0, 0, 0), prefix(4, Some(2)))),
            on("openai", call(3, (6000, 4992, 0), prefix(4, Some(4)))),
            on("claude", call(4, (6000, 0, 0), prefix(6, Some(4)))),
            CallRow { prefix: None, ..on("openai", call(5, (6000, 0, 0), prefix(6, Some(4)))) },
        ];
        let first = Some(CacheVerdict::FirstCall);
        let verdicts = explain(&calls, &catalog);
        assert_eq!(verdicts[..2], [first, first]);
        assert!(verdicts[2].is_some_and(CacheVerdict::is_miss));
        assert_eq!(verdicts[3..], [Some(CacheVerdict::Hit), None, None], "who is not known is not judged");
    }

    #[test]
    fn members_are_compared_with_themselves() {
        let member = |at: i64, leaf: u64, model: &str, tokens, prefix| CallRow {
            leaf,
            provider: "openai".into(),
            model: model.into(),
            ..call(at, tokens, prefix)
        };
        let calls = [
            member(0, 0, "m", (5000, 0, 0), prefix(2, None)),
            member(0, 1, "n", (9000, 0, 0), prefix(2, None)),
            member(9, 0, "m", (6000, 4992, 0), prefix(4, Some(2))),
            member(9, 1, "n", (9900, 8960, 0), prefix(4, Some(2))),
        ];
        let (first, hit) = (Some(CacheVerdict::FirstCall), Some(CacheVerdict::Hit));
        assert_eq!(explain(&calls, &Catalog::builtin()), [first, first, hit, hit]);
    }
}
