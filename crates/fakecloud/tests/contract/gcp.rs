//! All endpoints of Google Compute Engine, through success and every error.

use std::time::Duration;

use fakecloud::{Answer, CloudFault, FakeCloud, Fault, On, Rule};
use serde_json::{Value, json};

use crate::client::{delete, get, ip, post, send, send_as};

const PROJECT: &str = "/compute/v1/projects/test-project";
const ADDRESSES: &str = "/compute/v1/projects/test-project/regions/us-central1/addresses";
const UUID: &str = "7f3c0d5e-0000-4000-8000-000000000001";
const HELD: &str = "203.0.113.1";
const FREE: &str = "203.0.113.2";

/// Drives every endpoint through success and every error.
pub async fn drive(cloud: &FakeCloud) {
    cloud
        .machine(1, "one", "us-central1")
        .machine(2, "two", "us-central1")
        .machine(3, "three", "europe-west1")
        .nics(3, 2)
        .tags(3, &["edge"])
        .reserve_on(ip(HELD), 1)
        .reserve(ip(FREE), "us-central1")
        .set(|k| k.action_time = Duration::from_secs(2));
    drive_readings(cloud).await;
    drive_addresses(cloud).await;
    drive_access_configs(cloud).await;
    drive_failures(cloud).await;
    drive_faults(cloud).await;
}

async fn pass(cloud: &FakeCloud, method: &str, path: &str, body: Value) -> Value {
    let answer = send(cloud, method, path, body).await.unwrap();
    assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
    answer.body
}

/// Reads an operation twice, before and after its end.
async fn finish(cloud: &FakeCloud, operation: &Value) {
    let link = operation["selfLink"].as_str().unwrap();
    let path = link.strip_prefix("https://www.googleapis.com").unwrap();
    pass(cloud, "GET", path, Value::Null).await;
    tokio::time::advance(Duration::from_secs(1)).await;
    pass(cloud, "POST", &format!("{path}/wait"), Value::Null).await;
    tokio::time::advance(Duration::from_secs(1)).await;
    let done = pass(cloud, "POST", &format!("{path}/wait"), Value::Null).await;
    assert_eq!(done["status"], "DONE");
    pass(cloud, "GET", path, Value::Null).await;
}

async fn drive_readings(cloud: &FakeCloud) {
    for path in [
        "zones/us-central1-b",
        "regions/us-central1",
        "zones/us-central1-b/instances",
        "zones/us-central1-f/instances",
        "zones/us-central1-b/instances/m-1",
        "zones/us-central1-b/instances/two",
        "zones/europe-west1-b/instances/4200000000000000003?alt=json&prettyPrint=false",
        "aggregated/instances?includeAllScopes=true&maxResults=1",
        "aggregated/addresses?filter=status%20%3D%20IN_USE",
        "regions/us-central1/addresses",
        "regions/us-central1/addresses?maxResults=1&orderBy=name",
        "regions/us-central1/addresses/ip-203-0-113-1",
    ] {
        pass(cloud, "GET", &format!("{PROJECT}/{path}"), Value::Null).await;
    }
    for (path, status) in [
        ("zones/moon", 404),
        ("regions/moon", 404),
        ("zones/moon/instances", 400),
        ("zones/us-central1-b/instances/m-9", 404),
        ("zones/us-central1-b/instances/M_9", 404),
        ("zones/us-central1-b/operations/operation-1", 404),
        ("regions/us-central1/operations/operation-1", 404),
        ("regions/us-central1/addresses/nobody", 404),
        ("regions/us-central1/addresses?maxResults=many", 400),
        ("regions/us-central1/addresses?maxResults=-1", 400),
        ("regions/us-central1/addresses?per_page=3", 400),
        ("regions/us-central1/addresses?filter=nonsense", 400),
        ("aggregated/addresses?pageToken=x", 400),
        ("zones/us-central1-b/instances/m-1?verbose=true", 400),
        ("zones/us-central1-b?verbose=true", 400),
    ] {
        assert_eq!(get(cloud, &format!("{PROJECT}/{path}")).await.status, status, "{path}");
    }
}

async fn drive_addresses(cloud: &FakeCloud) {
    let body = json!({
        "name": "web", "description": "ours", "addressType": "EXTERNAL", "ipVersion": "IPV4",
        "networkTier": "PREMIUM",
    });
    let path = format!("{ADDRESSES}?requestId={UUID}");
    let made = pass(cloud, "POST", &path, body.clone()).await;
    pass(cloud, "POST", &path, body.clone()).await;
    pass(cloud, "GET", &format!("{ADDRESSES}/web"), Value::Null).await;
    finish(cloud, &made).await;
    assert_eq!(post(cloud, ADDRESSES, body).await.status, 409);
    for (body, status) in [
        (json!({}), 400),
        (json!({"name": "Web"}), 400),
        (json!({"name": 7}), 400),
        (json!({"name": "more", "size": 7}), 400),
        (json!({"name": "more", "addressType": "SIDEWAYS"}), 400),
        (json!({"name": "more", "networkTier": "GOLD"}), 400),
        (json!({"name": "more", "labels": {"a": 1}}), 400),
        (json!({"name": "more", "address": "192.0.2.1"}), 501),
        (json!([]), 400),
        (Value::Null, 400),
    ] {
        assert_eq!(post(cloud, ADDRESSES, body.clone()).await.status, status, "{body}");
    }
    cloud.set(|k| k.address_limit = 1);
    assert_eq!(post(cloud, ADDRESSES, json!({"name": "more"})).await.status, 403);
    cloud.set(|k| k.address_limit = 1_000);
    let busy = delete(cloud, &format!("{ADDRESSES}/ip-203-0-113-1")).await;
    assert_eq!(busy.status, 400);
    let gone = pass(cloud, "DELETE", &format!("{ADDRESSES}/web"), Value::Null).await;
    finish(cloud, &gone).await;
    assert_eq!(delete(cloud, &format!("{ADDRESSES}/web")).await.status, 404);
}

fn instance(number: u64, change: &str) -> String {
    format!("{PROJECT}/zones/us-central1-b/instances/m-{number}/{change}")
}

async fn drive_access_configs(cloud: &FakeCloud) {
    let add = instance(2, "addAccessConfig?networkInterface=nic0");
    let config = "networkInterface=nic0&accessConfig=External%20NAT";
    let remove = |number| instance(number, &format!("deleteAccessConfig?{config}"));
    assert_eq!(post(cloud, &add, json!({"natIP": FREE})).await.status, 400);
    let gone = pass(cloud, "POST", &remove(2), Value::Null).await;
    assert_eq!(post(cloud, &remove(2), Value::Null).await.status, 400);
    finish(cloud, &gone).await;
    let nothing = pass(cloud, "POST", &remove(2), Value::Null).await;
    assert_eq!(nothing["status"], "DONE");
    let body = json!({"name": "External NAT", "type": "ONE_TO_ONE_NAT", "natIP": HELD});
    let in_use = pass(cloud, "POST", &add, body).await;
    finish(cloud, &in_use).await;
    for (path, body) in [
        (instance(2, "addAccessConfig"), json!({})),
        (instance(2, "addAccessConfig?networkInterface=nic9"), json!({})),
        (add.clone(), json!({"natIP": 7})),
        (add.clone(), json!({"natIP": "192.0.2.77"})),
        (add.clone(), json!({"type": "TWO_TO_ONE"})),
        (add.clone(), json!({"setPublicPtr": "yes"})),
        (add.clone(), json!({"unknown": true})),
        (add.clone(), json!([])),
        (instance(2, "deleteAccessConfig?networkInterface=nic0"), Value::Null),
        (remove(2), json!({"name": "External NAT"})),
        (instance(1, "updateAccessConfig?networkInterface=nic0"), json!({"natIP": FREE})),
        (instance(1, "updateAccessConfig?networkInterface=nic0"), json!({"name": "other"})),
    ] {
        assert_eq!(post(cloud, &path, body.clone()).await.status, 400, "{path} {body}");
    }
    let added = pass(cloud, "POST", &add, json!({"natIP": FREE})).await;
    finish(cloud, &added).await;
    let pointer = json!({
        "name": "External NAT", "setPublicPtr": true, "publicPtrDomainName": "a.example.com.",
    });
    let update = instance(2, "updateAccessConfig?networkInterface=nic0");
    let updated = pass(cloud, "POST", &update, pointer).await;
    finish(cloud, &updated).await;
    pass(cloud, "GET", &instance(2, ""), Value::Null).await;
}

async fn drive_failures(cloud: &FakeCloud) {
    let fault = Fault::Own(CloudFault::ActionErrors);
    cloud.inject(Rule::new(On::mutations(), fault).once());
    let made = pass(cloud, "POST", ADDRESSES, json!({"name": "failing"})).await;
    finish(cloud, &made).await;
    let released = format!("{ADDRESSES}/ip-203-0-113-9");
    cloud.reserve(ip("203.0.113.9"), "us-central1");
    let gone = pass(cloud, "DELETE", &released, Value::Null).await;
    cloud.human_deletes(ip("203.0.113.9"));
    finish(cloud, &gone).await;
    cloud.human_moves(ip(FREE), Some(1));
    for operation in cloud.look(|state| state.operations().map(|o| o.id).collect::<Vec<_>>()) {
        for scope in ["zones/us-central1-b", "regions/us-central1"] {
            let path = format!("{PROJECT}/{scope}/operations/operation-{operation}");
            assert!(matches!(get(cloud, &path).await.status, 200 | 404));
        }
    }
    cloud.busy_machine(1, "reset", Duration::from_secs(5));
    let config = "deleteAccessConfig?networkInterface=nic0&accessConfig=External%20NAT";
    assert_eq!(post(cloud, &instance(1, config), Value::Null).await.status, 400);
}

async fn drive_faults(cloud: &FakeCloud) {
    for authorization in [None, Some("Basic x")] {
        let answer = send_as(cloud, "GET", ADDRESSES, Value::Null, authorization).await;
        assert_eq!(answer.unwrap().status, 401);
    }
    cloud.set(|k| k.denied = ["compute.addresses.list".to_owned()].into());
    assert_eq!(get(cloud, ADDRESSES).await.status, 403);
    cloud.set(|k| k.denied.clear());
    for status in [400, 401, 403, 404, 409, 412, 500, 502, 503, 504] {
        cloud.inject(Rule::new(On::any(), Fault::Answer(Answer::status(status))).once());
        assert_eq!(get(cloud, ADDRESSES).await.status, status);
    }
    cloud.throttle_for(Duration::from_secs(3));
    assert_eq!(get(cloud, ADDRESSES).await.status, 403);
    cloud.clear_faults();
    let page = Answer::status(502).raw("text/html", "<html>");
    cloud.inject(Rule::new(On::any(), Fault::Answer(page)).once());
    get(cloud, ADDRESSES).await;
    for fault in [Fault::LostBefore, Fault::LostAfter] {
        cloud.inject(Rule::new(On::any(), fault).once());
        assert!(send(cloud, "GET", ADDRESSES, Value::Null).await.is_err());
    }
}
