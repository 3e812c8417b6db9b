//! `find_code_tools`: what code can import, without a word of it in the prompt.

use std::fmt::Write as _;
use std::sync::Arc;

use junto_core::{Action, Fut, Permit, Tool, ToolCall, ToolCx, ToolError, ToolOutcome, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::{CodeRoom, FIND_CODE_TOOLS};
use crate::{Discovery, FoundTool};

/// How many tools a search gives.
const FOUND: usize = 10;

/// Lists and searches the tools that code can import. It only looks at what the session knows, so there is nothing to be
/// judged.
pub(super) struct FindCodeTools {
    spec: ToolSpec,
    room: Arc<CodeRoom>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Arguments {
    query: Option<String>,
    module: Option<String>,
    signature: Option<String>,
}

impl FindCodeTools {
    pub(super) fn new(room: Arc<CodeRoom>) -> Self {
        let spec = ToolSpec::foreign(
            FIND_CODE_TOOLS,
            "Find tools that code can import. Without arguments it lists the modules; with `module` the tools of one; \
             with `query` the tools that fit some words; with `signature` how one is imported and called.",
            json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "Words for what you want to do"},
                    "module": {"type": "string", "description": "A module, as the list of modules has it"},
                    "signature": {"type": "string", "description": "A tool with its module, as lists have it"}
                }
            }),
        );
        Self { spec, room }
    }

    async fn find(&self, call: &ToolCall) -> Result<String, String> {
        let Arguments { query, module, signature } =
            Arguments::deserialize(&call.arguments).map_err(|error| error.to_string())?;
        let discovery = self.room.discovery().ok_or("the session has not begun")?;
        match (signature, module, query) {
            (Some(name), ..) => discovery.signature(&name),
            (None, Some(module), _) => discovery.tools(&module).map(|tools| lines(&tools)),
            (None, None, Some(query)) => match discovery.search(&query, FOUND).await?.as_slice() {
                [] => Ok(format!("nothing fits. {}", modules(discovery))),
                found => Ok(lines(found)),
            },
            (None, None, None) => Ok(modules(discovery)),
        }
    }
}

fn lines(tools: &[FoundTool]) -> String {
    let mut text = String::new();
    for tool in tools {
        // A string takes everything.
        let _ = writeln!(text, "{}: {}", tool.name, tool.summary);
    }
    text
}

fn modules(discovery: &Discovery) -> String {
    let mut text = String::from("The modules:\n");
    for category in discovery.categories() {
        let _ = writeln!(text, "{} ({} tools)", category.module, category.tools);
    }
    text
}

impl Tool for FindCodeTools {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, _: &'a ToolCall, _: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn run<'a>(&'a self, permit: Permit, _: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            let found = self.find(permit.call()).await;
            self.room.tell_failure().await;
            found.into()
        })
    }
}
