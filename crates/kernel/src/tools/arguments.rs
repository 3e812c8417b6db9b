//! What the tools are called with.

use junto_core::{Action, Fut, ToolCall, ToolError};
use serde::Deserialize;

/// A cell.
#[derive(Debug, Deserialize)]
pub(super) struct CodeArgument {
    pub(super) code: String,
}

/// The code of a call.
///
/// # Errors
/// What is wrong with it, for the model.
pub(super) fn code(call: &ToolCall) -> Result<String, ToolError> {
    let CodeArgument { code } = CodeArgument::deserialize(&call.arguments)
        .map_err(|error| ToolError(format!("`{}` cannot be called like this: {error}", call.name)))?;
    if code.trim().is_empty() {
        return Err(ToolError("the cell is empty".to_owned()));
    }
    Ok(code)
}

/// What a call would do that runs code.
pub(super) fn actions(call: &ToolCall) -> Fut<'_, Result<Vec<Action>, ToolError>> {
    Box::pin(async move { Ok(vec![Action::Code { code: code(call)? }]) })
}
