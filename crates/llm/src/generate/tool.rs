//! Tools that run by themselves, and tools that are handed back.

use std::fmt::Display;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{Error, Fut, Message, ResultOutput, ToolSpec};

/// What a handler is given.
#[derive(Clone, Debug)]
pub struct ToolInput {
    /// The call's id.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments; they fit the tool's schema.
    pub arguments: Value,
    /// The conversation up to and including the call.
    pub messages: Arc<[Message]>,
    /// Ends when the whole generation is cancelled.
    pub cancel: CancellationToken,
}

/// Runs a tool. An error is told to the model.
type Handler = Arc<dyn Fn(ToolInput) -> Fut<'static, Result<ResultOutput, String>> + Send + Sync>;

/// A tool: active with a handler, passive without. A call of a passive tool ends the loop and is
/// handed back to the caller.
#[derive(Clone)]
pub struct Tool {
    pub(super) spec: ToolSpec,
    pub(super) handler: Option<Handler>,
}

impl Tool {
    /// A passive tool.
    ///
    /// # Errors
    /// As [`ToolSpec::new`].
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
    ) -> Result<Self, Error> {
        Ok(Self::from(ToolSpec::new(name, description, parameters)?))
    }

    /// This tool with a handler that answers with text.
    pub fn handler<F, O, E>(self, run: impl Fn(ToolInput) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<O, E>> + Send + 'static,
        O: Into<String>,
        E: Display,
    {
        self.with(run, |text| ResultOutput::Text(text.into()))
    }

    /// This tool with a handler that answers with JSON.
    pub fn json_handler<F, E>(self, run: impl Fn(ToolInput) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Value, E>> + Send + 'static,
        E: Display,
    {
        self.with(run, ResultOutput::Json)
    }

    fn with<F, O, E>(
        mut self,
        run: impl Fn(ToolInput) -> F + Send + Sync + 'static,
        output: impl Fn(O) -> ResultOutput + Send + Sync + Copy + 'static,
    ) -> Self
    where
        F: Future<Output = Result<O, E>> + Send + 'static,
        E: Display,
    {
        self.handler = Some(Arc::new(move |input| {
            let running = run(input);
            Box::pin(async move { running.await.map(output).map_err(|e| e.to_string()) })
        }));
        self
    }
}

impl From<ToolSpec> for Tool {
    fn from(spec: ToolSpec) -> Self {
        Self { spec, handler: None }
    }
}
