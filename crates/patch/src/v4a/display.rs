//! Writing a patch.

use std::fmt::{Display, Formatter, Result};

use super::{Hunk, LastNewline, Line, Operation, Patch};

const NO_NEWLINE: &str = "\\ No newline at end of file";

/// The text of the patch, which parses to the same patch as long as its lines have no line ends in
/// them: the format has no way to write those.
impl Display for Patch {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "*** Begin Patch")?;
        for operation in &self.operations {
            match operation {
                Operation::Add { path, text } => {
                    writeln!(f, "*** Add File: {path}")?;
                    for line in text.split_inclusive('\n') {
                        writeln!(f, "+{}", line.strip_suffix('\n').unwrap_or(line))?;
                    }
                    if !text.is_empty() && !text.ends_with('\n') {
                        writeln!(f, "{NO_NEWLINE}")?;
                    }
                }
                Operation::Delete { path } => writeln!(f, "*** Delete File: {path}")?,
                Operation::Update { path, moved_to, hunks } => {
                    writeln!(f, "*** Update File: {path}")?;
                    if let Some(target) = moved_to {
                        writeln!(f, "*** Move to: {target}")?;
                    }
                    hunks.iter().try_for_each(|hunk| hunk.write(f))?;
                }
            }
        }
        writeln!(f, "*** End Patch")
    }
}

impl Hunk {
    fn write(&self, f: &mut Formatter<'_>) -> Result {
        if self.contexts.is_empty() {
            writeln!(f, "@@")?;
        }
        for context in &self.contexts {
            writeln!(f, "@@ {context}")?;
        }
        // The sign stands under the last line of the old text, or of the new.
        let marked = match self.last_newline {
            LastNewline::AsBefore => None,
            LastNewline::Added => self.lines.iter().rposition(|line| matches!(line, Line::Remove(_))),
            LastNewline::Dropped => self.lines.iter().rposition(|line| !matches!(line, Line::Remove(_))),
        };
        for (at, line) in self.lines.iter().enumerate() {
            match line {
                Line::Keep(text) => writeln!(f, " {text}")?,
                Line::Remove(text) => writeln!(f, "-{text}")?,
                Line::Insert(text) => writeln!(f, "+{text}")?,
            }
            if marked == Some(at) {
                writeln!(f, "{NO_NEWLINE}")?;
            }
        }
        if self.at_end {
            writeln!(f, "*** End of File")?;
        }
        Ok(())
    }
}
