//! Names that other programs read, on objects of every kind: annotations, the finalizer, condition
//! types.

/// A name under our own prefix. The operator's code spells the prefix here alone.
macro_rules! own {
    ($name:literal) => {
        concat!("pontoon.dev/", $name)
    };
}
pub(crate) use own;

/// The prefix of every name that Pontoon introduced.
pub const PREFIX: &str = own!("");

/// On a pool: its ledger, with the reserved addresses and the open intents.
pub const ADDRESSES_ANNOTATION: &str = own!("addresses");

/// Finalizer of a pool. The pool stays until its reserved addresses are released.
pub const RELEASE_FINALIZER: &str = own!("release");

/// On a pool, set by a person: how a reservation with an unknown outcome ended.
pub const RESOLVE_CREATE_ANNOTATION: &str = own!("resolve-create");

/// On a pool or a record set, set by a person: the reason for pausing the object.
pub const PAUSED_ANNOTATION: &str = own!("paused");

/// The condition that is `True` when everything in the spec is in place. A pool with all its
/// addresses in place is `False` with the reason [`DNS_NOT_READY`] if its DNS record stays broken.
pub const CONDITION_READY: &str = "Ready";

/// The condition that is `True` while the operator works towards the spec.
pub const CONDITION_RECONCILING: &str = "Reconciling";

/// The condition that is `True` when the spec cannot be reached without a person's help.
pub const CONDITION_STALLED: &str = "Stalled";

/// The condition of a pool that is `True` when its DNS record lists the right addresses.
pub const CONDITION_DNS: &str = "DNSReady";

/// The reason of a pool with all its addresses in place and a DNS record that stays broken.
pub const DNS_NOT_READY: &str = "DNSNotReady";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_and_the_finalizer_are_under_our_prefix() {
        let annotations = [ADDRESSES_ANNOTATION, RESOLVE_CREATE_ANNOTATION, PAUSED_ANNOTATION];
        for ours in annotations.into_iter().chain([RELEASE_FINALIZER]) {
            assert!(ours.starts_with(PREFIX), "{ours}");
        }
    }
}
