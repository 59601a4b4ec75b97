//! The part of JSON Schema (draft 7) that the chart's schema uses, with findings that a person understands.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::{Map, Value};
use settings::did_you_mean;

use super::{Consequence, Path, Refused};

/// Keywords that are understood: those that say something of values, and others.
const KEYWORDS: &[&str] = &[
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "enum",
    "items",
    "maxLength",
    "maxProperties",
    "maximum",
    "minLength",
    "minimum",
    "pattern",
    "properties",
    "propertyNames",
    "required",
    "type",
    "$schema",
    "definitions",
    "description",
    "title",
];
/// The deepest schema that is followed.
const DEPTH: usize = 64;

/// Values that the schema refuses, in the order of paths. `null` is an empty file.
pub fn check(schema: &Value, values: &Value) -> Vec<Refused> {
    let mut check = Check { root: schema, found: Vec::new() };
    if !values.is_null() {
        check.value(schema, values, &mut Path::new());
    }
    check.found.sort_by(|a, b| a.path.cmp(&b.path));
    check.found
}

/// Keywords of a schema that are not understood, in order.
pub fn unknown_keywords(schema: &Value) -> BTreeSet<String> {
    let mut unknown = BTreeSet::new();
    keywords(schema, &mut unknown);
    unknown
}

fn keywords(schema: &Value, unknown: &mut BTreeSet<String>) {
    for (key, value) in schema.as_object().into_iter().flatten() {
        match key.as_str() {
            "properties" | "definitions" => value.as_object().into_iter().flatten().for_each(|(_, schema)| keywords(schema, unknown)),
            "anyOf" => value.as_array().into_iter().flatten().for_each(|schema| keywords(schema, unknown)),
            "additionalProperties" | "items" | "propertyNames" => keywords(value, unknown),
            known if KEYWORDS.contains(&known) => {}
            other => {
                unknown.insert(other.to_owned());
            }
        }
    }
}

struct Check<'a> {
    root: &'a Value,
    found: Vec<Refused>,
}

impl<'a> Check<'a> {
    fn value(&mut self, schema: &'a Value, value: &Value, path: &mut Path) {
        let schema = resolve(self.root, schema);
        if !fits(self.root, schema, value, false) {
            let expected = format!("expected {}", describe(self.root, schema));
            return self.found.push(Refused { path: path.clone(), value: value.clone(), expected, consequence: Consequence::Refused });
        }
        if let Value::Object(map) = value {
            self.map(schema, map, path);
        }
        if let (Value::Array(items), Some(schema)) = (value, schema.get("items")) {
            for (number, item) in items.iter().enumerate() {
                path.push(format!("[{number}]"));
                self.value(schema, item, path);
                path.pop();
            }
        }
    }

    fn map(&mut self, schema: &'a Value, map: &Map<String, Value>, path: &mut Path) {
        let none = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&none);
        for (key, value) in map {
            path.push(key.clone());
            let refused = |expected| Refused { path: path.clone(), value: value.clone(), expected, consequence: Consequence::Refused };
            match (schema["properties"].get(key), schema.get("additionalProperties")) {
                (Some(schema), _) => self.value(schema, value, path),
                (None, Some(Value::Bool(false))) => {
                    let hint = did_you_mean(key, properties.keys().map(String::as_str));
                    self.found.push(refused(format!("there is no such value{hint}")));
                }
                (None, rest) => {
                    let names = schema.get("propertyNames").filter(|names| !fits(self.root, names, &Value::from(key.as_str()), true));
                    if let Some(names) = names {
                        self.found.push(refused(format!("expected a name that is {}", describe(self.root, names))));
                    } else if let Some(schema) = rest {
                        self.value(schema, value, path);
                    }
                }
            }
            path.pop();
        }
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).filter(|name| !map.contains_key(*name)) {
            let value = Value::Object(map.clone());
            let expected = format!("expected {name} in it");
            self.found.push(Refused { path: path.clone(), value, expected, consequence: Consequence::Refused });
        }
    }
}

fn resolve<'a>(root: &'a Value, mut schema: &'a Value) -> &'a Value {
    for _ in 0..DEPTH {
        let target = schema["$ref"].as_str().and_then(|name| root.pointer(name.strip_prefix('#')?));
        match target {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// `true` if a value is one of a schema, by itself or `whole`, with what is in it.
fn fits(root: &Value, schema: &Value, value: &Value, whole: bool) -> bool {
    let schema = resolve(root, schema);
    let number = |key: &str| schema[key].as_f64();
    let length = |key: &str| schema[key].as_u64();
    let is_type = match &schema["type"] {
        Value::String(name) => has_type(value, name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(|name| has_type(value, name)),
        _ => true,
    };
    let is_listed = schema["enum"].as_array().is_none_or(|all| all.contains(value)) && schema.get("const").is_none_or(|only| only == value);
    let is_bounded = match value {
        Value::Number(value) => {
            let value = value.as_f64().unwrap_or(f64::NAN);
            number("minimum").is_none_or(|least| value >= least) && number("maximum").is_none_or(|most| value <= most)
        }
        Value::String(text) => {
            let count = text.chars().count() as u64;
            let pattern = schema["pattern"].as_str().and_then(|pattern| Regex::new(pattern).ok());
            length("minLength").is_none_or(|least| count >= least)
                && length("maxLength").is_none_or(|most| count <= most)
                && pattern.is_none_or(|pattern| pattern.is_match(text))
        }
        Value::Object(map) => length("maxProperties").is_none_or(|most| map.len() as u64 <= most),
        _ => true,
    };
    let is_any = schema["anyOf"].as_array().is_none_or(|all| all.iter().any(|schema| fits(root, schema, value, true)));
    let is_whole = || {
        !whole || {
            let mut check = Check { root, found: Vec::new() };
            match value {
                Value::Object(map) => check.map(schema, map, &mut Path::new()),
                Value::Array(items) => items
                    .iter()
                    .for_each(|item| schema.get("items").into_iter().for_each(|schema| check.value(schema, item, &mut Path::new()))),
                _ => {}
            }
            check.found.is_empty()
        }
    };
    is_type && is_listed && is_bounded && is_any && is_whole()
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        // 1.0 is one for Helm, which reads numbers as it does.
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

/// The values of a schema as a noun phrase: `a number from 1 to 65535, without a fraction`.
fn describe(root: &Value, schema: &Value) -> String {
    let schema = resolve(root, schema);
    if let Some(all) = schema["anyOf"].as_array() {
        return all.iter().map(|schema| describe(root, schema)).collect::<Vec<_>>().join(", or ");
    }
    if let Some(all) = schema["enum"].as_array() {
        return format!("one of {}", all.iter().map(Value::to_string).collect::<Vec<_>>().join(", "));
    }
    if let Some(only) = schema.get("const") {
        return only.to_string();
    }
    let names: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => vec!["string"],
    };
    let mut text = names.iter().map(|name| noun(name)).collect::<Vec<_>>().join(" or ");
    match (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
        (Some(least), Some(most)) => text += &format!(" from {least} to {most}"),
        (Some(least), None) => text += &format!(", at least {least}"),
        (None, Some(most)) => text += &format!(", at most {most}"),
        (None, None) => {}
    }
    match (schema["minLength"].as_u64(), schema["maxLength"].as_u64()) {
        (Some(1), None) => text += " that is not empty",
        (None, None) => {}
        (least, most) => {
            text += &format!(
                " of {} to {} characters",
                least.unwrap_or(0),
                most.map_or_else(|| "any number of".into(), |most| most.to_string())
            )
        }
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        text += &format!(" that matches {pattern}");
    }
    if schema["maxProperties"].as_u64() == Some(0) {
        text += " without keys";
    }
    text
}

fn noun(name: &str) -> &str {
    match name {
        "null" => "null",
        "boolean" => "true or false",
        "string" => "a text",
        "number" => "a number",
        "integer" => "a whole number",
        "array" => "a list",
        "object" => "a map",
        other => other,
    }
}
