//! What a shell line would run: bash's grammar, read strictly.
//!
//! The reader knows the grammar of bash and refuses what it does not know; it never guesses and never goes on
//! after a mistake, because a word that it takes for an argument may be a command for bash. Everything that
//! bash would run is in the [`Script`], in the order in which it stands: the commands of pipelines and lists,
//! of substitutions, of here-documents, of the bodies of loops and functions.

mod arithmetic;
mod assigned;
mod characters;
mod compound;
mod expansion;
mod heredoc;
mod reader;
mod simple;
mod unquoted;
mod word;

pub(crate) use characters::{look_alike, suspicious};
pub(crate) use compound::is_name;
pub(crate) use simple::declares;
pub(crate) use word::{Piece, Word};

/// The longest line that is read.
pub(crate) const LONGEST: usize = 64 * 1024;
/// How deep constructs may be nested.
const DEEPEST: usize = 40;
/// How many commands a line may have.
const MOST: usize = 1000;
/// How many words and assignments a line may have, those counted that braces make.
pub(crate) const MOST_WORDS: usize = 4000;
/// How many variables a line may evaluate.
const MOST_EVALUATED: usize = 1000;

/// What a line would run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    /// Every simple command, in the order of the text.
    pub(crate) commands: Vec<Simple>,
    /// The functions that it defines.
    pub(crate) functions: Vec<Function>,
    /// Variables whose text is evaluated as arithmetic or as a name, which can run commands.
    pub(crate) evaluated: Vec<Evaluated>,
    /// How many words and assignments there are.
    pub(crate) words: usize,
    /// Whether something in it means the same in bash only.
    pub(crate) only_bash: bool,
}

/// A variable whose text is evaluated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Evaluated {
    /// Empty, if it is some other text.
    pub(crate) name: String,
    /// Whether the line has given it a value by then, in any case.
    pub(crate) assigned: bool,
}

/// A function that a line defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// From which command on it is there for sure.
    pub(crate) from: Option<usize>,
}

/// A simple command, or the redirections of a compound one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    /// The assignments before it.
    pub(crate) assignments: Vec<Assignment>,
    /// Its words; none, if it only assigns or redirects.
    pub(crate) words: Vec<Word>,
    /// Its redirections.
    pub(crate) redirections: Vec<Redirection>,
    /// Whether it may run more than once, or later: it is in a loop or a function.
    pub(crate) again: bool,
}

/// `NAME=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    /// The value, if it is one word and all of it.
    pub(crate) value: Option<Word>,
    /// Whether it is `(…)`, whose words have been read.
    pub(crate) list: bool,
}

/// A redirection to or from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirection {
    pub(crate) way: Way,
    pub(crate) file: Word,
}

/// Which way a redirection goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    From,
    To,
    Both,
}

/// The line is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unclear(pub(crate) String);

impl Unclear {
    fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

type Read<T = ()> = Result<T, Unclear>;

/// Reads a line.
///
/// # Errors
/// Why it is not understood.
pub(crate) fn read(line: &str) -> Result<Script, Unclear> {
    if line.len() > LONGEST {
        return Err(Unclear::new("the line is longer than 64 KiB"));
    }
    let mut script = Script::default();
    reader::Reader::new(line, 0, &mut script).script()?;
    Ok(script)
}

#[cfg(test)]
mod tests;
