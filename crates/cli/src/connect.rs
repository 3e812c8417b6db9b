//! From configuration and keys to a client.

use std::sync::Arc;

use junto::llm::catalog::Catalog;
use junto::llm::middleware::{Middleware, Next};
use junto::llm::names::nearest;
use junto::llm::{
    Auth, CallCx, Client, Endpoint, Error, EventStream, Fut, HttpProvider, Request, Response, Secret,
    Timeouts,
};

use crate::config::{Config, ProviderSettings, VENDORS, vendor};
use crate::environment::Environment;
use crate::failure::Failure;

/// Whether a provider can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Its key is there.
    Present,
    /// Its key is missing.
    Absent,
    /// It asks for none.
    Open,
}

impl Access {
    /// How a provider stands in this environment.
    pub(crate) fn of(provider: &ProviderSettings, environment: &Environment) -> Self {
        match &provider.key_variable {
            None => Self::Open,
            Some(name) if environment.get(name).is_some() => Self::Present,
            Some(_) => Self::Absent,
        }
    }

    /// In a word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Absent => "absent",
            Self::Open => "not needed",
        }
    }
}

/// The catalog with the user's models over it.
pub(crate) fn catalog(config: &Config) -> Catalog {
    Catalog::builtin().overlay(config.models())
}

/// The providers that can be asked, in their order.
pub(crate) fn usable(config: &Config, environment: &Environment) -> Vec<ProviderSettings> {
    let mut providers = config.providers();
    providers.retain(|provider| Access::of(provider, environment) != Access::Absent);
    providers
}

/// A client with every provider that can be asked.
///
/// # Errors
/// If there is none, or one is configured so that it cannot be.
pub(crate) fn client(config: &Config, environment: &Environment) -> Result<Client, Failure> {
    client_with(config.timeouts(), config, environment)
}

/// The same with other timeouts.
///
/// # Errors
/// As above.
pub(crate) fn client_with(
    timeouts: Timeouts,
    config: &Config,
    environment: &Environment,
) -> Result<Client, Failure> {
    let providers = usable(config, environment);
    if providers.is_empty() {
        return Err(no_provider());
    }
    let catalog = catalog(config);
    let mut builder = Client::builder().catalog(catalog.clone());
    if let Some(most) = config.count("max_tokens") {
        builder = builder.middleware(Arc::new(MostTokens(most)));
    }
    for (name, target) in config.aliases() {
        builder = builder.alias(name, config.alias(name).unwrap_or(target));
    }
    for provider in providers {
        let endpoint = Endpoint {
            auth: auth(&provider, environment),
            headers: provider.headers,
            timeouts,
            auto_cache: config.auto_cache(),
            ..Endpoint::new(provider.name.clone(), provider.wire, provider.base_url)
        };
        let http = HttpProvider::new(endpoint)?.with_catalog(catalog.clone());
        builder = builder.provider(provider.name, Arc::new(http));
    }
    Ok(builder.build()?)
}

/// Limits the answers to requests that have no limit of their own.
struct MostTokens(u64);

impl MostTokens {
    fn limit(&self, request: Request) -> Request {
        Request { max_tokens: request.max_tokens.or(Some(self.0)), ..request }
    }
}

impl Middleware for MostTokens {
    fn complete<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<Response, Error>> {
        next.complete(self.limit(request), cx)
    }

    fn stream<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<EventStream, Error>> {
        next.stream(self.limit(request), cx)
    }
}

/// Checks that a provider of this name can be asked.
///
/// # Errors
/// What is missing: the provider, or its key.
pub(crate) fn check_provider(name: &str, config: &Config, environment: &Environment) -> Result<(), Failure> {
    let providers = config.providers();
    match providers.iter().find(|provider| provider.name == name) {
        Some(provider) if Access::of(provider, environment) == Access::Absent => {
            let hint = format!("{}, or name another provider with --provider", key_hint(provider));
            Err(Failure::usage(format!("provider \"{name}\" has no key"), hint))
        }
        Some(_) => Ok(()),
        None => Err(unknown_provider(name, providers.iter().map(|p| p.name.as_str()))),
    }
}

/// The failure for a provider nobody knows.
pub(crate) fn unknown_provider<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Failure {
    let near =
        nearest(name, known.clone()).map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
    Failure::usage(
        format!("unknown provider \"{name}\"{near}"),
        format!(
            "known providers: {}; others are added with [providers.NAME] in the configuration",
            known.collect::<Vec<_>>().join(", ")
        ),
    )
}

fn auth(provider: &ProviderSettings, environment: &Environment) -> Auth {
    let Some(name) = &provider.key_variable else { return Auth::None };
    match environment.get(name).map(Secret::new) {
        None => Auth::None,
        Some(secret) if VENDORS.iter().any(|v| v.bearer_variables.contains(&name.as_str())) => {
            Auth::Bearer(secret)
        }
        Some(secret) => Auth::Key(secret),
    }
}

/// Which variable to set. A built-in provider may have several, unless the user named one.
fn key_hint(provider: &ProviderSettings) -> String {
    let named = provider.key_variable.as_deref().unwrap_or_default();
    match vendor(&provider.name) {
        Some(vendor) if vendor.key_variables.contains(&named) => {
            format!("set {}", vendor.key_variables.join(" or "))
        }
        _ => format!("set {named}"),
    }
}

/// The failure where nobody can be asked.
pub(crate) fn no_provider() -> Failure {
    let variables: Vec<&str> = VENDORS.iter().flat_map(|vendor| vendor.key_variables).copied().collect();
    let hint = format!(
        "set one of {}, or add a provider with [providers.NAME] to the file that `junto config path` names; \
         `junto demo` needs no key",
        variables.join(", ")
    );
    Failure::usage("no model provider is configured", hint)
}
