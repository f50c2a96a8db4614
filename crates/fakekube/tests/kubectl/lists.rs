//! Reading: `get` in all its forms, `describe`, `events`.

use crate::both::Both;

const CONFIG: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  labels: {app: web, tier: front}
  annotations: {note: a text}
data:
  b: two
  a: |
    one
    more
---
apiVersion: v1
kind: Secret
metadata:
  name: hidden
  labels: {app: web}
stringData: {password: x}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: worker}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: held}
spec: {holderIdentity: me, leaseDurationSeconds: 15, leaseTransitions: 1, renewTime: '2024-01-01T00:00:00.000000Z'}
";

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  nodeName: some-node
  containers:
  - name: main
    image: example.com/web:1
    ports: [{containerPort: 80}]
    env: [{name: A, value: b}]
";

const POOL: &str = "\
apiVersion: flipop.digitalocean.com/v1alpha1
kind: FloatingIPPool
metadata:
  name: ingress
  labels: {app: web}
spec:
  provider: digitalocean
  region: nyc3
  ips: [192.0.2.1, 192.0.2.2]
  match: {nodeLabel: pool=edge}
";

const REPORTED: &str = r#"{"status":{"conditions":[{"type":"Ready","status":"True","reason":"AllAssigned","message":"2 of 2","lastTransitionTime":"2024-01-01T00:00:00Z"}],"ips":{"192.0.2.1":{"state":"active","nodeName":"n"}}}}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_prints_every_form() {
    let Some(both) = Both::start("lists-get").await else { return };
    both.good_with(&["apply", "-f", "-"], CONFIG);
    for kind in ["configmap", "secret", "serviceaccount", "lease", "cm,secret"] {
        for form in ["wide", "yaml", "json", "name"] {
            both.good(&["get", kind, "-o", form]);
        }
        both.good(&["get", kind]);
    }
    for args in [
        &["get", "cm", "settings", "-o", "jsonpath={.data.b}"][..],
        &["get", "cm", "-o", "jsonpath={range .items[*]}{.metadata.name}{end}"],
        &["get", "cm", "-o", "custom-columns=NAME:.metadata.name,B:.data.b"],
        &["get", "cm", "--show-labels"],
        &["get", "cm", "-L", "app"],
        &["get", "cm", "--no-headers"],
        &["get", "cm", "-A", "--field-selector", "metadata.namespace=lists-get"],
        &["get", "cm", "--sort-by=.metadata.name"],
        &["get", "all"],
        &["get", "configmaps", "settings", "-o", "go-template={{.metadata.name}}"],
        &["get", "namespace", "lists-get"],
    ] {
        both.same(args);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_selects() {
    let Some(both) = Both::start("lists-select").await else { return };
    both.good_with(&["apply", "-f", "-"], CONFIG);
    for selector in ["app=web", "app!=web", "app in (web,db)", "!app", "tier", "app=web,tier=front"]
    {
        both.good(&["get", "cm,secret", "-l", selector]);
    }
    for selector in
        ["metadata.name=settings", "metadata.name!=settings", "metadata.namespace=lists-select"]
    {
        both.good(&["get", "cm", "--field-selector", selector]);
    }
    both.same(&["get", "cm", "--field-selector", "data.a=b"]);
    both.same(&["get", "cm", "-l", "a in"]);
    both.good(&["get", "secrets", "--field-selector", "type=Opaque"]);
    both.good(&["get", "cm", "--chunk-size=1"]);
}

/// The real server adds an empty `lastState` to a container's status. fakekube does not, so the
/// test writes the field.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pods_are_listed_and_described() {
    let Some(both) = Both::start("lists-pods").await else { return };
    both.good_with(&["create", "-f", "-"], POD);
    let status = r#"{"status":{"phase":"Running","podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}],"conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"main","ready":true,"restartCount":1,"image":"i","imageID":"i","lastState":{},"state":{"running":{"startedAt":"2024-01-01T00:00:00Z"}}}]}}"#;
    both.good(&["patch", "pod", "web", "--subresource=status", "-p", status]);
    for form in ["wide", "yaml", "name", "json"] {
        both.good(&["get", "pods", "-o", form]);
    }
    both.good(&["get", "pods", "--field-selector", "spec.nodeName=some-node"]);
    both.good(&["get", "pods", "--field-selector", "status.phase=Pending"]);
    both.same(&["describe", "pod", "web"]);
    both.good(&["delete", "pod", "web", "--grace-period=0", "--force"]);
    both.good(&["get", "pods"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pools_are_listed_and_described() {
    let Some(both) = Both::start("lists-pools").await else { return };
    let both = both.with_definitions();
    both.good_with(&["apply", "-f", "-"], POOL);
    both.good(&["get", "fippool"]);
    both.good(&[
        "patch",
        "fippool",
        "ingress",
        "--subresource=status",
        "--type=merge",
        "-p",
        REPORTED,
    ]);
    for form in ["wide", "yaml", "json", "name"] {
        both.good(&["get", "floatingippools.flipop.digitalocean.com", "-o", form]);
    }
    both.good(&[
        "get",
        "fippool/ingress",
        "-o",
        "jsonpath={.status.conditions[?(@.type=='Ready')].status}",
    ]);
    both.good(&["get", "pontoon"]);
    both.good(&["get", "fippool", "ingress", "--subresource=status"]);
    both.same(&["describe", "fippool", "ingress"]);
    both.good(&["get", "crd", "floatingippools.flipop.digitalocean.com", "-o", "name"]);
    both.good(&["get", "crd", "floatingippools.flipop.digitalocean.com"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_are_described() {
    let Some(both) = Both::start("lists-describe").await else { return };
    both.good_with(&["apply", "-f", "-"], CONFIG);
    for what in ["cm/settings", "secret/hidden", "sa/worker", "lease/held"] {
        both.same(&["describe", what]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_listed() {
    let Some(both) = Both::start("lists-events").await else { return };
    let event = |name: &str, kind: &str, seen: &str| {
        format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: {name}}}\n\
             involvedObject: {{kind: ConfigMap, name: settings, namespace: lists-events}}\n\
             reason: Moved\nmessage: it moved\ntype: {kind}\ncount: 2\n\
             source: {{component: me}}\nfirstTimestamp: {seen}\nlastTimestamp: {seen}\n---\n"
        )
    };
    let events = event("a", "Normal", "2024-01-01T00:00:00Z")
        + &event("b", "Warning", "2024-01-02T00:00:00Z");
    both.good_with(&["create", "-f", "-"], &events);
    both.good(&["events"]);
    both.good(&["events", "--types=Warning"]);
    both.good(&["events", "--for=configmap/settings"]);
    both.good(&["get", "events"]);
    both.good(&["get", "events", "-o", "wide"]);
    both.good(&["get", "events.events.k8s.io", "-o", "yaml"]);
    both.good(&["get", "events", "--field-selector", "involvedObject.name=settings,type=Warning"]);
    both.good_with(&["apply", "-f", "-"], CONFIG);
    both.same(&["describe", "cm/settings"]);
}
