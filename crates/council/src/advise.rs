//! One who acts, and others who only advise.

use junto_llm::{Message, Request};
use serde_json::{Value, json};

use crate::address::for_advisor;
use crate::deliberate::Spoken;
use crate::fuse::text_only;
use crate::gather::{Panel, Proposal};
use crate::hearing::Hearing;
use crate::{Duty, Member, Outcome, view};

const ADVISE: &str = include_str!("advise.md");
const ADVISED: &str = include_str!("advised.md");

impl Hearing<'_> {
    /// Asks the others for notes, and then the first member to act with them in sight. If it fails before it
    /// has said anything, the next member acts.
    pub(crate) async fn advise(&self) -> Result<Spoken, junto_llm::Error> {
        let (members, asked) = (&self.council.members, self.council.options.ask);
        let panel = Panel {
            members: members.get(1..).unwrap_or_default(),
            first: 1,
            duty: Duty::Advisor,
            ask: asked.saturating_sub(1),
        };
        let note = |member: &Member| for_advisor(self.request, member, self.directive(), ADVISE);
        let round = self.gather(&panel, note, |_, response| text_only(response)).await;
        let outcome = if round.proposals.is_empty() { Outcome::Only } else { Outcome::Advised };
        let request = with_notes(self.request, &round.proposals);
        let seats = members.iter().enumerate().collect();
        self.speak(seats, &request, round.failures, outcome).await
    }
}

/// The client's request with notes at its end.
fn with_notes(request: &Request, notes: &[Proposal<'_>]) -> Request {
    let mut request = request.clone();
    if notes.is_empty() {
        return request;
    }
    let notes: Vec<Value> = notes.iter().map(|note| view::written(&note.response).into()).collect();
    request.messages.push(Message::user(format!("{ADVISED}\n{}", json!({"notes": notes}))));
    request
}
