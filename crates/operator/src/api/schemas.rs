//! Schemas of Kubernetes types in our definitions. k8s-openapi has schemas of all its types or of none,
//! and takes twice as long to compile with them.

use schemars::JsonSchema;

/// Time in RFC 3339, as `metav1.Time` and `metav1.MicroTime`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
#[schemars(extend("format" = "date-time"))]
pub(crate) struct Time(String);

/// Condition contains details for one aspect of the current state of this API Resource.
//
// In the words of Kubernetes, which `kubectl explain` shows for the conditions of every kind.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Condition {
    /// lastTransitionTime is the last time the condition transitioned from one status to another. This
    /// should be when the underlying condition changed. If that is not known, then using the time when
    /// the API field changed is acceptable.
    last_transition_time: Time,

    /// message is a human readable message indicating details about the transition. This may be an empty
    /// string.
    message: String,

    /// observedGeneration represents the .metadata.generation that the condition was set based upon. For
    /// instance, if .metadata.generation is currently 12, but the .status.conditions[x].observedGeneration
    /// is 9, the condition is out of date with respect to the current state of the instance.
    observed_generation: Option<i64>,

    /// reason contains a programmatic identifier indicating the reason for the condition's last
    /// transition. Producers of specific condition types may define expected values and meanings for this
    /// field, and whether the values are considered a guaranteed API. The value should be a CamelCase
    /// string. This field may not be empty.
    reason: String,

    /// status of the condition, one of True, False, Unknown.
    status: String,

    /// type of condition in CamelCase or in foo.example.com/CamelCase.
    r#type: String,
}
