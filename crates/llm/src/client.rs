//! Named providers behind one door: routing, defaults, middleware.

mod environment;

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
}

impl Client {
    /// Starts a client without providers.
    pub fn builder() -> ClientBuilder {
        ClientBuilder {
            providers: Vec::new(),
            default: None,
            middleware: Vec::new(),
            catalog: Catalog::builtin(),
        }
    }

    /// The names of the providers, in the order they were registered.
    pub fn provider_names(&self) -> impl Iterator<Item = &str> {
        self.0.providers.iter().map(|(name, _)| name.as_str())
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
        let known = self.0.catalog.list(Some(provider));
        match self.0.catalog.get(model) {
            Some(info)
                if info.provider != provider && !known.is_empty() && !known.iter().any(|m| m.id == model) =>
            {
                Err(Error::configuration(format!("`{provider}` has no model named `{model}`")).with_hint(
                    format!("it is a model of `{}`; name the provider and the model together", info.provider),
                ))
            }
            _ => Ok(()),
        }
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
