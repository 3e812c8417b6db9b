//! A council as clients of model APIs expect one.

use futures_util::{StreamExt, stream};
use junto_llm::catalog::Catalog;
use junto_llm::{
    CallCx, Error, EventStream, Fut, Narration, Provider, Request, Response, StreamEvent, ToolChoice, Usage,
};
use tokio::time::Instant;

use crate::Council;

/// A council as clients of model APIs expect one: it answers under the name that it was asked by, whatever its own
/// is, and says at the end of each call that several were asked for, through [`StreamEvent::Progress`], how many
/// calls that were, how long it took and what it cost. The line comes before the calls of tools, which a client takes
/// for the end of the answer; a text is streamed as it comes, so there it comes behind it.
pub struct Served {
    council: Council,
    catalog: Catalog,
}

impl Served {
    /// Serves this council, and sums its calls up with the catalog's prices.
    pub fn new(council: Council, catalog: Catalog) -> Self {
        Self { council, catalog }
    }
}

impl Provider for Served {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move {
            let asked = request.model.clone();
            let mut response = self.council.complete(request, cx).await?;
            if let Some(asked) = asked {
                response.model = asked;
            }
            Ok(response)
        })
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            let asked = request.model.clone();
            let events = self.council.stream(request, cx).await?;
            let mut serving = Serving {
                name: self.council.name().to_owned(),
                asked,
                is_heard: cx.narration != Narration::Silent,
                catalog: self.catalog.clone(),
                began: Instant::now(),
                held: Vec::new(),
            };
            Ok(EventStream::new(events.flat_map(move |item| stream::iter(serving.pass(item)))))
        })
    }

    fn supports_tool_choice(&self, choice: &ToolChoice) -> bool {
        self.council.supports_tool_choice(choice)
    }
}

/// One answer on its way.
struct Serving {
    name: String,
    /// The name that it was asked by.
    asked: Option<String>,
    is_heard: bool,
    catalog: Catalog,
    began: Instant,
    /// The calls of tools and what follows them.
    held: Vec<Result<StreamEvent, Error>>,
}

impl Serving {
    /// What goes out for an event of the council's.
    fn pass(&mut self, mut item: Result<StreamEvent, Error>) -> Vec<Result<StreamEvent, Error>> {
        if let (Ok(event), Some(asked)) = (&mut item, &self.asked) {
            rename(event, asked);
        }
        match item {
            Ok(StreamEvent::Finish { ref usage, .. }) => {
                let recap = self.recap(usage).map(|text| Ok(StreamEvent::Progress { text }));
                recap.into_iter().chain(self.held.drain(..)).chain([item]).collect()
            }
            // They come whole and at once, so that nothing is delayed.
            Ok(event) if !self.held.is_empty() || matches!(event, StreamEvent::ToolCallStart { .. }) => {
                self.held.push(Ok(event));
                Vec::new()
            }
            item => vec![item],
        }
    }

    /// The line; none where nobody listens, or one was asked, who said all there is to say.
    fn recap(&self, usage: &Usage) -> Option<String> {
        let calls = usage.calls.len();
        if calls < 2 || !self.is_heard {
            return None;
        }
        let (name, cost) = (&self.name, self.catalog.cost("", "", usage));
        Some(format!("{name}: {calls} calls · {:.1}s · {cost}", self.began.elapsed().as_secs_f32()))
    }
}

/// Gives an answer the name that it was asked by.
fn rename(event: &mut StreamEvent, asked: &str) {
    match event {
        StreamEvent::StreamStart { model, .. } => asked.clone_into(model),
        StreamEvent::Finish { response: Some(response), .. } => asked.clone_into(&mut response.model),
        _ => {}
    }
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
        let served = Served::new(council, Catalog::empty());
        let request = Request::prompt("?").tools([junto_llm::ToolSpec::foreign(
            "f",
            "",
            serde_json::json!({"type": "object"}),
        )]);
        let mut events = served.stream(request, &CallCx::new()).await.unwrap();
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
    async fn it_answers_under_the_name_it_was_asked_by() {
        let member = Member::new("a", Arc::new(Scripted::answers(text("Yes."))));
        let council = Council::new(vec![member], None, Options::default()).unwrap();
        let served = Served::new(council, Catalog::empty());
        let request = || Request::prompt("?").model("gpt-5.5");
        assert_eq!(served.complete(request(), &CallCx::new()).await.unwrap().model, "gpt-5.5");
        let events = served.stream(request(), &CallCx::new()).await.unwrap();
        assert_eq!(events.into_response().await.unwrap().model, "gpt-5.5");
    }

    #[tokio::test]
    async fn the_recap_comes_before_calls_and_behind_a_text() {
        assert_eq!(seen(|| call("f", "{}"), FanOut::Always).await, "=c.");
        let found = seen(|| text("Yes."), FanOut::Always).await;
        assert!(found.ends_with("=."), "{found}");
        assert!(!seen(|| text("Yes."), FanOut::Never).await.contains('='), "one was asked");
    }
}
