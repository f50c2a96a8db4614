//! The sandbox's cluster: objects, and their counterparts at the provider.

use std::net::{IpAddr, Ipv4Addr};

use fakecloud::FakeCloud;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::asked::Asked;
use super::machines::{Ground, Machines};
use super::scene::Scene;
use super::{allocations, clusters, dns, manifest};
use crate::fronts;
use crate::fronts::flipop::{GROUP, VERSION};
use crate::management;

/// The namespace of the ingress and of its pools.
pub(super) const NAMESPACE: &str = "ingress";

/// The most concurrent writes.
const AT_ONCE: usize = 64;

/// Size of a sandbox.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Nodes.
    pub nodes: u64,
    /// Pools.
    pub pools: u64,
    /// Addresses of each pool.
    pub ips: u64,
}

/// The cluster and its provider.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    cloud: FakeCloud,
    scene: Scene,
    machines: Machines,
}

impl Cluster {
    /// An empty cluster.
    pub fn new(client: Client, cloud: FakeCloud, scene: Scene, machines: Machines) -> Self {
        Self { client, cloud, scene, machines }
    }

    /// What the sandbox began with.
    pub(super) fn scene(&self) -> Scene {
        self.scene
    }

    /// Where the machines are.
    pub(super) fn machines(&self) -> &Machines {
        &self.machines
    }

    /// A client of the API server.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The provider of the machines.
    pub fn cloud(&self) -> &FakeCloud {
        &self.cloud
    }

    /// Creates our custom resource definitions.
    pub async fn define(&self) -> Result<(), String> {
        let kind = ApiResource::erase::<CustomResourceDefinition>(&());
        let crds: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind);
        let all = match self.scene {
            Scene::Management => management::definitions()?,
            Scene::Ingress | Scene::Workload => fronts::crds(),
        };
        for crd in all {
            let crd = serde_json::from_value(json!(crd)).map_err(|error| error.to_string())?;
            crds.create(&PostParams::default(), &crd).await.map_err(told)?;
        }
        Ok(())
    }

    /// The machines at each provider, with the number before the first of them.
    fn numbered(&self, load: &Load) -> impl Iterator<Item = (&Ground, u64)> {
        self.machines.grounds().zip((0..).step_by(usize::try_from(load.nodes).unwrap_or(1).max(1)))
    }

    /// Whether there is a provider where a reserved address takes the place of the machine's own.
    pub fn shows_reserved_addresses(&self, load: &Load) -> bool {
        self.numbered(load).any(|(ground, before)| {
            let id = self.cloud.provider_id(&ground.provider, before + 1);
            self.cloud.external(&id).is_some()
        })
    }

    /// Creates the nodes at each provider, and the workload of the scene.
    pub async fn fill(&self, load: &Load) -> Result<(), String> {
        let nodes = self.numbered(load).flat_map(|(ground, before)| {
            (1..=load.nodes).map(move |number| self.join(ground, before + number))
        });
        if self.scene == Scene::Ingress {
            self.namespace(NAMESPACE).await?;
        }
        stream::iter(nodes).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
        if self.scene == Scene::Workload {
            for object in allocations::workload(load) {
                self.apply(&object).await?;
            }
        }
        Ok(())
    }

    /// Creates the scene's own pools or allocation over the nodes, with existing addresses.
    pub async fn ask(&self, load: &Load) -> Result<(), String> {
        if self.scene == Scene::Workload {
            let provider = self.scene.provider();
            let region = self.machines.region(provider);
            return self.apply(&allocations::allocation(load, provider, &region)).await;
        }
        let make = |number| self.pool(number, load);
        stream::iter((1..=load.pools).map(make)).buffer_unordered(AT_ONCE).try_collect().await
    }

    async fn pool(&self, number: u64, load: &Load) -> Result<(), String> {
        let name = if load.pools == 1 { "ingress".to_owned() } else { format!("ingress-{number}") };
        let first = (number - 1) * load.ips;
        let ips: Vec<_> = (first..first + load.ips).map(address).collect();
        let provider = self.scene.provider();
        let mut spec = json!({
            "provider": provider, "region": self.machines.region(provider), "ips": ips,
            "match": {"podNamespace": NAMESPACE, "podLabel": "app=nginx"},
        });
        // Under load, addresses alone are of interest.
        if load.pools == 1 {
            spec["dnsRecordSet"] = dns::record(&name);
        }
        self.apply(&json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "FloatingIPPool",
            "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec,
        }))
        .await
    }

    /// Applies a user's object. Its counterparts outside Kubernetes are created too: the addresses
    /// in a pool, the machine of a node, the zone of a record.
    pub async fn apply(&self, object: &Value) -> Result<(), String> {
        let called = manifest::named(object);
        let problem = |error: kube::Error| format!("{called}: {}", told(error));
        self.provide(object);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let version = text(&object["apiVersion"]);
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        let gvk = GroupVersionKind::gvk(group, version, &text(&object["kind"]));
        let found = kube::discovery::pinned_kind(&self.client, &gvk).await;
        let (resource, capabilities) = found.map_err(|_| self.unknown(&called, &gvk))?;
        let api: Api<DynamicObject> = match capabilities.scope {
            kube::discovery::Scope::Cluster => Api::all_with(self.client.clone(), &resource),
            kube::discovery::Scope::Namespaced => {
                let given = object["metadata"]["namespace"].as_str().unwrap_or("default");
                self.namespace(given).await?;
                Api::namespaced_with(self.client.clone(), given, &resource)
            }
        };
        match self.create(object, api.resource_url()).await {
            Ok(()) => self.settle(object, &api).await.map_err(problem),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                let merged = api.patch(name, &PatchParams::default(), &Patch::Merge(object)).await;
                merged.map(drop).map_err(problem)
            }
            Err(error) => Err(problem(error)),
        }
    }

    /// The problem of an object of a kind that the scene does not define.
    fn unknown(&self, called: &str, kind: &GroupVersionKind) -> String {
        let version = kind.api_version();
        let clusters = clusters::is_of_management(&version);
        let hint = match (self.scene, clusters) {
            (Scene::Management, true) => {
                "; Clusters, classes and claims are of version v1beta2 here, \
                                          VIP pools of v1alpha2"
            }
            (Scene::Management, false) => " beside Clusters; try without --capi",
            (_, true) => " here; try --capi",
            (_, false) => "",
        };
        let kind = &kind.kind;
        format!("{called}: the sandbox does not know the kind {kind} of {version}{hint}")
    }

    /// Creates an object. Unknown fields are refused, as `kubectl apply` does.
    async fn create(&self, object: &Value, url: &str) -> kube::Result<()> {
        let request = http::Request::post(format!("{url}?fieldValidation=Strict"))
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(object.to_string().into_bytes())
            .map_err(kube::Error::HttpError)?;
        self.client.request::<Value>(request).await.map(drop)
    }

    /// Creates the counterparts of an object at the provider.
    fn provide(&self, object: &Value) {
        dns::provide(&self.cloud, object);
        if let Some(Asked { provider, listed, region }) = Asked::of(object) {
            let region = region.unwrap_or_else(|| self.machines.region(&provider));
            for ip in listed {
                self.cloud.reserve(ip, &region);
            }
        }
        let Some(id) = object["spec"]["providerID"].as_str() else { return };
        let Some(machine) = fakecloud::machine_of(id) else { return };
        if self.cloud.look(|state| state.machine(machine).is_none()) {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let usual = || self.machines.region(self.scene.provider());
            self.cloud.machine(machine, name, &fakecloud::site_of(id).unwrap_or_else(usual));
        }
    }

    /// Plays the kubelet: applies the status in a manifest of a node or a pod.
    async fn settle(&self, object: &Value, api: &Api<DynamicObject>) -> kube::Result<()> {
        let has_kubelet = object["kind"] == "Node" || object["kind"] == "Pod";
        if has_kubelet && object["status"].is_object() {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let patch = Patch::Merge(json!({"status": object["status"]}));
            api.patch_status(name, &PatchParams::default(), &patch).await?;
        }
        Ok(())
    }

    async fn namespace(&self, name: &str) -> Result<(), String> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let object = json!({"metadata": {"name": name}});
        let object = serde_json::from_value(object).map_err(|error| error.to_string())?;
        match namespaces.create(&PostParams::default(), &object).await {
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            other => other.map(drop).map_err(told),
        }
    }

    /// What the sandbox has beside the API server and the operator, in words.
    pub async fn inventory(&self) -> Result<String, String> {
        let of = |count: usize, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        if self.scene == Scene::Management {
            let (clusters, pools) = self.count_clusters().await?;
            let clusters = of(clusters, "Cluster", "Clusters");
            let pools = of(pools, "VIP pool", "VIP pools");
            return Ok(format!("stand-ins for Cluster API and IPAM ({clusters}, {pools})"));
        }
        let nodes = self.nodes().list_metadata(&ListParams::default()).await.map_err(told)?;
        let nodes = of(nodes.items.len(), "node", "nodes");
        let addresses = self.cloud.look(|state| state.addresses().count());
        Ok(format!("emulated cloud ({nodes}, {})", of(addresses, "address", "addresses")))
    }
}

/// The address with this number, from the ranges for documentation and benchmarks.
pub(super) fn address(number: u64) -> IpAddr {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let base = if number < 200 {
        u32::from(Ipv4Addr::new(198, 51, 100, 1))
    } else {
        u32::from(Ipv4Addr::new(198, 18, 0, 0))
    };
    Ipv4Addr::from(base.saturating_add(number)).into()
}

/// The items of a list; `None` if the kind is not defined.
pub(super) fn listed<T: Clone>(
    answer: kube::Result<kube::core::ObjectList<T>>,
) -> Result<Option<Vec<T>>, String> {
    match answer {
        Ok(list) => Ok(Some(list.items)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(told(error)),
    }
}

/// The API server's message.
pub(super) fn told(error: kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message,
        other => other.to_string(),
    }
}
