//! Checks beyond the document. DigitalOcean's document marks few fields as required, accepts any
//! action body with a type, and any object as the droplet of an address.

use std::sync::Arc;

use serde_json::{Value, json};

use super::schema::{Compiler, Schema};

/// Required fields of the objects under a key, regardless of the document.
const FIELDS: [(&str, &[&str]); 10] = [
    ("reserved_ip", &["ip", "region", "locked", "project_id"]),
    ("reserved_ips", &["ip", "region", "locked", "project_id"]),
    ("floating_ip", &["ip", "region", "locked", "project_id"]),
    ("floating_ips", &["ip", "region", "locked", "project_id"]),
    ("reserved_ipv6", &["ip", "region_slug", "reserved_at"]),
    ("reserved_ipv6s", &["ip", "region_slug", "reserved_at"]),
    ("action", ACTION),
    ("actions", ACTION),
    ("domain_record", RECORD),
    ("domain_records", RECORD),
];
const ACTION: &[&str] = &[
    "id",
    "status",
    "type",
    "started_at",
    "completed_at",
    "resource_id",
    "resource_type",
    "region",
    "region_slug",
];
const RECORD: &[&str] =
    &["id", "type", "name", "data", "priority", "port", "ttl", "weight", "flags", "tag"];

/// Operations whose body is an action on an address.
const ACTIONS: [&str; 3] =
    ["reservedIPsActions_post", "floatingIPsAction_post", "reservedIPv6Actions_post"];

/// Checks a request body; the error says why.
pub(super) fn request(operation: &str, body: &Value) -> Result<(), String> {
    if ACTIONS.contains(&operation) && body["type"] == "assign" && !body["droplet_id"].is_u64() {
        return Err("an assign needs a droplet_id".to_owned());
    }
    Ok(())
}

/// The checks for a response.
#[derive(Debug)]
pub(super) struct Own {
    /// The key in the body, and the required fields of its object or objects.
    fields: Vec<(String, &'static [&'static str])>,
    /// The document's schema of a droplet, if the response shows addresses.
    droplet: Option<Arc<Schema>>,
}

impl Own {
    /// The checks for a response with the given top-level properties.
    pub(super) fn new(envelope: &[String], compiler: &Compiler) -> Result<Self, String> {
        let fields: Vec<_> = FIELDS
            .iter()
            .filter(|(key, _)| envelope.iter().any(|e| e == key))
            .map(|(key, fields)| ((*key).to_owned(), *fields))
            .collect();
        let reference = json!({"$ref": "#/components/schemas/droplet"});
        let known = compiler.has("droplet") && !fields.is_empty();
        let droplet = known.then(|| compiler.compile(&reference)).transpose()?;
        Ok(Self { fields, droplet })
    }
}

/// Checks a response body; the error says why.
pub(super) fn response(own: &Own, body: &Value) -> Result<(), String> {
    for (key, fields) in &own.fields {
        let objects = match &body[key] {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        for object in objects {
            if let Some(missing) = fields.iter().find(|field| object.get(field).is_none()) {
                return Err(format!("{key}: {missing} is missing"));
            }
            let droplet = object.get("droplet").filter(|droplet| !droplet.is_null());
            if let (Some(droplet), Some(schema)) = (droplet, &own.droplet) {
                schema.check(droplet).map_err(|why| format!("{key}/droplet{why}"))?;
            }
        }
    }
    Ok(())
}
