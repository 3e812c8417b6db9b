//! One out of several answers: by agreement, by a judge, or by rank.

use std::cmp::Reverse;

use junto_llm::{Error, ErrorKind, Request, Warning};
use tokio::time::sleep;

use crate::address::addressed;
use crate::gather::Proposal;
use crate::hearing::{Hearing, Question};
use crate::{Duty, Outcome, judge, proposal};

/// Proposals that say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The first of them in the council's order, which speaks for all.
    pub(crate) first: usize,
    /// How many they are.
    pub(crate) votes: usize,
}

/// Which proposal is taken, and why.
pub(crate) struct Choice {
    pub(crate) index: usize,
    pub(crate) outcome: Outcome,
    pub(crate) reason: String,
    /// What went wrong on the way.
    pub(crate) warning: Option<Warning>,
}

/// The proposals by what they say, in the order of the first of each.
pub(crate) fn groups(substances: &[String]) -> Vec<Group> {
    let mut groups: Vec<(Group, &str)> = Vec::new();
    for (index, substance) in substances.iter().enumerate() {
        match groups.iter_mut().find(|(_, known)| known == substance) {
            Some((group, _)) => group.votes += 1,
            None => groups.push((Group { first: index, votes: 1 }, substance)),
        }
    }
    groups.into_iter().map(|(group, _)| group).collect()
}

/// The proposal to take where nobody judges: the one that most made, then the first.
pub(crate) fn best_ranked(groups: &[Group]) -> usize {
    groups.iter().min_by_key(|group| (Reverse(group.votes), group.first)).map_or(0, |group| group.first)
}

impl Hearing<'_> {
    /// Writes down who proposed what, and says who agrees.
    pub(crate) fn count(&self, request: &Request, proposals: &[Proposal<'_>]) -> Vec<Group> {
        let substances: Vec<String> =
            proposals.iter().map(|proposal| proposal::substance(request, &proposal.response)).collect();
        for (proposal, substance) in proposals.iter().zip(&substances) {
            let votes = substances.iter().filter(|other| *other == substance).count();
            self.minutes.proposed(proposal.place, Duty::Member, |asked| {
                asked.digest = Some(proposal::digest(substance));
                asked.votes = votes;
            });
        }
        groups(&substances)
    }

    /// Chooses between proposals that differ.
    pub(crate) async fn choose(&self, proposals: &[Proposal<'_>], groups: &[Group]) -> Choice {
        let ranked = best_ranked(groups);
        let name = proposals.get(ranked).map_or("", |proposal| proposal.member.name.as_str());
        let by_rank = |why: String, warning| Choice {
            index: ranked,
            outcome: Outcome::Ranked,
            reason: format!("{why}: taking {name}, the best-ranked"),
            warning,
        };
        let choice = match &self.council.judge {
            None => by_rank("they differ and there is no judge".to_owned(), None),
            Some(_) if self.is_over() => by_rank("they differ and the time is over".to_owned(), None),
            Some(judge) => {
                self.voice.say(format!("they differ: asking {} to choose", judge.name)).await;
                match self.verdict(proposals, groups).await {
                    Ok((index, reason)) => {
                        let chosen = proposals.get(index).map_or("", |chosen| chosen.member.name.as_str());
                        let reason = format!("{} chose {chosen}: {reason}", judge.name);
                        Choice { index, outcome: Outcome::Selected, reason, warning: None }
                    }
                    Err(error) => {
                        let why = format!("{} gave no verdict ({error})", judge.name);
                        by_rank(why, Some(Warning::new("judge_failed", error.to_string())))
                    }
                }
            }
        };
        self.voice.say(&choice.reason).await;
        choice
    }

    /// The judge's choice among the proposals, and why.
    async fn verdict(&self, proposals: &[Proposal<'_>], groups: &[Group]) -> Result<(usize, String), Error> {
        let Some(member) = &self.council.judge else {
            return Err(Error::configuration("there is no judge"));
        };
        let limit = self.council.options.judge_within;
        let too_late = async {
            sleep(limit).await;
            Error::new(ErrorKind::Timeout, format!("no verdict within {limit:?} (judge timeout)"))
        };
        let request = addressed(judge::question(self.request, proposals, groups), member);
        let question = Question { member, duty: Duty::Judge, place: self.council.bench(), request };
        let response = self.ask(question, too_late, None, Ok).await.result?;
        let (index, reason) = judge::verdict(&response, groups.len())?;
        let chosen = groups.get(index).map_or(0, |group| group.first);
        Ok((chosen, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_agree_vote_for_the_first_of_them() {
        let check = |said: &[&str], expected: &[(usize, usize)], best| {
            let said: Vec<String> = said.iter().map(|text| (*text).to_owned()).collect();
            let groups = groups(&said);
            let found: Vec<_> = groups.iter().map(|group| (group.first, group.votes)).collect();
            assert_eq!((found.as_slice(), best_ranked(&groups)), (expected, best), "{said:?}");
        };
        check(&[], &[], 0);
        check(&["a"], &[(0, 1)], 0);
        check(&["a", "a"], &[(0, 2)], 0);
        check(&["a", "b"], &[(0, 1), (1, 1)], 0);
        check(&["a", "b", "b"], &[(0, 1), (1, 2)], 1);
        check(&["a", "b", "a", "b"], &[(0, 2), (1, 2)], 0);
    }
}
