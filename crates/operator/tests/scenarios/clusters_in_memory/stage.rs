//! A management cluster in memory.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use pontoon::api::objects;
use pontoon::management::{self, ADDRESS, CLAIM, CLASS, CLUSTER, GLOBAL_POOL, definitions, names};
use pontoon_core::model::Kind;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::arena::{ApiServer, Arena, NAMESPACE, On, eventually};
use crate::replica::Replica;

/// Time that the machines of a deleted Cluster take to go. Objects tell their deletion in whole
/// seconds.
const MACHINES_TAKE: Duration = Duration::from_secs(3);

/// Time from a write to the round of the garbage collector that follows.
const LAG: Duration = Duration::from_millis(20);

/// A management cluster. Its controllers end with it.
pub struct Stage {
    pub arena: Arena,
    _controllers: JoinSet<()>,
}

impl Stage {
    /// A management cluster with the class `c`.
    pub async fn open() -> Self {
        let arena = Arena::open_without_definitions(On::FakeKube).await.unwrap();
        let ApiServer::Fake { kube, .. } = &arena.server else { unreachable!() };
        kube.collect_garbage(LAG);
        arena.define(definitions().unwrap()).await;
        let mut controllers = JoinSet::new();
        let client = arena.client.clone();
        controllers.spawn(management::play(client, Timestamp::now, MACHINES_TAKE));
        let stage = Self { arena, _controllers: controllers };
        let schema = json!({"openAPIV3Schema": {"type": "string"}});
        let variables = json!([{"name": names::VARIABLE, "schema": schema}]);
        stage.create(&CLASS, "c", json!({"spec": {"variables": variables}})).await;
        stage
    }

    /// A leader.
    pub async fn leader(&self, extra: &[&str]) -> Replica {
        let replica = Replica::start(&self.arena, "a", extra);
        replica.leads().await;
        replica
    }

    pub fn all(&self, kind: &Kind) -> Api<DynamicObject> {
        objects(self.arena.client.clone(), kind, NAMESPACE)
    }

    pub async fn create(&self, kind: &Kind, name: &str, rest: Value) -> DynamicObject {
        let mut object = rest;
        object["apiVersion"] = json!(format!("{}/{}", kind.group, kind.version));
        object["kind"] = json!(kind.name);
        object["metadata"]["name"] = json!(name);
        let object = serde_json::from_value(object).unwrap();
        self.all(kind).create(&PostParams::default(), &object).await.unwrap()
    }

    /// A VIP pool of the class `c`.
    pub async fn pool(&self, name: &str, role: &str, addresses: &str) {
        let labels = json!({names::CLASSES: "c", names::ROLES: role});
        let spec = json!({"addresses": [addresses], "prefix": 16});
        self.create(&GLOBAL_POOL, name, json!({"metadata": {"labels": labels}, "spec": spec}))
            .await;
    }

    /// A Cluster of the class `c`, with `spec` merged in.
    pub async fn cluster(&self, name: &str, spec: Value) -> DynamicObject {
        let mut whole = json!({"topology": {"classRef": {"name": "c"}, "version": "v1.34.0"}});
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        self.create(&CLUSTER, name, json!({"spec": whole})).await
    }

    pub async fn patch(&self, kind: &Kind, name: &str, patch: Value) {
        let params = PatchParams::default();
        self.all(kind).patch(name, &params, &Patch::Merge(patch)).await.unwrap();
    }

    pub async fn delete(&self, cluster: &str, params: &DeleteParams) {
        self.all(&CLUSTER).delete(cluster, params).await.unwrap();
    }

    /// Waits until a Cluster has an endpoint. Returns its host.
    pub async fn endpoint(&self, cluster: &str) -> String {
        eventually(&format!("{cluster} has an endpoint"), async || {
            let one = self.all(&CLUSTER).get(cluster).await.unwrap();
            let endpoint = &one.data["spec"]["controlPlaneEndpoint"];
            match (endpoint["host"].as_str(), endpoint["port"].as_u64()) {
                (Some(host), Some(6443)) => Ok(host.to_owned()),
                _ => Err(one.data),
            }
        })
        .await
    }

    /// Waits until all Clusters show both VIPs, and their statuses say so. Returns the hosts.
    pub async fn all_at_rest(&self) -> Vec<String> {
        let is_at_rest = |one: &DynamicObject| {
            let (spec, status) = (&one.data["spec"], &one.data["status"]);
            let said = &status["conditions"][0];
            let message = said["message"].as_str().unwrap_or_default();
            said["observedGeneration"].as_i64() == one.metadata.generation
                && message.contains("; ingress: ")
                && status["phase"] == "Provisioned"
                && spec["controlPlaneEndpoint"]["host"].is_string()
        };
        eventually("all Clusters are at rest", async || {
            let all = self.all(&CLUSTER).list(&ListParams::default()).await.unwrap().items;
            let host = |one: &DynamicObject| {
                let host = &one.data["spec"]["controlPlaneEndpoint"]["host"];
                host.as_str().map(str::to_owned).filter(|_| is_at_rest(one))
            };
            let hosts: Vec<_> = all.iter().filter_map(host).collect();
            if hosts.len() == all.len() {
                return Ok(hosts);
            }
            // Looks at many Clusters would slow them down.
            tokio::time::sleep(Duration::from_millis(200)).await;
            Err(hosts.len())
        })
        .await
    }

    /// Waits until a Cluster's condition has this reason. Returns its message.
    pub async fn reason(&self, cluster: &str, reason: &str) -> String {
        eventually(&format!("{cluster} is {reason}"), async || {
            let one = self.all(&CLUSTER).get(cluster).await.unwrap();
            let all = one.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let ours = all.into_iter().find(|one| one["type"] == names::CONDITION);
            let ours = ours.unwrap_or_default();
            match ours["reason"] == reason {
                true => Ok(ours["message"].as_str().unwrap_or_default().to_owned()),
                false => Err(ours),
            }
        })
        .await
    }

    /// Waits until an object is gone.
    pub async fn gone(&self, kind: &Kind, name: &str) {
        eventually(&format!("{name} is gone"), async || {
            self.all(kind).get_opt(name).await.unwrap().map_or(Ok(()), Err)
        })
        .await;
    }

    /// Waits until a VIP pool counts so many addresses in use.
    pub async fn used(&self, pool: &str, count: i64) {
        eventually(&format!("{count} addresses of {pool} are in use"), async || {
            let pool = self.all(&GLOBAL_POOL).get(pool).await.unwrap();
            let used = pool.data["status"]["ipAddresses"]["used"].as_i64();
            if used == Some(count) { Ok(()) } else { Err(used) }
        })
        .await;
    }

    /// The versions of all Clusters, claims and addresses, by name.
    pub async fn versions(&self) -> BTreeMap<String, Option<String>> {
        let mut all = BTreeMap::new();
        for kind in [&CLUSTER, &CLAIM, &ADDRESS] {
            for one in self.all(kind).list(&ListParams::default()).await.unwrap() {
                let name = format!("{} {}", kind.name, one.metadata.name.unwrap());
                all.insert(name, one.metadata.resource_version);
            }
        }
        all
    }
}
