//! What was asked for on the command line, kept with the session so that it holds when it is resumed.

use std::collections::BTreeMap;

use junto::core::{Body, Event, ResumeHandle};
use junto::llm::{Allowance, Usd};
use serde::{Deserialize, Serialize};

use crate::args::WorkArgs;
use crate::config::{FlagValue, known_key};
use crate::environment::Environment;

/// Who made the handle that holds them.
const KIND: &str = "junto";
/// The version of their form.
const VERSION: u32 = 1;
/// Settings that are not remembered: the time of one run, and what the session itself knows.
const ONCE: &[&str] = &["timeouts.run", "provider", "model", "effort"];

/// The flags of a run that its session remembers, limits of the whole session among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Flags {
    /// Flags that are settings, by key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    settings: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    council: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    no_tools: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    web: bool,
    /// How earlier versions noted `--ask`, which is a setting now.
    #[serde(skip_serializing)]
    ask: bool,
}

impl Flags {
    /// Those of this command line.
    pub(super) fn of(args: &WorkArgs, environment: &Environment) -> Self {
        let lasting = |value: &FlagValue| !ONCE.contains(&value.key);
        let settings = args.values().into_iter().filter(lasting);
        let settings = settings.map(|FlagValue { key, text, .. }| {
            // A file that is named from here must be found from elsewhere.
            let file = environment.directory().join(&text);
            let names_file = ["profile", "policy.sandbox_config"].contains(&key);
            let file = (names_file && file.is_file()).then(|| file.display().to_string());
            (key.to_owned(), file.unwrap_or(text))
        });
        Self {
            settings: settings.collect(),
            council: args.council.clone(),
            tools: args.tool.clone(),
            no_tools: args.no_tool.clone(),
            web: args.web,
            ask: false,
        }
    }

    /// Those that a session remembers last.
    pub(super) fn in_events<'a>(events: impl DoubleEndedIterator<Item = &'a Event>) -> Self {
        let handles = events.rev().filter_map(|event| match &event.body {
            Body::Handle { handle } if handle.kind == KIND && handle.v == VERSION => Some(&handle.data),
            _ => None,
        });
        let mut read = handles.filter_map(|data| serde_json::from_value(data.clone()).ok());
        read.next().unwrap_or_default()
    }

    /// The same, with settings that the session remembers and of which nothing was said now.
    pub(super) fn upon(mut self, earlier: &Self) -> Self {
        for (key, text) in &earlier.settings {
            self.settings.entry(key.clone()).or_insert_with(|| text.clone());
        }
        self
    }

    /// Takes out the settings of these keys.
    pub(super) fn forget(&mut self, keys: &[(&str, &str)]) {
        self.settings.retain(|own, _| !keys.iter().any(|(key, _)| key == own));
    }

    /// As an event; none if the session remembers these already.
    pub(super) fn event(&self, remembered: &Self) -> Option<Body> {
        let data = serde_json::to_value(self).ok().filter(|_| self != remembered)?;
        Some(Body::Handle { handle: ResumeHandle { kind: KIND.to_owned(), v: VERSION, data } })
    }

    /// Adds what the session remembers to what was asked for now, which outweighs it.
    pub(super) fn under(self, args: &mut WorkArgs) {
        if args.council.is_empty() && args.model.model.is_none() && args.model.provider.is_none() {
            args.council = self.council;
        }
        let WorkArgs { tool, no_tool, .. } = args;
        // What is said again is said once.
        let taken = self.no_tools.into_iter().filter(|name| !tool.contains(name));
        let taken: Vec<String> = taken.filter(|name| !no_tool.contains(name)).collect();
        no_tool.extend(taken);
        let given: Vec<String> = self.tools.into_iter().filter(|name| !tool.contains(name)).collect();
        tool.extend(given);
        args.web |= self.web;
        args.ask |= self.ask && args.policy.is_none();
    }

    /// What they let the session spend in all.
    pub(super) fn limit(&self) -> Allowance {
        let text = |key| self.settings.get(key).map(String::as_str);
        let usd = text("limits.max_usd").and_then(|text| text.parse().ok()).map(Usd::from_dollars);
        Allowance { usd, tokens: text("limits.max_tokens").and_then(|text| text.parse().ok()) }
    }

    /// The settings among them, as a layer under the flags.
    pub(super) fn values(&self) -> Vec<FlagValue> {
        let known = self.settings.iter().filter_map(|(key, text)| Some((known_key(key)?, text)));
        known.map(|(key, text)| FlagValue { key, flag: "--resume", text: text.clone() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn args(flags: &[&str]) -> WorkArgs {
        let cli = Cli::parse_from([&["junto", "run"], flags].concat());
        match cli.command {
            Some(Command::Run(run)) => run.work,
            other => panic!("{other:?}"),
        }
    }

    fn kept(flags: &[&str]) -> Flags {
        Flags::of(&args(flags), &Environment::of(Path::new("/"), &[]))
    }

    #[test]
    fn what_holds_for_one_run_is_not_kept() {
        assert_eq!(kept(&["-m", "x", "--effort", "low", "--timeout", "1m"]).event(&Flags::default()), None);
        let lasting = kept(&["--instructions", "Be kind.", "--max-usd", "1", "--web", "--no-tool", "shell"]);
        let Some(Body::Handle { handle }) = lasting.event(&Flags::default()) else { panic!("{lasting:?}") };
        let settings = serde_json::json!({"instructions": "Be kind.", "limits.max_usd": "1"});
        let expected = serde_json::json!({"settings": settings, "web": true, "no_tools": ["shell"]});
        assert_eq!(handle.data, expected);
        assert_eq!(lasting.event(&lasting), None);
        assert!(Flags::default().event(&lasting).is_some(), "that there are none any more is remembered too");
        assert_eq!(lasting.limit(), Allowance::usd(Usd::from_dollars(1.0)));
        assert_eq!(kept(&["--max-tokens", "90"]).limit(), Allowance::tokens(90));
    }

    #[test]
    fn what_is_said_later_adds_to_what_was_kept() {
        let check = |then: &[&str], now: &[&str], together: &[&str]| {
            let earlier = kept(then);
            let mut now = args(now);
            earlier.clone().under(&mut now);
            let now = Flags::of(&now, &Environment::of(Path::new("/"), &[])).upon(&earlier);
            assert_eq!(now, kept(together));
        };
        check(&["--code", "--web"], &["--max-usd", "1"], &["--code", "--web", "--max-usd", "1"]);
        check(
            &["--max-usd", "2", "--tool", "list_dir"],
            &["--max-usd", "1"],
            &["--max-usd", "1", "--tool", "list_dir"],
        );
        check(&["--code"], &[], &["--code"]);
    }

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn what_is_asked_for_now_outweighs_what_was_kept() {
        let check = |then: &[&str], now: &[&str], tools: &[&str], no_tools: &[&str], council: &[&str]| {
            let mut now = args(now);
            kept(then).under(&mut now);
            assert_eq!((now.tool, now.no_tool, now.council), (owned(tools), owned(no_tools), owned(council)));
        };
        check(&["--tool", "list_dir"], &[], &["list_dir"], &[], &[]);
        // What is offered and then taken back is not offered.
        check(&["--tool", "list_dir"], &["--no-tool", "list_dir"], &["list_dir"], &["list_dir"], &[]);
        check(&["--no-tool", "shell"], &["--tool", "shell"], &["shell"], &[], &[]);
        // What is said again is said once.
        check(&["--no-tool", "shell"], &["--no-tool", "shell"], &[], &["shell"], &[]);
        check(&["--tool", "list_dir"], &["--tool", "list_dir"], &["list_dir"], &[], &[]);
        check(&["--council", "a/b,c/d"], &[], &[], &[], &["a/b", "c/d"]);
        check(&["--council", "a/b,c/d"], &["-m", "x"], &[], &[], &[]);
    }
}
