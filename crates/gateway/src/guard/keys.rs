//! The keys that clients show.

use http::header;
use junto_llm::Secret;
use percent_encoding::percent_decode_str;
use sha2::{Digest as _, Sha256};

/// A key's SHA-256. Comparing digests takes the same time whatever the key and its length.
pub(super) type Digest = [u8; 32];

/// Headers that hold a key and nothing else.
const PLAIN: [&str; 2] = ["x-api-key", "x-goog-api-key"];
/// The parameter of a query that holds one.
const PARAMETER: &str = "key=";

/// The keys of which clients must show one, as their digests.
#[derive(Debug)]
pub(crate) struct ClientKeys(Vec<Digest>);

impl ClientKeys {
    /// None if there is no key: then clients need none.
    pub(crate) fn new(keys: &[Secret]) -> Option<Self> {
        (!keys.is_empty()).then(|| Self(keys.iter().map(|key| digest(key.expose())).collect()))
    }

    /// The key that fits among those that are shown. One is enough: clients with a stale key in another
    /// place are common. It takes the same time whether and where one fits.
    pub(super) fn fitting(&self, shown: &[String]) -> Option<Digest> {
        shown.iter().fold(None, |found, key| {
            let shown = digest(key);
            let fits = self.0.iter().fold(false, |fits, key| fits | is_same(key, &shown));
            if fits { Some(shown) } else { found }
        })
    }
}

pub(super) fn digest(key: &str) -> Digest {
    Sha256::digest(key).into()
}

fn is_same(a: &Digest, b: &Digest) -> bool {
    let difference = a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(difference) == 0
}

/// The keys that a request shows: as a bearer token, in a header of its own, or in the query.
pub(super) fn shown<B>(request: &http::Request<B>) -> Vec<String> {
    let headers = request.headers();
    let bearer = headers.get_all(header::AUTHORIZATION).iter().filter_map(|value| {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
    });
    let plain = PLAIN.iter().flat_map(|name| headers.get_all(*name));
    let plain = plain.filter_map(|value| value.to_str().ok()).map(str::to_owned);
    let query = request.uri().query().unwrap_or_default().split('&');
    let asked = query
        .filter_map(|pair| pair.strip_prefix(PARAMETER))
        .map(|key| percent_decode_str(key).decode_utf8_lossy().into_owned());
    bearer.chain(plain).chain(asked).filter(|key| !key.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_that_fits_is_enough_wherever_it_is() {
        let keys = ClientKeys::new(&[Secret::new("s3cret"), Secret::new("other/key")]).unwrap();
        let check = |path: &str, headers: &[(&str, &str)], expected: Option<&str>| {
            let request = http::Request::post(path);
            let request =
                headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            let found = keys.fitting(&shown(&request.body(()).unwrap()));
            assert_eq!(found, expected.map(digest), "{path} {headers:?}");
        };
        let (right, other) = (Some("s3cret"), Some("other/key"));
        check("/", &[], None);
        check("/", &[("authorization", "Bearer s3cret")], right);
        check("/", &[("authorization", "bearer  s3cret ")], right);
        check("/", &[("authorization", "Basic s3cret")], None);
        check("/", &[("authorization", "s3cret")], None);
        check("/", &[("x-api-key", "s3cret")], right);
        check("/", &[("x-api-key", "other/key")], other);
        check("/", &[("x-api-key", "s3cret2")], None);
        check("/", &[("x-api-key", "")], None);
        check("/", &[("x-goog-api-key", "s3cret")], right);
        check("/?key=s3cret", &[], right);
        check("/?alt=sse&key=other%2Fkey", &[], other);
        check("/?key=other%2fkey", &[], other);
        check("/?key=s3cre", &[], None);
        check("/?monkey=s3cret", &[], None);
        check("/", &[("authorization", "Bearer stale"), ("x-api-key", "s3cret")], right);
        check("/", &[("authorization", "Bearer s3cret"), ("x-api-key", "stale")], right);
        check("/?key=stale", &[("x-goog-api-key", "s3cret")], right);
        check("/?key=s3cret", &[("x-goog-api-key", "stale")], right);
    }

    #[test]
    fn without_a_key_there_is_nothing_to_show() {
        assert!(ClientKeys::new(&[]).is_none());
    }
}
