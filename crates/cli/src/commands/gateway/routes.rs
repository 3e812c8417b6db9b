//! Which provider answers which request.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::sync::Arc;

use junto::LastResort;
use junto::core::Minutes;
use junto::council::{Council, Served};
use junto::gateway::{Builder, ModelEntry, Target};
use junto::llm::{
    CallCx, Client, Error, ErrorKind, EventStream, Fut, Provider, Request, Response, ToolChoice,
};

use crate::config::{COUNCIL_IDS, COUNCIL_PREFIX, Config, Route, Who, rank};
use crate::council::{Habit, Hall, Seated};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::{choice, connect, council, runners};

/// A gateway's routes.
pub(super) struct Routed {
    /// With the routes.
    pub(super) builder: Builder,
    /// Who answers what nobody else does, in words.
    pub(super) words: String,
    /// Who cannot be asked, and is left out.
    pub(super) notes: Vec<String>,
}

/// Adds the routes, the special before the general: what is configured, the council under its own names, every
/// council that has a name as `council:NAME`, and `PROVIDER/MODEL` for each provider that can be asked; then the
/// council or the chosen provider for everything else. Councils write down how they come to their answers.
///
/// # Errors
/// If somebody cannot be asked, or no model is known.
pub(super) fn routes(
    mut builder: Builder,
    config: &Config,
    environment: &Environment,
    minutes: &Minutes,
) -> Result<Routed, Failure> {
    let has_provider = !connect::usable(config, environment).is_empty();
    let (client, members) = if has_provider {
        let patient = connect::client_with(config.patient_timeouts(), config, environment)?;
        (Some(patient), Some(connect::client(config, environment)?))
    } else {
        (None, None)
    };
    let scene = Scene { client, members, config, environment, minutes, notes: RefCell::default() };
    let meant: Vec<String> = council::meant(config).into_iter().collect();
    let members = config.texts("gateway.council").unwrap_or(&meant);
    let council = if members.is_empty() { None } else { Some(scene.council(members)?) };
    let (configured, _) = config.routes();
    let mut special = Vec::new();
    for route in &configured {
        special.push((route.pattern.clone(), scene.target(route)?));
    }
    let mut named = Vec::new();
    for name in config.council_names() {
        let id = format!("{COUNCIL_PREFIX}{name}");
        // One that nobody asks for may be as it likes.
        match scene.council(std::slice::from_ref(&id)) {
            Ok(council) => named.push((id, council)),
            Err(failure) => scene.notes.borrow_mut().extend(failure.errors),
        }
    }
    // Where nobody says which council is meant, the only one is.
    let meant = council.as_ref().or(match &named[..] {
        [(_, only)] => Some(only),
        _ => None,
    });
    special.extend(COUNCIL_IDS.map(|id| match meant {
        Some(council) => (id.to_owned(), council_target(council, config)),
        // What has a star is not listed.
        None => (format!("{id}*"), Target::new("council", Arc::new(Nobody))),
    }));
    special.extend(named.iter().map(|(id, council)| (id.clone(), council_target(council, config))));
    if let Some(client) = &scene.client {
        special.extend(client.provider_names().map(|name| self::named(client, name, members)));
    }
    // What is configured stays before what is as special and was not.
    special.sort_by_key(|(pattern, _)| Reverse(rank(pattern)));
    for (pattern, target) in special {
        builder = builder.route(pattern, target);
    }
    let (builder, words) = match (configured.iter().find(|route| route.pattern == "*"), council) {
        // It is among the special ones, and the last of them.
        (Some(route), _) => (builder, format!("{} answers", words(&route.who))),
        (None, Some(council)) => {
            let words = format!("a {} answers", council::words(&council));
            (builder.route("*", council_target(&council, config)), words)
        }
        (None, None) if scene.client.is_none() && !(configured.is_empty() && named.is_empty()) => {
            (builder, "only councils, and what [gateway.routes] names, are answered".to_owned())
        }
        (None, None) => scene.chosen(builder)?,
    };
    Ok(Routed { builder, words, notes: scene.notes.into_inner() })
}

/// Who answers, in words.
fn words(who: &Who) -> String {
    match who {
        Who::Provider(name, Some(model)) => format!("{name}/{model}"),
        Who::Provider(name, None) => name.clone(),
        Who::Cli(name, Some(model)) => format!("the command-line agent {name} with {model}"),
        Who::Cli(name, None) => format!("the command-line agent {name}"),
        Who::Council(members) => match &members[..] {
            [name] if name.starts_with(COUNCIL_PREFIX) => format!("the {name}"),
            members => format!("a council of {}", members.join(", ")),
        },
    }
}

fn council_target(council: &Council, config: &Config) -> Target {
    let served = Served::new(council.clone(), connect::catalog(config));
    Target::new(council.name(), Arc::new(served)).counts_turns()
}

/// A provider's route for `PROVIDER/MODEL`. It lists what the catalog has, and who sits in the council.
fn named(client: &Client, name: &str, members: &[String]) -> (String, Target) {
    let known = client.catalog().list(Some(name)).into_iter();
    let known = known.map(|info| ModelEntry::from(info).id(format!("{name}/{}", info.id)));
    let is_own = |member: &&String| member.split_once('/').is_some_and(|(owner, _)| owner == name);
    let seated = members.iter().filter(is_own).map(ModelEntry::new);
    let provider = Named { client: client.clone(), name: name.to_owned() };
    (format!("{name}/*"), Target::new(name, Arc::new(provider)).lists(known.chain(seated)))
}

/// What routes are made from.
struct Scene<'a> {
    /// None if no provider can be asked.
    client: Option<Client>,
    /// The same for the members of councils: one that does not answer holds up the others.
    members: Option<Client>,
    config: &'a Config,
    environment: &'a Environment,
    minutes: &'a Minutes,
    /// Who is left out.
    notes: RefCell<Vec<String>>,
}

impl Scene<'_> {
    fn client(&self) -> Result<&Client, Failure> {
        self.client.as_ref().ok_or_else(connect::no_provider)
    }

    fn council(&self, members: &[String]) -> Result<Council, Failure> {
        let Self { members: client, config, environment, minutes, notes, .. } = self;
        let telemetry = config.duration("gateway.telemetry");
        let (client, directory, minutes) = (client.as_ref(), environment.directory(), Some(*minutes));
        let Seated { council, notes: noted } =
            Hall { client, directory, config, environment, minutes, telemetry }
                .council(members, Habit::Usual)?;
        let mut notes = notes.borrow_mut();
        for note in noted {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        Ok(council)
    }

    /// Who answers for a configured name or pattern.
    fn target(&self, route: &Route) -> Result<Target, Failure> {
        match &route.who {
            Who::Provider(name, model) => self.provider(&route.pattern, name, model.as_deref()),
            Who::Cli(name, model) => {
                let Self { config, environment, .. } = self;
                let directory = environment.directory();
                let provider = runners::answers(name, LastResort::AskFirst, directory, config, environment)?;
                let model = model.clone().or_else(|| config.runner(name).model);
                let target = match &model {
                    Some(_) => Target::new(name, provider),
                    None => Target::new(name, Arc::new(OwnModel(provider))),
                };
                Ok(model.into_iter().fold(target, Target::model))
            }
            Who::Council(members) => {
                self.council(members).map(|council| council_target(&council, self.config))
            }
        }
    }

    /// A provider for one name or pattern, asked for this model, or for the one that the client names.
    fn provider(&self, pattern: &str, name: &str, model: Option<&str>) -> Result<Target, Failure> {
        connect::check_provider(name, self.config, self.environment)?;
        let client = self.client()?;
        let asked = Request { provider: Some(name.to_owned()), ..Request::of(Vec::new()) };
        let (name, provider) = client.provider_for(&asked)?;
        let target = Target::new(name, Arc::clone(provider));
        let Some(model) = model.map(|model| full_name(client, name, model)) else {
            return Ok(target.lists(client.catalog().list(Some(name)).into_iter().map(ModelEntry::from)));
        };
        let known = client.catalog().of(name, &model);
        let target = target.lists(known.map(|info| ModelEntry::from(info).id(pattern)));
        // A model that keeps its name can be asked for by the client's own bytes.
        Ok(if model == pattern { target } else { target.model(model) })
    }

    /// The chosen provider for everything. Its own models may be asked for by their names if none is chosen.
    fn chosen(&self, mut builder: Builder) -> Result<(Builder, String), Failure> {
        let client = self.client()?;
        let choice = choice::settle(self.config, self.environment)?;
        let asked = Request { provider: choice.provider, ..Request::of(Vec::new()) };
        let (name, provider) = client.provider_for(&asked)?;
        let target = Target::new(name, Arc::clone(provider));
        let known = client.catalog().list(Some(name));
        let target = target.lists(known.iter().map(|info| ModelEntry::from(*info)));
        let model = if let Some(model) = choice.model {
            full_name(client, name, &model)
        } else {
            for info in known {
                builder = builder.route(info.id.clone(), target.clone());
            }
            let latest = client.catalog().latest(name, None).ok_or_else(|| {
                Failure::usage(format!("no model of {name} is known"), "name one with --model")
            })?;
            latest.id.clone()
        };
        let words = format!("{name}/{model} answers");
        let only =
            client.catalog().of(name, &model).map_or_else(|| ModelEntry::new(&model), ModelEntry::from);
        Ok((builder.route("*", target.model(model).lists([only])), words))
    }
}

/// A provider's own id of a model that may be given by another name.
fn full_name(client: &Client, provider: &str, model: &str) -> String {
    let models = client.catalog().list(Some(provider));
    let alias = models.iter().find(|info| info.aliases.iter().any(|alias| alias == model));
    alias.map_or_else(|| model.to_owned(), |info| info.id.clone())
}

/// One of a client's providers, asked for models by `PROVIDER/MODEL`.
struct Named {
    client: Client,
    name: String,
}

impl Named {
    fn request(&self, request: Request) -> Request {
        let model = request.model.map(|model| {
            let own = model.strip_prefix(&self.name).and_then(|rest| rest.strip_prefix('/'));
            own.map(str::to_owned).unwrap_or(model)
        });
        Request { provider: Some(self.name.clone()), model, ..request }
    }
}

impl Provider for Named {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(self.client.complete(self.request(request), cx))
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(self.client.stream_events(self.request(request), cx))
    }
}

/// A provider that is never told which model the client named: that is one of another vendor's.
struct OwnModel(Arc<dyn Provider>);

impl Provider for OwnModel {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        self.0.complete(Request { model: None, ..request }, cx)
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        self.0.stream(Request { model: None, ..request }, cx)
    }

    fn supports_tool_choice(&self, choice: &ToolChoice) -> bool {
        self.0.supports_tool_choice(choice)
    }
}

/// Stands for the council where there is none.
struct Nobody;

impl Nobody {
    fn refusal() -> Error {
        Error::new(ErrorKind::NotFound, "this gateway has no council").with_hint(
            "start it with --council, or set `gateway.council` or [council.NAME] in the configuration",
        )
    }
}

impl Provider for Nobody {
    fn complete<'a>(&'a self, _: Request, _: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async { Err(Self::refusal()) })
    }

    fn stream<'a>(&'a self, _: Request, _: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async { Err(Self::refusal()) })
    }
}
