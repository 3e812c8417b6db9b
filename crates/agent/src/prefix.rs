//! What the requests of a session begin with.
//!
//! Each message is hashed once, when it enters the conversation, and each set of tools once, when it is
//! first sent; a call costs no more in a long session than in a short one.

use std::sync::Arc;

use junto_core::{Fingerprint, Prefix};
use junto_llm::{Message, Request, Role};
use serde::Serialize;

use crate::kit::Kit;

/// The fingerprints of a conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    system: Fingerprint,
    /// One for each message after the system prompt: of the messages up to and with it.
    messages: Vec<Fingerprint>,
}

impl Marks {
    /// A message was added.
    pub(crate) fn add(&mut self, message: &Message) {
        if self.messages.is_empty() && message.role == Role::System {
            self.system = print(self.system, message);
        } else {
            self.messages.push(print(self.all(), message));
        }
    }

    /// Of all messages.
    fn all(&self) -> Fingerprint {
        self.messages.last().copied().unwrap_or_default()
    }
}

/// Compares each request of a session with the one before it.
#[derive(Default)]
pub(crate) struct Prefixes {
    last: Last,
    /// The tools that were sent last.
    tools: Option<(Arc<Kit>, Fingerprint)>,
}

/// What is remembered of the previous request's messages.
#[derive(Default)]
enum Last {
    /// Nothing: there was none.
    #[default]
    None,
    /// How many there were, and their fingerprint: it was made before the session was brought back.
    Told { count: usize, all: Fingerprint },
    /// The fingerprint of each.
    Seen(Vec<Fingerprint>),
}

impl Prefixes {
    /// Goes on after a call whose event had this.
    pub(crate) fn after(last: Option<&Prefix>) -> Self {
        let told = |last: &Prefix| Last::Told { count: last.count as usize, all: last.messages };
        Self { last: last.map(told).unwrap_or_default(), tools: None }
    }

    /// What this request begins with; `marks` are of its messages, and its tools are the kit's.
    pub(crate) fn of(&mut self, request: &Request, marks: &Marks, kit: &Arc<Kit>) -> Prefix {
        Prefix {
            model: print(Fingerprint::default(), &(&request.provider, &request.model)),
            options: print(
                Fingerprint::default(),
                &(&request.reasoning_effort, request.parallel_tool_calls, &request.provider_options),
            ),
            tools: self.tools(kit),
            system: marks.system,
            messages: marks.all(),
            count: u32::try_from(marks.messages.len()).unwrap_or(u32::MAX),
            shared: self.shared(&marks.messages).map(|shared| u32::try_from(shared).unwrap_or(u32::MAX)),
        }
    }

    fn tools(&mut self, kit: &Arc<Kit>) -> Fingerprint {
        match &self.tools {
            Some((known, print)) if Arc::ptr_eq(known, kit) => *print,
            _ => {
                let print = print(Fingerprint::default(), kit.specs());
                self.tools = Some((Arc::clone(kit), print));
                print
            }
        }
    }

    /// How many of these messages the previous request had too; remembers these for the next.
    fn shared(&mut self, now: &[Fingerprint]) -> Option<usize> {
        match &mut self.last {
            Last::Seen(before) => {
                // A fingerprint is of everything before it too, so that the first difference lasts. As a
                // rule the conversation has only grown.
                let shared = match before.last() {
                    Some(last) if now.get(before.len() - 1) == Some(last) => before.len(),
                    _ => before.iter().zip(now).take_while(|(a, b)| a == b).count(),
                };
                before.truncate(shared);
                before.extend(now.iter().skip(shared));
                Some(shared)
            }
            last => {
                let shared = match last {
                    Last::Told { count: 0, .. } => Some(0),
                    // If it differs, nobody remembers where.
                    Last::Told { count, all } if now.get(*count - 1) == Some(all) => Some(*count),
                    _ => None,
                };
                *last = Last::Seen(now.to_vec());
                shared
            }
        }
    }
}

/// The fingerprint of a value after another. What cannot be written, which nothing here is, has none.
fn print(before: Fingerprint, value: &(impl Serialize + ?Sized)) -> Fingerprint {
    serde_json::to_vec(value).map_or(before, |json| before.then(&json))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolRegistry;

    fn kit() -> Arc<Kit> {
        Arc::new(Kit::new(ToolRegistry::default()).unwrap())
    }

    /// A conversation from one-letter messages.
    fn marks(conversation: &str) -> Marks {
        let mut marks = Marks::default();
        marks.add(&Message::system("You are a test."));
        conversation.chars().for_each(|letter| marks.add(&Message::user(letter.to_string())));
        marks
    }

    /// How much of each conversation was shared with the one before it.
    fn check(conversations: &[&str], expected: &[Option<u32>]) {
        let (mut prefixes, kit) = (Prefixes::default(), kit());
        let mut shared = |talk: &&str| prefixes.of(&Request::default(), &marks(talk), &kit).shared;
        assert_eq!(conversations.iter().map(&mut shared).collect::<Vec<_>>(), expected, "{conversations:?}");
    }

    #[test]
    fn a_conversation_that_grows_is_shared_whole() {
        check(&["a", "abc", "abc", "abcd"], &[None, Some(1), Some(3), Some(3)]);
        check(&["", "a"], &[None, Some(0)]);
    }

    #[test]
    fn one_that_changes_is_shared_up_to_there() {
        check(&["abcd", "abxd", "abxde"], &[None, Some(2), Some(4)]);
        check(&["abcd", "ab", "abcd"], &[None, Some(2), Some(2)]);
        check(&["abcd", "sd"], &[None, Some(0)]);
    }

    #[test]
    fn what_was_told_of_an_earlier_life_counts() {
        let kit = kit();
        let of = |prefixes: &mut Prefixes, talk| prefixes.of(&Request::default(), &marks(talk), &kit);
        let last = of(&mut Prefixes::default(), "abc");
        let next = |talk| of(&mut Prefixes::after(Some(&last)), talk).shared;
        assert_eq!((next("abcde"), next("abc")), (Some(3), Some(3)));
        assert_eq!((next("abx"), next("ab")), (None, None), "nobody knows where it differs");
        assert_eq!(of(&mut Prefixes::after(None), "abc").shared, None);
    }

    #[test]
    fn each_part_has_a_fingerprint_of_its_own() {
        let kits = [kit(), kit()];
        let mut prefixes = Prefixes::default();
        let request = Request::default().model("m");
        let first = prefixes.of(&request, &marks("a"), &kits[0]);
        let mut other_system = Marks::default();
        other_system.add(&Message::system("You are another."));
        other_system.add(&Message::user("a"));
        let mut changed = |request: &Request, marks: &Marks, kit: &Arc<Kit>| {
            let next = prefixes.of(request, marks, kit);
            [
                next.model != first.model,
                next.options != first.options,
                next.tools != first.tools,
                next.system != first.system,
                next.messages != first.messages,
            ]
        };
        let hard = Request { reasoning_effort: Some(junto_llm::Effort::High), ..request.clone() };
        let other_model = request.clone().model("n");
        let other_tools = Arc::new(Kit::new(vec![tool()].into()).unwrap());
        for (found, expected) in [
            (changed(&request, &marks("a"), &kits[0]), [false; 5]),
            (changed(&request, &marks("a"), &kits[1]), [false; 5]),
            (changed(&other_model, &marks("a"), &kits[0]), [true, false, false, false, false]),
            (changed(&hard, &marks("a"), &kits[0]), [false, true, false, false, false]),
            (changed(&request, &marks("a"), &other_tools), [false, false, true, false, false]),
            (changed(&request, &other_system, &kits[0]), [false, false, false, true, false]),
            (changed(&request, &marks("b"), &kits[0]), [false, false, false, false, true]),
        ] {
            assert_eq!(found, expected);
        }
    }

    fn tool() -> Arc<dyn junto_core::Tool> {
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        struct Nothing {}
        Arc::new(crate::tool("other", "", |_: Nothing, _: junto_core::ToolCx| async { "" }))
    }
}
