//! The answer of a session that has had all its turns.

use futures_util::stream;
use junto_llm::{
    CallCx, Error, EventStream, Finish, FinishReason, Fut, Message, Provider, Request, Response, SegmentId,
    StreamEvent, Usage,
};

/// Gives the same answer to everything, and costs nothing. It takes the place of the target that is not
/// asked any more, so that the answer comes as any other does on the client's wire: an error would make
/// clients try again.
#[derive(Debug)]
pub(crate) struct Canned {
    text: String,
}

impl Canned {
    /// The word that a session has had this many turns.
    pub(crate) fn turns(most: u32) -> Self {
        let text = format!(
            "This session has had all of its {most} turns with the council, so the council was not asked again. \
             Nothing went wrong: the limit keeps a loop from spending without end. To go on, begin a new session, or \
             raise the gateway's limit of turns for each session."
        );
        Self { text }
    }
}

impl Provider for Canned {
    fn complete<'a>(&'a self, _request: Request, _cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        let message = Message::assistant(self.text.clone());
        let finish_reason = FinishReason::new(Finish::Stop);
        Box::pin(async { Ok(Response { message, finish_reason, ..Response::empty("", "") }) })
    }

    fn stream<'a>(&'a self, _request: Request, _cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        let id = SegmentId(0);
        let events = [
            StreamEvent::StreamStart {
                id: String::new(),
                model: String::new(),
                provider: String::new(),
                origin: None,
                usage: None,
                warnings: Vec::new(),
                rate_limit: None,
            },
            StreamEvent::TextStart { id },
            StreamEvent::TextDelta { id, text: self.text.clone() },
            StreamEvent::TextEnd { id, raw: None },
            StreamEvent::Finish {
                reason: FinishReason::new(Finish::Stop),
                usage: Usage::default(),
                response: None,
            },
        ];
        Box::pin(async { Ok(EventStream::new(stream::iter(events.map(Ok)))) })
    }
}
