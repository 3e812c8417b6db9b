//! The models that clients can ask for, listed in each vendor's words.

mod page;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use junto_llm::Wire;
use junto_llm::catalog::ModelInfo;
use serde_json::{Value, json};

use self::page::{Page, Paging};
use crate::reply::Failure;
use crate::route::{Routes, alias};

/// A model as clients are told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelEntry {
    /// What clients ask for it by.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The most tokens it takes in, where that is known.
    pub context_window: Option<u64>,
    /// The most tokens an answer may have, where that is known.
    pub max_output: Option<u64>,
    /// The day it came out, `2026-02-05`, where that is known.
    pub released: Option<String>,
}

impl ModelEntry {
    /// A model of which nothing is known but what it is called.
    pub fn new(id: impl Into<String>) -> Self {
        let id = id.into();
        Self { name: id.clone(), id, ..Self::default() }
    }

    /// This entry with a name for people.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// This entry under another id: that of a route which leads to the model.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }

    /// When it came out. The vendors' word for "unknown" is the beginning of their time.
    fn seconds(&self) -> i64 {
        let day = self.released.as_deref().and_then(|day| day.parse::<Date>().ok());
        let midnight = day.and_then(|day| day.to_zoned(TimeZone::UTC).ok());
        midnight.map_or(0, |midnight| midnight.timestamp().as_second())
    }
}

impl From<&ModelInfo> for ModelEntry {
    fn from(info: &ModelInfo) -> Self {
        Self {
            id: info.id.clone(),
            name: info.name.clone(),
            context_window: Some(info.context_window),
            max_output: Some(info.max_output),
            released: Some(info.released.clone()),
        }
    }
}

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listed {
    entry: ModelEntry,
    /// Whose it is.
    owner: String,
}

/// The list. It never changes, so it is made once.
#[derive(Debug)]
pub(crate) struct Models {
    listed: Vec<Listed>,
    /// The same, each model followed by the [alias] that it needs to be seen by some of Anthropic's clients.
    aliased: Vec<Listed>,
}

impl Models {
    pub(crate) fn of(routes: &Routes) -> Self {
        let listed: Vec<Listed> =
            routes.listed().map(|(entry, owner)| Listed { entry, owner: owner.to_owned() }).collect();
        let with_alias = |model: &Listed| {
            let aliased = alias(&model.entry.id)
                .map(|id| Listed { entry: model.entry.clone().id(id), owner: model.owner.clone() });
            std::iter::once(model.clone()).chain(aliased)
        };
        Self { aliased: listed.iter().flat_map(with_alias).collect(), listed }
    }

    /// The list for clients of this wire, or the page of it that the query asks for.
    ///
    /// # Errors
    /// `invalid_request` for a page that cannot be.
    pub(crate) fn list(&self, wire: Wire, query: &str) -> Result<Value, Failure> {
        let all = self.on(wire);
        let print = |models: &[Listed]| -> Vec<Value> { models.iter().map(|m| print(wire, m)).collect() };
        let id = |model: Option<&Listed>| model.map(|model| model.entry.id.clone());
        match wire {
            Wire::Responses | Wire::Chat => Ok(json!({"object": "list", "data": print(all)})),
            Wire::Anthropic => {
                let Page { models, has_more } = Paging::anthropic(query)?.of(all)?;
                Ok(json!({
                    "data": print(models),
                    "has_more": has_more,
                    "first_id": id(models.first()),
                    "last_id": id(models.last()),
                }))
            }
            Wire::Gemini => {
                let Page { models, has_more } = Paging::gemini(query)?.of(all)?;
                let mut list = json!({"models": print(models)});
                if has_more {
                    list["nextPageToken"] = json!(id(models.last()));
                }
                Ok(list)
            }
        }
    }

    /// One model, for clients of this wire. What is not in the list but has a route can be asked for all
    /// the same, so it exists.
    ///
    /// # Errors
    /// `not_found` if no route leads to it.
    pub(crate) fn one(&self, wire: Wire, id: &str, routes: &Routes) -> Result<Value, Failure> {
        if let Some(model) = self.aliased.iter().find(|model| model.entry.id == id) {
            return Ok(print(wire, model));
        }
        let owner = routes.target(id)?.name;
        Ok(print(wire, &Listed { entry: ModelEntry::new(id), owner }))
    }

    fn on(&self, wire: Wire) -> &[Listed] {
        if wire == Wire::Anthropic { &self.aliased } else { &self.listed }
    }
}

fn print(wire: Wire, Listed { entry, owner }: &Listed) -> Value {
    let ModelEntry { id, name, context_window, max_output, .. } = entry;
    let seconds = entry.seconds();
    match wire {
        Wire::Anthropic => json!({
            "type": "model",
            "id": id,
            "display_name": name,
            "created_at": jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string(),
            "lifecycle": "active",
            "max_input_tokens": context_window,
            "max_tokens": max_output,
        }),
        Wire::Responses | Wire::Chat => {
            json!({"id": id, "object": "model", "created": seconds, "owned_by": owner})
        }
        Wire::Gemini => {
            let mut model = json!({
                "name": format!("models/{id}"),
                "version": "1",
                "displayName": name,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            });
            for (field, limit) in [("inputTokenLimit", context_window), ("outputTokenLimit", max_output)] {
                if let Some(limit) = limit {
                    model[field] = (*limit).into();
                }
            }
            model
        }
    }
}

#[cfg(test)]
mod tests;
