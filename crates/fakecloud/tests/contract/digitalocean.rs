//! All endpoints of DigitalOcean, through success and every error.

use std::time::Duration;

use fakecloud::{Answer, FakeCloud, Fault, On, RateLimit, Rule};
use serde_json::{Value, json};

use crate::check::Beyond;
use crate::client::{self, delete, get, ip, post, send, send_as};

/// The document marks few fields as required, accepts any action body with a type, and any object as
/// the droplet of an address.
pub static BEYOND: Beyond = Beyond {
    fields: &[
        ("reserved_ip", ADDRESS),
        ("reserved_ips", ADDRESS),
        ("floating_ip", ADDRESS),
        ("floating_ips", ADDRESS),
        ("reserved_ipv6", ADDRESS_V6),
        ("reserved_ipv6s", ADDRESS_V6),
        ("action", ACTION),
        ("actions", ACTION),
        ("domain_record", RECORD),
        ("domain_records", RECORD),
    ],
    property: Some(("droplet", "droplet")),
    request: assign_has_a_droplet,
};
const ADDRESS: &[&str] = &["ip", "region", "locked", "project_id"];
const ADDRESS_V6: &[&str] = &["ip", "region_slug", "reserved_at"];
const ACTION: &[&str] = &[
    "id",
    "status",
    "type",
    "started_at",
    "completed_at",
    "resource_id",
    "resource_type",
    "region",
    "region_slug",
];
const RECORD: &[&str] =
    &["id", "type", "name", "data", "priority", "port", "ttl", "weight", "flags", "tag"];

/// Operations whose body is an action on an address.
const ACTIONS: [&str; 3] =
    ["reservedIPsActions_post", "floatingIPsAction_post", "reservedIPv6Actions_post"];

fn assign_has_a_droplet(operation: &str, body: &Value) -> Result<(), String> {
    if ACTIONS.contains(&operation) && body["type"] == "assign" && !body["droplet_id"].is_u64() {
        return Err("an assign needs a droplet_id".to_owned());
    }
    Ok(())
}

/// Drives every endpoint through success and every error.
pub async fn drive(cloud: &FakeCloud) {
    cloud
        .machine(1, "one", "nyc3")
        .machine(2, "two", "nyc3")
        .machine(3, "three", "fra1")
        .machine(4, "four", "nyc3")
        .gpu(4)
        .tags(1, &["k8s"]);
    drive_account(cloud).await;
    for words in ["reserved_ips", "floating_ips"] {
        drive_v4(cloud, words).await;
    }
    drive_v6(cloud).await;
    drive_droplets(cloud).await;
    drive_domains(cloud).await;
    drive_faults(cloud).await;
}

async fn drive_account(cloud: &FakeCloud) {
    get(cloud, "/v2/account").await;
    for authorization in [None, Some("Bearer "), Some("Basic x")] {
        let path = "/v2/reserved_ips";
        let answer = send_as(cloud, "GET", path, Value::Null, authorization).await;
        assert_eq!(answer.unwrap().status, 401);
    }
}

/// The whole life of two addresses, below either path.
async fn drive_v4(cloud: &FakeCloud, words: &str) {
    let all = format!("/v2/{words}");
    let one = words.strip_suffix('s').unwrap();
    cloud.set(|k| k.action_time = Duration::from_secs(5));
    let project = "746c6152-2fa2-11ed-92d3-27aaa54e4988";
    let free = post(cloud, &all, json!({"region": "nyc3", "project_id": project})).await;
    let held = post(cloud, &all, json!({"droplet_id": 1})).await;
    let address = |answer: &client::Answer| answer.body[one]["ip"].as_str().unwrap().to_owned();
    let (free, held) = (address(&free), address(&held));
    let actions = format!("{all}/{held}/actions");
    let busy = post(cloud, &actions, json!({"type": "unassign"})).await;
    assert_eq!(busy.status, 422);
    assert_eq!(get(cloud, &format!("{all}/{held}")).await.body[one]["locked"], true);
    cloud.wait_for(|s| s.holder(ip(&held)) == Some(1)).await;
    for path in ["", "?per_page=1", "?per_page=1&page=2", "?per_page=200", "?page=9"] {
        get(cloud, &format!("{all}{path}")).await;
    }
    get(cloud, &format!("{all}/{held}")).await;
    get(cloud, &format!("{all}/203.0.113.250")).await;
    for body in [
        json!({"type": "assign", "droplet_id": 1}),
        json!({"type": "assign", "droplet_id": 3}),
        json!({"type": "assign", "droplet_id": 99}),
        json!({"type": "assign"}),
        json!({"type": "reboot"}),
        json!({}),
    ] {
        assert_eq!(post(cloud, &actions, body).await.status, 422);
    }
    assert_eq!(post(cloud, &actions, json!([])).await.status, 400);
    let moved = post(cloud, &actions, json!({"type": "assign", "droplet_id": 2})).await;
    let id = moved.body["action"]["id"].as_u64().unwrap();
    for path in [format!("{actions}/{id}"), format!("/v2/actions/{id}"), actions.clone()] {
        assert_eq!(get(cloud, &path).await.status, 200);
    }
    cloud.wait_for(|s| s.holder(ip(&held)) == Some(2)).await;
    get(cloud, &format!("{actions}/{id}")).await;
    assert_eq!(get(cloud, &format!("{actions}/1")).await.status, 404);
    post(cloud, &actions, json!({"type": "unassign"})).await;
    cloud.wait_for(|s| s.holder(ip(&held)).is_none()).await;
    assert_eq!(post(cloud, &actions, json!({"type": "unassign"})).await.status, 422);
    for body in [json!({}), json!({"droplet_id": 1, "region": "nyc3"}), json!({"region": "mars1"})]
    {
        assert_eq!(post(cloud, &all, body).await.status, 422);
    }
    cloud.set(|k| k.address_limit = 0);
    assert_eq!(post(cloud, &all, json!({"region": "nyc3"})).await.status, 422);
    cloud.set(|k| k.address_limit = 25);
    for gone in [free, held] {
        assert_eq!(delete(cloud, &format!("{all}/{gone}")).await.status, 204);
        assert_eq!(delete(cloud, &format!("{all}/{gone}")).await.status, 404);
    }
}

async fn drive_v6(cloud: &FakeCloud) {
    let made = post(cloud, "/v2/reserved_ipv6", json!({"region_slug": "nyc3"})).await;
    let address = made.body["reserved_ipv6"]["ip"].as_str().unwrap().to_owned();
    let one = format!("/v2/reserved_ipv6/{address}");
    get(cloud, "/v2/reserved_ipv6").await;
    get(cloud, &one).await;
    post(cloud, &format!("{one}/actions"), json!({"type": "assign", "droplet_id": 1})).await;
    cloud.wait_for(|s| s.holder(ip(&address)) == Some(1)).await;
    get(cloud, &one).await;
    get(cloud, "/v2/reserved_ipv6?per_page=1").await;
    assert_eq!(delete(cloud, &one).await.status, 422);
    assert_eq!(post(cloud, &format!("{one}/actions"), json!({"type": "assign"})).await.status, 422);
    post(cloud, &format!("{one}/actions"), json!({"type": "unassign"})).await;
    cloud.wait_for(|s| s.holder(ip(&address)).is_none()).await;
    assert_eq!(delete(cloud, &one).await.status, 204);
    assert_eq!(delete(cloud, &one).await.status, 404);
    assert_eq!(post(cloud, "/v2/reserved_ipv6", json!({})).await.status, 422);
}

async fn drive_droplets(cloud: &FakeCloud) {
    cloud.busy_machine(2, "snapshot", Duration::from_secs(60));
    cloud.reserve_on(ip("203.0.113.77"), 2);
    for path in [
        "/v2/droplets",
        "/v2/droplets?tag_name=k8s&per_page=5&page=1",
        "/v2/droplets?type=gpus",
        "/v2/droplets?name=one",
        "/v2/droplets/2",
        "/v2/droplets/99",
        "/v2/droplets/2/actions",
        "/v2/droplets/99/actions",
        "/v2/actions?per_page=3",
        "/v2/actions/1",
    ] {
        get(cloud, path).await;
    }
    let listed = get(cloud, "/v2/droplets/2/actions?per_page=1&page=1").await;
    let id = &listed.body["actions"][0]["id"];
    assert_eq!(get(cloud, &format!("/v2/droplets/2/actions/{id}")).await.status, 200);
    assert_eq!(get(cloud, &format!("/v2/droplets/3/actions/{id}")).await.status, 404);
    cloud.set(|k| k.machine_read = false);
    assert_eq!(get(cloud, "/v2/droplets").await.status, 403);
    get(cloud, "/v2/reserved_ips").await;
    cloud.set(|k| k.machine_read = true);
}

async fn drive_domains(cloud: &FakeCloud) {
    let one = "/v2/domains/example.com";
    let records = "/v2/domains/example.com/records";
    post(cloud, "/v2/domains", json!({"name": "example.com", "ip_address": "192.0.2.1"})).await;
    assert_eq!(post(cloud, "/v2/domains", json!({"name": "example.com"})).await.status, 422);
    get(cloud, "/v2/domains").await;
    get(cloud, one).await;
    assert_eq!(get(cloud, "/v2/domains/example.net").await.status, 404);
    let mut id = 0;
    for body in [
        json!({"type": "TXT", "name": "mark", "data": "heritage=pontoon"}),
        json!({"type": "CNAME", "name": "alias", "data": "example.org."}),
        json!({"type": "AAAA", "name": "www", "data": "2001:db8::1"}),
        json!({"type": "A", "name": "www", "data": "192.0.2.2", "ttl": 60}),
    ] {
        let made = post(cloud, records, body).await;
        assert_eq!(made.status, 201);
        id = made.body["domain_record"]["id"].as_u64().unwrap();
    }
    for body in [json!({"type": "A", "name": "www", "data": "x"}), json!({"name": "www"})] {
        assert_eq!(post(cloud, records, body).await.status, 422);
    }
    get(cloud, &format!("{records}?name=www.example.com&type=A&per_page=200")).await;
    let record = format!("{records}/{id}");
    get(cloud, &record).await;
    send(cloud, "PUT", &record, json!({"type": "A", "data": "192.0.2.3"})).await.unwrap();
    send(cloud, "PATCH", &record, json!({"type": "A", "ttl": 30})).await.unwrap();
    assert_eq!(delete(cloud, &record).await.status, 204);
    for method in ["GET", "PUT", "PATCH", "DELETE"] {
        let body = if method.starts_with('P') { json!({"type": "A"}) } else { Value::Null };
        assert_eq!(send(cloud, method, &record, body).await.unwrap().status, 404);
    }
    assert_eq!(delete(cloud, one).await.status, 204);
    assert_eq!(delete(cloud, one).await.status, 404);
    assert_eq!(get(cloud, records).await.status, 404);
}

async fn drive_faults(cloud: &FakeCloud) {
    for status in [400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 504] {
        cloud.inject(Rule::new(On::any(), Fault::Answer(Answer::status(status))).once());
        assert_eq!(get(cloud, "/v2/reserved_ips").await.status, status);
    }
    let page = Answer::status(502).raw("text/html", "<html>");
    cloud.inject(Rule::new(On::any(), Fault::Answer(page)).once());
    get(cloud, "/v2/reserved_ips").await;
    for fault in [Fault::LostBefore, Fault::LostAfter] {
        cloud.inject(Rule::new(On::any(), fault).once());
        assert!(send(cloud, "GET", "/v2/reserved_ips", Value::Null).await.is_err());
    }
    cloud.throttle_for(Duration::from_secs(3));
    assert_eq!(get(cloud, "/v2/account").await.status, 429);
    cloud.clear_faults();
    for (limit, burst) in [(1, 9), (9, 1)] {
        cloud.set(|k| {
            k.rate = Some(RateLimit { limit, burst, ..RateLimit::default() });
        });
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert_eq!(get(cloud, "/v2/account").await.status, 200);
        assert_eq!(get(cloud, "/v2/account").await.status, 429);
    }
}
