//! One member's answer, handed on while it comes.

use junto_llm::{Error, Request};

use crate::address::for_member;
use crate::deliberate::{Spoken, sound};
use crate::hearing::{Hearing, Question};
use crate::mouth::Mouth;
use crate::{Decision, Duty, Manner, Member, Outcome, Why, actions};

impl<'a> Hearing<'a> {
    /// Lets one member answer alone: the first who can.
    pub(crate) async fn alone(&self, why: Why) -> Result<Spoken, Error> {
        if why != Why::Background {
            let seats = self.council.members.iter().enumerate().collect();
            return self.speak(seats, self.request, Vec::new(), Outcome::Only).await;
        }
        let pinned = self.council.pinned(self.request);
        let seated = pinned
            .as_ref()
            .and_then(|pinned| self.council.members.iter().position(|member| member.name == pinned.name));
        let place = seated.unwrap_or_else(|| self.council.bench());
        let seats = pinned.iter().map(|pinned| (place, pinned)).collect();
        self.speak(seats, self.request, Vec::new(), Outcome::Only).await
    }

    /// Asks these one after the other until one has answered. What it says is heard at once; after that
    /// nobody can take its place.
    pub(crate) async fn speak<'m>(
        &self,
        seats: Vec<(usize, &'m Member)>,
        request: &Request,
        failures: Vec<(&'m str, Error)>,
        outcome: Outcome,
    ) -> Result<Spoken, Error> {
        let directive = self.directive();
        let mut failures = failures;
        for (place, member) in seats {
            if self.is_over() {
                break;
            }
            // What is written as an action is for nobody's eyes before it is read.
            let is_action = member.manner == Manner::Actions && actions::is_needed(request);
            let mut mouth = (!is_action).then(|| Mouth::new(self.voice, request));
            let question = Question {
                member,
                duty: Duty::Member,
                place,
                request: for_member(request, member, directive),
            };
            let late = std::future::pending();
            let answer = self
                .ask(question, late, mouth.as_mut(), |response| sound(self.request, member, response))
                .await;
            let has_spoken = mouth.is_some_and(|mouth| mouth.has_spoken());
            match answer.result {
                Ok(response) => {
                    self.minutes
                        .proposed(place, Duty::Member, |asked| (asked.chosen, asked.votes) = (true, 1));
                    let reason = match outcome {
                        Outcome::Advised => format!("{} answered with the notes of others", member.name),
                        _ => format!("{} answered", member.name),
                    };
                    self.minutes.ended(outcome, reason);
                    return Ok(self.conclude(response, &failures, None, has_spoken));
                }
                Err(error) if has_spoken => {
                    self.minutes.ended(Outcome::Failed, error.to_string());
                    return Err(error.with_provider(&self.council.options.name).after_content());
                }
                Err(error) => {
                    self.voice.say(format!("{} is left out: {error}", member.name)).await;
                    failures.push((&member.name, error));
                }
            }
        }
        Err(self.nobody(&failures))
    }

    /// What members are told beside their framing. Chores get nothing of it.
    pub(crate) fn directive(&self) -> Option<&'a str> {
        let is_chore = self.minutes.decision() == Decision::Single(Why::Background);
        self.council
            .options
            .directive
            .as_deref()
            .filter(|directive| !is_chore && !directive.trim().is_empty())
    }
}
