//! Which servers there are: the `mcpServers` form that other hosts share.
//!
//! The form is others', so what is not known in it is passed over with a warning, and one server that is written
//! wrongly does not take the others with it. Keys that other hosts use for what we also have are understood.

mod expand;
mod pin;
mod reader;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

pub use self::pin::Pin;
pub use self::reader::{Parsed, parse};

/// How long a server may take until it can be used, unless its entry says otherwise.
pub const START: Duration = Duration::from_secs(30);
/// How long a server may be silent while it works on a call, unless its entry says otherwise.
pub const ANSWER: Duration = Duration::from_mins(2);

/// A server, as its entry says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// The name it has in the file.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// Which of its tools are used.
    pub tools: Selection,
    /// How long it may take until it can be used.
    pub start_within: Duration,
    /// How long it may be silent while it works on a call.
    pub answer_within: Duration,
    /// Whether its process is kept in the sandbox of the session.
    pub sandboxed: bool,
    /// Whether it is used at all.
    pub enabled: bool,
    /// Files that must be as they were, or its program is not started. No entry says this: it is for whoever agreed to
    /// what the entry runs.
    pub pins: Vec<Pin>,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A program that is spoken to through its standard input and output.
    Program(Launch),
    /// A server that is spoken to with streamable HTTP.
    Http(Address),
}

/// A program to start. What is shown of it has no values of variables: they may be keys.
#[derive(Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its variables beside those that every command gets.
    pub variables: BTreeMap<String, String>,
    /// Where it runs; absent: in the working directory of the session.
    pub cwd: Option<String>,
}

/// A server on the network. What is shown of it has no values of headers: they may be keys.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// Where it is.
    pub url: String,
    /// What is sent with every request.
    pub headers: BTreeMap<String, String>,
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.variables.keys().collect();
        f.debug_struct("Launch")
            .field("command", &self.command)
            .field("args", &self.args)
            .field("variables", &names)
            .field("cwd", &self.cwd)
            .finish()
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.headers.keys().collect();
        f.debug_struct("Address").field("url", &self.url).field("headers", &names).finish()
    }
}

/// The program and its arguments, or the address: for people.
impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(Launch { command, args, .. }) => {
                f.write_str(command)?;
                args.iter().try_for_each(|arg| write!(f, " {arg}"))
            }
            Self::Http(Address { url, .. }) => f.write_str(url),
        }
    }
}

impl ServerConfig {
    /// A server of this name that is reached so, with everything else as it is by default.
    pub fn new(name: impl Into<String>, reach: Reach) -> Self {
        Self {
            name: name.into(),
            reach,
            tools: Selection::default(),
            start_within: START,
            answer_within: ANSWER,
            sandboxed: false,
            enabled: true,
            pins: Vec::new(),
        }
    }

    /// A server that is a program with these arguments.
    pub fn program(
        name: impl Into<String>,
        command: impl Into<String>,
        args: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        let launch = Launch { command: command.into(), args, variables: BTreeMap::new(), cwd: None };
        Self::new(name, Reach::Program(launch))
    }

    /// A server at this address.
    pub fn http(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self::new(name, Reach::Http(Address { url: url.into(), headers: BTreeMap::new() }))
    }
}

/// Which tools of a server are used: those that are allowed, all if none is named, but for those that are denied.
/// A `*` in a name stands for anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The only ones, unless this is empty.
    pub allow: Vec<String>,
    /// Never these.
    pub deny: Vec<String>,
}

impl Selection {
    /// Whether a tool of this name, as the server calls it, is used.
    pub fn takes(&self, tool: &str) -> bool {
        let fits = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, tool));
        (self.allow.is_empty() || fits(&self.allow)) && !fits(&self.deny)
    }
}

/// Whether a name is what a pattern stands for.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some((_, after)) = left.split_once(piece) else { return false };
        left = after;
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_chosen_by_name() {
        let check = |allow: &[&str], deny: &[&str], tool: &str, expected: bool| {
            let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
            let selection = Selection { allow: texts(allow), deny: texts(deny) };
            assert_eq!(selection.takes(tool), expected, "{selection:?} {tool}");
        };
        check(&[], &[], "any", true);
        check(&["a", "b"], &[], "b", true);
        check(&["a", "b"], &[], "c", false);
        check(&["a"], &["a"], "a", false);
        check(&[], &["delete_*"], "delete_all", false);
        check(&[], &["delete_*"], "undelete_all", true);
        check(&["*_file"], &[], "read_file", true);
        check(&["*_file"], &[], "read_files", false);
        check(&["r*_*e"], &[], "read_file", true);
        check(&["ab*b"], &[], "ab", false);
        check(&["*"], &[], "", true);
    }

    #[test]
    fn no_value_that_may_be_a_key_is_shown() {
        let mut server = ServerConfig::program("s", "p", ["a"]);
        if let Reach::Program(launch) = &mut server.reach {
            launch.variables.insert("TOKEN".to_owned(), "sesame".to_owned());
        }
        let shown = format!("{server:?} {}", server.reach);
        assert!(shown.contains("TOKEN") && !shown.contains("sesame"), "{shown}");
        let address = Address {
            url: "http://h/".to_owned(),
            headers: BTreeMap::from([("Authorization".to_owned(), "sesame".to_owned())]),
        };
        assert!(!format!("{address:?}").contains("sesame"));
    }
}
