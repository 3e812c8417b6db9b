//! What was said of calls that are made of others, until somebody takes it down.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use junto_llm::CallId;
use serde_json::Value;

/// How many are kept for somebody to come; of more, the last ones.
const MOST: usize = 256;

/// Where a council says how it came to its answers, and where whoever asked it finds that: a session, for its log;
/// a gateway, for its book. Kept by the call that was answered. Clones are the same minutes.
#[derive(Clone, Debug, Default)]
pub struct Minutes(Arc<Mutex<VecDeque<(CallId, Value)>>>);

impl Minutes {
    /// Writes down how this call was answered.
    pub fn add(&self, call: CallId, said: Value) {
        let mut kept = self.kept();
        if kept.len() == MOST {
            kept.pop_front();
        }
        kept.push_back((call, said));
    }

    /// What was said of this call, once for each time that it was tried; it is not kept any longer.
    pub fn take(&self, call: &CallId) -> Vec<Value> {
        let mut kept = self.kept();
        let (of_it, others) = std::mem::take(&mut *kept).into_iter().partition(|(of, _)| of == call);
        *kept = others;
        VecDeque::into_iter(of_it).map(|(_, said)| said).collect()
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(CallId, Value)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(n: usize) -> CallId {
        CallId(n.to_string())
    }

    #[test]
    fn what_was_said_is_taken_once() {
        let minutes = Minutes::default();
        minutes.add(call(1), "one".into());
        minutes.clone().add(call(2), "two".into());
        minutes.add(call(1), "again".into());
        assert_eq!(minutes.take(&call(2)), ["two"]);
        assert_eq!(minutes.take(&call(2)), Vec::<Value>::new());
        assert_eq!(minutes.take(&call(1)), ["one", "again"]);
    }

    #[test]
    fn what_nobody_comes_for_is_forgotten() {
        let minutes = Minutes::default();
        (0..=MOST).for_each(|n| minutes.add(call(n), n.into()));
        assert_eq!(minutes.take(&call(0)), Vec::<Value>::new());
        assert_eq!(minutes.take(&call(1)), [1]);
        assert_eq!(minutes.take(&call(MOST)), [MOST]);
    }
}
