//! Tools that a provider runs by itself, on the way to another one.
//!
//! Beside tools that the caller runs they are left out: an agent gets on without them, and not every
//! endpoint that speaks a wire has them. But a request that has no others, or demands one of them, is
//! about them. There a search of the web becomes the wire's own, and what has no counterpart is refused.

use serde_json::{Map, Value, json};

use crate::{Error, ErrorKind, Request, ToolChoice, ToolKind, ToolSpec, Wire};

/// What becomes of another wire's tool.
#[derive(Debug, PartialEq)]
pub(super) enum Fate {
    /// This entry stands for it.
    Becomes(Value),
    /// It is left out.
    Dropped,
    /// It is a namespace, and what is in it stands beside it.
    Beside,
    /// It is no such tool.
    Own,
}

/// What becomes of a tool of another wire on this one.
///
/// # Errors
/// `invalid_request` if the request is about it and this wire has nothing like it.
pub(super) fn fate(tool: &ToolSpec, request: &Request, wire: Wire) -> Result<Fate, Error> {
    let (own, item) = match &tool.kind {
        ToolKind::Hosted { wire: own, item } if *own != wire => (own, item),
        _ => return Ok(Fate::Own),
    };
    if item["type"] == "namespace" {
        return Ok(Fate::Beside);
    }
    let is_demanded = matches!(&request.tool_choice, Some(ToolChoice::Named(name)) if *name == tool.name);
    if !is_demanded && !is_alone(request, wire) {
        return Ok(Fate::Dropped);
    }
    match search(*own, item, wire) {
        Some(entry) => Ok(Fate::Becomes(entry)),
        // Another of them has a counterpart.
        None if !is_demanded && request.tools.iter().any(|other| becomes_search(other, wire)) => {
            Ok(Fate::Dropped)
        }
        None => {
            let message = format!(
                "`{}` is a tool that providers of the wire `{}` run, and `{}` has nothing like it",
                tool.name,
                own.name(),
                wire.name()
            );
            Err(Error::new(ErrorKind::InvalidRequest, message)
                .with_hint("ask a provider of that wire, or declare a tool of your own"))
        }
    }
}

/// Whether all the tools that may be called are run by providers of other wires. A namespace is none
/// of them: what is in it stands beside it.
fn is_alone(request: &Request, wire: Wire) -> bool {
    request.tool_choice != Some(ToolChoice::None)
        && request.tools.iter().all(|tool| match &tool.kind {
            ToolKind::Hosted { wire: own, item } => *own != wire && item["type"] != "namespace",
            ToolKind::Function { .. } | ToolKind::Custom { .. } => false,
        })
}

fn becomes_search(tool: &ToolSpec, wire: Wire) -> bool {
    matches!(&tool.kind, ToolKind::Hosted { wire: own, item } if search(*own, item, wire).is_some())
}

/// A search of the web on this wire, for that of another. Where both wires can say to which sites it
/// is bound, and from where it searches, it does.
fn search(own: Wire, item: &Value, wire: Wire) -> Option<Value> {
    let class = item["type"].as_str().unwrap_or_default();
    let is_search = match own {
        Wire::Gemini => item.get("googleSearch").is_some(),
        Wire::Anthropic | Wire::Responses | Wire::Chat => class.starts_with("web_search"),
    };
    if !is_search {
        return None;
    }
    let mut entry = Map::new();
    let sites =
        if own == Wire::Responses { &item["filters"]["allowed_domains"] } else { &item["allowed_domains"] };
    match wire {
        Wire::Anthropic => {
            entry.insert("type".to_owned(), "web_search_20250305".into());
            entry.insert("name".to_owned(), "web_search".into());
            if sites.is_array() {
                entry.insert("allowed_domains".to_owned(), sites.clone());
            }
        }
        Wire::Responses => {
            entry.insert("type".to_owned(), "web_search".into());
            if sites.is_array() {
                entry.insert("filters".to_owned(), json!({"allowed_domains": sites}));
            }
        }
        Wire::Gemini => return Some(json!({"googleSearch": {}})),
        Wire::Chat => return None,
    }
    if item["user_location"].is_object() {
        entry.insert("user_location".to_owned(), item["user_location"].clone());
    }
    Some(entry.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosted(name: &str, wire: Wire, item: Value) -> ToolSpec {
        ToolSpec { name: name.into(), description: String::new(), kind: ToolKind::Hosted { wire, item } }
    }

    #[test]
    fn a_search_alone_is_the_other_wires_search() {
        let check = |own: Wire, item: Value, wire: Wire, expected: Option<Value>| {
            let request = Request::prompt("x").tools([hosted("s", own, item)]);
            let fate = fate(&request.tools[0], &request, wire);
            match expected {
                Some(entry) => assert_eq!(fate.unwrap(), Fate::Becomes(entry)),
                None => assert_eq!(fate.unwrap_err().kind(), ErrorKind::InvalidRequest),
            }
        };
        let place = json!({"type": "approximate", "city": "Ghent"});
        let claude = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 8,
            "allowed_domains": ["a.org"], "user_location": place});
        let openai =
            json!({"type": "web_search", "filters": {"allowed_domains": ["a.org"]}, "user_location": place});
        let google = json!({"googleSearch": {}});
        check(Wire::Anthropic, claude.clone(), Wire::Responses, Some(openai.clone()));
        check(Wire::Anthropic, claude.clone(), Wire::Gemini, Some(google.clone()));
        check(Wire::Anthropic, claude, Wire::Chat, None);
        let bare = json!({"type": "web_search_20250305", "name": "web_search"});
        check(Wire::Gemini, google.clone(), Wire::Anthropic, Some(bare));
        check(Wire::Gemini, google, Wire::Responses, Some(json!({"type": "web_search"})));
        let bound = json!({"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["a.org"],
            "user_location": place});
        check(Wire::Responses, openai, Wire::Anthropic, Some(bound));
        check(Wire::Responses, json!({"type": "file_search"}), Wire::Anthropic, None);
        check(Wire::Gemini, json!({"codeExecution": {}}), Wire::Responses, None);
    }

    #[test]
    fn beside_other_tools_it_is_left_out_unless_it_is_demanded() {
        let search = hosted("web_search", Wire::Anthropic, json!({"type": "web_search_20250305"}));
        let fetch = hosted("web_fetch", Wire::Anthropic, json!({"type": "web_fetch_20250910"}));
        let own = ToolSpec::foreign("f", "", json!({"type": "object"}));
        let check = |tools: &[&ToolSpec], choice: Option<ToolChoice>, expected: &[Option<bool>]| {
            let mut request = Request::prompt("x");
            request.tools = tools.iter().map(|tool| (*tool).clone()).collect();
            request.tool_choice = choice;
            // Whether it becomes something; none if it is refused.
            let fate = |tool| {
                fate(tool, &request, Wire::Responses).ok().map(|fate| matches!(fate, Fate::Becomes(_)))
            };
            let fates: Vec<Option<bool>> = request.tools.iter().map(fate).collect();
            assert_eq!(fates, expected, "{tools:?}");
        };
        let named = |name: &str| Some(ToolChoice::Named(name.into()));
        check(&[&search, &own], None, &[Some(false), Some(false)]);
        check(&[&search, &own], named("web_search"), &[Some(true), Some(false)]);
        check(&[&fetch, &own], named("web_fetch"), &[None, Some(false)]);
        check(&[&search, &fetch], None, &[Some(true), Some(false)]);
        check(&[&fetch], None, &[None]);
        check(&[&fetch], Some(ToolChoice::None), &[Some(false)]);
    }
}
