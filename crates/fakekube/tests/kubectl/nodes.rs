//! Nodes: cordon, taint, label, describe.

use crate::both::Both;

fn node(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Node\nmetadata:\n  name: {name}\n  labels: {{pool: edge, test: {name}}}\n\
         spec:\n  providerID: digitalocean://1\n"
    )
}

const STATUS: &str = r#"{"status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","message":"ready","lastHeartbeatTime":"2024-01-01T00:00:00Z","lastTransitionTime":"2024-01-01T00:00:00Z"}],"addresses":[{"type":"InternalIP","address":"10.0.0.1"}],"capacity":{"cpu":"2","memory":"4Gi"},"allocatable":{"cpu":"2","memory":"4Gi"},"nodeInfo":{"kubeletVersion":"v1.33.0","osImage":"Debian","kernelVersion":"6.1","containerRuntimeVersion":"containerd://2","architecture":"amd64","operatingSystem":"linux","bootID":"b","machineID":"m","systemUUID":"s","kubeProxyVersion":""}}}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_cordoned_and_uncordoned() {
    let Some(both) = Both::start("nodes-cordon").await else { return };
    both.good_with(&["apply", "-f", "-"], &node("cordoned"));
    both.good(&["patch", "node", "cordoned", "--subresource=status", "-p", STATUS]);
    both.good(&["cordon", "cordoned"]);
    both.good(&["cordon", "cordoned"]);
    both.good(&["get", "node", "cordoned", "-o", "wide"]);
    both.good(&["get", "node", "-l", "test=cordoned"]);
    both.good(&[
        "get",
        "nodes",
        "--field-selector",
        "spec.unschedulable=true",
        "-l",
        "test=cordoned",
    ]);
    both.same(&["describe", "node", "cordoned"]);
    both.good(&["uncordon", "cordoned"]);
    both.good(&["get", "node", "cordoned", "-o", "yaml"]);
    both.good(&["uncordon", "-l", "test=cordoned"]);
    both.good(&["delete", "node", "cordoned"]);
    both.same(&["cordon", "cordoned"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_tainted_and_labelled() {
    let Some(both) = Both::start("nodes-taint").await else { return };
    both.good_with(&["apply", "-f", "-"], &node("tainted"));
    both.good(&["taint", "nodes", "tainted", "key=value:NoSchedule"]);
    both.same(&["taint", "nodes", "tainted", "key=other:NoSchedule"]);
    both.good(&["taint", "nodes", "tainted", "key=other:NoSchedule", "--overwrite"]);
    both.good(&["taint", "nodes", "tainted", "key:NoSchedule-"]);
    both.good(&["label", "node", "tainted", "a=b", "c=d"]);
    both.same(&["label", "node", "tainted", "a=z"]);
    both.good(&["label", "node", "tainted", "a=z", "--overwrite"]);
    both.good(&["label", "node", "tainted", "c-"]);
    both.same(&["label", "node", "tainted", "bad key=x"]);
    both.good(&["get", "node", "tainted", "--show-labels"]);
    both.good(&["annotate", "node", "tainted", "example.com/note=a text"]);
    both.good(&["annotate", "node", "tainted", "example.com/note-"]);
    both.good(&["get", "node", "tainted", "-o", "yaml"]);
    both.same(&["drain", "tainted", "--dry-run=client"]);
    both.good(&["delete", "node", "tainted"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_drained() {
    let Some(both) = Both::start("nodes-drain").await else { return };
    both.good_with(&["apply", "-f", "-"], &node("drained"));
    let owner = "{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: 6d8a2c5e-0000-4000-8000-000000000000, controller: true}";
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: owned, ownerReferences: [{owner}]}}\n\
         spec: {{nodeName: drained, terminationGracePeriodSeconds: 0, containers: [{{name: c, image: 'i:1'}}]}}\n"
    );
    both.good_with(&["create", "-f", "-"], &pod);
    let alone = pod.replace("owned", "alone").replace(&format!(", ownerReferences: [{owner}]"), "");
    both.good_with(&["create", "-f", "-"], &alone);
    both.same(&["drain", "drained", "--timeout=20s"]);
    both.good(&["delete", "pod", "alone"]);
    both.good(&["drain", "drained", "--timeout=20s", "--dry-run=server"]);
    both.good(&["drain", "drained", "--timeout=20s"]);
    both.same(&["get", "pods"]);
    both.good(&["drain", "drained", "--timeout=20s"]);
    both.good(&["uncordon", "drained"]);
    both.good(&["delete", "node", "drained"]);
}
