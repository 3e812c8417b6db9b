//! From a request to one answer.

use junto_llm::{CallCx, Error, ErrorKind, Request, Response, Warning};
use tokio::time::sleep;

use crate::address::{addressed, for_member};
use crate::council::{Inner, PROVIDER};
use crate::fan_out::{self, Look};
use crate::gather::Panel;
use crate::hearing::{Hearing, Question};
use crate::voice::Voice;
use crate::{Decision, Duty, Manner, Member, Mode, Outcome, Why, actions, choose, failure, proposal};

/// An answer, and whether it was heard while it was made.
#[derive(Debug)]
pub(crate) struct Spoken {
    pub(crate) response: Response,
    pub(crate) was_heard: bool,
}

impl Inner {
    /// Gives one answer.
    ///
    /// # Errors
    /// `configuration` if calls are nested too deep, `aborted` if it was cancelled, and the most
    /// telling of the members' errors if none of them answered.
    pub(crate) async fn deliberate(
        &self,
        request: &Request,
        cx: &CallCx,
        voice: &Voice,
    ) -> Result<Spoken, Error> {
        self.check_depth(cx)?;
        let hearing = Hearing::new(self, request, cx, voice);
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                Err(Error::new(ErrorKind::Aborted, "the call was cancelled").with_provider(&self.options.name))
            }
            result = hearing.decide() => result,
        }
    }

    /// Where whoever decides over the members stands in the minutes: behind them.
    pub(crate) fn bench(&self) -> usize {
        self.members.len()
    }

    /// Who does a chore: see [`Council::chores`](crate::Council::chores). It is told nothing beside it.
    pub(crate) fn pinned(&self, request: &Request) -> Option<Member> {
        let model = request.model.as_deref().filter(|model| *model != self.options.name);
        let exact = self.members.iter().find(|member| model.is_some() && member.model.as_deref() == model);
        let chores = || {
            let chores = self.chores.clone()?;
            let pinned =
                Member { model: model.map(str::to_owned).or_else(|| chores.model.clone()), ..chores };
            let named = addressed(request.clone(), &pinned);
            (named.model.is_some() && pinned.provider.check_names(&named).is_ok()).then_some(pinned)
        };
        let pinned = exact.cloned().or_else(chores).or_else(|| self.members.first().cloned());
        pinned.map(|member| Member { framing: None, ..member })
    }
}

impl Hearing<'_> {
    async fn decide(&self) -> Result<Spoken, Error> {
        let decision = self.fan_out().await;
        self.minutes.decided(decision);
        match (decision, self.council.options.mode) {
            (Decision::Single(why), _) => self.alone(why).await,
            (Decision::FanOut(_), Mode::Advise) => self.advise().await,
            (Decision::FanOut(_), Mode::Select | Mode::Fuse) => self.convene().await,
        }
    }

    /// Whether several are asked. Whoever triages is asked only where the request looks hard, and no word
    /// from it means no.
    async fn fan_out(&self) -> Decision {
        let council = self.council;
        let why = match fan_out::look(self.request, self.cx, &council.options, council.members.len()) {
            Look::Decided(decision) => return decision,
            Look::Hard(why) => why,
        };
        let Some(member) = &council.triage else { return Decision::FanOut(why) };
        self.voice.say(format!("asking {} whether this needs several minds", member.name)).await;
        let limit = council.options.judge_within;
        let too_late = async {
            sleep(limit).await;
            Error::new(ErrorKind::Timeout, format!("no word within {limit:?} (judge timeout)"))
        };
        let asked = fan_out::triage_question(&fan_out::last_user_text(self.request));
        let question = Question {
            member,
            duty: Duty::Triage,
            place: council.bench(),
            request: addressed(asked, member),
        };
        let answer = self.ask(question, too_late, None, Ok).await;
        let decision = match answer.result {
            Ok(response) => fan_out::triage_verdict(&response.text()),
            Err(_) => Decision::Single(Why::TriageFailed),
        };
        let said = match decision {
            Decision::FanOut(_) => "several",
            Decision::Single(Why::Triage) => "one is enough",
            Decision::Single(_) => "no clear word, so one",
        };
        self.voice.say(format!("{}: {said}", member.name)).await;
        decision
    }

    /// Asks several side by side, and makes one answer of what is sound.
    async fn convene(&self) -> Result<Spoken, Error> {
        let options = &self.council.options;
        let panel = Panel { members: &self.council.members, first: 0, duty: Duty::Member, ask: options.ask };
        let mut round = self
            .gather(
                &panel,
                |member| for_member(self.request, member, self.directive()),
                |member, response| sound(self.request, member, response),
            )
            .await;
        self.set_weak_ones_aside(&mut round, Duty::Member).await;
        let groups = self.count(self.request, &round.proposals);
        let first = |outcome, reason: String| choose::Choice { index: 0, outcome, reason, warning: None };
        let choice = match (round.proposals.as_slice(), groups.as_slice()) {
            ([], _) => return Err(self.nobody(&round.failures)),
            ([only], _) => first(Outcome::Only, format!("{} alone answered", only.member.name)),
            ([one, ..], [_]) => {
                let said = format!("all {} agree: taking {}", round.proposals.len(), one.member.name);
                self.voice.say(&said).await;
                first(Outcome::Agreed, said)
            }
            (proposals, groups) if self.may_fuse(proposals) => {
                let written = self.fuse(proposals).await;
                match written.result {
                    Ok(response) => {
                        self.minutes
                            .proposed(self.council.bench(), Duty::Synthesizer, |asked| asked.chosen = true);
                        self.minutes.ended(Outcome::Fused, format!("written out of {}", proposals.len()));
                        return Ok(self.conclude(response, &round.failures, None, written.has_spoken));
                    }
                    Err(error) if written.has_spoken => {
                        self.minutes.ended(Outcome::Failed, error.to_string());
                        return Err(error.with_provider(&options.name).after_content());
                    }
                    Err(error) => {
                        let index = choose::best_ranked(groups);
                        let name = proposals.get(index).map_or("", |best| best.member.name.as_str());
                        let reason = format!("nothing was written ({error}): taking {name}, the best-ranked");
                        self.voice.say(&reason).await;
                        let warning = Some(Warning::new("synthesis_failed", error.to_string()));
                        choose::Choice { index, outcome: Outcome::Ranked, reason, warning }
                    }
                }
            }
            (proposals, groups) => self.choose(proposals, groups).await,
        };
        let Some(chosen) = round.proposals.into_iter().nth(choice.index) else {
            return Err(self.nobody(&round.failures));
        };
        self.minutes.proposed(chosen.place, Duty::Member, |asked| asked.chosen = true);
        self.minutes.ended(choice.outcome, choice.reason);
        Ok(self.conclude(chosen.response, &round.failures, choice.warning, false))
    }

    /// The answer as the caller sees it: the council's, with what everybody used.
    pub(crate) fn conclude(
        &self,
        mut response: Response,
        failures: &[(&str, Error)],
        warning: Option<Warning>,
        was_heard: bool,
    ) -> Spoken {
        response.id.clone_from(&self.cx.call.0);
        PROVIDER.clone_into(&mut response.provider);
        response.model.clone_from(&self.council.options.name);
        response.usage = self.minutes.usage();
        let left_out =
            |(name, error): &(&str, Error)| Warning::new("member_left_out", format!("{name}: {error}"));
        response.warnings.extend(failures.iter().map(left_out).chain(warning));
        Spoken { response, was_heard }
    }

    /// The error where nobody has answered.
    pub(crate) fn nobody(&self, failures: &[(&str, Error)]) -> Error {
        let error = if failures.is_empty() && self.is_over() {
            Error::new(ErrorKind::Timeout, "the council's time was over before anybody was asked")
                .with_provider(&self.council.options.name)
        } else {
            failure::of_all(&self.council.options.name, failures)
        };
        self.minutes.ended(Outcome::Failed, error.message());
        error
    }
}

/// What a member answered, if it can be used: read if it was written as an action, and every call and
/// every form checked. Nothing reaches anybody else before this.
pub(crate) fn sound(request: &Request, member: &Member, response: Response) -> Result<Response, Error> {
    let response = match member.manner {
        Manner::Actions if actions::is_needed(request) => actions::read(request, response)?,
        Manner::Actions | Manner::Native => response,
    };
    proposal::check(request, &response)?;
    Ok(response)
}

#[cfg(test)]
mod tests;
