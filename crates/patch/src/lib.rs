//! Text edits as pure functions: no IO, no async, no other crate.

mod indent;
mod lines;
mod nearest;
mod replace;
mod sequence;
mod stage;
mod v4a;

pub use nearest::Near;
pub use replace::{Edit, Place, ReplaceError, ReplaceErrorKind, Span, Strategy, Which, replace};
pub use stage::Stage;
pub use v4a::{
    Applied, ApplyError, ApplyErrorKind, Change, File, Hunk, LastNewline, Line, Operation, ParseError,
    Parser, Patch, Paths, Placed, Progress, apply, diff, reverse,
};
