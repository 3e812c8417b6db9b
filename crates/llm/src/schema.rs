//! JSON Schemas: checking them, and checking values against them.

mod fault;

use serde_json::Value;

use crate::{Error, ErrorKind};

/// Checks that a schema's root is an object, as every provider demands of tools and structured
/// answers, and that it is a schema at all.
///
/// # Errors
/// `configuration`, naming the tool or object.
pub fn check_object_root(name: &str, schema: &Value) -> Result<(), Error> {
    has_object_root(name, schema)?;
    compile(name, schema).map(drop)
}

/// Checks of a schema only that its root is an object. Whether it is one costs much more to find out, in time and in
/// memory, than all else that a session needs before its first call.
///
/// # Errors
/// `configuration`, naming the tool or object.
pub fn has_object_root(name: &str, schema: &Value) -> Result<(), Error> {
    if schema.get("type").and_then(Value::as_str) == Some("object") {
        return Ok(());
    }
    Err(Error::configuration(format!("the schema of `{name}` has no object at its root"))
        .with_hint("start the schema with {\"type\": \"object\", \"properties\": {…}}"))
}

/// A schema, ready to check values.
#[derive(Debug)]
pub struct Validator {
    compiled: jsonschema::Validator,
    /// As it was given, to say what would have fitted.
    schema: Value,
}

/// Prepares a schema.
///
/// # Errors
/// `configuration` if it is not a valid schema.
pub fn compile(name: &str, schema: &Value) -> Result<Validator, Error> {
    jsonschema::validator_for(schema)
        .map(|compiled| Validator { compiled, schema: schema.clone() })
        .map_err(|e| Error::configuration(format!("the schema of `{name}` is not valid: {e}")))
}

/// How many faults of one value are told.
const MOST: usize = 8;

impl Validator {
    /// What is wrong with a value: each fault with its place, what is there and what would fit, in
    /// words. Nothing if it fits. At most eight, and none of them long, however many and large the
    /// faults are.
    pub fn faults(&self, value: &Value) -> Vec<String> {
        let faults = self.compiled.iter_errors(value).flat_map(|error| fault::tell(&error, &self.schema));
        faults.take(MOST).collect()
    }

    /// Checks a value.
    ///
    /// # Errors
    /// An error of this kind that lists the faults.
    pub fn check(&self, value: &Value, kind: ErrorKind, what: &str) -> Result<(), Error> {
        let faults = self.faults(value);
        if faults.is_empty() {
            return Ok(());
        }
        Err(Error::new(kind, format!("{what} does not fit its schema: {}", faults.join("; "))))
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
        assert!(error.message().contains("`n` must be an integer"), "{error}");
    }
}
