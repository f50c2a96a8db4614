//! The abilities of providers, as their interfaces document them. The planner is held to all of
//! them, before the clients exist.

use pontoon_core::addresses::{Abilities, AccountSetup};
use pontoon_core::model::Families;

use super::scene::able;

/// A provider's name and abilities.
pub type Profile = (&'static str, Abilities);

/// Every provider. `digitalocean` is the one with a client.
pub const PROFILES: [Profile; 5] = [
    (
        "digitalocean",
        Abilities {
            moves_at_once: true,
            families: Families::BOTH,
            per_machine: 1,
            places_new: Families::V4,
            marks_new: false,
            region_required: true,
            lists_by_machine: false,
            displaces_own: false,
        },
    ),
    // One access config for each interface; deterministic names.
    (
        "gcp",
        Abilities {
            moves_at_once: false,
            families: Families::BOTH,
            per_machine: 1,
            places_new: Families::NONE,
            marks_new: true,
            region_required: true,
            lists_by_machine: true,
            displaces_own: true,
        },
    ),
    // Tags in the call that allocates; a region is part of the endpoint.
    (
        "aws",
        Abilities {
            moves_at_once: true,
            families: Families::V4,
            per_machine: 1,
            places_new: Families::NONE,
            marks_new: true,
            region_required: false,
            lists_by_machine: false,
            displaces_own: false,
        },
    ),
    // Each step writes a whole network interface.
    (
        "azure",
        Abilities {
            moves_at_once: false,
            families: Families::BOTH,
            per_machine: 1,
            places_new: Families::NONE,
            marks_new: true,
            region_required: true,
            lists_by_machine: false,
            displaces_own: false,
        },
    ),
    // Many addresses for each server; labels in the call that creates.
    (
        "hetzner",
        Abilities {
            moves_at_once: true,
            families: Families::BOTH,
            per_machine: 20,
            places_new: Families::BOTH,
            marks_new: true,
            region_required: true,
            lists_by_machine: false,
            displaces_own: false,
        },
    ),
];

/// The account of a profile.
pub fn account((_, abilities): Profile) -> AccountSetup {
    able(|one| *one = abilities)
}
