//! Parts of the API server's checks of an object before storing: rules in CEL, with messages for
//! people. The rules themselves are in the fronts.
//!
//! FLIPOP's definitions checked next to nothing, so stored objects may break any rule, and
//! must stay updatable. Kubernetes (1.30 and later) skips a rule on a single field while the field
//! is unchanged. A rule across fields runs on every edit of the spec, so such rules let pass a spec
//! that was already broken (see [`unless_already_broken`]).
//!
//! The API server refuses rules that could become expensive, hence the limits on lengths. Rules may
//! only use the CEL functions of the previous Kubernetes release: `isIP()` would make 1.31 the
//! minimum, so addresses are checked by a pattern.
//!
//! Enums are not used: the API server stops at the first wrong enum, and adds a second line of its
//! own.

use kube::core::{Message, Rule, validate};
use schemars::Schema;

/// Whether a field may be set to the empty text.
pub(crate) enum Empty {
    /// The empty text is accepted and means *unset*.
    Allowed,
    /// The empty text is refused.
    Refused,
}

/// Adds a rule that the text is in `known`. The message lists the known texts.
pub(crate) fn one_of(field: &mut Schema, what: &str, known: &[&str], empty: Empty) {
    let accepted: Vec<_> = match empty {
        Empty::Allowed => [""].iter().chain(known).copied().collect(),
        Empty::Refused => known.to_vec(),
    };
    let rule = Rule::new(format!("self in {}", words(&accepted)));
    let message = format!("is not a known {what}; known: {}", known.join(", "));
    insert(field, rule.message(quoting_self(&message)));
}

/// A message that begins with the refused text.
pub(crate) fn quoting_self(message: &str) -> Message {
    Message::Expression(format!(r#"'"' + self + '" {message}'"#))
}

/// A rule that exempts objects that broke it before. `{}` in the check stands for the value.
pub(crate) fn unless_already_broken(check: &str) -> Rule {
    let now = check.replace("{}", "self");
    let before = check.replace("{}", "oldSelf.value()");
    Rule::new(format!("{now} || (oldSelf.hasValue() && !({before}))")).optional_old_self(true)
}

/// Adds a rule to a schema.
pub(crate) fn insert(schema: &mut Schema, rule: Rule) {
    // `validate` fails only if a rule cannot be written as JSON; a rule is a few texts.
    let _ = validate(schema, rule);
}

/// A CEL list of texts.
pub(crate) fn words(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    format!("[{}]", quoted.join(", "))
}
