//! A ledger that an agent reads page by page, with a model whose window holds only a few pages.

use std::sync::Arc;

use junto_agent::{Overflow, SessionConfig, ToolRegistry, tool, tools};
use junto_core::{Body, CompactMethod, CompactReason, Dropped, Event, ToolCx};
use junto_llm::catalog::{Catalog, ModelInfo, Reasoning};
use junto_llm::http::{Endpoint, HttpProvider};
use junto_llm::{Client, Effort, Messages, Wire};
use junto_twin::{DEFAULT_KEY, Options, Play, Received, Step, Twin, When};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::scene::{Record, Scene};
use crate::stand::Stand;

/// How many tokens the models take in.
pub(crate) const WINDOW: u64 = 8000;
/// How many tokens they may write.
const ANSWER: u64 = 1000;

/// The provider's name, and a reasoning model of it with a small window.
fn tiny(wire: Wire) -> (&'static str, &'static str) {
    match wire {
        Wire::Anthropic => ("anthropic", "claude-tiny-8000"),
        Wire::Responses => ("openai", "gpt-5-tiny-8000"),
        Wire::Gemini => ("gemini", "gemini-3-tiny-8000"),
        Wire::Chat => ("local", "tiny-8000"),
    }
}

/// Who knows how large the window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// The catalog.
    Catalog,
    /// The provider alone, which says when it is too small.
    Nobody,
}

fn catalog(wire: Wire, known: Known) -> Catalog {
    let (provider, model) = tiny(wire);
    let info = ModelInfo {
        id: model.into(),
        provider: provider.into(),
        name: model.into(),
        context_window: if known == Known::Catalog { WINDOW + ANSWER } else { 0 },
        max_output: ANSWER,
        tools: true,
        reasoning: if wire == Wire::Chat { Reasoning::None } else { Reasoning::Effort },
        ..ModelInfo::default()
    };
    Catalog::empty().overlay(vec![info])
}

#[derive(Deserialize, JsonSchema)]
struct Page {
    /// Which page
    page: u32,
    /// How often its line is repeated
    lines: Option<usize>,
}

/// What stands on a page. It begins and ends with a mark of its own.
pub(crate) fn page(number: u32, lines: usize) -> String {
    format!("[begin-{number}] {}[end-{number}]", "Received of a friend one guilder and ten.\n".repeat(lines))
}

/// How many lines a page has.
pub(crate) const LINES: usize = 70;

/// A call for a page.
pub(crate) fn turn_page(number: u32) -> Step {
    Step::call("turn_page", json!({"page": number}))
}

/// The model writes a hand-over whenever it is asked for one.
pub(crate) fn hands_over(text: &str) -> Step {
    Step::text(text).when(When { contains: Some("<hand-over".into()), ..When::default() })
}

/// A session that makes its conversation shorter, with tools to state a plan and to turn pages.
pub(crate) async fn stand(
    wire: Wire,
    known: Known,
    steps: impl Into<Vec<Step>>,
    change: impl FnOnce(SessionConfig) -> SessionConfig,
) -> Stand {
    let twin = Twin::start(Play::of(steps), Options::default()).unwrap();
    let (provider, model) = tiny(wire);
    let catalog = catalog(wire, known);
    let endpoint = Endpoint::new(provider, wire, twin.base_url(wire)).key(DEFAULT_KEY);
    let http = HttpProvider::new(endpoint).unwrap().with_catalog(catalog.clone());
    let client =
        Client::builder().catalog(catalog.clone()).provider(provider, Arc::new(http)).build().unwrap();
    let turn = tool("turn_page", "Turn to a page.", |args: Page, _: ToolCx| async move {
        page(args.page, args.lines.unwrap_or(LINES))
    });
    let mut tools = ToolRegistry::default();
    tools.register(Arc::new(turn));
    tools.register(Arc::new(tools::UpdatePlan::default()));
    let scene = Scene::with(Arc::new(client), |config| {
        change(SessionConfig {
            model: Some(model.into()),
            effort: (wire != Wire::Chat).then_some(Effort::High),
            catalog,
            tools,
            on_overflow: Overflow::Compact,
            enable_loop_detection: false,
            ..config
        })
    });
    Stand { scene: scene.await, twin, wire }
}

/// Whether a request asks for a hand-over, and not for the next step.
pub(crate) fn is_chore(request: &Received) -> bool {
    let body = request.body.to_string();
    body.contains("</hand-over-request>") || body.contains("</record>")
}

/// A compaction, as its event tells of it.
pub(crate) struct Compacted {
    pub(crate) why: CompactReason,
    pub(crate) how: CompactMethod,
    pub(crate) dropped: Dropped,
    pub(crate) messages: Messages,
    pub(crate) pinned: Vec<u32>,
    pub(crate) input: Option<u32>,
}

/// The compactions of a session, in order.
pub(crate) fn compactions(record: &Record) -> Vec<Compacted> {
    let one = |event: &Event| match &event.body {
        Body::Compacted { why, how, dropped, tokens_before, tokens_after, messages, pinned, input } => {
            assert!(tokens_after < tokens_before, "{tokens_before} became {tokens_after}");
            let messages = serde_json::from_str(&crate::scene::whole(messages)).unwrap();
            let (pinned, input) = (pinned.clone(), *input);
            Some(Compacted { why: *why, how: *how, dropped: *dropped, messages, pinned, input })
        }
        _ => None,
    };
    record.events.iter().filter_map(one).collect()
}
