//! Saving code as a tool.

use junto_core::{Action, Fut, Permit, Tool, ToolCall, ToolCx, ToolError, ToolOutcome, ToolSpec};
use junto_env::{Expect, RealPath};
use serde_json::{Value, json};

use super::Gentools;
use super::scan::Scanned;

/// What the tool that saves is called.
pub const SAVE_TOOL: &str = "save_code_tool";

/// `save_code_tool`: keeps code that worked as `gentools.<category>.<name>`, for this session and later ones. What is
/// written is judged like any other write.
#[derive(Debug)]
pub struct SaveTool {
    spec: ToolSpec,
    gentools: Gentools,
}

impl SaveTool {
    /// Saves in this folder.
    pub fn new(gentools: Gentools) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "category": {"type": "string", "description": "What kind of tool it is, as a Python name"},
                "name": {"type": "string", "description": "What it is called, as a Python name"},
                "code": {
                    "type": "string",
                    "description": "A whole Python module with its imports and a function run(...) with type hints and \
                                    a docstring"
                }
            },
            "required": ["category", "name", "code"]
        });
        let told = "Keep Python code that worked as a tool of its own. Later code imports it: \
                    from gentools.<category>.<name> import run";
        Self { spec: ToolSpec::foreign(SAVE_TOOL, told, parameters), gentools }
    }

    /// Where the code goes, which is really below the folder.
    async fn place(&self, call: &ToolCall, cx: &ToolCx) -> Result<RealPath, ToolError> {
        let text = |key: &str| call.arguments.get(key).and_then(Value::as_str).unwrap_or_default();
        if Scanned::of(text("code")).signature.is_none() {
            return Err(ToolError("the code has no function `run` at its top level".to_owned()));
        }
        let place = self.gentools.place(text("category"), text("name")).map_err(ToolError)?;
        let root = cx.env.resolve(&self.gentools.root.to_string_lossy()).await?;
        let path = cx.env.resolve(&place.to_string_lossy()).await?;
        if !path.is_within(&root) {
            return Err(ToolError(format!("`{path}` is not in the folder of tools `{root}`")));
        }
        Ok(path)
    }

    async fn save(&self, permit: &Permit, cx: &ToolCx) -> Result<String, String> {
        let call = permit.call();
        let text = |key: &str| call.arguments.get(key).and_then(Value::as_str).unwrap_or_default();
        let path = permit.writes().next().ok_or("nothing was allowed to be written")?;
        // If somebody was shown a change, it is a change of what was there then.
        let expect = match cx.shown.get(path) {
            Some(Some(stamp)) => Expect::Unchanged(*stamp),
            Some(None) => Expect::Absent,
            None => Expect::Any,
        };
        let written = cx.env.write(path, text("code").as_bytes(), expect).await;
        written.map_err(|error| error.to_string())?;
        Ok(format!("saved: from gentools.{}.{} import run", text("category"), text("name")))
    }
}

impl Tool for SaveTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move { Ok(vec![Action::Write { path: self.place(call, cx).await? }]) })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move { self.save(&permit, cx).await.into() })
    }
}
