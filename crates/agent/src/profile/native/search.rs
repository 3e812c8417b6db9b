//! Searching in files as the vendors' agents do it.

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::{Hits, RealPath, Search};
use junto_llm::{ToolCall, ToolSpec};
use serde_json::Value;

use super::arguments::text;
use crate::tools::{place, search};

/// What a call looks for, below this directory or in this file.
pub(crate) type Ask = fn(&Value, RealPath) -> Result<Search, String>;

/// What the model is told of what was found, with paths as seen from the working directory.
pub(crate) type Tell = fn(&Value, &Hits, &RealPath) -> String;

/// Searches in files.
pub(super) struct Grep {
    pub(super) spec: ToolSpec,
    /// The parameter that says where.
    pub(super) place: &'static str,
    pub(super) ask: Ask,
    pub(super) tell: Tell,
    /// How an error is told.
    pub(super) fault: fn(&str) -> String,
}

impl Grep {
    async fn root(&self, call: &ToolCall, cx: &ToolCx) -> Result<RealPath, ToolError> {
        place(&*cx.env, text(&call.arguments, self.place)).await
    }

    async fn find(&self, permit: &Permit, cx: &ToolCx) -> Result<String, ToolError> {
        let args = &permit.call().arguments;
        let root = permit.reads().next().ok_or_else(|| ToolError("no place was named".to_owned()))?;
        let query = (self.ask)(args, root.clone()).map_err(ToolError)?;
        let hits = search(cx, query).await?;
        Ok((self.tell)(args, &hits, &cx.env.facts().cwd))
    }
}

impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            let path = self.root(call, cx).await?;
            (self.ask)(&call.arguments, path.clone()).map_err(ToolError)?;
            Ok(vec![Action::ReadAll { path }])
        })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            match self.find(&permit, cx).await {
                Ok(found) => ToolOutcome::ok(found),
                Err(error) => ToolOutcome::error((self.fault)(&error.to_string())),
            }
        })
    }
}
