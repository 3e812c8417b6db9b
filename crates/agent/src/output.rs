//! How much of a tool's output the model sees. The log has the whole.

use std::collections::BTreeMap;

use junto_core::ToolOutput;

/// Which part of an output is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The beginning and the end.
    Ends,
    /// The end.
    Tail,
}

/// How many characters of an output the model sees, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimit {
    /// How many.
    pub chars: usize,
    /// Which.
    pub keep: Keep,
}

/// What is kept of each tool's output where nothing else is said.
const DEFAULTS: &[(&str, usize, Keep)] = &[
    ("read_file", 50_000, Keep::Ends),
    ("shell", 30_000, Keep::Ends),
    ("grep", 20_000, Keep::Tail),
    ("glob", 20_000, Keep::Tail),
    ("edit_file", 10_000, Keep::Tail),
    ("apply_patch", 10_000, Keep::Tail),
    ("write_file", 1_000, Keep::Tail),
    ("spawn_agent", 20_000, Keep::Ends),
];

/// What is kept of any other tool's.
const OTHERS: OutputLimit = OutputLimit { chars: 30_000, keep: Keep::Ends };

/// How much of each tool's output the model sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputLimits(BTreeMap<String, OutputLimit>);

impl Default for OutputLimits {
    fn default() -> Self {
        let entry =
            |&(name, chars, keep): &(&str, usize, Keep)| (name.to_owned(), OutputLimit { chars, keep });
        Self(DEFAULTS.iter().map(entry).collect())
    }
}

impl OutputLimits {
    /// These limits with another number of characters for one tool.
    pub fn chars(mut self, tool: impl Into<String>, chars: usize) -> Self {
        self.0.entry(tool.into()).or_insert(OTHERS).chars = chars;
        self
    }

    /// What a model sees of an output.
    pub(crate) fn cut(&self, tool: &str, output: &ToolOutput) -> String {
        let output: &str = &output.preview();
        let OutputLimit { chars, keep } = self.0.get(tool).copied().unwrap_or(OTHERS);
        // Bytes are at least as many as characters, so most outputs need no counting.
        if output.len() <= chars {
            return output.to_owned();
        }
        let total = output.chars().count();
        if total <= chars {
            return output.to_owned();
        }
        let removed = total - chars;
        let head = match keep {
            Keep::Ends => chars / 2,
            Keep::Tail => 0,
        };
        let (before, _) = output.split_at(offset(output, head));
        let (_, after) = output.split_at(offset(output, head + removed));
        let place = if head == 0 { "at the beginning" } else { "in the middle" };
        let note = format!(
            "[{removed} characters {place} are left out here; the event log has them. Ask for less at a \
             time to see a certain part.]"
        );
        if head == 0 { format!("{note}\n\n{after}") } else { format!("{before}\n\n{note}\n\n{after}") }
    }
}

/// Where the nth character begins.
fn offset(text: &str, n: usize) -> usize {
    text.char_indices().nth(n).map_or(text.len(), |(offset, _)| offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tool: &str, limit: usize, output: &str, starts: &str, ends: &str, removed: usize) {
        let cut = OutputLimits::default().chars(tool, limit).cut(tool, &output.into());
        assert!(cut.starts_with(starts) && cut.ends_with(ends), "{cut}");
        assert_eq!(cut.contains(&format!("[{removed} characters")), removed > 0, "{cut}");
        assert_eq!(cut == output, removed == 0);
    }

    #[test]
    fn outputs_are_cut_by_characters() {
        check("shell", 10, "0123456789", "0123456789", "0123456789", 0);
        check("shell", 4, "0123456789", "01\n\n[6", "]\n\n89", 6);
        check("shell", 4, "éééééééééé", "éé\n\n[6", "]\n\néé", 6);
        check("shell", 10, "éééééééééé", "éééééééééé", "é", 0);
        check("grep", 4, "0123456789", "[6 characters at the beginning", "]\n\n6789", 6);
        check("somebody_elses", 5, "0123456789", "01\n\n[5", "]\n\n789", 5);
        check("shell", 0, "0123456789", "[10 characters", "]\n\n", 10);
    }
}
