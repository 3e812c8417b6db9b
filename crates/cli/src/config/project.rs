//! What a project brings: settings, hooks, commands, skills, servers. Everything of it that may change what happens
//! on this machine needs the user's trust, and all of that together is trusted or not.

use std::collections::BTreeMap;

use junto::mcp::config::{Parsed, Reach, ServerConfig, parse};

use crate::reach::{Brought, Kit};

use super::files::{Files, Project};
use super::problem::Problem;
use super::settings::Layer;
use super::trust::{CONFIG, Standing, Trust, digest, digest_of_all};
use super::{Whose, check};

/// The file that names servers, below the root.
pub(crate) const SERVERS: &str = ".mcp.json";

/// What a project brings, and what is thought of it. It is read once: what is trusted is what is used.
#[derive(Clone, Debug)]
pub(crate) struct ProjectFiles {
    /// Whose it is.
    pub(crate) project: Project,
    /// Whether it is trusted.
    pub(crate) standing: Standing,
    /// Its settings and its servers: the path below the root, and the text.
    texts: Vec<(&'static str, String)>,
    /// Its skills, commands and hooks.
    brought: Brought,
}

/// What the project brings, if there is one and it brings something.
///
/// # Errors
/// If a file of it, or the list of trusted projects, cannot be read.
pub(crate) fn of_project(files: &Files) -> Result<Option<ProjectFiles>, Problem> {
    let Some(project) = &files.project else { return Ok(None) };
    let mut texts = Vec::new();
    for path in [CONFIG, SERVERS] {
        let file = project.root.join(path);
        // Nobody vouches for this folder: to read a pipe that lies there would wait for ever.
        if file.metadata().is_ok_and(|found| found.is_file()) {
            texts.extend(check::read(&file)?.map(|text| (path, text)));
        }
    }
    let brought = Brought::of(&project.root);
    let mut read = ProjectFiles { project: project.clone(), standing: Standing::Unknown, texts, brought };
    if let Some(list) = files.trust.as_ref().filter(|_| read.needs_trust()) {
        read.standing = Trust::read(list)?.standing(&project.root, &read.digest());
    }
    Ok(Some(read))
}

impl ProjectFiles {
    /// Whether there is something among it that counts only if it is trusted.
    pub(crate) fn needs_trust(&self) -> bool {
        !self.texts.is_empty() || !self.brought.files.is_empty()
    }

    /// Whether it is trusted as it is.
    pub(crate) fn is_trusted(&self) -> bool {
        self.standing == Standing::Trusted
    }

    /// What it is told by.
    pub(crate) fn digest(&self) -> String {
        let texts: Vec<(&str, String)> =
            self.texts.iter().map(|(path, text)| (*path, digest(text))).collect();
        let texts = texts.iter().map(|(path, digest)| (*path, digest.as_str()));
        let files = self.brought.files.iter().map(|(path, digest)| (path.as_str(), digest.as_str()));
        digest_of_all(texts.chain(files))
    }

    /// The text of its settings (`.junto/config.toml`) or its servers (`.mcp.json`), trusted or not.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.texts.iter().find(|(known, _)| *known == path).map(|(_, text)| text.as_str())
    }

    /// What is wrong with its skills, commands and hooks.
    pub(crate) fn faults(&self) -> &[junto::agent::Fault] {
        &self.brought.faults
    }

    /// Events of its hooks that never happen.
    pub(crate) fn unused(&self) -> &[String] {
        &self.brought.unused
    }

    /// Its skills, commands and hooks that count: those that are mere texts, and the others if they are trusted.
    pub(crate) fn kit(&self) -> Kit {
        let bound = if self.is_trusted() { self.brought.bound.clone() } else { Kit::default() };
        self.brought.free.clone().and(bound)
    }

    /// Those that do not count because they are not trusted.
    pub(crate) fn waiting(&self) -> Kit {
        if self.is_trusted() { Kit::default() } else { self.brought.bound.clone() }
    }

    /// The settings and rules that it would make.
    pub(crate) fn layer(&self) -> Layer {
        match self.text(CONFIG) {
            Some(text) => check::check(&self.project.file, text, Whose::Project),
            None => Layer::default(),
        }
    }

    /// What it brings beside settings, a line for each.
    pub(crate) fn told(&self) -> Vec<String> {
        let mut lines = self.brought.bound.told();
        if let Some(text) = self.text(SERVERS) {
            lines.extend(servers(text));
        }
        lines
    }

    /// What the user is told of one that is not in force.
    pub(super) fn note(&self) -> String {
        let root = self.project.root.display();
        let what = match self.text(CONFIG) {
            Some(_) => self.project.file.display().to_string(),
            None => format!("what {root} brings ({})", self.kinds().join(", ")),
        };
        let why = match self.standing {
            Standing::Changed => "has changed since it was trusted",
            Standing::Trusted | Standing::Unknown => "is not trusted",
        };
        format!(
            "note: {what} is not in force because it {why}; `junto trust {root}` shows what it would change, \
             and lets it"
        )
    }

    fn kinds(&self) -> Vec<&'static str> {
        let servers = self.text(SERVERS).is_some().then_some("servers");
        self.brought.bound.kinds().into_iter().chain(servers).collect()
    }
}

/// The servers that a file names, a line for each, as they would be reached. Variables stand there by their names.
fn servers(text: &str) -> Vec<String> {
    let Ok(Parsed { servers, .. }) = parse(text, &|name| Some(format!("${{{name}}}"))) else {
        return vec![format!("+ {SERVERS}")];
    };
    let pairs = |what: &str, pairs: &BTreeMap<String, String>| {
        let all: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if all.is_empty() { String::new() } else { format!("; {what}: {}", all.join(" ")) }
    };
    let line = |server: &ServerConfig| {
        let more = match &server.reach {
            Reach::Program(launch) => {
                let place = launch.cwd.as_deref().map(|cwd| format!("; in {cwd}")).unwrap_or_default();
                pairs("variables", &launch.variables) + &place
            }
            Reach::Http(address) => pairs("headers", &address.headers),
        };
        format!("+ server {}: {}{more}", server.name, server.reach)
    };
    servers.iter().map(line).collect()
}
