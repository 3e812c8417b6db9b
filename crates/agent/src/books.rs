//! What a model call used and cost, by what those wrote down who really asked models for it.

use junto_llm::catalog::Catalog;
use junto_llm::{Cost, Entry, LeafCall, Response, Usage};

use crate::call::{Answer, Ended};

/// A call, as the log books it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Booked {
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) usage: Usage,
    pub(crate) cost: Cost,
}

impl Booked {
    /// What is booked of an answer for which these calls were made; nothing if the model never began. A
    /// provider that writes nothing down is believed what its answer says.
    pub(crate) fn of(
        answer: &Answer,
        made: Vec<Entry>,
        catalog: &Catalog,
        asked: Option<&str>,
    ) -> Option<Self> {
        let response = &answer.response;
        if made.is_empty() {
            return answer.began.then(|| Self::told(answer, catalog, asked));
        }
        let calls: Vec<LeafCall> = made.into_iter().map(|entry| leaf(entry, catalog, asked)).collect();
        let cost = calls.iter().map(|call| call.cost).reduce(|sum, cost| sum + cost);
        let (provider, model) = names(response, &calls);
        Some(Self { provider, model, usage: sum(response, calls), cost: cost.unwrap_or(Cost::Unknown) })
    }

    fn told(answer: &Answer, catalog: &Catalog, asked: Option<&str>) -> Self {
        let Response { provider, model, usage, .. } = &answer.response;
        // What a call that was broken off has cost, its provider alone knows.
        let cost = match answer.end {
            Ended::Whole => price(catalog, provider, [Some(model.as_str()), asked], usage),
            Ended::Interrupted | Ended::Failed(_) => Cost::Unknown,
        };
        let usage = catalog.priced(usage.clone());
        Self { provider: provider.clone(), model: model.clone(), usage, cost }
    }
}

/// Who answered; if nobody did, who was asked first.
fn names(response: &Response, calls: &[LeafCall]) -> (String, String) {
    match calls.first() {
        Some(first) if response.provider.is_empty() => (first.provider.clone(), first.model.clone()),
        _ => (response.provider.clone(), response.model.clone()),
    }
}

/// The usage of one call as it is; of several, or of one that somebody else's answer is made of, their sum.
fn sum(response: &Response, calls: Vec<LeafCall>) -> Usage {
    let is_own = |call: &LeafCall| response.provider.is_empty() || response.provider == call.provider;
    match &calls[..] {
        [only] if response.usage.calls.is_empty() && is_own(only) => only.usage.clone(),
        _ => {
            let sum = calls.iter().fold(Usage::default(), |sum, call| &sum + &call.usage);
            Usage { calls, ..sum }
        }
    }
}

fn leaf(entry: Entry, catalog: &Catalog, asked: Option<&str>) -> LeafCall {
    let Entry { provider, model, usage, cost, error, .. } = entry;
    // The session may know a price that the provider does not; of what broke off nobody knows the cost.
    let cost = match cost {
        Cost::Unknown if error.is_none() && usage.total > 0 => {
            price(catalog, &provider, [Some(model.as_str()), asked], &usage)
        }
        known => known,
    };
    LeafCall { provider, model, usage, cost }
}

/// By the model's name as the provider gave it, else as it was asked for.
fn price(catalog: &Catalog, provider: &str, names: [Option<&str>; 2], usage: &Usage) -> Cost {
    let costs = names.into_iter().flatten().map(|model| catalog.cost(provider, model, usage));
    costs.into_iter().find(|cost| cost.amount().is_some()).unwrap_or(Cost::Unknown)
}

#[cfg(test)]
mod tests {
    use junto_llm::{CallCx, Error, Usd};

    use super::*;

    const CENT: Cost = Cost::Reported(Usd(10_000_000));

    fn answer(provider: &str, usage: Usage, began: bool, end: Ended) -> Answer {
        let mut response = junto_llm::Accumulator::new().into_partial();
        response.provider = provider.into();
        response.model = if provider.is_empty() { String::new() } else { "m".into() };
        response.usage = usage;
        Answer { response, began, end }
    }

    fn made(provider: &str, usage: Usage, cost: Cost) -> Entry {
        Entry::new(&CallCx::new(), provider, "m", usage, cost)
    }

    fn broken(provider: &str, usage: Usage) -> Entry {
        Entry { error: Some(Error::stream("cut")), ..made(provider, usage, Cost::Unknown) }
    }

    /// The provider, the tokens, how many calls they are the sum of, and the cost.
    fn check(answer: &Answer, made: Vec<Entry>, expected: Option<(&str, u64, usize, Cost)>) {
        let booked = Booked::of(answer, made, &Catalog::empty(), None);
        let found =
            booked.as_ref().map(|b| (b.provider.as_str(), b.usage.total, b.usage.calls.len(), b.cost));
        assert_eq!(found, expected);
    }

    #[test]
    fn what_was_written_down_counts_and_else_what_the_answer_says() {
        let usage = || Usage::new(5, 2);
        let whole = || answer("p", usage(), true, Ended::Whole);
        check(&whole(), vec![], Some(("p", 7, 0, Cost::Unknown)));
        check(&whole(), vec![made("p", usage(), CENT)], Some(("p", 7, 0, CENT)));
        // An attempt that broke off before the one that answered.
        let twice = vec![broken("p", Usage::new(5, 0)), made("p", usage(), CENT)];
        check(&whole(), twice, Some(("p", 12, 2, Cost::Unknown)));
        // A council's.
        let council = || answer("council", Usage::default(), true, Ended::Whole);
        check(&council(), vec![made("p", usage(), CENT)], Some(("council", 7, 1, CENT)));
        let members = vec![made("p", usage(), CENT), made("q", usage(), CENT)];
        check(&council(), members, Some(("council", 14, 2, CENT + CENT)));
    }

    #[test]
    fn a_call_that_failed_is_booked_if_something_was_used() {
        let failed = |began| answer("", Usage::default(), began, Ended::Failed(Error::stream("cut")));
        check(&failed(false), vec![], None);
        check(&failed(true), vec![], Some(("", 0, 0, Cost::Unknown)));
        check(&failed(false), vec![broken("p", Usage::new(5, 0))], Some(("p", 5, 0, Cost::Unknown)));
    }
}
