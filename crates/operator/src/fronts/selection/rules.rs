//! The API server's checks of selectors and tolerations before storing.

use kube::core::Rule;
use schemars::Schema;

use crate::api::cel::{Empty, insert, one_of, quoting_self};

/// A label selector, as far as a pattern can tell. The operator parses it in full.
pub(super) fn selector(field: &mut Schema) {
    // A trailing comma makes all requirements look alike.
    let check =
        format!(r"self.matches(r'^\s*$') || (self + ',').matches(r'^({},)+$')", requirement());
    let message = "is not a label selector such as app=web,tier!=db,zone in (a,b),!old";
    insert(field, Rule::new(check).message(quoting_self(message)));
}

/// A toleration's operator.
pub(super) fn toleration_operator(field: &mut Schema) {
    one_of(field, "operator", &["Exists", "Equal"], Empty::Allowed);
}

/// A toleration's effect.
pub(super) fn toleration_effect(field: &mut Schema) {
    one_of(field, "effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"], Empty::Allowed);
}

/// One requirement of a label selector: `key`, `!key`, `key=value`, `key==value`,
/// `key!=value`, `key in (a,b)`, `key notin (a,b)`, `key>1`, `key<1`.
fn requirement() -> String {
    let name = "[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?";
    let key = format!("([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?{name}");
    let value = format!(r"\s*({name})?\s*");
    let comparison = format!(r"\s*(==?|!=){value}|\s*[<>]\s*-?[0-9]+\s*");
    let set = format!(r"\s+(in|notin)\s*\({value}(,{value})*\)\s*");
    format!(r"\s*({key}({comparison}|{set}|\s*)|!\s*{key}\s*)")
}
