//! Settings for VIPs.

use super::job::Role;

/// Settings for VIPs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VipSettings {
    /// The port of an endpoint for which the user names none.
    pub port: u16,
    /// Whether each claim gets a holder, which keeps the address of a deleted Cluster until the
    /// Cluster's machines are gone.
    pub holds: bool,
    /// Words for messages.
    pub names: &'static VipNames,
}

/// Names that users know, for messages.
#[derive(Debug, PartialEq, Eq)]
pub struct VipNames {
    /// The label and annotation with the classes of a VIP pool.
    pub classes: &'static str,
    /// The label and annotation with the roles of a VIP pool.
    pub roles: &'static str,
    /// The variable with the endpoint's VIP.
    pub variable: &'static str,
    /// The variable with the ingress VIP.
    pub ingress_variable: &'static str,
}

impl VipNames {
    /// The variable of a role.
    pub(crate) fn variable(&self, role: Role) -> &'static str {
        match role {
            Role::ControlPlane => self.variable,
            Role::Ingress => self.ingress_variable,
        }
    }
}

static PLAIN: VipNames =
    VipNames { classes: "class", roles: "role", variable: "vip", ingress_variable: "ingress-vip" };

impl Default for VipSettings {
    fn default() -> Self {
        Self { port: 6443, holds: false, names: &PLAIN }
    }
}
