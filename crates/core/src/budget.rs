//! Money that can run out.

use std::sync::{Arc, Mutex, PoisonError};

use junto_llm::{Budget, Cost, Exhausted, Reservation, Usd};

/// A budget with a limit. Clones share it; so do a session and its children.
#[derive(Clone, Debug)]
pub struct Purse(Arc<Mutex<Held>>);

#[derive(Debug)]
struct Held {
    limit: Usd,
    spent: Usd,
    reserved: Usd,
}

impl Purse {
    /// A purse with this much in it.
    pub fn new(limit: Usd) -> Self {
        Self(Arc::new(Mutex::new(Held { limit, spent: Usd::ZERO, reserved: Usd::ZERO })))
    }

    /// What was spent so far.
    pub fn spent(&self) -> Usd {
        self.with(|held| held.spent)
    }

    /// What is left, reservations taken off.
    pub fn left(&self) -> Usd {
        self.with(|held| held.limit - held.spent - held.reserved)
    }

    fn with<T>(&self, work: impl FnOnce(&mut Held) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Budget for Purse {
    /// An unknown cost reserves nothing, but an empty purse refuses it too.
    fn reserve(&self, worst: Cost) -> Result<Box<dyn Reservation>, Exhausted> {
        let amount = worst.amount().unwrap_or(Usd::ZERO);
        self.with(|held| {
            let left = held.limit - held.spent - held.reserved;
            if amount > left || left <= Usd::ZERO {
                return Err(Exhausted {
                    message: format!("the call may cost {amount}, and {left} of the budget is left"),
                });
            }
            held.reserved += amount;
            Ok(())
        })?;
        Ok(Box::new(Set { purse: self.clone(), amount }))
    }
}

/// Money set aside; given back on drop.
struct Set {
    purse: Purse,
    amount: Usd,
}

impl Reservation for Set {
    fn settle(self: Box<Self>, actual: Cost) {
        // A cost nobody knows is booked as the worst case: better too careful than overdrawn.
        let actual = actual.amount().unwrap_or(self.amount);
        self.purse.with(|held| held.spent += actual);
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        let amount = self.amount;
        self.purse.with(|held| held.reserved = held.reserved - amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_hold_settle_and_come_back() {
        let cents = |n: i64| Usd(n * 10_000_000);
        let purse = Purse::new(cents(10));
        let a = purse.reserve(Cost::Estimated(cents(6))).unwrap();
        assert!(purse.reserve(Cost::Estimated(cents(5))).is_err());
        a.settle(Cost::Estimated(cents(2)));
        assert_eq!((purse.spent(), purse.left()), (cents(2), cents(8)));
        drop(purse.reserve(Cost::Estimated(cents(8))).unwrap());
        assert_eq!(purse.left(), cents(8));
        purse.reserve(Cost::Estimated(cents(8))).unwrap().settle(Cost::Unknown);
        assert_eq!(purse.left(), Usd::ZERO);
        assert!(purse.reserve(Cost::Unknown).is_err(), "an empty purse pays nothing");
    }
}
