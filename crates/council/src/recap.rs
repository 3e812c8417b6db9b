//! One line at the end of a council's work.

use futures_util::{StreamExt, stream};
use junto_llm::catalog::Catalog;
use junto_llm::{
    CallCx, Error, EventStream, Fut, Narration, Provider, Request, Response, StreamEvent, ToolChoice, Usage,
};
use tokio::time::Instant;

use crate::Council;

/// A council that says at the end of each call that several were asked for how many calls that were, how long it
/// took and what it cost, through [`StreamEvent::Progress`]. The line comes before the calls of tools, which a
/// client takes for the end of the answer; a text is streamed as it comes, so there it comes behind it.
pub struct Recap {
    council: Council,
    catalog: Catalog,
}

impl Recap {
    /// Sums this council's calls up, with the catalog's prices.
    pub fn new(council: Council, catalog: Catalog) -> Self {
        Self { council, catalog }
    }
}

impl Provider for Recap {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        self.council.complete(request, cx)
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        if cx.narration == Narration::Silent {
            return self.council.stream(request, cx);
        }
        Box::pin(async move {
            let (began, catalog) = (Instant::now(), self.catalog.clone());
            let name = self.council.name().to_owned();
            let mut held = Vec::new();
            let events = self.council.stream(request, cx).await?;
            Ok(EventStream::new(events.flat_map(move |item| {
                let mut out = Vec::new();
                match item {
                    Ok(StreamEvent::Finish { ref usage, .. }) => {
                        let line = line(&name, usage, &catalog, began);
                        out.extend(line.map(|text| Ok(StreamEvent::Progress { text })));
                        out.append(&mut held);
                        out.push(item);
                    }
                    // It may be said to the end: nothing of it is executed before.
                    Ok(event @ StreamEvent::ToolCallStart { .. }) => held.push(Ok(event)),
                    Ok(event) if !held.is_empty() => held.push(Ok(event)),
                    item => out.push(item),
                }
                stream::iter(out)
            })))
        })
    }

    fn supports_tool_choice(&self, choice: &ToolChoice) -> bool {
        self.council.supports_tool_choice(choice)
    }
}

/// The line; none where one was asked, who said all there is to say.
fn line(name: &str, usage: &Usage, catalog: &Catalog, began: Instant) -> Option<String> {
    let calls = usage.calls.len();
    if calls < 2 {
        return None;
    }
    let cost = catalog.cost("", "", usage);
    Some(format!("{name}: {calls} calls · {:.1}s · {cost}", began.elapsed().as_secs_f32()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::scripted::{Scripted, call, text};
    use crate::{FanOut, Member, Options, Scope};

    /// What is seen of a council of two who say this: `-` for progress that is no recap, `=` for a recap.
    async fn seen(answer: fn() -> Response, fan_out: FanOut) -> String {
        let member = |name: &str| Member::new(name, Arc::new(Scripted::answers(answer())));
        let options = Options { fan_out, scope: Scope::PerTurn, ..Options::default() };
        let council = Council::new(vec![member("a"), member("b")], None, options).unwrap();
        let recap = Recap::new(council, Catalog::empty());
        let request = Request::prompt("?").tools([junto_llm::ToolSpec::foreign(
            "f",
            "",
            serde_json::json!({"type": "object"}),
        )]);
        let mut events = recap.stream(request, &CallCx::new()).await.unwrap();
        let mut seen = String::new();
        while let Some(event) = events.next().await {
            seen.push_str(match event.unwrap() {
                StreamEvent::Progress { text } if text.contains(" calls · ") => "=",
                StreamEvent::Progress { .. } => "-",
                StreamEvent::TextDelta { .. } => "t",
                StreamEvent::ToolCallStart { .. } => "c",
                StreamEvent::Finish { .. } => ".",
                _ => "",
            });
        }
        seen.trim_start_matches('-').replace("tt", "t").replace("tt", "t")
    }

    #[tokio::test]
    async fn the_recap_comes_before_calls_and_behind_a_text() {
        assert_eq!(seen(|| call("f", "{}"), FanOut::Always).await, "=c.");
        let found = seen(|| text("Yes."), FanOut::Always).await;
        assert!(found.ends_with("=."), "{found}");
        assert!(!seen(|| text("Yes."), FanOut::Never).await.contains('='), "one was asked");
    }
}
