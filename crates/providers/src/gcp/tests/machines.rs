//! Provider IDs of nodes.

use super::*;
use crate::MachineNames;
use crate::gcp::place::user;

#[test]
fn only_instances_of_google_are_machines() {
    let found = named("gce://my-project/us-central1-b/node-1");
    assert_eq!(found, Some(MachineId("my-project/us-central1-b/node-1".into())));
    let scoped = named("gce://example.com:my-project/us-central1-b/node-1");
    assert_eq!(scoped.unwrap().0, "example.com:my-project/us-central1-b/node-1");
    let strangers = [
        "gce://",
        "gce:///us-central1-b/node-1",
        "gce://my-project/us-central1-b",
        "gce://my-project/us-central1-b/",
        "gce://my-project/us-central1-b/node-1/more",
        "gce://my-project/us-central1-b/../node",
        "gce://my-project/us-central1-b/node 1",
        "gce://../us-central1-b/node",
        "GCE://my-project/us-central1-b/node-1",
        "digitalocean://3164444",
        "aws:///us-east-1a/i-0123",
        "my-project/us-central1-b/node-1",
        "",
    ];
    for stranger in strangers {
        assert_eq!(named(stranger), None, "{stranger}");
    }
}

#[test]
fn a_node_without_a_provider_id_is_on_the_instance_of_its_name_in_its_zone() {
    let names = |variables: &[(&str, &str)]| with_variables(variables, MachineNames::read);
    let ours = names(&[("GOOGLE_CLOUD_PROJECT", "p"), ("GCP_PROJECT", "other")]);
    let (vendor, found) = ours.machine("a", Some("us-central1-b")).unwrap();
    assert_eq!((vendor.name, Some(found)), ("gcp", named("gce://p/us-central1-b/a")));
    let lacks = |names: &MachineNames, node: &str, zone: Option<&str>| {
        names.machine(node, zone).unwrap_err().unwrap().lacks
    };
    for zone in ["us-east-1a", "westeurope-1", "nyc3", "us-central1", "us-central1-", "-a", ""] {
        assert!(lacks(&ours, "a", Some(zone)).contains("are not those of a machine"), "{zone}");
    }
    for node in ["a.example.com", "A", "a/b", ""] {
        let lacks = lacks(&ours, node, Some("us-central1-b"));
        assert!(lacks.contains("are not those of a machine"), "{node}");
    }
    assert_eq!(lacks(&ours, "a", None), "no label topology.kubernetes.io/zone");
    let none = names(&[]);
    assert_eq!(lacks(&none, "a", Some("us-central1-b")), "GOOGLE_CLOUD_PROJECT is not set");
    let both = "no label topology.kubernetes.io/zone, and GOOGLE_CLOUD_PROJECT is not set";
    assert_eq!(lacks(&none, "a", None), both);
    let second = names(&[("GCP_PROJECT", "other")]).machine("a", Some("us-central1-b")).unwrap();
    assert_eq!(second.1.0, "other/us-central1-b/a");
}

#[test]
fn an_instance_that_no_node_names_is_shown_like_a_node_would_name_it() {
    assert_eq!(shown(&machine("a")), "gce://p/us-central1-b/a");
}

#[test]
fn the_user_of_an_address_is_the_machine_that_its_node_names() {
    let link = format!("{BASE}/zones/us-central1-b/instances/a");
    assert_eq!(Some(user(&link)), named("gce://p/us-central1-b/a"));
    let rule = user(&format!("{BASE}/regions/us-central1/forwardingRules/web"));
    assert_eq!(rule.0, "p/regions/us-central1/forwardingRules/web");
    assert_eq!(named(&shown(&rule)), None);
}

#[tokio::test]
async fn another_vendors_machine_is_rejected_without_a_request() {
    let provider = Script::default().open();
    let stranger = MachineId("3164444".into());
    assert_eq!(provider.assign(ip(), &stranger).await.unwrap_err().kind, ErrorKind::Rejected);
    assert_eq!(provider.restore_egress(&stranger).await.unwrap_err().kind, ErrorKind::Rejected);
}
