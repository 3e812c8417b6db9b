//! Which provider answers which request.

use std::sync::Arc;

use junto::gateway::{Builder, Target};
use junto::llm::{CallCx, Client, Error, EventStream, Fut, Provider, Request, Response};

use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::{choice, connect, council};

/// Adds the routes, the special before the general: `PROVIDER/MODEL` for each provider that can be
/// asked, then the council or the chosen provider for everything else. Also says, in words, who that
/// is.
///
/// # Errors
/// If a provider cannot be asked, or no model is known.
pub(super) fn routes(
    mut builder: Builder,
    members: &[String],
    config: &Config,
    environment: &Environment,
) -> Result<(Builder, String), Failure> {
    let client = connect::client(config, environment)?;
    for name in client.provider_names() {
        let named = Named { client: client.clone(), name: name.to_owned() };
        builder = builder.route(format!("{name}/*"), Target::new(name, Arc::new(named)));
    }
    if members.is_empty() {
        return one(builder, &client, config, environment);
    }
    let council = council::council(members, &client, environment.directory(), config, environment)?;
    let words = format!("a {} answers", council::words(&council));
    let target = Target::new(council.name(), Arc::new(council.clone()));
    Ok((builder.route("*", target), words))
}

/// One provider for everything. Its own models may be asked for by their names if none is chosen.
fn one(
    mut builder: Builder,
    client: &Client,
    config: &Config,
    environment: &Environment,
) -> Result<(Builder, String), Failure> {
    let choice = choice::settle(config, environment)?;
    let asked = Request { provider: choice.provider, ..Request::of(Vec::new()) };
    let (name, provider) = client.provider_for(&asked)?;
    let target = Target::new(name, Arc::clone(provider));
    let models = client.catalog().list(Some(name));
    let model = if let Some(model) = choice.model {
        let alias = models.iter().find(|info| info.aliases.contains(&model));
        alias.map_or(model, |info| info.id.clone())
    } else {
        for info in &models {
            builder = builder.route(info.id.clone(), target.clone());
        }
        let latest = client
            .catalog()
            .latest(name, None)
            .ok_or_else(|| Failure::usage(format!("no model of {name} is known"), "name one with --model"))?;
        latest.id.clone()
    };
    let words = format!("{name}/{model} answers");
    Ok((builder.route("*", target.model(model)), words))
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
