//! Events of a management cluster.

use pontoon::management::{CLUSTER, names};
use serde_json::json;

use super::Player;
use crate::cluster::clusters::{
    FLEET, by_hand, class_name, cluster_name, manifest, vip_pool, vip_pool_patch,
};
use crate::clusters::{ClusterEvent, ManagementSetting, VipPoolEvent};
use crate::coverage::CHANGED;
use crate::management::Management;
use crate::schedule::What;
use crate::stage::BEGINS;

impl Player<'_> {
    /// The setting of the management cluster, and its controllers.
    fn managed(&self) -> Option<(&ManagementSetting, &Management)> {
        Some((self.schedule.setting.management.as_ref()?, self.management.as_ref()?))
    }

    /// Starts the controllers, and has the users create their Clusters.
    pub(super) fn start_management(&mut self) {
        let Some(setting) = &self.schedule.setting.management else { return };
        let (kube, user) = (self.stage.kube.clone(), self.stage.user.clone());
        let elapsed = jiff::SignedDuration::from_millis(self.stage.shared.now().cast_signed());
        let now = BEGINS.checked_add(elapsed).unwrap_or(BEGINS);
        let changed = self.stage.shared.managed.clone();
        let controllers =
            Management::start(kube, user, (now, self.schedule.seed), setting, changed);
        for (index, one) in setting.clusters.iter().enumerate() {
            controllers.want(&CLUSTER, cluster_name(index), FLEET, manifest(index, *one));
        }
        self.management = Some(controllers);
    }

    /// Begins or ends an event of the management cluster.
    pub(super) async fn management_event(&self, what: &What, begins: bool) {
        match *what {
            What::Cluster(which, what) => {
                self.cluster_event(usize::from(which), what, begins).await;
            }
            What::VipPool(which, what) => {
                self.vip_pool_event(usize::from(which), what, begins).await;
            }
            What::Class(which) => self.class_event(usize::from(which), begins).await,
            What::ControllersDown => self.controllers_down(begins),
            _ => {}
        }
    }

    async fn cluster_event(&self, which: usize, what: ClusterEvent, begins: bool) {
        let Some((setting, controllers)) = self.managed() else { return };
        let Some(which) = which.checked_rem(setting.clusters.len()) else { return };
        let (name, of) = (cluster_name(which), setting.clusters[which]);
        if begins {
            self.stage.shared.coverage().count(CHANGED, what.name());
        }
        match what {
            ClusterEvent::Deleted(propagation) if begins => {
                controllers.forget(&CLUSTER, &name);
                self.cluster.delete_cluster(&name, propagation).await;
            }
            ClusterEvent::Deleted(_) => {
                controllers.want(&CLUSTER, name, FLEET, manifest(which, of));
            }
            ClusterEvent::Replaced(propagation) if begins => {
                self.cluster.delete_cluster(&name, propagation).await;
            }
            ClusterEvent::Removed(propagation) if begins => {
                controllers.forget(&CLUSTER, &name);
                self.cluster.delete_cluster(&name, propagation).await;
            }
            ClusterEvent::MovedAway => {
                controllers.forget(&CLUSTER, &name);
                if begins {
                    self.cluster
                        .patch_of(&CLUSTER, &name, &json!({"spec": {"paused": true}}))
                        .await;
                } else {
                    self.cluster.take_away(&name).await;
                }
            }
            ClusterEvent::Host if begins => {
                self.cluster.write_host(&name, 100 + which).await;
            }
            _ => self.edit_cluster(which, what, begins).await,
        }
    }

    async fn edit_cluster(&self, which: usize, what: ClusterEvent, begins: bool) {
        let Some((setting, _)) = self.managed() else { return };
        let of = setting.clusters[which];
        let variables = json!({"spec": {"topology": {"variables": null}}});
        let patch = match what {
            ClusterEvent::Paused => json!({"spec": {"paused": begins}}),
            ClusterEvent::Variable if begins => {
                let ours = json!([{"name": names::VARIABLE, "value": by_hand(200 + which)}]);
                json!({"spec": {"topology": {"variables": ours}}})
            }
            ClusterEvent::Variable => variables,
            ClusterEvent::WithoutVariables if begins => variables,
            ClusterEvent::WithoutIngress => {
                let enabled = (begins || of.without_ingress).then_some("false");
                json!({"metadata": {"annotations": {names::INGRESS_ENABLED: enabled}}})
            }
            ClusterEvent::OtherClass => {
                let class = class_name(usize::from(of.class) + usize::from(begins));
                json!({"spec": {"topology": {"classRef": {"name": class}}}})
            }
            _ => return,
        };
        self.cluster.patch_of(&CLUSTER, &cluster_name(which), &patch).await;
    }

    async fn vip_pool_event(&self, which: usize, what: VipPoolEvent, begins: bool) {
        let Some((setting, controllers)) = self.managed() else { return };
        let Some(which) = which.checked_rem(setting.pools.len()) else { return };
        let (kind, manifest) = vip_pool(which, setting.pools[which]);
        let name = format!("vips-{which}");
        if begins {
            self.stage.shared.coverage().count(CHANGED, what.name());
        }
        match vip_pool_patch(setting.pools[which], what, begins) {
            Some(patch) => self.cluster.patch_of(kind, &name, &patch).await,
            None if begins => {
                controllers.forget(kind, &name);
                self.cluster.delete_vip_pool(kind, &name).await;
            }
            None => controllers.want(kind, name, FLEET, manifest),
        }
    }

    /// A class lacks its variables for a while, or has variables for a while.
    async fn class_event(&self, which: usize, begins: bool) {
        let Some((setting, _)) = self.managed() else { return };
        let defines = setting.variables[which % 2] != begins;
        self.cluster.define_variables(which % 2, defines).await;
    }

    /// The controllers are down for a while.
    fn controllers_down(&self, begins: bool) {
        if let Some((_, controllers)) = self.managed() {
            controllers.set_down(begins);
        }
    }
}
