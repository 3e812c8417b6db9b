//! The command's own session: what is kept of it from one run to the next.

use junto_core::{AgentError, AgentErrorKind, ResumeHandle};
use junto_llm::Usage;
use serde_json::{Value, json};

use crate::Definition;

/// The version of what a handle holds.
const VERSION: u32 = 1;

/// The command's own session.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Thread {
    /// The id it is resumed by, once it is known.
    pub(crate) id: Option<String>,
    /// What all its runs used together, where the command counts so. A run's part is what it added.
    pub(crate) totals: Option<Usage>,
    /// How many tokens its last model call had.
    pub(crate) context: Option<u64>,
    /// A digest of the instructions that it was told last, where the command is not told them with each run.
    pub(crate) told: Option<String>,
}

impl Thread {
    /// The session that a handle stands for.
    ///
    /// # Errors
    /// `invalid` for a handle of another command, and for one that names no session.
    pub(crate) fn of(definition: &Definition, handle: &ResumeHandle) -> Result<Self, AgentError> {
        let invalid = |message: String| AgentError::new(AgentErrorKind::Invalid, message);
        if handle.kind != definition.kind || handle.v != VERSION {
            let (kind, version) = (&handle.kind, handle.v);
            return Err(invalid(format!("a handle of {kind} v{version} is none of {}", definition.kind)));
        }
        let id = handle.data["session"].as_str();
        let id = id.ok_or_else(|| invalid("the handle names no session".to_owned()))?;
        let totals = &handle.data["totals"];
        // Totals that cannot be read are not known: then nobody knows what the next run adds to them.
        Ok(Self {
            id: Some(id.to_owned()),
            totals: usage(totals),
            context: handle.data["context"].as_u64(),
            told: handle.data["told"].as_str().map(str::to_owned),
        })
    }

    /// What brings it back; `None` before it is known.
    pub(crate) fn handle(&self, definition: &Definition) -> Option<ResumeHandle> {
        let mut data = json!({"session": self.id.as_ref()?});
        if let Some(totals) = &self.totals {
            data["totals"] = json!({
                "input": totals.input, "cached_input": totals.cache_read,
                "output": totals.output, "reasoning": totals.reasoning,
            });
            if let Some(written) = totals.cache_write {
                data["totals"]["cache_write"] = json!(written);
            }
        }
        if let Some(context) = self.context {
            data["context"] = json!(context);
        }
        if let Some(told) = &self.told {
            data["told"] = json!(told);
        }
        Some(ResumeHandle { kind: definition.kind.clone(), v: VERSION, data })
    }
}

fn usage(totals: &Value) -> Option<Usage> {
    let count = |field: &str| totals[field].as_u64();
    Some(Usage {
        cache_read: count("cached_input"),
        cache_write: count("cache_write"),
        reasoning: count("reasoning"),
        ..Usage::new(count("input")?, count("output")?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_brings_back_what_is_known() {
        let claude = Definition::shipped("claude").unwrap();
        let totals = Usage { cache_read: Some(5), reasoning: Some(1), ..Usage::new(20, 3) };
        let written = Usage { cache_write: Some(7), ..totals.clone() };
        for thread in [
            Thread { id: Some("a".to_owned()), totals: Some(written), ..Thread::default() },
            Thread { id: Some("a".to_owned()), ..Thread::default() },
            Thread {
                id: Some("a".to_owned()),
                totals: Some(totals),
                context: Some(17),
                told: Some("d".to_owned()),
            },
        ] {
            let handle = thread.handle(&claude).unwrap();
            assert_eq!(Thread::of(&claude, &handle).unwrap(), thread);
        }
        assert_eq!(Thread::default().handle(&claude), None);
    }

    #[test]
    fn what_cannot_be_read_is_not_known() {
        let claude = Definition::shipped("claude").unwrap();
        let handle = |kind: &str, v, data| ResumeHandle { kind: kind.to_owned(), v, data };
        let data = json!({"session": "a", "totals": {"input": -1, "output": 2}, "later": true});
        let thread = Thread::of(&claude, &handle("claude", 1, data)).unwrap();
        assert_eq!(thread, Thread { id: Some("a".to_owned()), ..Thread::default() });
        for wrong in [
            handle("codex", 1, json!({"session": "a"})),
            handle("claude", 2, json!({"session": "a"})),
            handle("claude", 1, json!({})),
        ] {
            assert!(Thread::of(&claude, &wrong).is_err(), "{wrong:?}");
        }
    }
}
