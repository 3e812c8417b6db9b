//! A client from the environment. The only place of this crate that reads variables.

use std::sync::Arc;

use crate::http::HttpProvider;
use crate::vendor::VENDORS;
use crate::{Client, Error};

/// What to do when nothing is configured.
pub(super) const HINT: &str = "set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY";

impl Client {
    /// A client with each provider whose key is in the environment; the first is the default.
    ///
    /// | provider | key | optional |
    /// |---|---|---|
    /// | `openai` | `OPENAI_API_KEY` | `OPENAI_BASE_URL`, `OPENAI_ORG_ID`, `OPENAI_PROJECT_ID` |
    /// | `anthropic` | `ANTHROPIC_API_KEY`, or `ANTHROPIC_AUTH_TOKEN` as bearer | `ANTHROPIC_BASE_URL` |
    /// | `gemini` | `GEMINI_API_KEY`, else `GOOGLE_API_KEY` | `GEMINI_BASE_URL`, else `GOOGLE_GEMINI_BASE_URL` |
    ///
    /// # Errors
    /// `configuration` if a variable makes no sense. No key at all is not an error here: the first
    /// request says so.
    pub fn from_env() -> Result<Self, Error> {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// As [`Client::from_env`], from any source of variables.
    ///
    /// # Errors
    /// As [`Client::from_env`].
    pub fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let mut builder = Self::builder();
        for endpoint in VENDORS.iter().filter_map(|vendor| vendor.endpoint(&get)) {
            builder = builder.provider(endpoint.name.clone(), Arc::new(HttpProvider::new(endpoint)?));
        }
        builder.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallCx, ErrorKind, Request};

    fn client(pairs: &[(&str, &str)]) -> Client {
        let lookup = |name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        Client::from_variables(lookup).unwrap()
    }

    #[test]
    fn keys_register_providers_in_order() {
        let all = client(&[("GOOGLE_API_KEY", "g"), ("ANTHROPIC_AUTH_TOKEN", "t"), ("OPENAI_API_KEY", "o")]);
        assert_eq!(all.provider_names().collect::<Vec<_>>(), ["openai", "anthropic", "gemini"]);
        assert_eq!(all.default_provider(), Some("openai"));
        assert_eq!(
            client(&[("GEMINI_API_KEY", "g"), ("OPENAI_API_KEY", " ")]).default_provider(),
            Some("gemini")
        );
    }

    #[tokio::test]
    async fn nothing_configured_is_a_clear_error() {
        let error = client(&[]).complete(Request::prompt("hi"), &CallCx::new()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.hint().unwrap().contains("ANTHROPIC_API_KEY"));
        let error = client(&[("OPENAI_API_KEY", "k")])
            .complete(Request::prompt("hi").provider("other"), &CallCx::new())
            .await
            .unwrap_err();
        assert!(error.message().contains("`other`") && error.hint().unwrap().contains("openai"));
    }
}
