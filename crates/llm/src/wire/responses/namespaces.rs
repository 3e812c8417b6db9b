//! Namespaces: tools that this wire calls by two names, and tools that stand in the conversation.
//!
//! Other wires know neither. So a namespace is kept as it came, for this wire, and each tool in it is
//! declared once more by itself, under both names in one, for the others; and so are the tools of an
//! `additional_tools` item.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;

use super::items::text;
use crate::{Content, Origin, Request, ToolKind, ToolSpec, Wire};

/// What stands between the two names where one has to do. No tool's name on this wire has it.
const BETWEEN: &str = "::";

/// The namespace of tools that are called by their own name alone.
const PLAIN: &str = "functions";

/// Whether a tool's entry is a namespace.
pub(super) fn is_namespace(tool: &Value) -> bool {
    text(tool, "type") == "namespace"
}

/// Whether an item of the conversation declares tools.
pub(super) fn declares_tools(item: &Value) -> bool {
    text(item, "type") == "additional_tools"
}

/// The one name for a tool of a namespace; an empty one is none.
pub(super) fn joined<'a>(namespace: &str, name: &'a str) -> Cow<'a, str> {
    if matches!(namespace, "" | PLAIN) { name.into() } else { format!("{namespace}{BETWEEN}{name}").into() }
}

/// The name by which an item calls a tool.
pub(super) fn called(item: &Value) -> Cow<'_, str> {
    joined(text(item, "namespace"), text(item, "name"))
}

/// The namespace, if there is one, and the name within.
pub(super) fn split(name: &str) -> (Option<&str>, &str) {
    match name.split_once(BETWEEN) {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => (Some(namespace), name),
        _ => (None, name),
    }
}

/// Puts a name into an item or a choice, in two where it stands for two.
pub(super) fn put(item: &mut Value, name: &str) {
    let (namespace, name) = split(name);
    item["name"] = name.into();
    match (namespace, &mut *item) {
        (Some(namespace), item) => item["namespace"] = namespace.into(),
        (None, Value::Object(item)) => drop(item.shift_remove("namespace")),
        (None, _) => {}
    }
}

/// The tools of a request that are declared by something else than their own entry.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    /// By an item that goes back as it came.
    by_item: HashSet<String>,
    /// By a namespace.
    by_namespace: HashSet<String>,
}

impl Elsewhere {
    pub(super) fn of(request: &Request, target: &Origin) -> Self {
        let mut found = Self::default();
        let parts = request.messages.iter().flat_map(|message| &message.content);
        let items =
            parts.filter(|part| matches!(part.content(), Content::Other(item) if declares_tools(item)));
        for item in items.filter_map(|part| part.raw_for(target)) {
            for tool in entries(item) {
                let name = Some(text(tool, "name")).filter(|name| !name.is_empty());
                found.by_item.insert(name.unwrap_or(text(tool, "type")).to_owned());
                found.by_namespace.extend(within(tool));
            }
        }
        for tool in &request.tools {
            if let ToolKind::Hosted { wire: Wire::Responses, item } = &tool.kind {
                found.by_namespace.extend(within(item));
            }
        }
        found
    }

    /// Whether the tool needs no entry of its own.
    pub(super) fn declares(&self, tool: &ToolSpec) -> bool {
        let hosted = matches!(tool.kind, ToolKind::Hosted { .. });
        self.by_item.contains(&tool.name) || (!hosted && self.by_namespace.contains(&tool.name))
    }

    /// Whether a namespace has the tool of this name.
    pub(super) fn is_within(&self, name: &str) -> bool {
        self.by_namespace.contains(name)
    }
}

fn entries(of: &Value) -> &[Value] {
    of.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The names of the tools in a namespace; none for any other entry.
fn within(tool: &Value) -> impl Iterator<Item = String> {
    let inner = if is_namespace(tool) { entries(tool) } else { &[] };
    inner.iter().map(|inner| joined(text(tool, "name"), text(inner, "name")).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn two_names_are_one_and_two_again() {
        for (namespace, name, one) in
            [("agents", "spawn", "agents::spawn"), ("functions", "exec", "exec"), ("", "exec", "exec")]
        {
            assert_eq!(joined(namespace, name), one);
            let mut item = json!({"namespace": "old", "name": "old"});
            put(&mut item, one);
            assert_eq!(called(&item), one);
        }
        for name in ["", "::", "a::", "::b", "plain"] {
            assert_eq!(split(name), (None, name));
        }
    }
}
