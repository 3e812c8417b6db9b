//! From a request to one answer: everybody is asked, what is unsound is left out, one is chosen.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use junto_llm::{CallCx, Error, ErrorKind, LeafCall, Request, Response, Usage, Warning};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::ask::{addressed, ask};
use crate::council::{Inner, PROVIDER};
use crate::narrator::Narrator;
use crate::{Member, failure, judge, proposal};

/// A sound answer, and whose it is.
pub(crate) struct Proposal<'a> {
    pub(crate) member: &'a Member,
    pub(crate) response: Response,
}

/// What came of asking everybody; both lists in the order of the members.
struct Round<'a> {
    proposals: Vec<Proposal<'a>>,
    failures: Vec<(&'a str, Error)>,
    /// What was asked of models, for the answer and for choosing it.
    calls: Vec<LeafCall>,
}

impl Inner {
    /// Asks everybody and gives one answer.
    ///
    /// # Errors
    /// `configuration` if calls are nested too deep, `aborted` if it was cancelled, and the most
    /// telling of the members' errors if none of them answered.
    pub(crate) async fn deliberate(
        &self,
        request: &Request,
        cx: &CallCx,
        narrator: &Narrator,
    ) -> Result<Response, Error> {
        self.check_depth(cx)?;
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                Err(Error::new(ErrorKind::Aborted, "the call was cancelled").with_provider(&self.options.name))
            }
            result = self.decide(request, cx, narrator) => result,
        }
    }

    async fn decide(&self, request: &Request, cx: &CallCx, narrator: &Narrator) -> Result<Response, Error> {
        let cancel = cx.cancel.child_token();
        // Whatever is still under way when this ends, or is dropped, ends with it.
        let _together = cancel.clone().drop_guard();
        let child = || CallCx { cancel: cancel.child_token(), ..cx.child() };

        let mut round = self.gather(request, child, narrator).await;
        round.set_weak_ones_aside(narrator).await;
        let mut warnings: Vec<Warning> = round.failures.iter().map(left_out).collect();
        let (index, fault) =
            self.choose(request, &round.proposals, &mut round.calls, &child(), narrator).await;
        warnings.extend(fault.map(|error| Warning::new("judge_failed", error.to_string())));
        let Some(chosen) = round.proposals.into_iter().nth(index) else {
            return Err(failure::of_all(&self.options.name, &round.failures));
        };
        let mut response = chosen.response;
        response.id.clone_from(&cx.call.0);
        PROVIDER.clone_into(&mut response.provider);
        response.model.clone_from(&self.options.name);
        response.usage = sum(round.calls);
        response.warnings.extend(warnings);
        Ok(response)
    }

    /// Asks all members side by side. Once one sound answer is there, the others have until the
    /// straggler deadline.
    async fn gather(&self, request: &Request, child: impl Fn() -> CallCx, narrator: &Narrator) -> Round<'_> {
        let names: Vec<&str> = self.members.iter().map(|member| member.name.as_str()).collect();
        narrator.say(format!("asking {}", names.join(", "))).await;
        let late = CancellationToken::new();
        let (limit, max_answer) = (self.options.straggler, self.options.max_answer);
        let mut asked: FuturesUnordered<_> = (self.members.iter().enumerate())
            .map(|(place, member)| {
                let (cx, late) = (child(), late.clone());
                async move {
                    let too_late = async {
                        late.cancelled().await;
                        let message = format!("no answer within {limit:?} of the first (straggler deadline)");
                        Error::new(ErrorKind::Timeout, message)
                    };
                    let request = addressed(request, member);
                    (place, member, ask(member, request, &cx, narrator, max_answer, too_late).await)
                }
            })
            .collect();

        let mut deadline = None;
        let (mut proposals, mut failures, mut calls) = (Vec::new(), Vec::new(), Vec::new());
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
                    late.cancel();
                    continue;
                }
            };
            calls.push((place, answer.calls(member)));
            let name = member.name.as_str();
            match answer.result.and_then(|r| proposal::check(request, &r).map(|()| r)) {
                Ok(response) => {
                    narrator.say(announced(name, &response)).await;
                    deadline.get_or_insert_with(|| Instant::now() + limit);
                    proposals.push((place, Proposal { member, response }));
                }
                Err(error) => {
                    narrator.say(format!("{name} is left out: {error}")).await;
                    failures.push((place, (name, error)));
                }
            }
        }
        Round {
            proposals: in_order(proposals),
            failures: in_order(failures),
            calls: in_order(calls).concat(),
        }
    }

    /// The index of the answer to use; 0 where there is nothing to choose from. The error is the
    /// judge's, if it was asked and gave no verdict.
    async fn choose(
        &self,
        request: &Request,
        proposals: &[Proposal<'_>],
        calls: &mut Vec<LeafCall>,
        cx: &CallCx,
        narrator: &Narrator,
    ) -> (usize, Option<Error>) {
        let [first, _, ..] = proposals else { return (0, None) };
        let first = &first.member.name;
        if proposal::agree(request, proposals.iter().map(|proposal| &proposal.response)) {
            narrator.say(format!("all {} agree: taking {first}", proposals.len())).await;
            return (0, None);
        }
        let Some(judge) = &self.judge else {
            narrator.say(format!("they differ and there is no judge: taking {first}, the first")).await;
            return (0, None);
        };
        narrator.say(format!("they differ: asking {} to choose", judge.name)).await;
        let limit = self.options.judge_within;
        let too_late = async {
            sleep(limit).await;
            Error::new(ErrorKind::Timeout, format!("no verdict within {limit:?} (judge timeout)"))
        };
        let question = addressed(&judge::question(request, proposals), judge);
        let answer = ask(judge, question, cx, narrator, self.options.max_answer, too_late).await;
        calls.extend(answer.calls(judge));
        match answer.result.and_then(|response| judge::verdict(&response, proposals)) {
            Ok((index, chosen, reason)) => {
                let name = &chosen.member.name;
                narrator.say(format!("{} chose {name}: {reason}", judge.name)).await;
                (index, None)
            }
            Err(error) => {
                let said = format!("{} gave no verdict ({error}): taking {first}, the first", judge.name);
                narrator.say(said).await;
                (0, Some(error))
            }
        }
    }
}

impl Round<'_> {
    /// Leaves out refusals and silence where somebody has a better answer.
    async fn set_weak_ones_aside(&mut self, narrator: &Narrator) {
        let is_weak = |proposal: &Proposal<'_>| proposal::is_weak(&proposal.response);
        if self.proposals.iter().all(is_weak) {
            return;
        }
        for weak in self.proposals.extract_if(.., |proposal| is_weak(proposal)) {
            let error = Error::new(ErrorKind::ContentFilter, "it refused, or said nothing");
            let name = weak.member.name.as_str();
            narrator.say(format!("{name} is left out: {error}")).await;
            self.failures.push((name, error));
        }
    }
}

fn announced(name: &str, response: &Response) -> String {
    let calls: Vec<&str> = response.tool_calls().map(|call| call.name.as_str()).collect();
    if calls.is_empty() {
        format!("{name} answered")
    } else {
        format!("{name} proposes {}", calls.join(", "))
    }
}

fn left_out((name, error): &(&str, Error)) -> Warning {
    Warning::new("member_left_out", format!("{name}: {error}"))
}

/// What these calls used together.
fn sum(calls: Vec<LeafCall>) -> Usage {
    let mut usage = Usage::default();
    for call in &calls {
        usage += &call.usage;
    }
    Usage { calls, ..usage }
}

fn in_order<T>(mut places: Vec<(usize, T)>) -> Vec<T> {
    places.sort_by_key(|(place, _)| *place);
    places.into_iter().map(|(_, item)| item).collect()
}

#[cfg(test)]
mod tests;
