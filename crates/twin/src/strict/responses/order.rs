//! Input items in their order: calls and their outputs, reasoning and what it led to.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::{Cx, Refusal, Verdict, json};
use super::{items, seal};

/// Calls that the client answers: the call, its output, and what both are called in messages.
const PAIRS: &[(&str, &str, &str)] = &[
    ("function_call", "function_call_output", "function call"),
    ("custom_tool_call", "custom_tool_call_output", "custom tool call"),
    ("computer_call", "computer_call_output", "computer call"),
    ("shell_call", "shell_call_output", "shell call"),
    ("apply_patch_call", "apply_patch_call_output", "apply patch call"),
];

/// An item as the model would see it: a reference stands for what it names.
struct Entry<'a> {
    item: &'a Value,
    kind: String,
    id: Option<&'a str>,
    call_id: Option<String>,
    by_model: bool,
}

/// Refuses items that do not belong together.
pub(super) fn check(input: &[Value], body: &Value, cx: &mut Cx<'_>) -> Verdict {
    let stored = json::field(body, "store") != Some(&Value::Bool(false));
    let entries =
        input.iter().map(|item| entry(item, stored, cx)).collect::<Result<Vec<Entry<'_>>, Refusal>>()?;
    unique(&entries)?;
    calls(&entries)?;
    reasoning(&entries, stored, cx)
}

fn bad(message: String) -> Refusal {
    Refusal::openai(message, "input", "")
}

/// The refusal of an id that names nothing the twin kept.
fn not_found(id: &str, stored: bool) -> Refusal {
    let why = if stored {
        ""
    } else {
        " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove \
         this item from your input."
    };
    bad(format!("Item with id '{id}' not found.{why}")).with_status(404)
}

fn entry<'a>(item: &'a Value, stored: bool, cx: &mut Cx<'_>) -> Result<Entry<'a>, Refusal> {
    let kind = items::kind(item);
    let id = json::text(item, "id");
    if kind == "item_reference" {
        let id = id.unwrap_or_default();
        let issued = cx.ledger.issued(id).filter(|issued| issued.stored);
        let issued = issued.ok_or_else(|| not_found(id, stored))?;
        return Ok(Entry {
            item,
            kind: issued.kind.to_owned(),
            id: Some(id),
            call_id: issued.call_id,
            by_model: true,
        });
    }
    let call_id = json::text(item, "call_id").map(str::to_owned);
    Ok(Entry { item, kind: kind.to_owned(), id, call_id, by_model: items::is_by_model(item) })
}

fn unique(entries: &[Entry<'_>]) -> Verdict {
    let mut seen = BTreeSet::new();
    match entries.iter().filter_map(|entry| entry.id).find(|id| !seen.insert(*id)) {
        Some(id) => Err(bad(format!(
            "Duplicate item found with id {id}. Remove duplicate items from your input and try again."
        ))),
        None => Ok(()),
    }
}

fn calls(entries: &[Entry<'_>]) -> Verdict {
    // In call order, so that the first one left open is named.
    let mut open: BTreeMap<(&str, &str), (usize, bool)> = BTreeMap::new();
    for (i, entry) in entries.iter().enumerate() {
        let Some(call_id) = entry.call_id.as_deref() else { continue };
        for (call, output, name) in PAIRS {
            if entry.kind == *call && open.insert((name, call_id), (i, false)).is_some() {
                return Err(bad(format!("Duplicate {name} found with call_id {call_id}.")));
            }
            if entry.kind == *output {
                match open.get_mut(&(*name, call_id)) {
                    None => {
                        return Err(bad(format!(
                            "No tool call found for {name} output with call_id {call_id}."
                        )));
                    }
                    Some((_, true)) => {
                        return Err(bad(format!("Duplicate {name} output found with call_id {call_id}.")));
                    }
                    Some((_, answered)) => *answered = true,
                }
            }
        }
    }
    let first = open.iter().filter(|(_, (_, answered))| !answered).min_by_key(|(_, (i, _))| *i);
    match first {
        Some(((name, call_id), _)) => Err(bad(format!("No tool output found for {name} {call_id}."))),
        None => Ok(()),
    }
}

fn reasoning(entries: &[Entry<'_>], stored: bool, cx: &mut Cx<'_>) -> Verdict {
    let mut thought: BTreeSet<&str> = BTreeSet::new();
    for (i, entry) in entries.iter().enumerate() {
        let Some(id) = entry.id else { continue };
        if entry.kind == "reasoning" {
            if items::kind(entry.item) == "reasoning" {
                genuine(entry.item, id, stored, cx)?;
            }
            // Without a store it may be the last of all: who was cut off after it goes on from there, as the vendor's
            // own client does.
            let follows = entries.get(i + 1).map_or(!stored, |next| next.by_model);
            if !follows {
                return Err(bad(format!(
                    "Item '{id}' of type 'reasoning' was provided without its required following item."
                )));
            }
            thought.insert(id);
        } else if let Some(lost) = cx.ledger.issued(id).and_then(|issued| issued.reasoning)
            && !thought.contains(lost.as_str())
        {
            return Err(bad(format!(
                "Item '{id}' of type '{}' was provided without its required 'reasoning' item: '{lost}'.",
                entry.kind
            )));
        }
    }
    Ok(())
}

/// Reasoning must carry what the twin sealed into it, or name something the twin kept.
fn genuine(item: &Value, id: &str, stored: bool, cx: &mut Cx<'_>) -> Verdict {
    let Some(content) = json::text(item, "encrypted_content") else {
        let kept = cx.ledger.issued(id).is_some_and(|issued| issued.stored);
        return if kept { Ok(()) } else { Err(not_found(id, stored)) };
    };
    let summary: Vec<&str> =
        json::list(item, "summary").iter().filter_map(|part| json::text(part, "text")).collect();
    if seal::is_genuine(cx.signer, cx.model, id, &summary.concat(), content) {
        return Ok(());
    }
    Err(Refusal::openai(
        format!(
            "The encrypted content for item {id} could not be verified. Reason: Encrypted content could not be \
             decrypted or parsed."
        ),
        "",
        "invalid_encrypted_content",
    ))
}
