//! A council of agents, ready to be made: who sits in it, and how it is held.

use std::collections::BTreeSet;
use std::path::Path;

use junto::core::{AgentSpec, Limits};
use junto::council::contest::{Dirty, Member, Oracle, OracleChoice, Report, Runs};
use junto::llm::names::nearest;
use junto::{Kind, Rivals};

use super::host::Presence;
use super::mind;
use crate::args::{ContestArgs, WorkArgs};
use crate::config::{Config, FlagValue};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::Output;
use crate::{connect, runners, saved};

/// What the kinds of councils of agents begin with.
pub(crate) const PREFIX: &str = "council:";
/// What the kind is called that only flags describe.
pub(super) const UNNAMED: &str = "council";
/// Our own agent.
const NATIVE: &str = "native";

/// A council of agents that is wanted, and who is told how its runs stand.
#[derive(Clone, Default)]
pub(super) struct Wanted {
    pub(super) args: ContestArgs,
    pub(super) report: Option<Report>,
}

/// What the members of councils are made of.
pub(super) struct Hall<'a> {
    pub(super) args: &'a WorkArgs,
    pub(super) values: &'a [FlagValue],
    pub(super) presence: Presence,
    pub(super) config: &'a Config,
    pub(super) environment: &'a Environment,
    pub(super) directory: &'a Path,
    pub(super) limits: Limits,
    pub(super) output: &'a Output,
}

/// Kinds of agents by what they are called, and who they are in words.
pub(super) struct Seats {
    pub(super) kinds: Vec<(String, Kind)>,
    pub(super) who: String,
}

/// Where the runs of councils of agents are kept.
///
/// # Errors
/// If there is no place for them.
pub(crate) fn runs(environment: &Environment) -> Result<Runs, Failure> {
    Ok(Runs::new(saved::root(environment)?.join("contests")))
}

/// The name of a configured council that a kind stands for.
pub(super) fn name_of(kind: &str) -> Option<&str> {
    kind.strip_prefix(PREFIX)
}

/// Whether a kind is a council of agents.
pub(super) fn is_kind(kind: &str) -> bool {
    kind == UNNAMED || name_of(kind).is_some()
}

/// The failure for a council that nobody has configured.
pub(super) fn unknown(name: &str, config: &Config) -> Failure {
    let known = config.contest_names();
    let near = nearest(name, known.iter().map(String::as_str));
    let near = near.map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
    let hint = if known.is_empty() {
        "[contests.NAME] in the configuration makes one; `junto council` needs none".to_owned()
    } else {
        format!("there are {}; [contests.NAME] in the configuration makes others", known.join(", "))
    };
    Failure::usage(format!("there is no council of agents \"{name}\"{near}"), hint)
}

impl Hall<'_> {
    /// The council of this kind, and our own agents that sit in it, each with what its kind is called. Says who
    /// sits in it.
    ///
    /// # Errors
    /// If one of them is unknown, is not installed or cannot be asked.
    pub(super) fn seats(&self, kind: &str, wanted: Wanted) -> Result<Seats, Failure> {
        let Wanted { args, report } = wanted;
        let args = match name_of(kind).or(args.name.as_deref()) {
            Some(name) => {
                self.config.contest(name, args.clone()).ok_or_else(|| unknown(name, self.config))?
            }
            None => args,
        };
        let names = if args.agents.is_empty() { self.everybody()? } else { args.agents.clone() };
        let members = names.iter().map(|name| self.member(name)).collect::<Result<Vec<_>, _>>()?;
        let synthesis = args.synthesis.as_deref().map(|name| self.member(name)).transpose()?;
        let natives = members.iter().chain(&synthesis).map(|member| member.spec.kind.clone());
        let natives: BTreeSet<String> = natives.filter(|kind| is_native(kind)).collect();
        let natives = natives.into_iter().map(|native| Ok((native.clone(), self.native(&native)?)));
        let mut kinds = natives.collect::<Result<Vec<_>, Failure>>()?;
        let who = names.join(", ");
        let rivals = Rivals::new(members, runs(self.environment)?).adjusted(move |mut setup| {
            setup.candidates = args.candidates;
            if let Some(line) = &args.oracle {
                setup.oracle = OracleChoice::Given(Oracle::given(line));
            }
            if args.with_changes {
                setup.dirty = Dirty::Include;
            }
            setup.synthesis.clone_from(&synthesis);
            setup.bring.clone_from(&args.bring);
            setup.member_time = args.agent_timeout.unwrap_or(setup.member_time);
            setup.oracle_time = args.oracle_timeout.unwrap_or(setup.oracle_time);
            setup.report.clone_from(&report);
            setup
        });
        kinds.push((kind.to_owned(), Kind::Contest(Box::new(rivals))));
        Ok(Seats { kinds, who })
    }

    /// The councils that are configured, for an agent that may hand work to one. One that cannot be had is told.
    pub(super) fn configured(&self) -> Vec<(String, Kind)> {
        let mut kinds = Vec::new();
        for name in self.config.contest_names() {
            match self.seats(&format!("{PREFIX}{name}"), Wanted::default()) {
                Ok(seats) => kinds.extend(seats.kinds),
                Err(failure) => {
                    let why = failure.errors.join("; ");
                    self.output.warning(&format!("the council {name} cannot be had: {why}"));
                }
            }
        }
        kinds
    }

    /// Who can work here, if nobody is named.
    fn everybody(&self) -> Result<Vec<String>, Failure> {
        let mut names: Vec<String> = runners::installed(self.config, self.environment).collect();
        if !connect::usable(self.config, self.environment).is_empty() {
            names.push(NATIVE.to_owned());
        }
        if names.is_empty() {
            return Err(Failure::usage(
                "nobody can sit in the council: no command-line agent is installed, and no provider has a key",
                "install claude, codex or gemini, or set a provider's key; `junto doctor` tells what is there",
            ));
        }
        Ok(names)
    }

    /// A member, as it is written: an agent, and after a colon its model.
    fn member(&self, name: &str) -> Result<Member, Failure> {
        let (agent, model) = match name.split_once(':') {
            Some((agent, model)) => (agent, Some(model.to_owned()).filter(|model| !model.is_empty())),
            None => (name, None),
        };
        let (kind, model) = if agent == NATIVE {
            (name.to_owned(), None)
        } else {
            self.check_runner(agent)?;
            (agent.to_owned(), model)
        };
        let spec = AgentSpec { kind, model, limits: self.limits, ..AgentSpec::default() };
        Ok(Member { name: name.to_owned(), spec })
    }

    fn check_runner(&self, agent: &str) -> Result<(), Failure> {
        let known = self.config.runner_names();
        if !known.iter().any(|name| name == agent) {
            let names: Vec<&str> = known.iter().map(String::as_str).chain([NATIVE]).collect();
            let near = nearest(agent, names.iter().copied());
            let near = near.map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
            return Err(Failure::usage(
                format!("--agents: there is no agent \"{agent}\"{near}"),
                format!("the agents are {}, and native:MODEL", names.join(", ")),
            ));
        }
        if runners::installed(self.config, self.environment).any(|name| name == agent) {
            return Ok(());
        }
        Err(Failure::usage(
            format!("{agent} is not installed"),
            "install it, or name others with --agents; `junto doctor` tells what is there",
        ))
    }

    /// Our own agent, with the model that its kind names.
    fn native(&self, kind: &str) -> Result<Kind, Failure> {
        let mut values = self.values.to_vec();
        if let Some((_, model)) = kind.split_once(':') {
            values.retain(|value| value.key != "model" && value.key != "provider");
            values.push(FlagValue { key: "model", flag: "--agents", text: model.to_owned() });
        }
        let there = self.environment.in_directory(self.directory);
        let config = Config::load(&there, &values)?;
        let mind = mind::mind(self.args, self.presence, config, self.environment, self.directory)?;
        for warning in mind.warnings {
            self.output.warning(&warning);
        }
        Ok(Kind::Native(mind.native))
    }
}

fn is_native(kind: &str) -> bool {
    kind == NATIVE || kind.starts_with("native:")
}
