//! The councils that have a name, as they are configured.

mod faults;

use std::collections::BTreeSet;
use std::time::Duration;

use super::Config;
use super::gateway::{Who, perhaps};
use super::settings::{KeyPath, Setting};
use super::value::Value;

/// How a council is written where one says who answers.
pub(crate) const PREFIX: &str = "council:";
/// The section of the configuration.
const SECTION: &str = "council";

/// A council as it is configured. What is absent is the library's to settle.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CouncilSettings {
    /// Its name.
    pub(crate) name: String,
    /// Who sits in it, in order.
    pub(crate) members: Vec<SeatSettings>,
    /// Who chooses where members differ.
    pub(crate) judge: Option<String>,
    /// Who writes an answer of several.
    pub(crate) synthesizer: Option<String>,
    /// Who says whether a question is worth several minds.
    pub(crate) triage: Option<String>,
    /// Who does a client's chores.
    pub(crate) chores: Option<String>,
    /// How an answer is made of several.
    pub(crate) mode: Option<String>,
    /// When more than one is asked.
    pub(crate) fan_out: Option<String>,
    /// Which turns of a tool loop that is about.
    pub(crate) scope: Option<String>,
    /// How many a turn asks.
    pub(crate) n: Option<usize>,
    /// How many sound answers are enough.
    pub(crate) quorum: Option<usize>,
    /// How long the others may take once these are there.
    pub(crate) straggler: Option<Duration>,
    /// How long all of it may take.
    pub(crate) within: Option<Duration>,
    /// How long the judge may take.
    pub(crate) judge_within: Option<Duration>,
    /// The most dollars of one turn.
    pub(crate) max_usd: Option<f64>,
    /// The most tokens of one turn.
    pub(crate) max_tokens: Option<u64>,
    /// How thorough members shall be, in words, or the word for ours; empty: nothing is said of it.
    pub(crate) directive: Option<String>,
}

/// A member as it is configured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SeatSettings {
    /// What it is called in the council.
    pub(crate) name: String,
    /// Who sits there, as it is written; its name, unless something else is.
    pub(crate) who: String,
    /// What it is told beside the request.
    pub(crate) framing: Option<String>,
    /// How hard it thinks.
    pub(crate) effort: Option<String>,
    /// The most dollars of its part in one turn.
    pub(crate) max_usd: Option<f64>,
    /// The most tokens of its part in one turn.
    pub(crate) max_tokens: Option<u64>,
    /// How long its whole answer may take.
    pub(crate) within: Option<Duration>,
    /// How long it may be silent.
    pub(crate) silence: Option<Duration>,
}

impl CouncilSettings {
    /// A council of these, of which nothing else is said.
    pub(crate) fn of(name: &str, members: &[String]) -> Self {
        let members = members.iter().map(|member| SeatSettings::of(member)).collect();
        Self { name: name.to_owned(), members, ..Self::default() }
    }

    /// Those who are asked beside the members, each with the key that names them.
    fn others(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let others = [
            ("judge", &self.judge),
            ("synthesizer", &self.synthesizer),
            ("triage", &self.triage),
            ("chores", &self.chores),
        ];
        others.into_iter().filter_map(|(key, who)| Some((key, who.as_ref()?)))
    }
}

impl SeatSettings {
    /// One of whom nothing but this is said.
    pub(crate) fn of(who: &str) -> Self {
        Self { name: who.to_owned(), who: who.to_owned(), ..Self::default() }
    }
}

impl Config {
    /// The names of the councils.
    pub(crate) fn council_names(&self) -> Vec<String> {
        let paths = self.settings.keys().map(KeyPath::segments);
        let names = paths.filter(|path| path.len() > 2 && path.first().is_some_and(|first| first == SECTION));
        let names: BTreeSet<&String> = names.filter_map(|path| path.get(1)).collect();
        names.into_iter().cloned().collect()
    }

    /// The council that is meant by `council:NAME`; none if the text means no council.
    ///
    /// # Errors
    /// If there is no council of this name; the nearest is named.
    pub(crate) fn council_named(&self, text: &str) -> Option<Result<CouncilSettings, String>> {
        let name = text.strip_prefix(PREFIX)?;
        let known = self.council_names();
        Some(if known.iter().any(|known| known == name) {
            Ok(self.council(name))
        } else if known.is_empty() {
            Err(format!("there is no council \"{name}\"; [council.{name}] in the configuration makes one"))
        } else {
            Err(format!("there is no council \"{name}\"{}", perhaps(name, &known)))
        })
    }

    /// How a council is configured.
    pub(crate) fn council(&self, name: &str) -> CouncilSettings {
        let table = Table { config: self, path: vec![SECTION, name] };
        let members = table.texts("members").unwrap_or_default();
        let seat = |member: &String| {
            let table = table.below(["member", member]);
            SeatSettings {
                name: member.clone(),
                who: table.text("who").unwrap_or_else(|| member.clone()),
                framing: table.text("framing"),
                effort: table.text("effort"),
                max_usd: table.number("max_usd"),
                max_tokens: table.count("max_tokens"),
                within: table.duration("within"),
                silence: table.duration("silence"),
            }
        };
        let size = |key: &str| table.count(key).map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        CouncilSettings {
            name: name.to_owned(),
            members: members.iter().map(seat).collect(),
            judge: table.text("judge"),
            synthesizer: table.text("synthesizer"),
            triage: table.text("triage"),
            chores: table.text("chores"),
            mode: table.text("mode"),
            fan_out: table.text("fan_out"),
            scope: table.text("scope"),
            n: size("n"),
            quorum: size("quorum"),
            straggler: table.duration("straggler"),
            within: table.duration("within"),
            judge_within: table.duration("judge_within"),
            max_usd: table.number("max_usd"),
            max_tokens: table.count("max_tokens"),
            directive: table.text("directive"),
        }
    }

    /// Who is meant by the name of a member, a judge or a synthesizer.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn member(&self, text: &str) -> Result<Who, String> {
        if self.runner_names().iter().any(|known| known == text) {
            return Ok(Who::Cli(text.to_owned(), None));
        }
        match self.one(text)? {
            Who::Provider(name, None) => Err(format!("\"{name}/*\" names no model, and a member has one")),
            who => Ok(who),
        }
    }
}

/// A table of the configuration.
struct Table<'a> {
    config: &'a Config,
    path: Vec<&'a str>,
}

impl<'a> Table<'a> {
    fn below(&self, path: [&'a str; 2]) -> Self {
        Self { config: self.config, path: [&self.path[..], &path].concat() }
    }

    fn get(&self, key: &str) -> Option<&'a Setting> {
        self.config.settings.get(&KeyPath::of(&[&self.path[..], &[key]].concat()))
    }

    fn text(&self, key: &str) -> Option<String> {
        match &self.get(key)?.value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    fn texts(&self, key: &str) -> Option<&'a [String]> {
        match &self.get(key)?.value {
            Value::Texts(texts) => Some(texts),
            _ => None,
        }
    }

    fn count(&self, key: &str) -> Option<u64> {
        match self.get(key)?.value {
            Value::Count(number) => Some(number),
            _ => None,
        }
    }

    fn number(&self, key: &str) -> Option<f64> {
        match self.get(key)?.value {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    fn duration(&self, key: &str) -> Option<Duration> {
        match self.get(key)?.value {
            Value::Duration(duration) => Some(duration),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
