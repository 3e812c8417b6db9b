//! Who wins.

use super::{Candidate, Record};

/// A synthesis may be so many times as large as the largest of what it was made from; in halves.
const MOST_HALVES: u64 = 3;

/// Who wins among the answers: of those that pass, those that did not touch what judges them come first, then the
/// smallest diff, then the first. A marked one is named only if no other passes.
pub(super) fn best<'a>(candidates: impl IntoIterator<Item = &'a Candidate>) -> Option<&'a Candidate> {
    candidates.into_iter().filter(|candidate| candidate.passes()).min_by_key(|candidate| rank(candidate))
}

fn rank(candidate: &Candidate) -> (bool, u64, u64, u32) {
    let (size, files) = candidate.diff.as_ref().map_or((0, 0), |diff| (diff.size, diff.files));
    (candidate.is_marked(), size, files, candidate.number)
}

/// Whether a synthesis takes the place of what it was made from; if not, why.
///
/// # Errors
/// Why not, in words.
pub(super) fn accepts(synthesis: &Candidate, sources: &[&Candidate]) -> Result<(), String> {
    if !synthesis.passes() {
        return Err("it does not pass".to_owned());
    }
    if synthesis.is_marked() {
        return Err("it changes what judges it".to_owned());
    }
    let size = |candidate: &Candidate| candidate.diff.as_ref().map_or(0, |diff| diff.size);
    let largest = sources.iter().map(|source| size(source)).max().unwrap_or_default();
    if size(synthesis) * 2 > largest * MOST_HALVES {
        let message = format!("its {} lines are more than 1.5 times {largest}", size(synthesis));
        return Err(message);
    }
    Ok(())
}

/// Why this one won, or why nobody did.
pub(super) fn reason(record: &Record) -> String {
    let passing = record.candidates.iter().filter(|candidate| candidate.passes()).count();
    let all = record.candidates.len();
    match best(&record.candidates) {
        Some(winner) if winner.is_marked() => {
            format!("candidate {} passes, but it changes what judges it: look at it first", winner.number)
        }
        Some(winner) => {
            format!("candidate {} has the smallest diff of {passing} that pass, of {all}", winner.number)
        }
        None if record.oracle.is_none() => "nothing could judge the candidates".to_owned(),
        None if all == 1 => "the candidate does not pass".to_owned(),
        None => format!("none of {all} candidates passes"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use junto_llm::Usage;

    use super::super::{Diff, Mark, Proof, Role, State, Verdict};
    use super::*;

    /// A candidate with a diff of so many lines, which passes or does not.
    pub(in crate::contest) fn candidate(number: u32, size: u64, passes: bool, marks: Vec<Mark>) -> Candidate {
        let proof = if passes { Proof::Passed } else { Proof::Failed { exit: "exit 1".into() } };
        Candidate {
            number,
            member: "m".into(),
            role: Role::Answer,
            state: State::Done,
            ended: None,
            said: String::new(),
            diff: Some(Diff { size, files: u64::from(size > 0), ..Diff::default() }),
            marks,
            verdict: Some(Verdict { proof, step: "test".into(), seconds: 0.0, tail: String::new() }),
            usage: Usage::default(),
            cost: None,
            seconds: 0.0,
            left: None,
        }
    }

    fn tests() -> Vec<Mark> {
        vec![Mark::Tests { path: "tests/a".into() }]
    }

    #[test]
    fn the_smallest_that_passes_wins_and_a_mark_comes_last() {
        let check = |candidates: &[Candidate], expected: Option<u32>| {
            assert_eq!(best(candidates).map(|winner| winner.number), expected);
        };
        let plain = |number, size, passes| candidate(number, size, passes, Vec::new());
        check(&[plain(1, 9, true), plain(2, 4, true), plain(3, 1, false)], Some(2));
        check(&[plain(1, 4, true), plain(2, 4, true)], Some(1));
        // Who changes nothing has not done the task.
        check(&[plain(1, 0, true), plain(2, 9, true)], Some(2));
        check(&[candidate(1, 1, true, tests()), plain(2, 9, true)], Some(2));
        check(&[candidate(1, 1, true, tests()), plain(2, 9, false)], Some(1));
        check(&[candidate(1, 1, true, vec![Mark::Nested { path: "lib".into() }])], None);
        check(&[candidate(1, 1, true, vec![Mark::Unread {}])], None);
        check(&[plain(1, 9, false)], None);
        check(&[], None);
    }

    #[test]
    fn a_synthesis_stays_small_and_passes() {
        let sources = [candidate(1, 10, true, Vec::new()), candidate(2, 4, true, Vec::new())];
        let sources: Vec<&Candidate> = sources.iter().collect();
        let check = |synthesis: Candidate, accepted: bool| {
            assert_eq!(accepts(&synthesis, &sources).is_ok(), accepted, "{synthesis:?}");
        };
        check(candidate(3, 15, true, Vec::new()), true);
        check(candidate(3, 16, true, Vec::new()), false);
        check(candidate(3, 2, false, Vec::new()), false);
        check(candidate(3, 2, true, tests()), false);
        check(candidate(3, 0, true, Vec::new()), false);
    }
}
