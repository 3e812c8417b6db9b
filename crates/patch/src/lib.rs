//! Text edits as pure functions: no IO, no async, no other crate.
//!
//! A model that edits a file sends either a **patch** in the v4a format, or a **text and its
//! replacement**. Both quote the file from memory, so both are matched in stages that forgive what
//! models get wrong and nothing else. The result says how it was matched; a doubtful match is an error
//! that says what to do.
//!
//! # Patches
//!
//! ```
//! use junto_patch::{Change, Patch, Stage, apply};
//!
//! let patch = Patch::parse("\
//! *** Begin Patch
//! *** Update File: src/main.py
//! @@ def main():
//! -    return 0
//! +    return 1
//! *** Delete File: src/old.py
//! *** End Patch
//! ")?;
//! assert_eq!(patch.paths().removes, ["src/old.py"]);
//!
//! let files = |path: &str| match path {
//!     "src/main.py" => Some("def main():\n    print('hello')\n    return 0\n"),
//!     "src/old.py" => Some("pass\n"),
//!     _ => None,
//! };
//! let applied = apply(&patch, files)?;
//! assert_eq!(applied.hunks[0].stage, Stage::Exact);
//! assert_eq!(applied.changes, [
//!     Change::Write {
//!         path: "src/main.py".into(),
//!         text: "def main():\n    print('hello')\n    return 1\n".into(),
//!         moved_from: None,
//!     },
//!     Change::Remove { path: "src/old.py".into() },
//! ]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`apply`] works everything out in memory and returns either all changes or an error, so a caller
//! that writes them only then never leaves half a patch behind. A [`Parser`] reads a patch that is
//! still arriving. [`diff`] and [`reverse`] make patches.
//!
//! What is read: operations and hunks as the format has them, several `@@` lines for one hunk, a
//! first hunk without `@@`, `*** End of File`, line ends of both kinds, and around the patch a heredoc
//! (`apply_patch <<'EOF'`) or a code fence. An empty line in a hunk is an empty line that stays. From
//! unified diffs it takes `\ No newline at end of file`, and passes over the numbers in
//! `@@ -1,7 +1,6 @@`.
//!
//! Where a hunk goes: its `@@` lines are followed one after the other from where the hunk before
//! ended, then its lines are looked for from there on, at each [`Stage`] in turn. What is not found
//! there may be elsewhere, if it is there only once. Lines that only get inserted go under the last
//! `@@` line, or to the end of the file if there is none.
//!
//! What changes: the lines that the hunk removes and inserts. All other bytes stay, among them the end
//! of each line and a missing newline at the end of the file. New lines end like their neighbours, and
//! if the hunk was found only with another indentation, they are moved along with it. A file that is
//! added although it is there is written anew, which is a [`Change::Write`].
//!
//! The cost is linear in the file and the patch, section by section, whatever they contain.
//!
//! ## What the format's first implementation gets wrong
//!
//! Each of these has a test in `tests/it/t0_faults_of_others.rs`.
//!
//! | with a patch that … | it … | here |
//! |---|---|---|
//! | moves a file to its own name | deletes the file | the file is updated in place |
//! | only inserts lines under an `@@` line | puts them at the end of the file | they go under that line |
//! | has `*** End of File` on a hunk that is not quite at the end | fails | the last place that fits is taken |
//! | stacks `@@ class` and `@@ def` | fails | each is looked for after the one before |
//! | has the line numbers of a unified diff after `@@` | looks for them as text | they are passed over |
//! | repeats the `@@` line as the first line of its hunk | fails | the hunk may begin with it |
//! | names the same function in two hunks | fails at the second | the second follows the first |
//! | touches one file in several sections | is refused | they follow one another |
//! | fails at its second file | may leave the first one changed | no change is made at all |
//! | moves a file onto another one | overwrites that one | is refused, unless the patch deletes it before |
//! | changes a file without a newline at its end | adds one | there is none afterwards either |
//! | was written with another indentation | inserts its lines as they are | they are indented like the file |
//! | has its hunks out of order | fails | they are found if their place is certain |
//!
//! # Replacements
//!
//! ```
//! use junto_patch::{Strategy, Which, replace};
//!
//! let file = "fn main() {\r\n    call(1,2);\r\n    call(3);\r\n}\r\n";
//! let edit = replace(file, "call(1, 2);\ncall(3);", "call(1, 2, 3);", Which::TheOne)?;
//! assert_eq!(edit.text, "fn main() {\r\n    call(1, 2, 3);\r\n}\r\n");
//! assert_eq!(edit.strategy, Strategy::Whitespace);
//!
//! let error = replace(file, "call", "run", Which::TheOne).unwrap_err();
//! assert!(error.to_string().contains("line 2: \"    call(1,2);\""));
//! # Ok::<(), junto_patch::ReplaceError>(())
//! ```
//!
//! The ways in which [`replace`] looks for a text are those of [`Strategy`]. All but the last take
//! time linear in the file. The last compares at most a fixed number of characters; a text that would
//! take more is not found.

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
