//! Which part of a list a client wants.

use junto_llm::ErrorKind;
use percent_encoding::percent_decode_str;

use super::Listed;
use crate::reply::Failure;

/// The most models of a page, on every wire.
const MOST: usize = 1000;
/// How many a page has if the client does not say.
const ANTHROPIC_DEFAULT: usize = 20;
const GEMINI_DEFAULT: usize = 50;

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Paging {
    limit: usize,
    from: From,
}

/// Where the page is.
#[derive(Debug, PartialEq, Eq)]
enum From {
    Start,
    After(String),
    Before(String),
}

/// A part of the list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page<'a> {
    pub(super) models: &'a [Listed],
    /// Whether there is more in the direction in which the client goes.
    pub(super) has_more: bool,
}

impl Paging {
    /// `limit`, and `after_id` or `before_id`.
    ///
    /// # Errors
    /// `invalid_request` for a limit that is none.
    pub(super) fn anthropic(query: &str) -> Result<Self, Failure> {
        let limit = match value(query, "limit") {
            None => ANTHROPIC_DEFAULT,
            Some(text) => text
                .parse()
                .ok()
                .filter(|limit| (1..=MOST).contains(limit))
                .ok_or_else(|| bad(format!("limit: must be a number from 1 to {MOST}")))?,
        };
        let from = match (value(query, "after_id"), value(query, "before_id")) {
            (None, None) => From::Start,
            (Some(id), None) => From::After(id),
            (None, Some(id)) => From::Before(id),
            (Some(_), Some(_)) => return Err(bad("after_id and before_id: only one of them can be")),
        };
        Ok(Self { limit, from })
    }

    /// `pageSize`, which is lowered to what is possible, and `pageToken`.
    ///
    /// # Errors
    /// `invalid_request` for a size that is none.
    pub(super) fn gemini(query: &str) -> Result<Self, Failure> {
        let size = match value(query, "pageSize").map(|text| text.parse::<usize>()) {
            None | Some(Ok(0)) => GEMINI_DEFAULT,
            Some(Ok(size)) => size.min(MOST),
            Some(Err(_)) => return Err(bad("pageSize: must be a number")),
        };
        let from = value(query, "pageToken").map_or(From::Start, From::After);
        Ok(Self { limit: size, from })
    }

    /// The page of this list.
    ///
    /// # Errors
    /// `invalid_request` if it begins where nothing is.
    pub(super) fn of<'a>(&self, all: &'a [Listed]) -> Result<Page<'a>, Failure> {
        let at = |id: &str| {
            let at = all.iter().position(|model| model.entry.id == id);
            at.ok_or_else(|| bad(format!("there is no model `{id}` in the list to go on from")))
        };
        let (start, end) = match &self.from {
            From::Start => (0, self.limit.min(all.len())),
            From::After(id) => {
                let start = at(id)? + 1;
                (start, start.saturating_add(self.limit).min(all.len()))
            }
            From::Before(id) => {
                let end = at(id)?;
                (end.saturating_sub(self.limit), end)
            }
        };
        let has_more = if matches!(self.from, From::Before(_)) { start > 0 } else { end < all.len() };
        Ok(Page { models: all.get(start..end).unwrap_or_default(), has_more })
    }
}

fn bad(message: impl Into<String>) -> Failure {
    Failure::new(ErrorKind::InvalidRequest, message)
}

/// A value of the query, decoded; an empty one is none.
fn value(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let value = pairs.into_iter().find(|(key, _)| *key == name)?.1;
    Some(percent_decode_str(value).decode_utf8_lossy().into_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::ModelEntry;

    fn ids(page: &Result<Page<'_>, Failure>) -> Option<(String, bool)> {
        let page = page.as_ref().ok()?;
        Some((page.models.iter().map(|model| model.entry.id.as_str()).collect(), page.has_more))
    }

    #[test]
    fn pages_of_a_list() {
        let list: Vec<Listed> = ["a", "b", "c", "d", "e"]
            .map(|id| Listed { entry: ModelEntry::new(id), owner: String::new() })
            .into();
        let anthropic = |query: &str, expected: Option<(&str, bool)>| {
            let page = Paging::anthropic(query).and_then(|paging| paging.of(&list));
            assert_eq!(ids(&page), expected.map(|(ids, more)| (ids.to_owned(), more)), "{query}");
        };
        anthropic("", Some(("abcde", false)));
        anthropic("limit=2", Some(("ab", true)));
        anthropic("limit=1000&beta=true", Some(("abcde", false)));
        anthropic("after_id=%62&limit=2", Some(("cd", true)));
        anthropic("after_id=e", Some(("", false)));
        anthropic("before_id=d&limit=2", Some(("bc", true)));
        anthropic("before_id=b&limit=2", Some(("a", false)));
        for query in ["limit=0", "limit=1001", "limit=x", "after_id=z", "after_id=a&before_id=c"] {
            anthropic(query, None);
        }
        let gemini = |query: &str, expected: Option<(&str, bool)>| {
            let page = Paging::gemini(query).and_then(|paging| paging.of(&list));
            assert_eq!(ids(&page), expected.map(|(ids, more)| (ids.to_owned(), more)), "{query}");
        };
        gemini("pageSize=3&key=k", Some(("abc", true)));
        gemini("pageSize=3&pageToken=c", Some(("de", false)));
        gemini("pageSize=9999", Some(("abcde", false)));
        gemini("pageSize=-1", None);
        gemini("pageToken=z", None);
    }
}
