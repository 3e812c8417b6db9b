//! The providers that need no configuration: they are there as soon as their key is.

use crate::environment::Environment;

use super::settings::{KeyPath, Layer, Origin};

/// A built-in provider.
#[derive(Debug)]
pub(crate) struct Vendor {
    /// Its name.
    pub(crate) name: &'static str,
    wire: &'static str,
    base_url: &'static str,
    base_url_variables: &'static [&'static str],
    /// The variables that may hold its key; the first that is set counts.
    pub(crate) key_variables: &'static [&'static str],
    /// Headers whose values come from variables.
    headers: &'static [(&'static str, &'static str)],
}

/// Variables that hold a bearer token instead of a key.
pub(crate) const BEARER_VARIABLES: &[&str] = &["ANTHROPIC_AUTH_TOKEN"];

/// The built-in providers; the first that has a key is the default.
pub(crate) static VENDORS: &[Vendor] = &[
    Vendor {
        name: "openai",
        wire: "openai",
        base_url: "https://api.openai.com/v1",
        base_url_variables: &["OPENAI_BASE_URL"],
        key_variables: &["OPENAI_API_KEY"],
        headers: &[("OPENAI_ORG_ID", "OpenAI-Organization"), ("OPENAI_PROJECT_ID", "OpenAI-Project")],
    },
    Vendor {
        name: "anthropic",
        wire: "anthropic",
        base_url: "https://api.anthropic.com",
        base_url_variables: &["ANTHROPIC_BASE_URL"],
        key_variables: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
        headers: &[],
    },
    Vendor {
        name: "gemini",
        wire: "gemini",
        base_url: "https://generativelanguage.googleapis.com",
        base_url_variables: &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        headers: &[],
    },
];

/// The built-in provider of this name.
pub(crate) fn vendor(name: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|vendor| vendor.name == name)
}

impl Vendor {
    /// The settings this provider has by itself in this environment.
    pub(super) fn settings(&self, environment: &Environment, into: &mut Layer) {
        let first =
            |names: &[&'static str]| names.iter().find_map(|name| Some((*name, environment.get(name)?)));
        let path = |below: &[&str]| KeyPath::of(&[&["providers", self.name], below].concat());
        into.set_text(path(&["wire"]), self.wire, Origin::Default);
        match first(self.base_url_variables) {
            Some((name, url)) => into.set_text(path(&["base_url"]), url, Origin::Variable(name.to_owned())),
            None => into.set_text(path(&["base_url"]), self.base_url, Origin::Default),
        }
        let key = first(self.key_variables).map(|(name, _)| name).or(self.key_variables.first().copied());
        if let Some(key) = key {
            into.set_text(path(&["key_env"]), key, Origin::Default);
        }
        for (name, header) in self.headers {
            if let Some(value) = environment.get(name) {
                into.set_text(path(&["headers", header]), value, Origin::Variable((*name).to_owned()));
            }
        }
    }
}
