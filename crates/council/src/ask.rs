//! One member's answer.

use std::future::Future;

use futures_util::StreamExt;
use junto_llm::{
    Accumulator, CallCx, Error, ErrorKind, EventStream, LeafCall, Request, Response, StreamEvent, Usage,
};

use crate::Member;
use crate::narrator::Narrator;

/// What came of asking, and what it used: also a member that failed has used something.
pub(crate) struct Answer {
    pub(crate) result: Result<Response, Error>,
    pub(crate) usage: Usage,
}

impl Answer {
    /// The model calls that were made for it. A member that failed before it used anything made none.
    pub(crate) fn calls(&self, member: &Member) -> Vec<LeafCall> {
        if self.result.is_err() && self.usage == Usage::default() {
            return Vec::new();
        }
        let asked = (member.provider_name.as_ref().unwrap_or(&member.name), member.model.as_ref());
        let (provider, model) = match &self.result {
            Ok(response) => (&response.provider, Some(&response.model)),
            Err(_) => asked,
        };
        self.usage.clone().into_calls(provider, model.map_or("", String::as_str))
    }
}

/// The client's request as this member gets it: only the address differs.
pub(crate) fn addressed(request: &Request, member: &Member) -> Request {
    Request { model: member.model.clone(), provider: member.provider_name.clone(), ..request.clone() }
}

/// Asks a member until it has answered, has failed, or `too_late` gives an error. What it narrates
/// is passed on with its name.
pub(crate) async fn ask(
    member: &Member,
    request: Request,
    cx: &CallCx,
    narrator: &Narrator,
    max_answer: usize,
    too_late: impl Future<Output = Error>,
) -> Answer {
    let mut usage = Usage::default();
    let answering = async {
        let events = member.provider.stream(request, cx).await?;
        fold(events, member, narrator, max_answer, &mut usage).await
    };
    let result = tokio::select! {
        biased;
        result = answering => result,
        error = too_late => Err(error),
    };
    Answer { result, usage }
}

async fn fold(
    mut events: EventStream,
    member: &Member,
    narrator: &Narrator,
    max_answer: usize,
    known: &mut Usage,
) -> Result<Response, Error> {
    let mut accumulator = Accumulator::new();
    let mut bytes = 0_usize;
    while let Some(event) = events.next().await {
        let event = event?;
        bytes = bytes.saturating_add(size(&event));
        if bytes > max_answer {
            let message = format!("the answer is larger than {max_answer} bytes");
            return Err(Error::new(ErrorKind::Server, message));
        }
        accumulator.push(&event);
        match event {
            StreamEvent::StreamStart { usage: Some(usage), .. } => *known = usage,
            StreamEvent::Progress { text } => narrator.say(format!("{}: {text}", member.name)).await,
            StreamEvent::Finish { usage, response, .. } => {
                *known = usage;
                return Ok(response.map_or_else(|| accumulator.into_response(), |whole| *whole));
            }
            _ => {}
        }
    }
    Err(Error::stream("the stream ended before the answer was complete"))
}

/// How much of an answer an event adds.
fn size(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::TextDelta { text, .. } | StreamEvent::ReasoningDelta { text, .. } => text.len(),
        StreamEvent::ToolCallDelta { arguments, .. } => arguments.len(),
        StreamEvent::StreamStart { .. } | StreamEvent::Progress { .. } | StreamEvent::Finish { .. } => 0,
        // Raw items and whole parts have no size of their own.
        event => serde_json::to_vec(event).map_or(0, |json| json.len()),
    }
}

#[cfg(test)]
mod tests {
    use std::future;
    use std::sync::Arc;

    use super::*;
    use crate::scripted::{Scripted, text};

    async fn asked(scripted: Scripted, max_answer: usize) -> Answer {
        let member = Member::new("a", Arc::new(scripted));
        let cx = CallCx::new();
        let request = Request::prompt("?");
        ask(&member, request, &cx, &Narrator::silent(), max_answer, future::pending()).await
    }

    #[tokio::test]
    async fn an_answer_may_be_as_large_as_allowed_and_no_larger() {
        let long = "x".repeat(5000);
        assert_eq!(asked(Scripted::answers(text(&long)), 6000).await.result.unwrap().text(), long);
        let refused = asked(Scripted::answers(text(&long)), 4000).await;
        assert!(refused.result.unwrap_err().message().contains("4000 bytes"));
    }

    #[tokio::test]
    async fn what_a_failed_member_used_is_known() {
        let answer = asked(Scripted::breaks(Usage::new(7, 0), Error::stream("cut")), 100).await;
        assert_eq!(answer.result.unwrap_err().message(), "cut");
        assert_eq!(answer.usage, Usage::new(7, 0));
    }

    #[test]
    fn only_the_address_differs() {
        let request = Request::prompt("?").model("council").provider("council").max_tokens(5);
        let member = Member::new("a", Arc::new(Scripted::answers(text("")))).model("m");
        let sent = addressed(&request, &member);
        assert_eq!(sent, Request { model: Some("m".into()), provider: None, ..request });
    }
}
