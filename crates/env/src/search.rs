//! Finding files by name and lines by pattern: what is asked, and what comes back.
//!
//! The meaning is ripgrep's, down to its libraries: its regular expressions, its globs, its idea of
//! what is ignored, hidden and binary. Who knows `rg` knows this.

pub(crate) mod by_path;
pub(crate) mod collect;
mod explain;
pub(crate) mod first;
pub(crate) mod globs;
mod ignores;
pub(crate) mod kept;
pub(crate) mod pattern;
pub(crate) mod provided;

use std::cmp::Reverse;
use std::time::SystemTime;

use self::by_path::ByPath;
use self::first::First;
use crate::{Error, ErrorKind, RealPath};

/// What to look for, where, and how much of it to give.
///
/// ```
/// # async fn example() -> junto_env::Result<()> {
/// use junto_env::{Case, ExecutionEnvironment, Found, LocalEnvironment, Search};
/// use tokio_util::sync::CancellationToken;
///
/// let env = LocalEnvironment::new(".")?;
/// let here = env.resolve(".").await?;
/// let cancel = CancellationToken::new();
///
/// let query = Search::grep(r"fn \w+_tests", here.clone())
///     .case(Case::Smart)
///     .only("*.rs")
///     .only("!generated/**")
///     .context(1, 1)
///     .limit(100);
/// let hits = env.search(query, &cancel).await?;
/// if let Found::Lines(files) = &hits.found {
///     for file in files {
///         for line in &file.lines {
///             println!("{}:{}: {}", file.path, line.number, line.text);
///         }
///     }
/// }
///
/// // The TypeScript files, the newest first.
/// let hits = env.search(Search::glob("**/*.ts", here), &cancel).await?;
/// assert!(matches!(hits.found, Found::Files(_)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// A directory, which is searched with all below it, or one file. A file that is named like this
    /// is searched whatever the filter says.
    pub root: RealPath,
    /// What is looked for.
    pub target: Target,
    /// Which files are looked at.
    pub filter: Filter,
    /// How much is given.
    pub limits: Limits,
}

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Files, whatever is in them.
    Files(Order),
    /// Files in which a pattern matches.
    Text(Grep),
}

/// In which order files come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By path.
    Path,
    /// The last changed first; those of the same moment by path.
    #[default]
    Newest,
}

/// A pattern and what is wanted of its matches. Files come by path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grep {
    /// A regular expression of Rust's `regex` crate, without look-around and back-references.
    pub pattern: String,
    /// Whether the pattern is plain text instead.
    pub literal: bool,
    /// Whether upper and lower case are told apart.
    pub case: Case,
    /// Whether a match may go over several lines. `.` still stops at a line's end unless the pattern
    /// says `(?s)`. Each file is then held in memory, and one that is too large for it is skipped.
    pub multiline: bool,
    /// What is told of the matches.
    pub show: Show,
}

/// Whether upper and lower case are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// They are.
    #[default]
    Sensitive,
    /// They are not.
    Insensitive,
    /// They are if the pattern has a letter in upper case.
    Smart,
}

/// What is told of the matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// The lines, and so many around each.
    Lines {
        /// Lines before a match.
        before: u32,
        /// Lines after it.
        after: u32,
    },
    /// Only which files have a match.
    Files,
    /// How many lines match in each file that has one; with `multiline`, how many matches there are.
    Counts,
}

/// Which files are looked at. As with `rg`, a file that `globs` name is looked at although it is
/// hidden or ignored, unless the directory it is in is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Globs as in a `.gitignore`, relative to the root: without `/` they match at any depth. A `!` in
    /// front leaves out. A later one wins over an earlier one.
    pub globs: Vec<String>,
    /// Whether the globs tell upper and lower case apart no more.
    pub globs_ignore_case: bool,
    /// Kinds of files by the names `rg --type-list` gives, such as `rust`; with none, all.
    pub types: Vec<String>,
    /// Whether hidden files and directories are looked at.
    pub hidden: bool,
    /// Whether that is looked at which `.gitignore`, `.ignore` and `.rgignore` leave out.
    pub ignored: bool,
}

/// How much is given. What is kept in memory is bounded by it, however much there is to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most results: matching lines, or files where only those are asked for.
    pub results: usize,
    /// The most bytes of one line. Of a longer one the part around its first match is given.
    pub line_bytes: usize,
    /// The most bytes of all lines together.
    pub total_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { results: 1000, line_bytes: 2000, total_bytes: 4 << 20 }
    }
}

/// What was found.
///
/// The same files give the same hits, however the work was shared out: if there is more than the
/// limits allow, these are the first of all in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hits {
    /// What was found.
    pub found: Found,
    /// Whether there is more than was given.
    pub truncated: bool,
    /// How many files and directories were passed over because they could not be read, or have lines
    /// too long to hold. If there is more than was given, only those before the last hit count.
    pub unreadable: usize,
}

/// What was found, by what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// For [`Show::Lines`]: by path.
    Lines(Vec<FileLines>),
    /// For [`Show::Counts`]: by path.
    Counts(Vec<FileCount>),
    /// For [`Show::Files`] by path, and for [`Target::Files`] in the order that was asked for.
    Files(Vec<FoundFile>),
}

impl Found {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Lines(files) => files.is_empty(),
            Self::Counts(files) => files.is_empty(),
            Self::Files(files) => files.is_empty(),
        }
    }
}

/// A file and its matching lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLines {
    /// The file.
    pub path: RealPath,
    /// The lines, with those around them, in the order of the file. Where numbers leap, lines between
    /// are left out.
    pub lines: Vec<Line>,
    /// Whether the file turned out to be binary after these lines, and was searched no further.
    pub binary: bool,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// The text, without the line's end. What is no UTF-8 in it is replaced.
    pub text: String,
    /// Whether it matches, or is one of the lines around.
    pub matches: bool,
    /// How many bytes of it are missing before the text.
    pub cut_before: u64,
    /// How many bytes of it are missing after the text.
    pub cut_after: u64,
}

/// A file and how often the pattern matches in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCount {
    /// The file.
    pub path: RealPath,
    /// How many lines match; with `multiline`, how many matches there are.
    pub count: u64,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// The file.
    pub path: RealPath,
    /// When it was last changed; known if the order needed it.
    pub modified: Option<SystemTime>,
}

impl Search {
    /// The lines that match a pattern, in a file or below a directory.
    pub fn grep(pattern: impl Into<String>, root: RealPath) -> Self {
        let grep = Grep {
            pattern: pattern.into(),
            literal: false,
            case: Case::default(),
            multiline: false,
            show: Show::Lines { before: 0, after: 0 },
        };
        Self::new(root, Target::Text(grep))
    }

    /// The files below a directory whose path matches a glob, the last changed first.
    pub fn glob(pattern: impl Into<String>, root: RealPath) -> Self {
        Self::files(root).only(pattern)
    }

    /// All files below a directory, the last changed first.
    pub fn files(root: RealPath) -> Self {
        Self::new(root, Target::Files(Order::default()))
    }

    fn new(root: RealPath, target: Target) -> Self {
        Self { root, target, filter: Filter::default(), limits: Limits::default() }
    }

    /// Only files that match this glob, or only others if it starts with `!`; may be repeated.
    pub fn only(mut self, glob: impl Into<String>) -> Self {
        self.filter.globs.push(glob.into());
        self
    }

    /// Only files of this kind, such as `rust`; may be repeated.
    pub fn only_type(mut self, name: impl Into<String>) -> Self {
        self.filter.types.push(name.into());
        self
    }

    /// Hidden files too.
    pub fn with_hidden(mut self) -> Self {
        self.filter.hidden = true;
        self
    }

    /// Ignored files too.
    pub fn with_ignored(mut self) -> Self {
        self.filter.ignored = true;
        self
    }

    /// At most so many results.
    pub fn limit(mut self, results: usize) -> Self {
        self.limits.results = results;
        self
    }

    /// Files in this order, if files are looked for.
    pub fn order(mut self, order: Order) -> Self {
        if let Target::Files(current) = &mut self.target {
            *current = order;
        }
        self
    }

    /// Lets matches go over several lines, if text is looked for.
    pub fn multiline(self) -> Self {
        self.text(|grep| grep.multiline = true)
    }

    /// Takes the pattern as plain text, if text is looked for.
    pub fn literal(self) -> Self {
        self.text(|grep| grep.literal = true)
    }

    /// Tells upper and lower case apart or not, if text is looked for.
    pub fn case(self, case: Case) -> Self {
        self.text(|grep| grep.case = case)
    }

    /// Tells this of the matches, if text is looked for.
    pub fn show(self, show: Show) -> Self {
        self.text(|grep| grep.show = show)
    }

    /// Shows so many lines before and after each match, if text is looked for.
    pub fn context(self, before: u32, after: u32) -> Self {
        self.show(Show::Lines { before, after })
    }

    fn text(mut self, change: impl FnOnce(&mut Grep)) -> Self {
        if let Target::Text(grep) = &mut self.target {
            change(grep);
        }
        self
    }
}

pub(crate) fn cancelled(subject: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Cancelled, subject, "the search was cancelled")
}

/// The hits of a search for files.
pub(crate) fn files_found(first: First<(Reverse<Option<SystemTime>>, ByPath)>, unreadable: usize) -> Hits {
    let truncated = first.is_truncated();
    let file = |(Reverse(modified), ByPath(path))| FoundFile { path: RealPath::resolved(path), modified };
    let found = Found::Files(first.into_sorted().into_iter().map(file).collect());
    Hits { found, truncated, unreadable }
}
