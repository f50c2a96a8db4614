//! Settings for VIPs.

/// Settings for VIPs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VipSettings {
    /// The port of an endpoint for which the user names none.
    pub port: u16,
    /// Whether each claim gets a holder, which keeps the address of a deleted Cluster until the
    /// Cluster's machines are gone.
    pub holds: bool,
}

impl Default for VipSettings {
    fn default() -> Self {
        Self { port: 6443, holds: false }
    }
}
