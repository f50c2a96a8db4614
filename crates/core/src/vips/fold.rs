//! Folds the start and the outcome of writes for VIPs into the world.

use super::action::{EndpointWrite, IngressWrite, Version, VipAction};
use super::model::{ClaimOwner, Cluster, Holder, Job, ObjectName, PoolId, VipClaim};
use super::world::Falls;
use crate::Time;
use crate::action::{Done, FailureKind, Outcome};
use crate::model::{ObjectKey, Text};
use crate::world::World;

impl World {
    pub(crate) fn vip_begins(&mut self, action: &VipAction) {
        let works = self.vips.works.entry(action.cluster().clone()).or_default();
        works.entry(action.task()).or_default().in_flight = true;
    }

    /// Folds in the outcome of a write. What was written is known at once; the watch confirms it.
    pub(crate) fn vip_ends(&mut self, action: VipAction, outcome: Outcome, now: Time) {
        let key = action.cluster().clone();
        self.dirty.insert(key.clone());
        let is_newer = self.has_newer(&action);
        let is_over = !self.vips.clusters.contains_key(&key) && is_newer;
        let Some(works) = self.vips.works.get_mut(&key) else { return };
        match outcome.result {
            Err(failure) => match works.get_mut(&action.task()) {
                // The version that the write lacked has been read already, or nothing is left.
                Some(_) if is_over || failure.kind == FailureKind::Conflict && is_newer => {
                    works.remove(&action.task());
                }
                Some(work) => work.unwritten(failure, now, outcome.jitter, &self.settings),
                None => {}
            },
            Ok(done) => {
                works.remove(&action.task());
                if works.is_empty() {
                    self.vips.works.remove(&key);
                }
                if let VipAction::DeleteClaim { cluster, job, .. } = &action {
                    self.gave_up(cluster, *job, outcome.jitter, now);
                }
                self.vip_done(action, &done, outcome.sent_at);
            }
        }
    }

    /// Whether the object of a write has a newer version, or exists by now.
    fn has_newer(&self, action: &VipAction) -> bool {
        let claim = |written: &Version| {
            let known = self.vips.claims.get(&written.name);
            known.is_none_or(|known| known.uid != written.uid || known.version > written.version)
        };
        let holder = |written: &Version| {
            let known = self.vips.holders.get(&written.name);
            known.is_none_or(|known| known.uid != written.uid || known.version > written.version)
        };
        let cluster = |key: &ObjectKey, written: &Version| {
            let known = self.vips.clusters.get(key);
            known.is_none_or(|known| known.uid != written.uid || known.version > written.version)
        };
        match action {
            VipAction::CreateClaim { cluster, job, .. } => {
                self.vips.claims.contains_key(&named(cluster, *job))
            }
            VipAction::AdoptClaim { claim: written, .. }
            | VipAction::DeleteClaim { claim: written, .. } => claim(written),
            VipAction::SetEndpoint(write) | VipAction::RepairEndpoint(write) => {
                cluster(&write.cluster, &write.object)
            }
            VipAction::SetIngress(write) => cluster(&write.cluster, &write.object),
            VipAction::ListAddresses { cluster: key, object, .. } => cluster(key, object),
            VipAction::KeepHolder { cluster, job, holder: None, .. } => {
                self.vips.holders.contains_key(&named(cluster, *job))
            }
            VipAction::KeepHolder { holder: Some(written), .. }
            | VipAction::DropHolder { holder: written, .. } => holder(written),
        }
    }

    fn vip_done(&mut self, action: VipAction, done: &Done, sent_at: Time) {
        match (action, done) {
            (VipAction::CreateClaim { cluster, uid, job, pool }, Done::VipCreated { .. }) => {
                self.claim_created(&cluster, (uid, job, pool), done, sent_at);
            }
            (
                VipAction::AdoptClaim { cluster, claim, owner, holder, .. },
                Done::VipWritten { version },
            ) => self.claim_adopted(&cluster.name, &claim, (owner, holder), *version),
            (VipAction::DeleteClaim { claim, .. }, Done::VipDeleted) => {
                let known = self.vips.claims.get_mut(&claim.name);
                if let Some(known) = known.filter(|known| known.uid == claim.uid) {
                    known.deleting = true;
                }
            }
            (
                VipAction::SetEndpoint(write) | VipAction::RepairEndpoint(write),
                Done::VipWritten { version },
            ) => self.endpoint_written(&write, *version),
            (VipAction::SetIngress(write), Done::VipWritten { version }) => {
                self.ingress_written(&write, *version);
            }
            (
                VipAction::ListAddresses { cluster, object, role, ips },
                Done::VipWritten { version },
            ) => self.cluster_written(&cluster, &object, *version, |one| {
                one.listed.insert(role, list(&ips));
            }),
            (VipAction::KeepHolder { cluster, uid: owner, job, .. }, Done::VipCreated { .. }) => {
                self.holder_kept(&cluster, owner, job, done);
            }
            (VipAction::DropHolder { holder, .. }, Done::VipDeleted) => {
                let known = self.vips.holders.get_mut(&holder.name);
                if let Some(known) = known.filter(|known| known.uid == holder.uid) {
                    known.deleting = true;
                }
            }
            _ => {}
        }
    }

    fn claim_created(
        &mut self,
        cluster: &ObjectKey,
        (owner, job, pool): (Text, Job, PoolId),
        done: &Done,
        sent_at: Time,
    ) {
        let Done::VipCreated { uid, version } = done else { return };
        let name = named(cluster, job);
        let known = self.vips.claims.get_mut(&name);
        if let Some(known) = known.filter(|known| known.uid == *uid) {
            known.created_at = sent_at;
            return;
        }
        self.set_vip_claim(VipClaim {
            name,
            uid: uid.clone(),
            version: *version,
            created_at: sent_at,
            owner: Some(ClaimOwner {
                uid: owner,
                name: cluster.name.clone(),
                outdated: false,
                controller: true,
            }),
            holder: None,
            foreign: false,
            label: Some(cluster.name.clone()),
            cluster: Some(cluster.name.clone()),
            pool: Some(pool),
            bound: None,
            exhausted: false,
            deleting: false,
            moved_away: false,
        });
    }

    fn claim_adopted(
        &mut self,
        cluster: &Text,
        claim: &Version,
        (uid, holder): (Text, Option<Text>),
        version: u64,
    ) {
        let known = self.vips.claims.get(&claim.name);
        let known = known.filter(|known| known.uid == claim.uid && known.version <= version);
        if let Some(known) = known.cloned() {
            let name = cluster.clone();
            self.set_vip_claim(VipClaim {
                version,
                owner: Some(ClaimOwner { uid, name, outdated: false, controller: true }),
                holder,
                label: Some(cluster.clone()),
                ..known
            });
        }
    }

    fn endpoint_written(&mut self, write: &EndpointWrite, version: u64) {
        self.cluster_written(&write.cluster, &write.object, version, |cluster| {
            let host: Text = write.host.to_string().into();
            if write.variable {
                cluster.variable = Some(host.clone());
            }
            (cluster.host, cluster.port) = (Some(host), Some(write.port));
        });
    }

    fn ingress_written(&mut self, write: &IngressWrite, version: u64) {
        self.cluster_written(&write.cluster, &write.object, version, |cluster| {
            let ip: Text = write.ip.to_string().into();
            if write.variable {
                cluster.ingress.variable = Some(ip.clone());
            }
            if write.label() {
                cluster.ingress.label = Some(ip.clone());
            }
            cluster.ingress.annotation = Some(ip);
        });
    }

    /// Updates a Cluster after a write of ours, unless a newer version has been read.
    fn cluster_written(
        &mut self,
        key: &ObjectKey,
        object: &Version,
        version: u64,
        change: impl FnOnce(&mut Cluster),
    ) {
        let known = self.vips.clusters.get(key);
        let known = known.filter(|known| known.uid == object.uid && known.version <= version);
        if let Some(mut cluster) = known.cloned() {
            change(&mut cluster);
            cluster.version = version;
            self.set_cluster(cluster);
        }
    }

    fn holder_kept(&mut self, cluster: &ObjectKey, owner: Text, job: Job, done: &Done) {
        let Done::VipCreated { uid, version } = done else { return };
        self.set_vip_holder(Holder {
            name: named(cluster, job),
            uid: uid.clone(),
            version: *version,
            cluster: cluster.name.clone(),
            cluster_uid: owner,
            deleting: false,
            moved_away: false,
        });
    }

    /// Counts a claim that was given up, and backs off.
    fn gave_up(&mut self, cluster: &ObjectKey, job: Job, jitter: u16, now: Time) {
        let jobs = self.vips.falls.entry(cluster.clone()).or_default();
        let falls = jobs.entry(job).or_default();
        let count = falls.count.saturating_add(1);
        let not_before = now + self.settings.back_off(count, jitter);
        *falls = Falls { count, not_before };
    }
}

fn named(cluster: &ObjectKey, job: Job) -> ObjectName {
    ObjectName::new(cluster.namespace.clone(), job.claim(&cluster.name))
}

/// Addresses as a list, separated by commas.
pub(crate) fn list(ips: &[std::net::IpAddr]) -> Text {
    let ips: Vec<_> = ips.iter().map(ToString::to_string).collect();
    ips.join(",").into()
}
