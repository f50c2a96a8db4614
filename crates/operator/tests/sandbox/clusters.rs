//! The scene of a management cluster: Clusters get VIPs.

use super::draining::{in_order, told};
use super::{Running, file, kubectl, scripted, text, until};

#[test]
fn clusters_get_vips_and_the_next_pool_serves_when_the_first_is_full() {
    let told = told("wait\ncreate\nwait\ncreate\nwait\nstatus\n", &["--capi"]);
    let words = [
        "stand-ins for Cluster API and IPAM (2 Clusters, 3 VIP pools)",
        "cluster-3 is created",
        "default/cluster-3 Allocated: control plane: 192.0.2.3 written on the Cluster",
        "cluster-4 is created",
        "default/cluster-1      Provisioned  control plane: 192.0.2.1 from default/few; \
         ingress: 203.0.113.10 from ingress",
        "default/cluster-4      Provisioned  control plane: 198.51.100.10 from many; ",
        "default/few            3/3 used",
        "many                   1/20 used",
    ];
    in_order(&told, &words);
}

#[test]
fn a_deleted_cluster_frees_its_addresses_once_its_machines_are_gone() {
    let told = told("wait\ndelete cluster-1\nwait\nstatus\n", &["--capi"]);
    let begun = ["cluster-1 is deleted", "default/cluster-1 is going", "default/cluster-1 is gone"];
    in_order(&told, &begun);
    in_order(&told, &["default/cluster-1 is gone", "192.0.2.1 is free again (default/vip-cp-"]);
    in_order(&told, &["is free again", "default/few            1/3 used"]);
}

#[test]
fn full_pools_are_told_and_a_waiting_cluster_is_served_when_addresses_are_given_back() {
    let mut running = Running::start(&["--capi"]);
    running.say("wait");
    running.say("fill");
    running.hear("somebody takes every free address: 1 of few, 20 of many");
    running.say("create");
    running.hear("default/cluster-3 PoolExhausted: control plane: no free address in ");
    running.say("fill");
    running.hear("21 addresses are given back");
    running.hear("default/cluster-3 Allocated: control plane: ");
}

#[test]
fn only_held_addresses_stay_with_machines_of_a_cluster_that_is_deleted_in_the_foreground() {
    let script = "wait\ndelete cluster-1 foreground\nwait\n";
    let freed = "192.0.2.1 is free again";
    let unheld = told(script, &["--capi"]);
    in_order(&unheld, &["cluster-1 is deleted in the foreground", freed, "cluster-1 is gone"]);
    let held = told(script, &["--capi", "--hold-vips"]);
    in_order(&held, &["cluster-1 is deleted in the foreground", "cluster-1 is gone", freed]);
}

#[test]
fn what_befalls_the_operator_costs_clusters_nothing() {
    let told = told("wait\ncrash\nfreeze\nwait\n", &["--capi"]);
    let words = [
        "after the crash: 0 VIPs changed, 0 writes, 0 freed",
        "after the freeze: 0 VIPs changed, 0 writes, 0 freed",
    ];
    in_order(&told, &words);
}

const CLUSTER: &str = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\n\
                       metadata: {name: mine, namespace: team}\n\
                       spec: {topology: {classRef: {name: ours}, version: v1.34.0}}\n";

#[test]
fn clusters_of_the_users_own_get_the_classes_and_pools_that_they_need() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = file(folder.path(), "mine.yaml", CLUSTER);
    let told = told("wait\nstatus\n", &["--capi", "-f", manifest.to_str().unwrap()]);
    let words = [
        "(1 Cluster, 3 VIP pools)",
        "→ kubectl delete cluster mine -n team",
        "team/mine              Provisioned  control plane: 198.51.100.10 from many; ingress: ",
    ];
    in_order(&told, &words);
    assert!(!told.contains("cluster-1"), "{told}");
}

#[test]
fn a_cluster_in_another_scene_leads_to_the_right_one() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = file(folder.path(), "mine.yaml", CLUSTER);
    let older = file(folder.path(), "older.yaml", &CLUSTER.replace("v1beta2", "v1beta1"));
    let [manifest, older] = [manifest, older].map(|file| file.to_str().unwrap().to_owned());
    let cases = [
        (
            scripted("", &["-f", &manifest]),
            "does not know the kind Cluster of cluster.x-k8s.io/v1beta2 here; try --capi",
        ),
        (scripted("", &["--capi", "-f", &older]), "classes and claims are of version v1beta2 here"),
        (
            scripted("kill node-1\n", &["--capi"]),
            "\"kill\" is not a command; there are\ncreate [cluster]",
        ),
        (scripted("delete nobody\n", &["--capi"]), "there is no Cluster \"nobody\""),
    ];
    for (output, words) in cases {
        let problem = text(&output.stderr);
        assert!(!output.status.success() && problem.contains(words), "{words}: {problem}");
    }
}

#[test]
fn stock_kubectl_shows_creates_and_deletes_clusters() {
    let running = Running::start(&["--capi"]);
    let kubeconfig = running.kubeconfig();
    let metrics = running.hear("/metrics");
    let ready = "--for=condition=vip.capi.gorizond.io/VIPReady";
    let wait =
        |name: &str| ["wait", ready, name, "-n", "default", "--timeout=30s"].map(str::to_owned);
    let first = wait("cluster/cluster-1");
    if kubectl(&kubeconfig, &first.each_ref().map(String::as_str)).is_none() {
        return;
    }
    let good = |args: &[&str]| kubectl(&kubeconfig, args).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let own = CLUSTER.replace(", namespace: team", "").replace("ours", "kube-vip");
    let manifest = file(folder.path(), "mine.yaml", &own);
    good(&["apply", "-f", manifest.to_str().unwrap()]);
    good(&wait("cluster/mine").each_ref().map(String::as_str));
    let table =
        until(&kubeconfig, &["get", "clusters"], |table| table.matches("Provisioned").count() == 3);
    let row = table.lines().last().unwrap().split_whitespace().take(6);
    let wanted = ["mine", "kube-vip", "Provisioned", "192.0.2.3", "203.0.113.12", "Allocated"];
    assert_eq!(row.collect::<Vec<_>>(), wanted, "{table}");
    let pools = good(&["get", "inclusterippools,globalinclusterippools"]);
    assert!(pools.contains("few") && pools.contains("many"), "{pools}");
    let url = metrics.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
    let free = "capi_vip_allocator_pool_addresses_free{pool_name=\"many\"} 20";
    let begun = std::time::Instant::now();
    while !super::page(url).contains(free) {
        assert!(begun.elapsed() < super::LIMIT, "{}", super::page(url));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }

    good(&["delete", "cluster", "mine", "--timeout=30s"]);
    running.hear("192.0.2.3 is free again (default/vip-cp-mine)");
    until(&kubeconfig, &["get", "ipaddresses"], |table| !table.contains("mine"));
    let heard = running.heard.borrow();
    assert!(!heard.iter().any(|line| line.contains("does not have")), "{heard:#?}");
}
