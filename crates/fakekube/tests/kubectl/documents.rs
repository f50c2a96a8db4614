//! kubectl's information about kinds: `explain`, `api-resources`, `api-versions`, `version`.

use crate::both::{Both, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kinds_are_explained() {
    let Some(both) = Both::start("documents-explain").await else { return };
    let both = both.with_definitions();
    for what in [
        "fippool",
        "fippool.spec",
        "fippool.spec.match.tolerations",
        "fippool.status.conditions",
        "nodedns.spec.dnsRecordSet.ttl",
        "node",
        "node.spec.taints",
        "pod.spec.containers.ports",
        "cm",
        "lease.spec",
        "crd.spec.names",
        "events",
    ] {
        both.good(&["explain", what]);
    }
    both.good(&["explain", "fippool", "--recursive"]);
    both.good(&["explain", "pod.spec", "--recursive"]);
    both.same(&["explain", "fippool.spec.none"]);
    both.same(&["explain", "nothing"]);
    both.good(&["explain", "fippool", "--api-version=flipop.digitalocean.com/v1alpha1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resources_are_listed() {
    let Some(both) = Both::start("documents-resources").await else { return };
    let both = both.with_definitions();
    for args in [
        &["api-resources", "--api-group=flipop.digitalocean.com"][..],
        &["api-resources", "--api-group=flipop.digitalocean.com", "-o", "wide"],
        &["api-resources", "--api-group=apiextensions.k8s.io", "-o", "wide"],
        &["api-resources", "--api-group=events.k8s.io"],
        &["api-resources", "--categories=pontoon", "-o", "name"],
    ] {
        both.good(args);
    }
    let of = |kubectl| run(kubectl, &["api-resources", "--api-group="], "").out;
    let (real, fake) = (of(both.real()), of(both.faked()));
    for line in fake.lines() {
        assert!(real.lines().any(|other| other == line), "{line}");
    }
}
