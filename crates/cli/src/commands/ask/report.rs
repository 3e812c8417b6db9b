//! What is told about an answer beside its text.

use std::time::Duration;

use junto::llm::catalog::Catalog;
use junto::llm::{Cost, Response, Usage};
use serde_json::{Value, json};

/// What an answer cost. A provider may answer under a name that no catalog knows, so the name that
/// was asked for counts too.
pub(crate) fn cost(catalog: &Catalog, response: &Response) -> Cost {
    let asked =
        response.message.content.iter().find_map(|part| part.origin()).map(|origin| origin.model.as_str());
    [Some(response.model.as_str()), asked]
        .into_iter()
        .flatten()
        .map(|model| catalog.cost(&response.provider, model, &response.usage))
        .find(|cost| *cost != Cost::Unknown)
        .unwrap_or(Cost::Unknown)
}

/// The line that closes an answer:
/// `anthropic/claude-x · in 1200 (cached 1000) out 80 · about $0.001200 · 1.3 s`.
pub(crate) fn closing_line(who: &str, usage: &Usage, cost: Cost, took: Duration) -> String {
    let Usage { input, output, cache_read, .. } = usage;
    let cached = cache_read.filter(|n| *n > 0).map(|n| format!(" (cached {n})")).unwrap_or_default();
    format!("{who} · in {input}{cached} out {output} · {cost} · {:.1} s", took.as_secs_f64())
}

/// The answer as one JSON object.
pub(super) fn json(response: &Response, cost: Cost, object: Option<Value>) -> Value {
    let usage = Usage { raw: None, ..response.usage.clone() };
    let basis = match cost {
        Cost::Reported(_) => "reported",
        Cost::Estimated(_) => "estimated",
        Cost::Unknown => "unknown",
    };
    let mut report = json!({
        "text": response.text(),
        "provider": response.provider,
        "model": response.model,
        "finish_reason": response.finish_reason,
        "usage": usage,
        "cost": {"usd": cost.amount().map(junto::llm::Usd::dollars), "basis": basis},
        "reasoning": response.reasoning(),
        "tool_calls": response.tool_calls().collect::<Vec<_>>(),
        "warnings": response.warnings,
    });
    if let (Some(object), Some(fields)) = (object, report.as_object_mut()) {
        fields.insert("object".to_owned(), object);
    }
    report
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use junto::llm::{Content, Origin, Part, Usd, Wire};

    use super::*;

    fn response() -> Response {
        Response { usage: Usage { cache_read: Some(10), ..Usage::new(12, 5) }, ..Response::empty("p", "m") }
    }

    #[test]
    fn the_closing_line_tells_usage_and_cost() {
        let took = Duration::from_millis(1300);
        assert_eq!(
            closing_line("p/m", &response().usage, Cost::Estimated(Usd::from_dollars(0.02)), took),
            "p/m · in 12 (cached 10) out 5 · about $0.02 · 1.3 s"
        );
        let uncached = closing_line("p/m", &Usage::new(12, 5), Cost::Unknown, took);
        assert_eq!(uncached, "p/m · in 12 out 5 · cost unknown · 1.3 s");
    }

    #[test]
    fn the_cost_is_that_of_the_model_that_answered_or_was_asked() {
        let catalog = Catalog::builtin();
        let answered = |model: &str, asked: &str| {
            let origin = Origin { wire: Wire::Anthropic, provider: "anthropic".into(), model: asked.into() };
            let part = Part::received(Content::Text("hi".into()), Arc::new(origin), None);
            let mut response =
                Response { usage: Usage::new(1_000_000, 0), ..Response::empty("anthropic", model) };
            response.message.content.push(part);
            cost(&catalog, &response)
        };
        let opus = Cost::Estimated(Usd::from_dollars(4.0));
        assert_eq!(answered("claude-opus-5-5", "x"), opus);
        assert_eq!(answered("some-deployment", "claude-opus-5-5"), opus);
        assert_eq!(answered("some-deployment", "x"), Cost::Unknown);
    }

    #[test]
    fn an_unknown_cost_is_no_zero() {
        let report = json(&response(), Cost::Unknown, None);
        assert_eq!(report["cost"], json!({"usd": null, "basis": "unknown"}));
        assert_eq!(report.get("object"), None);
        assert_eq!(json(&response(), Cost::Unknown, Some(json!({"a": 1})))["object"]["a"], 1);
    }
}
