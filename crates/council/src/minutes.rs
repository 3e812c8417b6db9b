//! What is written down while a council works, and told when it has ended.

use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use junto_llm::{CallCx, Cost, Error, LeafCall, Response, Tally, Usage, Usd};
use tokio::time::Instant;

use crate::{Asked, Decision, Deliberation, Duty, Ended, Member, Mode, Outcome, Report, Why};

/// The record of one call. Dropping it tells of it, so that every call is told of once.
pub(crate) struct Minutes {
    began: Instant,
    report: Option<Report>,
    state: Mutex<State>,
}

struct State {
    deliberation: Deliberation,
    rows: Vec<Row>,
}

struct Row {
    /// Where it stands among the others.
    place: usize,
    asked: Asked,
    calls: Vec<LeafCall>,
}

impl Minutes {
    /// Of a call of this context.
    pub(crate) fn new(council: &str, mode: Mode, cx: &CallCx, report: Option<Report>) -> Self {
        let deliberation = Deliberation {
            council: council.to_owned(),
            call: cx.call.clone(),
            session: cx.session.clone(),
            mode,
            fan_out: Decision::Single(Why::Undecided),
            asked: Vec::new(),
            // Until something else has come of it.
            outcome: Outcome::Cancelled,
            reason: "the caller ended it".to_owned(),
            input: 0,
            output: 0,
            cost: Cost::Estimated(Usd::ZERO),
            millis: 0,
        };
        let state = Mutex::new(State { deliberation, rows: Vec::new() });
        Self { began: Instant::now(), report, state }
    }

    /// Whether several are asked.
    pub(crate) fn decided(&self, decision: Decision) {
        self.state().deliberation.fan_out = decision;
    }

    /// What was decided so far.
    pub(crate) fn decision(&self) -> Decision {
        self.state().deliberation.fan_out
    }

    /// Somebody is asked.
    pub(crate) fn begin(&self, member: &Member, duty: Duty, place: usize, outer: Option<Tally>) -> Entry<'_> {
        let asked = Asked {
            name: member.name.clone(),
            model: member.model.clone(),
            duty,
            ended: Ended::Dropped,
            digest: None,
            votes: 0,
            chosen: false,
            input: 0,
            output: 0,
            cost: Cost::Unknown,
            millis: 0,
        };
        let mut state = self.state();
        state.rows.push(Row { place, asked, calls: Vec::new() });
        let row = state.rows.len() - 1;
        Entry {
            minutes: self,
            row,
            began: Instant::now(),
            tally: Tally::default(),
            outer,
            usage: Usage::default(),
        }
    }

    /// What the member at this place proposed, for the last time it was asked.
    pub(crate) fn proposed(&self, place: usize, duty: Duty, change: impl FnOnce(&mut Asked)) {
        let mut state = self.state();
        let mut rows = state.rows.iter_mut().rev();
        if let Some(row) = rows.find(|row| row.place == place && row.asked.duty == duty) {
            change(&mut row.asked);
        }
    }

    /// What the member at this place took, for people.
    pub(crate) fn took(&self, place: usize, duty: Duty) -> String {
        let mut said = String::new();
        self.proposed(place, duty, |asked| {
            let seconds = Duration::from_millis(asked.millis).as_secs_f64();
            said = format!("{seconds:.1}s, {} tokens in, {} out", asked.input, asked.output);
            if asked.cost != Cost::Unknown {
                let _ = write!(said, ", {}", asked.cost);
            }
        });
        said
    }

    /// What came of it.
    pub(crate) fn ended(&self, outcome: Outcome, reason: impl Into<String>) {
        let deliberation = &mut self.state().deliberation;
        deliberation.outcome = outcome;
        deliberation.reason = reason.into();
    }

    /// What all who were asked used, with each of their calls.
    pub(crate) fn usage(&self) -> Usage {
        let mut state = self.state();
        state.rows.sort_by_key(|row| row.place);
        let mut usage = Usage::default();
        let calls: Vec<LeafCall> = state.rows.iter().flat_map(|row| row.calls.iter().cloned()).collect();
        for call in &calls {
            usage += &call.usage;
        }
        Usage { calls, ..usage }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Minutes {
    fn drop(&mut self) {
        let Some(report) = self.report.take() else { return };
        let millis = millis(self.began);
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.rows.sort_by_key(|row| row.place);
        let deliberation = &mut state.deliberation;
        deliberation.millis = millis;
        for Row { asked, .. } in state.rows.drain(..) {
            deliberation.input = deliberation.input.saturating_add(asked.input);
            deliberation.output = deliberation.output.saturating_add(asked.output);
            deliberation.cost = deliberation.cost + asked.cost;
            deliberation.asked.push(asked);
        }
        report.tell(deliberation);
    }
}

/// One who is being asked. Dropping it writes down what that took, also where nobody waited for the
/// end; and what was written into its tally goes on to the caller's.
pub(crate) struct Entry<'a> {
    minutes: &'a Minutes,
    row: usize,
    began: Instant,
    tally: Tally,
    outer: Option<Tally>,
    usage: Usage,
}

impl Entry<'_> {
    /// Where whoever asks a model for it writes down what that used.
    pub(crate) fn tally(&self) -> Tally {
        self.tally.clone()
    }

    /// How it ended, and what it says it used: also one that failed has used something.
    pub(crate) fn end(&mut self, member: &Member, result: &Result<Response, Error>, usage: Usage) {
        let ended = match result {
            Ok(response) => {
                let tools: Vec<String> = response.tool_calls().map(|call| call.name.clone()).collect();
                if tools.is_empty() { Ended::Answered } else { Ended::Called { tools } }
            }
            Err(error) => Ended::left_out(error.kind(), error.to_string()),
        };
        let calls = calls(member, result, usage.clone());
        self.usage = usage;
        if let Some(row) = self.minutes.state().rows.get_mut(self.row) {
            row.asked.ended = ended;
            row.calls = calls;
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let entries = self.tally.take();
        let (mut usage, mut cost) = (Usage::default(), Cost::Estimated(Usd::ZERO));
        for (i, entry) in entries.iter().enumerate() {
            usage += &entry.usage;
            // The first as it is: what was reported stays so.
            cost = if i == 0 { entry.cost } else { cost + entry.cost };
        }
        // Without entries nothing was used, or it was used by somebody who keeps no books.
        if entries.is_empty() && self.usage != Usage::default() {
            (usage, cost) = (self.usage.clone(), Cost::Unknown);
        }
        if let Some(outer) = &self.outer {
            for entry in entries {
                outer.add(entry);
            }
        }
        let millis = millis(self.began);
        if let Some(row) = self.minutes.state().rows.get_mut(self.row) {
            row.asked.input = usage.input;
            row.asked.output = usage.output;
            row.asked.cost = cost;
            row.asked.millis = millis;
        }
    }
}

/// The model calls that were made for an answer. Whoever failed before it used anything made none.
fn calls(member: &Member, result: &Result<Response, Error>, usage: Usage) -> Vec<LeafCall> {
    if result.is_err() && usage == Usage::default() {
        return Vec::new();
    }
    let asked = (member.provider_name.as_ref().unwrap_or(&member.name), member.model.as_ref());
    let (provider, model) = match result {
        Ok(response) => (&response.provider, Some(&response.model)),
        Err(_) => asked,
    };
    usage.into_calls(provider, model.map_or("", String::as_str))
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
