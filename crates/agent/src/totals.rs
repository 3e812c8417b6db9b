//! What a session has used, its children included.

use std::sync::{Mutex, PoisonError};

use junto_llm::{Cost, Usage, Usd};

/// The sum of a session's model calls and of its children's.
#[derive(Debug)]
pub(crate) struct Totals(Mutex<(Usage, Cost)>);

impl Default for Totals {
    fn default() -> Self {
        // Reported is the neutral element: whatever is added decides how well the sum is known.
        Self(Mutex::new((Usage::default(), Cost::Reported(Usd::ZERO))))
    }
}

impl Clone for Totals {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.get()))
    }
}

impl Totals {
    pub(crate) fn add(&self, usage: &Usage, cost: Cost) {
        let mut sum = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sum.0 += usage;
        sum.1 = sum.1 + cost;
    }

    pub(crate) fn get(&self) -> (Usage, Cost) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
