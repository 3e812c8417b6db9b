//! What each client reads, and what it must find there.

use std::path::{Path, PathBuf};

use super::edit::{self, Entry};
use super::quoted;
use crate::args::ClientName;
use crate::commands::gateway::keys::ClientKey;
use crate::environment::Environment;
use crate::failure::Failure;

/// What clients show that must show something, to a gateway that wants no key.
const NO_KEY: &str = "junto";

/// How the command ends that Claude Code asks for the key.
const HELPER: &str = " gateway token";

/// A client, and where it shall ask.
pub(in crate::commands::gateway) struct Client {
    pub(in crate::commands::gateway) name: ClientName,
    /// The gateway's address.
    pub(in crate::commands::gateway) url: String,
    /// The key that the gateway wants, if it wants one.
    pub(in crate::commands::gateway) key: Option<ClientKey>,
    /// The model to name.
    pub(in crate::commands::gateway) model: Option<String>,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Toml,
    /// `NAME=VALUE`; only its owner reads it.
    Lines,
}

/// A file and what must stand in it.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) file: PathBuf,
    pub(super) form: Form,
    pub(super) entries: Vec<Entry>,
    /// What is shown in the place of a text that is a secret.
    hidden: Option<(String, String)>,
}

impl Plan {
    /// The file's text with these entries.
    ///
    /// # Errors
    /// Why that text cannot have them.
    pub(super) fn apply(&self, text: &str) -> Result<String, String> {
        match self.form {
            Form::Json => edit::json(text, &self.entries),
            Form::Toml => edit::toml(text, &self.entries),
            Form::Lines => Ok(edit::lines(text, &self.entries)),
        }
    }

    /// The entries alone, without secrets.
    pub(super) fn shown(&self) -> Result<String, Failure> {
        let text = self.apply("").map_err(|why| Failure::usage(why, "this build of junto is broken"))?;
        Ok(match &self.hidden {
            Some((secret, instead)) => text.replace(secret, instead),
            None => text,
        })
    }
}

impl Client {
    /// As its makers write it.
    pub(super) fn title(&self) -> &'static str {
        match self.name {
            ClientName::Claude => "Claude Code",
            ClientName::Codex => "Codex",
            ClientName::Gemini => "Gemini CLI",
        }
    }

    /// What must stand in which files.
    ///
    /// # Errors
    /// If it has no home.
    pub(super) fn plans(&self, environment: &Environment) -> Result<Vec<Plan>, Failure> {
        let folder = folder(self.name, environment)?;
        Ok(match self.name {
            ClientName::Claude => vec![self.claude(&folder)],
            ClientName::Codex => vec![self.codex(&folder)],
            ClientName::Gemini => self.gemini(&folder),
        })
    }

    /// What the user should know besides.
    pub(super) fn advice(&self) -> Option<String> {
        let key = self.key.as_ref()?;
        match self.name {
            ClientName::Claude => None,
            ClientName::Codex => Some(format!(
                "Codex takes the key from the variable {}: set it where Codex runs",
                key.variable
            )),
            ClientName::Gemini => Some("the key stands in that file, which only you can read".to_owned()),
        }
    }

    fn claude(&self, folder: &Path) -> Plan {
        let mut entries = vec![
            Entry::set(&["env", "ANTHROPIC_BASE_URL"], &self.url),
            // So that `/model` offers what the gateway has.
            Entry::set(&["env", "CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY"], "1"),
        ];
        entries.extend(self.model.iter().map(|model| Entry::set(&["env", "ANTHROPIC_MODEL"], model)));
        match &self.key {
            // The file holds no key: people keep it in repositories. A token would count more than the helper.
            Some(key) => entries.extend([
                Entry::remove(&["env", "ANTHROPIC_AUTH_TOKEN"]),
                Entry::set(&["apiKeyHelper"], format!("{}{HELPER}", quoted(&key.program))),
            ]),
            None => entries.extend([
                Entry::set(&["env", "ANTHROPIC_AUTH_TOKEN"], NO_KEY),
                Entry::remove_ending(&["apiKeyHelper"], HELPER),
            ]),
        }
        Plan { file: folder.join("settings.json"), form: Form::Json, entries, hidden: None }
    }

    fn codex(&self, folder: &Path) -> Plan {
        let mut entries = vec![Entry::set(&["model_provider"], "junto")];
        entries.extend(self.model.iter().map(|model| Entry::set(&["model"], model)));
        entries.extend([
            Entry::set(&["model_providers", "junto", "name"], "Junto"),
            Entry::set(&["model_providers", "junto", "base_url"], format!("{}/v1", self.url)),
            Entry::set(&["model_providers", "junto", "wire_api"], "responses"),
            match &self.key {
                Some(key) => Entry::set(&["model_providers", "junto", "env_key"], &key.variable),
                None => Entry::remove(&["model_providers", "junto", "env_key"]),
            },
        ]);
        Plan { file: folder.join("config.toml"), form: Form::Toml, entries, hidden: None }
    }

    fn gemini(&self, folder: &Path) -> Vec<Plan> {
        let key = self.key.as_ref().map_or(NO_KEY, |key| key.secret.expose());
        let variables =
            vec![Entry::set(&["GOOGLE_GEMINI_BASE_URL"], &self.url), Entry::set(&["GEMINI_API_KEY"], key)];
        let hidden =
            self.key.as_ref().map(|key| (key.secret.expose().to_owned(), format!("${}", key.variable)));
        let mut settings = vec![Entry::set(&["security", "auth", "selectedType"], "gemini-api-key")];
        settings.extend(self.model.iter().map(|model| Entry::set(&["model", "name"], model)));
        vec![
            Plan { file: folder.join(".env"), form: Form::Lines, entries: variables, hidden },
            Plan { file: folder.join("settings.json"), form: Form::Json, entries: settings, hidden: None },
        ]
    }
}

/// Where a client keeps its configuration.
fn folder(client: ClientName, environment: &Environment) -> Result<PathBuf, Failure> {
    let (variable, below) = match client {
        ClientName::Claude => ("CLAUDE_CONFIG_DIR", ""),
        ClientName::Codex => ("CODEX_HOME", ""),
        ClientName::Gemini => ("GEMINI_CLI_HOME", ".gemini"),
    };
    let usual = match client {
        ClientName::Claude => ".claude",
        ClientName::Codex => ".codex",
        ClientName::Gemini => ".gemini",
    };
    let named = environment.path(variable).map(|path| environment.directory().join(path).join(below));
    let home = || environment.path("HOME").map(|home| home.join(usual));
    named
        .or_else(home)
        .ok_or_else(|| Failure::usage(format!("neither HOME nor {variable} is set"), "set one of them"))
}

/// The file in which a client is pointed at this address, if it is.
pub(in crate::commands::gateway) fn points_at(
    client: ClientName,
    url: &str,
    environment: &Environment,
) -> Option<PathBuf> {
    let folder = folder(client, environment).ok()?;
    let read = |name: &str| {
        let file = folder.join(name);
        std::fs::read_to_string(&file).ok().map(|text| (file, text))
    };
    let (file, found) = match client {
        ClientName::Claude => {
            let (file, text) = read("settings.json")?;
            let settings: serde_json::Value = serde_json::from_str(&text).ok()?;
            (file, settings.pointer("/env/ANTHROPIC_BASE_URL")?.as_str()?.to_owned())
        }
        ClientName::Codex => {
            let (file, text) = read("config.toml")?;
            let settings: toml_edit::DocumentMut = text.parse().ok()?;
            let provider = settings.get("model_provider")?.as_str()?;
            let base = settings.get("model_providers")?.get(provider)?.get("base_url")?.as_str()?;
            (file, base.trim_end_matches("/v1").to_owned())
        }
        ClientName::Gemini => {
            let (file, text) = read(".env")?;
            let found = text.lines().rev().find_map(|line| edit::assigned(line, "GOOGLE_GEMINI_BASE_URL"));
            (file, found?.to_owned())
        }
    };
    (found == url).then_some(file)
}
