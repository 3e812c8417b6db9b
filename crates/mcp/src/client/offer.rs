//! What a session has of the servers: their tools, or a search over them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use junto_core::{
    Action, Fut, Offer, Permit, Tool, ToolCall, ToolCx, ToolError, ToolOutcome, ToolSource, ToolSpec,
};
use serde_json::{Value, json};

use super::hub::Hub;
use super::search::search;
use super::tool::ServerTool;

/// What the search is called.
const SEARCH: &str = "tool_search";
/// How many tools are declared at most without a search, and how many bytes of them: a few thousand tokens.
const MOST_DECLARED: usize = 32;
const MOST_BYTES: usize = 24 * 1024;
/// How many tools a search finds at most, and if nobody says.
const MOST_FOUND: usize = 20;
const FOUND: usize = 6;
/// How many servers are named in the description of the search.
const NAMED: usize = 40;
/// How many characters of each description a search tells: the whole is declared then.
const TOLD: usize = 160;

/// The tools that one session has of a hub.
pub(super) struct SessionTools {
    hub: Hub,
    found: Arc<Mutex<Found>>,
}

/// What was searched for and found.
#[derive(Default)]
struct Found {
    names: BTreeSet<String>,
    /// How often something was added.
    times: u64,
}

impl SessionTools {
    pub(super) fn new(hub: Hub) -> Self {
        Self { hub, found: Arc::default() }
    }

    fn found(&self) -> std::sync::MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolSource for SessionTools {
    fn version(&self) -> u64 {
        self.hub.wake();
        // Both only grow.
        self.hub.version().wrapping_add(self.found().times)
    }

    fn settled(&self) -> Fut<'_, ()> {
        self.hub.wake();
        Box::pin(self.hub.settled())
    }

    fn offer(&self) -> Offer {
        let tools = self.hub.tools();
        let search = Arc::new(ToolSearch::new(self.hub.clone(), Arc::clone(&self.found)));
        let one = |tool: &Arc<ServerTool>| Arc::clone(tool) as Arc<dyn Tool>;
        if are_few(&tools) {
            let searching = self.hub.is_coming().then_some(search as Arc<dyn Tool>);
            return Offer { declared: tools.iter().map(one).chain(searching).collect(), behind: Vec::new() };
        }
        let found = self.found();
        let (declared, behind): (Vec<_>, Vec<_>) =
            tools.iter().map(one).partition(|tool| found.names.contains(&tool.spec().name));
        let declared = std::iter::once(search as Arc<dyn Tool>).chain(declared).collect();
        Offer { declared, behind }
    }
}

fn are_few(tools: &[Arc<ServerTool>]) -> bool {
    let size = |tool: &Arc<ServerTool>| {
        let spec = tool.spec();
        spec.name.len()
            + spec.description.len()
            + spec.parameters().map_or(0, |schema| schema.to_string().len())
    };
    tools.len() <= MOST_DECLARED && tools.iter().map(size).sum::<usize>() <= MOST_BYTES
}

/// `tool_search`: finds tools of servers, and has them declared.
struct ToolSearch {
    spec: ToolSpec,
    hub: Hub,
    found: Arc<Mutex<Found>>,
}

impl ToolSearch {
    fn new(hub: Hub, found: Arc<Mutex<Found>>) -> Self {
        let mut told = String::from(
            "Find tools that servers offer beside yours, by words for what you want to do. What is found can be \
             called by its name from your next step on. Servers:",
        );
        let statuses = hub.statuses();
        for status in statuses.iter().filter(|status| status.is_enabled).take(NAMED) {
            let how = match (&status.standing, status.tools.len()) {
                (super::Standing::Starting | super::Standing::Asleep, _) => "still starting".to_owned(),
                (_, 0) => continue,
                (_, number) => format!("{number} tools"),
            };
            let _ = write!(told, " {} ({how});", status.name);
        }
        let parameters = json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words of names and descriptions"},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST_FOUND}
            },
            "required": ["query"]
        });
        Self { spec: ToolSpec::foreign(SEARCH, told.trim_end_matches(';'), parameters), hub, found }
    }

    async fn search(&self, call: &ToolCall, cx: &ToolCx) -> Result<String, String> {
        let query = call.arguments.get("query").and_then(Value::as_str).unwrap_or_default();
        let limit = call.arguments.get("limit").and_then(Value::as_u64);
        let most =
            limit.and_then(|limit| usize::try_from(limit).ok()).map_or(FOUND, |n| n.clamp(1, MOST_FOUND));
        // Here it is waited for servers that are slow, and nowhere else.
        self.hub.wake();
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err("interrupted before it was done".to_owned()),
            () = self.hub.settled() => {}
        }
        let tools = self.hub.tools();
        let found = search(&tools, query, most);
        if found.is_empty() {
            return Ok(self.nothing(tools.len()));
        }
        let mut lines = String::new();
        for tool in &found {
            let spec = tool.spec();
            let told: String = spec.description.chars().take(TOLD).collect();
            let _ = writeln!(lines, "{}: {}", spec.name, told.replace('\n', " "));
        }
        let mut known = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        known.names.extend(found.iter().map(|tool| tool.spec().name.clone()));
        known.times += 1;
        Ok(format!("These can be called now:\n{lines}"))
    }

    /// What is said if nothing was found.
    fn nothing(&self, tools: usize) -> String {
        let mut said = format!("None of the {tools} tools fits; try other words.");
        for status in self.hub.statuses() {
            if let super::Standing::Failed(why) = status.standing {
                let _ = write!(said, "\nThe server {} is not there: {why}", status.name);
            }
        }
        said
    }
}

impl Tool for ToolSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(
        &'a self,
        _call: &'a ToolCall,
        _cx: &'a ToolCx,
    ) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        // It looks into a list that we have, and does nothing.
        Box::pin(async { Ok(Vec::new()) })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move { self.search(permit.call(), cx).await.into() })
    }
}
