//! The lines of a file as `read_file` and `edit_file` show them, in other clothes.

/// A line as our tools show it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shown<'a> {
    /// A line of the file.
    Line(u64, &'a str),
    /// A word about it.
    Note(&'a str),
}

/// Tells lines of the file, which all have numbers, from what is said about it.
pub(super) fn shown(text: &str) -> impl Iterator<Item = Shown<'_>> {
    text.lines().map(|line| {
        let numbered = line
            .split_once(" | ")
            .and_then(|(number, rest)| Some(Shown::Line(number.trim_start().parse().ok()?, rest)));
        numbered.unwrap_or(Shown::Note(line))
    })
}

/// The lines with their numbers before a tab.
pub(super) fn tabbed(text: &str) -> String {
    let lines: Vec<String> = shown(text)
        .map(|shown| match shown {
            Shown::Line(number, line) => format!("{number}\t{line}"),
            Shown::Note(note) => note.to_owned(),
        })
        .collect();
    lines.join("\n")
}

/// The lines without numbers, which of them these are, and what was said about them.
pub(super) struct Bare {
    pub(super) text: String,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) notes: Vec<String>,
}

pub(super) fn bare(text: &str) -> Bare {
    let mut bare = Bare { text: String::new(), first: 0, last: 0, notes: Vec::new() };
    for shown in shown(text) {
        match shown {
            Shown::Line(number, line) => {
                bare.first = if bare.last == 0 { number } else { bare.first };
                bare.last = number;
                bare.text.push_str(line);
                bare.text.push('\n');
            }
            Shown::Note(note) => bare.notes.push(note.to_owned()),
        }
    }
    bare
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: &str = "  9 | a | b\n 10 | \n 11 | [x]\n[the file goes on: continue with offset 12]\n";

    #[test]
    fn lines_are_told_from_notes() {
        let expected = "9\ta | b\n10\t\n11\t[x]\n[the file goes on: continue with offset 12]";
        assert_eq!(tabbed(READ), expected);
        let Bare { text, first, last, notes } = bare(READ);
        assert_eq!((text.as_str(), first, last), ("a | b\n\n[x]\n", 9, 11));
        assert_eq!(notes, ["[the file goes on: continue with offset 12]"]);
        assert_eq!(tabbed("[the file is empty]\n"), "[the file is empty]");
        assert_eq!(bare("[the file is empty]\n").last, 0);
    }
}
