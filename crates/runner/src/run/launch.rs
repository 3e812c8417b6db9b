//! The start of a process.

use std::path::Path;
use std::{fs, io};

use junto_env::{CommandSpec, HeadTail, RealPath, Stdin, left};
use junto_llm::{CallId, Error};
use tempfile::TempDir;
use tokio::time::Instant;

use super::reader::Reader;
use super::record::Record;
use super::{Run, STDERR_KEPT};
use crate::background::TextParser;
use crate::control::Dialogue;
use crate::failure::Class;
use crate::{
    CommandLine, Definition, Host, Invocation, LINE_LIMIT, Lines, Parser, Patience, Probe, PromptBy,
    environment, project,
};

/// The longest line of standard error that is put on record.
const STDERR_LINE: usize = 64 << 10;

/// What a run is started with.
pub(crate) struct Start<'a> {
    pub(crate) definition: &'a Definition,
    pub(crate) host: &'a Host,
    pub(crate) invocation: Invocation<'a>,
    /// What names the run in the log, on record and among its variables.
    pub(crate) call: &'a CallId,
    pub(crate) prompt: &'a str,
    /// How it is spoken with; absent: it is given its prompt, and that is all.
    pub(crate) dialogue: Option<Dialogue>,
    pub(crate) cwd: Option<RealPath>,
    pub(crate) patience: Patience,
}

impl Run {
    /// Starts a process and gives it its prompt.
    ///
    /// # Errors
    /// `configuration` if the program is not there, is too old to be understood, or there are too many agents above.
    pub(crate) async fn start(start: Start<'_>) -> Result<Self, Error> {
        let Start { definition, host, invocation, call, prompt, mut dialogue, cwd, patience } = start;
        environment::fuse(definition, host)?;
        // Whoever starts it, and as what: one that would be misunderstood is not run.
        let probe = Probe::ask(definition, host).await;
        probe.doubt(definition)?;
        project::check(definition, host, cwd.as_ref().unwrap_or(&host.env.facts().cwd).as_path())?;
        let token = host.token();
        let mut line = definition.command_line(&Invocation {
            token: Some(&token),
            version: probe.version,
            ..invocation
        })?;
        let files = private_files(&mut line).map_err(|e| not_ready(definition, &e))?;
        let name = call.to_string();
        let mut variables = environment::variables(definition, host, &line, &token);
        variables.insert(left::RUN.to_owned(), name.clone());
        let prompt = line.prompt(prompt);
        let stdin = match (&mut dialogue, definition.prompt) {
            (Some(dialogue), _) => {
                dialogue.begin(&prompt);
                Stdin::Open
            }
            (None, PromptBy::Stdin) => Stdin::Bytes(prompt.into()),
        };
        let command = CommandSpec {
            cwd,
            variables,
            inherits: false,
            roomy: true,
            stdin,
            ..CommandSpec::argv(line.argv)
        };
        let record =
            host.logs.as_deref().map(|folder| Record::begin(folder, &format!("{}-{name}", definition.kind)));
        let record = record.transpose().map_err(|e| not_ready(definition, &e))?;
        let entry = host.roster.as_ref().map(|roster| roster.enter(&name));
        let entry = entry.transpose().map_err(|e| not_ready(definition, &e))?;
        let process = host.env.spawn(command).await.map_err(|e| not_started(definition, e))?;
        if let Some(entry) = &entry {
            entry.started(process.id()).map_err(|e| not_ready(definition, &e))?;
        }
        let parser: Box<dyn Parser> =
            if invocation.text_only { Box::new(TextParser::default()) } else { definition.output.parser() };
        let mut secrets = host.secrets();
        secrets.push(token);
        let now = Instant::now();
        Ok(Self {
            process,
            dialogue,
            stdout: Lines::new(LINE_LIMIT),
            stderr_lines: Lines::new(STDERR_LINE),
            stderr: HeadTail::new(STDERR_KEPT, STDERR_KEPT),
            reader: Reader::new(parser, &secrets, record),
            patience,
            signal: definition.ending.signal,
            heard: now,
            retried: None,
            deadline: patience.hard.map(|hard| now + hard),
            drained: false,
            interrupted: false,
            look: None,
            is_closed: false,
            told: line.told,
            _entry: entry,
            _files: files,
        })
    }
}

/// Writes the files that a command needs into a folder that only its owner can enter.
fn private_files(line: &mut CommandLine) -> io::Result<Option<TempDir>> {
    if line.files.is_empty() {
        return Ok(None);
    }
    let folder = tempfile::Builder::new().prefix("junto-run-").tempdir()?;
    for file in &line.files {
        fs::write(folder.path().join(file.name), &file.text)?;
    }
    line.place(folder.path());
    Ok(Some(folder))
}

/// The working directory of a run: as given, else the environment's.
pub(crate) async fn directory(host: &Host, path: Option<&Path>) -> Result<Option<RealPath>, Error> {
    let Some(path) = path else { return Ok(None) };
    let text = path.to_str().ok_or_else(|| {
        Error::configuration(format!("the path of the working directory {} is no text", path.display()))
    })?;
    let real = host.env.resolve(text).await.map_err(|e| Error::configuration(e.to_string()))?;
    Ok(Some(real))
}

fn not_ready(definition: &Definition, error: &io::Error) -> Error {
    Error::configuration(format!("cannot prepare a run of {}: {error}", definition.kind))
}

fn not_started(definition: &Definition, error: junto_env::Error) -> Error {
    let message = format!("cannot start {}: {error}", definition.kind);
    let missing = error.kind() == junto_env::ErrorKind::NotFound;
    let failed = if missing { Class::NotInstalled.error(message) } else { Error::configuration(message) };
    failed.with_source(error).with_hint(format!("is `{}` installed and in the PATH?", definition.program()))
}
