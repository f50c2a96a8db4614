//! The shipped role. Only the real API server has RBAC.

use std::path::PathBuf;

use control_plane::AuditEntry;
use kube::api::{Patch, PatchParams};
use pontoon::api::PAUSED_ANNOTATION;
use pontoon::fronts::flipop::FLIPOP;
use pontoon::fronts::flipop::IPV4_ANNOTATION;
use pontoon::fronts::floating_ip_pool::FloatingIPPool;
use serde_json::{Value, json};

use crate::arena::{Arena, On, eventually};
use crate::bad_input::lax_definitions;
use crate::installing::{objects, root};
use crate::predecessor::Predecessor;
use crate::replica::Replica;

/// The user that the shipped account is.
pub const ACCOUNT: &str = "system:serviceaccount:flipop:pontoon";

#[tokio::test]
async fn the_shipped_role_is_enough_for_everything_that_the_operator_does_and_no_more() {
    let Some(arena) = Arena::open_without_definitions(On::RealServer).await else { return };
    arena.define(lax_definitions()).await;
    let file = root().join("deploy/rbac.yaml");
    let applied = arena.plane().kubectl().arg("apply").arg("-f").arg(file).output().unwrap();
    assert!(applied.status.success(), "{applied:?}");
    let account = arena.plane().kubeconfig_for("flipop", "pontoon").await.unwrap();

    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    arena.cloud.domain("example.com");
    let record = |name: &str| json!({"zone": "example.com", "recordName": name});
    let spec = json!({"desiredIPs": 1, "region": "nyc3", "dnsRecordSet": record("hello")});
    arena.pool("ingress", spec).await;
    let reserved = json!({"dnsRecordSet": record("nodes"), "addressType": IPV4_ANNOTATION});
    arena.record_set("nodes", reserved).await;
    allocation(&arena).await;
    let flipop = Predecessor::start(&arena).await;
    let others = [
        Predecessor::ip_address_controller(&arena, "flipop").await,
        Predecessor::ip_address_controller(&arena, "kube-system").await,
    ];
    let extra = ["POD_NAMESPACE=flipop", "--kubeconfig", account.to_str().unwrap()];
    let replica = Replica::start(&arena, "least", &extra);
    arena.event("ingress", "CompetingController").await;
    drop((flipop, others));
    arena.flipop_lease("held", |holder, _| holder.starts_with("pontoon/")).await;
    pods_are_evicted(&arena).await;
    arena.ready("ingress").await;
    arena.event("ingress", "AllAssigned").await;
    let created = arena.status("ingress").await.created_ips;
    arena.marked("a", Some(&created[0])).await;
    arena.set_ready("a", false).await;
    arena.marked("b", Some(&created[0])).await;
    arena.marked("a", None).await;
    arena.listed("hello", "A", &[&created[0]]).await;
    arena.listed("nodes", "A", &[&created[0]]).await;
    arena.record_state("nodes", "active").await;
    arena.event("nodes", "RecordUpdated").await;
    // A repeated event is a patch.
    for _ in 0..2 {
        pause(&arena, "true").await;
        arena.says("ingress", "Paused").await;
        pause(&arena, "false").await;
        arena.says("ingress", "AllAssigned").await;
    }
    undecodable_objects(&arena).await;
    let extra = ["--mode=observe", extra[0], extra[1], extra[2]];
    let observer = Replica::start(&arena, "watcher", &extra);
    observer.leads().await;

    let log = format!("{}{}", replica.log(), observer.log());
    assert!(!log.to_lowercase().contains("forbidden"), "{log}");
    let denied: Vec<_> =
        arena.plane().audit_log().unwrap().into_iter().filter(|entry| entry.code == 403).collect();
    assert!(denied.is_empty(), "{denied:#?}");
    let rights = || rights_in(&objects()).into_iter();
    are_used(&arena, ACCOUNT, rights().filter(|right| right.verb != "watch").collect()).await;
    // A watch appears in the log after its end.
    replica.terminate().await;
    observer.terminate().await;
    are_used(&arena, ACCOUNT, rights().collect()).await;
}

/// An allocation over two nodes of its own, with a pod of its Deployment on the first.
async fn allocation(arena: &Arena) {
    for (node, droplet) in [("c", 3), ("d", 4)] {
        arena.node(node, droplet).await;
        arena.label(node, "pool", "allocation").await;
    }
    arena.cloud.reserve("198.51.100.1".parse::<std::net::IpAddr>().unwrap(), "nyc3");
    arena.deployment("web").await;
    arena.pod_of("web", "c").await;
    let spec = json!({"nodeSelector": {"pool": "allocation"}, "gracePeriodSeconds": 0});
    arena.allocation("edge", spec).await;
}

async fn pods_are_evicted(arena: &Arena) {
    arena.labelled("c", true).await;
    arena.set_ready("c", false).await;
    arena.labelled("d", true).await;
    arena.pod_is_gone("web-c").await;
}

/// The status of an undecodable object is written with a patch.
async fn undecodable_objects(arena: &Arena) {
    arena.raw_pool("odd", json!({"ips": {"a": 1}})).await;
    let odd = json!({
        "apiVersion": "flipop.digitalocean.com/v1alpha1", "kind": "NodeDNSRecordSet",
        "metadata": {"name": "odd"}, "spec": {"match": 7},
    });
    arena.manifest(odd).await;
    arena.raw_allocation("odd", json!({"reservedIPs": {"a": 1}})).await;
}

async fn pause(arena: &Arena, text: &str) {
    let patch = Patch::Merge(json!({"metadata": {"annotations": {PAUSED_ANNOTATION: text}}}));
    let pools = arena.namespaced::<FloatingIPPool>();
    pools.patch("ingress", &PatchParams::default(), &patch).await.unwrap();
}

/// An account of this name, with a changed copy of the shipped role.
async fn account_without(arena: &Arena, name: &str, changes: &[(&str, &str)]) -> PathBuf {
    let mut role = std::fs::read_to_string(root().join("deploy/rbac.yaml")).unwrap();
    for (from, to) in changes {
        assert!(role.contains(from), "{from}");
        role = role.replace(from, to);
    }
    let file = arena.folder().join(format!("{name}.yaml"));
    std::fs::write(&file, role.replace("name: pontoon\n", &format!("name: {name}\n"))).unwrap();
    let applied = arena.plane().kubectl().arg("apply").arg("-f").arg(file).output().unwrap();
    assert!(applied.status.success(), "{applied:?}");
    arena.plane().kubeconfig_for("flipop", name).await.unwrap()
}

#[tokio::test]
async fn a_write_that_a_trimmed_role_forbids_is_told_in_the_condition_or_as_an_event() {
    let Some(arena) = Arena::open(On::RealServer).await else { return };
    let nodes = (
        "resources: [nodes]\n    verbs: [list, watch, patch]",
        "resources: [nodes]\n    verbs: [list, watch]",
    );
    let pools = (
        "resources: [floatingippools]\n    verbs: [list, watch, patch]",
        "resources: [floatingippools]\n    verbs: [list, watch]",
    );
    let statuses = (
        "resources: [floatingippools/status, nodednsrecordsets/status]",
        "resources: [floatingippools/status]",
    );
    let trimmed = account_without(&arena, "trimmed", &[nodes, pools, statuses]).await;
    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    arena.cloud.domain("example.com");
    arena.cloud.reserve_on("198.51.100.1".parse::<std::net::IpAddr>().unwrap(), 1);
    arena.pool("listed", json!({"ips": ["198.51.100.1"]})).await;
    arena.pool("wanting", json!({"desiredIPs": 1, "region": "nyc3"})).await;
    let record = json!({"zone": "example.com", "recordName": "nodes"});
    arena.record_set("nodes", json!({"dnsRecordSet": record})).await;
    let extra = ["POD_NAMESPACE=flipop", "--kubeconfig", trimmed.to_str().unwrap()];
    let replica = Replica::start(&arena, "trimmed", &extra);

    let message = arena.reason("listed", "Ready", "False", "AnnotationRefused").await;
    assert!(message.contains("node a: nodes \"a\" is forbidden"), "{message}");
    let message = arena.reason("wanting", "Stalled", "True", "LedgerRefused").await;
    assert!(message.contains("is forbidden") && message.contains("deploy/rbac.yaml"), "{message}");
    let note = arena.event("nodes", "StatusRefused").await;
    assert!(note.contains("is forbidden"), "{note}");
    for write in ["annotation", "ledger", "status"] {
        let series =
            format!("pontoon_kubernetes_write_errors_total{{error=\"refused\",write=\"{write}\"}}");
        assert!(replica.page("/metrics").await.unwrap_or_default().contains(&series), "{write}");
    }
    account_without(&arena, "trimmed", &[]).await;
    arena.ready("listed").await;
    arena.ready("wanting").await;
}

/// A role without the right to see whether a predecessor is at work.
#[tokio::test]
async fn without_the_right_to_see_other_controllers_nothing_is_done_and_the_right_is_named() {
    let Some(arena) = Arena::open(On::RealServer).await else { return };
    let apply = |file: &std::path::Path| {
        let applied = arena.plane().kubectl().arg("apply").arg("-f").arg(file).output().unwrap();
        assert!(applied.status.success(), "{applied:?}");
    };
    let shipped = root().join("deploy/rbac.yaml");
    let text = std::fs::read_to_string(&shipped).unwrap();
    let trimmed = arena.folder().join("rbac.yaml");
    std::fs::write(&trimmed, text.replace(FLIPOP.lease, "of-nobody")).unwrap();
    apply(&trimmed);
    let account = arena.plane().kubeconfig_for("flipop", "pontoon").await.unwrap();
    arena.serving_node("a", 1).await;
    arena.cloud.reserve("198.51.100.1".parse::<std::net::IpAddr>().unwrap(), "nyc3");
    arena.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;
    let extra = ["POD_NAMESPACE=flipop", "--kubeconfig", account.to_str().unwrap()];
    let replica = Replica::start(&arena, "trimmed", &extra);

    let message = arena.reason("ingress", "Ready", "False", "CompetitionUnknown").await;
    let right = format!(
        "no right to list and watch leases.coordination.k8s.io named {} in \
         namespace flipop",
        FLIPOP.lease
    );
    assert!(message.contains(&right), "{message}");
    arena.event("ingress", "CompetitionUnknown").await;
    arena.event("pontoon", "CompetitionUnknown").await;
    replica.metric("pontoon_standing_aside{reason=\"CompetitionUnknown\"}", "1").await;
    let page = replica.page("/readyz").await.unwrap();
    assert!(page.starts_with("HTTP/1.1 200 "), "it lives and watches: {page}");
    assert_eq!(arena.cloud.mutations().len(), 0, "{:#?}", arena.cloud.mutations());

    apply(&shipped);
    arena.says("ingress", "AllAssigned").await;
    replica.metric("pontoon_standing_aside{reason=\"CompetitionUnknown\"}", "0").await;
}

/// Waits until a user has used every right.
pub async fn are_used(arena: &Arena, user: &str, rights: Vec<Right>) {
    eventually("every right is used", || async {
        let log = arena.plane().audit_log().unwrap();
        let idle: Vec<_> = rights.iter().filter(|right| !right.is_used(user, &log)).collect();
        if idle.is_empty() { Ok(()) } else { Err(format!("{idle:#?}")) }
    })
    .await;
}

/// A single right of a role.
#[derive(Debug)]
pub struct Right {
    group: String,
    /// With the subresource, as in a role.
    pub resource: String,
    pub verb: String,
    /// Limited to this object.
    name: Option<String>,
    /// Limited to this namespace.
    namespace: Option<String>,
}

impl Right {
    fn is_used(&self, user: &str, log: &[AuditEntry]) -> bool {
        log.iter().any(|entry| {
            let resource = match &*entry.subresource {
                "" => entry.resource.clone(),
                below => format!("{}/{below}", entry.resource),
            };
            entry.user == user
                && (&entry.api_group, &resource, &entry.verb)
                    == (&self.group, &self.resource, &self.verb)
                && self.name.as_ref().is_none_or(|name| *name == entry.name)
                && self.namespace.as_ref().is_none_or(|namespace| *namespace == entry.namespace)
        })
    }
}

/// All rights of the roles among these objects.
pub fn rights_in(objects: &[Value]) -> Vec<Right> {
    let mut rights = Vec::new();
    let is_role = |object: &Value| object["kind"] == "ClusterRole" || object["kind"] == "Role";
    for role in objects.iter().filter(|object| is_role(object)) {
        let namespace = role["metadata"]["namespace"].as_str().map(ToOwned::to_owned);
        for rule in role["rules"].as_array().unwrap() {
            let names = match &*words(&rule["resourceNames"]) {
                [] => vec![None],
                names => names.iter().cloned().map(Some).collect(),
            };
            for (group, resource, verb, name) in product(rule, &names) {
                rights.push(Right { group, resource, verb, name, namespace: namespace.clone() });
            }
        }
    }
    rights
}

fn product(
    rule: &Value,
    names: &[Option<String>],
) -> Vec<(String, String, String, Option<String>)> {
    let mut all = Vec::new();
    for group in words(&rule["apiGroups"]) {
        for resource in words(&rule["resources"]) {
            for verb in words(&rule["verbs"]) {
                let one = |name| (group.clone(), resource.clone(), verb.clone(), name);
                all.extend(names.iter().cloned().map(one));
            }
        }
    }
    all
}

fn words(list: &Value) -> Vec<String> {
    serde_json::from_value(list.clone()).unwrap_or_default()
}
