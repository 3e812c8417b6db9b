//! Whether a client may use the gateway.

use http::{HeaderMap, header};
use junto_llm::Secret;
use sha2::{Digest, Sha256};

/// The header with which a command-line agent that runs below a process of ours shows the token of its run.
const CHILD: &str = "x-junto-run";

/// Whether these headers are those of a command-line agent that runs below a process of ours. Somebody has pointed
/// it here, by a setting of its own that its parent does not see; to answer would be to start its parent's work
/// again, without an end.
pub(crate) fn is_child(headers: &HeaderMap) -> bool {
    headers.contains_key(CHILD)
}

/// The key that clients must show, as its digest: comparing digests takes the same time whatever
/// the key and its length.
#[derive(Debug)]
pub(crate) struct ClientKey([u8; 32]);

impl ClientKey {
    pub(crate) fn new(key: &Secret) -> Self {
        Self(Sha256::digest(key.expose()).into())
    }

    /// Whether these headers show the key, as a bearer token or as `x-api-key`. One that fits is
    /// enough: clients with a stale key in the other header are common.
    pub(crate) fn is_shown(&self, headers: &HeaderMap) -> bool {
        let bearer = headers.get_all(header::AUTHORIZATION).iter().filter_map(|value| {
            let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let plain = headers.get_all("x-api-key").iter().filter_map(|value| value.to_str().ok());
        bearer.chain(plain).fold(false, |shown, key| shown | self.fits(key))
    }

    fn fits(&self, key: &str) -> bool {
        let digest: [u8; 32] = Sha256::digest(key).into();
        let difference = self.0.iter().zip(&digest).fold(0, |sum, (a, b)| sum | (a ^ b));
        std::hint::black_box(difference) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    #[test]
    fn a_child_is_known_by_its_token() {
        let with = |name: &'static str| {
            HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static("t-1"))])
        };
        assert!(is_child(&with("x-junto-run")));
        assert!(!is_child(&with("x-api-key")) && !is_child(&HeaderMap::new()));
    }

    #[test]
    fn one_header_that_fits_is_enough() {
        let key = ClientKey::new(&Secret::new("s3cret"));
        let check = |pairs: &[(&'static str, &str)], expected: bool| {
            let headers: HeaderMap = pairs
                .iter()
                .map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_str(v).unwrap()))
                .collect();
            assert_eq!(key.is_shown(&headers), expected, "{pairs:?}");
        };
        check(&[], false);
        check(&[("authorization", "Bearer s3cret")], true);
        check(&[("authorization", "bearer s3cret")], true);
        check(&[("authorization", "Basic s3cret")], false);
        check(&[("authorization", "s3cret")], false);
        check(&[("x-api-key", "s3cret")], true);
        check(&[("x-api-key", "s3cret2")], false);
        check(&[("x-api-key", "")], false);
        check(&[("authorization", "Bearer stale"), ("x-api-key", "s3cret")], true);
        check(&[("authorization", "Bearer s3cret"), ("x-api-key", "stale")], true);
    }
}
