//! The gateways that a request has come through.
//!
//! A gateway may ask another one. Where that asks the first again, a call would come back and back until every place is
//! taken. So each gateway tells the next which were before it, and none takes what it has asked for itself.

use std::sync::Arc;

use http::HeaderMap;
use junto_llm::{CallId, THROUGH};

/// How many gateways a call may come through: more are a circle of which somebody forgets what it is told.
const MOST: usize = 8;
/// Between two of them.
const COMMA: &str = ", ";

/// What a request is told that has been here, or everywhere.
pub(super) const REFUSAL: &str = "this request has come through this gateway already, or through too many others: does the \
                                  base URL of a provider lead back here?";

/// What a gateway calls itself, which no other does.
pub(crate) struct Name(Arc<str>);

impl Name {
    pub(crate) fn fresh() -> Self {
        Self(CallId::fresh().0.into())
    }

    /// Whether a request with these headers has been here, or has come through too many gateways.
    pub(super) fn is_circle(&self, headers: &HeaderMap) -> bool {
        let before = before(headers);
        before.len() >= MOST || before.contains(&&*self.0)
    }

    /// The gateways that a request with these headers has come through, with this one.
    pub(super) fn way(&self, headers: &HeaderMap) -> Arc<str> {
        let mut way = before(headers);
        if way.is_empty() {
            return Arc::clone(&self.0);
        }
        way.push(&self.0);
        way.join(COMMA).into()
    }
}

fn before(headers: &HeaderMap) -> Vec<&str> {
    let told = headers.iter().filter(|(name, _)| name.as_str() == THROUGH);
    let told = told.filter_map(|(_, way)| way.to_str().ok());
    told.flat_map(|way| way.split(',')).map(str::trim).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(ways: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for way in ways {
            headers.append(THROUGH, way.parse().unwrap());
        }
        headers
    }

    #[test]
    fn whoever_was_there_is_known() {
        let here = Name("b".into());
        let check = |ways: &[&str], circle: bool, way: &str| {
            assert_eq!((here.is_circle(&told(ways)), &*here.way(&told(ways))), (circle, way), "{ways:?}");
        };
        check(&[], false, "b");
        check(&["a"], false, "a, b");
        check(&["a,c", "d"], false, "a, c, d, b");
        check(&["a,b ,c"], true, "a, b, c, b");
        check(&["ab, "], false, "ab, b");
        check(&["1,2,3,4,5,6,7"], false, "1, 2, 3, 4, 5, 6, 7, b");
        check(&["1,2,3,4,5,6,7,8"], true, "1, 2, 3, 4, 5, 6, 7, 8, b");
        assert_ne!(Name::fresh().0, Name::fresh().0);
    }
}
