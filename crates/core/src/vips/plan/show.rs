//! Writes a VIP on its Cluster, and completes what is missing.

use std::net::IpAddr;

use super::{Case, version_of};
use crate::model::{Family, Text};
use crate::plan::Draft;
use crate::vips::action::{EndpointWrite, IngressWrite, VipAction};
use crate::vips::fold::list;
use crate::vips::model::{Cluster, Ingress, Role, VipClaim};
use crate::vips::verdict::{Part, VipConflict, VipReason};

impl<'w> Case<'w> {
    /// Has the Cluster show the address of its claim. The Cluster shows nothing, or that address.
    pub(super) fn show(
        &self,
        cluster: &'w Cluster,
        role: Role,
        claim: &VipClaim,
        ip: IpAddr,
        draft: &mut Draft,
    ) -> VipReason {
        let class = match self.class(cluster) {
            Ok(class) => class,
            // Without the class no write is possible. A Cluster that shows a VIP already needs none.
            Err(_) if cluster.shown(role).is_some() => return VipReason::Allocated,
            Err(reason) => return reason,
        };
        let defines = class.is_some_and(|class| class.defines.contains(&role));
        let value = cluster.variable(role);
        let users_variable = value.filter(|value| defines && !is(value, ip));
        if let Some(value) = users_variable {
            let value = value.clone();
            return VipReason::Conflict(VipConflict::Variable { role, value, ip });
        }
        let shown = match role {
            Role::ControlPlane => cluster.host.is_some() && cluster.port.is_some(),
            Role::Ingress => shows(&cluster.ingress, ip),
        };
        if !shown || (defines && value.is_none()) {
            let write = self.write(cluster, (role, ip, defines), claim);
            return self.attempt(write, draft).unwrap_or(VipReason::Writing(ip));
        }
        match class {
            Some(class) if !defines && role == Role::ControlPlane => {
                VipReason::VariableMissing(class.name.clone())
            }
            _ => VipReason::Allocated,
        }
    }

    fn write(
        &self,
        cluster: &Cluster,
        (role, ip, variable): (Role, IpAddr, bool),
        claim: &VipClaim,
    ) -> VipAction {
        let (key, object) = (self.key.clone(), version_of(cluster));
        let claimed_at = claim.created_at;
        if role == Role::Ingress {
            return VipAction::SetIngress(IngressWrite {
                cluster: key,
                object,
                ip,
                variable,
                claimed_at,
            });
        }
        let port = cluster.port.unwrap_or(self.world.settings.vips.port);
        let write = EndpointWrite { cluster: key, object, host: ip, port, variable, claimed_at };
        match cluster.host {
            None => VipAction::SetEndpoint(write),
            Some(_) => VipAction::RepairEndpoint(write),
        }
    }

    /// Lists the addresses of both families on the Cluster.
    pub(super) fn list(
        &self,
        cluster: &Cluster,
        role: Role,
        ips: &[IpAddr],
        part: &mut Part,
        draft: &mut Draft,
    ) {
        if cluster.listed.get(&role) == Some(&list(ips)) {
            return;
        }
        let (key, object) = (self.key.clone(), version_of(cluster));
        let write = VipAction::ListAddresses { cluster: key, object, role, ips: ips.to_vec() };
        let failure = self.attempt(write, draft);
        part.reason = failure.unwrap_or(VipReason::Writing(ips[1]));
    }
}

/// Whether a text is an address, however written.
pub(super) fn is(text: &str, ip: IpAddr) -> bool {
    text.parse() == Ok(ip)
}

/// Whether annotation and label show a VIP. A label cannot hold an IPv6 address.
fn shows(ingress: &Ingress, ip: IpAddr) -> bool {
    let has = |value: &Option<Text>| value.as_ref().is_some_and(|value| is(value, ip));
    has(&ingress.annotation) && (Family::of(ip) == Family::V6 || has(&ingress.label))
}
