//! Making patches: from two texts, and to undo another one.

use std::collections::HashMap;

use super::apply::{Change, File};
use super::place::place;
use super::splice::splice;
use super::{Hunk, LastNewline, Line, Operation, Patch};
use crate::lines::Lines;
use crate::sequence::Dictionary;

/// How many lines around a change are shown at first.
const AROUND: usize = 3;
/// How often a part between two lines that stay is cut again; after that it is replaced as a whole.
const DEPTH: usize = 32;

/// The patch that makes one text of another, for the file at this path. It has no operations if they
/// are the same.
///
/// It shows as many lines around each change as are needed to find the place. What it cannot say is
/// which end a line has: new lines get the end of their neighbours.
///
/// ```
/// let patch = junto_patch::diff("a.txt", "one\ntwo\n", "one\n2\n");
/// let applied = junto_patch::apply(&patch, |_| Some("one\ntwo\n"))?;
/// assert!(matches!(&applied.changes[..], [junto_patch::Change::Write { text, .. }] if text == "one\n2\n"));
/// # Ok::<(), junto_patch::ApplyError>(())
/// ```
pub fn diff(path: &str, before: &str, after: &str) -> Patch {
    let hunks = hunks(before, after);
    let update = Operation::Update { path: path.to_owned(), moved_to: None, hunks };
    Patch { operations: if before == after { Vec::new() } else { vec![update] } }
}

/// The patch that undoes changes, given the files as they were before; none if one of those that went
/// was no text.
pub fn reverse<'a, F: Into<File<'a>>>(
    changes: &[Change],
    mut before: impl FnMut(&str) -> F,
) -> Option<Patch> {
    let mut operations = Vec::new();
    let restore = |path: &str, file: File<'_>| match file {
        File::Missing => Some(None),
        File::Text(text) => Some(Some(Operation::Add { path: path.to_owned(), text: text.to_owned() })),
        File::Opaque => None,
    };
    for change in changes {
        match change {
            Change::Create { path, .. } => operations.push(Operation::Delete { path: path.clone() }),
            Change::Remove { path } => operations.extend(restore(path, before(path).into())?),
            Change::Write { path, text, moved_from } => {
                let source = moved_from.as_ref().unwrap_or(path);
                let File::Text(old) = before(source).into() else { return None };
                let hunks = if old == text { Vec::new() } else { hunks(text, old) };
                let moved_to = moved_from.clone();
                operations.push(Operation::Update { path: path.clone(), moved_to, hunks });
                if moved_from.is_some() {
                    operations.extend(restore(path, before(path).into())?);
                }
            }
        }
    }
    Some(Patch { operations })
}

/// The hunks between two texts. Where lines repeat, a few of them do not tell a place, so the result
/// is tried, and more are shown until it is right.
fn hunks(before: &str, after: &str) -> Vec<Hunk> {
    let (old, new) = (Lines::new(before), Lines::new(after));
    let steps = steps(&old, &new);
    let mut around = AROUND;
    loop {
        let hunks = cut(&steps, &old, &new, around);
        let right = place(&old, &hunks).is_ok_and(|placements| splice(&old, placements) == after);
        if right || around >= old.len() {
            return hunks;
        }
        around *= 2;
    }
}

/// A line that stays, goes or comes, by its number in the text it is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Keep(usize),
    Remove(usize),
    Insert(usize),
}

fn steps(old: &Lines<'_>, new: &Lines<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut a, mut b) = (0, 0);
    for (i, j) in common(&numbers(old, new)).into_iter().chain([(old.len(), new.len())]) {
        steps.extend((a..i).map(Step::Remove));
        steps.extend((b..j).map(Step::Insert));
        steps.extend((i < old.len()).then_some(Step::Keep(i)));
        (a, b) = (i + 1, j + 1);
    }
    steps
}

/// Both texts with equal numbers for equal lines. A last line without an end equals only another such.
fn numbers(old: &Lines<'_>, new: &Lines<'_>) -> [Vec<u32>; 2] {
    let mut known = Dictionary::new();
    [old, new].map(|lines| {
        (0..lines.len()).map(|at| known.enter((lines.line(at), lines.end(at).is_empty()))).collect()
    })
}

/// Pairs of equal lines in both texts, in order: those at both ends, then those that occur once in
/// each, and the same again in the parts between.
fn common([old, new]: &[Vec<u32>; 2]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut parts = vec![(0..old.len(), 0..new.len(), DEPTH)];
    while let Some((mut a, mut b, depth)) = parts.pop() {
        let same = |i: usize, j: usize| old.get(i) == new.get(j);
        while !a.is_empty() && !b.is_empty() && same(a.start, b.start) {
            pairs.push((a.start, b.start));
            (a.start, b.start) = (a.start + 1, b.start + 1);
        }
        while !a.is_empty() && !b.is_empty() && same(a.end - 1, b.end - 1) {
            (a.end, b.end) = (a.end - 1, b.end - 1);
            pairs.push((a.end, b.end));
        }
        if a.is_empty() || b.is_empty() || depth == 0 {
            continue;
        }
        let mut last = (a.start, b.start);
        let unique = rising(once_in_both(old, new, &a, &b));
        for (i, j) in &unique {
            parts.push((last.0..*i, last.1..*j, depth - 1));
            pairs.push((*i, *j));
            last = (i + 1, j + 1);
        }
        if !unique.is_empty() {
            parts.push((last.0..a.end, last.1..b.end, depth - 1));
        }
    }
    pairs.sort_unstable();
    pairs
}

type Part = std::ops::Range<usize>;

fn once_in_both(old: &[u32], new: &[u32], a: &Part, b: &Part) -> Vec<(usize, usize)> {
    let mut seen: HashMap<u32, [(usize, usize); 2]> = HashMap::new();
    for (side, (ids, part)) in [(old, a), (new, b)].into_iter().enumerate() {
        for (at, id) in ids.iter().enumerate().take(part.end).skip(part.start) {
            if let Some((count, place)) = seen.entry(*id).or_default().get_mut(side) {
                (*count, *place) = (*count + 1, at);
            }
        }
    }
    let once = seen.into_values().filter_map(|[(n, i), (m, j)]| (n == 1 && m == 1).then_some((i, j)));
    let mut once: Vec<_> = once.collect();
    once.sort_unstable();
    once
}

/// The longest list of these pairs that rises in both numbers; they are given rising in the first.
fn rising(pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    // For each length, the pair that ends the list of that length with the smallest second number.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    let second = |at: usize| pairs.get(at).map_or(0, |pair| pair.1);
    for (at, (_, j)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| second(*end) < *j);
        before.push(length.checked_sub(1).and_then(|shorter| ends.get(shorter).copied()));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let chain = std::iter::successors(ends.last().copied(), |at| before.get(*at).copied().flatten());
    let mut list: Vec<_> = chain.filter_map(|at| pairs.get(at).copied()).collect();
    list.reverse();
    list
}

/// Groups of changes with lines around them; groups that touch are one.
fn cut(steps: &[Step], old: &Lines<'_>, new: &Lines<'_>, around: usize) -> Vec<Hunk> {
    let mut groups: Vec<Part> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        if matches!(step, Step::Keep(_)) {
            continue;
        }
        let part = at.saturating_sub(around)..(at + 1 + around).min(steps.len());
        match groups.last_mut() {
            Some(last) if last.end >= part.start => last.end = part.end,
            _ => groups.push(part),
        }
    }
    let lacks_newline = |lines: &Lines<'_>| lines.len() > 0 && lines.end(lines.len() - 1).is_empty();
    let hunk = |part: Part| {
        let at_end = part.end == steps.len();
        let changed_end = at_end && !matches!(steps.last(), Some(Step::Keep(_)));
        let last_newline = match (lacks_newline(old), lacks_newline(new)) {
            (_, true) if changed_end => LastNewline::Dropped,
            (true, false) if changed_end => LastNewline::Added,
            _ => LastNewline::AsBefore,
        };
        let lines = steps.get(part).unwrap_or_default().iter().map(|step| match step {
            Step::Keep(at) => Line::Keep(old.line(*at).to_owned()),
            Step::Remove(at) => Line::Remove(old.line(*at).to_owned()),
            Step::Insert(at) => Line::Insert(new.line(*at).to_owned()),
        });
        Hunk { contexts: Vec::new(), lines: lines.collect(), at_end, last_newline }
    };
    groups.into_iter().map(hunk).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lines_are_paired_at_both_ends_and_between() {
        let check = |old: &[u32], new: &[u32], pairs: &[(usize, usize)]| {
            assert_eq!(common(&[old.to_vec(), new.to_vec()]), pairs, "{old:?} {new:?}");
        };
        check(&[], &[1], &[]);
        // Lines that repeat are told apart by the ends alone.
        check(&[1, 1, 2, 1, 1], &[1, 1, 3, 1, 1], &[(0, 0), (1, 1), (3, 3), (4, 4)]);
        check(&[1, 1, 1], &[1, 1, 1, 1], &[(0, 0), (1, 1), (2, 2)]);
        // Lines that occur once part the rest, and what repeats is found in the parts.
        check(&[5, 1, 6, 2, 7], &[8, 1, 9, 2, 4], &[(1, 1), (3, 3)]);
        check(&[5, 1, 3, 3, 2, 7], &[8, 1, 3, 3, 2, 4], &[(1, 1), (2, 2), (3, 3), (4, 4)]);
        // Of lines that changed places the most stay.
        check(&[9, 1, 2, 3, 7], &[8, 2, 3, 1, 6], &[(2, 1), (3, 2)]);
        // A part begins after the line before it and goes to the line after it.
        check(&[5, 1, 3, 3, 6, 2, 7], &[8, 1, 3, 3, 9, 2, 4], &[(1, 1), (2, 2), (3, 3), (5, 5)]);
        check(&[5, 1, 6, 3, 3, 2, 7], &[8, 1, 9, 3, 3, 2, 4], &[(1, 1), (3, 3), (4, 4), (5, 5)]);
        check(&[5, 1, 3, 3, 7], &[8, 1, 3, 3, 4], &[(1, 1), (2, 2), (3, 3)]);
        check(&[5, 3, 3, 1, 7], &[8, 3, 3, 1, 4], &[(1, 1), (2, 2), (3, 3)]);
        check(&[5, 1, 3], &[8, 1, 3, 3], &[(1, 1), (2, 3)]);
        check(&[3, 1, 5], &[3, 3, 1, 8], &[(0, 0), (1, 2)]);
    }

    #[test]
    fn the_longest_list_that_rises_is_taken() {
        let rises = |seconds: &[usize]| -> Vec<usize> {
            rising(seconds.iter().copied().enumerate().collect()).into_iter().map(|pair| pair.1).collect()
        };
        assert_eq!(rises(&[]), []);
        assert_eq!(rises(&[0, 1, 2, 3]), [0, 1, 2, 3]);
        assert_eq!(rises(&[1, 2, 0, 3]), [1, 2, 3]);
        assert_eq!(rises(&[5, 0, 6, 1, 2, 7]), [0, 1, 2, 7]);
    }

    /// The line `n` occurs once where those above it do not count, so that each cut makes the next one possible.
    #[test]
    fn what_is_cut_too_often_is_replaced_as_a_whole() {
        let nested = |levels: u32, apart: u32, outwards: bool| {
            let mut lines = vec![apart, 1, apart];
            for level in 2..=levels {
                lines.insert(0, apart);
                lines.extend([level, apart, level - 1, apart]);
            }
            if outwards {
                lines.reverse();
            }
            lines
        };
        for outwards in [false, true] {
            let pairs =
                |levels| common(&[nested(levels, 100, outwards), nested(levels, 200, outwards)]).len();
            let most = u32::try_from(DEPTH).unwrap();
            assert_eq!(pairs(3), 5);
            for more in 0..4 {
                assert_eq!(pairs(most + more), 2 * DEPTH - 1, "{more}");
            }
        }
    }
}
