//! As lines in which at most a tenth of the characters differ. Empty lines do not count.

use std::ops::Range;

use super::Job;
use super::trimmed::{indented, span};
use crate::indent::Indents;
use crate::lines::Lines;

/// One character in so many may differ.
const ONE_IN: usize = 10;
/// How many steps of comparing are made; a text that needs more is not found.
const WORK: usize = 10_000_000;

/// The place that is most alike, and those that compete with it: a guess is good only if there is no
/// other.
pub(super) fn find(job: &Job<'_>) -> Vec<Range<usize>> {
    let old = filled(job.old);
    let lines: Vec<usize> =
        (0..job.lines.len()).filter(|at| !job.lines.line(*at).trim().is_empty()).collect();
    let windows = windows(job.lines, &lines, &old);
    let Some(best) = windows.iter().min_by_key(|window| window.distance) else { return Vec::new() };
    let competes =
        |window: &&Window| window.first.abs_diff(best.first) >= old.len() || window.distance == best.distance;
    let span = |window: &Window| {
        let window = lines.get(window.first..window.first + old.len())?;
        Some(span(job, *window.first()?, *window.last()?))
    };
    windows.iter().filter(competes).filter_map(span).collect()
}

pub(super) fn new_text(job: &Job<'_>, span: &Range<usize>) -> String {
    let real = filled(job.lines.text().get(span.clone()).unwrap_or(""));
    let indents = Indents::learn(filled(job.old).into_iter().zip(real));
    indented(job, span, indents, &without_blank_edges(job.old, job.new))
}

/// The lines that are not empty.
fn filled(text: &str) -> Vec<&str> {
    Lines::new(text).iter().filter(|line| !line.trim().is_empty()).collect()
}

/// As many lines of the file as are sought, from this one of those that are not empty.
struct Window {
    first: usize,
    distance: usize,
}

/// All windows that are alike enough; none if it takes too long to tell.
fn windows(lines: &Lines<'_>, filled: &[usize], old: &[&str]) -> Vec<Window> {
    let sought = joined(old.iter().copied());
    let most = (sought.len() - old.len()) / ONE_IN;
    let mut found = Vec::new();
    if most == 0 {
        return found;
    }
    let mut work = WORK;
    let mut letters = Letters::new();
    for line in old {
        letters.count(line, -1);
    }
    for (at, line) in filled.iter().enumerate() {
        letters.count(lines.line(*line), 1);
        if let Some(gone) = at.checked_sub(old.len()).and_then(|gone| filled.get(gone)) {
            letters.count(lines.line(*gone), -1);
        }
        let Some(first) = (at + 1).checked_sub(old.len()) else { continue };
        // Exchanging one letter for another changes two counts.
        if letters.differing > 2 * most {
            continue;
        }
        let window = filled.get(first..=at).unwrap_or_default();
        let window = joined(window.iter().map(|line| lines.line(*line)));
        match distance(&sought, &window, most, &mut work) {
            Ok(Some(distance)) => found.push(Window { first, distance }),
            Ok(None) => {}
            Err(TooMuchWork) => return Vec::new(),
        }
    }
    found
}

fn joined<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<char> {
    let mut text = Vec::new();
    for line in lines {
        text.extend(line.trim().chars());
        text.push('\n');
    }
    text
}

/// How often each letter is in a window more than in the text that is sought. Comparing these is
/// much quicker than comparing the texts, and most windows fail already.
struct Letters {
    more: [i64; 128],
    /// The sum of all differences.
    differing: usize,
}

impl Letters {
    fn new() -> Self {
        Self { more: [0; 128], differing: 0 }
    }

    fn count(&mut self, line: &str, sign: i64) {
        for c in line.trim().chars() {
            if let Some(more) = self.more.get_mut(u32::from(c) as usize % 128) {
                let grows = *more == 0 || (*more > 0) == (sign > 0);
                *more += sign;
                self.differing = if grows { self.differing + 1 } else { self.differing - 1 };
            }
        }
    }
}

struct TooMuchWork;

/// How many characters must be put in, taken out or exchanged to make one text of the other, if not
/// more than `most` (Levenshtein's distance, within Ukkonen's band).
fn distance(a: &[char], b: &[char], most: usize, work: &mut usize) -> Result<Option<usize>, TooMuchWork> {
    if a.len().abs_diff(b.len()) > most {
        return Ok(None);
    }
    let far = most + 1;
    // The distances of the part of `a` so far to every beginning of `b`; those off the band are far.
    let mut row: Vec<usize> = (0..=b.len()).map(|at| at.min(far)).collect();
    for (i, x) in a.iter().enumerate() {
        let (from, to) = ((i + 1).saturating_sub(most).max(1), (i + 1 + most).min(b.len()));
        *work = work.checked_sub(to + 1 - from.min(to)).ok_or(TooMuchWork)?;
        let mut diagonal = row[from - 1];
        let mut left = if from == 1 { (i + 1).min(far) } else { far };
        row[from - 1] = left;
        let mut least = left;
        for j in from..=to {
            let change = diagonal + usize::from(*x != b[j - 1]);
            diagonal = row[j];
            left = change.min(left + 1).min(diagonal + 1).min(far);
            row[j] = left;
            least = least.min(left);
        }
        if least == far {
            return Ok(None);
        }
    }
    Ok(row.last().copied().filter(|distance| *distance <= most))
}

/// The new text without as many empty lines at both ends as the old one has: the window is without
/// those too.
fn without_blank_edges(old: &str, new: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let blank = |line: &&&str| line.trim().is_empty();
    let mut new: Vec<&str> = new.split_inclusive('\n').collect();
    let before = old.iter().take_while(blank).count().min(new.iter().take_while(blank).count());
    new.drain(..before);
    let after = old.iter().rev().take_while(blank).count().min(new.iter().rev().take_while(blank).count());
    new.truncate(new.len() - after);
    new.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(a: &[char], b: &[char]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut next = vec![i + 1];
            for (j, y) in b.iter().enumerate() {
                next.push((row[j] + usize::from(x != y)).min(row[j + 1] + 1).min(next[j] + 1));
            }
            row = next;
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn the_band_gives_the_whole_tables_distance(
            a in prop::collection::vec(prop::sample::select(vec!['a', 'b', 'c']), 0..12),
            b in prop::collection::vec(prop::sample::select(vec!['a', 'b', 'c']), 0..12),
            most in 0..8_usize,
        ) {
            let expected = Some(plain(&a, &b)).filter(|distance| *distance <= most);
            let mut work = 1000;
            prop_assert_eq!(distance(&a, &b, most, &mut work).ok(), Some(expected));
        }

        #[test]
        fn counting_letters_never_hides_a_window(a in "[a-e]{0,12}", b in "[a-e]{0,12}") {
            let mut letters = Letters::new();
            letters.count(&a, -1);
            letters.count(&b, 1);
            let distance = plain(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
            prop_assert!(letters.differing <= 2 * distance);
        }
    }

    #[test]
    fn work_is_bounded() {
        let text: Vec<char> = "a".repeat(100).chars().collect();
        assert!(distance(&text, &text, 10, &mut 1000).is_err());
        assert!(distance(&text, &text, 10, &mut 3000).is_ok());
    }
}
