//! Which hosts may be reached, by name.

use std::net::IpAddr;

use crate::{Error, ErrorKind, Result};

/// Ports that a name without one stands for.
const PORTS: [u16; 2] = [443, 80];

/// Hosts that were named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hosts(Vec<Host>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Host {
    name: String,
    /// Whether it stands for all below it, and not for itself.
    below: bool,
    port: Option<u16>,
}

impl Hosts {
    /// # Errors
    /// `Invalid` if one is no host.
    pub(super) fn parse(hosts: &[String]) -> Result<Self> {
        hosts.iter().map(|text| Host::parse(text)).collect::<Result<_>>().map(Self)
    }

    /// Whether a host may be reached on a port.
    pub(super) fn allow(&self, name: &str, port: u16) -> bool {
        let name = plain(name);
        self.0.iter().any(|host| host.is(&name) && host.port.map_or(PORTS.contains(&port), |own| own == port))
    }
}

/// Whether an address, to which an allowed name leads, may be reached. A name can be made to lead anywhere
/// by whoever it belongs to: not to this machine, nor to what only its neighbours serve, unless just that
/// was named.
pub(super) fn may_lead_to(name: &str, address: IpAddr) -> bool {
    let name = plain(name);
    let named = name == "localhost" || name.parse::<IpAddr>().is_ok();
    let near = match address.to_canonical() {
        IpAddr::V4(four) => four.is_loopback() || four.is_unspecified() || four.is_link_local(),
        IpAddr::V6(six) => six.is_loopback() || six.is_unspecified() || six.is_unicast_link_local(),
    };
    named || !near
}

impl Host {
    fn parse(text: &str) -> Result<Self> {
        let (name, port) = split_port(text);
        let port = port.map(|port| port.parse().map_err(|_| invalid(text))).transpose()?;
        let (name, below) = name.strip_prefix("*.").map_or((name, false), |name| (name, true));
        let name = plain(name);
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if name.is_empty() || !(name.chars().all(fits) || name.parse::<IpAddr>().is_ok()) {
            return Err(invalid(text));
        }
        Ok(Self { name, below, port })
    }

    fn is(&self, name: &str) -> bool {
        match name.strip_suffix(&self.name) {
            Some("") => !self.below,
            Some(before) => self.below && before.ends_with('.'),
            None => false,
        }
    }
}

/// A host and the port behind it, if there is one. An address in brackets may have colons.
pub(super) fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, Some(port)),
        _ => (text, None),
    }
}

/// A name as it is compared.
fn plain(name: &str) -> String {
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

fn invalid(text: &str) -> Error {
    Error::new(
        ErrorKind::Invalid,
        text,
        "it is no host: `example.org`, `*.example.org` or `example.org:8443`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_be_reached() {
        let hosts = ["example.org", "*.crates.io", "localhost:8080", "[::1]:9", "10.0.0.1"];
        let hosts = Hosts::parse(&hosts.map(str::to_owned)).unwrap();
        for (name, port, expected) in [
            ("example.org", 443, true),
            ("EXAMPLE.org.", 80, true),
            ("example.org", 22, false),
            ("www.example.org", 443, false),
            ("notexample.org", 443, false),
            ("example.org.evil.com", 443, false),
            ("static.crates.io", 443, true),
            ("a.b.crates.io", 443, true),
            ("crates.io", 443, false),
            ("evilcrates.io", 443, false),
            ("localhost", 8080, true),
            ("localhost", 443, false),
            ("::1", 9, true),
            ("[::1]", 9, true),
            ("10.0.0.1", 443, true),
            ("", 443, false),
        ] {
            assert_eq!(hosts.allow(name, port), expected, "{name}:{port}");
        }
    }

    #[test]
    fn a_name_does_not_lead_home() {
        for (name, address, expected) in [
            ("example.org", "93.184.216.34", true),
            ("intranet", "10.1.2.3", true),
            ("example.org", "127.0.0.1", false),
            ("example.org", "169.254.169.254", false),
            ("example.org", "::1", false),
            ("example.org", "::ffff:127.0.0.1", false),
            ("example.org", "0.0.0.0", false),
            ("localhost", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.1", true),
        ] {
            assert_eq!(may_lead_to(name, address.parse().unwrap()), expected, "{name} {address}");
        }
    }

    #[test]
    fn what_is_no_host() {
        for text in ["", "*.", "a b", "http://x", "x:port", "x/y", "*"] {
            assert!(Hosts::parse(&[text.to_owned()]).is_err(), "{text}");
        }
    }
}
