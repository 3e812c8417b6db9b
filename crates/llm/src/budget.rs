//! What may be spent, and what a call sets aside of it before it is made.
//!
//! Whoever really asks a model, and nobody above it, sets aside the call's worst case from
//! [`CallCx::budget`](crate::CallCx::budget): [`HttpProvider`](crate::HttpProvider) does, and so does a
//! program that is asked for an answer. A council, a client, a retry only hand the budget on; so each call
//! is paid once, whatever stands above it. [`BudgetGuard`](crate::middleware::BudgetGuard) does it for
//! providers that do not.

use std::fmt;

use tokio::sync::watch;

use crate::{Cost, Error, ErrorKind, Usd};

/// An amount of money and of tokens. What is absent is without limit.
///
/// ```
/// use junto_llm::{Allowance, Usd};
/// let dollar = Allowance::usd(Usd::from_dollars(1.0));
/// let both = Allowance { tokens: Some(200_000), ..dollar };
/// assert_eq!(both.to_string(), "$1.00 and 200000 tokens");
/// assert!(Allowance::UNLIMITED.is_unlimited());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// Money.
    pub usd: Option<Usd>,
    /// Tokens read and written, cached ones too.
    pub tokens: Option<u64>,
}

impl Allowance {
    /// Everything.
    pub const UNLIMITED: Self = Self { usd: None, tokens: None };

    /// So much money, and any number of tokens.
    pub fn usd(usd: Usd) -> Self {
        Self { usd: Some(usd), tokens: None }
    }

    /// So many tokens, whatever they cost.
    pub fn tokens(tokens: u64) -> Self {
        Self { usd: None, tokens: Some(tokens) }
    }

    /// Whether nothing is limited.
    pub fn is_unlimited(self) -> bool {
        self == Self::UNLIMITED
    }

    /// The smaller of both, each kind by itself.
    #[must_use]
    pub fn tighter(self, other: Self) -> Self {
        fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
            a.into_iter().chain(b).min()
        }
        Self { usd: least(self.usd, other.usd), tokens: least(self.tokens, other.tokens) }
    }

    /// Whether this much can be spent of it. What nobody knows the price of cannot be paid with money.
    pub fn covers(self, spending: Spending) -> bool {
        self.usd.is_none_or(|usd| spending.cost.amount().is_some_and(|cost| cost <= usd))
            && self.tokens.is_none_or(|tokens| spending.tokens <= tokens)
    }
}

impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.usd, self.tokens) {
            (None, None) => f.write_str("no limit"),
            (Some(usd), None) => write!(f, "{usd}"),
            (None, Some(tokens)) => write!(f, "{tokens} tokens"),
            (Some(usd), Some(tokens)) => write!(f, "{usd} and {tokens} tokens"),
        }
    }
}

/// What a call may use at most, or what it has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spending {
    /// Money.
    pub cost: Cost,
    /// Tokens read and written.
    pub tokens: u64,
}

impl Spending {
    /// Nothing.
    pub const NOTHING: Self = Self { cost: Cost::Estimated(Usd::ZERO), tokens: 0 };
}

/// What may still be spent.
pub trait Budget: Send + Sync {
    /// What is left: reservations are taken off, and so is what budgets around this one do not have.
    fn left(&self) -> Allowance;

    /// Sets aside the worst case of a call before it is made.
    ///
    /// # Errors
    /// [`Exhausted`] if that much is not left, here or in a budget around this one; or if money is
    /// limited and nobody knows the cost.
    fn reserve(&self, worst: Spending) -> Result<Box<dyn Reservation>, Box<Exhausted>>;
}

/// What was set aside for one call. Dropping it without settling gives it back.
pub trait Reservation: Send {
    /// Books what the call really used. What nobody knows is booked as it was set aside.
    fn settle(self: Box<Self>, actual: Spending);
}

/// A budget has not enough left.
#[derive(Clone, Debug)]
pub struct Exhausted {
    /// Which budget, for people: `the turn's budget`.
    pub budget: String,
    /// How much it was.
    pub limit: Allowance,
    /// What is left of it, without what others have set aside.
    pub left: Allowance,
    /// What would be left if they gave it all back.
    pub unspent: Allowance,
    /// What was asked for.
    pub worst: Spending,
    /// Tells when others give something back. Absent if nothing is set aside.
    pub freed: Option<Freed>,
}

/// Tells that something which was set aside has been given back, or booked.
#[derive(Clone, Debug)]
pub struct Freed(watch::Receiver<u64>);

impl Freed {
    /// What was seen up to now does not count.
    pub fn new(mut changes: watch::Receiver<u64>) -> Self {
        changes.mark_unchanged();
        Self(changes)
    }

    /// Ends with the next change. A budget that is gone changes no more, and ends it too.
    pub async fn wait(mut self) {
        let _ = self.0.changed().await;
    }
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { budget, limit, left, worst, .. } = self;
        write!(f, "{budget} of {limit}: {left} left, and the call could take up to ")?;
        // Of tokens only where they are limited: they say little else.
        match (limit.usd.and(worst.cost.amount()), limit.tokens) {
            (Some(usd), Some(_)) => write!(f, "{usd} and {} tokens", worst.tokens),
            (Some(usd), None) => write!(f, "{usd}"),
            (None, Some(_)) => write!(f, "{} tokens", worst.tokens),
            (None, None) => f.write_str("nobody knows how much"),
        }
    }
}

impl std::error::Error for Exhausted {}

impl From<Box<Exhausted>> for Error {
    fn from(exhausted: Box<Exhausted>) -> Self {
        Error::new(ErrorKind::Quota, exhausted.to_string())
            .with_hint("raise the budget, or choose a cheaper model or a lower max_tokens")
            .with_source(*exhausted)
    }
}

impl Error {
    /// The budget that kept the call from being made, if it was one.
    pub fn exhausted(&self) -> Option<&Exhausted> {
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            if let Some(exhausted) = error.downcast_ref() {
                return Some(exhausted);
            }
            cause = error.source();
        }
        None
    }
}

/// A budget without a limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

impl Budget for Unlimited {
    fn left(&self) -> Allowance {
        Allowance::UNLIMITED
    }

    fn reserve(&self, _worst: Spending) -> Result<Box<dyn Reservation>, Box<Exhausted>> {
        Ok(Box::new(Self))
    }
}

impl Reservation for Unlimited {
    fn settle(self: Box<Self>, _actual: Spending) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const CENT: Usd = Usd(10_000_000);

    #[test]
    fn an_allowance_covers_what_is_no_more_than_it() {
        let of = |usd: Option<Usd>, tokens| Allowance { usd, tokens };
        let check = |allowance: Allowance, cost: Cost, tokens, expected| {
            assert_eq!(
                allowance.covers(Spending { cost, tokens }),
                expected,
                "{allowance:?} {cost:?} {tokens}"
            );
        };
        check(Allowance::UNLIMITED, Cost::Unknown, u64::MAX, true);
        check(of(Some(CENT), None), Cost::Estimated(CENT), u64::MAX, true);
        check(of(Some(CENT), None), Cost::Reported(CENT + Usd(1)), 0, false);
        check(of(Some(CENT), None), Cost::Unknown, 0, false);
        check(of(None, Some(5)), Cost::Unknown, 5, true);
        check(of(None, Some(5)), Cost::Unknown, 6, false);
        check(of(Some(CENT), Some(5)), Cost::Estimated(CENT), 6, false);
    }

    #[test]
    fn the_tighter_limit_of_each_kind_holds() {
        let a = Allowance { usd: Some(CENT), tokens: None };
        let b = Allowance { usd: Some(Usd(1)), tokens: Some(7) };
        assert_eq!(a.tighter(b), b);
        assert_eq!(a.tighter(Allowance::tokens(3)), Allowance { usd: Some(CENT), tokens: Some(3) });
        assert_eq!(Allowance::UNLIMITED.tighter(Allowance::UNLIMITED), Allowance::UNLIMITED);
    }

    #[test]
    fn an_error_keeps_the_budget_behind_it_also_through_another() {
        let exhausted = Exhausted {
            budget: "the turn's budget".into(),
            limit: Allowance::usd(CENT),
            left: Allowance::usd(Usd(0)),
            unspent: Allowance::usd(Usd(0)),
            worst: Spending { cost: Cost::Estimated(CENT), tokens: 9 },
            freed: None,
        };
        let error = Error::from(Box::new(exhausted));
        assert_eq!(
            error.message(),
            "the turn's budget of $0.01: $0.00 left, and the call could take up to $0.01"
        );
        assert!(!error.is_retryable());
        let outer = Error::new(ErrorKind::Quota, "no member answered").with_source(error);
        assert_eq!(outer.exhausted().unwrap().limit, Allowance::usd(CENT));
        assert!(Error::new(ErrorKind::Quota, "the account is empty").exhausted().is_none());
    }
}
