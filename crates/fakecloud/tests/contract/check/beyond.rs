//! Checks beyond a vendor's document, which often demands less than the vendor does.

use std::sync::Arc;

use serde_json::{Value, json};

use super::schema::{Compiler, Schema};

/// A vendor's rules that its document lacks.
#[derive(Debug)]
pub struct Beyond {
    /// Required fields of the object or objects under a key of an answer.
    pub fields: &'static [(&'static str, &'static [&'static str])],
    /// A property of these objects that has this schema of the document.
    pub property: Option<(&'static str, &'static str)>,
    /// Checks the request body of an operation; the error says why.
    pub request: fn(&str, &Value) -> Result<(), String>,
}

impl Beyond {
    /// No further rules: the document says everything.
    pub const NOTHING: Self = Self { fields: &[], property: None, request: |_, _| Ok(()) };

    /// The rules for a response with the given top-level properties.
    pub(super) fn response(
        &self,
        envelope: &[String],
        compiler: &Compiler,
    ) -> Result<Further, String> {
        let shown = |(key, _): &&(&str, _)| envelope.iter().any(|one| one == key);
        let fields: Vec<_> = self.fields.iter().filter(shown).copied().collect();
        let property =
            self.property.filter(|(_, schema)| !fields.is_empty() && compiler.has(schema));
        let compiled = property.map(|(name, schema)| {
            let reference = json!({"$ref": format!("#/components/schemas/{schema}")});
            Ok::<_, String>((name, compiler.compile(&reference)?))
        });
        Ok(Further { fields, property: compiled.transpose()? })
    }
}

/// The further rules for a response.
#[derive(Debug)]
pub(super) struct Further {
    fields: Vec<(&'static str, &'static [&'static str])>,
    property: Option<(&'static str, Arc<Schema>)>,
}

impl Further {
    /// Checks a response body; the error says why.
    pub(super) fn check(&self, body: &Value) -> Result<(), String> {
        for (key, fields) in &self.fields {
            let objects = match &body[key] {
                Value::Array(items) => items.as_slice(),
                one => std::slice::from_ref(one),
            };
            for object in objects {
                if let Some(missing) = fields.iter().find(|field| object.get(field).is_none()) {
                    return Err(format!("{key}: {missing} is missing"));
                }
                let Some((name, schema)) = &self.property else { continue };
                if let Some(value) = object.get(name).filter(|value| !value.is_null()) {
                    schema.check(value).map_err(|why| format!("{key}/{name}{why}"))?;
                }
            }
        }
        Ok(())
    }
}
