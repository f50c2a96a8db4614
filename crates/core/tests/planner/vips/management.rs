//! The API server of a management cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use pontoon_core::Time;
use pontoon_core::action::{
    Done, EndpointWrite, Failure, FailureKind, IngressWrite, Version, VipAction,
};
use pontoon_core::model::{ObjectKey, Text};
use pontoon_core::vips::model::{
    ClaimOwner, ClassRef, Cluster, ClusterClass, Holder, ObjectName, PoolId, VipAddress, VipClaim,
};
use pontoon_core::world::World;

use super::fixture::PoolOf;

/// The stored objects. Every write counts the version up.
#[derive(Clone, Debug, Default)]
pub struct Management {
    pub version: u64,
    pub clusters: BTreeMap<ObjectKey, Cluster>,
    pub classes: BTreeMap<ClassRef, ClusterClass>,
    pub claims: BTreeMap<ObjectName, VipClaim>,
    pub addresses: BTreeMap<ObjectName, VipAddress>,
    pub pools: BTreeMap<PoolId, PoolOf>,
    pub holders: BTreeMap<ObjectName, Holder>,
    /// The provider binds nothing.
    pub provider_down: bool,
    /// The provider says so on claims that it cannot serve, and never tries them again.
    pub provider_gives_up: bool,
}

type Answer = Result<Done, Failure>;

fn refuse(kind: FailureKind) -> Answer {
    Err(Failure::plain(kind, "the API server refuses"))
}

impl Management {
    pub fn next(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    pub fn set_cluster(&mut self, cluster: Cluster) {
        let version = self.next();
        self.clusters.insert(cluster.key.clone(), Cluster { version, ..cluster });
    }

    pub fn set_pool(&mut self, mut pool: PoolOf) {
        pool.pool.version = self.next();
        self.pools.insert(pool.pool.id.clone(), pool);
        self.count();
    }

    pub fn set_claim(&mut self, claim: VipClaim) {
        let version = self.next();
        self.claims.insert(claim.name.clone(), VipClaim { version, ..claim });
    }

    /// Shows the world every object as stored.
    pub fn show(&self, world: &mut World) {
        self.classes.values().for_each(|class| world.set_cluster_class(class.clone()));
        self.pools.values().for_each(|pool| world.set_vip_pool(pool.pool.clone()));
        self.clusters.values().for_each(|cluster| world.set_cluster(cluster.clone()));
        self.addresses.values().for_each(|address| world.set_vip_address(address.clone()));
        self.holders.values().for_each(|holder| world.set_vip_holder(holder.clone()));
        self.claims.values().for_each(|claim| world.set_vip_claim(claim.clone()));
        let clusters: BTreeSet<_> = self.clusters.keys().cloned().collect();
        world.retain_objects(&super::fixture::CLUSTER, &clusters);
        world.retain_cluster_classes(&self.classes.keys().cloned().collect());
        world.retain_vip_claims(&self.claims.keys().cloned().collect());
        world.retain_vip_addresses(&self.addresses.keys().cloned().collect());
        world.retain_vip_holders(&self.holders.keys().cloned().collect());
        for global in [false, true] {
            world.retain_vip_pools(global, &self.pools.keys().cloned().collect());
        }
    }

    /// Carries out a write, with its preconditions. Panics if a promise to users is broken.
    pub fn carry_out(&mut self, action: &VipAction, now: Time) -> Answer {
        match action {
            VipAction::CreateClaim { .. } => self.create_claim(action, now),
            VipAction::AdoptClaim { gone, .. } | VipAction::DropHolder { gone, .. }
                if self.clusters.values().any(|one| gone.contains(&one.uid)) =>
            {
                refuse(FailureKind::Conflict)
            }
            VipAction::AdoptClaim { cluster, claim, owner, holder, .. } => {
                let (name, uid) = (cluster.name.clone(), owner.clone());
                let owner = ClaimOwner { uid, name, outdated: false, controller: true };
                let (label, holder) = (cluster.name.clone(), holder.clone());
                self.write_claim(claim, |one| {
                    (one.owner, one.label, one.holder) = (Some(owner), Some(label), holder);
                })
            }
            VipAction::DeleteClaim { claim, .. } => self.delete_claim(claim),
            VipAction::SetEndpoint(write) => self.write_endpoint(write, true),
            VipAction::RepairEndpoint(write) => self.write_endpoint(write, false),
            VipAction::SetIngress(write) => self.write_ingress(write),
            VipAction::ListAddresses { cluster, object, role, ips } => {
                let list: Vec<_> = ips.iter().map(IpAddr::to_string).collect();
                self.write_cluster(cluster, object, |one| {
                    one.listed.insert(*role, list.join(",").into());
                })
            }
            VipAction::KeepHolder { .. } => self.keep_holder(action),
            VipAction::DropHolder { holder, .. } => {
                let stored = self.holders.get(&holder.name);
                if stored
                    .is_some_and(|one| (&one.uid, one.version) != (&holder.uid, holder.version))
                {
                    return refuse(FailureKind::Conflict);
                }
                self.holders.remove(&holder.name);
                Ok(Done::VipDeleted)
            }
        }
    }

    /// Writes an endpoint. A value that is there may not change.
    fn write_endpoint(&mut self, write: &EndpointWrite, sets: bool) -> Answer {
        let ip: Text = write.host.to_string().into();
        let free = |value: &Option<Text>| value.as_ref().is_none_or(|value| *value == ip);
        self.write_cluster(&write.cluster, &write.object, |one| {
            assert_eq!(one.host.is_none(), sets, "a host is overwritten");
            assert!(free(&one.host), "another host");
            assert!(one.port.is_none_or(|port| port == write.port), "another port");
            (one.host, one.port) = (Some(ip.clone()), Some(write.port));
            if write.variable {
                assert!(free(&one.variable), "a variable is overwritten");
                one.variable = Some(ip.clone());
            }
        })
    }

    /// Writes an ingress VIP. A value that is there may not change.
    fn write_ingress(&mut self, write: &IngressWrite) -> Answer {
        let ip: Text = write.ip.to_string().into();
        let free = |value: &Option<Text>| value.as_ref().is_none_or(|value| *value == ip);
        self.write_cluster(&write.cluster, &write.object, |one| {
            assert!(free(&one.ingress.annotation) && free(&one.ingress.label), "overwritten");
            one.ingress.annotation = Some(ip.clone());
            if write.label() {
                assert!(!ip.contains(':'), "no label can hold {ip}");
                one.ingress.label = Some(ip.clone());
            }
            if write.variable {
                assert!(free(&one.ingress.variable), "a variable is overwritten");
                one.ingress.variable = Some(ip.clone());
            }
        })
    }

    fn create_claim(&mut self, action: &VipAction, now: Time) -> Answer {
        let VipAction::CreateClaim { cluster, uid, job, pool } = action else { unreachable!() };
        let name = ObjectName::new(cluster.namespace.clone(), job.claim(&cluster.name));
        if self.claims.contains_key(&name) {
            return refuse(FailureKind::Conflict);
        }
        let version = self.next();
        let claim = VipClaim {
            uid: format!("claim-{version}").as_str().into(),
            version,
            // As the API server tells times: in full seconds.
            created_at: Time::from_micros(now.as_micros() / 1_000_000 * 1_000_000),
            owner: Some(ClaimOwner {
                uid: uid.clone(),
                name: cluster.name.clone(),
                outdated: false,
                controller: true,
            }),
            label: Some(cluster.name.clone()),
            cluster: Some(cluster.name.clone()),
            pool: Some(pool.clone()),
            ..super::site::claim(&name.name)
        };
        self.claims.insert(name.clone(), VipClaim { name, ..claim.clone() });
        Ok(Done::VipCreated { uid: claim.uid, version })
    }

    fn delete_claim(&mut self, claim: &Version) -> Answer {
        let Some(stored) = self.claims.get(&claim.name) else { return Ok(Done::VipDeleted) };
        if (&stored.uid, stored.version) != (&claim.uid, claim.version) {
            return refuse(FailureKind::Conflict);
        }
        assert!(!stored.is_bound(), "a bound claim is deleted");
        self.drop_claim(&claim.name);
        Ok(Done::VipDeleted)
    }

    fn keep_holder(&mut self, action: &VipAction) -> Answer {
        let VipAction::KeepHolder { cluster, uid, job, holder } = action else { unreachable!() };
        let name = ObjectName::new(cluster.namespace.clone(), job.claim(&cluster.name));
        let stored = self.holders.get(&name).map(|one| (one.uid.clone(), one.version));
        if stored != holder.as_ref().map(|one| (one.uid.clone(), one.version)) {
            return refuse(FailureKind::Conflict);
        }
        let version = self.next();
        let made = format!("holder-{version}").as_str().into();
        let own = stored.map_or(made, |(uid, _)| uid);
        let holder = Holder {
            name: name.clone(),
            uid: own.clone(),
            version,
            cluster: cluster.name.clone(),
            cluster_uid: uid.clone(),
            deleting: false,
            moved_away: false,
        };
        self.holders.insert(name, holder);
        Ok(Done::VipCreated { uid: own, version })
    }

    fn write_claim(&mut self, claim: &Version, change: impl FnOnce(&mut VipClaim)) -> Answer {
        let version = self.version + 1;
        match self.claims.get_mut(&claim.name) {
            None => return refuse(FailureKind::NotFound),
            Some(one) if (&one.uid, one.version) != (&claim.uid, claim.version) => {
                return refuse(FailureKind::Conflict);
            }
            Some(one) => {
                change(one);
                one.version = version;
            }
        }
        self.version = version;
        Ok(Done::VipWritten { version })
    }

    fn write_cluster(
        &mut self,
        key: &ObjectKey,
        object: &Version,
        change: impl FnOnce(&mut Cluster),
    ) -> Answer {
        let version = self.version + 1;
        match self.clusters.get_mut(key) {
            None => return refuse(FailureKind::NotFound),
            Some(one) if (&one.uid, one.version) != (&object.uid, object.version) => {
                return refuse(FailureKind::Conflict);
            }
            Some(one) => {
                assert!(!one.paused && !one.deleting, "{key} is to be left alone");
                change(one);
                one.version = version;
            }
        }
        self.version = version;
        Ok(Done::VipWritten { version })
    }
}
