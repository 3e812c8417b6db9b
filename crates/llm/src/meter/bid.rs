//! How a call's worst case is set aside.

use super::bound::Output;
use super::tally::Asked;
use crate::catalog::Price;
use crate::{Allowance, CallCx, Cost, Error, ErrorKind, Exhausted, Request, Reservation, Spending, Warning};

/// The shortest answer that a limit is lowered to: in less than this little can be said that makes sense.
pub(super) const SENSIBLE: u64 = 2048;
/// The shortest as long as others may give something back. Most answers are shorter.
const COMFORTABLE: u64 = 16_384;

/// What a call could use.
pub(super) struct Bid<'a> {
    pub(super) asked: &'a Asked,
    /// The most tokens it can read.
    pub(super) input: u64,
    /// The most that it can write.
    pub(super) output: Output,
    pub(super) price: Option<Price>,
}

/// What was set aside for a call.
pub(super) struct Paid {
    pub(super) reservation: Box<dyn Reservation>,
    pub(super) worst: Spending,
    /// The longest answer it pays for.
    pub(super) longest: u64,
    /// What is to be said about it.
    pub(super) warning: Option<Warning>,
}

impl Bid<'_> {
    /// Sets the worst case aside, and writes the limit into the request that holds the answer to it.
    pub(super) async fn place(&self, request: &mut Request, cx: &CallCx) -> Result<Paid, Error> {
        let most = self.output.tokens();
        let mut longest = most;
        loop {
            let left = cx.budget.left();
            if left.usd.is_some() && self.price.is_none() {
                return Err(self.unpriced());
            }
            let worst = self.worst(longest);
            let exhausted = match cx.budget.reserve(worst) {
                Ok(reservation) => {
                    let warning = self.limit(request, longest);
                    return Ok(Paid { reservation, worst, longest, warning });
                }
                Err(exhausted) => exhausted,
            };
            let fits = self.fits(cx.budget.left());
            if fits < longest && fits >= self.least(&exhausted) {
                longest = fits;
                continue;
            }
            self.wait(exhausted, cx).await?;
            longest = most;
        }
    }

    /// Waits until somebody has given something back, if that can be enough.
    async fn wait(&self, exhausted: Box<Exhausted>, cx: &CallCx) -> Result<(), Error> {
        let least = match self.output {
            Output::Fixed(tokens) => tokens,
            output => output.tokens().min(SENSIBLE),
        };
        if !exhausted.unspent.covers(self.worst(least)) {
            return Err(exhausted.into());
        }
        let Some(freed) = exhausted.freed.clone() else { return Err(exhausted.into()) };
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                Err(Error::new(ErrorKind::Aborted, "the call was cancelled while it waited for the budget"))
            }
            () = freed.wait() => Ok(()),
        }
    }

    /// The shortest answer that makes sense now.
    fn least(&self, exhausted: &Exhausted) -> u64 {
        match self.output {
            Output::Fixed(_) => u64::MAX,
            _ if exhausted.freed.is_some() => COMFORTABLE,
            _ => SENSIBLE,
        }
    }

    /// The longest answer that this much pays for.
    fn fits(&self, left: Allowance) -> u64 {
        let by_tokens = left.tokens.map(|tokens| tokens.saturating_sub(self.input));
        let by_price = left.usd.zip(self.price).map(|(usd, price)| price.output_for(usd, self.input));
        by_tokens.into_iter().chain(by_price).min().unwrap_or(u64::MAX)
    }

    fn worst(&self, output: u64) -> Spending {
        let cost = match self.price {
            Some(price) => Cost::Estimated(price.worst(self.input, output)),
            None => Cost::Unknown,
        };
        Spending { cost, tokens: self.input.saturating_add(output) }
    }

    /// Holds the answer to a length, where it could be longer.
    fn limit(&self, request: &mut Request, longest: u64) -> Option<Warning> {
        let most = self.output.tokens();
        if longest < most {
            request.max_tokens = Some(longest);
            let message = format!(
                "the answer may have {longest} tokens instead of {most}: more the budget could not pay for"
            );
            return Some(Warning::new("max_tokens_lowered", message));
        }
        if let Output::Unsaid(tokens) = self.output {
            request.max_tokens = Some(tokens);
        }
        None
    }

    fn unpriced(&self) -> Error {
        let Asked { provider, model } = self.asked;
        Error::configuration(format!(
            "nobody knows the price of `{model}` at `{provider}`, so a budget in dollars cannot pay for it"
        ))
        .with_provider(provider)
        .with_hint(format!(
            "give it a price: a [[models]] entry in the configuration with id = \"{model}\", \
             provider = \"{provider}\" and price = {{ input = …, output = … }}, in dollars per million \
             tokens; or limit tokens instead of money"
        ))
    }
}
