//! Many tools: they are searched, and cost little before they are found.

use junto_llm::{Message, Request, Wire, tokens};
use serde_json::json;

use crate::bench::{Bench, faulty, named};

/// What the tools of a request cost.
fn cost(bench: &Bench, model: &str, wire: Wire) -> u64 {
    let bare = Request { messages: vec![Message::user("Hello")].into(), ..Request::default() };
    let tools = bench.offer().declared.iter().map(|tool| tool.spec().clone()).collect();
    let with = Request { tools, ..bare.clone() };
    tokens::count(&with, model, wire).tokens - tokens::count(&bare, model, wire).tokens
}

#[tokio::test]
async fn three_hundred_tools_cost_less_than_two_thousand_tokens() {
    let bench = Bench::ready(vec![named("a", &["many=150"]), named("b", &["many=150"])]).await;
    assert_eq!(bench.declared(), ["tool_search"]);
    assert_eq!(bench.offer().behind.len(), 300);
    let models = [
        ("gpt-5.5", Wire::Responses),
        ("claude-opus-5-5", Wire::Anthropic),
        ("gemini-2.5-pro", Wire::Gemini),
    ];
    for (model, wire) in models {
        let before = cost(&bench, model, wire);
        assert!(before < 700, "{model}: {before}");
    }
    let found = bench.text("tool_search", json!({"query": "thing number 142", "limit": 3})).await;
    assert!(found.contains("a__thing_142") && found.contains("b__thing_142"), "{found}");
    let declared = bench.declared();
    assert_eq!((declared.len(), declared[0].as_str()), (4, "tool_search"), "{declared:?}");
    for (model, wire) in models {
        let after = cost(&bench, model, wire);
        assert!(after < 2000, "{model}: {after}");
    }
    assert_eq!(bench.text("b__thing_142", json!({"text": "x"})).await, "thing_142 says: x");
    // What was not found can be called all the same, by who knows its name.
    assert_eq!(bench.text("a__thing_7", json!({"text": "y"})).await, "thing_7 says: y");
    bench.close().await;
}

#[tokio::test]
async fn what_one_session_finds_is_declared_to_no_other() {
    let bench = Bench::ready(vec![faulty(&["many=100"])]).await;
    let other = bench.hub.tools_for_session();
    bench.text("tool_search", json!({"query": "thing 5", "limit": 1})).await;
    assert_eq!((bench.offer().declared.len(), other.offer().declared.len()), (2, 1));
    bench.close().await;
}

#[tokio::test]
async fn a_search_that_finds_nothing_says_what_is_missing() {
    let bench = Bench::ready(vec![faulty(&["many=100"]), named("broken", &["broken"])]).await;
    let said = bench.text("tool_search", json!({"query": "weather"})).await;
    assert!(said.contains("None of the 100 tools fits") && said.contains("no key for me"), "{said}");
    bench.close().await;
}
