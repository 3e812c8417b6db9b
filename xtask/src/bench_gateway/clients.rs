//! Clients: processes that ask, and print what they saw.

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::processors::Processors;
use crate::Outcome;
use crate::command::capture;

/// Whom to ask, and for what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aim<'a> {
    pub(crate) address: &'a str,
    pub(crate) wire: &'a str,
    pub(crate) model: &'a str,
    pub(crate) key: &'a str,
}

/// The same, for keeping.
#[derive(Clone, Debug)]
pub(crate) struct OwnedAim {
    pub(crate) address: String,
    pub(crate) wire: String,
    pub(crate) model: String,
    pub(crate) key: String,
}

impl Aim<'_> {
    pub(crate) fn owned(&self) -> OwnedAim {
        let Self { address, wire, model, key } = self;
        let text = |text: &str| text.to_owned();
        OwnedAim { address: text(address), wire: text(wire), model: text(model), key: text(key) }
    }
}

impl OwnedAim {
    pub(crate) fn aim(&self) -> Aim<'_> {
        Aim { address: &self.address, wire: &self.wire, model: &self.model, key: &self.key }
    }
}

/// What clients saw that asked for whole answers.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Shots {
    pub(crate) answers: u64,
    pub(crate) failed: u64,
    /// Why the first one failed.
    pub(crate) why: Option<String>,
    pub(crate) seconds: f64,
    pub(crate) p50_us: u64,
    pub(crate) p99_us: u64,
}

/// What clients heard that listened to streams.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Streams {
    /// Streams that came to their end with every piece in its place.
    pub(crate) whole: u64,
    /// Why the first one is not.
    pub(crate) why: Option<String>,
    /// Pieces of those that are.
    pub(crate) pieces: u64,
    /// The most that were under way at a time.
    pub(crate) together: u64,
    /// When all had begun, in milliseconds after the start.
    pub(crate) all_since_ms: Option<u64>,
}

/// Starts clients.
pub(crate) struct Clients {
    on: Processors,
    program: PathBuf,
    size: u32,
}

impl Clients {
    /// Clients whose requests have so many bytes of conversation.
    pub(crate) fn new(on: Processors, program: PathBuf, size: u32) -> Self {
        Self { on, program, size }
    }

    /// Several servers in turns, of so many requests each: what each turn of each was like.
    pub(crate) fn at_rate(
        &self,
        aims: &[Aim<'_>],
        (connections, rate): (u32, u32),
        (turns, requests): (u32, u32),
    ) -> Outcome<Vec<Vec<Shots>>> {
        let Some(first) = aims.first() else { return Ok(Vec::new()) };
        let listed = |of: fn(&Aim<'_>) -> String| aims.iter().map(of).collect::<Vec<_>>().join(",");
        let (addresses, models) = (listed(|aim| aim.address.to_owned()), listed(|aim| aim.model.to_owned()));
        let all = Aim { address: &addresses, model: &models, ..*first };
        let flags = [("connections", connections), ("rate", rate), ("turns", turns), ("requests", requests)];
        let rows: Vec<Vec<Shots>> = self.run("rate", &all, &flags)?;
        rows.into_iter().map(|turns| turns.into_iter().map(all_answered).collect()).collect()
    }

    pub(crate) fn at_full_speed(&self, aim: &Aim<'_>, connections: u32, seconds: u32) -> Outcome<Shots> {
        self.run::<Shots>("full", aim, &[("connections", connections), ("seconds", seconds)])
            .and_then(all_answered)
    }

    pub(crate) fn streams(&self, aim: &Aim<'_>, count: u32, frames: u32, pace: u32) -> Outcome<Streams> {
        self.run("streams", aim, &[("count", count), ("frames", frames), ("pace", pace)])
    }

    fn run<T: DeserializeOwned>(&self, part: &str, aim: &Aim<'_>, flags: &[(&str, u32)]) -> Outcome<T> {
        let mut command = self.on.command(&self.program)?;
        command.arg(part).args(["--to", aim.address, "--wire", aim.wire]);
        command.args(["--model", aim.model, "--key", aim.key, "--size", &self.size.to_string()]);
        for (name, value) in flags {
            command.args([format!("--{name}"), value.to_string()]);
        }
        let said = capture(&mut command)?;
        serde_json::from_str(&said).map_err(|e| format!("the clients said {said:?}: {e}"))
    }
}

/// A failed request has no time, so figures with failures in them mean nothing.
fn all_answered(shots: Shots) -> Outcome<Shots> {
    match &shots.why {
        Some(why) => {
            Err(format!("{} of {} requests failed: {why}", shots.failed, shots.failed + shots.answers))
        }
        None => Ok(shots),
    }
}
