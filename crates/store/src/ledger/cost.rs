//! Tables of what was spent.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use junto_llm::{Cost, Usage, Usd};
use serde::Serialize;

use super::CallRow;

/// By what calls are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// By the day they ended on, in UTC.
    Day,
    /// By session; what was made outside of sessions by what made it.
    Session,
    /// By provider and model.
    Model,
    /// By what whoever made them is called.
    Agent,
    /// By the council they were made for, and within it by provider and model.
    Council,
}

/// What some calls used and cost together. Amounts are exact sums.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CostRow {
    /// What they have in common: a day (`2026-11-15`), an id of a session, `provider/model`, a name.
    pub key: String,
    /// How many they are.
    pub calls: u64,
    /// Tokens.
    pub usage: Usage,
    /// What providers said it cost.
    pub reported: Usd,
    /// What it cost by the catalog's prices.
    pub estimated: Usd,
    /// How many calls cost nobody knows how much: that is in neither sum.
    pub unknown: u64,
}

impl CostRow {
    /// A row of nothing yet.
    pub fn new(key: impl Into<String>) -> Self {
        Self { key: key.into(), ..Self::default() }
    }

    /// Adds a call.
    pub fn add(&mut self, usage: &Usage, cost: Cost) {
        self.calls = self.calls.saturating_add(1);
        self.usage += usage;
        match cost {
            Cost::Reported(usd) => self.reported += usd,
            Cost::Estimated(usd) => self.estimated += usd,
            Cost::Unknown => self.unknown = self.unknown.saturating_add(1),
        }
    }

    /// Everything of which it is known what it cost.
    pub fn known(&self) -> Usd {
        self.reported + self.estimated
    }

    /// The cost of all of them, which is only as well known as that of the least known.
    pub fn cost(&self) -> Cost {
        if self.unknown > 0 {
            Cost::Unknown
        } else if self.estimated == Usd::ZERO {
            Cost::Reported(self.reported)
        } else {
            Cost::Estimated(self.known())
        }
    }

    /// The sum of rows, under another key.
    pub fn sum<'a>(key: impl Into<String>, rows: impl IntoIterator<Item = &'a Self>) -> Self {
        rows.into_iter().fold(Self::new(key), |mut sum, row| {
            sum.calls = sum.calls.saturating_add(row.calls);
            sum.usage += &row.usage;
            sum.reported += row.reported;
            sum.estimated += row.estimated;
            sum.unknown = sum.unknown.saturating_add(row.unknown);
            sum
        })
    }
}

/// Calls, summed up: days in their order, everything else from the dearest down.
pub fn table(calls: impl IntoIterator<Item = CallRow>, by: By) -> Vec<CostRow> {
    let mut rows: BTreeMap<String, CostRow> = BTreeMap::new();
    for call in calls {
        let key = key(&call, by);
        let row = rows.entry(key).or_insert_with_key(|key| CostRow::new(key.as_str()));
        row.add(&call.usage, call.cost);
    }
    let mut rows: Vec<CostRow> = rows.into_values().collect();
    if by != By::Day {
        // Stable: what costs the same stays in the order of its names.
        rows.sort_by_key(|row| std::cmp::Reverse((row.known(), row.usage.total)));
    }
    rows
}

fn key(call: &CallRow, by: By) -> String {
    match by {
        By::Day => call.at.to_zoned(TimeZone::UTC).date().to_string(),
        By::Session => call.session.as_ref().map_or_else(|| call.who.clone(), |session| session.0.clone()),
        By::Model => format!("{}/{}", call.provider, call.model),
        By::Agent => call.who.clone(),
        By::Council => match &call.council {
            Some(council) => format!("{council}: {}/{}", call.provider, call.model),
            None => "no council".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use junto_llm::SessionId;

    use super::*;

    fn call(day: &str, session: Option<&str>, who: &str, model: &str, cost: Cost) -> CallRow {
        CallRow {
            id: String::new(),
            leaf: 0,
            session: session.map(|id| SessionId(id.into())),
            agent: None,
            who: who.into(),
            turn: 1,
            at: format!("{day}T23:59:59.999999Z").parse().unwrap(),
            provider: "p".into(),
            model: model.into(),
            usage: Usage { cache_read: Some(1), ..Usage::new(10, 5) },
            cost,
            prefix: None,
            council: (who == "gateway").then(|| "deep".into()),
        }
    }

    fn calls() -> Vec<CallRow> {
        vec![
            call("2026-11-14", Some("s1"), "junto", "m", Cost::Estimated(Usd(1))),
            call("2026-11-15", Some("s1"), "helper", "m", Cost::Estimated(Usd(2))),
            call("2026-11-15", Some("s2"), "claude", "n", Cost::Reported(Usd(1_000_000_000))),
            call("2026-11-16", None, "gateway", "x", Cost::Unknown),
        ]
    }

    /// Key, calls, reported, estimated, unknown.
    fn check(by: By, expected: &[(&str, u64, i64, i64, u64)]) {
        let rows = table(calls(), by);
        let found: Vec<_> = rows
            .iter()
            .map(|row| (row.key.as_str(), row.calls, row.reported.0, row.estimated.0, row.unknown))
            .collect();
        assert_eq!(found, expected, "{by:?}");
        let sum = CostRow::sum("all", &rows);
        let (usage, known) = (Usage { cache_read: Some(4), ..Usage::new(40, 20) }, Usd(1_000_000_003));
        assert_eq!((sum.calls, sum.usage.clone(), sum.known(), sum.cost()), (4, usage, known, Cost::Unknown));
    }

    #[test]
    fn every_table_has_every_call_once() {
        check(
            By::Day,
            &[("2026-11-14", 1, 0, 1, 0), ("2026-11-15", 2, 1_000_000_000, 2, 0), ("2026-11-16", 1, 0, 0, 1)],
        );
        check(By::Session, &[("s2", 1, 1_000_000_000, 0, 0), ("s1", 2, 0, 3, 0), ("gateway", 1, 0, 0, 1)]);
        check(By::Model, &[("p/n", 1, 1_000_000_000, 0, 0), ("p/m", 2, 0, 3, 0), ("p/x", 1, 0, 0, 1)]);
        check(
            By::Agent,
            &[
                ("claude", 1, 1_000_000_000, 0, 0),
                ("helper", 1, 0, 2, 0),
                ("junto", 1, 0, 1, 0),
                ("gateway", 1, 0, 0, 1),
            ],
        );
        check(By::Council, &[("no council", 3, 1_000_000_000, 3, 0), ("deep: p/x", 1, 0, 0, 1)]);
    }

    #[test]
    fn a_sum_is_as_well_known_as_its_parts() {
        let cost = |costs: &[Cost]| {
            let mut row = CostRow::new("");
            for cost in costs {
                row.add(&Usage::default(), *cost);
            }
            row.cost()
        };
        let (reported, estimated) = (Cost::Reported(Usd(3)), Cost::Estimated(Usd(4)));
        assert_eq!(cost(&[]), Cost::Reported(Usd::ZERO));
        assert_eq!(cost(&[reported, reported]), Cost::Reported(Usd(6)));
        assert_eq!(cost(&[reported, estimated]), Cost::Estimated(Usd(7)));
        assert_eq!(cost(&[reported, Cost::Unknown, estimated]), Cost::Unknown);
    }
}
