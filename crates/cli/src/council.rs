//! Councils, seated: from names to providers.

mod chores;
mod settings;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use junto::LastResort;
use junto::core::Minutes;
use junto::council::{Council, FanOut, Manner, Member, Options, Report, Scope, Telemetry};
use junto::llm::{Allowance, Client, Effort, Provider, Usd};

use crate::config::{COUNCIL_PREFIX, Config, CouncilSettings, SeatSettings, Who};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::{connect, runners};
use chores::Chores;

/// What a council that is only a list of members is called.
const NAMELESS: &str = "council";

/// What councils are made from.
#[derive(Clone, Copy)]
pub(crate) struct Hall<'a> {
    /// None if no provider can be asked.
    pub(crate) client: Option<&'a Client>,
    /// Where command-line agents look around.
    pub(crate) directory: &'a Path,
    pub(crate) config: &'a Config,
    pub(crate) environment: &'a Environment,
    /// Where it is written down how they come to their answers.
    pub(crate) minutes: Option<&'a Minutes>,
    /// How often it is told how far a member's answer is; absent: never.
    pub(crate) telemetry: Option<Duration>,
}

/// When a council that is only a list of members asks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// All of them, each time: who lists them for one task wants that.
    Always,
    /// As a client's traffic needs it.
    Usual,
}

/// A council that can be asked.
pub(crate) struct Seated {
    /// The council.
    pub(crate) council: Council,
    /// Who of it cannot be asked, and is left out.
    pub(crate) notes: Vec<String>,
}

/// The council that a model's name means, as its members are written; none if it means a model.
pub(crate) fn meant(config: &Config) -> Option<String> {
    let (name, _) = config.text("model")?;
    let name = config.alias(name).unwrap_or(name);
    name.starts_with(COUNCIL_PREFIX).then(|| name.to_owned())
}

/// Who sits in it, in words.
pub(crate) fn words(council: &Council) -> String {
    let names: Vec<&str> = council.members().iter().map(|member| member.name.as_str()).collect();
    let names = names.join(", ");
    match council.name() {
        NAMELESS => format!("council of {names}"),
        name => format!("council {name} of {names}"),
    }
}

impl Hall<'_> {
    /// The council of these members, or, if that is all they are, the one of this name (`council:NAME`).
    ///
    /// Of a council that has a name whoever cannot be asked on this machine is left out; who was listed for the
    /// occasion is missed.
    ///
    /// # Errors
    /// If a name means nobody, nobody can be asked, or a member sits there twice.
    pub(crate) fn council(&self, members: &[String], habit: Habit) -> Result<Seated, Failure> {
        if let [name] = members
            && let Some(found) = self.config.council_named(name)
        {
            return self.named(&found.map_err(|message| unknown(message, self.config))?);
        }
        let settings = CouncilSettings::of(NAMELESS, members);
        let seated = settings.members.iter().map(|seat| self.seat(seat)).collect::<Result<Vec<_>, _>>()?;
        let (fan_out, scope) = match habit {
            Habit::Always => (FanOut::Always, Scope::PerTurn),
            Habit::Usual => (FanOut::default(), Scope::default()),
        };
        let options = Options { fan_out, scope, ask: members.len(), ..self.options(&settings) };
        self.assemble(&settings, seated, options)
    }

    /// A council as it is configured.
    ///
    /// # Errors
    /// If nobody in it can be asked, or too few.
    fn named(&self, settings: &CouncilSettings) -> Result<Seated, Failure> {
        let (mut members, mut missing) = (Vec::new(), Vec::new());
        for seat in &settings.members {
            match self.seat(seat) {
                Ok(seated) => members.push(seated),
                Err(failure) => missing.push(format!("{}: {}", seat.name, failure.errors.join("; "))),
            }
        }
        if members.len() < settings.quorum.unwrap_or(1) {
            return Err(too_few(settings, members.len(), &missing));
        }
        let mut options = self.options(settings);
        options.ask = settings.n.unwrap_or(options.ask).min(members.len());
        let mut seated = self.assemble(settings, members, options)?;
        let missing = missing.iter().map(|who| format!("the council {} is without {who}", settings.name));
        seated.notes.extend(missing);
        Ok(seated)
    }

    fn assemble(
        &self,
        settings: &CouncilSettings,
        seats: Vec<(Member, Vec<String>)>,
        options: Options,
    ) -> Result<Seated, Failure> {
        let mut notes = Vec::new();
        let mut members = Vec::new();
        for (member, noted) in seats {
            members.push(member);
            notes.extend(noted);
        }
        let mut other = |who: &Option<String>, duty: &str| {
            let who = who.as_ref()?;
            let seat = settings.members.iter().find(|seat| seat.name == *who);
            match self.seat(seat.unwrap_or(&SeatSettings::of(who))) {
                Ok((member, noted)) => {
                    notes.extend(noted);
                    Some(member)
                }
                Err(failure) => {
                    let why = failure.errors.join("; ");
                    notes.push(format!("the council {} has no {duty}: {why}", settings.name));
                    None
                }
            }
        };
        let [judge, synthesizer, triage, chores] = [
            other(&settings.judge, "judge"),
            other(&settings.synthesizer, "synthesizer"),
            other(&settings.triage, "triage"),
            other(&settings.chores, "member for chores"),
        ];
        let chores = chores.or_else(|| {
            let first = members.first()?;
            Some(Member::new("chores", Arc::new(Chores::new(self.client?.clone(), first.clone()))))
        });
        let council = Council::new(members, judge, options)?;
        let council = synthesizer.into_iter().fold(council, Council::synthesizer);
        let council = triage.into_iter().fold(council, Council::triage);
        let council = chores.into_iter().fold(council, Council::chores);
        Ok(Seated { council, notes })
    }

    /// A member that can be asked, and what is to be said of it.
    fn seat(&self, seat: &SeatSettings) -> Result<(Member, Vec<String>), Failure> {
        let Self { config, environment, .. } = self;
        let who = config.member(&seat.who).map_err(|message| unknown(message, config))?;
        let is_council = matches!(who, Who::Council(_));
        let mut notes = Vec::new();
        let member = match who {
            Who::Provider(name, model) => {
                connect::check_provider(&name, config, environment)?;
                let client = self.client.ok_or_else(connect::no_provider)?;
                let member = Member::new(&seat.name, Arc::new(client.clone())).provider_name(name);
                model.into_iter().fold(member, Member::model)
            }
            Who::Cli(name, model) => {
                if !runners::installed(config, environment).any(|installed| installed == name) {
                    return Err(not_installed(&name));
                }
                // Nobody stands in for a member: each voice is to be heard once.
                let provider =
                    runners::answers(&name, LastResort::Refuse, self.directory, config, environment)?;
                let member = Member::new(&seat.name, provider).manner(Manner::Actions);
                model.or_else(|| config.runner(&name).model).into_iter().fold(member, Member::model)
            }
            Who::Council(names) => {
                // What a council within another does is part of the other's minutes.
                let seated = Hall { minutes: None, ..*self }.council(&names, Habit::Usual)?;
                notes = seated.notes;
                Member::new(&seat.name, Arc::new(seated.council))
            }
        };
        let provider = match self.telemetry {
            // What a council within another says of its own members is more than enough.
            Some(pace) if !is_council => {
                let catalog = connect::catalog(config);
                Arc::new(Telemetry::new(member.provider, pace, catalog)) as Arc<dyn Provider>
            }
            _ => member.provider,
        };
        let member = Member {
            provider,
            framing: seat.framing.clone(),
            effort: seat.effort.clone().map(Effort::from),
            budget: allowance(seat.max_usd, seat.max_tokens),
            within: seat.within,
            silence: seat.silence,
            ..member
        };
        Ok((member, notes))
    }

    fn options(&self, settings: &CouncilSettings) -> Options {
        let report = self.minutes.cloned().map(|minutes| {
            Report::new(move |deliberation| {
                if let Ok(said) = serde_json::to_value(deliberation) {
                    minutes.add(deliberation.call.clone(), said);
                }
            })
        });
        Options { report, ..settings::options(settings) }
    }
}

fn allowance(usd: Option<f64>, tokens: Option<u64>) -> Option<Allowance> {
    let allowance = Allowance { usd: usd.map(Usd::from_dollars), tokens };
    (!allowance.is_unlimited()).then_some(allowance)
}

fn unknown(message: String, config: &Config) -> Failure {
    let agents = config.runner_names().join(", ");
    Failure::usage(
        message,
        format!(
            "a member is PROVIDER/MODEL, one of {agents}, or council:NAME, as in \
             --council anthropic/claude-opus-5-5,openai/gpt-6.1-sol"
        ),
    )
}

fn not_installed(name: &str) -> Failure {
    Failure::usage(
        format!("the command-line agent {name} is not installed"),
        "install it, or name others; `junto doctor` lists what there is",
    )
}

fn too_few(settings: &CouncilSettings, there: usize, missing: &[String]) -> Failure {
    let name = &settings.name;
    let mut errors = vec![match (there, settings.quorum) {
        (0, _) | (_, None) => format!("nobody in the council \"{name}\" can be asked"),
        (there, Some(quorum)) => {
            format!("{there} in the council \"{name}\" can be asked, and its quorum is {quorum}")
        }
    }];
    errors.extend(missing.iter().cloned());
    let hint = format!("mend one of them, or name others in [council.{name}]");
    Failure { errors, ..Failure::usage(String::new(), hint) }
}
