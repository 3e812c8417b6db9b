//! What a session has on disk, read without the code that writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use junto_core::{AgentId, Body, CallPurpose, Event, Seq, Via};
use serde_json::Value;

use super::Tried;

/// The events of one session.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    pub(super) events: Vec<Event>,
    /// Each as it stands there.
    values: BTreeMap<u64, Value>,
}

/// The journals below a folder of everything that is kept. A process that was killed before its session began may
/// have left one without events.
pub(super) fn journals(state: &Path) -> Vec<PathBuf> {
    let Ok(sessions) = fs::read_dir(state.join("sessions")) else { return Vec::new() };
    let files = sessions.filter_map(Result::ok).map(|entry| entry.path().join("journal.jsonl"));
    files.filter(|file| file.exists()).collect()
}

/// How many bytes the journals have together.
pub(super) fn size(state: &Path) -> u64 {
    let sizes = journals(state).into_iter().filter_map(|file| fs::metadata(file).ok());
    sizes.map(|found| found.len()).sum()
}

impl Journal {
    /// The one that has events; empty if none has.
    pub(super) fn of(state: &Path) -> Tried<Self> {
        let mut found = Self::default();
        for file in journals(state) {
            let journal = Self::read(&file)?;
            if !journal.events.is_empty() && !found.events.is_empty() {
                return Err(format!("there are two sessions below {}", state.display()));
            }
            if !journal.events.is_empty() {
                found = journal;
            }
        }
        Ok(found)
    }

    /// Reads a journal up to its last whole line.
    fn read(file: &Path) -> Tried<Self> {
        let text = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut journal = Self::default();
        for line in text.get(..whole).unwrap_or_default().split_inclusive(|byte| *byte == b'\n').skip(1) {
            let wrong = |error: serde_json::Error| format!("{}: {error}", file.display());
            let mut line: Value = serde_json::from_slice(line).map_err(wrong)?;
            let value = line["e"].take();
            let event: Event = serde_json::from_value(value.clone()).map_err(wrong)?;
            journal.values.insert(event.seq.0, value);
            journal.events.push(event);
        }
        Ok(journal)
    }

    /// The session's id.
    pub(super) fn session(&self) -> Option<&str> {
        self.events.first().map(|event| event.session.0.as_str())
    }

    /// The event at a position, as it stands there.
    pub(super) fn value(&self, seq: u64) -> Option<&Value> {
        self.values.get(&seq)
    }

    fn root(&self) -> Option<&AgentId> {
        self.events.first().map(|event| &event.agent)
    }

    /// The events of the session's own agent.
    pub(super) fn own(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.events.iter().filter(|event| Some(&event.agent) == self.root())
    }

    fn count(&self, name: &str) -> usize {
        self.own().filter(|event| event.body.name() == name).count()
    }

    /// How many inputs there were.
    pub(super) fn inputs(&self) -> usize {
        self.count("user_input")
    }

    /// Whether the last input has no end.
    pub(super) fn is_open(&self) -> bool {
        self.count("user_input") > self.count("input_end")
    }

    /// Whether the session is over.
    pub(super) fn is_over(&self) -> bool {
        self.own().next_back().is_some_and(|event| matches!(event.body, Body::SessionEnd { .. }))
    }

    /// What the model was told at the beginning.
    pub(super) fn system(&self) -> Option<String> {
        match &self.events.first()?.body {
            Body::SessionStart { setup: Some(setup), .. } => Some(setup.system.preview()),
            _ => None,
        }
    }

    /// Whether somebody was heard while the agent worked.
    pub(super) fn is_steered(&self) -> bool {
        self.count("steering_injected") > 0
    }

    /// Whether something was approved or refused.
    pub(super) fn is_answered(&self) -> bool {
        self.count("answered") > 0
    }

    /// Whether an approval is waited for.
    pub(super) fn is_asking(&self) -> bool {
        let mut asked = BTreeSet::new();
        for event in &self.events {
            match &event.body {
                Body::SessionResumed { .. } => asked.clear(),
                Body::Ask { request } => drop(asked.insert(&request.ask)),
                Body::Answered { ask, .. } => drop(asked.remove(ask)),
                _ => {}
            }
        }
        !asked.is_empty()
    }

    /// Whether a child has not ended.
    pub(super) fn has_children(&self) -> bool {
        let of_children = |name: &str| {
            self.events.iter().filter(|event| event.parent.is_some() && event.body.name() == name).count()
        };
        of_children("session_start") > of_children("session_end")
    }

    /// The ids of the agent's own tool calls that started and have not ended.
    pub(super) fn running(&self) -> Vec<String> {
        let mut open: BTreeMap<Seq, &str> = BTreeMap::new();
        for event in self.own() {
            match &event.body {
                Body::ToolCallStart { call, via: Via::Loop } => drop(open.insert(event.seq, &call.id)),
                Body::ToolCallEnd { of: Some(of), .. } => drop(open.remove(of)),
                _ => {}
            }
        }
        open.into_values().map(str::to_owned).collect()
    }

    /// How many requests there were before the result of a command that took a second or more. The model is told how
    /// many, so what it is asked then depends on how busy the machine is.
    pub(super) fn timeless(&self) -> usize {
        let is_slow = |event: &Event| match &event.body {
            Body::ToolCallEnd { output, .. } => {
                let output = output.preview();
                let last = output.lines().next_back().unwrap_or_default();
                last.starts_with('[') && last.ends_with(" s]") && last.contains(" after ")
            }
            _ => false,
        };
        let Some(slow) = self.own().position(is_slow) else { return usize::MAX };
        let until = Self { events: self.own().take(slow).cloned().collect(), ..Self::default() };
        until.answers().len()
    }

    /// What the agent's model calls were for that have come to their end. A hand-over that came to nothing
    /// is asked for again, so it does not count.
    pub(super) fn answers(&self) -> Vec<CallPurpose> {
        let mut answers = Vec::new();
        let mut summed_up = false;
        for event in self.own() {
            match &event.body {
                Body::Call { purpose: CallPurpose::Compaction, .. } => summed_up = true,
                Body::Call { purpose, .. } => {
                    summed_up = false;
                    answers.push(*purpose);
                }
                Body::Compacted { .. } if std::mem::take(&mut summed_up) => {
                    answers.push(CallPurpose::Compaction);
                }
                _ => {}
            }
        }
        answers
    }
}
