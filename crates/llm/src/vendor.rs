//! The providers that need no configuration: where they are, and which variables hold their keys.

use crate::http::{Auth, Endpoint};
use crate::{Secret, Wire};

/// A provider that is there as soon as its key is.
#[derive(Clone, Copy, Debug)]
pub struct Vendor {
    /// Its name in a client and in the catalog.
    pub name: &'static str,
    /// The wire it speaks.
    pub wire: Wire,
    /// Where it is.
    pub base_url: &'static str,
    /// The variables that may say that it is elsewhere; the first that is set counts.
    pub base_url_variables: &'static [&'static str],
    /// The variables that may hold its key; the first that is set counts.
    pub key_variables: &'static [&'static str],
    /// Those of them that hold a bearer token instead of a key.
    pub bearer_variables: &'static [&'static str],
    /// Headers whose values come from variables: variable, header.
    pub headers: &'static [(&'static str, &'static str)],
}

/// The vendors; the first that has a key is the default.
pub const VENDORS: [Vendor; 3] = [
    Vendor {
        name: "openai",
        wire: Wire::Responses,
        base_url: "https://api.openai.com/v1",
        base_url_variables: &["OPENAI_BASE_URL"],
        key_variables: &["OPENAI_API_KEY"],
        bearer_variables: &[],
        headers: &[("OPENAI_ORG_ID", "openai-organization"), ("OPENAI_PROJECT_ID", "openai-project")],
    },
    Vendor {
        name: "anthropic",
        wire: Wire::Anthropic,
        base_url: "https://api.anthropic.com",
        base_url_variables: &["ANTHROPIC_BASE_URL"],
        key_variables: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
        bearer_variables: &["ANTHROPIC_AUTH_TOKEN"],
        headers: &[],
    },
    Vendor {
        name: "gemini",
        wire: Wire::Gemini,
        base_url: "https://generativelanguage.googleapis.com",
        base_url_variables: &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        bearer_variables: &[],
        headers: &[],
    },
];

impl Vendor {
    /// The vendor's endpoint as these variables say, if they hold its key.
    pub fn endpoint(&self, get: impl Fn(&str) -> Option<String>) -> Option<Endpoint> {
        let get =
            |name: &str| get(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let (variable, key) = self.key_variables.iter().find_map(|name| Some((name, get(name)?)))?;
        let secret = Secret::new(key);
        let auth =
            if self.bearer_variables.contains(variable) { Auth::Bearer(secret) } else { Auth::Key(secret) };
        let base = self.base_url_variables.iter().find_map(|name| get(name));
        let headers =
            self.headers.iter().filter_map(|(name, header)| Some(((*header).to_owned(), get(name)?)));
        Some(Endpoint {
            auth,
            headers: headers.collect(),
            ..Endpoint::new(self.name, self.wire, base.unwrap_or_else(|| self.base_url.to_owned()))
        })
    }
}
