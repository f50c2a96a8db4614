//! The machines' own addresses.

use super::*;

#[tokio::test]
async fn a_machine_without_an_address_gets_an_ephemeral_one() {
    let script = Script::default()
        .then(200, instance("a", &[None, Some(("External NAT", "34.1.2.3"))]))
        .then(200, operation("RUNNING"));
    let Accepted::Pending(_) = script.open().restore_egress(&machine("a")).await.unwrap() else {
        panic!("done at once")
    };
    let body = r#"{"name":"External NAT","type":"ONE_TO_ONE_NAT"}"#;
    let adds = format!("POST {INSTANCE}/addAccessConfig?networkInterface=nic0 {body}");
    assert_eq!(sent(&script), [format!("GET {INSTANCE}"), adds]);
}

#[tokio::test]
async fn a_machine_with_an_address_or_no_machine_at_all_is_left_alone() {
    for script in [
        Script::default().then(200, with_own("a")),
        Script::default().then(200, instance("a", &[Some(("External NAT", IP))])),
        Script::default().then(404, not_found()),
    ] {
        assert_eq!(script.open().restore_egress(&machine("a")).await.unwrap(), Accepted::Done);
    }
}

#[tokio::test]
async fn somebody_elses_address_is_as_good() {
    let refused = problem(400, "badRequest", "At most one access config currently supported.");
    let bare = || Script::default().then(200, instance("a", &[None])).then(400, &refused);
    let script = bare().then(200, with_own("a"));
    assert_eq!(script.open().restore_egress(&machine("a")).await.unwrap(), Accepted::Done);
    let script = bare().then(200, instance("a", &[None]));
    let error = script.open().restore_egress(&machine("a")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
}

#[tokio::test]
async fn failures_are_told() {
    let script = Script::default()
        .then(200, instance("a", &[None]))
        .then(403, forbidden("compute.subnetworks.useExternalIp"));
    let error = script.open().restore_egress(&machine("a")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Forbidden);
    assert!(error.message.contains("useExternalIp"), "{error}");
}
