//! How much of each tool's output the model sees. The log has the whole.

use std::collections::BTreeMap;

use crate::alias;
use crate::truncate::{Keep, OutputLimit};

const fn limit(chars: usize, keep: Keep, lines: Option<usize>) -> OutputLimit {
    OutputLimit { chars, keep, lines }
}

/// What is kept of each tool's output where nothing else is said.
const DEFAULTS: &[(&str, OutputLimit)] = &[
    ("read_file", limit(50_000, Keep::HeadTail, None)),
    ("shell", limit(30_000, Keep::HeadTail, Some(256))),
    ("grep", limit(20_000, Keep::Tail, Some(200))),
    ("glob", limit(20_000, Keep::Tail, Some(500))),
    ("edit_file", limit(10_000, Keep::Tail, None)),
    ("apply_patch", limit(10_000, Keep::Tail, None)),
    ("write_file", limit(1_000, Keep::Tail, None)),
    ("spawn_agent", limit(20_000, Keep::HeadTail, None)),
    ("wait", limit(20_000, Keep::HeadTail, None)),
];

/// What is kept of any other tool's.
const OTHERS: OutputLimit = limit(30_000, Keep::HeadTail, None);

/// How much of each tool's output the model sees: the table above, and what a session says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutputLimits {
    pub(crate) chars: BTreeMap<String, usize>,
    pub(crate) lines: BTreeMap<String, usize>,
}

impl OutputLimits {
    /// A tool of a vendor's has what the tool of ours has that it stands for, unless the session names it.
    pub(crate) fn of(&self, tool: &str) -> OutputLimit {
        let ours = alias::ours(tool).unwrap_or(tool);
        let default = DEFAULTS.iter().find(|(name, _)| *name == ours).map_or(OTHERS, |(_, limit)| *limit);
        let said = |limits: &BTreeMap<String, usize>| limits.get(tool).or_else(|| limits.get(ours)).copied();
        OutputLimit {
            chars: said(&self.chars).unwrap_or(default.chars),
            keep: default.keep,
            lines: said(&self.lines).or(default.lines),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_can_say_otherwise() {
        let limits = OutputLimits {
            chars: BTreeMap::from([("shell".into(), 100), ("mine".into(), 7)]),
            lines: BTreeMap::from([("grep".into(), 3), ("mine".into(), 2)]),
        };
        let check = |tool: &str, expected| assert_eq!(limits.of(tool), expected, "{tool}");
        check("shell", limit(100, Keep::HeadTail, Some(256)));
        check("grep", limit(20_000, Keep::Tail, Some(3)));
        check("read_file", limit(50_000, Keep::HeadTail, None));
        check("mine", limit(7, Keep::HeadTail, Some(2)));
        check("Bash", limit(100, Keep::HeadTail, Some(256)));
        check("Grep", limit(20_000, Keep::Tail, Some(3)));
        check("somebody_elses", limit(30_000, Keep::HeadTail, None));
    }
}
