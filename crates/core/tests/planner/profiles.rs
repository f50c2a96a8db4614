//! The abilities of providers, with and without a client. The planner is held to all of them.

#[allow(dead_code)] // ACME itself has a row too, which no planner test needs.
#[path = "../../../providers/src/acme/profiles.rs"]
mod table;

use pontoon_core::addresses::{Abilities, AccountSetup};
use pontoon_core::model::Families;

use super::scene::able;
pub use table::{PROFILES, Profile};

fn abilities(profile: &Profile) -> Abilities {
    Abilities {
        moves_at_once: profile.moves_at_once,
        families: Families { v4: true, v6: profile.six },
        per_machine: profile.per_machine,
        places_new: Families { v4: profile.places_four, v6: profile.places_six },
        marks_new: profile.marks_new,
        region_required: profile.region_required,
        lists_by_machine: profile.lists_by_machine,
        displaces_own: profile.displaces_own,
    }
}

/// The account of a profile.
pub fn account(profile: &Profile) -> AccountSetup {
    able(|one| *one = abilities(profile))
}
