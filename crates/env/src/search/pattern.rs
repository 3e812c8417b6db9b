//! A pattern, ready to be matched.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use super::explain::explain;
use super::{Case, Grep, Show};
use crate::Result;

/// The most memory of a compiled pattern, and of what is built while it matches.
const COMPILED: usize = 10 << 20;
const BUILT: usize = 4 << 20;

/// A pattern and what is wanted of its matches. A copy for each thread keeps them out of each other's
/// way.
#[derive(Clone)]
pub(crate) struct Pattern {
    pub(super) matcher: RegexMatcher,
    pub(super) multiline: bool,
    pub(super) show: Show,
}

impl Pattern {
    /// Compiles it, as `rg` would.
    ///
    /// # Errors
    /// What is wrong, where, and what to write instead.
    pub(crate) fn compile(grep: &Grep) -> Result<Self> {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .unicode(true)
            .octal(false)
            .fixed_strings(grep.literal)
            .size_limit(COMPILED)
            .dfa_size_limit(BUILT)
            .ban_byte(Some(0));
        match grep.case {
            Case::Sensitive => builder.case_insensitive(false),
            Case::Insensitive => builder.case_insensitive(true),
            Case::Smart => builder.case_smart(true),
        };
        if !grep.multiline {
            builder.line_terminator(Some(b'\n'));
        }
        let matcher = builder.build_many(&[&grep.pattern]).map_err(|reason| explain(grep, &reason))?;
        Ok(Self { matcher, multiline: grep.multiline, show: grep.show })
    }
}
