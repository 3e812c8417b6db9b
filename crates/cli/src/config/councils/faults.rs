//! What is wrong with councils as they are configured.

use std::collections::BTreeSet;

use super::{CouncilSettings, PREFIX, SECTION};
use crate::config::Config;
use crate::config::gateway::perhaps;
use crate::config::problem::Problem;
use crate::config::settings::KeyPath;

/// The most members a council may have, and may ask.
const MOST: usize = 16;

impl Config {
    /// What is wrong with the councils: nobody sits in one, somebody sits there whom nobody knows, one sits in
    /// itself, or a number makes no sense.
    pub(in crate::config) fn impossible_councils(&self, spoiled: &BTreeSet<KeyPath>) -> Vec<Problem> {
        let mut problems = Vec::new();
        for name in self.council_names() {
            // What is wrong with its members was said.
            if spoiled.contains(&KeyPath::of(&[SECTION, &name, "members"])) {
                continue;
            }
            let council = self.council(&name);
            let mut faults = Faults { config: self, council: &council, problems: &mut problems };
            faults.of_members();
            faults.of_numbers();
            faults.of_others();
            faults.of_strangers();
            faults.of_circles();
        }
        problems
    }

    /// The councils that are asked by this one, be it as its judge.
    fn councils_in(&self, name: &str) -> Vec<String> {
        let council = self.council(name);
        let members = council.members.iter().map(|seat| &seat.who);
        let asked = members.chain(council.others().map(|(_, who)| who));
        let council = |who: &String| self.alias(who).unwrap_or(who).strip_prefix(PREFIX).map(str::to_owned);
        asked.filter_map(council).collect()
    }
}

/// Finds what is wrong with one council.
struct Faults<'a> {
    config: &'a Config,
    council: &'a CouncilSettings,
    problems: &'a mut Vec<Problem>,
}

impl Faults<'_> {
    /// Says what is wrong with a key of the council; or, where that is not set, with the council.
    fn at(&mut self, key: &[&str], message: impl AsRef<str>) {
        let path = KeyPath::of(&[&[SECTION, self.council.name.as_str()], key].concat());
        let settings = &self.config.settings;
        let any = || settings.iter().find(|(path, _)| self.is_own(path)).map(|(_, setting)| setting);
        if let Some(setting) = settings.get(&path).or_else(any) {
            let message = format!("`{path}`: {}", message.as_ref());
            self.problems.push(Problem::at(&setting.origin, message));
        }
    }

    fn is_own(&self, path: &KeyPath) -> bool {
        matches!(path.segments(), [section, name, ..] if section == SECTION && *name == self.council.name)
    }

    fn of_members(&mut self) {
        let seats = &self.council.members;
        if seats.is_empty() {
            self.at(&["members"], "a council has members");
        } else if seats.len() > MOST {
            self.at(&["members"], format!("a council has at most {MOST} members"));
        }
        for (place, seat) in seats.iter().enumerate() {
            let name = &seat.name;
            if seats.iter().take(place).any(|other| other.name == *name) {
                let message =
                    format!("\"{name}\" sits there twice; give one another name, and `who` in its table");
                self.at(&["members"], message);
            }
            if let Err(message) = self.config.member(&seat.who) {
                let own: &[&str] = &["member", name, "who"];
                self.at(if seat.who == *name { &["members"] } else { own }, message);
            }
        }
    }

    fn of_numbers(&mut self) {
        let CouncilSettings { members, n, quorum, .. } = self.council;
        let most = members.len().min(MOST);
        let fits = |number: &usize| most == 0 || (1..=most).contains(number);
        for (key, number) in [("n", n), ("quorum", quorum)] {
            if number.is_some_and(|number| !fits(&number)) {
                self.at(&[key], format!("expected 1 to {most}, as many as the council has members"));
            }
        }
        if let (Some(quorum), Some(n)) = (quorum.filter(fits), n.filter(fits))
            && quorum > n
        {
            self.at(&["quorum"], format!("only {n} are asked, so {quorum} never answer"));
        }
    }

    fn of_others(&mut self) {
        let council = self.council;
        for (key, who) in council.others() {
            let is_member = council.members.iter().any(|seat| seat.name == *who);
            if let (false, Err(message)) = (is_member, self.config.member(who)) {
                self.at(&[key], message);
            }
        }
    }

    /// Tables of members who are none.
    fn of_strangers(&mut self) {
        let known: Vec<String> = self.council.members.iter().map(|seat| seat.name.clone()).collect();
        let paths = self.config.settings.keys().filter(|path| self.is_own(path));
        let strangers: BTreeSet<(&String, &String)> = paths
            .filter_map(|path| match path.segments() {
                [_, _, table, member, key, ..] if table == "member" => Some((member, key)),
                _ => None,
            })
            .filter(|(member, _)| !known.contains(member))
            .collect();
        for (member, key) in strangers {
            let message = format!("\"{member}\" is not among the members{}", perhaps(member, &known));
            self.at(&["member", member, key], message);
        }
    }

    fn of_circles(&mut self) {
        let name = &self.council.name;
        let mut seen = BTreeSet::new();
        let mut next = self.config.councils_in(name);
        while let Some(other) = next.pop() {
            if other == *name {
                return self.at(&["members"], "this council sits in itself");
            }
            if seen.insert(other.clone()) {
                next.extend(self.config.councils_in(&other));
            }
        }
    }
}
