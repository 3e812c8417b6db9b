//! Who pays for a session's model calls: its budget, and within that one for each input.

use std::sync::{Arc, Mutex, PoisonError};

use junto_core::Purse;
use junto_llm::{Allowance, Budget, Exhausted, Reservation, Spending};

/// A session's budget. What its children spend is spent of the input that is worked on meanwhile.
pub(crate) struct Wallet {
    session: Arc<dyn Budget>,
    /// How much of it each input may take.
    each: Allowance,
    current: Mutex<Arc<dyn Budget>>,
}

impl Wallet {
    pub(crate) fn new(session: Arc<dyn Budget>, each: Allowance) -> Self {
        let current = Mutex::new(Arc::clone(&session));
        Self { session, each, current }
    }

    /// From here on calls are paid from a new input's share, of which this much is gone already: the input was cut off
    /// and goes on. The session's budget knows of that, or is its host's to tell.
    pub(crate) fn begin_input(&self, spent: &[Spending]) {
        if self.each.is_unlimited() {
            return;
        }
        let purse = Purse::within(Arc::clone(&self.session), self.each).named("the turn's budget");
        for spending in spent {
            purse.book(*spending);
        }
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(purse);
    }

    fn current(&self) -> Arc<dyn Budget> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Budget for Wallet {
    fn left(&self) -> Allowance {
        self.current().left()
    }

    fn reserve(&self, worst: Spending) -> Result<Box<dyn Reservation>, Box<Exhausted>> {
        self.current().reserve(worst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_input_has_a_share_of_its_own_and_all_of_them_one_budget() {
        let spend = |wallet: &Wallet, tokens| {
            let spending = Spending { tokens, ..Spending::NOTHING };
            wallet.reserve(spending).map(|reservation| reservation.settle(spending)).is_ok()
        };
        let session = Arc::new(Purse::new(Allowance::tokens(15)));
        let wallet = Wallet::new(session.clone(), Allowance::tokens(10));
        wallet.begin_input(&[]);
        assert!(spend(&wallet, 8) && !spend(&wallet, 3));
        wallet.begin_input(&[]);
        assert_eq!(wallet.left(), Allowance::tokens(7), "the session has less than a share");
        assert!(spend(&wallet, 7) && !spend(&wallet, 1));
        assert_eq!(session.spent().tokens, 15);
    }
}
