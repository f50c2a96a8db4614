//! The scene with an allocation at Google, and allocations of the user's own in either scene.

use std::path::Path;

use super::{LIMIT, Running, file, kubectl, scripted, text, until};

/// Runs a script that must succeed. Returns what the sandbox told.
pub fn told(script: &str, args: &[&str]) -> String {
    let output = scripted(script, args);
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}{}", text(&output.stderr));
    told
}

/// Asserts that these words are told, each after the one before.
pub fn in_order(told: &str, words: &[&str]) {
    let mut rest = told;
    for words in words {
        let found = rest.split_once(words);
        rest = found.unwrap_or_else(|| panic!("no {words:?} in the rest of {told}")).1;
    }
}

#[test]
fn an_address_stays_on_a_cordoned_node_and_leaves_when_the_node_is_drained() {
    let script = "wait\nstatus\ncordon node-1\nwait\nstatus\ndrain node-1\nwait\nstatus\n";
    let told = told(script, &["--gcp"]);
    let begun =
        ["node-1       well      198.51.100.1", "voice/kamailio         2/2   pods on node-1"];
    in_order(&told, &begun);
    let cordoned = ["node-1 is cordoned", "node-1       cordoned  198.51.100.1\n"];
    in_order(&told, &cordoned);
    let moved = "198.51.100.1 moved node-1 → node-3 in ";
    assert_eq!(told.matches(" moved ").count(), 1, "{told}");
    let drained = [
        "node-1 is drained",
        moved,
        "node-1       cordoned  \n",
        "node-3       well      198.51.100.1",
        "sip                    2/2   2 addresses on 2 of 3 eligible nodes",
        "voice/kamailio         2/2   pods on node-2, node-3",
    ];
    in_order(&told, &drained);
}

#[test]
fn a_killed_node_loses_its_address_and_its_pod_after_the_grace_period() {
    let told = told("wait\nkill node-2\nwait\nstatus\nheal\nwait\nstatus\n", &["--gcp"]);
    let words = [
        "node-2 is killed",
        "198.51.100.2 moved node-2 → node-3 in ",
        "node-2       not ready",
        "voice/kamailio         2/2   pods on node-1, node-3",
        "node-2 is well",
        "node-2       well      \n",
        "voice/kamailio         2/2   pods on node-1, node-3",
    ];
    in_order(&told, &words);
}

#[test]
fn what_befalls_the_operator_costs_an_allocation_nothing() {
    let told = told("wait\ncrash\nfreeze\nmove\nstatus\n", &["--gcp"]);
    let words = [
        "after the crash: 0 moved, 0 calls, 0 dropped",
        "after the freeze: 0 moved, 0 calls, 0 dropped",
        "somebody moves 198.51.100.1 to node-3 at the cloud",
        "after the move by hand: 0 moved, 0 calls, 0 dropped",
        "node-3       well      198.51.100.1",
        "voice/kamailio         2/2   pods on node-2, node-3",
    ];
    in_order(&told, &words);
}

#[test]
fn stock_kubectl_drains_a_node_and_watches_the_address_follow() {
    let running = Running::start(&["--gcp"]);
    let kubeconfig = running.kubeconfig();
    running.hear("/metrics");
    let wait = ["wait", "--for=condition=Ready", "nia/sip", "--timeout=30s"];
    if kubectl(&kubeconfig, &wait).is_none() {
        return;
    }
    let good = |args: &[&str]| kubectl(&kubeconfig, args).unwrap();
    let rollout = ["rollout", "status", "deploy/kamailio", "-n", "voice", "--timeout=30s"];
    good(&rollout);
    let pods = ["get", "pods", "-n", "voice", "-o", "wide"];
    let table = good(&pods);
    assert!(table.contains("node-1") && table.contains("node-2"), "{table}");

    good(&["cordon", "node-1"]);
    // The operator removes the label from a node without an address: it has seen the cordon.
    let labelled = ["get", "nodes", "-l", "ip.ready=true", "-o", "name"];
    good(&["label", "node", "node-4", "ip.ready=true"]);
    until(&kubeconfig, &labelled, |printed| printed == "node/node-1\nnode/node-2\n");
    let home = ["get", "nia", "sip", "-o", "jsonpath={.status.ips.198\\.51\\.100\\.1.nodeName}"];
    assert_eq!(good(&home), "node-1", "a pod is on the node");

    let drained = good(&["drain", "node-1", "--ignore-daemonsets", "--timeout=30s"]);
    assert!(drained.contains("node/node-1 drained"), "{drained}");
    running.hear("198.51.100.1 moved node-1 → node-3");
    until(&kubeconfig, &labelled, |printed| printed == "node/node-2\nnode/node-3\n");
    until(&kubeconfig, &home, |printed| printed == "node-3");
    good(&rollout);
    let table = until(&kubeconfig, &pods, |printed| printed.matches("Running").count() == 2);
    assert!(table.contains("node-3") && !table.contains("node-1"), "{table}");
    let deployment = good(&["get", "deploy", "-n", "voice"]);
    let row = deployment.lines().last().unwrap().split_whitespace().take(4);
    assert_eq!(row.collect::<Vec<_>>(), ["kamailio", "2/2", "2", "2"], "{deployment}");
    let shown = ["get", "node", "node-3", "-o", "wide"];
    until(&kubeconfig, &shown, |printed| printed.contains("198.51.100.1"));
    let events = good(&["events", "--for", "nia/sip", "-n", "default"]);
    assert!(events.contains("moved node-1 → node-3"), "{events}");
    let heard = running.heard.borrow();
    assert!(!heard.iter().any(|line| line.contains("does not have")), "{heard:#?}");
}

#[test]
fn the_allocation_of_our_own_page_runs_in_either_scene() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/allocations.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let manifest = file(folder.path(), "sip.yaml", rest.split_once("```").unwrap().0);
    let given = ["-f", manifest.to_str().unwrap()];
    let alone = told("wait\nstatus\n", &given);
    assert!(alone.contains("2 addresses on 2 of 3 eligible nodes"), "{alone}");
    let with_workload =
        told("wait\ndrain node-1\nwait\nstatus\n", &[&["--gcp"], &given[..]].concat());
    let words = [
        "emulated cloud (4 nodes, 2 addresses)",
        "203.0.113.7 moved node-1 → node-3",
        "voice/kamailio         2/2   pods on node-2, node-3",
    ];
    in_order(&with_workload, &words);
}

#[test]
fn allocations_at_two_providers_get_nodes_of_both_and_a_deployment_gets_its_pods() {
    let allocation = |name: &str, ip: &str, cloud: &str| {
        format!(
            "apiVersion: netinfra.darkbrains.com/v1alpha1\nkind: NetIPAllocation\n\
             metadata: {{name: {name}}}\n\
             spec:\n  reservedIPs: [{ip}]\n  cloud: {{{cloud}}}\n  nodeSelector: {{role: edge}}\n  \
             workloadRef: {{kind: Deployment, name: {name}}}\n---\n\
             apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: default}}\n\
             spec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    \
             metadata: {{labels: {{app: {name}}}}}\n    \
             spec: {{containers: [{{name: c, image: i}}]}}\n---\n"
        )
    };
    let west = "provider: gcp, region: us-west1, zones: [us-west1-c]";
    let both = allocation("west", "192.0.2.1", west)
        + &allocation("east", "192.0.2.2", "provider: digitalocean");
    let folder = tempfile::tempdir().unwrap();
    let manifest = file(folder.path(), "both.yaml", &both);
    for scene in [&["--nodes", "2"][..], &["--nodes", "2", "--gcp", "--ips", "1"]] {
        let args = [&["-f", manifest.to_str().unwrap()], scene].concat();
        let told = told("wait\nstatus\n", &args);
        let words = [
            "emulated cloud (4 nodes, 2 addresses)",
            "node-1       well      192.0.2.1",
            "node-3       well      192.0.2.2",
            "default/east           1/1   pods on ",
            "default/west           1/1   pods on ",
        ];
        in_order(&told, &words);
    }
}

#[test]
fn a_rollout_and_a_new_size_leave_the_addresses_where_they_are() {
    let mut running = Running::start(&["--gcp"]);
    let kubeconfig = running.kubeconfig();
    running.hear("/metrics");
    let wait = ["wait", "--for=condition=Ready", "nia/sip", "--timeout=30s"];
    if kubectl(&kubeconfig, &wait).is_none() {
        return;
    }
    let good = |args: &[&str]| kubectl(&kubeconfig, args).unwrap();
    let status = format!("--timeout={}s", LIMIT.as_secs());
    let rollout = ["rollout", "status", "deploy/kamailio", "-n", "voice", &status];
    good(&rollout);
    good(&["rollout", "restart", "deploy/kamailio", "-n", "voice"]);
    good(&rollout);
    good(&["scale", "deploy/kamailio", "-n", "voice", "--replicas=1"]);
    let pods = ["get", "pods", "-n", "voice", "-o", "name"];
    until(&kubeconfig, &pods, |printed| printed.lines().count() == 1);
    good(&["delete", "deploy/kamailio", "-n", "voice"]);
    until(&kubeconfig, &pods, str::is_empty);
    running.say("status");
    running.hear("sip                    2/2   2 addresses on 2 of 4 eligible nodes");
    let heard = running.heard.borrow();
    assert!(!heard.iter().any(|line| line.contains(" moved ")), "{heard:#?}");
}
