//! Which request is for which wire.

use http::{HeaderMap, Method};

use junto_llm::Wire;

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The wire, also where nothing was found: it decides the form of the error.
    pub(crate) wire: Wire,
    /// What is asked for.
    pub(crate) what: What,
}

/// What can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// An answer of the model.
    Answer,
    /// How many tokens a request has.
    Count,
    /// All models.
    Models,
    /// One model.
    Model(String),
    /// A path that is there, with another method.
    WrongMethod,
    /// A path that is not there.
    Nothing,
}

/// Finds the route of a request by its method, its path without the query, and its headers: three
/// wires have the same path for their models, and tell them apart by their headers.
pub(crate) fn route(method: &Method, path: &str, headers: &HeaderMap) -> Route {
    let has = |name: &str| headers.contains_key(name);
    let shared = if has("anthropic-version") || has("x-api-key") {
        Wire::Anthropic
    } else if has("x-goog-api-key") {
        Wire::Gemini
    } else {
        Wire::Responses
    };
    let (wire, expected, what) = match path {
        "/v1/messages" => (Wire::Anthropic, Method::POST, What::Answer),
        "/v1/messages/count_tokens" => (Wire::Anthropic, Method::POST, What::Count),
        "/v1/responses" => (Wire::Responses, Method::POST, What::Answer),
        "/v1/chat/completions" => (Wire::Chat, Method::POST, What::Answer),
        "/v1/models" => (shared, Method::GET, What::Models),
        "/v1beta/models" => (Wire::Gemini, Method::GET, What::Models),
        _ => return below_models(method, path, shared),
    };
    Route { wire, what: if *method == expected { what } else { What::WrongMethod } }
}

/// The route of `…/models/{id}`, or of Gemini's `…/models/{id}:{method}`, which has two versions.
fn below_models(method: &Method, path: &str, shared: Wire) -> Route {
    let (wire, id) = if let Some(id) = path.strip_prefix("/v1/models/") {
        (shared, Some(id))
    } else if let Some(rest) = path.strip_prefix("/v1beta/") {
        (Wire::Gemini, rest.strip_prefix("models/"))
    } else {
        (shared, None)
    };
    let Some(id) = id else { return Route { wire, what: What::Nothing } };
    let (wire, expected, what) = match id.rsplit_once(':') {
        Some((_, "generateContent" | "streamGenerateContent")) => (Wire::Gemini, Method::POST, What::Answer),
        Some((_, "countTokens")) => (Wire::Gemini, Method::POST, What::Count),
        // Other providers' ids may have colons.
        Some(_) if wire == Wire::Gemini => return Route { wire, what: What::Nothing },
        _ => (wire, Method::GET, What::Model(id.to_owned())),
    };
    Route { wire, what: if *method == expected { what } else { What::WrongMethod } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn check(method: Method, path: &str, header: &'static str, wire: Wire, what: What) {
        let mut headers = HeaderMap::new();
        headers.insert(header, HeaderValue::from_static("x"));
        assert_eq!(route(&method, path, &headers), Route { wire, what }, "{method} {path} {header}");
    }

    #[test]
    fn every_path_has_its_wire() {
        use Wire::{Anthropic, Chat, Gemini, Responses};
        let (get, post) = (Method::GET, Method::POST);
        let (bearer, version, key) = ("authorization", "anthropic-version", "x-api-key");
        let model = |id: &str| What::Model(id.to_owned());
        check(post.clone(), "/v1/messages", bearer, Anthropic, What::Answer);
        check(post.clone(), "/v1/messages/count_tokens", key, Anthropic, What::Count);
        check(post.clone(), "/v1/responses", bearer, Responses, What::Answer);
        check(post.clone(), "/v1/chat/completions", bearer, Chat, What::Answer);
        check(get.clone(), "/v1/models", bearer, Responses, What::Models);
        check(get.clone(), "/v1/models", version, Anthropic, What::Models);
        check(get.clone(), "/v1/models", key, Anthropic, What::Models);
        check(get.clone(), "/v1/models/gpt-5.5", bearer, Responses, model("gpt-5.5"));
        check(get.clone(), "/v1beta/models", bearer, Gemini, What::Models);
        check(get.clone(), "/v1beta/models/g", bearer, Gemini, model("g"));
        check(post.clone(), "/v1beta/models/g:generateContent", bearer, Gemini, What::Answer);
        check(post.clone(), "/v1beta/models/g:streamGenerateContent", bearer, Gemini, What::Answer);
        check(post.clone(), "/v1beta/models/g:countTokens", bearer, Gemini, What::Count);
        check(post.clone(), "/v1beta/models/g:embedContent", bearer, Gemini, What::Nothing);
        check(post.clone(), "/v1/models/g:generateContent", bearer, Gemini, What::Answer);
        check(post.clone(), "/v1/models/g:countTokens", bearer, Gemini, What::Count);
        check(get.clone(), "/v1/models", "x-goog-api-key", Gemini, What::Models);
        check(get.clone(), "/v1/models/g", "x-goog-api-key", Gemini, model("g"));
        check(get.clone(), "/v1/models/ft:gpt:me", bearer, Responses, model("ft:gpt:me"));
        check(get.clone(), "/v1beta/nothing", bearer, Gemini, What::Nothing);
        check(get.clone(), "/v1/messages", bearer, Anthropic, What::WrongMethod);
        check(post.clone(), "/v1/models", bearer, Responses, What::WrongMethod);
        check(get.clone(), "/v1beta/models/g:generateContent", bearer, Gemini, What::WrongMethod);
        check(get, "/", key, Anthropic, What::Nothing);
        check(post, "/v1/messages/", bearer, Responses, What::Nothing);
    }
}
