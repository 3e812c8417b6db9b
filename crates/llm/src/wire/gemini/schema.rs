//! Tool schemas, from JSON Schema to the API's subset of OpenAPI 3.0.
//!
//! What the subset can say in other words is translated: a type that may be null, constants,
//! references, `oneOf`, `allOf`. What it cannot say is dropped, because the API refuses the whole
//! request over one unknown keyword, and each loss is a warning that names keyword and place.

use serde_json::{Map, Value, json};

use crate::Warning;

/// How deep a translated schema may be nested.
pub(super) const MAX_DEPTH: usize = 48;
/// How many schemas one tool may come to when its references are written out.
const MAX_NODES: usize = 4000;
/// How often one reference is followed inside itself.
const MAX_REPEATS: usize = 2;

/// Keywords that mean the same on both sides.
const KEPT: [&str; 14] = [
    "title",
    "description",
    "default",
    "example",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "propertyOrdering",
];

/// Keywords that are translated, or say nothing that a model would miss.
const HANDLED: [&str; 23] = [
    "type",
    "format",
    "nullable",
    "enum",
    "const",
    "items",
    "prefixItems",
    "properties",
    "required",
    "anyOf",
    "oneOf",
    "allOf",
    "examples",
    "$ref",
    "$defs",
    "definitions",
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "additionalProperties",
    "deprecated",
    "readOnly",
];

/// The keywords that belong to one type; the others belong to all.
const TYPED: [(&str, &[&str]); 5] = [
    ("string", &["minLength", "maxLength", "pattern", "format", "enum", "const"]),
    ("number", &["minimum", "maximum", "format", "enum", "const"]),
    ("integer", &["minimum", "maximum", "format", "enum", "const"]),
    ("array", &["items", "prefixItems", "minItems", "maxItems"]),
    ("object", &["properties", "required", "minProperties", "maxProperties", "propertyOrdering"]),
];

/// The formats that the API takes, by type.
const FORMATS: [(&str, &[&str]); 3] =
    [("string", &["enum", "date-time"]), ("integer", &["int32", "int64"]), ("number", &["float", "double"])];

/// The field of a declaration for a tool's parameters, and what it holds: the API's own subset, or the schema as it
/// is where the subset has no words that the API would take, such as for a value of any type. None for an object
/// without properties, which the API refuses.
pub(super) fn parameters(
    schema: &Value,
    tool: &str,
    warnings: &mut Vec<Warning>,
) -> Option<(&'static str, Value)> {
    let mut lost = Vec::new();
    let translated = to_gemini(schema, tool, &mut lost)?;
    if is_taken(&translated) {
        warnings.append(&mut lost);
        return Some(("parameters", translated));
    }
    let mut whole = schema.as_object().cloned().unwrap_or_default();
    whole.insert("type".to_owned(), "object".into());
    Some(("parametersJsonSchema", Value::Object(whole)))
}

/// Whether the API takes such a schema: it wants a type everywhere, properties of every object, and no numbers in an
/// `enum`. How deep it goes is limited by whoever made it.
fn is_taken(schema: &Value) -> bool {
    let kind = schema.get("type").and_then(Value::as_str);
    let members = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten();
    let properties = schema.get("properties").and_then(Value::as_object);
    let told = match kind {
        None => members("anyOf").next().is_some(),
        Some("object") => properties.is_some_and(|properties| !properties.is_empty()),
        Some("string") => true,
        Some(_) => schema.get("enum").is_none(),
    };
    told && properties.into_iter().flatten().all(|(_, property)| is_taken(property))
        && members("anyOf").all(is_taken)
        && schema.get("items").is_none_or(is_taken)
}

/// Translates a tool's parameters.
fn to_gemini(schema: &Value, tool: &str, warnings: &mut Vec<Warning>) -> Option<Value> {
    let mut translator = Translator {
        root: schema,
        tool,
        warnings,
        place: String::new(),
        refs: Vec::new(),
        depth: 0,
        nodes: 0,
    };
    let out = translator.schema(schema);
    (out.contains_key("properties") || out.contains_key("anyOf")).then_some(Value::Object(out))
}

struct Translator<'a> {
    root: &'a Value,
    tool: &'a str,
    warnings: &'a mut Vec<Warning>,
    /// Where we are, as a JSON pointer.
    place: String,
    /// The references that led here.
    refs: Vec<String>,
    depth: usize,
    nodes: usize,
}

impl Translator<'_> {
    fn dropped(&mut self, keyword: &str) {
        let place = if self.place.is_empty() { "/" } else { &self.place };
        let message =
            format!("tool `{}`: `{keyword}` at `{place}` has no counterpart and was dropped", self.tool);
        self.warnings.push(Warning::new("schema_keyword_dropped", message));
    }

    fn at<T>(&mut self, step: &str, then: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.place.len();
        self.place.push('/');
        self.place.push_str(step);
        let out = then(self);
        self.place.truncate(length);
        out
    }

    fn schema(&mut self, schema: &Value) -> Map<String, Value> {
        self.nodes += 1;
        if self.depth >= MAX_DEPTH || self.nodes > MAX_NODES {
            self.dropped("everything below the limit of depth and size");
            return open_object();
        }
        let refs = self.refs.len();
        self.depth += 1;
        let flat = self.flatten(schema);
        let out = self.keywords(&flat);
        self.depth -= 1;
        self.refs.truncate(refs);
        out
    }

    /// The schema with its references and `allOf` written into it.
    fn flatten(&mut self, schema: &Value) -> Map<String, Value> {
        let Value::Object(schema) = schema else {
            if *schema == Value::Bool(false) {
                self.dropped("false");
            }
            return Map::new();
        };
        let mut flat = schema.clone();
        if let Some(Value::String(reference)) = flat.shift_remove("$ref") {
            let found = self.follow(&reference);
            self.absorb(&mut flat, found);
        }
        if let Some(Value::Array(all)) = flat.shift_remove("allOf") {
            for member in &all {
                if self.depth >= MAX_DEPTH {
                    self.dropped("allOf");
                    break;
                }
                self.depth += 1;
                let member = self.flatten(member);
                self.depth -= 1;
                self.absorb(&mut flat, member);
            }
        }
        flat
    }

    fn follow(&mut self, reference: &str) -> Map<String, Value> {
        let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let Some(target) = target else {
            self.dropped("$ref");
            return Map::new();
        };
        let repeats = self.refs.iter().filter(|earlier| *earlier == reference).count();
        if repeats >= MAX_REPEATS || self.depth >= MAX_DEPTH {
            self.dropped("$ref");
            return match target.get("type") {
                Some(kind) => Map::from_iter([("type".to_owned(), kind.clone())]),
                None => open_object(),
            };
        }
        self.refs.push(reference.to_owned());
        self.depth += 1;
        let found = self.flatten(target);
        self.depth -= 1;
        found
    }

    fn absorb(&mut self, into: &mut Map<String, Value>, from: Map<String, Value>) {
        for (key, value) in from {
            match (into.get_mut(&key), value) {
                (None, value) => {
                    into.insert(key, value);
                }
                (Some(Value::Object(into)), Value::Object(from)) if key == "properties" => {
                    for (name, property) in from {
                        into.entry(name).or_insert(property);
                    }
                }
                (Some(Value::Array(into)), Value::Array(from)) if key == "required" => {
                    into.extend(from.into_iter().filter(|name| !into.contains(name)).collect::<Vec<_>>());
                }
                // The outer description is the more special one.
                (Some(_), _) if matches!(key.as_str(), "title" | "description" | "default" | "examples") => {}
                (Some(into), value) if *into == value => {}
                (Some(_), _) => self.dropped(&key),
            }
        }
    }

    fn keywords(&mut self, flat: &Map<String, Value>) -> Map<String, Value> {
        for key in flat.keys() {
            if !KEPT.contains(&key.as_str()) && !HANDLED.contains(&key.as_str()) {
                self.dropped(key);
            }
        }
        let mut types = types(flat);
        let mut nullable = flat.get("nullable") == Some(&Value::Bool(true));
        if types.len() > 1 {
            nullable |= types.iter().any(|kind| kind == "null");
            types.retain(|kind| kind != "null");
        }
        let mut out = Map::new();
        let mut variants = Vec::new();
        match types.as_slice() {
            [] => {}
            [kind] => self.typed(kind, flat, &mut out, &mut nullable),
            several => {
                for kind in several {
                    let mut variant = Map::new();
                    let belongs = TYPED.iter().find(|(of, _)| of == kind).map_or(&[][..], |(_, keys)| keys);
                    let of_kind = flat.iter().filter(|(key, _)| belongs.contains(&key.as_str()));
                    let of_kind = of_kind.map(|(key, value)| (key.clone(), value.clone())).collect();
                    self.typed(kind, &of_kind, &mut variant, &mut nullable);
                    variants.push(Value::Object(variant));
                }
            }
        }
        for key in KEPT {
            let of_type = TYPED.iter().any(|(_, keys)| keys.contains(&key));
            if let Some(value) = flat.get(key)
                && !(of_type && types.len() > 1)
            {
                out.insert(key.to_owned(), value.clone());
            }
        }
        if let Some(Value::Array(examples)) = flat.get("examples")
            && let Some(first) = examples.first()
        {
            out.entry("example").or_insert_with(|| first.clone());
        }
        self.variants(flat, &mut variants, &mut nullable);
        self.join(variants, &mut out);
        if nullable && types != ["null"] {
            out.insert("nullable".to_owned(), true.into());
        }
        out
    }

    /// Adds the variants: one alone is written into the schema if it fits, and those that only repeat
    /// its type say nothing.
    fn join(&mut self, variants: Vec<Value>, out: &mut Map<String, Value>) {
        let kind = out.get("type").cloned();
        let same_kind = |variant: &Map<String, Value>| kind.is_none() || variant.get("type") == kind.as_ref();
        let repeats = |variant: &Value| {
            kind.is_some() && variant.as_object().is_some_and(|v| v.len() == 1 && same_kind(v))
        };
        if variants.iter().all(repeats) {
            return;
        }
        match <[Value; 1]>::try_from(variants) {
            Ok([Value::Object(only)]) if same_kind(&only) => self.absorb(out, only),
            Ok([only]) => {
                out.insert("anyOf".to_owned(), Value::Array(vec![only]));
            }
            Err(several) => {
                out.insert("anyOf".to_owned(), several.into());
            }
        }
    }

    /// The keywords that depend on the type.
    fn typed(
        &mut self,
        kind: &str,
        flat: &Map<String, Value>,
        out: &mut Map<String, Value>,
        nullable: &mut bool,
    ) {
        out.insert("type".to_owned(), kind.into());
        if let Some(format) = flat.get("format") {
            let known = FORMATS.iter().find(|(of, _)| *of == kind).map_or(&[][..], |(_, formats)| formats);
            if format.as_str().is_some_and(|format| known.contains(&format)) {
                out.insert("format".to_owned(), format.clone());
            } else {
                self.dropped("format");
            }
        }
        self.values(kind, flat, out, nullable);
        if kind == "array" {
            let items = self.items(flat);
            out.insert("items".to_owned(), items);
        }
        if kind == "object" {
            self.properties(flat, out);
        }
    }

    /// `enum` and `const`: the API takes strings, and numbers written as strings.
    fn values(
        &mut self,
        kind: &str,
        flat: &Map<String, Value>,
        out: &mut Map<String, Value>,
        nullable: &mut bool,
    ) {
        let (keyword, mut values) = match (flat.get("enum"), flat.get("const")) {
            (Some(Value::Array(values)), _) => ("enum", values.clone()),
            (_, Some(value)) => ("const", vec![value.clone()]),
            _ => return,
        };
        *nullable |= values.contains(&Value::Null);
        values.retain(|value| !value.is_null());
        match kind {
            "string" if values.iter().all(Value::is_string) => {}
            "integer" if values.iter().all(|value| value.is_i64() || value.is_u64()) => {
                values = values.iter().map(|value| value.to_string().into()).collect();
                out.insert("format".to_owned(), "enum".into());
            }
            _ => {
                self.dropped(keyword);
                return;
            }
        }
        if !values.is_empty() {
            out.insert("enum".to_owned(), values.into());
        }
    }

    /// What an array holds. The API wants to be told; a tuple becomes a choice among its members.
    fn items(&mut self, flat: &Map<String, Value>) -> Value {
        let items = match (flat.get("items"), flat.get("prefixItems")) {
            (Some(items @ Value::Object(_)), None) => {
                return Value::Object(self.at("items", |t| t.schema(items)));
            }
            (Some(Value::Array(members)), _) | (_, Some(Value::Array(members))) if !members.is_empty() => {
                self.dropped("prefixItems");
                json!({"anyOf": members})
            }
            _ => {
                let message = format!(
                    "tool `{}`: `{}` does not say what it holds; strings were assumed",
                    self.tool, self.place
                );
                self.warnings.push(Warning::new("schema_items_assumed", message));
                json!({"type": "string"})
            }
        };
        Value::Object(self.at("items", |t| t.schema(&items)))
    }

    fn properties(&mut self, flat: &Map<String, Value>, out: &mut Map<String, Value>) {
        let mut properties = Map::new();
        for (name, property) in flat.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let translated = self.at("properties", |t| t.at(name, |t| Value::Object(t.schema(property))));
            if *property != Value::Bool(false) {
                properties.insert(name.clone(), translated);
            }
        }
        // The API refuses a required property that is not declared.
        let names = flat.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let declared = |name: &&Value| name.as_str().is_some_and(|name| properties.contains_key(name));
        let required: Vec<Value> = names.iter().filter(declared).cloned().collect();
        if required.len() < names.len() {
            self.dropped("required");
        }
        if !properties.is_empty() {
            out.insert("properties".to_owned(), properties.into());
        }
        if !required.is_empty() {
            out.insert("required".to_owned(), required.into());
        }
    }

    fn variants(&mut self, flat: &Map<String, Value>, variants: &mut Vec<Value>, nullable: &mut bool) {
        for keyword in ["anyOf", "oneOf"] {
            let Some(Value::Array(members)) = flat.get(keyword) else { continue };
            if !variants.is_empty() {
                self.dropped(keyword);
                continue;
            }
            for (index, member) in members.iter().enumerate() {
                let step = format!("{keyword}/{index}");
                let variant = self.at(&step, |t| t.schema(member));
                if variant.get("type").is_some_and(|kind| kind == "null") {
                    *nullable = true;
                } else {
                    variants.push(Value::Object(variant));
                }
            }
        }
    }
}

pub(super) fn open_object() -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), "object".into())])
}

/// The types a schema names, else the one its keywords suggest.
fn types(flat: &Map<String, Value>) -> Vec<String> {
    let named = match flat.get("type") {
        Some(Value::String(kind)) => vec![kind.to_ascii_lowercase()],
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).map(str::to_ascii_lowercase).collect()
        }
        _ => Vec::new(),
    };
    if !named.is_empty() {
        let mut seen = Vec::new();
        for kind in named {
            if !seen.contains(&kind) {
                seen.push(kind);
            }
        }
        return seen;
    }
    let value = match (flat.get("enum"), flat.get("const")) {
        (Some(Value::Array(values)), _) => values.iter().find(|value| !value.is_null()).or(values.first()),
        (_, value) => value,
    };
    let by_value = value.map(|value| match value {
        Value::String(_) => "string",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Bool(_) => "boolean",
        Value::Null => "null",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    });
    // Numbers are not guessed: `minimum` fits two types.
    let by_keyword = || {
        let own = |(kind, keys): &&(&'static str, &[&str])| {
            matches!(*kind, "string" | "array" | "object")
                && keys
                    .iter()
                    .any(|key| !matches!(*key, "enum" | "const" | "format") && flat.contains_key(*key))
        };
        TYPED.iter().find(own).map(|(kind, _)| *kind)
    };
    by_value.or_else(by_keyword).map(str::to_owned).into_iter().collect()
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
