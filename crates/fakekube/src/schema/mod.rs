//! Schemas of custom kinds: pruning, defaults and validation of their objects.
//!
//! In: `openAPIV3Schema` of a CustomResourceDefinition, and objects as JSON. Out: pruned and
//! defaulted objects, and [`Cause`]s with the server's messages. All functions are pure.
//!
//! The server's steps for a create are, in order: [`Structural::unknown_fields`] if the client asks
//! for strict or warning field validation, [`Structural::prune`], [`Structural::default`],
//! [`Structural::validate`]. Unchanged parts of an update are not validated again (ratcheting),
//! except by rules that compare with the old object.

mod budgets;
mod builtin;
mod cause;
mod correlation;
mod counts;
mod fields;
mod functions;
mod lists;
mod metadata;
mod names;
mod node;
mod number;
mod outcome;
mod rules;
mod selectors;
mod text;
mod value;
mod variables;
mod workloads;

use serde_json::Value;

pub use builtin::builtin_validate;
pub use cause::{Cause, invalid_message};
pub(crate) use workloads::warnings as workload_warnings;

use cause::NO_FIELD;
use correlation::Correlation;
use metadata::Naming;
use node::Node;
use outcome::Outcome;
use value::Check;

/// The compiled schema of a custom kind's version.
#[derive(Debug)]
pub struct Structural {
    root: Node,
}

impl Structural {
    /// Parses `spec.versions[i].schema.openAPIV3Schema`. A missing schema (null) declares no field.
    ///
    /// # Errors
    ///
    /// If the value is not a schema, or a rule is not CEL; the text says which. Only the real
    /// server checks that the schema is structural, and the cost of its rules.
    pub fn from_crd_version(schema: &Value) -> Result<Self, String> {
        let root = match schema {
            Value::Null => Node::default(),
            schema => Node::parse(schema)?,
        };
        Ok(Self { root })
    }

    /// Removes undeclared fields, and nulls that are neither allowed nor have a default.
    /// `apiVersion`, `kind` and `metadata` are unchanged.
    pub fn prune(&self, object: &mut Value) {
        fields::prune(object, &self.root);
        fields::drop_nulls(object, Some(&self.root));
    }

    /// The sorted paths of the fields that [`prune`](Self::prune) removes, such as `spec.ips[0].x`.
    /// Fields of `metadata` are not included.
    #[must_use]
    pub fn unknown_fields(&self, object: &Value) -> Vec<String> {
        fields::prune(&mut object.clone(), &self.root)
    }

    /// Fills in the schema's defaults for missing values.
    pub fn default(&self, object: &mut Value) {
        fields::default(object, &self.root);
    }

    /// All violations of an object: of its metadata, its values, its lists, and then of its rules,
    /// unless the earlier violations prevent rules. With an old object, checks an update.
    ///
    /// Both objects must be pruned and defaulted. `resourceVersion` is not checked.
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
    /// object with another status. Only the values of the status are checked.
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

    /// The checks after those of the values: lists and rules.
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

/// Violations after which the server does not run rules.
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
