//! The text of a file after its hunks.

use super::place::Placement;
use super::{LastNewline, Line};
use crate::indent::Indents;
use crate::lines::{Lines, split_end};
use crate::stage::Stage;

/// The text with all hunks done. Whatever no hunk removes keeps its bytes.
pub(super) fn splice(lines: &Lines<'_>, mut placements: Vec<Placement<'_>>) -> String {
    placements.sort_by_key(|placement| (placement.start, placement.end));
    let mut out = Out { text: String::with_capacity(lines.text().len()), usual_end: lines.usual_end() };
    let mut done = 0;
    let mut last_is_new = false;
    for placement in &placements {
        out.push(lines.slice(done, placement.start));
        last_is_new = write(&mut out, lines, placement);
        done = placement.end;
    }
    let rest = lines.slice(done, lines.len());
    out.push(rest);
    last_is_new &= rest.is_empty();

    let said = placements.last().filter(|last| last.end == lines.len()).map(|last| last.last_newline);
    let lacked = lines.len() > 0 && lines.end(lines.len() - 1).is_empty();
    match said {
        Some(LastNewline::Dropped) => out.drop_last_end(),
        Some(LastNewline::Added) => out.end_line(),
        _ if lacked && last_is_new => out.drop_last_end(),
        _ => {}
    }
    out.text
}

/// Writes the lines of one hunk; true if the last one is a new one.
fn write(out: &mut Out<'_>, lines: &Lines<'_>, placement: &Placement<'_>) -> bool {
    let indents = (placement.stage >= Stage::SurroundingSpace && placement.start < placement.end)
        .then(|| learn(lines, placement));
    let mut at = placement.start;
    let mut last_is_new = false;
    for line in placement.lines {
        match line {
            Line::Keep(_) => {
                out.push(lines.slice(at, at + 1));
                at += 1;
            }
            Line::Remove(_) => at += 1,
            Line::Insert(text) => {
                out.end_line();
                match &indents {
                    Some(indents) => out.text.push_str(&indents.fix(text)),
                    None => out.text.push_str(text),
                }
                out.text.push_str(lines.end_near(at.checked_sub(1)));
            }
        }
        last_is_new = match line {
            Line::Insert(_) => true,
            Line::Keep(_) => false,
            Line::Remove(_) => last_is_new,
        };
    }
    last_is_new
}

/// How the hunk's own lines are indented, and how they are in the file.
fn learn<'a>(lines: &Lines<'a>, placement: &Placement<'a>) -> Indents<'a> {
    let quoted = placement.lines.iter().filter_map(|line| match line {
        Line::Keep(text) | Line::Remove(text) => Some(text.as_str()),
        Line::Insert(_) => None,
    });
    Indents::learn(quoted.zip((placement.start..placement.end).map(|at| lines.line(at))))
}

struct Out<'a> {
    text: String,
    usual_end: &'a str,
}

impl Out<'_> {
    /// Adds lines, after ending the one before if that is not done.
    fn push(&mut self, lines: &str) {
        if !lines.is_empty() {
            self.end_line();
            self.text.push_str(lines);
        }
    }

    fn end_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push_str(self.usual_end);
        }
    }

    fn drop_last_end(&mut self) {
        let end = split_end(&self.text).1.len();
        self.text.truncate(self.text.len() - end);
    }
}
