//! The command of one run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use junto_core::Mode;
use junto_env::RealPath;
use junto_llm::{Effort, Error, Secret, Usd};
use sha2::{Digest as _, Sha256};

use super::{Definition, EndpointRule, Version};
use crate::Endpoint;

/// The longest text that goes into an argument. Linux takes 128 KiB, whatever else there is.
const LONGEST: usize = 100_000;

/// The name of the file for instructions that are longer.
const INSTRUCTIONS: &str = "instructions.md";

/// What is said before instructions that a session did not begin with.
const CHANGED: &str =
    "These instructions take the place of those at the beginning of the conversation, if there are any:";

/// What one run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Work with its own tools.
    Work(Mode),
    /// An answer, and nothing done.
    Answer,
}

/// How closely a run is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Texts in pieces, as they are written.
    Deltas,
    /// Whole texts.
    Whole,
}

/// One run, as far as it shows among the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invocation<'a> {
    /// What it is for.
    pub purpose: Purpose,
    /// How closely it is followed.
    pub detail: Detail,
    /// Whether it prints the final text and nothing else, for a run that nobody follows.
    pub text_only: bool,
    /// Whether it is spoken with while it works.
    pub steerable: bool,
    /// The model; absent: the command's default.
    pub model: Option<&'a str>,
    /// How hard the model thinks; absent: as the definition says.
    pub effort: Option<&'a Effort>,
    /// What it is told beside its own instructions, of any length.
    pub instructions: Option<&'a str>,
    /// Directories to work in beside the working directory.
    pub directories: &'a [RealPath],
    /// The session to go on with.
    pub resume: Option<&'a str>,
    /// What that session was told once, as [`CommandLine::told`] said then.
    pub told: Option<&'a str>,
    /// The most model calls.
    pub max_turns: Option<u32>,
    /// The most money.
    pub max_usd: Option<Usd>,
    /// The file for the final text.
    pub last_message: Option<&'a Path>,
    /// The server to ask in the place of the vendor's.
    pub endpoint: Option<&'a Endpoint>,
    /// What it shows with each request, where it can be made to.
    pub token: Option<&'a Secret>,
    /// Whether root runs it.
    pub is_root: bool,
    /// The version of the program; absent: nobody knows, and it is taken for the latest.
    pub version: Option<Version>,
}

impl Invocation<'_> {
    /// A run for this purpose that leaves everything else to the command.
    pub const fn new(purpose: Purpose) -> Self {
        Self {
            purpose,
            detail: Detail::Whole,
            text_only: false,
            steerable: false,
            model: None,
            effort: None,
            instructions: None,
            directories: &[],
            resume: None,
            told: None,
            max_turns: None,
            max_usd: None,
            last_message: None,
            endpoint: None,
            token: None,
            is_root: false,
            version: None,
        }
    }
}

/// What is started, and what is needed for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables that this run needs beside those of every run. They are set last.
    pub variables: BTreeMap<String, String>,
    /// Files that must be there before it starts; [`CommandLine::place`] says where they are.
    pub files: Vec<PrivateFile>,
    /// What stands before the prompt.
    pub prompt_prefix: Option<String>,
    /// A digest of the instructions that the session has once and for all, from its start or from the head of a prompt;
    /// absent if it has none, and if it is given them with each run.
    pub told: Option<String>,
}

/// A file that only this run is to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateFile {
    /// Its name in the folder of the run.
    pub name: &'static str,
    /// What is in it.
    pub text: String,
    /// Which of the arguments is to hold its path.
    argument: usize,
    /// That argument, with `{}` for the path.
    template: String,
}

impl CommandLine {
    /// Tells the command that its files are in this folder.
    pub fn place(&mut self, folder: &Path) {
        for file in &self.files {
            if let Some(argument) = self.argv.get_mut(file.argument) {
                *argument = file.template.replace("{}", &folder.join(file.name).to_string_lossy());
            }
        }
    }

    /// A prompt as this command gets it.
    pub fn prompt(&self, prompt: &str) -> String {
        match &self.prompt_prefix {
            Some(prefix) => format!("{prefix}\n\n{prompt}"),
            None => prompt.to_owned(),
        }
    }
}

impl Definition {
    /// The whole command of a run: its own arguments, what it is for, options, the session it goes on with,
    /// and what comes last.
    ///
    /// # Errors
    /// `configuration` for what the command cannot be asked for, and for a value that would be taken for an
    /// option.
    pub fn command_line(&self, run: &Invocation<'_>) -> Result<CommandLine, Error> {
        let mut line = CommandLine { argv: self.command.clone(), ..CommandLine::default() };
        let options = &self.options;
        line.argv.extend_from_slice(if run.text_only { &options.text } else { &options.events });
        if run.steerable {
            line.argv.extend_from_slice(&self.steer.arguments);
        }
        match run.purpose {
            // A definition that says nothing of answers is asked in the mode in which nothing is changed.
            Purpose::Answer if self.answer.arguments.is_empty() => {
                line.argv.extend_from_slice(&self.modes.of(Mode::ReadOnly).arguments);
            }
            Purpose::Answer => line.argv.extend_from_slice(&self.answer.arguments),
            Purpose::Work(mode) => {
                let rule = self.modes.of(mode);
                line.argv.extend_from_slice(&rule.arguments);
                if run.is_root {
                    line.variables.extend(rule.as_root.clone());
                }
            }
        }
        if run.detail == Detail::Deltas && !run.text_only {
            line.argv.extend_from_slice(&options.deltas);
        }
        if let Some(endpoint) = run.endpoint {
            self.redirect(endpoint, &mut line)?;
        }
        if let Some(token) = run.token {
            let fill = |text: &String| text.replace("{}", token.expose());
            if run.endpoint.is_some() {
                line.argv.extend(self.token.endpoint_arguments.iter().map(fill));
            }
            line.variables.extend(self.token.variables.iter().map(|(name, text)| (name.clone(), fill(text))));
        }
        let effort = self.effort_of(run.effort)?;
        let max_turns = run.max_turns.map(|turns| turns.to_string());
        let max_usd = run.max_usd.map(|usd| usd.dollars().to_string());
        let last_message = run.last_message.map(|path| path.to_string_lossy());
        let directories: Vec<String> = run.directories.iter().map(ToString::to_string).collect();
        for (what, template, value) in [
            ("model", &options.model, run.model),
            ("effort", &options.effort, effort),
            ("limit of model calls", &options.max_turns, max_turns.as_deref()),
            ("limit of money", &options.max_usd, max_usd.as_deref()),
            ("file for its answer", &options.last_message, last_message.as_deref()),
        ]
        .into_iter()
        .chain(directories.iter().map(|path| ("further directory", &options.directory, Some(path.as_str()))))
        {
            line.argv.extend(self.option(what, template, value)?);
        }
        let instructed = self.instruct(run, &mut line);
        let since = options.resume_instructed_since;
        let knows = run.version.is_none_or(|version| since.is_none_or(|since| version >= since));
        if run.resume.is_some() && instructed && knows {
            line.argv.extend_from_slice(&options.resume_instructed);
        }
        line.argv.extend(self.option("session", &options.resume, run.resume)?);
        line.argv.extend_from_slice(&self.last);
        Ok(line)
    }

    /// The arguments for a value, if there is one.
    fn option(&self, what: &str, template: &[String], value: Option<&str>) -> Result<Vec<String>, Error> {
        let Some(value) = value else { return Ok(Vec::new()) };
        if template.is_empty() {
            return Err(Error::configuration(format!("{} takes no {what}", self.kind)));
        }
        if value.is_empty() || value.starts_with('-') {
            return Err(Error::configuration(format!("{value:?} is no {what} that {} takes", self.kind)));
        }
        Ok(filled(template, value))
    }

    /// How hard the model thinks: as it is asked, else as the definition says.
    fn effort_of<'a>(&'a self, asked: Option<&'a Effort>) -> Result<Option<&'a str>, Error> {
        let Some(level) = asked.map(Effort::as_str) else { return Ok(self.effort.usual.as_deref()) };
        let levels = &self.effort.levels;
        if levels.is_empty() || levels.iter().any(|known| known == level) {
            return Ok(Some(level));
        }
        let why = self.effort.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        let message = format!("{} does not think at the effort {level:?}{why}", self.kind);
        Err(Error::configuration(message).with_hint(format!("choose one of {}", levels.join(", "))))
    }

    fn redirect(&self, endpoint: &Endpoint, line: &mut CommandLine) -> Result<(), Error> {
        let rule: &EndpointRule = &self.endpoint;
        if rule.is_empty() {
            return Err(Error::configuration(format!(
                "it is not known how {} is pointed at another server",
                self.kind
            )));
        }
        let fill = |text: &String| {
            text.replace("{toml_url}", &quoted(&endpoint.url)).replace("{url}", &endpoint.url)
        };
        line.argv.extend(rule.arguments.iter().map(fill));
        line.variables.extend(rule.variables.iter().map(|(name, text)| (name.clone(), fill(text))));
        if let (Some(variable), Some(key)) = (&rule.key, &endpoint.key) {
            line.variables.insert(variable.clone(), key.expose().to_owned());
        }
        Ok(())
    }

    /// Adds the instructions in the way in which they fit; says whether there are any.
    fn instruct(&self, run: &Invocation<'_>, line: &mut CommandLine) -> bool {
        let own = self.answer.instructions.as_deref().filter(|_| run.purpose == Purpose::Answer);
        let given = run.instructions.map(str::trim).filter(|text| !text.is_empty());
        let all: Vec<&str> = given.into_iter().chain(own).collect();
        if all.is_empty() {
            return false;
        }
        let mut text = all.join("\n\n");
        let options = &self.options;
        let mut is_argument = false;
        if !options.instructions.is_empty() {
            if text.starts_with('-') {
                text.insert(0, '\n');
            }
            let arguments = filled(&options.instructions, &text);
            is_argument = arguments.iter().all(|argument| argument.len() <= LONGEST);
            if is_argument {
                line.argv.extend(arguments);
            }
            if is_argument && !options.instructions_at_start {
                return true;
            }
        }
        let place = options.instructions_file.iter().position(|argument| argument.contains("{}"));
        if let Some(place) = place.filter(|_| !is_argument) {
            let template = options.instructions_file.get(place).cloned().unwrap_or_default();
            let argument = line.argv.len() + place;
            line.files.push(PrivateFile { name: INSTRUCTIONS, text, argument, template });
            line.argv.extend_from_slice(&options.instructions_file);
        } else {
            let digest = digest(&text);
            // A session that goes on may have them already, and would have them twice.
            if run.resume.is_none() {
                line.prompt_prefix = Some(text).filter(|_| !is_argument);
            } else if run.told != Some(&digest) {
                line.prompt_prefix = Some(format!("{CHANGED}\n\n{text}"));
            }
            line.told = Some(digest);
        }
        true
    }
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().take(16).fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}

fn filled(template: &[String], value: &str) -> Vec<String> {
    // The value may hold what stands for a value.
    let fill = |argument: &String| match argument.split_once("{toml}") {
        Some((before, after)) => format!("{before}{}{after}", quoted(value)),
        None => match argument.split_once("{}") {
            Some((before, after)) => format!("{before}{value}{after}"),
            None => argument.clone(),
        },
    };
    template.iter().map(fill).collect()
}

/// A text as a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_ascii_control() => {
                // A string takes everything.
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests;
