//! Provider IDs of nodes.

use super::*;
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
