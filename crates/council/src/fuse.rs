//! One answer written out of several.

use junto_llm::{Error, ErrorKind, Response, Warning};
use serde_json::{Value, json};

use crate::address::to_write;
use crate::choose::{Choice, Group, best_ranked};
use crate::deliberate::Spoken;
use crate::gather::Proposal;
use crate::hearing::{Hearing, Question};
use crate::mouth::Mouth;
use crate::proposal::{is_formal, is_weak};
use crate::{Duty, Mode, Outcome, view};

const INSTRUCTION: &str = include_str!("fuse.md");

/// What came of writing.
pub(crate) enum Fusion {
    /// An answer.
    Written(Box<Spoken>),
    /// Nothing that anybody heard: one of the proposals is taken.
    Nothing(Choice),
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
    ///
    /// # Errors
    /// The synthesizer's, if it broke off after something of it was heard.
    pub(crate) async fn fuse(
        &self,
        proposals: &[Proposal<'_>],
        groups: &[Group],
        failures: &[(&str, Error)],
    ) -> Result<Fusion, Error> {
        let council = self.council;
        let Some(member) =
            council.synthesizer.as_ref().or(council.judge.as_ref()).or(council.members.first())
        else {
            return Err(Error::configuration("there is nobody to write"));
        };
        self.voice.say(format!("they differ: {} writes one answer", member.name)).await;
        let answers: Vec<Value> =
            proposals.iter().map(|proposal| view::written(&proposal.response).into()).collect();
        let last = format!("{INSTRUCTION}\n{}", json!({"answers": answers}));
        let request = to_write(self.request, member, last);
        let mut mouth = Mouth::new(self.voice, &request);
        let (duty, place) = (Duty::Synthesizer, council.bench());
        let question = Question { member, duty, place, request };
        let answer = self.ask(question, std::future::pending(), Some(&mut mouth), text_only).await;
        match answer.result {
            Ok(response) => {
                self.minutes.proposed(place, duty, |asked| asked.chosen = true);
                self.minutes.ended(Outcome::Fused, format!("written out of {}", proposals.len()));
                let spoken = self.conclude(response, failures, None, mouth.has_spoken());
                Ok(Fusion::Written(Box::new(spoken)))
            }
            Err(error) if mouth.has_spoken() => {
                self.minutes.ended(Outcome::Failed, error.to_string());
                Err(error.with_provider(&council.options.name).after_content())
            }
            Err(error) => {
                let index = best_ranked(groups);
                let name = proposals.get(index).map_or("", |best| best.member.name.as_str());
                let reason = format!("nothing was written ({error}): taking {name}, the best-ranked");
                self.voice.say(&reason).await;
                let warning = Some(Warning::new("synthesis_failed", error.to_string()));
                Ok(Fusion::Nothing(Choice { index, outcome: Outcome::Ranked, reason, warning }))
            }
        }
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
