//! Named providers behind one door: routing, defaults, middleware.

mod environment;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::catalog::{Capability, Catalog};
use crate::middleware::Next;
use crate::{CallCx, Error, EventStream, Fut, Middleware, Provider, Request, Response, ToolChoice};

/// Holds named providers, routes requests to them and runs middleware around each call.
///
/// It has no state that changes between requests and is cheap to clone. It is itself a
/// [`Provider`], so a client can stand wherever a provider can.
///
/// ```no_run
/// # async fn run() -> Result<(), junto_llm::Error> {
/// use junto_llm::{CallCx, Client, Request};
/// let client = Client::from_env()?;
/// let answer = client.complete(Request::prompt("What is a junto?"), &CallCx::new()).await?;
/// println!("{} ({} tokens)", answer.text(), answer.usage.total);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    providers: Vec<(String, Arc<dyn Provider>)>,
    default: Option<String>,
    middleware: Vec<Arc<dyn Middleware>>,
    catalog: Catalog,
    aliases: HashMap<String, String>,
}

impl Client {
    /// Starts a client without providers.
    pub fn builder() -> ClientBuilder {
        ClientBuilder {
            providers: Vec::new(),
            default: None,
            middleware: Vec::new(),
            catalog: Catalog::builtin(),
            aliases: HashMap::new(),
        }
    }

    /// The names of the providers, in the order they were registered.
    pub fn provider_names(&self) -> impl Iterator<Item = &str> {
        self.0.providers.iter().map(|(name, _)| name.as_str())
    }

    fn has(&self, provider: &str) -> bool {
        self.provider_names().any(|name| name == provider)
    }

    /// The provider that requests go to which name none.
    pub fn default_provider(&self) -> Option<&str> {
        self.0.default.as_deref()
    }

    /// The catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.0.catalog
    }

    /// The whole answer. Does not retry.
    ///
    /// # Errors
    /// `configuration` if the request cannot be routed; else the provider's.
    pub async fn complete(&self, request: Request, cx: &CallCx) -> Result<Response, Error> {
        let (request, next) = self.route(request)?;
        next.complete(request, cx).await
    }

    /// The answer as it comes; its `Finish` event carries the whole [`Response`]. Does not retry.
    ///
    /// # Errors
    /// As [`Client::complete`].
    pub async fn stream(&self, request: Request, cx: &CallCx) -> Result<EventStream, Error> {
        Ok(self.stream_events(request, cx).await?.accumulated())
    }

    /// As [`Client::stream`], but nothing is accumulated: memory stays flat however long the answer
    /// is, and `Finish` carries no response.
    ///
    /// # Errors
    /// As [`Client::complete`].
    pub async fn stream_events(&self, request: Request, cx: &CallCx) -> Result<EventStream, Error> {
        let (request, next) = self.route(request)?;
        next.stream(request, cx).await
    }

    /// The provider that a request would go to.
    ///
    /// # Errors
    /// `configuration` if there is none of that name, or none at all.
    pub fn provider_for(&self, request: &Request) -> Result<(&str, &Arc<dyn Provider>), Error> {
        let known = || self.provider_names().collect::<Vec<_>>().join(", ");
        let Some(name) = request.provider.as_deref().or(self.0.default.as_deref()) else {
            return Err(if self.0.providers.is_empty() {
                Error::configuration("no provider is configured").with_hint(environment::HINT)
            } else {
                Error::configuration("the request names no provider and there is no default")
                    .with_hint(format!("name one of: {}", known()))
            });
        };
        let entry = self.0.providers.iter().find(|(n, _)| n == name).ok_or_else(|| {
            let hint = if self.0.providers.is_empty() {
                environment::HINT.into()
            } else {
                format!("known providers: {}", known())
            };
            Error::configuration(format!("there is no provider named `{name}`")).with_hint(hint)
        })?;
        Ok((&entry.0, &entry.1))
    }

    /// Settles the provider and the model of a request.
    fn route(&self, mut request: Request) -> Result<(Request, Next<'_>), Error> {
        let (name, provider) = self.provider_for(&request)?;
        if let Some(choice) = &request.tool_choice
            && !provider.supports_tool_choice(choice)
        {
            return Err(Error::new(
                crate::ErrorKind::UnsupportedToolChoice,
                format!("the provider cannot be made to choose tools by {choice:?}"),
            )
            .with_provider(name));
        }
        if let Some(ToolChoice::Named(tool)) = &request.tool_choice
            && !request.tools.iter().any(|t| &t.name == tool)
        {
            return Err(Error::configuration(format!(
                "tool choice names `{tool}`, which is not among the request's tools"
            )));
        }
        request.model = Some(match request.model.take() {
            // A dated id stays as it is; only an alias is replaced.
            Some(model) => match self.0.catalog.with_alias(name, &model) {
                Some(info) => info.id.clone(),
                None => model,
            },
            None => {
                self.0.catalog.latest(name, None::<Capability>).map(|m| m.id.clone()).ok_or_else(|| {
                    Error::configuration(format!(
                        "the request names no model and the catalog has none for `{name}`"
                    ))
                    .with_hint(
                        "name a model: with `--model`, with `model` in the configuration, or in the request",
                    )
                })?
            }
        });
        request.provider = Some(name.to_owned());
        Ok((request, Next::new(&self.0.middleware, &**provider)))
    }
}

impl Provider for Client {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(Client::complete(self, request, cx))
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(self.stream_events(request, cx))
    }

    fn check_names(&self, request: &Request) -> Result<(), Error> {
        let (provider, _) = self.provider_for(request)?;
        let Some(model) = request.model.as_deref() else { return Ok(()) };
        if model.trim().is_empty() {
            return Err(Error::configuration("the model has no name"));
        }
        // A model that no catalog knows may be there all the same. One that is known, and known to be
        // another's, is not.
        let catalog = &self.0.catalog;
        let known = catalog.list(Some(provider));
        if known.is_empty() || known.iter().any(|m| m.id == model) {
            return Ok(());
        }
        // Who resells has names that look like those of a provider and its model.
        let resells = known.iter().any(|m| m.id.contains('/'));
        let split = || model.split_once('/').filter(|_| !resells);
        let found = catalog.get(model).or_else(|| split().and_then(|(owner, name)| catalog.of(owner, name)));
        let Some(info) = found.filter(|info| info.provider != provider) else { return Ok(()) };
        let owner = &info.provider;
        let hint = if self.has(owner) {
            format!("it is a model of `{owner}`; name the provider and the model together")
        } else {
            let known = self.provider_names().collect::<Vec<_>>().join(", ");
            format!("it is a model of `{owner}`, who cannot be asked here; known providers: {known}")
        };
        Err(Error::configuration(format!("`{provider}` has no model named `{model}`")).with_hint(hint))
    }

    fn meant(&self, provider: Option<&str>, model: &str) -> Option<(String, String)> {
        let Inner { aliases, catalog, default, .. } = &*self.0;
        let target = aliases.get(model).map_or(model, String::as_str);
        let asked = provider.or(default.as_deref())?;
        if catalog.of(asked, target).is_some() {
            return (target != model).then(|| (asked.to_owned(), target.to_owned()));
        }
        let knows = |name: &str| !catalog.list(Some(name)).is_empty();
        // A server that nobody knows the models of may have one of such a name itself.
        let is_told = |(owner, name): &(&str, &str)| {
            self.has(owner) && (catalog.of(owner, name).is_some() || knows(asked) || !knows(owner))
        };
        if let Some((owner, name)) = target.split_once('/').filter(is_told) {
            return Some((owner.to_owned(), name.to_owned()));
        }
        // Who uses a name of their own need not know whose model it stands for.
        let owner = catalog.get(target).map(|info| info.provider.as_str()).filter(|owner| self.has(owner));
        (target != model).then(|| (owner.unwrap_or(asked).to_owned(), target.to_owned()))
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("providers", &self.provider_names().collect::<Vec<_>>())
            .field("default", &self.0.default)
            .finish_non_exhaustive()
    }
}

/// Puts a [`Client`] together.
#[must_use]
pub struct ClientBuilder {
    providers: Vec<(String, Arc<dyn Provider>)>,
    default: Option<String>,
    middleware: Vec<Arc<dyn Middleware>>,
    catalog: Catalog,
    aliases: HashMap<String, String>,
}

impl ClientBuilder {
    /// Registers a provider. The first one is the default unless another is named.
    pub fn provider(mut self, name: impl Into<String>, provider: Arc<dyn Provider>) -> Self {
        self.providers.push((name.into(), provider));
        self
    }

    /// Names the provider for requests that name none.
    pub fn default_provider(mut self, name: impl Into<String>) -> Self {
        self.default = Some(name.into());
        self
    }

    /// Adds middleware. The first added is the outermost: it sees requests first and answers last.
    pub fn middleware(mut self, middleware: Arc<dyn Middleware>) -> Self {
        self.middleware.push(middleware);
        self
    }

    /// Replaces the built-in catalog.
    pub fn catalog(mut self, catalog: Catalog) -> Self {
        self.catalog = catalog;
        self
    }

    /// Gives a model another name, for whoever names one: see [`Provider::meant`]. It stands for a model's name or
    /// for `PROVIDER/MODEL`.
    pub fn alias(mut self, name: impl Into<String>, target: impl Into<String>) -> Self {
        self.aliases.insert(name.into(), target.into());
        self
    }

    /// The client.
    ///
    /// # Errors
    /// `configuration` if a name is taken twice, or the default is not among the providers.
    pub fn build(self) -> Result<Client, Error> {
        for (i, (name, _)) in self.providers.iter().enumerate() {
            if self.providers[..i].iter().any(|(n, _)| n == name) {
                return Err(Error::configuration(format!("two providers are named `{name}`")));
            }
        }
        if let Some(default) = &self.default
            && !self.providers.iter().any(|(n, _)| n == default)
        {
            return Err(Error::configuration(format!("the default provider `{default}` is not configured")));
        }
        let default = self.default.or_else(|| self.providers.first().map(|(n, _)| n.clone()));
        Ok(Client(Arc::new(Inner {
            providers: self.providers,
            default,
            middleware: self.middleware,
            catalog: self.catalog,
            aliases: self.aliases,
        })))
    }
}

static DEFAULT: OnceLock<Client> = OnceLock::new();

/// The process-wide default client, made from the environment on first use.
///
/// # Errors
/// As [`Client::from_env`].
pub fn default_client() -> Result<Client, Error> {
    if let Some(client) = DEFAULT.get() {
        return Ok(client.clone());
    }
    let client = Client::from_env()?;
    Ok(DEFAULT.get_or_init(|| client).clone())
}

/// Sets the process-wide default client. Does nothing and gives the client back if there already is one.
///
/// # Errors
/// The client that was not set.
pub fn set_default_client(client: Client) -> Result<(), Client> {
    DEFAULT.set(client)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::HttpProvider;
    use crate::{Endpoint, Wire};

    fn client(names: &[&str]) -> Client {
        let mut builder = Client::builder().alias("fast", "openai/gpt-5.5").alias("big", "claude-opus-5-5");
        for name in names {
            let endpoint = Endpoint::new(*name, Wire::Chat, "http://127.0.0.1:9");
            builder = builder.provider(*name, Arc::new(HttpProvider::new(endpoint).unwrap()));
        }
        builder.build().unwrap()
    }

    #[test]
    fn names_are_taken_for_what_they_mean() {
        let check = |asked: &str, name: &str, expected: Option<(&str, &str)>| {
            let found = client(&["anthropic", "openai", "local", "other"]).meant(Some(asked), name);
            let found = found.as_ref().map(|(owner, model)| (owner.as_str(), model.as_str()));
            assert_eq!(found, expected, "{asked} {name}");
        };
        check("anthropic", "claude-opus-5-5", None);
        check("anthropic", "anthropic/claude-opus-5-5", Some(("anthropic", "claude-opus-5-5")));
        check("anthropic", "openai/gpt-5.5", Some(("openai", "gpt-5.5")));
        check("anthropic", "openai/something-new", Some(("openai", "something-new")));
        check("anthropic", "nobody/gpt-5.5", None);
        check("anthropic", "gpt-5.5", None);
        check("anthropic", "fast", Some(("openai", "gpt-5.5")));
        check("anthropic", "big", Some(("anthropic", "claude-opus-5-5")));
        check("openai", "big", Some(("anthropic", "claude-opus-5-5")));
        check("local", "openai/weights-20b", None);
        check("local", "other/some-model", Some(("other", "some-model")));
    }

    #[test]
    fn another_providers_model_is_known_by_both_of_its_names() {
        let check = |names: &[&str], model: &str, hint: Option<&str>| {
            let names = client(names).check_names(&Request::default().model(model));
            match (names, hint) {
                (Ok(()), None) => {}
                (Err(error), Some(hint)) => assert!(error.hint().unwrap().contains(hint), "{error:?}"),
                (names, _) => panic!("{model}: {names:?}"),
            }
        };
        check(&["anthropic"], "claude-opus-5-5", None);
        check(&["anthropic"], "something-new", None);
        check(&["anthropic"], "openai/something-new", None);
        check(&["anthropic", "openai"], "gpt-5.5", Some("it is a model of `openai`; name"));
        check(&["anthropic"], "openai/gpt-5.5", Some("who cannot be asked here; known providers: anthropic"));
        check(&["local"], "openai/gpt-5.5", None);
    }
}
