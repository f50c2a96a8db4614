//! What the store and the emulator tell of a cloud: provider IDs, people, purposes of calls.

use bytes::Bytes;
use fakecloud::{OperationStatus, Purpose};
use http::Request;
use serde_json::{Value, json};

use super::client::{get, ip};
use super::{A, B, PROJECT, add, addresses, cloud, instance, remove};

#[tokio::test(start_paused = true)]
async fn provider_ids_lead_to_instances_and_back() {
    let cloud = cloud();
    let id = fakecloud::provider_id("gcp", 1);
    assert_eq!(id, "gce://test-project/us-central1-b/m-1");
    assert_eq!(fakecloud::machine_of(&id), Some(1));
    assert_eq!(cloud.provider_id("gcp", 3), "gce://test-project/europe-west1-b/m-3");
    assert_eq!(cloud.provider_id("digitalocean", 3), fakecloud::provider_id("digitalocean", 3));
    for odd in ["gce://p/z/node", "gce://p/z/m-1/x", "gce://m-1", "m-1"] {
        assert_eq!(fakecloud::machine_of(odd), None, "{odd}");
    }
    // Machines of foreign regions are in the default region, and all answer to the user's name.
    cloud.machine(4, "four", "nyc3").reserve(ip("203.0.113.4"), "nyc3");
    let named = get(&cloud, &instance(4).replace("m-4", "four")).await;
    assert_eq!((named.status, &named.body["name"]), (200, &json!("m-4")));
    remove(&cloud, 4).await;
    assert_eq!(add(&cloud, 4, Some("203.0.113.4")).await.status, 200);
    assert_eq!(cloud.holder(ip("203.0.113.4")), Some(4));
    let numbered = instance(2).replace("m-2", "4200000000000000002");
    assert_eq!(get(&cloud, &numbered).await.body["name"], "m-2");
    let elsewhere = instance(2).replace("test-project", "another-project");
    let shown = get(&cloud, &elsewhere).await.body;
    assert!(shown["selfLink"].as_str().unwrap().contains("/projects/another-project/"));
}

#[tokio::test(start_paused = true)]
async fn people_leave_machines_with_an_address_of_their_own() {
    let cloud = cloud();
    cloud.human_moves(ip(A), Some(2));
    assert_eq!((cloud.egress(2), cloud.own_address(2)), (Some(ip(A)), None));
    assert!(cloud.own_address(1).is_some());
    cloud.human_moves(ip(A), None);
    assert!(cloud.own_address(2).is_some());
    cloud.without_own_address(1).human_moves(ip(A), Some(1));
    cloud.human_moves(ip(A), None);
    assert_eq!(cloud.egress(1), None, "private by design");
    let operations: Vec<_> =
        cloud.look(|state| state.operations().map(|o| (o.id, o.status)).collect());
    assert!(operations.iter().all(|(_, status)| *status == OperationStatus::Completed));
    let (id, _) = operations[0];
    let zone = format!("{PROJECT}/zones/us-central1-b/operations/operation-{id}");
    assert_eq!(get(&cloud, &zone).await.body["operationType"], "addAccessConfig");
}

#[tokio::test(start_paused = true)]
async fn calls_tell_their_purpose_and_the_state_tells_the_rest() {
    let cloud = cloud();
    let request = |method: &str, path: &str, body: Value| {
        let uri = format!("http://127.0.0.1{path}");
        let body = Bytes::from(if body.is_null() { String::new() } else { body.to_string() });
        Request::builder().method(method).uri(uri).body(body).unwrap()
    };
    let told =
        |method: &str, path: &str, body: Value| fakecloud::asked(&request(method, path, body));
    let all = format!("{PROJECT}/aggregated/addresses");
    for (method, path, purpose) in [
        ("GET", all.clone(), Purpose::List),
        ("GET", format!("{all}?filter=addressType%3DEXTERNAL"), Purpose::List),
        ("GET", format!("{all}?filter=address%3D{A}"), Purpose::ReadAddress),
        ("GET", format!("{}/ip-198-51-100-101", addresses()), Purpose::ReadAddress),
        ("POST", addresses(), Purpose::CreateIn),
        ("DELETE", format!("{}/ip-198-51-100-101", addresses()), Purpose::Release),
        ("GET", instance(1), Purpose::SeeMachines),
        ("GET", format!("{PROJECT}/zones/us-central1-b"), Purpose::SeeMachines),
        ("GET", format!("{PROJECT}/zones/us-central1-b/operations/o"), Purpose::ReadOperation),
        (
            "POST",
            format!("{PROJECT}/regions/us-central1/operations/o/wait"),
            Purpose::ReadOperation,
        ),
        ("POST", format!("{}/deleteAccessConfig", instance(1)), Purpose::Unassign),
    ] {
        assert_eq!(told(method, &path, Value::Null).purpose, purpose, "{path}");
    }
    assert_eq!(told("GET", &format!("{all}?filter=address%3D{A}"), Value::Null).ip, Some(ip(A)));
    let released = told("DELETE", &format!("{}/ip-198-51-100-101", addresses()), Value::Null);
    assert_eq!(released.ip, Some(ip(A)));
    let add = format!("{}/addAccessConfig?networkInterface=nic0", instance(2));
    let assign = told("POST", &add, json!({"natIP": B}));
    assert_eq!(
        (assign.purpose, assign.ip, assign.machine),
        (Purpose::Assign, Some(ip(B)), Some(2))
    );
    let restore = told("POST", &add, json!({}));
    assert_eq!(
        (restore.purpose, restore.ip, restore.machine),
        (Purpose::RestoreOwn, None, Some(2))
    );
    let query = "deleteAccessConfig?networkInterface=nic0&accessConfig=External%20NAT";
    let known = |number| {
        cloud.asked(&request("POST", &format!("{}/{query}", instance(number)), Value::Null))
    };
    assert_eq!((known(1).purpose, known(1).ip), (Purpose::Unassign, Some(ip(A))));
    assert_eq!((known(2).purpose, known(2).machine), (Purpose::DropOwn, Some(2)));
    for purpose in [Purpose::DropOwn, Purpose::RestoreOwn] {
        assert!(purpose.changes() && !Purpose::ALL.contains(&purpose));
    }
}
