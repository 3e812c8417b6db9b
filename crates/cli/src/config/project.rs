//! What a project brings: settings, hooks, commands, skills, servers. Everything of it that may change what happens
//! on this machine needs the user's trust, and all of that together is trusted or not.

use std::collections::BTreeMap;

use junto::mcp::config::{Pin, Reach, ServerConfig};

use crate::reach::{Brought, Kit, text_of};

use super::files::{Files, Project};
use super::problem::Problem;
use super::programs;
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
    /// Its servers, each with the files in the project that it runs.
    servers: Vec<(ServerConfig, Vec<Pin>)>,
}

/// What the project brings, if there is one and it brings something.
///
/// # Errors
/// If the list of trusted projects cannot be read.
pub(crate) fn of_project(files: &Files) -> Result<Option<ProjectFiles>, Problem> {
    let Some(project) = &files.project else { return Ok(None) };
    let mut brought = Brought::of(&project.root);
    let mut texts = Vec::new();
    for path in [CONFIG, SERVERS] {
        // Nobody vouches for this folder: what lies there and cannot be read keeps nobody from working in it.
        match text_of(&project.root.join(path)) {
            Ok(text) => texts.extend(text.map(|text| (path, text))),
            Err(fault) => brought.faults.push(fault),
        }
    }
    let named = texts.iter().find(|(path, _)| *path == SERVERS).map(|(_, text)| text.as_str());
    let servers = named.map(|text| programs::servers(&project.root, text)).unwrap_or_default();
    let servers = servers.into_iter().map(|server| {
        let pins = programs::pins(&project.root, &server);
        (server, pins)
    });
    let servers = servers.collect();
    let mut read =
        ProjectFiles { project: project.clone(), standing: Standing::Unknown, texts, brought, servers };
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
        let run = self.servers.iter().flat_map(|(_, pins)| pins);
        let mut run: Vec<(&str, &str)> =
            run.map(|pin| (pin.path.to_str().unwrap_or_default(), pin.digest.as_str())).collect();
        // Two servers may run one file.
        run.sort_unstable();
        run.dedup();
        digest_of_all(texts.chain(files).chain(run))
    }

    /// The files in the project that a server of its runs, as they were when it was read.
    pub(crate) fn pins(&self, server: &str) -> Vec<Pin> {
        let of_it = self.servers.iter().find(|(known, _)| known.name == server);
        of_it.map(|(_, pins)| pins.clone()).unwrap_or_default()
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
        if self.text(SERVERS).is_some() && self.servers.is_empty() {
            lines.push(format!("+ {SERVERS}"));
        }
        lines.extend(self.servers.iter().map(|(server, pins)| self.server(server, pins)));
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

    /// A server as it would be reached, and what runs then.
    fn server(&self, server: &ServerConfig, pins: &[Pin]) -> String {
        let pairs = |what: &str, pairs: &BTreeMap<String, String>| {
            let all: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
            if all.is_empty() { String::new() } else { format!("; {what}: {}", all.join(" ")) }
        };
        let more = match &server.reach {
            Reach::Program(launch) => {
                let place = launch.cwd.as_deref().map(|cwd| format!("; in {cwd}")).unwrap_or_default();
                let root = &self.project.root;
                let files = pins.iter().map(|pin| pin.path.strip_prefix(root).unwrap_or(&pin.path).display());
                let files: Vec<String> = files.map(|file| file.to_string()).collect();
                let runs = match &files[..] {
                    [] => String::new(),
                    files => format!("; of this project it runs {}, and what that loads", files.join(", ")),
                };
                let held = if server.sandboxed { "; in the sandbox" } else { "; outside of the sandbox" };
                pairs("variables", &launch.variables) + &place + &runs + held
            }
            Reach::Http(address) => pairs("headers", &address.headers),
        };
        format!("+ server {}: {}{more}", server.name, server.reach)
    }

    fn kinds(&self) -> Vec<&'static str> {
        let servers = self.text(SERVERS).is_some().then_some("servers");
        self.brought.bound.kinds().into_iter().chain(servers).collect()
    }
}
