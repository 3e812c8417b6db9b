//! What a member has read and written so far, told while it writes.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use junto_llm::catalog::Catalog;
use junto_llm::{
    CallCx, Error, EventStream, Fut, Narration, Provider, Request, Response, StreamEvent, ToolChoice, Usage,
};
use tokio::time::Instant;

/// About so many bytes are a token, until the provider says how many there were.
const TOKEN: usize = 4;

/// A provider that tells, through [`StreamEvent::Progress`], how far its answer is: while it writes no more often
/// than a pace, and once when it has ended, with what it cost and what of its input was cached. It says nothing where nobody
/// listens ([`Narration::Silent`]), and nothing while its provider is silent: whoever waits for a sign of life
/// must not be misled.
pub struct Telemetry {
    provider: Arc<dyn Provider>,
    pace: Duration,
    catalog: Catalog,
}

impl Telemetry {
    /// Tells of this provider's answers in this pace, with the catalog's prices.
    pub fn new(provider: Arc<dyn Provider>, pace: Duration, catalog: Catalog) -> Self {
        Self { provider, pace, catalog }
    }
}

impl Provider for Telemetry {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        self.provider.complete(request, cx)
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        if cx.narration == Narration::Silent {
            return self.provider.stream(request, cx);
        }
        Box::pin(async move {
            let began = Instant::now();
            let events = self.provider.stream(request, cx).await?;
            let mut meter = Meter::new(began, self.pace, self.catalog.clone());
            Ok(EventStream::new(events.flat_map(move |item| {
                let line = item.as_ref().ok().and_then(|event| meter.line(event));
                let line = line.map(|text| Ok(StreamEvent::Progress { text }));
                stream::iter(line.into_iter().chain([item]))
            })))
        })
    }

    fn supports_tool_choice(&self, choice: &ToolChoice) -> bool {
        self.provider.supports_tool_choice(choice)
    }
}

/// Counts one answer.
struct Meter {
    began: Instant,
    pace: Duration,
    catalog: Catalog,
    /// When something was told last.
    told: Instant,
    provider: String,
    model: String,
    input: u64,
    written: usize,
}

impl Meter {
    fn new(began: Instant, pace: Duration, catalog: Catalog) -> Self {
        let (provider, model) = (String::new(), String::new());
        Self { began, pace, catalog, told: began, provider, model, input: 0, written: 0 }
    }

    /// What is to be told before this event, if anything is.
    fn line(&mut self, event: &StreamEvent) -> Option<String> {
        match event {
            StreamEvent::StreamStart { provider, model, usage, .. } => {
                self.provider.clone_from(provider);
                self.model.clone_from(model);
                self.input = usage.as_ref().map_or(0, |usage| usage.input);
                return None;
            }
            StreamEvent::TextDelta { text, .. } | StreamEvent::ReasoningDelta { text, .. } => {
                self.written = self.written.saturating_add(text.len());
            }
            StreamEvent::ToolCallDelta { arguments, .. } => {
                self.written = self.written.saturating_add(arguments.len());
            }
            StreamEvent::Finish { usage, .. } => return self.end(usage),
            _ => return None,
        }
        if self.told.elapsed() < self.pace {
            return None;
        }
        self.told = Instant::now();
        let (input, output) = (self.input, self.written.div_ceil(TOKEN));
        let known = if input > 0 { format!("{input} in → ") } else { String::new() };
        Some(format!("{known}~{output} out · {}s", self.began.elapsed().as_secs()))
    }

    /// What a council does not tell of its members by itself, if anything of it is known.
    fn end(&self, usage: &Usage) -> Option<String> {
        let cached = usage.cache_read.filter(|read| *read > 0);
        let cached = cached.map(|read| format!("{read} of {} tokens in were cached", usage.input));
        let cost = self.catalog.cost(&self.provider, &self.model, usage);
        let cost = cost.amount().is_some().then(|| cost.to_string());
        cost.into_iter().chain(cached).reduce(|cost, cached| format!("{cost} · {cached}"))
    }
}

#[cfg(test)]
mod tests {
    use junto_llm::{Finish, FinishReason, SegmentId};

    use super::*;

    fn start(usage: Option<Usage>) -> StreamEvent {
        StreamEvent::StreamStart {
            id: String::new(),
            model: "m".into(),
            provider: "p".into(),
            origin: None,
            usage,
            warnings: Vec::new(),
            rate_limit: None,
        }
    }

    fn text(text: &str) -> StreamEvent {
        StreamEvent::TextDelta { id: SegmentId(0), text: text.into() }
    }

    /// Plays events, each after so many seconds, and gives the lines.
    async fn told(events: Vec<(u64, StreamEvent)>) -> Vec<String> {
        let mut meter = Meter::new(Instant::now(), Duration::from_secs(2), Catalog::empty());
        let mut lines = Vec::new();
        for (after, event) in events {
            tokio::time::advance(Duration::from_secs(after)).await;
            lines.extend(meter.line(&event));
        }
        lines
    }

    #[tokio::test(start_paused = true)]
    async fn counters_are_told_in_their_pace_and_the_end_once() {
        let usage = Usage { cache_read: Some(40), ..Usage::new(100, 12) };
        let reason = FinishReason::new(Finish::Stop);
        let lines = told(vec![
            (1, start(Some(Usage::new(100, 0)))),
            (0, text("abcd")),
            (1, text("efghi")),
            (1, text("j")),
            (1, text("k")),
            (9, StreamEvent::Finish { reason, usage, response: None }),
        ])
        .await;
        let expected = ["100 in → ~3 out · 2s", "100 in → ~3 out · 4s", "40 of 100 tokens in were cached"];
        assert_eq!(lines, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_known_is_not_told() {
        let end = StreamEvent::Finish {
            reason: FinishReason::new(Finish::Stop),
            usage: Usage::new(1, 1),
            response: None,
        };
        let lines = told(vec![(0, start(None)), (5, text("ab")), (0, end)]).await;
        assert_eq!(lines, ["~1 out · 5s"]);
    }
}
