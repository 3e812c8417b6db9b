//! Where a request says it is going, and which web page it says it comes from.
//!
//! A page that rebinds its own name to 127.0.0.1 reaches the gateway under that name; a page that posts
//! here across sites names itself as the origin. Browsers let no page forge either.

use std::net::IpAddr;

use http::uri::Authority;
use http::{Method, Request, header};

use super::Link;

/// The first name that the request is addressed to and that is not ours. Programs may leave it out
/// (HTTP/1.0, a host's own server); a browser never does.
pub(super) fn foreign_host<B>(request: &Request<B>, link: Option<&Link>, hosts: &[String]) -> Option<String> {
    let headers = request.headers().get_all(header::HOST).iter();
    // Most clients name it by the very address at which they reached it.
    let headers = headers.filter(|value| link.is_none_or(|link| value.as_bytes() != link.host.as_bytes()));
    let headers = headers.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    // HTTP/2 has it there, and so have requests to a proxy.
    let target = request.uri().authority().map(|authority| authority.as_str().to_owned());
    let local = link.map(|link| link.local.ip().to_canonical());
    target.into_iter().chain(headers).find(|host| !is_ours(host, local, hosts))
}

fn is_ours(authority: &str, local: Option<IpAddr>, hosts: &[String]) -> bool {
    let Some(name) = name(authority) else { return false };
    if let Ok(address) = name.parse::<IpAddr>() {
        let address = address.to_canonical();
        if address.is_loopback() || Some(address) == local {
            return true;
        }
    }
    let is_loopback = name == "localhost" || name.ends_with(".localhost");
    is_loopback || hosts.iter().any(|host| self::name(host).is_some_and(|host| host == name))
}

/// The name or address in `NAME:PORT`, in lower case.
fn name(authority: &str) -> Option<String> {
    let authority = authority.trim();
    if let Ok(address) = authority.parse::<IpAddr>() {
        return Some(address.to_string());
    }
    let parsed: Authority = authority.parse().ok().filter(|_| !authority.contains('@'))?;
    let host = parsed.host().trim_start_matches('[').trim_end_matches(']');
    let host = host.strip_suffix('.').unwrap_or(host);
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

/// The web page that sent the request, if it is none of those that may.
pub(super) fn foreign_page<B>(request: &Request<B>, origins: &[String]) -> Option<String> {
    let mut named = request.headers().get_all(header::ORIGIN).iter().peekable();
    if named.peek().is_none() {
        return is_cross_site(request).then(|| "another site".to_owned());
    }
    let named = named.map(|origin| String::from_utf8_lossy(origin.as_bytes()).into_owned());
    named.into_iter().find(|origin| !is_allowed(origin, origins))
}

/// Whether pages of this origin may ask.
pub(super) fn is_allowed(origin: &str, origins: &[String]) -> bool {
    let plain = |text: &str| text.trim().trim_end_matches('/').to_ascii_lowercase();
    origins.iter().any(|allowed| plain(allowed) == plain(origin))
}

/// Whether a browser says that a page elsewhere makes it do something. Following a link is no such thing.
fn is_cross_site<B>(request: &Request<B>) -> bool {
    let mut headers = request.headers().iter();
    let site = headers.find(|(name, _)| *name == "sec-fetch-site").map(|(_, site)| site.as_bytes());
    let acts = !matches!(*request.method(), Method::GET | Method::HEAD);
    acts && matches!(site, Some(b"cross-site" | b"same-site"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_loopback_or_bound_or_named() {
        let hosts = ["Gateway.lan".to_owned(), "box.lan:6767".to_owned(), "fd00::2".to_owned()];
        let local = Some("192.168.1.5".parse().unwrap());
        let check = |host: &str, expected: bool| assert_eq!(is_ours(host, local, &hosts), expected, "{host}");
        for host in ["localhost", "LocalHost:6767", "localhost.", "a.localhost", "127.0.0.1:1", "127.9.9.9"] {
            check(host, true);
        }
        for host in ["[::1]", "[::1]:6767", "::1", "[::ffff:127.0.0.1]", "192.168.1.5:6767"] {
            check(host, true);
        }
        for host in ["gateway.lan", "GATEWAY.LAN:80", "box.lan", "[fd00::2]:1"] {
            check(host, true);
        }
        for host in
            ["", ":6767", "evil.example", "localhost.evil.example", "evil.example:6767", "192.168.1.6"]
        {
            check(host, false);
        }
        for host in
            ["evil@localhost", "localhost@evil.example", "0.0.0.0", "notlocalhost", "local host", "[::2]"]
        {
            check(host, false);
        }
    }

    #[test]
    fn every_name_that_a_request_gives_must_be_ours() {
        let check = |uri: &str, hosts: &[&str], expected: Option<&str>| {
            let request = hosts.iter().fold(Request::post(uri), |r, host| r.header("host", *host));
            let request = request.body(()).unwrap();
            assert_eq!(foreign_host(&request, None, &[]).as_deref(), expected, "{uri} {hosts:?}");
        };
        check("/", &[], None);
        check("/", &["localhost"], None);
        check("/", &["localhost", "evil.example"], Some("evil.example"));
        check("http://evil.example/", &["localhost"], Some("evil.example"));
        check("http://localhost:6767/", &[], None);
    }

    #[test]
    fn a_page_must_be_named_whatever_it_calls_itself() {
        let origins = ["https://ok.example".to_owned(), "http://localhost:3000/".to_owned()];
        let check = |method: &str, headers: &[(&str, &str)], expected: Option<&str>| {
            let request = Request::builder().method(method).uri("/");
            let request =
                headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            let request = request.body(()).unwrap();
            assert_eq!(foreign_page(&request, &origins).as_deref(), expected, "{method} {headers:?}");
        };
        check("POST", &[], None);
        check("POST", &[("origin", "https://OK.example")], None);
        check("POST", &[("origin", "http://localhost:3000")], None);
        check("POST", &[("origin", "http://localhost")], Some("http://localhost"));
        check("GET", &[("origin", "https://evil.example")], Some("https://evil.example"));
        check("POST", &[("origin", "null")], Some("null"));
        check("POST", &[("origin", "")], Some(""));
        check("POST", &[("origin", "https://ok.example"), ("origin", "https://evil.example")], {
            Some("https://evil.example")
        });
        check("POST", &[("sec-fetch-site", "cross-site")], Some("another site"));
        check("POST", &[("sec-fetch-site", "same-origin")], None);
        check("POST", &[("sec-fetch-mode", "cors")], None);
        check("GET", &[("sec-fetch-site", "cross-site")], None);
        check("POST", &[("sec-fetch-site", "cross-site"), ("origin", "https://ok.example")], None);
    }
}
