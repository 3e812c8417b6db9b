//! What councils did, summed up: whether asking several was worth it is seen from how often that changed anything.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use junto::store::DeliberationRow;

/// What became of one council's answers.
#[derive(Default)]
struct Sums {
    answers: u64,
    several: u64,
    /// How often each outcome was, by its word.
    outcomes: BTreeMap<String, u64>,
    /// How often each of those who were asked was left out, by name.
    left_out: BTreeMap<String, u64>,
}

impl Sums {
    fn add(&mut self, row: &DeliberationRow) {
        let minutes = &row.minutes;
        self.answers += 1;
        let several = minutes["fan_out"]["decision"] == "fan_out";
        self.several += u64::from(several);
        if several && let Some(outcome) = minutes["outcome"].as_str() {
            *self.outcomes.entry(outcome.to_owned()).or_default() += 1;
        }
        for asked in minutes["asked"].as_array().into_iter().flatten() {
            if asked["ended"]["how"] == "left_out"
                && let Some(name) = asked["name"].as_str()
            {
                *self.left_out.entry(name.to_owned()).or_default() += 1;
            }
        }
    }
}

/// A line for each council.
pub(super) fn sums(rows: &[DeliberationRow]) -> String {
    let mut councils: BTreeMap<&str, Sums> = BTreeMap::new();
    for row in rows {
        let name = row.minutes["council"].as_str().unwrap_or_default();
        councils.entry(name).or_default().add(row);
    }
    let mut text = String::new();
    for (name, Sums { answers, several, outcomes, left_out }) in councils {
        let times = if answers == 1 { "time" } else { "times" };
        let _ = write!(text, "\n{name} answered {answers} {times}: asked several {several}");
        for (outcome, count) in outcomes {
            let _ = write!(text, ", {outcome} {count}");
        }
        for (member, count) in left_out {
            let _ = write!(text, "; {member} left out {count}");
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::*;

    fn row(decision: &str, outcome: &str, asked: Value) -> DeliberationRow {
        let fan_out = json!({"decision": decision, "why": "policy"});
        DeliberationRow {
            call: "c".into(),
            at: Timestamp::UNIX_EPOCH,
            session: None,
            source: "gateway".into(),
            minutes: json!({"council": "pair", "fan_out": fan_out, "outcome": outcome, "asked": asked}),
        }
    }

    #[test]
    fn outcomes_and_those_left_out_are_counted() {
        let failed =
            json!([{"name": "a", "ended": {"how": "answered"}}, {"name": "b", "ended": {"how": "left_out"}}]);
        let rows = [
            row("fan_out", "agreed", json!([])),
            row("fan_out", "selected", failed),
            row("single", "only", json!([])),
        ];
        let said = "\npair answered 3 times: asked several 2, agreed 1, selected 1; b left out 1\n";
        assert_eq!(sums(&rows), said);
        assert_eq!(sums(&[]), "");
    }
}
