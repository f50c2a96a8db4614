//! The abilities of vendors, as their interfaces document them: those with a client, and those
//! without one, which ACME plays.
//!
//! The client, its emulator and the tests of the planner share this table. All three compile this
//! file, because none of them may depend on another.

/// The abilities of a vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The vendor.
    pub name: &'static str,
    /// One call moves an address between machines.
    pub moves_at_once: bool,
    /// There are IPv6 addresses.
    pub six: bool,
    /// The most addresses of one family on a machine.
    pub per_machine: usize,
    /// The call that reserves an IPv4 address can assign it.
    pub places_four: bool,
    /// The call that reserves an IPv6 address can assign it.
    pub places_six: bool,
    /// A new address carries a mark.
    pub marks_new: bool,
    /// A reservation needs a region.
    pub region_required: bool,
    /// A listing names the machines and addresses that it is about.
    pub lists_by_machine: bool,
    /// An address takes the place of a machine's own.
    pub displaces_own: bool,
    /// Assigning and unassigning are operations, which end after the answer.
    pub operates: bool,
}

/// DigitalOcean.
pub const DIGITALOCEAN: Profile = Profile {
    name: "digitalocean",
    moves_at_once: true,
    six: true,
    per_machine: 1,
    places_four: true,
    places_six: false,
    marks_new: false,
    region_required: true,
    lists_by_machine: false,
    displaces_own: false,
    operates: true,
};

/// Google Cloud: one access config for each interface, deterministic names. The client leaves IPv6
/// addresses out.
pub const GCP: Profile = Profile {
    name: "gcp",
    moves_at_once: false,
    six: false,
    per_machine: 1,
    places_four: false,
    places_six: false,
    marks_new: true,
    region_required: true,
    lists_by_machine: true,
    displaces_own: true,
    operates: true,
};

/// AWS: tags in the call that allocates; a region is part of the endpoint.
pub const AWS: Profile = Profile {
    name: "aws",
    moves_at_once: true,
    six: false,
    per_machine: 1,
    places_four: false,
    places_six: false,
    marks_new: true,
    region_required: false,
    lists_by_machine: false,
    displaces_own: false,
    operates: false,
};

/// Azure: each step writes a whole network interface.
pub const AZURE: Profile = Profile {
    name: "azure",
    moves_at_once: false,
    six: true,
    per_machine: 1,
    places_four: false,
    places_six: false,
    marks_new: true,
    region_required: true,
    lists_by_machine: false,
    displaces_own: false,
    operates: true,
};

/// Hetzner: many addresses for each server; labels in the call that creates.
pub const HETZNER: Profile = Profile {
    name: "hetzner",
    moves_at_once: true,
    six: true,
    per_machine: 20,
    places_four: true,
    places_six: true,
    marks_new: true,
    region_required: true,
    lists_by_machine: false,
    displaces_own: false,
    operates: true,
};

/// ACME as itself: the least that a vendor can offer.
pub const ACME: Profile = Profile {
    name: "acme",
    moves_at_once: false,
    six: false,
    per_machine: 1,
    places_four: false,
    places_six: false,
    marks_new: false,
    region_required: true,
    lists_by_machine: false,
    displaces_own: false,
    operates: false,
};

/// The vendors that exist.
pub const PROFILES: [Profile; 5] = [DIGITALOCEAN, GCP, AWS, AZURE, HETZNER];
