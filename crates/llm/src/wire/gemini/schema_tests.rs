//! Schema translation, as tables.

use proptest::prelude::*;

use super::super::json_schema::from_gemini;
use super::*;

/// Translates a property's schema; gives it with the dropped keywords and their places.
fn translate(property: &Value) -> (Value, Vec<String>) {
    let defs = json!({"leaf": {"type": "string"}, "node": {"type": "object",
        "properties": {"next": {"$ref": "#/$defs/node"}, "v": {"$ref": "#/$defs/leaf"}}}});
    let schema = json!({"type": "object", "properties": {"p": property}, "$defs": defs});
    let mut warnings = Vec::new();
    let out = to_gemini(&schema, "t", &mut warnings).unwrap();
    let dropped = warnings
        .iter()
        .map(|warning| {
            assert!(warning.message.contains("`t`"), "{warning:?}");
            let quoted: Vec<&str> = warning.message.split('`').collect();
            match warning.code.as_str() {
                "schema_keyword_dropped" => {
                    format!("{} {}", quoted[3], quoted[5].trim_start_matches("/properties/p"))
                }
                code => code.to_owned(),
            }
        })
        .collect();
    (out["properties"]["p"].clone(), dropped)
}

#[track_caller]
fn check(property: Value, expected: Value, dropped: &[&str]) {
    let (out, seen) = translate(&property);
    assert_eq!(out, expected);
    assert_eq!(seen, dropped);
}

#[test]
fn what_both_sides_know_is_kept() {
    for same in [
        json!({"type": "string", "description": "d", "title": "t", "minLength": 1, "maxLength": 2, "pattern": "x"}),
        json!({"type": "string", "format": "date-time", "default": "d", "example": "e"}),
        json!({"type": "string", "enum": ["a", "b"], "nullable": true}),
        json!({"type": "integer", "format": "int64", "minimum": 1, "maximum": 2}),
        json!({"type": "array", "items": {"type": "number", "format": "double"}, "minItems": 1, "maxItems": 2}),
        json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"],
            "propertyOrdering": ["a"], "minProperties": 1, "maxProperties": 2}),
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "d"}),
        json!({"type": "object"}),
        json!({}),
    ] {
        check(same.clone(), same, &[]);
    }
}

#[test]
fn what_the_api_would_refuse_is_sent_as_it_is() {
    let check = |property: Value, field: &str, warned: usize| {
        let schema = json!({"type": "object", "properties": {"p": property}, "additionalProperties": false});
        let mut warnings = Vec::new();
        let (seen, sent) = parameters(&schema, "t", &mut warnings).unwrap();
        assert_eq!((seen, warnings.len()), (field, warned), "{property}");
        assert_eq!(field == "parametersJsonSchema", sent == schema, "{sent}");
    };
    check(json!({"type": "string", "if": {}}), "parameters", 1);
    check(json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}), "parameters", 0);
    for open in
        [json!({}), json!({"description": "any JSON"}), json!({"type": "object"}), json!({"enum": [1, 2]})]
    {
        check(open.clone(), "parametersJsonSchema", 0);
        check(json!({"type": "array", "items": open.clone(), "if": {}}), "parametersJsonSchema", 0);
        check(json!({"anyOf": [{"type": "string"}, open]}), "parametersJsonSchema", 0);
    }
    let mut warnings = Vec::new();
    let (field, sent) = parameters(&json!({"properties": {"p": {}}}), "t", &mut warnings).unwrap();
    assert_eq!((field, &sent["type"]), ("parametersJsonSchema", &json!("object")));
    assert_eq!(parameters(&json!({"type": "object"}), "t", &mut warnings), None);
}

#[test]
fn what_can_be_said_otherwise_is_translated() {
    check(json!({"type": ["string", "null"]}), json!({"type": "string", "nullable": true}), &[]);
    check(json!({"type": "null"}), json!({"type": "null"}), &[]);
    check(
        json!({"type": ["string", "array", "null"], "minLength": 1, "items": {"type": "string"}, "description": "d"}),
        json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
            "description": "d", "nullable": true}),
        &[],
    );
    check(json!({"const": "a"}), json!({"type": "string", "enum": ["a"]}), &[]);
    check(json!({"enum": ["a", null]}), json!({"type": "string", "enum": ["a"], "nullable": true}), &[]);
    check(json!({"enum": [1, 2]}), json!({"type": "integer", "format": "enum", "enum": ["1", "2"]}), &[]);
    check(
        json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        &[],
    );
    check(
        json!({"anyOf": [{"type": "string", "description": "inner"}, {"type": "null"}], "description": "outer"}),
        json!({"type": "string", "description": "outer", "nullable": true}),
        &[],
    );
    check(json!({"properties": {"a": {}}}), json!({"type": "object", "properties": {"a": {}}}), &[]);
    check(json!({"type": "STRING", "examples": ["a", "b"]}), json!({"type": "string", "example": "a"}), &[]);
    check(
        json!({"type": "object", "additionalProperties": false, "$schema": "x", "$id": "y", "properties": {}}),
        json!({"type": "object"}),
        &[],
    );
}

#[test]
fn references_are_written_out() {
    check(
        json!({"$ref": "#/$defs/leaf", "description": "d"}),
        json!({"type": "string", "description": "d"}),
        &[],
    );
    let node = |next: Value| json!({"type": "object", "properties": {"next": next, "v": {"type": "string"}}});
    check(
        json!({"$ref": "#/$defs/node"}),
        node(node(json!({"type": "object"}))),
        &["$ref /properties/next/properties/next"],
    );
    check(json!({"$ref": "https://elsewhere", "type": "string"}), json!({"type": "string"}), &["$ref "]);
}

#[test]
fn simple_conjunctions_merge() {
    check(
        json!({"allOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"b": {"$ref": "#/$defs/leaf"}}, "required": ["a", "b"]},
        ], "description": "d"}),
        json!({"type": "object", "description": "d", "required": ["a", "b"],
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
        &[],
    );
    check(
        json!({"type": "integer", "minimum": 1, "allOf": [{"minimum": 2}]}),
        json!({"type": "integer", "minimum": 1}),
        &["minimum "],
    );
}

#[test]
fn what_cannot_be_said_is_dropped_with_a_warning() {
    check(
        json!({"type": "integer", "exclusiveMinimum": 0}),
        json!({"type": "integer"}),
        &["exclusiveMinimum "],
    );
    check(json!({"type": "string", "format": "uri"}), json!({"type": "string"}), &["format "]);
    check(json!({"type": "boolean", "const": true}), json!({"type": "boolean"}), &["const "]);
    check(
        json!({"type": "array", "items": {"type": "string", "not": {}}, "uniqueItems": true}),
        json!({"type": "array", "items": {"type": "string"}}),
        &["uniqueItems ", "not /items"],
    );
    check(
        json!({"type": "object", "properties": {"a": false, "b": true}, "required": ["a", "b"]}),
        json!({"type": "object", "properties": {"b": {}}, "required": ["b"]}),
        &["false /properties/a", "required "],
    );
    check(
        json!({"type": "array"}),
        json!({"type": "array", "items": {"type": "string"}}),
        &["schema_items_assumed"],
    );
    check(
        json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}),
        json!({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}),
        &["prefixItems "],
    );
}

#[test]
fn variants_that_say_nothing_more_are_left_out() {
    let object = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let mut either = object.clone();
    either["anyOf"] = json!([{"required": ["a"]}, {"required": ["b"]}]);
    check(either, object, &["required /anyOf/0", "required /anyOf/1"]);
    check(
        json!({"type": "string", "anyOf": [{"type": "integer"}]}),
        json!({"type": "string", "anyOf": [{"type": "integer"}]}),
        &[],
    );
}

#[test]
fn an_object_without_properties_has_no_parameters() {
    for bare in
        [json!({"type": "object"}), json!({"type": "object", "properties": {}}), json!({}), json!(true)]
    {
        assert_eq!(to_gemini(&bare, "t", &mut Vec::new()), None, "{bare}");
    }
}

#[test]
fn a_schema_that_explodes_is_cut() {
    let mut defs = Map::new();
    for level in 0..30 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        defs.insert(format!("d{level}"), json!({"type": "object", "properties": {"a": next, "b": next}}));
    }
    let schema = json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": defs});
    let mut warnings = Vec::new();
    let out = to_gemini(&schema, "t", &mut warnings).unwrap();
    assert!(out.to_string().len() < 1_000_000 && !warnings.is_empty());
}

#[test]
fn the_apis_schemas_become_json_schema_and_back() {
    let check = |gemini: Value, expected: Value| {
        let schema = json!({"type": "OBJECT", "properties": {"p": gemini}});
        let read = from_gemini(&schema);
        assert_eq!(read, json!({"type": "object", "properties": {"p": expected}}));
        let mut warnings = Vec::new();
        let written = to_gemini(&read, "t", &mut warnings).unwrap();
        assert_eq!(from_gemini(&written), read);
        assert!(warnings.is_empty(), "{warnings:?}");
    };
    check(
        json!({"type": "STRING", "description": "STRING"}),
        json!({"type": "string", "description": "STRING"}),
    );
    check(json!({"type": "STRING", "nullable": true}), json!({"type": ["string", "null"]}));
    check(
        json!({"type": "STRING", "enum": ["a"], "nullable": true}),
        json!({"type": ["string", "null"], "enum": ["a", null]}),
    );
    check(
        json!({"any_of": [{"type": "STRING"}, {"type": "INTEGER"}], "nullable": true}),
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
    );
    check(
        json!({"type": "ARRAY", "min_items": "2", "maxItems": 3, "items": {"type": "OBJECT", "properties": {"type": {"type": "NUMBER"}}}}),
        json!({"type": "array", "minItems": 2, "maxItems": 3, "items": {"type": "object", "properties": {"type": {"type": "number"}}}}),
    );
    check(
        json!({"type": "INTEGER", "format": "enum", "enum": ["101", "-2"]}),
        json!({"type": "integer", "enum": [101, -2]}),
    );
    check(json!({"type": "TYPE_UNSPECIFIED"}), json!({}));
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(null)),
        Just(json!({"$ref": "#"})),
        Just(json!({"$ref": "#/properties/a"})),
        "[a-z]{1,6}".prop_map(|kind| json!({"type": kind})),
        prop_oneof![Just("string"), Just("null"), Just("array"), Just("object"), Just("integer")].prop_map(
            |kind| json!({"type": [kind, "null"], "enum": [1, "a", null], "items": 3, "required": ["x", 1]})
        ),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        (proptest::collection::vec(inner, 1..4), 0..8usize).prop_map(|(members, shape)| match shape {
            0 => json!({"anyOf": members}),
            1 => json!({"allOf": members}),
            2 => json!({"oneOf": members, "type": "object"}),
            3 => json!({"type": "array", "prefixItems": members}),
            4 => json!({"type": ["array", "string"], "items": members[0]}),
            5 => json!({"properties": {"a": members[0]}, "$defs": members}),
            6 => json!({"type": "object", "properties": {"a": members[0], "b": members[members.len() - 1]}}),
            _ => Value::Array(members),
        })
    })
}

proptest! {
    #[test]
    fn any_schema_is_translated_to_known_keywords_only(schema in any_schema()) {
        fn known(schema: &Value) {
            let map = schema.as_object().expect("a schema");
            for (key, value) in map {
                match key.as_str() {
                    "properties" => value.as_object().expect("properties").values().for_each(known),
                    "anyOf" => value.as_array().expect("variants").iter().for_each(known),
                    "items" => known(value),
                    "type" | "format" | "nullable" | "enum" | "required" => {}
                    key => assert!(KEPT.contains(&key), "{key}"),
                }
            }
        }
        let mut warnings = Vec::new();
        if let Some(out) = to_gemini(&schema, "t", &mut warnings) {
            known(&out);
            let mut again = Vec::new();
            prop_assert_eq!(to_gemini(&from_gemini(&out), "t", &mut again), Some(out));
        }
        let _ = from_gemini(&schema);
    }
}
