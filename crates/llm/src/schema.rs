//! JSON Schemas: checking them, and checking values against them.

use serde_json::Value;

use crate::{Error, ErrorKind};

/// Checks that a schema's root is an object, as every provider demands of tools and structured
/// answers, and that it is a schema at all.
///
/// # Errors
/// `configuration`, naming the tool or object.
pub fn check_object_root(name: &str, schema: &Value) -> Result<(), Error> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(Error::configuration(format!("the schema of `{name}` has no object at its root"))
            .with_hint("start the schema with {\"type\": \"object\", \"properties\": {…}}"));
    }
    compile(name, schema).map(drop)
}

/// A schema, ready to check values.
#[derive(Debug)]
pub struct Validator(jsonschema::Validator);

/// Prepares a schema.
///
/// # Errors
/// `configuration` if it is not a valid schema.
pub fn compile(name: &str, schema: &Value) -> Result<Validator, Error> {
    jsonschema::validator_for(schema)
        .map(Validator)
        .map_err(|e| Error::configuration(format!("the schema of `{name}` is not valid: {e}")))
}

impl Validator {
    /// Checks a value.
    ///
    /// # Errors
    /// An error of this kind that lists up to five faults with their places.
    pub fn check(&self, value: &Value, kind: ErrorKind, what: &str) -> Result<(), Error> {
        let faults: Vec<String> = self
            .0
            .iter_errors(value)
            .take(5)
            .map(|e| {
                format!(
                    "at `{}`: {e}",
                    if e.instance_path().as_str().is_empty() { "/" } else { e.instance_path().as_str() }
                )
            })
            .collect();
        if faults.is_empty() {
            Ok(())
        } else {
            Err(Error::new(kind, format!("{what} does not fit its schema: {}", faults.join("; "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn roots_must_be_objects() {
        assert!(check_object_root("f", &json!({"type": "object"})).is_ok());
        for bad in
            [json!({}), json!({"type": "array"}), json!("x"), json!({"type": "object", "properties": 3})]
        {
            let error = check_object_root("f", &bad).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.message().contains("`f`"));
        }
    }

    #[test]
    fn faults_are_named_with_their_place() {
        let v = compile("o", &json!({"type": "object", "properties": {"n": {"type": "integer"}}})).unwrap();
        let error = v.check(&json!({"n": "x"}), ErrorKind::NoObject, "the answer").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoObject);
        assert!(error.message().contains("/n"), "{error}");
    }
}
