//! A cluster, a provider, and the changes that people make to both.

use std::fmt::Debug;
use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use control_plane::{AuditEntry, ControlPlane, Loan};
use fakecloud::FakeCloud;
use fakekube::FakeKube;
use k8s_openapi::api::core::v1::{Namespace, Node, NodeAddress, Pod};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Resource};
use pontoon::fronts;
use pontoon::fronts::flipop::IPV4_ANNOTATION;
use pontoon::fronts::floating_ip_pool::{FloatingIPPool, FloatingIPPoolStatus};
use pontoon::fronts::node_dns_record_set::{NodeDNSRecordSet, NodeDNSRecordSetStatus};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::replica::Replica;

/// Time limit of every wait.
const LIMIT: Duration = Duration::from_secs(180);

/// Time that the server may take to log a request.
const LOGGED: Duration = Duration::from_millis(250);

/// The namespace of every namespaced object.
pub const NAMESPACE: &str = "flipop";

/// The API server of a scenario.
#[derive(Debug)]
pub enum On {
    /// A real kube-apiserver, shared between scenarios that run in sequence.
    RealServer,
    /// A real kube-apiserver, shared likewise. After the arena is closed, the recording contains all
    /// requests with their bodies.
    Recorded(Recording),
    /// The in-memory API server.
    FakeKube,
}

/// The requests to the real API server.
#[derive(Clone, Debug, Default)]
pub struct Recording(Arc<Mutex<Vec<AuditEntry>>>);

impl Recording {
    fn keep(&self, log: Vec<AuditEntry>) {
        *self.0.lock().unwrap() = log;
    }

    /// The recorded requests; empty without a control plane.
    pub fn taken(self) -> Vec<AuditEntry> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Declares tests of scenarios, each on the in-memory API server and on the real API server. The
/// requests to the real server are then replayed on the in-memory server, and the answers are
/// compared.
macro_rules! on_both {
    ($($scenario:ident),* $(,)?) => {
        mod on_fakekube {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario(crate::arena::On::FakeKube).await;
            })*
        }
        mod on_kube_apiserver {
            $(#[tokio::test]
            async fn $scenario() {
                let recording = crate::arena::Recording::default();
                super::$scenario(crate::arena::On::Recorded(recording.clone())).await;
                crate::replay::replay(recording).await;
            })*
        }
    };
}
pub(crate) use on_both;

pub struct Arena {
    pub(crate) server: ApiServer,
    pub client: Client,
    pub cloud: FakeCloud,
    cloud_server: fakecloud::Server,
}

pub(crate) enum ApiServer {
    Real {
        plane: Box<Loan>,
        recording: Option<Recording>,
        folder: TempDir,
    },
    Fake {
        kube: FakeKube,
        /// Serves until dropped.
        _server: fakekube::Server,
        folder: TempDir,
    },
}

impl Arena {
    /// A cluster with our definitions; `None` without a control plane.
    pub async fn open(on: On) -> Option<Self> {
        let arena = Self::open_without_definitions(on).await?;
        arena.define(fronts::crds()).await;
        Some(arena)
    }

    pub async fn open_without_definitions(on: On) -> Option<Self> {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let (server, client) = match on {
            On::RealServer => Self::real(None).await?,
            On::Recorded(recording) => Self::real(Some(recording)).await?,
            On::FakeKube => {
                let kube = FakeKube::starting_at(1, jiff::Timestamp::now());
                let server = kube.serve(loopback).await.unwrap();
                let folder = tempfile::tempdir().unwrap();
                fakekube::write_kubeconfig(&server, folder.path().join("kubeconfig")).unwrap();
                let client = Client::new(kube.service(), "default");
                (ApiServer::Fake { kube, _server: server, folder }, client)
            }
        };
        let cloud = FakeCloud::new();
        let cloud_server = cloud.serve(loopback).await.unwrap();
        let arena = Self { server, client, cloud, cloud_server };
        let namespace = json!({"metadata": {"name": NAMESPACE}});
        arena.create(&Api::<Namespace>::all(arena.client.clone()), namespace).await;
        Some(arena)
    }

    async fn real(recording: Option<Recording>) -> Option<(ApiServer, Client)> {
        let plane = match recording {
            Some(_) => ControlPlane::borrow_recording().await,
            None => ControlPlane::borrow().await,
        };
        let plane = Box::new(plane.unwrap()?);
        let client = plane.client().unwrap();
        let folder = tempfile::tempdir().unwrap();
        Some((ApiServer::Real { plane, recording, folder }, client))
    }

    /// The real control plane, for scenarios that need its features.
    pub fn plane(&self) -> &ControlPlane {
        match &self.server {
            ApiServer::Real { plane, .. } => plane,
            ApiServer::Fake { .. } => panic!("this scenario needs the real API server"),
        }
    }

    /// A folder that is removed with the arena.
    pub fn folder(&self) -> &Path {
        match &self.server {
            ApiServer::Real { folder, .. } | ApiServer::Fake { folder, .. } => folder.path(),
        }
    }

    pub fn kubeconfig(&self) -> PathBuf {
        match &self.server {
            ApiServer::Real { plane, .. } => plane.kubeconfig().to_owned(),
            ApiServer::Fake { folder, .. } => folder.path().join("kubeconfig"),
        }
    }

    /// Applies definitions and waits until they are served.
    pub async fn define(&self, crds: Vec<CustomResourceDefinition>) {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        for mut crd in crds {
            let name = crd.metadata.name.clone().unwrap();
            match api.get_opt(&name).await.unwrap() {
                Some(before) => {
                    crd.metadata.resource_version = before.metadata.resource_version;
                    api.replace(&name, &PostParams::default(), &crd).await.unwrap();
                }
                None => drop(api.create(&PostParams::default(), &crd).await.unwrap()),
            }
            await_condition(api.clone(), &name, is_crd_established()).await.unwrap();
        }
    }

    /// The provider's URL, for a replica's environment.
    pub fn cloud_url(&self) -> String {
        self.cloud_server.url()
    }

    /// Starts a replica of the operator, with its name as its user agent at the provider.
    pub fn replica(&self, name: &str) -> Replica {
        Replica::start(self, name, &[])
    }

    async fn create<K>(&self, api: &Api<K>, object: Value) -> K
    where
        K: Clone + Debug + DeserializeOwned + Serialize,
    {
        let object = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap()
    }

    pub fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    pub fn namespaced<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// A ready node on a droplet, with a ready ingress pod.
    pub async fn serving_node(&self, name: &str, droplet: u64) {
        self.node(name, droplet).await;
        self.ready_pod(&format!("ingress-{name}"), name).await;
    }

    /// A ready node on its own droplet.
    pub async fn node(&self, name: &str, droplet: u64) {
        self.cloud.machine(droplet, name, "nyc3");
        let node = json!({
            "metadata": {"name": name, "labels": {"pool": "edge"}},
            "spec": {"providerID": format!("digitalocean://{droplet}")},
        });
        self.create(&self.nodes(), node).await;
        self.set_ready(name, true).await;
    }

    /// Sets the readiness of a node, as its kubelet would.
    pub async fn set_ready(&self, node: &str, ready: bool) {
        let status = if ready { "True" } else { "False" };
        let condition = json!({"type": "Ready", "status": status, "reason": "Test"});
        let patch = json!({"status": {"conditions": [condition]}});
        let params = PatchParams::default();
        self.nodes().patch_status(node, &params, &Patch::Strategic(patch)).await.unwrap();
    }

    /// A running, ready ingress pod.
    pub async fn ready_pod(&self, name: &str, node: &str) {
        let pod = json!({
            "metadata": {"name": name, "labels": {"app": "ingress"}},
            "spec": {
                "nodeName": node,
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "c", "image": "i"}],
            },
        });
        let pods: Api<Pod> = self.namespaced();
        self.create(&pods, pod).await;
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let patch = json!({"status": {"phase": "Running", "conditions": ready}});
        let params = PatchParams::default();
        pods.patch_status(name, &params, &Patch::Strategic(patch)).await.unwrap();
    }

    /// A pool over the nodes with an ingress pod, with `spec` merged in.
    pub async fn pool(&self, name: &str, spec: Value) {
        let mut whole = json!({
            "provider": "digitalocean",
            "match": {"nodeLabel": "pool=edge", "podLabel": "app=ingress"},
        });
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        self.raw_pool(name, whole).await;
    }

    /// A pool with exactly this spec, even if our types cannot express the spec.
    pub async fn raw_pool(&self, name: &str, spec: Value) {
        let (resource, api) = self.raw_pools();
        let object = json!({
            "apiVersion": resource.api_version, "kind": resource.kind,
            "metadata": {"name": name}, "spec": spec,
        });
        self.create(&api, object).await;
    }

    fn raw_pools(&self) -> (ApiResource, Api<DynamicObject>) {
        let resource = ApiResource::erase::<FloatingIPPool>(&());
        let api = Api::namespaced_with(self.client.clone(), NAMESPACE, &resource);
        (resource, api)
    }

    /// A record set over the nodes with an ingress pod, with `spec` merged in.
    pub async fn record_set(&self, name: &str, spec: Value) {
        let mut whole = json!({"match": {"nodeLabel": "pool=edge", "podLabel": "app=ingress"}});
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let object = json!({
            "apiVersion": "flipop.digitalocean.com/v1alpha1", "kind": "NodeDNSRecordSet",
            "metadata": {"name": name}, "spec": whole,
        });
        self.create(&self.namespaced::<NodeDNSRecordSet>(), object).await;
    }

    /// Waits until a record set has this state; returns its status.
    pub async fn record_state(&self, name: &str, state: &str) -> NodeDNSRecordSetStatus {
        eventually(&format!("{name} is {state}"), || async {
            let set = self.namespaced::<NodeDNSRecordSet>().get(name).await.unwrap();
            let status = set.status.unwrap_or_default();
            if status.state == state { Ok(status) } else { Err(status) }
        })
        .await
    }

    /// Waits until a name in example.com lists exactly these addresses.
    pub async fn listed(&self, name: &str, kind: &str, values: &[&str]) {
        eventually(&format!("{name} {kind} lists {values:?}"), || async {
            let listed = self.cloud.values("example.com", name, kind);
            if listed == values { Ok(()) } else { Err(listed) }
        })
        .await;
    }

    /// Replaces the addresses that a node reports. A strategic patch would merge addresses of the
    /// same type.
    pub async fn report(&self, node: &str, addresses: &[(&str, &str)]) {
        let one = |(type_, address): &(&str, &str)| NodeAddress {
            type_: (*type_).to_owned(),
            address: (*address).to_owned(),
        };
        let mut object = self.nodes().get(node).await.unwrap();
        object.status.get_or_insert_default().addresses = Some(addresses.iter().map(one).collect());
        self.nodes().replace_status(node, &PostParams::default(), &object).await.unwrap();
    }

    pub async fn stored(&self, pool: &str) -> FloatingIPPool {
        self.namespaced::<FloatingIPPool>().get(pool).await.unwrap()
    }

    /// The stored pool, even if our types cannot decode the object.
    pub async fn raw_pool_object(&self, pool: &str) -> DynamicObject {
        self.raw_pools().1.get(pool).await.unwrap()
    }

    pub async fn status(&self, pool: &str) -> FloatingIPPoolStatus {
        let mut object = self.raw_pool_object(pool).await;
        serde_json::from_value(object.data["status"].take()).unwrap_or_default()
    }

    /// Waits for a pool's condition to have the status `status`. Returns its reason and message.
    pub async fn condition(&self, pool: &str, type_: &str, status: &str) -> (String, String) {
        let what = format!("{pool} {type_}={status}");
        let found = eventually(&what, || async {
            let conditions = self.status(pool).await.conditions;
            let wanted = |one: &&Condition| one.type_ == type_ && one.status == status;
            conditions.iter().find(wanted).cloned().ok_or(conditions)
        })
        .await;
        (found.reason, found.message)
    }

    /// Waits for a pool's condition to have this reason. Returns its message.
    pub async fn reason(&self, pool: &str, type_: &str, status: &str, reason: &str) -> String {
        eventually(&format!("{pool}: {type_} is {status} because of {reason}"), async || {
            let (told, message) = self.condition(pool, type_, status).await;
            if told == reason { Ok(message) } else { Err((told, message)) }
        })
        .await
    }

    /// Waits until a pool is ready.
    pub async fn ready(&self, pool: &str) {
        self.condition(pool, "Ready", "True").await;
    }

    /// State and node of each address in a pool's status.
    pub async fn placed(&self, pool: &str) -> Vec<(String, String, String)> {
        let ips = self.status(pool).await.ips;
        ips.into_iter().map(|(ip, one)| (ip, one.state, one.node_name)).collect()
    }

    /// Waits until a node has this mark.
    pub async fn marked(&self, node: &str, ip: Option<&str>) {
        eventually(&format!("{node} marked {ip:?}"), || async {
            let node = self.nodes().get(node).await.unwrap();
            let annotations = node.metadata.annotations.unwrap_or_default();
            let mark = annotations.get(IPV4_ANNOTATION).cloned();
            if mark.as_deref() == ip { Ok(()) } else { Err(mark) }
        })
        .await;
    }

    /// Waits for an event with this reason about an object. Returns its note.
    pub async fn event(&self, object: &str, reason: &str) -> String {
        self.event_with(object, reason, "").await.note.unwrap_or_default()
    }

    /// Waits for an event with this reason about an object, with a note that contains `words`.
    pub async fn event_with(&self, object: &str, reason: &str, words: &str) -> Event {
        self.event_among(self.namespaced(), object, reason, words).await
    }

    /// Waits for an event with this reason about a node. Such events are in namespace `default`.
    pub async fn node_event(&self, node: &str, reason: &str) -> String {
        let events = Api::namespaced(self.client.clone(), "default");
        self.event_among(events, node, reason, "").await.note.unwrap_or_default()
    }

    async fn event_among(
        &self,
        events: Api<Event>,
        object: &str,
        reason: &str,
        words: &str,
    ) -> Event {
        eventually(&format!("event {reason} on {object}: {words}"), || async {
            let mut mine = events.list(&ListParams::default()).await.unwrap().items;
            mine.retain(|event| {
                event.regarding.as_ref().and_then(|one| one.name.as_deref()) == Some(object)
            });
            let wanted = |event: &&Event| {
                event.reason.as_deref() == Some(reason)
                    && event.note.as_ref().is_some_and(|note| note.contains(words))
            };
            let told = |event: &Event| (event.reason.clone(), event.note.clone());
            mine.iter()
                .find(wanted)
                .cloned()
                .ok_or_else(|| mine.iter().map(told).collect::<Vec<_>>())
        })
        .await
    }
}

/// Waits until `look` succeeds; panics with the last error after the limit. The longer the wait, the
/// rarer the looks: hundreds of scenarios share two cores.
pub async fn eventually<T, E: Debug, F>(what: &str, mut look: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, E>>,
{
    let started = Instant::now();
    loop {
        match look().await {
            Ok(found) => return found,
            Err(seen) => {
                assert!(started.elapsed() < LIMIT, "never happened: {what}; last seen: {seen:#?}");
            }
        }
        tokio::time::sleep((started.elapsed() / 10).clamp(PAUSES.0, PAUSES.1)).await;
    }
}

const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(200));

impl Drop for Arena {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        match &self.server {
            ApiServer::Real { plane, recording: Some(recording), .. } => {
                recording.keep(finished_log(plane));
            }
            ApiServer::Real { recording: None, .. } => {}
            ApiServer::Fake { kube, .. } => {
                let asked = kube.unknown_requests();
                assert!(asked.is_empty(), "the in-memory API server was asked for more: {asked:?}");
            }
        }
    }
}

/// The audit log once complete: the server logs a request a moment after its effect is visible.
fn finished_log(plane: &ControlPlane) -> Vec<AuditEntry> {
    let mut log = plane.audit_log().unwrap();
    loop {
        std::thread::sleep(LOGGED);
        let again = plane.audit_log().unwrap();
        if again.len() == log.len() {
            return log;
        }
        log = again;
    }
}
