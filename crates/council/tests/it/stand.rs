//! A council of twins: `a` speaks Anthropic Messages, `b` OpenAI Responses, the judge Gemini.

use std::sync::Arc;

use junto_council::{Council, FanOut, Member, Options, Scope};
use junto_llm::{CallCx, Effort, Endpoint, HttpProvider, Request, SessionId, ToolSpec, Usage, Wire};
use junto_twin::{Play, Twin};
use serde_json::json;

pub(crate) struct Stand {
    pub(crate) a: Twin,
    pub(crate) b: Twin,
    pub(crate) judge: Twin,
    pub(crate) council: Council,
}

/// A council that always asks both.
pub(crate) fn stand(a: Play, b: Play, judge: Play) -> Stand {
    let options = Options { fan_out: FanOut::Always, scope: Scope::PerTurn, ..Options::default() };
    stand_with(a, b, judge, options)
}

pub(crate) fn stand_with(a: Play, b: Play, judge: Play, options: Options) -> Stand {
    let start = |play| Twin::start(play, junto_twin::Options::default()).unwrap();
    let (a, b, judge) = (start(a), start(b), start(judge));
    let members = vec![
        member("a", &a, Wire::Anthropic, "claude-opus-5-5"),
        member("b", &b, Wire::Responses, "gpt-5.5"),
    ];
    let bench = member("judge", &judge, Wire::Gemini, "gemini-3.1-pro-preview");
    let council = Council::new(members, Some(bench), options).unwrap();
    Stand { a, b, judge, council }
}

fn member(name: &str, twin: &Twin, wire: Wire, model: &str) -> Member {
    let endpoint = Endpoint::new(name, wire, twin.base_url(wire)).key(twin.key());
    Member::new(name, Arc::new(HttpProvider::new(endpoint).unwrap())).model(model)
}

impl Stand {
    /// How many requests `a`, `b` and the judge have seen.
    pub(crate) fn counts(&self) -> [usize; 3] {
        [&self.a, &self.b, &self.judge].map(|twin| twin.requests().len())
    }

    /// The usage is what all twins together have charged.
    pub(crate) fn check_usage(&self, usage: &Usage) {
        let members = &self.a.usage_total() + &self.b.usage_total();
        let charged = &members + &self.judge.usage_total();
        assert_eq!(numbers(usage), numbers(&charged));
        let of_calls = usage.calls.iter().fold(Usage::default(), |sum, call| &sum + &call.usage);
        assert_eq!(numbers(&of_calls), numbers(&charged), "each call stands there once");
    }
}

/// Wires differ in whether a class of tokens that was not used is absent or zero.
fn numbers(usage: &Usage) -> [u64; 6] {
    let Usage { input, output, total, reasoning, cache_read, cache_write, raw: _, calls: _ } = usage;
    let [reasoning, read, written] = [reasoning, cache_read, cache_write].map(|n| n.unwrap_or(0));
    [*input, *output, *total, reasoning, read, written]
}

/// A request with two tools, as a host would send it to a model named `council`.
pub(crate) fn ask(text: &str) -> Request {
    let tool = |name: &str, field: &str| {
        let schema =
            json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]});
        ToolSpec::new(name, "", schema).unwrap()
    };
    let request = Request { reasoning_effort: Some(Effort::High), ..Request::prompt(text) };
    request.model("council").tools([tool("get_weather", "city"), tool("get_time", "zone")])
}

pub(crate) fn session() -> CallCx {
    CallCx::new().session(SessionId("session-1".into()))
}
