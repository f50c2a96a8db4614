//! The output of kubectl.

use control_plane::ControlPlane;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::{api_of, create, ours, pool, record_set};

/// The output of kubectl, with columns separated by a single space.
fn kubectl(plane: &ControlPlane, arguments: &[&str]) -> String {
    let output = plane.kubectl().args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(squeezed).collect::<Vec<_>>().join("\n")
}

async fn with_status(client: &kube::Client, manifest: &Value, status: Value) {
    create(client, manifest).await;
    let name = manifest["metadata"]["name"].as_str().unwrap();
    let patch = Patch::Merge(json!({"status": status}));
    api_of(client, manifest).patch_status(name, &PatchParams::default(), &patch).await.unwrap();
}

fn ready(message: &str) -> Value {
    json!([
        {"type": "Reconciling", "status": "False", "reason": "Done", "message": "nothing to do",
            "lastTransitionTime": "2026-11-15T03:35:57Z"},
        {"type": "Ready", "status": "True", "reason": "Placed", "message": message,
            "lastTransitionTime": "2026-11-15T03:35:57Z"},
    ])
}

#[tokio::test]
async fn a_pool_shows_whether_it_is_ready_how_many_are_assigned_and_why() {
    let Some((plane, client)) = ours().await else { return };
    let ips = json!(["192.0.2.1", "2001:db8::1"]);
    let manifest = pool(
        "shown",
        json!({"provider": "digitalocean", "region": "nyc3", "ips": ips, "desiredIPs": 3}),
    );
    let mut conditions = ready("3 IPs on 3 nodes");
    let dns = json!({"type": "DNSReady", "status": "False", "reason": "ZoneNotFound", "message": "no",
        "lastTransitionTime": "2026-11-15T03:35:57Z"});
    conditions.as_array_mut().unwrap().push(dns);
    let status = json!({"conditions": conditions, "assigned": "3/3", "createdIPs": ["192.0.2.9"]});
    with_status(&client, &manifest, status).await;

    let narrow = kubectl(plane, &["get", "fippool", "shown"]);
    let (header, row) = narrow.split_once('\n').unwrap();
    assert_eq!(header, "NAME READY ASSIGNED DNS MESSAGE AGE");
    assert!(row.starts_with("shown True 3/3 False 3 IPs on 3 nodes "), "{row}");

    let wide = kubectl(plane, &["get", "floatingippools", "shown", "-o", "wide"]);
    let (header, row) = wide.split_once('\n').unwrap();
    assert_eq!(header, "NAME READY ASSIGNED DNS MESSAGE AGE IPS CREATED PROVIDER REGION");
    assert!(
        row.ends_with(r#" ["192.0.2.1","2001:db8::1"] ["192.0.2.9"] digitalocean nyc3"#),
        "{row}"
    );
}

#[tokio::test]
async fn a_record_set_shows_its_record_and_why_it_is_ready() {
    let Some((plane, client)) = ours().await else { return };
    let record = json!({"zone": "example.com", "recordName": "nodes"});
    let manifest =
        record_set("shown", json!({"dnsRecordSet": record, "addressType": "InternalIP"}));
    with_status(
        &client,
        &manifest,
        json!({"conditions": ready("2 nodes listed"), "state": "active"}),
    )
    .await;

    let wide = kubectl(plane, &["get", "nodedns", "shown", "-o", "wide"]);
    let (header, row) = wide.split_once('\n').unwrap();
    assert_eq!(header, "NAME READY RECORD ZONE MESSAGE AGE ADDRESSES");
    assert!(row.starts_with("shown True nodes example.com 2 nodes listed "), "{row}");
    assert!(row.ends_with(" InternalIP"), "{row}");
}

#[tokio::test]
async fn our_kinds_are_found_by_their_category() {
    let Some((plane, client)) = ours().await else { return };
    create(&client, &pool("listed", json!({"provider": "digitalocean", "ips": ["192.0.2.1"]})))
        .await;
    let listed = kubectl(plane, &["get", "pontoon", "-o", "name"]);
    assert!(listed.contains("floatingippool.flipop.digitalocean.com/listed"), "{listed}");
}

#[tokio::test]
async fn kubectl_waits_for_a_pool_to_become_ready() {
    let Some((plane, client)) = ours().await else { return };
    let manifest = pool("awaited", json!({"provider": "digitalocean", "ips": ["192.0.2.1"]}));
    with_status(&client, &manifest, json!({"conditions": ready("1 IP on 1 node")})).await;
    let said =
        kubectl(plane, &["wait", "--for=condition=Ready", "fippool/awaited", "--timeout=30s"]);
    assert_eq!(said, "floatingippool.flipop.digitalocean.com/awaited condition met");
}

#[tokio::test]
async fn kubectl_explains_every_level() {
    let Some((plane, _)) = ours().await else { return };
    for (path, words) in [
        ("floatingippool", "kept on matching nodes"),
        ("floatingippool.spec", "Number of addresses to keep on nodes."),
        ("floatingippool.spec.match", "Label selector for nodes"),
        ("floatingippool.spec.match.tolerations", "Effect of the taint"),
        ("floatingippool.spec.dnsRecordSet", "Zone that holds the record"),
        ("floatingippool.status.ips", "Machine that holds the address"),
        ("floatingippool.status.conditions", "one of True, False, Unknown"),
        ("nodedns.spec.addressType", "the address of a FloatingIPPool on the node"),
    ] {
        let explained = kubectl(plane, &["explain", path]).replace('\n', " ");
        assert!(explained.contains(words), "{path}: {explained}");
        assert!(!explained.contains("<no description>"), "{path}: {explained}");
    }
}
