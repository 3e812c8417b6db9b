//! What is served where. The paths are written as in `openapi.json`, which a test compares.

use std::borrow::Cow;

use http::Method;
use junto_llm::Wire;
use percent_encoding::percent_decode_str;

/// What is served at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surface {
    /// Word that the gateway is there, for whoever watches over it.
    Health,
    /// The same, for clients.
    Hello,
    /// Counters, for Prometheus.
    Metrics,
    /// What goes on, as a page.
    Status,
    /// The same as JSON.
    StatusJson,
    /// Answers of models, on this wire.
    Generate(Wire),
    /// How many tokens a request would be, on this wire.
    Count(Wire),
    /// The models that can be asked for; one, if the path names it.
    Models,
    /// The description of all this.
    OpenApi,
}

impl Surface {
    /// Whether it shows what became of calls.
    pub(super) fn shows_books(self) -> bool {
        matches!(self, Self::Metrics | Self::Status | Self::StatusJson)
    }

    /// What it is called in metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::Hello => "hello",
            Self::Metrics => "metrics",
            Self::Models => "models",
            Self::OpenApi => "openapi",
            Self::Status | Self::StatusJson => "status",
            Self::Generate(_) => "generate",
            Self::Count(_) => "count",
        }
    }
}

/// One path: the method it takes, and what it serves.
type Row = (&'static str, &'static str, Surface);

/// All of them. `{model}` stands for a model's name, which may hold slashes and colons; of two rows
/// that fit, the first counts.
pub(super) const TABLE: &[Row] = &[
    ("GET", "/healthz", Surface::Health),
    ("HEAD", "/", Surface::Hello),
    ("GET", "/api/hello", Surface::Hello),
    ("GET", "/metrics", Surface::Metrics),
    ("GET", "/openapi.json", Surface::OpenApi),
    ("GET", "/status", Surface::Status),
    ("GET", "/status.json", Surface::StatusJson),
    ("POST", "/v1/messages", Surface::Generate(Wire::Anthropic)),
    ("POST", "/v1/responses", Surface::Generate(Wire::Responses)),
    ("POST", "/v1/chat/completions", Surface::Generate(Wire::Chat)),
    ("POST", "/v1beta/models/{model}:generateContent", Surface::Generate(Wire::Gemini)),
    ("POST", "/v1beta/models/{model}:streamGenerateContent", Surface::Generate(Wire::Gemini)),
    ("POST", "/v1/models/{model}:generateContent", Surface::Generate(Wire::Gemini)),
    ("POST", "/v1/models/{model}:streamGenerateContent", Surface::Generate(Wire::Gemini)),
    ("POST", "/v1/messages/count_tokens", Surface::Count(Wire::Anthropic)),
    ("POST", "/v1/responses/input_tokens", Surface::Count(Wire::Responses)),
    ("POST", "/v1beta/models/{model}:countTokens", Surface::Count(Wire::Gemini)),
    ("POST", "/v1/models/{model}:countTokens", Surface::Count(Wire::Gemini)),
    ("GET", "/v1/models", Surface::Models),
    ("GET", "/v1/models/{model}", Surface::Models),
    ("GET", "/v1beta/models", Surface::Models),
    ("GET", "/v1beta/models/{model}", Surface::Models),
];

/// What was found for a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) surface: Surface,
    /// The model that the path names.
    pub(super) model: Option<String>,
}

/// What is served at this path by this method. Whatever can be got can also be asked for its head.
pub(super) fn find(method: &Method, path: &str) -> Option<Found> {
    TABLE.iter().find_map(|(taken, template, surface)| {
        let takes = *taken == method.as_str() || (*taken == "GET" && method == Method::HEAD);
        let model = takes.then(|| fits(template, path)).flatten()?;
        let model = Some(model.into_owned()).filter(|model| !model.is_empty());
        Some(Found { surface: *surface, model })
    })
}

/// The model in a path of this form, which is empty if the form has none; nothing for other paths.
fn fits<'a>(template: &str, path: &'a str) -> Option<Cow<'a, str>> {
    let Some((before, rest)) = template.split_once('{') else {
        return (template == path).then_some(Cow::Borrowed(""));
    };
    let after = rest.split_once('}').map_or("", |(_, after)| after);
    let model = path.strip_prefix(before)?.strip_suffix(after).filter(|model| !model.is_empty())?;
    let model = percent_decode_str(model).decode_utf8().ok()?;
    // A URL that has such parts names something else than it says, to whoever it is sent on to.
    let is_plain = !model.split(['/', '\\']).any(|part| matches!(part, "." | ".."));
    is_plain.then_some(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: Method, path: &str, expected: Option<(Surface, Option<&str>)>) {
        let found = find(&method, path).map(|found| (found.surface, found.model));
        assert_eq!(found, expected.map(|(s, m)| (s, m.map(str::to_owned))), "{method} {path}");
    }

    #[test]
    fn paths_and_methods() {
        let gemini = Surface::Generate(Wire::Gemini);
        check(Method::POST, "/v1/messages", Some((Surface::Generate(Wire::Anthropic), None)));
        check(Method::POST, "/v1/messages/", None);
        check(Method::GET, "/v1/messages", None);
        check(Method::HEAD, "/", Some((Surface::Hello, None)));
        check(Method::GET, "/", None);
        check(Method::HEAD, "/api/hello", Some((Surface::Hello, None)));
        check(Method::OPTIONS, "/healthz", None);
        check(Method::POST, "/v1beta/models/m:generateContent", Some((gemini, Some("m"))));
        check(Method::POST, "/v1/models/m:streamGenerateContent", Some((gemini, Some("m"))));
        check(Method::POST, "/v1beta/models/a/b:c:generateContent", Some((gemini, Some("a/b:c"))));
        check(Method::POST, "/v1beta/models/a%2Fb%20%C3%BC:generateContent", Some((gemini, Some("a/b ü"))));
        let count = Surface::Count(Wire::Gemini);
        check(Method::POST, "/v1beta/models/m:countTokens", Some((count, Some("m"))));
        check(Method::POST, "/v1/messages/count_tokens", Some((Surface::Count(Wire::Anthropic), None)));
        check(Method::POST, "/v1beta/models/:generateContent", None);
        check(Method::POST, "/v1beta/models/%ff:generateContent", None);
        check(Method::POST, "/v1beta/models/m:embedContent", None);
        for model in
            ["a/../b", "../m", "a/./b", "a/%2e%2E/b", "a/.%2e/b", "a%2F..%2fb", "a%5c..%5Cb", "a/%2e/b"]
        {
            check(Method::POST, &format!("/v1beta/models/{model}:generateContent"), None);
            check(Method::GET, &format!("/v1/models/{model}"), None);
        }
        check(Method::POST, "/v1beta/models/a..b/.c:generateContent", Some((gemini, Some("a..b/.c"))));
        check(Method::GET, "/v1/models", Some((Surface::Models, None)));
        check(Method::GET, "/v1beta/models/p/m", Some((Surface::Models, Some("p/m"))));
        check(Method::GET, "/v1/models/", None);
        check(Method::POST, "/v1/models/m", None);
    }
}
