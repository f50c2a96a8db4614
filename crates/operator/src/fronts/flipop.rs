//! Names that FLIPOP's kinds share: the group, its version, the annotations of nodes, and FLIPOP
//! itself as their predecessor.

use pontoon_core::model::{Family, Mark, MarkPlace, Tells};

use crate::leadership::Predecessor;

/// FLIPOP. One Lease for both of its kinds.
pub static FLIPOP: Predecessor = Predecessor {
    lease: "floating-ip-pool-controller-leader-election",
    renamable: false,
    namespace: "flipop",
};

/// The API group.
pub const GROUP: &str = "flipop.digitalocean.com";

/// The only API version.
pub const VERSION: &str = "v1alpha1";

/// On a node: its IPv4 addresses, confirmed by the provider.
pub const IPV4_ANNOTATION: &str = "flipop.digitalocean.com/ipv4-reserved-ip";

/// On a node: its IPv6 addresses, confirmed by the provider.
pub const IPV6_ANNOTATION: &str = "flipop.digitalocean.com/ipv6-reserved-ip";

/// The annotations of nodes that serve addresses: IPv4, IPv6. Pools write them, record sets may
/// list the first.
pub(super) static MARKS: [Mark; 2] = [
    Mark {
        place: MarkPlace::Annotation,
        key: IPV4_ANNOTATION,
        tells: Tells::Addresses(Family::V4),
    },
    Mark {
        place: MarkPlace::Annotation,
        key: IPV6_ANNOTATION,
        tells: Tells::Addresses(Family::V6),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_under_the_group() {
        for mark in &MARKS {
            assert_eq!(mark.key.split_once('/').map(|(prefix, _)| prefix), Some(GROUP));
        }
    }
}
