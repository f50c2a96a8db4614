//! The objects of a management cluster, and the changes of their users.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use pontoon::api::objects;
use pontoon::management::{
    ADDRESS, CLAIM, CLASS, CLUSTER, GLOBAL_POOL, LOCAL_POOL, definitions, names,
};
use pontoon_core::model::Kind;
use serde_json::{Value, json};

use super::{Cluster, done, named};
use crate::clusters::{
    ClusterSetting, ManagementSetting, Propagation, Roles, VipPoolEvent, VipPoolSetting,
};
use crate::untyped::objects_of;

/// The namespace of Clusters.
pub const FLEET: &str = "fleet";

/// The start of every address that users write on Clusters.
pub const BY_HAND: &str = "10.99.";

/// The names of a Cluster's claims.
pub fn claims(cluster: &str) -> [String; 2] {
    [format!("vip-cp-{cluster}"), format!("vip-ingress-{cluster}")]
}

impl Cluster {
    /// Defines the kinds, and creates classes and VIP pools.
    pub(super) async fn make_management(&self, setting: Option<&ManagementSetting>) {
        let Some(setting) = setting else { return };
        for crd in definitions().unwrap_or_default() {
            self.create::<CustomResourceDefinition>(None, json!(crd)).await;
        }
        self.create::<Namespace>(None, named(FLEET)).await;
        for (index, defines) in setting.variables.into_iter().enumerate() {
            let spec = class_spec(defines);
            self.make(&CLASS, &json!({"metadata": {"name": class_name(index)}, "spec": spec}))
                .await;
        }
        for (index, pool) in setting.pools.iter().enumerate() {
            let (kind, manifest) = vip_pool(index, *pool);
            self.make(kind, &manifest).await;
        }
    }

    fn fleet(&self, kind: &Kind) -> Api<DynamicObject> {
        objects(self.user.clone(), kind, FLEET)
    }

    async fn make(&self, kind: &Kind, manifest: &Value) {
        let Ok(object) = serde_json::from_value(of(kind, manifest.clone())) else { return };
        done(self.fleet(kind).create(&PostParams::default(), &object).await);
    }

    /// Patches an object of the management cluster, if present.
    pub async fn patch_of(&self, kind: &Kind, name: &str, patch: &Value) {
        let params = PatchParams::default();
        drop(self.fleet(kind).patch(name, &params, &Patch::Merge(patch)).await);
    }

    /// Deletes a Cluster, unless it is being deleted already.
    pub async fn delete_cluster(&self, name: &str, propagation: Propagation) {
        let Ok(Some(now)) = self.fleet(&CLUSTER).get_opt(name).await else { return };
        if now.metadata.deletion_timestamp.is_some() {
            return;
        }
        let params = match propagation {
            Propagation::Background => DeleteParams::background(),
            Propagation::Foreground => DeleteParams::foreground(),
        };
        drop(self.fleet(&CLUSTER).delete(name, &params).await);
    }

    /// Deletes a VIP pool.
    pub async fn delete_vip_pool(&self, kind: &Kind, name: &str) {
        drop(self.fleet(kind).delete(name, &DeleteParams::default()).await);
    }

    /// Writes a host on a Cluster that has none, and returns whether that succeeded.
    pub async fn write_host(&self, name: &str, number: usize) -> bool {
        let api = self.fleet(&CLUSTER);
        // Retried after conflicts with other writers.
        for _ in 0..5 {
            let Ok(Some(now)) = api.get_opt(name).await else { return false };
            if now.data["spec"]["controlPlaneEndpoint"]["host"].is_string() {
                return false;
            }
            let patch = json!({
                "metadata": {"resourceVersion": now.metadata.resource_version},
                "spec": {"controlPlaneEndpoint": {"host": by_hand(number), "port": 6443}},
            });
            let params = PatchParams::default();
            if api.patch(name, &params, &Patch::Merge(&patch)).await.is_ok() {
                return true;
            }
        }
        false
    }

    /// Removes a Cluster with its claims, addresses and holders, as `clusterctl move` does after
    /// it has created them elsewhere.
    pub async fn take_away(&self, cluster: &str) {
        let holders = objects_of::<ConfigMap>(&self.user, Some(FLEET));
        for name in claims(cluster) {
            for kind in [&ADDRESS, &CLAIM] {
                take(&self.fleet(kind), &name).await;
            }
            take(&holders, &name).await;
        }
        take(&self.fleet(&CLUSTER), cluster).await;
    }

    /// Sets whether a class defines the variables.
    pub async fn define_variables(&self, class: usize, defines: bool) {
        let patch = json!({"spec": class_spec(defines)});
        self.patch_of(&CLASS, &class_name(class), &patch).await;
    }
}

/// Replaces an object's annotations by the mark of a moved object, removes its finalizers, and
/// deletes it.
async fn take(api: &Api<DynamicObject>, name: &str) {
    let Ok(Some(now)) = api.get_opt(name).await else { return };
    let old = now.metadata.annotations.unwrap_or_default();
    let mut marks: serde_json::Map<_, _> = old.into_keys().map(|key| (key, Value::Null)).collect();
    marks.insert(names::MOVED_AWAY.to_owned(), json!(""));
    let patch = json!({"metadata": {"annotations": marks, "finalizers": null}});
    drop(api.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await);
    drop(api.delete(name, &DeleteParams::default()).await);
}

fn of(kind: &Kind, mut object: Value) -> Value {
    object["apiVersion"] = json!(format!("{}/{}", kind.group, kind.version));
    object["kind"] = json!(kind.name);
    object
}

/// The name of a Cluster.
pub fn cluster_name(cluster: usize) -> String {
    format!("cluster-{cluster}")
}

/// The name of a class.
pub fn class_name(class: usize) -> String {
    format!("class-{}", class % 2)
}

/// A host that a user writes.
pub fn by_hand(number: usize) -> String {
    format!("{BY_HAND}0.{}", 1 + number % 250)
}

/// The manifest of a Cluster.
pub fn manifest(index: usize, setting: ClusterSetting) -> Value {
    let class = class_name(usize::from(setting.class));
    let mut object = json!({
        "metadata": {"name": cluster_name(index), "namespace": FLEET},
        "spec": {"topology": {"classRef": {"name": class}, "version": "v1.34.0"}},
    });
    if setting.manual {
        let endpoint = json!({"host": by_hand(index), "port": 6443});
        object["spec"]["controlPlaneEndpoint"] = endpoint;
    }
    if setting.without_ingress {
        object["metadata"]["annotations"] = json!({names::INGRESS_ENABLED: "false"});
    }
    of(&CLUSTER, object)
}

fn class_spec(defines: bool) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "string"}});
    let variable = |name: &str| json!({"name": name, "schema": schema});
    let other = variable("region");
    match defines {
        true => {
            let ours = [variable(names::VARIABLE), variable(names::INGRESS_VARIABLE)];
            json!({"variables": [&other, &ours[0], &ours[1]]})
        }
        false => json!({"variables": [other]}),
    }
}

/// The kind and manifest of a VIP pool.
pub fn vip_pool(index: usize, setting: VipPoolSetting) -> (&'static Kind, Value) {
    let kind = if setting.local { &LOCAL_POOL } else { &GLOBAL_POOL };
    let (labels, annotations) = selection(setting);
    let mut metadata = json!({
        "name": format!("vips-{index}"), "labels": labels, "annotations": annotations,
    });
    if setting.local {
        metadata["namespace"] = json!(FLEET);
    }
    let last = 100 + u16::from(setting.size.clamp(1, 100)) - 1;
    let range = format!("203.0.{index}.100-203.0.{index}.{last}");
    let spec = json!({"addresses": [range], "prefix": 24});
    (kind, of(kind, json!({"metadata": metadata, "spec": spec})))
}

/// The labels and annotations that choose classes and roles.
fn selection(setting: VipPoolSetting) -> (Value, Value) {
    let classes = match setting.class {
        Some(class) => (class_name(usize::from(class)), None),
        None => ("true".to_owned(), Some(format!("{},{}", class_name(0), class_name(1)))),
    };
    let roles = match setting.roles {
        Roles::ControlPlane => ("control-plane", None),
        Roles::Ingress => ("ingress", None),
        Roles::Both => ("true", Some("control-plane, ingress")),
    };
    (
        json!({names::CLASSES: classes.0, names::ROLES: roles.0}),
        json!({names::CLASSES: classes.1, names::ROLES: roles.1}),
    )
}

/// The patch of a user's change to a VIP pool, or of its end.
pub fn vip_pool_patch(setting: VipPoolSetting, what: VipPoolEvent, begins: bool) -> Option<Value> {
    let (labels, _) = selection(setting);
    Some(match what {
        VipPoolEvent::Deleted => return None,
        VipPoolEvent::Paused => {
            json!({"metadata": {"annotations": {names::PAUSED: begins.then_some("")}}})
        }
        VipPoolEvent::WithoutRole => {
            let role = if begins { &Value::Null } else { &labels[names::ROLES] };
            json!({"metadata": {"labels": {names::ROLES: role}}})
        }
        VipPoolEvent::WithoutClass => {
            let class = if begins { &Value::Null } else { &labels[names::CLASSES] };
            json!({"metadata": {"labels": {names::CLASSES: class}}})
        }
    })
}
