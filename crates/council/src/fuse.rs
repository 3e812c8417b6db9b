//! One answer written out of several.

use junto_llm::{Error, ErrorKind, Response};
use serde_json::{Value, json};

use crate::address::to_write;
use crate::gather::Proposal;
use crate::hearing::{Hearing, Question};
use crate::mouth::Mouth;
use crate::proposal::{is_formal, is_weak};
use crate::{Duty, Mode, view};

const INSTRUCTION: &str = include_str!("fuse.md");

/// What came of writing.
pub(crate) struct Written {
    pub(crate) result: Result<Response, Error>,
    /// Whether some of it was handed on already.
    pub(crate) has_spoken: bool,
}

impl Hearing<'_> {
    /// Whether these may be fused: texts that nothing executes or parses.
    pub(crate) fn may_fuse(&self, proposals: &[Proposal<'_>]) -> bool {
        let calls = |proposal: &Proposal<'_>| proposal.response.tool_calls().next().is_some();
        self.council.options.mode == Mode::Fuse
            && !is_formal(self.request)
            && !self.is_over()
            && !proposals.iter().any(calls)
    }

    /// Has one answer written out of these, and hands it on while it is written.
    pub(crate) async fn fuse(&self, proposals: &[Proposal<'_>]) -> Written {
        let council = self.council;
        let Some(member) =
            council.synthesizer.as_ref().or(council.judge.as_ref()).or(council.members.first())
        else {
            let result = Err(Error::configuration("there is nobody to write"));
            return Written { result, has_spoken: false };
        };
        self.voice.say(format!("they differ: {} writes one answer", member.name)).await;
        let answers: Vec<Value> =
            proposals.iter().map(|proposal| view::written(&proposal.response).into()).collect();
        let last = format!("{INSTRUCTION}\n{}", json!({"answers": answers}));
        let request = to_write(self.request, member, last);
        let mut mouth = Mouth::new(self.voice, &request);
        let question = Question { member, duty: Duty::Synthesizer, place: council.bench(), request };
        let answer = self.ask(question, std::future::pending(), Some(&mut mouth), text_only).await;
        Written { result: answer.result, has_spoken: mouth.has_spoken() }
    }
}

/// Whether this is a text and nothing that somebody would execute.
pub(crate) fn text_only(response: Response) -> Result<Response, Error> {
    if response.tool_calls().next().is_some() {
        return Err(Error::new(ErrorKind::InvalidToolCall, "it calls a tool where it shall write"));
    }
    if is_weak(&response) {
        return Err(Error::new(ErrorKind::ContentFilter, "it refused, or said nothing"));
    }
    Ok(response)
}
