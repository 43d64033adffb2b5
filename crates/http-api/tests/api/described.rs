//! The interface description as JSON Schemas: checks values against it, and notes which fields it has seen.

use std::collections::{BTreeMap, BTreeSet};

use bidloop_http_api::openapi;
use serde_json::{Map, Value, json};

/// The interface description, and the fields that have been seen of its schemas.
pub(crate) struct Description {
    pub(crate) document: Value,
    /// Fields that a value of the schema had.
    pub(crate) seen: BTreeMap<String, BTreeSet<String>>,
    /// Fields that all values of the schema had.
    pub(crate) always: BTreeMap<String, BTreeSet<String>>,
}

impl Description {
    pub(crate) fn new() -> Self {
        Self {
            document: openapi(),
            seen: BTreeMap::new(),
            always: BTreeMap::new(),
        }
    }

    pub(crate) fn schemas(&self) -> &Map<String, Value> {
        self.document["components"]["schemas"].as_object().unwrap()
    }

    /// Follows a reference.
    pub(crate) fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => self.document.pointer(reference.trim_start_matches('#')).unwrap(),
            None => value,
        }
    }

    /// The properties that a schema has itself, without those of the schemas that it names.
    pub(crate) fn own_fields(schema: &Value) -> BTreeSet<String> {
        let parts = schema["allOf"].as_array().into_iter().flatten().chain([schema]);
        let properties = parts.filter_map(|part| part["properties"].as_object());
        properties
            .flat_map(|properties| properties.keys().cloned())
            .collect()
    }

    /// All properties of a schema.
    fn fields(&self, schema: &Value) -> BTreeSet<String> {
        let mut fields = Self::own_fields(schema);
        for part in schema["allOf"].as_array().into_iter().flatten() {
            if part["$ref"].is_string() {
                fields.extend(self.fields(self.resolved(part)));
            }
        }
        fields
    }

    /// The required properties that a schema has itself.
    pub(crate) fn required(schema: &Value) -> BTreeSet<String> {
        let parts = schema["allOf"].as_array().into_iter().flatten().chain([schema]);
        let names = parts.filter_map(|part| part["required"].as_array()).flatten();
        names.map(|name| name.as_str().unwrap().to_owned()).collect()
    }

    /// Why a value is not as a schema says; empty if it is.
    pub(crate) fn faults(&self, schema: &Value, value: &Value) -> Vec<String> {
        let mut schema = schema.clone();
        schema["components"] = self.document["components"].clone();
        let options = jsonschema::options().should_validate_formats(true);
        let validator = options.build(&schema).unwrap();
        validator
            .iter_errors(value)
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect()
    }

    /// Checks a value against a named schema, and notes which fields it has, at any depth.
    pub(crate) fn check(&mut self, name: &str, value: &Value) {
        let reference = json!({"$ref": format!("#/components/schemas/{name}")});
        assert_eq!(self.faults(&reference, value), [""; 0], "{name}: {value:#}");
        self.note_named(name, value);
    }

    fn note_named(&mut self, name: &str, value: &Value) {
        let schema = self.schemas()[name].clone();
        if let Some(members) = value.as_object() {
            let given: BTreeSet<String> = members.keys().cloned().collect();
            let described = self.fields(&schema);
            let undescribed: Vec<&String> = given.difference(&described).collect();
            if !described.is_empty() {
                assert!(undescribed.is_empty(), "{name} has {undescribed:?}");
            }
            let own: BTreeSet<String> = given.intersection(&Self::own_fields(&schema)).cloned().collect();
            self.seen.entry(name.to_owned()).or_default().extend(own.clone());
            let always = self.always.entry(name.to_owned()).or_insert_with(|| own.clone());
            always.retain(|field| own.contains(field));
        }
        self.note(&schema, value);
    }

    fn note(&mut self, schema: &Value, value: &Value) {
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.strip_prefix("#/components/schemas/").unwrap();
            return self.note_named(name, value);
        }
        for keyword in ["allOf", "oneOf", "anyOf"] {
            for part in schema[keyword].as_array().into_iter().flatten() {
                if self.faults(part, value).is_empty() {
                    self.note(part, value);
                }
            }
        }
        for (name, member) in value.as_object().into_iter().flatten() {
            self.note(&schema["properties"][name], member);
        }
        for item in value.as_array().into_iter().flatten() {
            self.note(&schema["items"], item);
        }
    }
}
