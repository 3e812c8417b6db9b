//! JSON Schemas as Python's types.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::names::{fitted, unique};
use super::text::literal;

/// How deep types are told; below is `Any`.
const DEEPEST: usize = 12;
/// How many classes are made of one schema; further objects are dictionaries.
const MOST_CLASSES: usize = 100;
/// How many values of an enumeration are told; one with more is told by its type.
const MOST_VALUES: usize = 100;
/// How long a type is told; a longer one is `Any`. References within references would double it each time.
const LONGEST: usize = 500;
/// What a field may not be called, because what stands beside it is: within a class the field would be meant.
const TYPES: &[&str] = &["str", "int", "float", "bool", "list", "dict", "Any", "Literal", "None", "field"];

/// A class.
#[derive(Debug, PartialEq)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) fields: Vec<Field>,
}

/// One of its fields, or a parameter.
#[derive(Debug, PartialEq)]
pub(super) struct Field {
    /// In Python.
    pub(super) name: String,
    /// In JSON.
    pub(super) wire: String,
    pub(super) kind: String,
    pub(super) is_required: bool,
    /// Whether null is one of its values.
    pub(super) is_nullable: bool,
    pub(super) doc: String,
    /// What it is if nobody says.
    pub(super) default: Option<Value>,
}

/// The types of one tool.
pub(super) struct Types<'a> {
    root: &'a Value,
    /// What stands before the names of classes.
    prefix: &'a str,
    pub(super) classes: Vec<Class>,
    taken: HashSet<String>,
    /// The classes of what is referred to.
    known: HashMap<String, String>,
}

impl<'a> Types<'a> {
    /// Of this schema; names of classes get the prefix where they are used. None is called like those taken.
    pub(super) fn new(root: &'a Value, prefix: &'a str, taken: &[String]) -> Self {
        let reserved = ["Params", "Result", "Model", "Any", "Literal"].map(str::to_owned);
        // Nor like a field: within a class the field would be meant.
        let mut fields = HashSet::new();
        field_names(root, &mut fields);
        let taken = taken.iter().cloned().chain(reserved).chain(fields).collect();
        Self { root, prefix, classes: Vec::new(), taken, known: HashMap::new() }
    }

    /// The fields of an object, those first that must be there.
    pub(super) fn fields(&mut self, schema: &Value, depth: usize) -> Vec<Field> {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Vec::new() };
        let required: HashSet<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let wires: Vec<String> = properties.keys().map(|wire| apart_from_types(wire)).collect();
        let names = unique(&wires.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
        let mut fields: Vec<Field> = Vec::new();
        for ((wire, schema), name) in properties.iter().zip(names) {
            let kind = self.of(schema, wire, depth + 1);
            let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
            fields.push(Field {
                name,
                wire: wire.clone(),
                is_required: required.contains(wire.as_str()),
                is_nullable: kind == "Any" || kind.split(" | ").any(|part| part == "None"),
                kind,
                doc: text("description").to_owned(),
                default: schema.get("default").cloned(),
            });
        }
        fields.sort_by_key(|field| !field.is_required);
        fields
    }

    /// The type of what fits a schema; `hint` names the class if it needs one.
    pub(super) fn of(&mut self, schema: &Value, hint: &str, depth: usize) -> String {
        let kind = self.whole(schema, hint, depth);
        if kind.len() > LONGEST { "Any".to_owned() } else { kind }
    }

    fn whole(&mut self, schema: &Value, hint: &str, depth: usize) -> String {
        let Some(object) = schema.as_object() else { return "Any".to_owned() };
        if depth > DEEPEST {
            return "Any".to_owned();
        }
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            return self.referred(reference, depth);
        }
        if let Some(value) = object.get("const").and_then(literal) {
            return format!("Literal[{value}]");
        }
        if let Some(kind) = object.get("enum").and_then(Value::as_array).and_then(|values| literals(values)) {
            return kind;
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(options) = object.get(key).and_then(Value::as_array).filter(|list| !list.is_empty()) {
                return self.union(options.iter().map(|option| (option, hint)), depth);
            }
        }
        if let Some([only]) = object.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
            return self.of(only, hint, depth + 1);
        }
        match object.get("type") {
            Some(Value::String(kind)) => self.plain(kind, object, hint, depth),
            Some(Value::Array(kinds)) => {
                let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                let parts = kinds.iter().map(|kind| self.plain(kind, object, hint, depth)).collect();
                joined(parts)
            }
            _ if object.contains_key("properties") => self.plain("object", object, hint, depth),
            _ => "Any".to_owned(),
        }
    }

    fn union<'s>(&mut self, options: impl Iterator<Item = (&'s Value, &'s str)>, depth: usize) -> String {
        let parts = options.map(|(option, hint)| self.of(option, hint, depth + 1)).collect();
        joined(parts)
    }

    fn plain(&mut self, kind: &str, object: &Map<String, Value>, hint: &str, depth: usize) -> String {
        match kind {
            "string" => "str".to_owned(),
            "integer" => "int".to_owned(),
            "number" => "float".to_owned(),
            "boolean" => "bool".to_owned(),
            "null" => "None".to_owned(),
            "array" => match object.get("items") {
                Some(items @ Value::Object(_)) => {
                    format!("list[{}]", self.of(items, &format!("{hint}_item"), depth + 1))
                }
                _ => "list[Any]".to_owned(),
            },
            "object" => self.object(object, hint, depth),
            _ => "Any".to_owned(),
        }
    }

    fn object(&mut self, object: &Map<String, Value>, hint: &str, depth: usize) -> String {
        let listed = object.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
        if listed && self.classes.len() < MOST_CLASSES {
            let name = self.class_name(object.get("title").and_then(Value::as_str).unwrap_or(hint));
            return self.class(name, object, depth);
        }
        match object.get("additionalProperties") {
            Some(values @ Value::Object(_)) if !listed => {
                format!("dict[str, {}]", self.of(values, &format!("{hint}_value"), depth + 1))
            }
            _ => "dict[str, Any]".to_owned(),
        }
    }

    fn class(&mut self, name: String, object: &Map<String, Value>, depth: usize) -> String {
        let doc = object.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        let fields = self.fields(&Value::Object(object.clone()), depth);
        let used = format!("{}{name}", self.prefix);
        self.classes.push(Class { name, doc, fields });
        used
    }

    fn class_name(&mut self, hint: &str) -> String {
        let words = hint.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let mut camel = String::new();
        for word in words {
            let mut chars = word.chars();
            camel.extend(chars.next().map(|first| first.to_ascii_uppercase()));
            camel.extend(chars);
        }
        let base = fitted(if camel.is_empty() { "Value" } else { &camel });
        let free = |name: &String| !self.taken.contains(name);
        let numbered = (2_usize..).map(|number| format!("{base}{number}"));
        let name = std::iter::once(base.clone()).chain(numbered).find(free).unwrap_or(base);
        self.taken.insert(name.clone());
        name
    }

    /// What a reference within the schema leads to. A class may lead back to itself; anything else that does is `Any`.
    fn referred(&mut self, reference: &str, depth: usize) -> String {
        if let Some(name) = self.known.get(reference) {
            return name.clone();
        }
        let found = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let Some(schema) = found.filter(|_| reference != "#") else { return "Any".to_owned() };
        let hint = reference.rsplit('/').next().unwrap_or_default();
        let is_class = schema.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
        match schema.as_object() {
            Some(object) if is_class && self.classes.len() + self.known.len() < MOST_CLASSES => {
                let name = self.class_name(hint);
                self.known.insert(reference.to_owned(), format!("{}{name}", self.prefix));
                self.class(name, object, depth)
            }
            _ => {
                self.known.insert(reference.to_owned(), "Any".to_owned());
                let kind = self.of(schema, hint, depth + 1);
                self.known.insert(reference.to_owned(), kind.clone());
                kind
            }
        }
    }
}

/// The names of all fields in a schema.
fn field_names(schema: &Value, names: &mut HashSet<String>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get("properties") {
                names.extend(properties.keys().cloned());
            }
            object.values().for_each(|value| field_names(value, names));
        }
        Value::Array(values) => values.iter().for_each(|value| field_names(value, names)),
        _ => {}
    }
}

/// A name that is no type's, nor one that pydantic keeps for itself.
fn apart_from_types(wire: &str) -> String {
    if TYPES.contains(&wire) || wire.starts_with("model_") { format!("{wire}_") } else { wire.to_owned() }
}

fn literals(values: &[Value]) -> Option<String> {
    if values.is_empty() || values.len() > MOST_VALUES {
        return None;
    }
    let written: Option<Vec<String>> = values.iter().map(literal).collect();
    let (nulls, written): (Vec<String>, Vec<String>) =
        written?.into_iter().partition(|value| value == "None");
    let told = (!written.is_empty()).then(|| format!("Literal[{}]", written.join(", ")));
    Some(joined(told.into_iter().chain(nulls).collect()))
}

/// One of several types. `Any` is all of them.
fn joined(parts: Vec<String>) -> String {
    let mut apart: Vec<String> = Vec::new();
    for part in parts {
        if !apart.contains(&part) {
            apart.push(part);
        }
    }
    if apart.is_empty() || apart.iter().any(|part| part == "Any") {
        return "Any".to_owned();
    }
    // None comes last, as people write it.
    apart.sort_by_key(|part| part == "None");
    apart.join(" | ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: Value, expected: &str, classes: &[(&str, &[(&str, &str)])]) {
        let mut types = Types::new(&schema, "", &[]);
        assert_eq!(types.of(&schema, "thing", 0), expected, "{schema}");
        let made: Vec<(&str, Vec<(&str, &str)>)> = types
            .classes
            .iter()
            .map(|class| {
                let fields = class.fields.iter().map(|field| (field.name.as_str(), field.kind.as_str()));
                (class.name.as_str(), fields.collect())
            })
            .collect();
        let expected: Vec<(&str, Vec<(&str, &str)>)> =
            classes.iter().map(|(name, fields)| (*name, fields.to_vec())).collect();
        assert_eq!(made, expected, "{schema}");
    }

    #[test]
    fn schemas_become_types() {
        check(json!({"type": "string"}), "str", &[]);
        check(json!({"type": ["integer", "null"]}), "int | None", &[]);
        check(json!({"type": ["null", "string", "null"]}), "str | None", &[]);
        check(json!({"type": "array", "items": {"type": "number"}}), "list[float]", &[]);
        check(json!({"type": "array"}), "list[Any]", &[]);
        check(json!({"type": "array", "items": [{"type": "string"}]}), "list[Any]", &[]);
        check(json!({"enum": ["a\"", 1, true, null]}), "Literal[\"a\\\"\", 1, True] | None", &[]);
        check(json!({"enum": [1.5]}), "Any", &[]);
        check(json!({"type": "number", "enum": [1.5]}), "float", &[]);
        check(json!({"const": "x"}), "Literal[\"x\"]", &[]);
        check(json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), "str | None", &[]);
        check(json!({"oneOf": [{"type": "string"}, {}]}), "Any", &[]);
        check(json!({"type": "object"}), "dict[str, Any]", &[]);
        check(json!({"type": "object", "additionalProperties": {"type": "integer"}}), "dict[str, int]", &[]);
        for odd in [json!(true), json!({}), json!({"type": 3}), json!({"type": "thing"}), json!([])] {
            check(odd, "Any", &[]);
        }
    }

    #[test]
    fn objects_become_classes() {
        check(
            json!({"type": "object", "title": "An issue", "required": ["b"], "properties": {
                "a": {"type": "object", "properties": {"x": {"type": "integer"}}},
                "b": {"type": "array", "items": {"properties": {"from": {}}}},
                "str": {"type": "string"},
                "model_x": {"type": "string"}
            }}),
            "AnIssue",
            &[
                ("A", &[("x", "int")]),
                ("BItem", &[("from_", "Any")]),
                ("AnIssue", &[("b", "list[BItem]"), ("a", "A"), ("str_", "str"), ("model_x_", "str")]),
            ],
        );
        check(
            json!({"type": "object", "properties": {
                "a": {"type": "object", "properties": {"y": {}}},
                "A": {"type": "object", "properties": {"z": {}}},
                "params": {"type": "object", "properties": {"z": {}}}
            }}),
            "Thing",
            &[
                ("A2", &[("y", "Any")]),
                ("A3", &[("z", "Any")]),
                ("Params2", &[("z", "Any")]),
                ("Thing", &[("a", "A2"), ("A", "A3"), ("params", "Params2")]),
            ],
        );
    }

    #[test]
    fn references_are_followed_and_may_lead_back() {
        check(
            json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {
                "next": {"$ref": "#/$defs/node"}, "tag": {"$ref": "#/$defs/tag"}}}, "tag": {"type": "string"}}}),
            "Node",
            &[("Node", &[("next", "Node"), ("tag", "str")])],
        );
        let round = json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "string"}]}}});
        check(round, "Any", &[]);
        check(json!({"$ref": "#/$defs/none"}), "Any", &[]);
        check(json!({"$ref": "#"}), "Any", &[]);
        check(json!({"$ref": "http://example.com/x"}), "Any", &[]);
    }

    #[test]
    fn what_is_deep_or_vast_ends_somewhere() {
        let mut deep = json!({"type": "string"});
        for _ in 0..100 {
            deep = json!({"type": "array", "items": deep});
        }
        let mut types = Types::new(&deep, "", &[]);
        assert!(types.of(&deep, "x", 0).len() < 200);
        let many: Map<String, Value> =
            (0..300).map(|n| (format!("p{n}"), json!({"type": "object", "properties": {"x": {}}}))).collect();
        let vast = json!({"type": "object", "properties": many});
        let mut types = Types::new(&vast, "", &[]);
        types.of(&vast, "x", 0);
        assert!(types.classes.len() <= MOST_CLASSES + 1, "{}", types.classes.len());
    }

    #[test]
    fn references_within_references_do_not_grow() {
        let mut definitions = Map::new();
        definitions.insert("d0".to_owned(), json!({"type": "string"}));
        for n in 1..40 {
            let below = format!("#/$defs/d{}", n - 1);
            let both = json!({"anyOf": [{"type": "array", "items": {"$ref": below}}, {"$ref": below}]});
            definitions.insert(format!("d{n}"), both);
        }
        let properties: Map<String, Value> =
            (0..40).map(|n| (format!("p{n}"), json!({"$ref": format!("#/$defs/d{n}")}))).collect();
        let schema = json!({"type": "object", "properties": properties, "$defs": definitions});
        let mut types = Types::new(&schema, "", &[]);
        assert!(types.fields(&schema, 0).iter().all(|field| field.kind.len() <= LONGEST));
    }

    #[test]
    fn no_field_hides_a_class() {
        let address = json!({"type": "object", "properties": {"field": {"type": "string"}}});
        let schema = json!({"type": "object", "properties": {"Address": address}});
        let mut types = Types::new(&schema, "", &[]);
        let fields = types.fields(&schema, 0);
        assert_eq!((fields[0].name.as_str(), fields[0].kind.as_str()), ("Address", "Address2"));
        assert_eq!(types.classes[0].fields[0].name, "field_");
    }
}
