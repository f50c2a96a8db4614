//! DigitalOcean's emulated API, over the in-process service.

mod client;

use std::time::Duration;

use client::{delete, get, ip, post, send, send_as};
use fakecloud::{FakeCloud, OperationStatus};
use serde_json::{Value, json};

const A: &str = "198.51.100.101";
const B: &str = "198.51.100.102";

/// Droplets 1 and 2 in nyc3, 3 in fra1; address A on droplet 1, B free.
fn cloud() -> FakeCloud {
    let cloud = client::fresh();
    cloud
        .machine(1, "one", "nyc3")
        .machine(2, "two", "nyc3")
        .machine(3, "three", "fra1")
        .reserve_on(ip(A), 1)
        .reserve(ip(B), "nyc3");
    cloud
}

fn actions(address: &str) -> String {
    format!("/v2/reserved_ips/{address}/actions")
}

fn assign(droplet: u64) -> Value {
    json!({"type": "assign", "droplet_id": droplet})
}

#[tokio::test(start_paused = true)]
async fn assigning_a_held_ip_moves_it_in_one_call_after_the_action_time() {
    let cloud = cloud();
    cloud.set(|k| k.action_time = Duration::from_secs(5));
    let answer = post(&cloud, &actions(A), assign(2)).await;
    assert_eq!(answer.status, 201);
    let action = &answer.body["action"];
    assert_eq!(action["status"], "in-progress");
    assert_eq!(action["type"], "assign_ip");
    assert_eq!(action["completed_at"], Value::Null);
    assert_eq!(action["resource_id"], u32::from_be_bytes([198, 51, 100, 101]));
    assert_eq!(cloud.holder(ip(A)), Some(1));
    assert_eq!(
        get(&cloud, &format!("/v2/reserved_ips/{A}")).await.body["reserved_ip"]["locked"],
        true
    );
    assert_eq!(get(&cloud, "/v2/droplets/2").await.body["droplet"]["locked"], true);

    let id = action["id"].as_u64().unwrap();
    tokio::time::advance(Duration::from_secs(5)).await;
    for path in [
        format!("/v2/actions/{id}"),
        format!("/v2/reserved_ips/{A}/actions/{id}"),
        format!("/v2/floating_ips/{A}/actions/{id}"),
        format!("/v2/droplets/2/actions/{id}"),
    ] {
        let action = get(&cloud, &path).await.body["action"].clone();
        assert_eq!(action["status"], "completed", "{path}");
        assert_eq!(action["completed_at"], "2026-09-21T14:13:25Z", "{path}");
    }
    assert_eq!(cloud.holder(ip(A)), Some(2));
    let shown = get(&cloud, &format!("/v2/reserved_ips/{A}")).await.body["reserved_ip"].clone();
    assert_eq!((&shown["locked"], &shown["droplet"]["id"]), (&json!(false), &json!(2)));
}

#[tokio::test(start_paused = true)]
async fn with_no_action_time_the_effect_is_immediate_but_the_answer_still_says_in_progress() {
    let cloud = cloud();
    let answer = post(&cloud, &actions(B), assign(2)).await;
    assert_eq!((answer.status, &answer.body["action"]["status"]), (201, &json!("in-progress")));
    assert_eq!(cloud.holder(ip(B)), Some(2));
    let listed = get(&cloud, &actions(B)).await;
    assert_eq!(listed.body["actions"][0]["status"], "completed");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_assigned_is_refused_with_422() {
    let cloud = cloud();
    cloud.reserve_on(ip("203.0.113.9"), 3);
    for (address, body, message) in [
        (A, assign(1), "Droplet already has a reserved IP."),
        (B, assign(1), "Droplet already has a reserved IP."),
        (B, assign(99), "Droplet does not exist."),
        (B, json!({"type": "assign"}), "Droplet can't be blank."),
        (B, json!({"type": "reboot"}), "The specified action type is invalid."),
        (B, json!({}), "The specified action type is invalid."),
        (B, json!({"type": "unassign"}), "The reserved IP is not assigned to a Droplet."),
    ] {
        let answer = post(&cloud, &actions(address), body).await;
        assert_eq!((answer.status, answer.message()), (422, message));
        assert_eq!(answer.body["id"], "unprocessable_entity");
        assert!(answer.body["request_id"].is_string());
    }
    cloud.destroy_machine(3);
    cloud.machine(3, "three", "fra1");
    let answer = post(&cloud, &actions(B), assign(3)).await;
    assert_eq!(answer.message(), "The reserved IP and the Droplet must be in the same region.");
    assert_eq!(post(&cloud, &actions("198.51.100.7"), assign(1)).await.status, 404);
    assert!(cloud.log().iter().all(|e| !e.changed));
}

#[tokio::test(start_paused = true)]
async fn a_pending_event_on_ip_or_droplet_refuses_everything_else() {
    let cloud = cloud();
    cloud.set(|k| k.action_time = Duration::from_secs(10));
    assert_eq!(post(&cloud, &actions(B), assign(2)).await.status, 201);
    let busy_ip = "The floating IP already has a pending event.";
    let busy_droplet = "Droplet already has a pending event.";
    assert_eq!(post(&cloud, &actions(B), json!({"type": "unassign"})).await.message(), busy_ip);
    assert_eq!(delete(&cloud, &format!("/v2/reserved_ips/{B}")).await.message(), busy_ip);
    assert_eq!(post(&cloud, &actions(A), assign(2)).await.message(), busy_droplet);
    assert_eq!(
        post(&cloud, "/v2/reserved_ips", json!({"droplet_id": 2})).await.message(),
        busy_droplet
    );
    cloud.busy_machine(1, "resize", Duration::from_secs(30));
    assert_eq!(
        post(&cloud, &actions(A), json!({"type": "unassign"})).await.message(),
        busy_droplet
    );
    let listed = get(&cloud, "/v2/droplets/1/actions").await;
    assert_eq!(listed.body["actions"][0]["type"], "resize");
    cloud.busy_address(ip(A), Duration::from_secs(30));
    assert_eq!(post(&cloud, &actions(A), assign(2)).await.message(), busy_ip);
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(post(&cloud, &actions(A), json!({"type": "unassign"})).await.status, 201);
}

#[tokio::test(start_paused = true)]
async fn creating_by_region_and_by_droplet_answers_202_and_both_or_neither_422() {
    let cloud = cloud();
    cloud.set(|k| k.action_time = Duration::from_secs(3));
    let project = "746c6152-2fa2-11ed-92d3-27aaa54e4988";
    let by_region =
        post(&cloud, "/v2/reserved_ips", json!({"region": "nyc3", "project_id": project})).await;
    assert_eq!(by_region.status, 202);
    let shown = &by_region.body["reserved_ip"];
    assert_eq!(shown["ip"], "198.51.100.1");
    assert_eq!((&shown["locked"], &shown["droplet"]), (&json!(false), &Value::Null));
    assert_eq!(shown["project_id"], project);
    assert_eq!(by_region.body["links"], json!({}));

    let by_droplet = post(&cloud, "/v2/floating_ips", json!({"droplet_id": 2})).await;
    assert_eq!(by_droplet.status, 202);
    let shown = &by_droplet.body["floating_ip"];
    assert_eq!((&shown["ip"], &shown["locked"]), (&json!("198.51.100.2"), &json!(true)));
    assert_eq!(shown["droplet"], Value::Null);
    let link = &by_droplet.body["links"]["actions"][0];
    assert_eq!(link["rel"], "assign_ip");
    assert_eq!(cloud.holder(ip("198.51.100.2")), None);
    cloud.wait_for(|s| s.holder(ip("198.51.100.2")) == Some(2)).await;
    let href = link["href"].as_str().unwrap();
    let path = href.strip_prefix("https://api.digitalocean.com").unwrap();
    assert_eq!(get(&cloud, path).await.body["action"]["status"], "completed");

    for body in [json!({"droplet_id": 3, "region": "fra1"}), json!({}), json!({"region": "mars1"})]
    {
        assert_eq!(post(&cloud, "/v2/reserved_ips", body).await.status, 422);
    }
    assert_eq!(post(&cloud, "/v2/reserved_ips", json!({"droplet_id": 2})).await.status, 422);
    assert_eq!(cloud.addresses().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn the_quota_refuses_creation_and_the_account_shows_it() {
    let cloud = cloud();
    cloud.set(|k| k.address_limit = 3);
    let account = get(&cloud, "/v2/account").await.body["account"].clone();
    assert_eq!(account["floating_ip_limit"], 3);
    assert_eq!(post(&cloud, "/v2/reserved_ips", json!({"region": "nyc3"})).await.status, 202);
    assert_eq!(post(&cloud, "/v2/reserved_ips", json!({"region": "nyc3"})).await.status, 422);
    assert_eq!(post(&cloud, "/v2/reserved_ips", json!({"droplet_id": 2})).await.status, 422);
    assert_eq!(delete(&cloud, &format!("/v2/reserved_ips/{B}")).await.status, 204);
    assert_eq!(post(&cloud, "/v2/reserved_ips", json!({"droplet_id": 2})).await.status, 202);
}

#[tokio::test(start_paused = true)]
async fn listings_are_paged_with_links_to_the_caller_s_own_origin() {
    let cloud = client::fresh();
    for n in 1..=45 {
        cloud.reserve([203, 0, 113, n], "nyc3");
    }
    let first = get(&cloud, "/v2/reserved_ips").await.body;
    assert_eq!(first["reserved_ips"].as_array().unwrap().len(), 20);
    assert_eq!(first["meta"]["total"], 45);
    let next = "https://api.digitalocean.com/v2/reserved_ips?page=2";
    assert_eq!(first["links"]["pages"]["next"], next);
    assert_eq!(first["links"]["pages"].get("prev"), None);
    let last = get(&cloud, "/v2/reserved_ips?per_page=20&page=3").await.body;
    assert_eq!(last["reserved_ips"].as_array().unwrap().len(), 5);
    let prev = "https://api.digitalocean.com/v2/reserved_ips?page=2&per_page=20";
    assert_eq!(last["links"]["pages"]["prev"], prev);
    assert_eq!(last["links"]["pages"].get("next"), None);
    let all = get(&cloud, "/v2/floating_ips?per_page=200").await.body;
    assert_eq!(all["floating_ips"].as_array().unwrap().len(), 45);
    assert_eq!(all["links"], json!({}));
}

#[tokio::test(start_paused = true)]
async fn a_destroyed_droplet_frees_its_ip_and_fails_what_was_on_the_way_to_it() {
    let cloud = cloud();
    cloud.set(|k| k.action_time = Duration::from_secs(5));
    let begun = post(&cloud, &actions(B), assign(2)).await;
    let id = begun.body["action"]["id"].as_u64().unwrap();
    cloud.destroy_machine(1);
    cloud.destroy_machine(2);
    assert_eq!(cloud.holder(ip(A)), None);
    let shown = get(&cloud, &format!("/v2/reserved_ips/{A}")).await;
    assert_eq!(shown.body["reserved_ip"]["droplet"], Value::Null);
    cloud.wait_for(|s| s.operation(id).is_some_and(|o| o.status == OperationStatus::Errored)).await;
    assert_eq!(cloud.holder(ip(B)), None);
    assert_eq!(get(&cloud, "/v2/droplets/1").await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_droplet_lists_its_reserved_ip_as_second_public_address() {
    let cloud = cloud();
    cloud.tags(1, &["k8s", "pool:a"]).gpu(3);
    let droplets = get(&cloud, "/v2/droplets?tag_name=pool:a").await.body;
    assert_eq!(droplets["meta"]["total"], 1);
    let v4 = droplets["droplets"][0]["networks"]["v4"].as_array().unwrap().clone();
    let public: Vec<&str> = v4
        .iter()
        .filter(|n| n["type"] == "public")
        .map(|n| n["ip_address"].as_str().unwrap())
        .collect();
    assert_eq!(public, ["198.18.0.1", A]);
    assert_eq!(get(&cloud, "/v2/droplets").await.body["meta"]["total"], 2);
    assert_eq!(get(&cloud, "/v2/droplets?type=gpus").await.body["meta"]["total"], 1);
    assert_eq!(get(&cloud, "/v2/droplets?name=TWO").await.body["droplets"][0]["id"], 2);
}

#[tokio::test(start_paused = true)]
async fn ipv6_addresses_have_their_own_words_and_no_actions_below_them() {
    let cloud = cloud();
    cloud.set(|k| k.action_time = Duration::from_secs(2));
    let created = post(&cloud, "/v2/reserved_ipv6", json!({"region_slug": "nyc3"})).await;
    assert_eq!(created.status, 201);
    assert_eq!(
        created.body["reserved_ipv6"],
        json!({"ip": "2001:db8::1", "region_slug": "nyc3", "reserved_at": "2026-09-21T14:13:20Z"})
    );
    let path = "/v2/reserved_ipv6/2001%3Adb8%3A%3A1";
    // The droplet holds an IPv4 address, which is another family.
    let begun = post(&cloud, &format!("{path}/actions"), assign(1)).await;
    assert_eq!(begun.status, 201);
    assert_eq!(begun.body["action"]["resource_type"], "reserved_ipv6");
    cloud.wait_for(|s| s.holder(ip("2001:db8::1")) == Some(1)).await;
    let id = &begun.body["action"]["id"];
    assert_eq!(
        get(&cloud, &format!("/v2/actions/{id}")).await.body["action"]["status"],
        "completed"
    );
    assert_eq!(get(&cloud, path).await.body["reserved_ipv6"]["droplet"]["id"], 1);
    assert_eq!(get(&cloud, &format!("{path}/actions")).await.status, 501);
    assert_eq!(delete(&cloud, path).await.status, 422);
    assert_eq!(
        post(&cloud, &format!("{path}/actions"), json!({"type": "unassign"})).await.status,
        201
    );
    cloud.wait_for(|s| s.holder(ip("2001:db8::1")).is_none()).await;
    let listed = get(&cloud, "/v2/reserved_ipv6").await.body;
    assert_eq!(listed["reserved_ipv6s"][0]["ip"], "2001:db8::1");
    assert_eq!(delete(&cloud, path).await.status, 204);
    assert_eq!(get(&cloud, path).await.status, 404);
    assert_eq!(post(&cloud, "/v2/reserved_ipv6", json!({})).await.status, 422);
}

#[tokio::test(start_paused = true)]
async fn a_missing_or_wrong_token_is_401_and_an_expired_one_too() {
    let cloud = cloud();
    for authorization in [None, Some("Bearer "), Some("Basic secret")] {
        let answer =
            send_as(&cloud, "GET", "/v2/account", Value::Null, authorization).await.unwrap();
        assert_eq!(answer.status, 401);
        assert_eq!(answer.body["id"], "unauthorized");
    }
    cloud.token("other");
    assert_eq!(get(&cloud, "/v2/account").await.status, 401);
    cloud.token("secret");
    assert_eq!(get(&cloud, "/v2/account").await.status, 200);
    cloud.set(|k| k.token_expired = true);
    assert_eq!(post(&cloud, &actions(B), assign(2)).await.status, 401);
    assert_eq!(cloud.holder(ip(B)), None);
}

#[tokio::test(start_paused = true)]
async fn without_leave_to_read_droplets_an_ip_says_nothing_of_its_holder() {
    let cloud = cloud();
    cloud.set(|k| k.machine_read = false);
    let shown = get(&cloud, &format!("/v2/reserved_ips/{A}")).await.body["reserved_ip"].clone();
    assert_eq!(shown.get("droplet"), None);
    assert_eq!(get(&cloud, "/v2/droplets").await.status, 403);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_emulated_is_501_and_not_a_guess() {
    let cloud = cloud();
    assert_eq!(get(&cloud, "/v2/kubernetes/clusters").await.status, 501);
    assert_eq!(send(&cloud, "PUT", "/v2/account", Value::Null).await.unwrap().status, 501);
    assert_eq!(get(&cloud, "/v9/account").await.status, 501);
}

#[tokio::test(start_paused = true)]
async fn records_are_listed_by_full_name_and_type_and_changed_one_by_one() {
    let cloud = client::fresh();
    let made =
        post(&cloud, "/v2/domains", json!({"name": "example.com", "ip_address": "192.0.2.1"}))
            .await;
    assert_eq!((made.status, &made.body["domain"]["zone_file"]), (201, &Value::Null));
    assert_eq!(post(&cloud, "/v2/domains", json!({"name": "example.com"})).await.status, 422);
    let records = "/v2/domains/example.com/records";
    let www =
        post(&cloud, records, json!({"type": "A", "name": "www", "data": "192.0.2.2", "ttl": 60}))
            .await;
    assert_eq!(www.status, 201);
    let id = www.body["domain_record"]["id"].as_u64().unwrap();
    for (query, total) in [
        ("?name=www.example.com&type=A", 1),
        ("?name=www", 0),
        ("?name=example.com&type=A", 1),
        ("?name=example.com", 5),
        ("?type=NS", 3),
    ] {
        assert_eq!(
            get(&cloud, &format!("{records}{query}")).await.body["meta"]["total"],
            total,
            "{query}"
        );
    }
    let one = format!("{records}/{id}");
    let put = send(&cloud, "PUT", &one, json!({"type": "A", "data": "192.0.2.3"})).await.unwrap();
    assert_eq!((put.status, &put.body["domain_record"]["name"]), (200, &json!("www")));
    let patch = send(&cloud, "PATCH", &one, json!({"type": "A", "ttl": 300})).await.unwrap();
    assert_eq!((patch.status, &patch.body["domain_record"]["data"]), (200, &json!("192.0.2.3")));
    assert_eq!(get(&cloud, &one).await.body["domain_record"]["ttl"], 300);
    assert_eq!(cloud.values("example.com", "www", "A"), ["192.0.2.3"]);
    assert_eq!(delete(&cloud, &one).await.status, 204);
    assert_eq!(delete(&cloud, &one).await.status, 404);
    assert_eq!(get(&cloud, "/v2/domains/example.net/records").await.status, 404);
    let zone = get(&cloud, "/v2/domains/example.com").await;
    assert!(
        zone.body["domain"]["zone_file"].as_str().unwrap().contains("IN NS ns1.digitalocean.com")
    );
    assert_eq!(get(&cloud, "/v2/domains").await.body["domains"][0]["name"], "example.com");
}

#[tokio::test(start_paused = true)]
async fn records_that_cannot_be_are_refused() {
    let cloud = client::fresh();
    cloud.domain("example.com");
    for body in [
        json!({"type": "A", "name": "www", "data": "::1"}),
        json!({"type": "AAAA", "name": "www", "data": "192.0.2.1"}),
        json!({"type": "A", "data": "192.0.2.1"}),
        json!({"type": "A", "name": "www"}),
        json!({"type": "A", "name": "www", "data": "192.0.2.1", "ttl": 5}),
        json!({"type": "CNAME", "name": "www", "data": "example.org"}),
        json!({"type": "X", "name": "www", "data": "y"}),
    ] {
        let answer = post(&cloud, "/v2/domains/example.com/records", body.clone()).await;
        assert_eq!(answer.status, 422, "{body}");
    }
    assert!(cloud.records("example.com").is_empty());
}

#[tokio::test(start_paused = true)]
async fn humans_move_and_delete_past_the_api() {
    let cloud = cloud();
    cloud.human_moves(ip(A), Some(2));
    assert_eq!(cloud.holder(ip(A)), Some(2));
    assert_eq!(get(&cloud, &actions(A)).await.body["actions"][0]["status"], "completed");
    cloud.human_moves(ip(B), Some(2));
    assert_eq!((cloud.holder(ip(A)), cloud.holder(ip(B))), (None, Some(2)));
    cloud.human_moves(ip(B), None);
    assert_eq!(cloud.holder(ip(B)), None);
    assert!(cloud.human_deletes(ip(B)));
    assert_eq!(get(&cloud, &format!("/v2/reserved_ips/{B}")).await.status, 404);
    cloud.next_address(ip(B));
    let reused = post(&cloud, "/v2/reserved_ips", json!({"region": "nyc3"})).await;
    assert_eq!(reused.body["reserved_ip"]["ip"], B);
}
