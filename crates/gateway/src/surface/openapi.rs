//! The description of the surfaces, for tools that read such things.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, header};

/// OpenAPI 3.1, written by hand. What the vendors' schemas say in detail it leaves to them.
const DOCUMENT: &str = include_str!("../../openapi.json");

/// The document.
pub(super) fn document() -> Response {
    let mut response = Response::new(Body::from(DOCUMENT));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::surface::table::TABLE;

    fn parsed() -> Value {
        serde_json::from_str(DOCUMENT).unwrap()
    }

    /// Every path with its methods is in the document, and nothing else is.
    #[test]
    fn it_says_what_the_table_says() {
        let served: BTreeSet<(String, String)> =
            TABLE.iter().map(|(method, path, _)| (method.to_ascii_lowercase(), (*path).to_owned())).collect();
        let document = parsed();
        let described: BTreeSet<(String, String)> = document["paths"]
            .as_object()
            .unwrap()
            .iter()
            .flat_map(|(path, methods)| {
                methods.as_object().unwrap().keys().map(|method| (method.clone(), path.clone()))
            })
            .collect();
        assert_eq!(described, served);
    }

    /// Every reference leads somewhere, every model in a path is declared, and no name is used twice.
    #[test]
    fn it_holds_together() {
        fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
            match value {
                Value::Object(fields) => {
                    found.extend(fields.get("$ref").and_then(Value::as_str));
                    fields.values().for_each(|value| references(value, found));
                }
                Value::Array(items) => items.iter().for_each(|item| references(item, found)),
                _ => {}
            }
        }
        let document = parsed();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(!found.is_empty());
        for reference in found {
            let place = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(place).is_some(), "{reference}");
        }
        let mut names = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for operation in methods.as_object().unwrap().values() {
                assert!(names.insert(operation["operationId"].as_str().unwrap()), "{operation}");
                let declared = operation["parameters"].to_string().contains("parameters/Model");
                assert_eq!(declared, path.contains("{model}"), "{path}");
            }
        }
    }
}
