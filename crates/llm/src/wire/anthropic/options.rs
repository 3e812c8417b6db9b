//! `provider_options.anthropic`, taken apart.

use serde_json::{Map, Value};

use crate::{Error, Request, Warning, Wire};

/// What a request carries for this wire alone.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// The value of the header `anthropic-beta`.
    pub(super) betas: Option<String>,
    /// Whether later system messages keep their place and role.
    pub(super) mid_system: Option<bool>,
    /// `false`: no automatic cache breakpoints.
    pub(super) auto_cache: bool,
    /// Further fields of tool declarations, by the caller's name of the tool.
    pub(super) tool_fields: Map<String, Value>,
    /// Fields of the body.
    pub(super) body: Map<String, Value>,
}

impl Options {
    /// Reads the options.
    ///
    /// # Errors
    /// `configuration`, naming the field that is not what it must be.
    pub(super) fn of(request: &Request) -> Result<Self, Error> {
        let mut body = match request.provider_options.get(Wire::Anthropic.name()) {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(fields)) => fields.clone(),
            Some(_) => return Err(wrong("", "an object")),
        };
        let betas = match take(&mut body, "beta_headers") {
            None => None,
            Some(Value::String(betas)) => Some(betas),
            Some(Value::Array(list)) => Some(
                list.iter()
                    .map(|beta| beta.as_str().ok_or_else(|| wrong(".beta_headers", "a list of strings")))
                    .collect::<Result<Vec<_>, _>>()?
                    .join(","),
            ),
            Some(_) => return Err(wrong(".beta_headers", "a list of strings")),
        };
        let tool_fields = match take(&mut body, "tool_fields") {
            None => Map::new(),
            Some(Value::Object(fields)) => fields,
            Some(_) => return Err(wrong(".tool_fields", "an object")),
        };
        let mut flag = |name: &str| match take(&mut body, name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(_) => Err(wrong(&format!(".{name}"), "true or false")),
        };
        let mid_system = flag("mid_system")?;
        let auto_cache = flag("auto_cache")?.unwrap_or(true);
        Ok(Self { betas: betas.filter(|b| !b.is_empty()), mid_system, auto_cache, tool_fields, body })
    }
}

/// Removes a field; `null` counts as absent. `shift_remove` keeps the others in order.
fn take(fields: &mut Map<String, Value>, name: &str) -> Option<Value> {
    fields.shift_remove(name).filter(|value| !value.is_null())
}

fn wrong(field: &str, expected: &str) -> Error {
    Error::configuration(format!("provider_options.anthropic{field} must be {expected}"))
}

/// Merges a field into an object: objects deeply, `null` removes, anything else replaces.
pub(super) fn merge(target: &mut Map<String, Value>, name: &str, value: Value) {
    match (target.get_mut(name), value) {
        (_, Value::Null) => drop(target.shift_remove(name)),
        (Some(Value::Object(old)), Value::Object(new)) => {
            for (name, value) in new {
                merge(old, &name, value);
            }
        }
        (Some(old), value) => *old = value,
        (None, value) => drop(target.insert(name.to_owned(), value)),
    }
}

/// Warnings, each said once.
#[derive(Debug, Default)]
pub(super) struct Warnings(Vec<Warning>);

impl Warnings {
    pub(super) fn add(&mut self, code: &str, message: impl Into<String>) {
        let warning = Warning::new(code, message);
        if !self.0.contains(&warning) {
            self.0.push(warning);
        }
    }

    pub(super) fn into_vec(self) -> Vec<Warning> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn options(value: Value) -> Result<Options, Error> {
        let mut request = Request::prompt("x");
        request.provider_options.insert("anthropic".into(), value);
        Options::of(&request)
    }

    #[test]
    fn encoder_fields_are_taken_out_of_the_body() {
        let o = options(json!({
            "top_k": 5, "beta_headers": ["a", "b"], "mid_system": true, "auto_cache": false,
            "tool_fields": {"f": {"defer_loading": true}}, "inference_geo": "eu",
        }))
        .unwrap();
        assert_eq!(o.betas.as_deref(), Some("a,b"));
        assert_eq!((o.mid_system, o.auto_cache), (Some(true), false));
        assert_eq!(Value::Object(o.body), json!({"top_k": 5, "inference_geo": "eu"}));
        assert_eq!(options(json!({"beta_headers": "a,b"})).unwrap().betas.as_deref(), Some("a,b"));
    }

    #[test]
    fn wrong_types_are_named() {
        for (bad, field) in [
            (json!([]), "anthropic must"),
            (json!({"beta_headers": 3}), ".beta_headers"),
            (json!({"beta_headers": [3]}), ".beta_headers"),
            (json!({"mid_system": "yes"}), ".mid_system"),
            (json!({"auto_cache": 1}), ".auto_cache"),
            (json!({"tool_fields": []}), ".tool_fields"),
        ] {
            let error = options(bad).unwrap_err();
            assert!(error.message().contains(field), "{error}");
        }
    }

    #[test]
    fn merging_is_deep_and_null_removes() {
        let mut target = json!({"a": {"x": 1, "y": 2}, "b": 1}).as_object().unwrap().clone();
        merge(&mut target, "a", json!({"y": 3, "x": null, "z": 4}));
        merge(&mut target, "b", Value::Null);
        merge(&mut target, "c", json!([1]));
        assert_eq!(Value::Object(target), json!({"a": {"y": 3, "z": 4}, "c": [1]}));
    }
}
