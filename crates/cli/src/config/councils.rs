//! The councils that have a name, as they are configured.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Config;
use super::gateway::{Who, perhaps};
use super::problem::Problem;
use super::settings::{KeyPath, Setting};
use super::value::Value;

/// How a council is written where one says who answers.
pub(crate) const PREFIX: &str = "council:";
/// The section of the configuration.
const SECTION: &str = "council";
/// The most members a council may have, and may ask.
const MOST: u64 = 16;

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

    /// What is wrong with the councils: nobody sits in one, somebody sits there whom nobody knows, one sits in
    /// itself, or a number makes no sense.
    pub(super) fn impossible_councils(&self, spoiled: &BTreeSet<KeyPath>) -> Vec<Problem> {
        let names = self.council_names();
        names.iter().flat_map(|name| self.council_problems(name, spoiled)).collect()
    }

    fn council_problems(&self, name: &str, spoiled: &BTreeSet<KeyPath>) -> Vec<Problem> {
        let at = |rest: &[&str]| KeyPath::of(&[&[SECTION, name], rest].concat());
        let of_it = |path: &KeyPath| matches!(path.segments(), [section, owner, ..] if section == SECTION && *owner == name);
        let any = self.settings.iter().find(|(path, _)| of_it(path)).map(|(_, setting)| setting);
        let problem = |path: KeyPath, message: String| {
            let origin = self.settings.get(&path).or(any).map(|setting| &setting.origin)?;
            Some(Problem::at(origin, format!("`{path}`: {message}")))
        };
        let members = at(&["members"]);
        if spoiled.contains(&members) {
            return Vec::new();
        }
        let council = self.council(name);
        let seats = &council.members;
        let count = seats.len() as u64;
        let mut problems = Vec::new();
        if seats.is_empty() {
            problems.push(problem(members.clone(), "a council has members".to_owned()));
        }
        if count > MOST {
            problems.push(problem(members.clone(), format!("a council has at most {MOST} members")));
        }
        for (place, seat) in seats.iter().enumerate() {
            if seats.iter().take(place).any(|other| other.name == seat.name) {
                let message = format!(
                    "\"{}\" sits there twice; give one another name, and `who` in its table",
                    seat.name
                );
                problems.push(problem(members.clone(), message));
            }
            if let Err(message) = self.member(&seat.who) {
                let own = at(&["member", &seat.name, "who"]);
                let path = if self.settings.contains_key(&own) { own } else { members.clone() };
                problems.push(problem(path, message));
            }
        }
        for (key, given) in [("n", council.n), ("quorum", council.quorum)] {
            let most = count.min(MOST);
            if given.is_some_and(|given| !(1..=most).contains(&(given as u64))) && most > 0 {
                let message = format!("expected 1 to {most}, as many as the council has members");
                problems.push(problem(at(&[key]), message));
            }
        }
        if let (Some(quorum), Some(n)) = (council.quorum, council.n)
            && quorum > n
        {
            problems.push(problem(at(&["quorum"]), format!("only {n} are asked, so {quorum} never answer")));
        }
        for (key, who) in council.others() {
            if seats.iter().any(|seat| seat.name == *who) {
                continue;
            }
            if let Err(message) = self.member(who) {
                problems.push(problem(at(&[key]), message));
            }
        }
        for path in self.settings.keys().filter(|path| of_it(path)) {
            if let [_, _, table, member, ..] = path.segments()
                && table == "member"
                && seats.iter().all(|seat| seat.name != *member)
            {
                let known: Vec<String> = seats.iter().map(|seat| seat.name.clone()).collect();
                let near = perhaps(member, &known);
                problems.push(problem(path.clone(), format!("\"{member}\" is not among the members{near}")));
            }
        }
        if self.sits_in_itself(name) {
            problems.push(problem(members, "this council sits in itself".to_owned()));
        }
        problems.into_iter().flatten().collect()
    }

    /// Whether a council is reached from its own members.
    fn sits_in_itself(&self, name: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut next = self.councils_in(name);
        while let Some(other) = next.pop() {
            if other == name {
                return true;
            }
            if seen.insert(other.clone()) {
                next.extend(self.councils_in(&other));
            }
        }
        false
    }

    /// The councils that are asked by this one, be it as its judge.
    fn councils_in(&self, name: &str) -> Vec<String> {
        let council = self.council(name);
        let members = council.members.iter().map(|seat| &seat.who);
        let asked = members.chain(council.others().map(|(_, who)| who));
        asked
            .filter_map(|who| self.alias(who).unwrap_or(who).strip_prefix(PREFIX).map(str::to_owned))
            .collect()
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
