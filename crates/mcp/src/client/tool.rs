//! A tool of a server, as one of ours.

use std::sync::Arc;

use junto_core::{
    Action, Fut, Listing, Origin, Permit, Tool, ToolCall, ToolCx, ToolError, ToolOutcome, ToolSpec,
};
use rmcp::model::{
    CallToolRequestParams, CancelledNotificationParam, ClientRequest, GetPromptRequestParams,
    ReadResourceRequestParams, Request, ServerResult,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::{Map, Value, json};

use super::connection::Line;
use super::keeper::Server;
use super::{content, schema};

/// How many characters of a description a model is shown.
const DESCRIPTION: usize = 2000;
/// How many times its time a call may take that tells of its progress.
const PATIENCE: u32 = 10;

/// What the model is told of a call that was stopped.
const INTERRUPTED: &str = "interrupted before it was done";

/// What of a server is called.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    /// A tool of its own.
    Tool(Box<rmcp::model::Tool>),
    /// Its resources: one is read, or all are listed.
    Resources,
    /// Its prompts: one is got, or all are listed.
    Prompts,
}

impl What {
    /// What it is called beside the server's name.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Tool(tool) => &tool.name,
            Self::Resources => "read_resource",
            Self::Prompts => "get_prompt",
        }
    }
}

/// A tool of a server.
pub(super) struct ServerTool {
    spec: ToolSpec,
    listing: Listing,
    server: Arc<Server>,
    what: What,
}

impl ServerTool {
    pub(super) fn new(name: String, server: &Arc<Server>, what: &What) -> Self {
        let of = &server.config.name;
        let (description, parameters) = match what {
            What::Tool(tool) => {
                let told = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
                (told.chars().take(DESCRIPTION).collect(), schema::parameters(&tool.input_schema))
            }
            What::Resources => (
                format!("Read a resource of the server {of}; without a URI, list them"),
                json!({"type": "object", "properties": {"uri": {"type": "string"}}}),
            ),
            What::Prompts => (
                format!("Get a prompt of the server {of}; without a name, list them"),
                json!({"type": "object", "properties": {
                    "name": {"type": "string"},
                    "arguments": {"type": "object", "additionalProperties": {"type": "string"}}
                }}),
            ),
        };
        let spec = ToolSpec::foreign(name, description, parameters);
        let output = match what {
            What::Tool(tool) => tool.output_schema.as_deref(),
            What::Resources | What::Prompts => None,
        };
        let output = output.map(|schema| Arc::new(Value::Object(schema.clone())));
        let origin = Some(Origin { server: of.clone(), tool: what.name().to_owned() });
        let listing = Listing { origin, output };
        Self { spec, listing, server: Arc::clone(server), what: what.clone() }
    }

    /// The name of its server.
    pub(super) fn server(&self) -> &str {
        &self.server.config.name
    }

    /// What it is called at its server.
    pub(super) fn own_name(&self) -> &str {
        self.what.name()
    }

    async fn call(&self, call: &ToolCall, cx: &ToolCx) -> Result<ToolOutcome, String> {
        let line = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(INTERRUPTED.to_owned()),
            line = self.server.line() => line?,
        };
        let arguments = call.arguments.as_object().cloned().unwrap_or_default();
        match &self.what {
            What::Tool(tool) => {
                let params = CallToolRequestParams::new(tool.name.clone()).with_arguments(arguments);
                match self.ask(&line, ClientRequest::CallToolRequest(Request::new(params)), cx).await? {
                    ServerResult::CallToolResult(result) => Ok(content::of_call(result, cx).await),
                    _ => Err(self.odd()),
                }
            }
            What::Resources => self.resource(&line, arguments, cx).await,
            What::Prompts => self.prompt(&line, arguments, cx).await,
        }
    }

    async fn resource(
        &self,
        line: &Line,
        arguments: Map<String, Value>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, String> {
        let Some(uri) = arguments.get("uri").and_then(Value::as_str).filter(|uri| !uri.is_empty()) else {
            let list = async {
                let resources = line.peer.list_resources(None).await?;
                // Not every server that has resources has such forms.
                let templates = line.peer.list_resource_templates(None).await;
                let templates = templates.map(|page| page.resource_templates).unwrap_or_default();
                Ok(content::resources(&resources.resources, &templates))
            };
            return self.in_time(line, list, cx).await.map(Into::into);
        };
        let request = ClientRequest::ReadResourceRequest(Request::new(ReadResourceRequestParams::new(uri)));
        match self.ask(line, request, cx).await? {
            ServerResult::ReadResourceResult(result) => Ok(content::of_resource(result, cx).await),
            _ => Err(self.odd()),
        }
    }

    async fn prompt(
        &self,
        line: &Line,
        arguments: Map<String, Value>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, String> {
        let Some(name) = arguments.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
            let list = async { Ok(content::prompts(&line.peer.list_prompts(None).await?.prompts)) };
            return self.in_time(line, list, cx).await.map(Into::into);
        };
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = arguments.get("arguments").and_then(Value::as_object).cloned();
        match self.ask(line, ClientRequest::GetPromptRequest(Request::new(params)), cx).await? {
            ServerResult::GetPromptResult(result) => Ok(content::of_prompt(result, cx).await),
            _ => Err(self.odd()),
        }
    }

    /// Asks the server. It has its time anew whenever it tells how far it is; if nobody waits any more, it is told.
    async fn ask(&self, line: &Line, request: ClientRequest, cx: &ToolCx) -> Result<ServerResult, String> {
        let within = self.server.config.answer_within;
        let mut options = PeerRequestOptions::no_options();
        options.timeout = Some(within);
        options.reset_timeout_on_progress = true;
        options.max_total_timeout = within.checked_mul(PATIENCE);
        let sent = line.peer.send_cancellable_request(request, options).await;
        let handle = sent.map_err(|error| self.failed(line, &error))?;
        let (id, peer) = (handle.id.clone(), handle.peer.clone());
        let _watch = line.ear.watch(handle.progress_token.clone(), Arc::clone(&cx.caller));
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                let told = CancelledNotificationParam::new(Some(id), Some("nobody waits for it any more".to_owned()));
                let _ = peer.notify_cancelled(told).await;
                Err(INTERRUPTED.to_owned())
            }
            answer = handle.await_response() => answer.map_err(|error| self.failed(line, &error)),
        }
    }

    async fn in_time(
        &self,
        line: &Line,
        answer: impl Future<Output = Result<String, ServiceError>>,
        cx: &ToolCx,
    ) -> Result<String, String> {
        let timeout = self.server.config.answer_within;
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(INTERRUPTED.to_owned()),
            answer = tokio::time::timeout(timeout, answer) => {
                let answer = answer.unwrap_or(Err(ServiceError::Timeout { timeout }));
                answer.map_err(|error| self.failed(line, &error))
            }
        }
    }

    /// What the model is told.
    fn failed(&self, line: &Line, error: &ServiceError) -> String {
        let server = self.server();
        match error {
            ServiceError::McpError(error) => format!("the server {server} says: {}", error.message),
            ServiceError::Timeout { timeout } => {
                format!(
                    "the server {server} did not answer within {timeout:?}; it may still be working on it"
                )
            }
            // Over HTTP one answer may be wrong, and the next one right.
            ServiceError::TransportSend(error) if line.is_open() => {
                format!(
                    "the server {server} gave no answer: {}. What was asked for may have been done",
                    error.error
                )
            }
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                let told = line.words.told().unwrap_or_else(|| "the connection has ended".to_owned());
                format!(
                    "the server {server} ended during the call: {told}. What was asked for may have been done; \
                     the next call starts it again"
                )
            }
            other => format!("the server {server} could not be asked: {other}"),
        }
    }

    fn odd(&self) -> String {
        format!("the server {} gave an answer that has not the form of the protocol", self.server())
    }
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, _cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        // The name that the model was told, however it came to call this.
        let (name, args) = (self.spec.name.clone(), call.arguments.clone());
        Box::pin(async move { Ok(vec![Action::Tool { name, args }]) })
    }

    fn listing(&self) -> Listing {
        self.listing.clone()
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move { self.call(permit.call(), cx).await.unwrap_or_else(ToolOutcome::error) })
    }
}
