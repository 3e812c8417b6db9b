//! The line of a text that is most like a given one, for messages.

use std::fmt;

use crate::lines::{Lines, clip};
use crate::sequence::{Dictionary, Matcher};
use crate::stage::Stage;

/// How much text is looked through; what lies beyond is not worth the wait.
const LOOKED_AT: usize = 16 * 1024 * 1024;
/// How much of a line counts.
const OF_LINE: usize = 400;

/// A line of a file that is shown because it is like the one that was sought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// Its number, from 1.
    pub line: usize,
    /// What it says, shortened.
    pub text: String,
}

impl Near {
    pub(crate) fn new(lines: &Lines<'_>, line: usize) -> Self {
        Self { line: line + 1, text: clip(lines.line(line)) }
    }
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {:?}", self.line, self.text)
    }
}

/// The line by which a sequence of lines is not in a text.
pub(crate) struct Misfit {
    /// The line of the sequence, shortened.
    pub(crate) line: String,
    /// What the text has in its place, or nearly so.
    pub(crate) near: Option<Near>,
}

/// Why these lines are not in the text: the line after those of them that are, if those say
/// anything, or else the first that says something.
pub(crate) fn misfit(lines: &Lines<'_>, sought: &[&str]) -> Misfit {
    let telling = |line: &str| line.chars().any(char::is_alphanumeric);
    let (at, length) = longest_beginning(lines, sought);
    let (fits, rest) = sought.split_at(length.min(sought.len()));
    if fits.iter().any(|line| telling(line)) && at + length < lines.len() {
        let line = clip(rest.first().copied().unwrap_or(""));
        return Misfit { line, near: Some(Near::new(lines, at + length)) };
    }
    let line = sought.iter().find(|line| telling(line)).or(sought.first()).copied().unwrap_or("");
    Misfit { line: clip(line), near: nearest(lines, line) }
}

/// Where the text has most of the beginning of the sequence, and how much.
fn longest_beginning(lines: &Lines<'_>, sought: &[&str]) -> (usize, usize) {
    let mut known = Dictionary::new();
    let ids: Vec<u32> = sought.iter().map(|line| known.enter(Stage::Punctuation.view(line))).collect();
    let mut matcher = Matcher::new(&ids);
    let mut best = (0, 0);
    for (at, line) in lines.iter().enumerate() {
        matcher.push(known.look_up(&Stage::Punctuation.view(line)));
        if matcher.matched() > best.1 {
            best = (at + 1 - matcher.matched(), matcher.matched());
        }
    }
    best
}

/// The line that shares most pairs of characters with the one that is sought, if it is at least
/// half of them.
pub(crate) fn nearest(lines: &Lines<'_>, sought: &str) -> Option<Near> {
    let sought = Pairs::of(sought);
    let mut best = (sought.enough(), None);
    for (at, line) in lines.iter().enumerate() {
        if lines.start(at) > LOOKED_AT {
            break;
        }
        let score = sought.shared(&Pairs::of(line));
        if score > best.0 {
            best = (score, Some(at));
        }
    }
    best.1.map(|at| Near::new(lines, at))
}

/// The pairs of neighbouring characters of a line, each as one of 512 bits.
struct Pairs([u64; 8]);

impl Pairs {
    fn of(line: &str) -> Self {
        let mut bits = [0; 8];
        let mut last = 0_u32;
        for c in line.trim().chars().take(OF_LINE).filter(|c| !c.is_whitespace()) {
            let c = u32::from(c);
            let hash = (last.wrapping_mul(31) ^ c).wrapping_mul(0x9E37_79B1) >> 23;
            if let Some(word) = bits.get_mut((hash >> 6) as usize) {
                *word |= 1_u64 << (hash & 63);
            }
            last = c;
        }
        Self(bits)
    }

    fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The score above which a line is like this one.
    fn enough(&self) -> u32 {
        if self.count() == 0 { u32::MAX } else { 499 }
    }

    /// Thousandths of all pairs of both that are in both (Dice's coefficient).
    fn shared(&self, other: &Self) -> u32 {
        let both: u32 = self.0.iter().zip(&other.0).map(|(a, b)| (a & b).count_ones()).sum();
        (2000 * both).checked_div(self.count() + other.count()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_line_is_named() {
        let text = "fn main() {\n    let total = count(&items);\n    println!(\"{total}\");\n}\n";
        let cases = [
            ("let total = counted(&items);", Some(2)),
            ("println!(\"{sum}\");", Some(3)),
            ("fn main(args) {", Some(1)),
            ("impl Display for Money", None),
            ("", None),
        ];
        for (sought, line) in cases {
            assert_eq!(nearest(&Lines::new(text), sought).map(|near| near.line), line, "{sought}");
        }
    }

    #[test]
    fn what_is_far_behind_is_not_looked_at() {
        let sought = "let total = count(&items);";
        let behind = |bytes: usize| format!("{}\n{sought}\n", "-".repeat(bytes - 1));
        let found = |text: String| nearest(&Lines::new(&text), sought).map(|near| near.line);
        let much = 16 * 1024 * 1024;
        assert_eq!(found(behind(much)), Some(2));
        assert_eq!(found(format!("\n{}", behind(much))), None);
    }

    #[test]
    fn of_lines_that_are_as_alike_the_first_is_named() {
        let text = "let total = count(&items);\nlet a = 1;\nlet total = count(&items);\n";
        assert_eq!(nearest(&Lines::new(text), "let total = counted(&items);").map(|near| near.line), Some(1));
    }

    #[test]
    fn the_line_after_the_first_place_that_begins_alike_does_not_fit() {
        let check = |text: &str, sought: &[&str], line: &str, near: Option<usize>| {
            let found = misfit(&Lines::new(text), sought);
            assert_eq!((found.line.as_str(), found.near.map(|near| near.line)), (line, near), "{text}");
        };
        let text = "a\nfn f() {\n    one;\n}\nfn f() {\n    two;\n}\n";
        check(text, &["fn f() {", "    three;"], "    three;", Some(3));
        // The text ends where the next line should be, so none can be named in its place.
        check("a\nfn f() {\n", &["fn f() {", "    three;"], "fn f() {", Some(2));
        // A beginning that says nothing is none.
        check("{\nlet a = 1;\n}\n", &["{", "let ab = 1;"], "let ab = 1;", Some(2));
    }

    #[test]
    fn long_lines_are_shortened() {
        let near = nearest(&Lines::new(&"ä".repeat(500)), &"ä".repeat(400)).unwrap();
        assert_eq!(near.text, format!("{}…", "ä".repeat(120)));
    }
}
