//! What a command may spend.
//!
//! A command asks its models by itself and tells afterwards what that took, so no worst case can be set
//! aside for each of its calls. What can be done: all it may spend is set aside before it starts, and it is
//! told to stop there, if it can be. `claude` looks at its limit after each answer of its model, so that a
//! run may go over by one answer. What it then really took is booked, and nothing more is started if that
//! was all.

use junto_llm::{Budget, CallCx, Cost, Entry, Error, ErrorKind, Reservation, Spending, Usage, Usd};

use crate::{Definition, ModelUse};

/// A part of a budget, set aside for one run. Dropping it gives it back.
pub(crate) struct Share {
    reservation: Box<dyn Reservation>,
    /// What the command is told to stop at; absent: nothing.
    pub(crate) most: Option<Usd>,
}

impl Share {
    /// Sets aside what a run may spend: all that is left for one that nobody started, and half of it for an
    /// agent's child, which is not alone.
    ///
    /// # Errors
    /// `configuration` if the command cannot be held to what is limited; `quota` if nothing is left.
    pub(crate) fn of(budget: &dyn Budget, definition: &Definition, depth: u8) -> Result<Self, Error> {
        let left = budget.left();
        let kind = &definition.kind;
        if left.tokens.is_some() {
            let message =
                format!("{kind} cannot be held to a number of tokens: it asks its models by itself");
            return Err(Error::configuration(message).with_hint("limit money instead, or use a native agent"));
        }
        let Some(usd) = left.usd else {
            return Ok(Self { reservation: budget.reserve(Spending::NOTHING)?, most: None });
        };
        if definition.options.max_usd.is_empty() {
            let message = format!("{kind} cannot be held to an amount of money: it has no option for it");
            return Err(Error::configuration(message)
                .with_hint("name the option as `max_usd` in its definition, or run it without a budget"));
        }
        // Never nothing: that would be no limit to some, and an empty budget shall refuse.
        let most = Usd(if depth == 0 { usd.0 } else { usd.0 / 2 }).max(Usd(1));
        let reservation = budget.reserve(Spending { cost: Cost::Estimated(most), tokens: 0 })?;
        Ok(Self { reservation, most: Some(most) })
    }

    /// Books what the run took; a cost nobody knows is all that was set aside.
    pub(crate) fn settle(self, cost: Cost, tokens: u64) {
        self.reservation.settle(Spending { cost, tokens });
    }
}

/// The books of a command that is asked for an answer.
pub(crate) struct Account {
    /// Gone once it is settled.
    share: Option<Share>,
    cx: CallCx,
    provider: String,
    /// What the command reported.
    used: Vec<ModelUse>,
    /// Whether it reported anything.
    reported: bool,
    /// Whether there was something that it did not tell.
    untold: bool,
}

impl Account {
    pub(crate) fn new(share: Share, cx: &CallCx, provider: &str) -> Self {
        Self {
            share: Some(share),
            cx: cx.clone(),
            provider: provider.to_owned(),
            used: Vec::new(),
            reported: false,
            untold: false,
        }
    }

    /// The command told what it used since it last did, or `None` if it has ended a turn without.
    pub(crate) fn report(&mut self, used: Option<&[ModelUse]>) {
        self.reported = true;
        self.untold |= used.is_none();
        self.used.extend_from_slice(used.unwrap_or_default());
    }
}

impl Drop for Account {
    /// However the answer ended: a command that told nothing of its cost had one all the same.
    fn drop(&mut self) {
        let Some(share) = self.share.take() else { return };
        let is_told = self.reported && !self.untold;
        let known = self.used.iter().map(|used| used.cost).reduce(|sum, cost| sum + cost);
        let cost = if is_told { known.unwrap_or(Cost::Reported(Usd::ZERO)) } else { Cost::Unknown };
        let tokens = self.used.iter().map(|used| used.usage.total).sum();
        share.settle(cost, tokens);
        let Some(tally) = &self.cx.tally else { return };
        let entry =
            |model: &str, usage: Usage, cost| Entry::new(&self.cx, &self.provider, model, usage, cost);
        for ModelUse { model, usage, cost } in &self.used {
            tally.add(entry(model, usage.clone(), *cost));
        }
        if !is_told {
            let error = Error::new(ErrorKind::Aborted, "it ended before it had told what it used");
            tally.add(Entry { error: Some(error), ..entry("", Usage::default(), Cost::Unknown) });
        }
    }
}

#[cfg(test)]
mod tests {
    use junto_core::Purse;
    use junto_llm::{Allowance, Unlimited};

    use super::*;

    const CENT: Usd = Usd(10_000_000);

    fn claude() -> Definition {
        Definition::shipped("claude").unwrap()
    }

    #[test]
    fn a_run_is_told_to_stop_at_its_share() {
        let most = |budget: &dyn Budget, depth| Share::of(budget, &claude(), depth).unwrap().most;
        assert_eq!(most(&Unlimited, 0), None);
        let purse = Purse::new(Allowance::usd(CENT));
        assert_eq!(most(&purse, 0), Some(CENT));
        assert_eq!(most(&purse, 1), Some(Usd(CENT.0 / 2)));
        assert_eq!(purse.left(), Allowance::usd(CENT), "what is not used comes back");
    }

    #[test]
    fn what_cannot_be_held_to_a_limit_is_not_run_under_it() {
        let refused = |budget: &dyn Budget, definition: &Definition| {
            Share::of(budget, definition, 0).err().unwrap().kind()
        };
        assert_eq!(refused(&Purse::new(Allowance::tokens(1000)), &claude()), ErrorKind::Configuration);
        let mut boundless = claude();
        boundless.options.max_usd.clear();
        assert_eq!(refused(&Purse::new(Allowance::usd(CENT)), &boundless), ErrorKind::Configuration);
        assert!(Share::of(&Unlimited, &boundless, 0).is_ok());
        let empty = Purse::new(Allowance::usd(Usd::ZERO));
        assert!(Share::of(&empty, &claude(), 0).err().unwrap().exhausted().is_some());
    }

    #[test]
    fn a_run_that_says_nothing_of_its_cost_took_its_share() {
        let purse = Purse::new(Allowance::usd(CENT));
        Share::of(&purse, &claude(), 1).unwrap().settle(Cost::Unknown, 0);
        assert_eq!(purse.spent().usd, Usd(CENT.0 / 2));
        Share::of(&purse, &claude(), 0).unwrap().settle(Cost::Reported(Usd(7)), 3);
        assert_eq!(purse.spent().usd, Usd(CENT.0 / 2 + 7));
    }
}
