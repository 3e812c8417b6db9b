//! Which headers go through when a call is passed on by bytes.

use http::header::{self, HeaderMap, HeaderName};

use junto_llm::THROUGH;

use crate::route::ClientKeyUse;

/// Room for those that are added on the way: a map that grows is made anew.
const ADDED: usize = 8;

/// Headers that concern one connection only.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers of a request that hold for the way to us: the transport sets its own. Without
/// `accept-encoding` the answer comes uncompressed, so that its usage can be read.
const OURS: [&str; 8] =
    ["accept-encoding", "content-length", "cookie", "expect", "forwarded", "host", "origin", "referer"];

/// Headers that carry a client's key.
const KEYS: [&str; 4] = ["authorization", "x-api-key", "x-goog-api-key", "api-key"];

/// What of a client's headers goes to the provider.
pub(crate) fn to_provider(client: &HeaderMap, key: ClientKeyUse) -> HeaderMap {
    end_to_end(client, |name| {
        OURS.contains(&name)
            // It goes with the call, longer by this gateway's name, to those who are told it.
            || name == THROUGH
            || name.starts_with("x-forwarded-")
            || (key == ClientKeyUse::Keep && KEYS.contains(&name))
    })
}

/// What of a provider's headers goes to the client. Cookies are between the provider and us.
pub(crate) fn to_client(provider: &HeaderMap) -> HeaderMap {
    end_to_end(provider, |name| name == header::SET_COOKIE.as_str())
}

/// All but what stays, and what concerns one connection, which `connection` may name too.
fn end_to_end(headers: &HeaderMap, stays: impl Fn(&str) -> bool) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let passes = |name: &HeaderName| {
        !HOP_BY_HOP.contains(&name.as_str()) && !named.contains(name) && !stays(name.as_str())
    };
    let mut passed = HeaderMap::with_capacity(headers.keys_len() + ADDED);
    for (name, value) in headers.iter().filter(|(name, _)| passes(name)) {
        passed.append(name, value.clone());
    }
    passed
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn headers(names: &[&'static str]) -> HeaderMap {
        names.iter().map(|name| (HeaderName::from_static(name), HeaderValue::from_static("v"))).collect()
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        headers.keys().map(HeaderName::as_str).collect()
    }

    #[test]
    fn keys_and_what_concerns_the_connection_stay_here() {
        let client = headers(&[
            "anthropic-beta",
            "authorization",
            "x-api-key",
            "host",
            "content-length",
            "te",
            "cookie",
            "user-agent",
            "accept-encoding",
            "x-forwarded-for",
            "x-junto-gateway",
            "content-type",
        ]);
        let kept = to_provider(&client, ClientKeyUse::Keep);
        assert_eq!(names(&kept), ["anthropic-beta", "user-agent", "content-type"]);
        let kept = to_provider(&client, ClientKeyUse::Forward);
        assert_eq!(
            names(&kept),
            ["anthropic-beta", "authorization", "x-api-key", "user-agent", "content-type"]
        );
    }

    #[test]
    fn the_answers_headers_pass_but_for_the_connections() {
        let mut answer =
            headers(&["request-id", "retry-after", "set-cookie", "transfer-encoding", "x-once", "x-more"]);
        answer.insert("connection", HeaderValue::from_static("close, X-Once"));
        assert_eq!(names(&to_client(&answer)), ["request-id", "retry-after", "x-more"]);
    }

    #[test]
    fn repeated_headers_stay_repeated() {
        let mut client = HeaderMap::new();
        client.append("anthropic-beta", HeaderValue::from_static("a"));
        client.append("anthropic-beta", HeaderValue::from_static("b"));
        assert_eq!(to_provider(&client, ClientKeyUse::Keep).get_all("anthropic-beta").iter().count(), 2);
    }
}
