//! The schema of a custom kind: which fields its objects have, what they may hold, and what the
//! API server says about those that are wrong.
//!
//! In: `openAPIV3Schema` of a CustomResourceDefinition, and objects as JSON. Out: pruned and
//! defaulted objects, and [`Cause`]s in the server's words. All functions are pure.
//!
//! The server's steps for a create are, in this order: [`Structural::unknown_fields`] where the
//! client asks for strict or warning field validation, [`Structural::prune`],
//! [`Structural::default`], [`Structural::validate`]. What an update leaves unchanged is not
//! validated again (ratcheting), except by rules that compare with the old object.

mod builtin;
mod cause;
mod correlation;
mod fields;
mod functions;
mod lists;
mod metadata;
mod names;
mod node;
mod number;
mod outcome;
mod rules;
mod text;
mod value;
mod variables;

use serde_json::Value;

pub use builtin::builtin_validate;
pub use cause::{Cause, invalid_message};

use cause::NO_FIELD;
use correlation::Correlation;
use metadata::Naming;
use node::Node;
use outcome::Outcome;
use value::Check;

/// The schema of one version of a custom kind, compiled.
#[derive(Debug)]
pub struct Structural {
    root: Node,
}

impl Structural {
    /// Reads `spec.versions[i].schema.openAPIV3Schema`. A missing schema (null) knows no field.
    ///
    /// # Errors
    ///
    /// When it is not a schema, or a rule is not CEL; the text says which. Whether the schema is
    /// structural, and what its rules could cost, only the real server checks.
    pub fn from_crd_version(schema: &Value) -> Result<Self, String> {
        let root = match schema {
            Value::Null => Node::default(),
            schema => Node::parse(schema)?,
        };
        Ok(Self { root })
    }

    /// Removes the fields that the schema does not know, and nulls where it allows none and has
    /// no default. `apiVersion`, `kind` and `metadata` stay as they are.
    pub fn prune(&self, object: &mut Value) {
        fields::prune(object, &self.root);
        fields::drop_nulls(object, Some(&self.root));
    }

    /// The paths of the fields that [`prune`](Self::prune) removes, sorted, such as
    /// `spec.ips[0].x`; those of `metadata` are not among them.
    #[must_use]
    pub fn unknown_fields(&self, object: &Value) -> Vec<String> {
        fields::prune(&mut object.clone(), &self.root)
    }

    /// Puts the schema's defaults where a value is missing.
    pub fn default(&self, object: &mut Value) {
        fields::default(object, &self.root);
    }

    /// Everything that is wrong with an object: its metadata, then its values, then its lists,
    /// then, if those allow it, what its rules say. With an old object, as an update of it.
    ///
    /// Both are expected to be pruned and defaulted. `resourceVersion` is not looked at.
    #[must_use]
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<Cause> {
        let mut causes = metadata::check(new, old, Naming::Subdomain);
        let before = old.map(|old| Correlation::new(new, old, &self.root));
        let mut outcome = Check { before, root: true }.run(&self.root, new, "");
        if before.is_some_and(|before| before.unchanged()) {
            outcome = Outcome::default();
        }
        causes.extend(outcome.failures.into_iter().map(|failure| failure.cause("")));
        metadata::check_embedded(&self.root, new, "", &mut causes);
        self.finish(new, old, causes)
    }

    /// As [`validate`](Self::validate) for an update of the status subresource: `new` is the old
    /// object with another status. Of the values, only those of the status are checked.
    #[must_use]
    pub fn validate_status(&self, new: &Value, old: &Value) -> Vec<Cause> {
        let mut causes = metadata::check(new, Some(old), Naming::Subdomain);
        let status = new.get("status").zip(self.root.properties.get("status"));
        if let Some((status, schema)) = status {
            let before = Correlation::new(new, old, &self.root).key("status");
            let mut outcome = Check { before, root: false }.run(schema, status, "");
            if before.is_some_and(|before| before.unchanged()) {
                outcome = Outcome::default();
            }
            causes.extend(outcome.failures.into_iter().map(|failure| failure.cause("status")));
        }
        self.finish(new, Some(old), causes)
    }

    /// The checks that come after those of the values.
    fn finish(&self, new: &Value, old: Option<&Value>, mut causes: Vec<Cause>) -> Vec<Cause> {
        let repeated = |object: &Value| {
            let mut causes = Vec::new();
            lists::check(&self.root, object, "", &mut causes);
            causes
        };
        if old.is_none_or(|old| repeated(old).is_empty()) {
            causes.extend(repeated(new));
        }
        if self.root.ruled {
            if causes.iter().any(blocks_rules) {
                let detail = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
                causes.push(Cause::invalid(NO_FIELD, &Value::Null, detail));
            } else {
                causes.extend(rules::check(&self.root, new, old));
            }
        }
        causes
    }
}

/// Findings after which the server does not run rules.
fn blocks_rules(cause: &Cause) -> bool {
    matches!(
        cause.reason,
        "FieldValueNotSupported"
            | "FieldValueRequired"
            | "FieldValueTooLong"
            | "FieldValueTooMany"
            | "FieldValueTypeInvalid"
    )
}

#[cfg(test)]
mod tests;
