//! The sessions that were kept: where they are, how they are kept, and which of them is meant.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use junto::llm::names::nearest;
use junto::llm::vendor::VENDORS;
use junto::llm::{Secret, SessionId};
use junto::store::{self, Book, ErrorKind, Filter, Options, Recovery, Redactor, Standing, Store, Sync};

use crate::args::LATEST;
use crate::config::{Config, Files};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;

/// The variable that names the folder of everything that is kept.
pub(crate) const STATE_VARIABLE: &str = "JUNTO_STATE_DIR";

/// How much of an id is shown. Ids begin with the time in milliseconds, which fills this.
const SHORT: usize = 12;

/// What to do where nothing can be kept.
pub(crate) const ROOM: &str = "check the permissions and the room of that folder";

/// The folder of everything that is kept.
///
/// # Errors
/// If the environment names none.
pub(crate) fn root(environment: &Environment) -> Result<PathBuf, Failure> {
    let named = environment.path(STATE_VARIABLE).map(|path| environment.directory().join(path));
    let shared = || environment.path("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let home = || environment.path("HOME").map(|home| home.join(".local/state"));
    let usual = || shared().or_else(home).map(|folder| folder.join("junto"));
    named.or_else(usual).ok_or_else(|| {
        Failure::usage(
            "there is no place for sessions: neither HOME nor XDG_STATE_HOME is set",
            format!("set HOME or {STATE_VARIABLE}, or run without keeping the session with --no-save"),
        )
    })
}

/// What no agent has to read or write: conversations and copies of files, of other work too, and the user's own
/// configuration, which says what agents may do. Where they usually are they are known to be secret; this is for other
/// places.
pub(crate) fn private(environment: &Environment) -> Vec<PathBuf> {
    let folders = |root: PathBuf| ["runs", "sessions", "snapshots"].map(|folder| root.join(folder));
    let kept = root(environment).map(folders).into_iter().flatten();
    kept.chain(Files::find(environment).own()).collect()
}

/// The store, as it is configured. Makes its folder if it is not there.
///
/// # Errors
/// If there is no place for it, or it cannot be opened.
pub(crate) fn open(config: &Config, environment: &Environment) -> Result<Store, Failure> {
    let root = root(environment)?;
    Store::open(&root, options(config, environment)).map_err(|error| failure(&error))
}

/// The same for a session that can do without.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_for_run(config: &Config, environment: &Environment) -> Result<Store, Failure> {
    open(config, environment).map_err(|failure| match failure.hint.as_deref() {
        Some(ROOM) => {
            let hint = format!("{ROOM}; --no-save runs without keeping the session");
            Failure { hint: Some(hint), ..failure }
        }
        _ => failure,
    })
}

/// The store, if there is one: whoever only looks leaves no folder behind.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_existing(config: &Config, environment: &Environment) -> Result<Option<Store>, Failure> {
    if root(environment)?.is_dir() { open(config, environment).map(Some) } else { Ok(None) }
}

/// Where a command writes its model calls down that are of no session; none if nothing is to be kept. A
/// command that cannot write them down works all the same.
pub(crate) fn book(
    source: &str,
    config: &Config,
    environment: &Environment,
    output: &Output,
) -> Option<Book> {
    if !config.flag("store.save") {
        return None;
    }
    let opened = open(config, environment).inspect_err(|failure| {
        let why = failure.errors.join("; ");
        output.warning(&format!("`junto cost` will not know of this: {why}"));
    });
    opened.ok().map(|store| store.book(source))
}

fn options(config: &Config, environment: &Environment) -> Options {
    let sync = match config.text("store.sync") {
        Some(("always", _)) => Sync::Always,
        Some(("never", _)) => Sync::Never,
        _ => Sync::TurnEnds,
    };
    let redact = if config.flag("store.redact") { redactor(config, environment) } else { Redactor::off() };
    Options { sync, redact, ..Options::default() }
}

/// Leaves out what looks like a secret, and the keys of the providers, which need not look like one: also those that are
/// there and not used, since another variable has the key.
fn redactor(config: &Config, environment: &Environment) -> Redactor {
    let used = config.providers().into_iter().filter_map(|provider| provider.key_variable);
    let usual = VENDORS.iter().flat_map(|vendor| vendor.key_variables).map(|name| (*name).to_owned());
    let keys: BTreeSet<String> = used.chain(usual).collect();
    Redactor::new(keys.into_iter().filter_map(|name| environment.get(&name).map(Secret::new)))
}

/// Which session is meant by an id, the beginning of one, or `latest`.
///
/// # Errors
/// If there is none, or there are several; the nearest are named.
pub(crate) fn find(store: &Store, wanted: &str, environment: &Environment) -> Result<SessionId, Failure> {
    if wanted == LATEST {
        return latest(store, &folder(environment));
    }
    let all = store.sessions().map_err(|error| failure(&error))?;
    let matching: Vec<&SessionId> = all.iter().filter(|id| id.0.starts_with(wanted)).collect();
    match matching.as_slice() {
        [id] => Ok((*id).clone()),
        // A whole id is meant, also if another begins with it.
        several if !several.is_empty() => match several.iter().find(|id| id.0 == wanted) {
            Some(id) => Ok((**id).clone()),
            None => Err(Failure::usage(
                format!("{} sessions begin with \"{wanted}\"", several.len()),
                format!("give more of the id: {}", names(several.iter().map(|id| id.0.as_str()))),
            )),
        },
        _ => Err(unknown(wanted, &all)),
    }
}

/// The same among the sessions of one kind of agent.
///
/// # Errors
/// As [`find`]; also if the one that is named is of another kind.
pub(crate) fn find_of_kind(
    store: &Store,
    wanted: &str,
    kind: &str,
    environment: &Environment,
) -> Result<SessionId, Failure> {
    let rows = |workdir| {
        let filter = Filter { workdir, ..Filter::default() };
        store.index().and_then(|index| index.sessions(&filter)).map_err(|error| failure(&error))
    };
    if wanted == LATEST {
        let directory = folder(environment).display().to_string();
        let latest = rows(Some(directory.clone()))?.into_iter().find(|row| row.kind == kind);
        return latest.map(|row| row.id).ok_or_else(|| {
            Failure::usage(
                format!("there is no session of {kind} of {directory}"),
                "`junto sessions --all` lists those of all folders",
            )
        });
    }
    let id = find(store, wanted, environment)?;
    match rows(None)?.into_iter().find(|row| row.id == id) {
        Some(row) if row.kind != kind => Err(Failure::usage(
            format!("session {} is of the kind {}, not {kind}", short(&id), row.kind),
            "leave --agent out: a session knows its kind",
        )),
        _ => Ok(id),
    }
}

/// The working directory, as sessions note it.
pub(crate) fn folder(environment: &Environment) -> PathBuf {
    let directory = environment.directory();
    directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
}

/// The latest session of a folder.
fn latest(store: &Store, directory: &Path) -> Result<SessionId, Failure> {
    let filter =
        Filter { workdir: Some(directory.display().to_string()), limit: Some(1), ..Filter::default() };
    let rows = store.index().and_then(|index| index.sessions(&filter)).map_err(|error| failure(&error))?;
    rows.into_iter().next().map(|row| row.id).ok_or_else(|| {
        Failure::usage(
            format!("there is no session of {}", directory.display()),
            "`junto sessions --all` lists those of all folders; `junto run` begins one",
        )
    })
}

/// Whether a process is at work on this session.
///
/// # Errors
/// If that cannot be found out.
pub(crate) fn is_at_work(store: &Store, id: &SessionId) -> Result<bool, Failure> {
    let filter = Filter { text: Some(id.0.clone()), ..Filter::default() };
    let rows = store.index().and_then(|index| index.sessions(&filter)).map_err(|error| failure(&error))?;
    Ok(rows.iter().any(|row| row.id == *id && row.state == Standing::Open))
}

fn unknown(wanted: &str, all: &[SessionId]) -> Failure {
    // An id is compared as far as it was given, so that a slip in its beginning is found.
    let length = wanted.chars().count().max(SHORT);
    let beginnings: Vec<&str> = all.iter().map(|id| id.0.get(..length).unwrap_or(&id.0)).collect();
    let near = nearest(wanted, beginnings.iter().copied());
    let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    let hint = if all.is_empty() {
        "no session was kept yet; `junto run` begins one".to_owned()
    } else {
        let latest = all.iter().rev().take(3).map(short);
        format!("the latest are {}; `junto sessions --all` lists all", names(latest))
    };
    Failure::usage(format!("there is no session \"{wanted}\"{near}"), hint)
}

/// The same failure, where a prompt may be meant by what was taken for an id: a word, which no id begins with.
pub(crate) fn or_prompt(failure: Failure, wanted: &str) -> Failure {
    let is_word = wanted.chars().any(|c| c.is_alphabetic() && !c.is_ascii_hexdigit());
    let Some(hint) = failure.hint.as_ref().filter(|_| is_word && wanted != LATEST) else { return failure };
    let hint =
        format!("{hint}; one word is taken for an id, and as a prompt: junto resume latest \"{wanted}\"");
    Failure { hint: Some(hint), ..failure }
}

fn names<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    ids.take(5).collect::<Vec<_>>().join(", ")
}

/// The beginning of an id, for people.
pub(crate) fn short(id: &SessionId) -> &str {
    id.0.get(..SHORT).unwrap_or(&id.0)
}

/// What a failure of the store means for the command.
pub(crate) fn failure(error: &store::Error) -> Failure {
    let (exit, hint) = match error.kind() {
        ErrorKind::Locked => (Exit::Failed, "wait until it has ended, or fork the session: `junto fork ID`"),
        ErrorKind::Newer => (Exit::Failed, "install the newer junto again to go on with it"),
        ErrorKind::NotFound | ErrorKind::Invalid => {
            (Exit::Usage, "`junto sessions --all` lists those there are")
        }
        ErrorKind::Exists => (Exit::Failed, "run the command again"),
        ErrorKind::Damaged | ErrorKind::Foreign => {
            (Exit::Failed, "move the folder of the session away, or bring it back from a backup")
        }
        _ => (Exit::Failed, ROOM),
    };
    Failure::new(exit, error.to_string(), hint)
}

/// What is wrong with the journal of a session, in words; none if nothing is.
pub(crate) fn faults(id: &SessionId, recovery: &Recovery) -> Option<String> {
    let what = || recovery.to_string().replace('\n', "; ");
    (!recovery.is_clean()).then(|| format!("the journal of session {}: {}", short(id), what()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_where_the_environment_says() {
        let check = |variables: &[(&str, &str)], expected: Option<&str>| {
            let found = root(&Environment::of(Path::new("/project"), variables)).ok();
            assert_eq!(found, expected.map(PathBuf::from), "{variables:?}");
        };
        let home = ("HOME", "/home/me");
        check(&[home], Some("/home/me/.local/state/junto"));
        check(&[home, ("XDG_STATE_HOME", "/state")], Some("/state/junto"));
        check(&[home, ("XDG_STATE_HOME", "relative")], Some("/home/me/.local/state/junto"));
        check(&[home, ("XDG_STATE_HOME", "/state"), (STATE_VARIABLE, "/mine")], Some("/mine"));
        check(&[home, (STATE_VARIABLE, "mine")], Some("/project/mine"));
        check(&[], None);
    }
}
