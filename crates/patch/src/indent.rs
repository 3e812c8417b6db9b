//! Carrying the indentation of a file over to text that was written with another one.

use std::borrow::Cow;

/// How many different indentations are remembered; code has few.
const MOST: usize = 64;
/// The longest one that is carried over, in bytes; so the text cannot grow without bounds.
const LONGEST: usize = 200;

/// Which indentation of the file belongs to which of the text that was meant to be in it.
pub(crate) struct Indents<'a> {
    /// As quoted, and as in the file.
    pairs: Vec<(&'a str, &'a str)>,
    /// One level more, as quoted and as in the file.
    step: Option<(&'a str, &'a str)>,
}

impl<'a> Indents<'a> {
    /// Learns from lines as they were quoted and as they are in the file.
    pub(crate) fn learn(lines: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for (quoted, real) in lines {
            let pair = (indent(quoted), indent(real));
            let useful = !quoted.trim().is_empty() && pair.0.len().max(pair.1.len()) <= LONGEST;
            if useful && pairs.len() < MOST && !pairs.iter().any(|(known, _)| *known == pair.0) {
                pairs.push(pair);
            }
        }
        let step = pairs.iter().find_map(|(quoted, real)| {
            let deeper = |(quoted_deep, real_deep): &(&'a str, &'a str)| {
                let quoted_step = quoted_deep.strip_prefix(*quoted).filter(|step| !step.is_empty())?;
                Some((quoted_step, real_deep.strip_prefix(*real).filter(|step| !step.is_empty())?))
            };
            pairs.iter().filter_map(deeper).min_by_key(|(quoted_step, _)| quoted_step.len())
        });
        Self { pairs, step }
    }

    /// The same, but learns nothing if a text that begins with this line is indented like the file
    /// already: then only the quotation was not.
    pub(crate) fn unless_right(self, line: &str) -> Self {
        match self.pairs.first() {
            Some((quoted, real)) if quoted != real && *real == indent(line) => {
                Self { pairs: Vec::new(), step: None }
            }
            _ => self,
        }
    }

    /// The line with the indentation it should have in the file.
    pub(crate) fn fix<'t>(&self, line: &'t str) -> Cow<'t, str> {
        let old = indent(line);
        let body = line.strip_prefix(old).unwrap_or(line);
        if body.is_empty() {
            return line.into();
        }
        match self.map(old) {
            new if new == old => line.into(),
            new => format!("{new}{body}").into(),
        }
    }

    fn map(&self, indent: &str) -> String {
        let inner = |(quoted, real): &(&str, &str)| Some((indent.strip_prefix(*quoted)?, real.to_string()));
        let within = self.pairs.iter().filter_map(inner).min_by_key(|(more, _)| more.len());
        if let Some((mut more, mut real)) = within {
            if let Some((quoted_step, real_step)) = self.step {
                while let Some(rest) = more.strip_prefix(quoted_step) {
                    real.push_str(real_step);
                    more = rest;
                }
            }
            return real + more;
        }
        // Less indented than all that was quoted: as much less in the file.
        let outer = |(quoted, real): &(&'a str, &'a str)| Some((quoted.strip_prefix(indent)?, *real));
        let around = self.pairs.iter().filter_map(outer).min_by_key(|(less, _)| less.len());
        let taken = around.and_then(|(less, real)| self.take(real, less));
        taken.unwrap_or(indent).to_owned()
    }

    fn take<'r>(&self, real: &'r str, less: &str) -> Option<&'r str> {
        if let Some(rest) = real.strip_suffix(less) {
            return Some(rest);
        }
        let (quoted_step, real_step) = self.step?;
        let (mut less, mut real) = (less, real);
        while !less.is_empty() {
            less = less.strip_suffix(quoted_step)?;
            real = real.strip_suffix(real_step)?;
        }
        Some(real)
    }
}

/// The white space at the beginning of a line.
pub(crate) fn indent(line: &str) -> &str {
    line.get(..line.len() - line.trim_start().len()).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(quoted: &[&str], real: &[&str], line: &str, expected: &str) {
        let indents = Indents::learn(quoted.iter().copied().zip(real.iter().copied()));
        assert_eq!(indents.fix(line), expected);
    }

    #[test]
    fn lines_move_with_the_text_they_replace() {
        check(&["a"], &["    a"], "b", "    b");
        check(&["a"], &["    a"], "    b", "        b");
        check(&["    a"], &["a"], "    b", "b");
        check(&["    a"], &["a"], "      b", "  b");
        check(&["a", "  b"], &["\ta", "\t\tb"], "    c", "\t\t\tc");
        check(&["a", "  b"], &["\ta", "\t\tb"], "  c", "\t\tc");
    }

    #[test]
    fn lines_may_be_less_indented_than_all_that_was_quoted() {
        check(&["    a"], &["        a"], "b", "    b");
        check(&["    a"], &["  a"], "b", "b");
        check(&["    a", "        b"], &["\t\ta", "\t\t\tb"], "c", "\tc");
    }

    #[test]
    fn what_is_right_stays() {
        check(&[], &[], "  a", "  a");
        check(&["a"], &["  a"], "", "");
        check(&["a"], &["  a"], "   ", "   ");
        // The first line was quoted without its indentation, the next with it.
        check(&["if a:", "        b"], &["    if a:", "        b"], "        c", "        c");
    }

    #[test]
    fn empty_lines_and_those_that_are_far_out_teach_nothing() {
        check(&["    a", "  "], &["        a", ""], "  b", "      b");
        let out = |spaces: usize| " ".repeat(spaces);
        check(&["a"], &[&(out(200) + "a")], "b", &(out(200) + "b"));
        check(&["a"], &[&(out(201) + "a")], "b", "b");
        check(&[&(out(201) + "a")], &["a"], &(out(201) + "b"), &(out(201) + "b"));
    }
}
