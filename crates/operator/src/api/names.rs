//! Names that other programs read: the group, its version, annotations, condition types.

/// A name under our own prefix: the only place that spells it.
macro_rules! own {
    ($name:literal) => {
        concat!("pontoon.dev/", $name)
    };
}
pub(crate) use own;

/// The group of both kinds.
pub const GROUP: &str = "flipop.digitalocean.com";

/// The only version of both kinds.
pub const VERSION: &str = "v1alpha1";

/// The prefix of every name that is ours and not a predecessor's.
pub const PREFIX: &str = own!("");

/// On a node: the IPv4 addresses that it holds, confirmed by the provider.
pub const IPV4_ANNOTATION: &str = "flipop.digitalocean.com/ipv4-reserved-ip";

/// On a node: the IPv6 addresses that it holds, confirmed by the provider.
pub const IPV6_ANNOTATION: &str = "flipop.digitalocean.com/ipv6-reserved-ip";

/// On a pool: the addresses that were created for it, and the creations whose outcome is open.
pub const ADDRESSES_ANNOTATION: &str = own!("addresses");

/// On a pool, a finalizer: it does not go before the addresses that were created for it are
/// given back.
pub const RELEASE_FINALIZER: &str = own!("release");

/// On a pool, set by a person: how a creation with an unknown outcome ended.
pub const RESOLVE_CREATE_ANNOTATION: &str = own!("resolve-create");

/// On a pool or a record set, set by a person: it is left alone, for this reason.
pub const PAUSED_ANNOTATION: &str = own!("paused");

/// The condition that is `True` when everything that the spec asks for is in place. Of a pool
/// whose addresses are, it is `False` with the reason [`DNS_NOT_READY`] if its DNS record lastingly
/// is not.
pub const CONDITION_READY: &str = "Ready";

/// The condition that is `True` while the operator is on its way there.
pub const CONDITION_RECONCILING: &str = "Reconciling";

/// The condition that is `True` when it cannot get there without somebody's help.
pub const CONDITION_STALLED: &str = "Stalled";

/// The condition of a pool that is `True` when its DNS record lists what it should.
pub const CONDITION_DNS: &str = "DNSReady";

/// The reason of a pool whose addresses are in place and whose DNS record lastingly is not.
pub const DNS_NOT_READY: &str = "DNSNotReady";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_the_predecessors_or_under_our_prefix() {
        let annotations = [ADDRESSES_ANNOTATION, RESOLVE_CREATE_ANNOTATION, PAUSED_ANNOTATION];
        for ours in annotations.into_iter().chain([RELEASE_FINALIZER]) {
            assert!(ours.starts_with(PREFIX), "{ours}");
        }
        for theirs in [IPV4_ANNOTATION, IPV6_ANNOTATION] {
            assert_eq!(theirs.split_once('/').map(|(prefix, _)| prefix), Some(GROUP));
        }
    }
}
