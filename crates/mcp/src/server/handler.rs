//! Answers a host.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

use super::desk::Desk;
use super::run::Run;
use super::{Order, Wanted, tools};

/// Answers a host.
#[derive(Clone)]
pub(super) struct Reception {
    desk: Arc<Desk>,
    tools: Arc<[Tool]>,
}

/// What becomes of an agent when the one who waits for it goes away.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gone {
    /// It works on.
    WorksOn,
    /// It stops.
    Stops,
}

impl Reception {
    pub(super) fn new(desk: Arc<Desk>) -> Self {
        let tools = tools::tools(&desk.workers.kinds()).into();
        Self { desk, tools }
    }

    async fn call(
        &self,
        name: &str,
        arguments: &JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, String> {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::to_owned);
        let must =
            |key: &str| text(key).filter(|text| !text.trim().is_empty()).ok_or(format!("`{key}` is missing"));
        match name {
            "start" => {
                let order =
                    Order { agent: text("agent"), model: text("model"), directory: text("directory") };
                let run = self.desk.start(order, must("task")?).await?;
                if arguments.get("wait").and_then(Value::as_bool) == Some(true) {
                    return Ok(result(&run, context, Gone::Stops).await);
                }
                Ok(run.told())
            }
            "steer" => {
                let told = self.desk.get(&must("run")?)?.tell(must("text")?).await;
                told.map(|told| json!({"told": told})).map_err(|error| error.to_string())
            }
            "status" => match text("run") {
                Some(id) => Ok(self.desk.get(&id)?.told()),
                None => Ok(json!({"runs": self.desk.all().iter().map(|run| run.told()).collect::<Vec<_>>()})),
            },
            "result" => Ok(result(&*self.desk.get(&must("run")?)?, context, Gone::WorksOn).await),
            "apply" => {
                let candidate = arguments.get("candidate").and_then(Value::as_u64);
                let candidate =
                    candidate.map(u32::try_from).transpose().map_err(|_| "no such candidate".to_owned())?;
                let wanted = Wanted { run: text("council_run"), candidate, directory: text("directory") };
                Ok(json!({"applied": self.desk.workers.apply(wanted).await?}))
            }
            "stop" => {
                let run = self.desk.get(&must("run")?)?;
                run.close().await;
                Ok(run.told())
            }
            _ => Err(format!("there is no tool {name}")),
        }
    }
}

/// Waits until an agent is done, and tells meanwhile what it is doing.
async fn result(run: &Run, context: &RequestContext<RoleServer>, gone: Gone) -> Value {
    let mut progress = run.progress();
    let mut told = 0;
    loop {
        let now = progress.borrow_and_update().clone();
        if now.open == 0 || now.is_over {
            return run.told();
        }
        if let Some(token) = context.meta.get_progress_token().filter(|_| now.steps > told) {
            told = now.steps;
            #[expect(clippy::cast_precision_loss, reason = "no agent takes that many steps")]
            let step = now.steps as f64;
            let note = ProgressNotificationParam::new(token, step).with_message(now.doing);
            // A host that is gone is noticed below.
            let _ = context.peer.notify_progress(note).await;
        }
        tokio::select! {
            biased;
            () = context.ct.cancelled() => {
                if gone == Gone::Stops {
                    run.interrupt().await;
                }
                return run.told();
            }
            changed = progress.changed() => if changed.is_err() {
                return run.told();
            },
        }
    }
}

impl ServerHandler for Reception {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("junto", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(tools::INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.get_tool(&request.name).is_none() {
            let message = format!("there is no tool {}", request.name);
            return Err(ErrorData::new(ErrorCode::INVALID_PARAMS, message, None));
        }
        let arguments = request.arguments.unwrap_or_default();
        let result = match self.call(&request.name, &arguments, &context).await {
            Ok(value) => CallToolResult::structured(value),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]),
        };
        Ok(result.into())
    }
}
