//! Asking several side by side, until there is enough to go on with.

use std::sync::OnceLock;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use junto_llm::{Error, ErrorKind, Request, Response};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::hearing::{Hearing, Question};
use crate::{Duty, Ended, Member, proposal};

/// A sound answer, and whose it is.
pub(crate) struct Proposal<'a> {
    pub(crate) member: &'a Member,
    /// Where it sits in the council.
    pub(crate) place: usize,
    pub(crate) response: Response,
}

/// What came of asking; both lists in the order of the council.
pub(crate) struct Round<'a> {
    pub(crate) proposals: Vec<Proposal<'a>>,
    pub(crate) failures: Vec<(&'a str, Error)>,
}

/// Why nobody waits any longer for those who have not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hurry {
    /// There are answers enough.
    Quorum,
    /// They had time enough.
    Straggler,
}

/// Who is asked, for what, and how many of them.
pub(crate) struct Panel<'a> {
    pub(crate) members: &'a [Member],
    /// Where the first of them sits in the council.
    pub(crate) first: usize,
    pub(crate) duty: Duty,
    /// How many are asked at first; the others stand by.
    pub(crate) ask: usize,
}

impl<'a> Hearing<'a> {
    /// Asks a panel side by side. Whoever fails is replaced by the next who stands by. With a quorum of sound
    /// answers, or some time after the first, nobody else is waited for.
    pub(crate) async fn gather(
        &self,
        panel: &Panel<'a>,
        request: impl Fn(&Member) -> Request,
        sound: impl Fn(&Member, Response) -> Result<Response, Error>,
    ) -> Round<'a> {
        let options = &self.council.options;
        let (late, hurry) = (CancellationToken::new(), OnceLock::new());
        let (limit, quorum) = (options.straggler, options.quorum.unwrap_or(usize::MAX));
        let mut standing_by = (panel.first..).zip(panel.members);
        let ask = |(place, member): (usize, &'a Member)| {
            let question = Question { member, duty: panel.duty, place, request: request(member) };
            let (late, hurry, sound) = (late.clone(), &hurry, &sound);
            async move {
                let too_late = async {
                    late.cancelled().await;
                    Error::new(
                        ErrorKind::Timeout,
                        match hurry.get() {
                            Some(Hurry::Quorum) => "the others were enough".to_owned(),
                            _ => format!("no answer within {limit:?} of the first (straggler deadline)"),
                        },
                    )
                };
                let answer = self.ask(question, too_late, None, |response| sound(member, response)).await;
                (place, member, answer)
            }
        };
        let chosen: Vec<_> = standing_by.by_ref().take(panel.ask).collect();
        let names: Vec<&str> = chosen.iter().map(|(_, member)| member.name.as_str()).collect();
        self.voice.say(format!("asking {}", names.join(", "))).await;
        let mut asked: FuturesUnordered<_> = chosen.into_iter().map(ask).collect();

        let (mut deadline, mut strong) = (None, 0_usize);
        let (mut proposals, mut failures) = (Vec::new(), Vec::new());
        loop {
            let (place, member, answer) = tokio::select! {
                biased;
                next = asked.next() => match next {
                    Some(next) => next,
                    None => break,
                },
                () = sleep_until(deadline.unwrap_or_else(Instant::now)),
                    if deadline.is_some() && !late.is_cancelled() =>
                {
                    hurry.get_or_init(|| Hurry::Straggler);
                    late.cancel();
                    continue;
                }
            };
            let name = member.name.as_str();
            match answer.result {
                Ok(response) => {
                    self.voice.say(announced(name, &response, &self.minutes.took(place, panel.duty))).await;
                    if !proposal::is_weak(&response) {
                        strong += 1;
                        deadline = deadline.or_else(|| Instant::now().checked_add(limit));
                    }
                    proposals.push(Proposal { member, place, response });
                }
                Err(_) if answer.is_late && hurry.get() == Some(&Hurry::Quorum) => {
                    self.minutes.proposed(place, panel.duty, |asked| asked.ended = Ended::Dropped);
                    self.voice.say(format!("{name} is not waited for")).await;
                }
                Err(error) => {
                    self.voice.say(format!("{name} is left out: {error}")).await;
                    failures.push((place, (name, error)));
                }
            }
            if strong >= quorum && !late.is_cancelled() {
                hurry.get_or_init(|| Hurry::Quorum);
                late.cancel();
            }
            if strong + asked.len() < panel.ask
                && !(late.is_cancelled() || self.is_over())
                && let Some(next) = standing_by.next()
            {
                self.voice.say(format!("asking {} instead", next.1.name)).await;
                asked.push(ask(next));
            }
        }
        proposals.sort_by_key(|proposal| proposal.place);
        failures.sort_by_key(|(place, _)| *place);
        let failures = failures.into_iter().map(|(_, failure)| failure).collect();
        Round { proposals, failures }
    }

    /// Leaves out refusals and silence where somebody has a better answer.
    pub(crate) async fn set_weak_ones_aside(&self, round: &mut Round<'a>, duty: Duty) {
        let is_weak = |proposal: &Proposal<'_>| proposal::is_weak(&proposal.response);
        if round.proposals.iter().all(is_weak) {
            return;
        }
        for weak in round.proposals.extract_if(.., |proposal| is_weak(proposal)) {
            let error = Error::new(ErrorKind::ContentFilter, "it refused, or said nothing");
            let name = weak.member.name.as_str();
            self.voice.say(format!("{name} is left out: {error}")).await;
            let ended = Ended::left_out(error.kind(), error.to_string());
            self.minutes.proposed(weak.place, duty, |asked| asked.ended = ended);
            round.failures.push((name, error));
        }
    }
}

fn announced(name: &str, response: &Response, took: &str) -> String {
    let calls: Vec<&str> = response.tool_calls().map(|call| call.name.as_str()).collect();
    if calls.is_empty() {
        format!("{name} answered ({took})")
    } else {
        format!("{name} proposes {} ({took})", calls.join(", "))
    }
}
