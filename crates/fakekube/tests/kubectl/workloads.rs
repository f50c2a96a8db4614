//! Workloads and disruption budgets: apply, get, describe, scale, delete, and drain under a budget.

use crate::both::{Both, run};

fn workload(kind: &str, name: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {name}, labels: {{app: {name}}}}}\n\
         spec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    \
         metadata: {{labels: {{app: {name}}}}}\n    spec:\n      containers:\n      \
         - {{name: main, image: 'example.com/web:1', ports: [{{containerPort: 80}}], env: [{{name: A, value: b}}]}}\n      \
         - {{name: side, image: 'example.com/side:1'}}\n---\n"
    )
}

fn budget(name: &str) -> String {
    format!(
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: {name}}}\n\
         spec: {{minAvailable: 1, selector: {{matchLabels: {{app: {name}}}}}}}\n---\n"
    )
}

fn all(name: &str) -> String {
    let kinds = ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"];
    kinds.map(|kind| workload(kind, name)).concat() + &budget(name)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workloads_are_applied_listed_and_deleted() {
    let Some(both) = Both::start("workloads-get").await else { return };
    both.good_with(&["apply", "-f", "-"], &all("web"));
    both.good_with(&["apply", "-f", "-"], &all("web"));
    both.good_with(&["apply", "-f", "-"], &all("web").replace("web:1", "web:2"));
    both.same_with(&["diff", "-f", "-"], &all("web"));
    both.good(&["get", "deploy,rs,sts,ds,pdb"]);
    for kind in ["deploy", "rs", "sts", "ds", "pdb"] {
        for form in ["wide", "yaml", "name"] {
            both.good(&["get", kind, "-o", form]);
        }
        both.good(&["get", kind, "-l", "app=web", "--show-labels"]);
    }
    both.good(&["get", "all"]);
    both.good(&[
        "get",
        "deploy",
        "-l",
        "app=web",
        "-A",
        "--field-selector",
        "metadata.namespace=workloads-get",
    ]);
    both.good(&["delete", "deploy,rs,sts,ds,pdb", "web"]);
    both.same(&["get", "deploy,rs,sts,ds,pdb"]);
    both.same(&["delete", "deploy", "web"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workloads_are_applied_by_the_server() {
    let Some(both) = Both::start("workloads-apply").await else { return };
    both.good_with(&["apply", "--server-side", "-f", "-"], &all("web"));
    both.good_with(&["apply", "--server-side", "-f", "-"], &all("web").replace("web:1", "web:2"));
    both.good(&["get", "deploy,rs,sts,ds,pdb", "-o", "yaml", "--show-managed-fields"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workloads_are_described_and_explained() {
    let Some(both) = Both::start("workloads-describe").await else { return };
    both.good_with(&["create", "-f", "-"], &all("web"));
    for kind in ["deploy", "rs", "sts", "ds", "pdb"] {
        both.same(&["describe", kind, "web"]);
    }
    for what in
        ["deploy.spec.strategy", "rs.status", "sts.spec", "ds.spec.updateStrategy", "pdb.spec"]
    {
        both.good(&["explain", what]);
    }
    both.good(&["api-resources", "--api-group=policy", "-o", "wide"]);
    let of = |kubectl| run(kubectl, &["api-resources", "--api-group=apps", "-o", "wide"], "").out;
    let (real, fake) = (of(both.real()), of(both.faked()));
    assert_eq!(fake.lines().count(), 5, "{fake}");
    for line in fake.lines() {
        assert!(real.lines().any(|other| other == line), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workloads_are_changed() {
    let Some(both) = Both::start("workloads-change").await else { return };
    both.good_with(&["apply", "-f", "-"], &all("web"));
    both.good(&["scale", "deploy/web", "rs/web", "sts/web", "--replicas=3"]);
    both.good(&["scale", "deploy", "web", "--current-replicas=3", "--replicas=2"]);
    both.same(&["scale", "deploy", "web", "--current-replicas=3", "--replicas=4"]);
    both.same(&["scale", "ds", "web", "--replicas=4"]);
    both.same(&["scale", "deploy", "none", "--replicas=4"]);
    both.good(&["set", "image", "deploy/web", "ds/web", "sts/web", "main=example.com/web:3"]);
    both.good(&["set", "env", "deploy/web", "C=d"]);
    both.good(&["rollout", "pause", "deploy/web"]);
    both.good(&["rollout", "resume", "deploy/web"]);
    both.good(&["patch", "pdb", "web", "-p", r#"{"spec":{"minAvailable":"50%"}}"#]);
    both.good(&["label", "deploy,ds", "web", "l=v"]);
    both.good(&["get", "deploy,rs,sts,ds,pdb", "-o", "yaml"]);
    let done = r#"{"status":{"observedGeneration":7,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2}}"#;
    both.good(&["patch", "deploy", "web", "--subresource=status", "-p", done]);
    both.good(&["rollout", "status", "deploy/web", "--timeout=10s"]);
    both.good(&["get", "deploy", "web"]);
    both.good(&["delete", "deploy", "web", "--cascade=orphan", "--wait=false"]);
    both.good(&["delete", "rs", "web", "--cascade=foreground", "--wait=false"]);
    both.good(&["get", "deploy,rs", "-o", "yaml"]);
}

/// Without a controller of budgets the test reports their status.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_stops_at_a_budget() {
    let Some(both) = Both::start("workloads-drain").await else { return };
    both.good_with(
        &["create", "-f", "-"],
        "apiVersion: v1\nkind: Node\nmetadata: {name: budgeted}\n",
    );
    both.good_with(&["create", "-f", "-"], &all("web"));
    let pod = |name: &str, kind: &str, uid: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\n  labels: {{app: web}}\n  ownerReferences:\n  \
             - {{apiVersion: apps/v1, kind: {kind}, name: web, uid: {uid}, controller: true}}\n\
             spec: {{nodeName: budgeted, terminationGracePeriodSeconds: 0, containers: [{{name: c, image: 'i:1'}}]}}\n"
        )
    };
    let uid = "6d8a2c5e-0000-4000-8000-000000000000";
    both.good_with(&["create", "-f", "-"], &pod("served", "ReplicaSet", uid));
    both.good_with(&["create", "-f", "-"], &pod("daemon", "DaemonSet", uid));
    let ready = r#"{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}"#;
    both.good(&["patch", "pod", "served", "--subresource=status", "-p", ready]);
    both.same(&["drain", "budgeted", "--timeout=2s"]);
    both.same(&["drain", "budgeted", "--ignore-daemonsets", "--timeout=2s"]);
    let report = |allowed: u8| {
        format!(
            r#"{{"status":{{"observedGeneration":1,"disruptionsAllowed":{allowed},"currentHealthy":2,"desiredHealthy":1,"expectedPods":2}}}}"#
        )
    };
    both.good(&["patch", "pdb", "web", "--subresource=status", "--type=merge", "-p", &report(0)]);
    both.same(&["drain", "budgeted", "--ignore-daemonsets", "--timeout=2s"]);
    both.good(&["patch", "pdb", "web", "--subresource=status", "--type=merge", "-p", &report(1)]);
    both.good(&["get", "pdb"]);
    both.good(&["drain", "budgeted", "--ignore-daemonsets", "--timeout=20s"]);
    both.good(&["get", "pdb", "-o", "yaml"]);
    both.good(&["get", "pods"]);
    both.good(&["delete", "pod", "daemon"]);
    both.good(&["delete", "node", "budgeted"]);
}

/// kubectl's own generators send protobuf.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_makes_workloads_by_itself() {
    let Some(both) = Both::start("workloads-create").await else { return };
    both.good(&[
        "create",
        "deployment",
        "made",
        "--image=example.com/i:1",
        "--replicas=2",
        "--port=80",
    ]);
    both.same(&["create", "deployment", "made", "--image=example.com/i:1"]);
    both.good(&["create", "deployment", "two", "--image=example.com/i,example.com/j"]);
    both.good(&["create", "pdb", "least", "--selector=app=made", "--min-available=1"]);
    both.good(&[
        "create",
        "pdb",
        "most",
        "--selector=app=made,tier in (a,b)",
        "--max-unavailable=50%",
    ]);
    both.good(&["get", "deploy,pdb", "-o", "yaml"]);
}
