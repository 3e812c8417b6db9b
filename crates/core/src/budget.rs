//! Money and tokens that can run out.

use std::sync::{Arc, Mutex, PoisonError};

use junto_llm::{Allowance, Budget, Exhausted, Freed, Reservation, Spending, Usd};
use tokio::sync::watch;

/// A budget with a limit. Clones share it; so do a session and its children.
///
/// Before a model call its worst case is set aside, and afterwards what it really took is booked. As long
/// as no call takes more than its worst case, what is spent and what is set aside are together never more
/// than the limit, however many calls are made at once.
///
/// A purse can lie within another one, as a turn's does in its session's: what is set aside and spent in
/// the inner one is so in the outer one too, and each of them may refuse.
///
/// ```
/// use std::sync::Arc;
/// use junto_core::Purse;
/// use junto_llm::{Allowance, Budget, Cost, Spending, Usd};
///
/// let cents = |n: i64| Usd(n * 10_000_000);
/// let spending = |n| Spending { cost: Cost::Estimated(cents(n)), tokens: 100 };
/// let session = Purse::new(Allowance::usd(cents(10)));
/// let turn = Purse::within(Arc::new(session.clone()), Allowance::usd(cents(6))).named("the turn's budget");
///
/// let call = turn.reserve(spending(5)).unwrap();
/// let refused = turn.reserve(spending(2)).err().unwrap();
/// assert_eq!(
///     refused.to_string(),
///     "the turn's budget of $0.06: $0.01 left, and the call could take up to $0.02",
/// );
/// call.settle(spending(1));
/// assert_eq!(session.spent().usd, cents(1));
/// assert_eq!(turn.left(), Allowance::usd(cents(5)));
/// ```
#[derive(Clone)]
pub struct Purse(Arc<Inner>);

struct Inner {
    name: String,
    limit: Allowance,
    outer: Option<Arc<dyn Budget>>,
    held: Mutex<Held>,
    /// Counts what was given back or booked, for those who wait for it.
    freed: watch::Sender<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Held {
    spent: Amount,
    reserved: Amount,
}

/// Money and tokens, as a [`Purse`] counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Money, as far as its amount was known.
    pub usd: Usd,
    /// Tokens.
    pub tokens: u64,
}

impl Amount {
    fn of(spending: Spending) -> Self {
        Self { usd: spending.cost.amount().unwrap_or(Usd::ZERO), tokens: spending.tokens }
    }

    fn plus(self, other: Self) -> Self {
        Self { usd: self.usd + other.usd, tokens: self.tokens.saturating_add(other.tokens) }
    }

    fn minus(self, other: Self) -> Self {
        Self { usd: self.usd - other.usd, tokens: self.tokens.saturating_sub(other.tokens) }
    }

    /// What is left of a limit.
    fn off(self, limit: Allowance) -> Allowance {
        Allowance {
            usd: limit.usd.map(|usd| (usd - self.usd).max(Usd::ZERO)),
            tokens: limit.tokens.map(|tokens| tokens.saturating_sub(self.tokens)),
        }
    }
}

impl Purse {
    /// A purse with this much in it.
    pub fn new(limit: Allowance) -> Self {
        Self::made(limit, None)
    }

    /// A purse within another budget, of which it may take this much.
    pub fn within(outer: Arc<dyn Budget>, limit: Allowance) -> Self {
        Self::made(limit, Some(outer))
    }

    fn made(limit: Allowance, outer: Option<Arc<dyn Budget>>) -> Self {
        let freed = watch::Sender::default();
        let held = Mutex::default();
        Self(Arc::new(Inner { name: "the budget".to_owned(), limit, outer, held, freed }))
    }

    /// A purse like this one, which people know by this name (`the turn's budget`). To be called before
    /// anything is taken out of it: the new one is full.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        let outer = self.0.outer.clone();
        let (limit, held, freed) = (self.0.limit, Mutex::default(), watch::Sender::default());
        Self(Arc::new(Inner { name: name.into(), limit, outer, held, freed }))
    }

    /// How much was in it.
    pub fn limit(&self) -> Allowance {
        self.0.limit
    }

    /// What was spent so far.
    pub fn spent(&self) -> Amount {
        self.with(|held| held.spent)
    }

    /// What is set aside for calls that have not ended.
    pub fn reserved(&self) -> Amount {
        self.with(|held| held.reserved)
    }

    /// Books what was spent without being set aside: what a session that is resumed has cost before.
    /// Budgets around this one do not hear of it.
    pub fn book(&self, spending: Spending) {
        self.with(|held| held.spent = held.spent.plus(Amount::of(spending)));
    }

    fn with<T>(&self, work: impl FnOnce(&mut Held) -> T) -> T {
        work(&mut self.0.held.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What this purse alone has left.
    fn own_left(&self) -> Allowance {
        self.with(|held| held.spent.plus(held.reserved).off(self.0.limit))
    }

    fn set_aside(&self, worst: Spending) -> Result<Set, Box<Exhausted>> {
        let amount = Amount::of(worst);
        self.with(|held| {
            let left = held.spent.plus(held.reserved).off(self.0.limit);
            if left.covers(worst) {
                held.reserved = held.reserved.plus(amount);
                return Ok(());
            }
            // Before the lock is let go, so that nothing is given back unseen.
            let waits = held.reserved != Amount::default();
            Err(Box::new(Exhausted {
                budget: self.0.name.clone(),
                limit: self.0.limit,
                left,
                unspent: held.spent.off(self.0.limit),
                worst,
                freed: waits.then(|| Freed::new(self.0.freed.subscribe())),
            }))
        })?;
        Ok(Set { purse: self.clone(), amount, outer: None })
    }
}

impl Budget for Purse {
    fn left(&self) -> Allowance {
        let own = self.own_left();
        self.0.outer.as_ref().map_or(own, |outer| own.tighter(outer.left()))
    }

    fn reserve(&self, worst: Spending) -> Result<Box<dyn Reservation>, Box<Exhausted>> {
        // What is set aside here is given back if a budget around refuses.
        let mut set = self.set_aside(worst)?;
        if let Some(outer) = &self.0.outer {
            set.outer = Some(outer.reserve(worst)?);
        }
        Ok(Box::new(set))
    }
}

impl std::fmt::Debug for Purse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Purse")
            .field("name", &self.0.name)
            .field("limit", &self.0.limit)
            .field("held", &self.with(|held| *held))
            .finish_non_exhaustive()
    }
}

/// What was set aside; given back on drop.
struct Set {
    purse: Purse,
    amount: Amount,
    /// The same in the budget around.
    outer: Option<Box<dyn Reservation>>,
}

impl Reservation for Set {
    fn settle(mut self: Box<Self>, actual: Spending) {
        // A cost nobody knows is booked as the worst case: better too careful than overdrawn.
        let usd = actual.cost.amount().unwrap_or(self.amount.usd);
        let spent = Amount { usd, tokens: actual.tokens };
        let reserved = std::mem::take(&mut self.amount);
        self.purse.with(|held| {
            held.reserved = held.reserved.minus(reserved);
            held.spent = held.spent.plus(spent);
        });
        if let Some(outer) = self.outer.take() {
            outer.settle(actual);
        }
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        let amount = self.amount;
        self.purse.with(|held| held.reserved = held.reserved.minus(amount));
        self.purse.0.freed.send_modify(|count| *count = count.wrapping_add(1));
    }
}

#[cfg(test)]
mod tests {
    use junto_llm::Cost;

    use super::*;

    fn cents(n: i64) -> Usd {
        Usd(n * 10_000_000)
    }

    fn spending(n: i64, tokens: u64) -> Spending {
        Spending { cost: Cost::Estimated(cents(n)), tokens }
    }

    fn unknown(tokens: u64) -> Spending {
        Spending { cost: Cost::Unknown, tokens }
    }

    #[test]
    fn reservations_hold_settle_and_come_back() {
        let purse = Purse::new(Allowance::usd(cents(10)));
        let a = purse.reserve(spending(6, 1)).unwrap();
        assert!(purse.reserve(spending(5, 1)).is_err());
        a.settle(spending(2, 7));
        assert_eq!(purse.spent(), Amount { usd: cents(2), tokens: 7 });
        assert_eq!(purse.left(), Allowance::usd(cents(8)));
        drop(purse.reserve(spending(8, 1)).unwrap());
        assert_eq!(purse.left(), Allowance::usd(cents(8)));
        purse.reserve(spending(8, 1)).unwrap().settle(unknown(3));
        assert_eq!(purse.left(), Allowance::usd(Usd::ZERO), "an unknown cost is the worst");
        assert_eq!(purse.reserved(), Amount::default());
    }

    #[test]
    fn tokens_run_out_too_and_need_no_price() {
        let purse = Purse::new(Allowance::tokens(100));
        purse.reserve(unknown(60)).unwrap().settle(unknown(50));
        assert!(purse.reserve(unknown(51)).is_err());
        assert!(purse.reserve(unknown(50)).is_ok());
        let both = Purse::new(Allowance { usd: Some(cents(1)), tokens: Some(100) });
        assert!(both.reserve(unknown(1)).is_err(), "what has no price cannot be paid");
    }

    #[test]
    fn the_outer_purse_pays_too_and_may_refuse() {
        let outer = Purse::new(Allowance::usd(cents(10))).named("the session's budget");
        let turn = || Purse::within(Arc::new(outer.clone()), Allowance::usd(cents(8)));
        let (first, second) = (turn(), turn());
        let call = first.reserve(spending(7, 0)).unwrap();
        let refused = second.reserve(spending(7, 0)).err().unwrap();
        assert_eq!(refused.budget, "the session's budget");
        assert_eq!(second.reserved(), Amount::default(), "what was set aside inside came back");
        assert_eq!(second.left(), Allowance::usd(cents(3)));
        call.settle(spending(4, 0));
        assert_eq!((first.spent().usd, outer.spent().usd), (cents(4), cents(4)));
        assert_eq!((first.left(), second.left()), (Allowance::usd(cents(4)), Allowance::usd(cents(6))));
    }

    #[tokio::test]
    async fn who_is_refused_hears_when_something_comes_back() {
        let purse = Purse::new(Allowance::usd(cents(10)));
        assert!(purse.reserve(spending(11, 0)).err().unwrap().freed.is_none(), "nothing is set aside");
        let call = purse.reserve(spending(6, 0)).unwrap();
        let refused = purse.reserve(spending(5, 0)).err().unwrap();
        assert_eq!(refused.unspent, Allowance::usd(cents(10)));
        drop(call);
        refused.freed.unwrap().wait().await;
        assert!(purse.reserve(spending(5, 0)).is_ok());
    }

    #[test]
    fn what_was_spent_before_is_booked() {
        let purse = Purse::new(Allowance::usd(cents(10)));
        purse.book(spending(9, 4));
        assert_eq!(purse.spent(), Amount { usd: cents(9), tokens: 4 });
        assert!(purse.reserve(spending(2, 0)).is_err());
        purse.book(spending(9, 4));
        assert_eq!(purse.left(), Allowance::usd(Usd::ZERO), "no less than nothing");
    }
}
