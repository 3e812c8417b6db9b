//! What came of killing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use junto_llm::Wire;

use super::Scenario;

/// Where in the work a kill fell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Before anything of the session was written.
    NotBegun,
    /// While the files were snapshotted.
    Snapshot,
    /// Before the first input, or between two.
    Idle,
    /// While the model answered.
    Model,
    /// While the model summed the conversation up.
    Compaction,
    /// While somebody was asked.
    Approval,
    /// In a tool call.
    Tool,
    /// While a child worked.
    Child,
    /// Between two of these.
    Between,
    /// After the session's last event.
    Over,
}

impl Place {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotBegun => "before anything of the session was written",
            Self::Snapshot => "while the files were snapshotted",
            Self::Idle => "before the first input or between two",
            Self::Model => "while the model answered",
            Self::Compaction => "while the model summed up",
            Self::Approval => "while an approval was waited for",
            Self::Tool => "in a tool call",
            Self::Child => "while a child worked",
            Self::Between => "between two steps",
            Self::Over => "after the last event",
        }
    }
}

/// What came of one session.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was worked on.
    pub scenario: Scenario,
    /// On which wire.
    pub wire: Wire,
    /// What it can be repeated with.
    pub seed: u64,
    /// Where each kill fell that came in time.
    pub kills: Vec<Place>,
    /// How many requests were compared byte for byte.
    pub compared: usize,
    /// How many were compared but for a call that was cut off.
    pub changed: usize,
    /// What was wrong.
    pub faults: Vec<String>,
}

impl Outcome {
    /// The command that tries it again.
    pub fn again(&self) -> String {
        let on = format!("{}/{}", self.scenario.name(), self.wire.name());
        format!("cargo xtask soak sessions --on {on} --seed {} --kills 1", self.seed)
    }
}

/// The outcomes as a page.
pub fn report(outcomes: &[Outcome], took: Duration) -> String {
    let kills = |outcomes: &[&Outcome]| outcomes.iter().map(|outcome| outcome.kills.len()).sum::<usize>();
    let all: Vec<&Outcome> = outcomes.iter().collect();
    let sum = |count: fn(&Outcome) -> usize| outcomes.iter().map(count).sum::<usize>();
    let failed: Vec<&Outcome> = outcomes.iter().filter(|outcome| !outcome.faults.is_empty()).collect();
    let mut page = "# Sessions whose process was killed\n\n".to_owned();
    let _ = writeln!(
        page,
        "{} sessions were killed {} times with SIGKILL, in {} s. {} requests to the model were compared byte for \
         byte with those of runs that nobody killed, and {} more but for the call that was cut off.\n",
        outcomes.len(),
        kills(&all),
        took.as_secs(),
        sum(|outcome| outcome.compared),
        sum(|outcome| outcome.changed),
    );
    match failed.len() {
        0 => page.push_str("Nothing was wrong.\n"),
        1 => page.push_str("**One session was not as it should be.**\n"),
        many => {
            let _ = writeln!(page, "**{many} sessions were not as they should be.**");
        }
    }
    page.push_str("\n| where the kills fell | |\n|---|---:|\n");
    let mut places: BTreeMap<Place, usize> = BTreeMap::new();
    for place in outcomes.iter().flat_map(|outcome| &outcome.kills) {
        *places.entry(*place).or_default() += 1;
    }
    for (place, count) in places {
        let _ = writeln!(page, "| {} | {count} |", place.name());
    }
    page.push_str("\n| kills |");
    for wire in Wire::ALL {
        let _ = write!(page, " {} |", wire.name());
    }
    page.push_str("\n|---|---:|---:|---:|---:|\n");
    for scenario in Scenario::ALL {
        let _ = write!(page, "| {} |", scenario.name());
        for wire in Wire::ALL {
            let here = |outcome: &&&Outcome| outcome.scenario == scenario && outcome.wire == wire;
            let here: Vec<&Outcome> = all.iter().filter(here).copied().collect();
            let _ = write!(page, " {} |", kills(&here));
        }
        page.push('\n');
    }
    for outcome in failed {
        let _ = writeln!(page, "\n## `{}`\n", outcome.again());
        for place in &outcome.kills {
            let _ = writeln!(page, "- killed {}", place.name());
        }
        for fault in &outcome.faults {
            let _ = writeln!(page, "\n```\n{fault}\n```");
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_tells_what_was_wrong_and_how_to_see_it_again() {
        let good = Outcome {
            scenario: Scenario::Rounds,
            wire: Wire::Chat,
            seed: 1,
            kills: vec![Place::Tool, Place::Model],
            compared: 3,
            changed: 1,
            faults: Vec::new(),
        };
        let bad = Outcome { seed: 2, faults: vec!["event 7 was shown".into()], ..good.clone() };
        let page = report(std::slice::from_ref(&good), Duration::from_secs(3));
        assert!(
            page.contains("1 sessions were killed 2 times") && page.contains("Nothing was wrong."),
            "{page}"
        );
        let page = report(&[good, bad], Duration::from_secs(3));
        for part in [
            "| in a tool call | 2 |",
            "| rounds | 0 | 0 | 0 | 4 |",
            "**One session",
            "soak sessions --on rounds/chat --seed 2 --kills 1",
            "event 7 was shown",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}
