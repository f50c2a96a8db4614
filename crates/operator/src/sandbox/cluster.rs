//! The sandbox's cluster: objects, and their counterparts at the provider.

use std::net::{IpAddr, Ipv4Addr};

use fakecloud::FakeCloud;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use pontoon_core::model::{Kind, Text};
use serde_json::{Value, json};

use super::{dns, manifest};
use crate::fronts;
use crate::fronts::flipop::{GROUP, VERSION};
use crate::observe::schema::Schema;

/// The namespace of the ingress and of its pools.
pub(super) const NAMESPACE: &str = "ingress";

/// The provider of the machines, and of the pools that the sandbox begins with.
pub(super) const PROVIDER: &str = "digitalocean";

/// The region of every machine.
const REGION: &str = "nyc3";

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
}

impl Cluster {
    /// An empty cluster.
    pub fn new(client: Client, cloud: FakeCloud) -> Self {
        Self { client, cloud }
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
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        for crd in fronts::crds() {
            crds.create(&PostParams::default(), &crd).await.map_err(told)?;
        }
        Ok(())
    }

    /// Creates nodes, each with a ready ingress.
    pub async fn fill(&self, load: &Load) -> Result<(), String> {
        self.namespace(NAMESPACE).await?;
        let join = |number| self.join(number);
        stream::iter((1..=load.nodes).map(join)).buffer_unordered(AT_ONCE).try_collect().await
    }

    /// Creates pools over the nodes, with existing addresses.
    pub async fn pools(&self, load: &Load) -> Result<(), String> {
        let make = |number| self.pool(number, load);
        stream::iter((1..=load.pools).map(make)).buffer_unordered(AT_ONCE).try_collect().await
    }

    async fn pool(&self, number: u64, load: &Load) -> Result<(), String> {
        let name = if load.pools == 1 { "ingress".to_owned() } else { format!("ingress-{number}") };
        let first = (number - 1) * load.ips;
        let ips: Vec<_> = (first..first + load.ips).map(address).collect();
        let mut spec = json!({
            "provider": PROVIDER, "region": REGION, "ips": ips,
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
        let (resource, capabilities) = found.map_err(|_| {
            format!(
                "{called}: the sandbox does not know the kind {} of {group}/{version}",
                gvk.kind
            )
        })?;
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
        let (listed, region) = listed_addresses(object).unwrap_or_default();
        for ip in listed {
            self.cloud.reserve(ip, region.as_deref().unwrap_or(REGION));
        }
        if let Some(machine) = object["spec"]["providerID"].as_str().and_then(fakecloud::machine_of)
        {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            self.cloud.machine(machine, name, REGION);
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

    /// Number of nodes in the cluster and of addresses at the provider.
    pub async fn counts(&self) -> Result<(usize, usize), String> {
        let nodes = self.nodes().list_metadata(&ListParams::default()).await.map_err(told)?;
        Ok((nodes.items.len(), self.cloud.look(|state| state.addresses().count())))
    }
}

/// The addresses that an object of one of our kinds lists, and their region.
fn listed_addresses(object: &Value) -> Option<(Vec<IpAddr>, Option<Text>)> {
    let is_its = |kind: &Kind| {
        object["apiVersion"] == format!("{}/{}", kind.group, kind.version)
            && object["kind"] == kind.name
    };
    let front = fronts::FRONTS.iter().find(|front| is_its(front.kind()))?;
    let object = serde_json::from_value(object.clone()).ok()?;
    let pool = front.decode(object, Schema::Current)?.addresses?;
    match pool.request {
        Ok(request) => Some((request.listed, request.region)),
        Err(_) => Some((pool.named?, None)),
    }
}

/// The address with this number, from the ranges for documentation and benchmarks.
fn address(number: u64) -> IpAddr {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_that_an_object_of_any_kind_lists_exist_at_the_provider() {
        let listed = |group: &str, kind: &str, spec: Value| {
            let version = format!("{group}/v1alpha1");
            let metadata = json!({"name": "x", "namespace": "y"});
            let object = json!({
                "apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec,
            });
            listed_addresses(&object).map(|(ips, region)| (ips.len(), region.is_some()))
        };
        let pool = json!({"provider": PROVIDER, "region": REGION, "ips": ["192.0.2.1"]});
        assert_eq!(listed(GROUP, "FloatingIPPool", pool.clone()), Some((1, true)));
        let cloud = json!({"provider": PROVIDER});
        let allocation = json!({"reservedIPs": ["192.0.2.1", "192.0.2.2"], "cloud": cloud});
        let group = "netinfra.darkbrains.com";
        assert_eq!(listed(group, "NetIPAllocation", allocation), Some((2, false)));
        assert_eq!(listed("example.com", "FloatingIPPool", pool), None);
    }
}
