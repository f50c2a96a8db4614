//! Cloudflare's emulated API, over the in-process service.
#![allow(clippy::unwrap_used, reason = "a test, helpers included")]

mod client;

use std::time::Duration;

use client::{Answer, delete, get, post, send, send_as};
use fakecloud::{FakeCloud, RateLimit, ZonePlan};
use serde_json::{Value, json};

const ZONES: &str = "/client/v4/zones";

fn cloud() -> FakeCloud {
    let cloud = client::fresh();
    cloud.domain("example.com").domain("example.org");
    cloud
}

fn records(cloud: &FakeCloud) -> String {
    format!("{ZONES}/{}/dns_records", cloud.zone_id("example.com"))
}

fn a(name: &str, content: &str) -> Value {
    json!({"type": "A", "name": name, "content": content, "ttl": 60, "proxied": false})
}

/// Status, code of the only error, and code of the underlying error.
fn code(answer: &Answer) -> (u16, u64, Option<u64>) {
    assert_eq!(answer.body["success"], false, "{:?}", answer.body);
    let error = &answer.body["errors"][0];
    (answer.status, error["code"].as_u64().unwrap(), error["error_chain"][0]["code"].as_u64())
}

async fn made(cloud: &FakeCloud, body: Value) -> Value {
    let answer = post(cloud, &records(cloud), body).await;
    assert_eq!((answer.status, &answer.body["success"]), (200, &json!(true)), "{:?}", answer.body);
    answer.body["result"].clone()
}

async fn contents(cloud: &FakeCloud, query: &str) -> Vec<String> {
    let answer = get(cloud, &format!("{}?{query}", records(cloud))).await;
    assert_eq!(answer.status, 200, "{:?}", answer.body);
    let found = answer.body["result"].as_array().unwrap();
    found.iter().map(|r| r["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn zones_are_found_by_name_and_by_identifier() {
    let cloud = cloud();
    let all = get(&cloud, ZONES).await;
    assert_eq!(all.body["result_info"]["total_count"], 2);
    let one = get(&cloud, &format!("{ZONES}?name=example.com")).await;
    let id = cloud.zone_id("example.com");
    assert_eq!((&one.body["result"][0]["id"], id.len()), (&json!(id), 32));
    assert_eq!(one.body["result"].as_array().unwrap().len(), 1);
    let same = get(&cloud, &format!("{ZONES}/{id}")).await;
    assert_eq!(same.body["result"], one.body["result"][0]);
    let none = get(&cloud, &format!("{ZONES}?name=example.net")).await;
    assert_eq!((none.status, &none.body["result"]), (200, &json!([])));
    let unknown = get(&cloud, &format!("{ZONES}/{}", "0".repeat(32))).await;
    assert_eq!(code(&unknown), (404, 7003, None));
}

#[tokio::test(start_paused = true)]
async fn a_record_lives_through_create_read_patch_put_and_delete() {
    let cloud = cloud();
    let mut body = a("www", "192.0.2.1");
    body["comment"] = json!("mine");
    let record = made(&cloud, body).await;
    assert_eq!((&record["name"], &record["comment"]), (&json!("www.example.com"), &json!("mine")));
    assert_eq!((&record["ttl"], &record["proxied"]), (&json!(60), &json!(false)));
    let one = format!("{}/{}", records(&cloud), record["id"].as_str().unwrap());
    assert_eq!(get(&cloud, &one).await.body["result"], record);
    tokio::time::advance(Duration::from_secs(9)).await;
    let patched = send(&cloud, "PATCH", &one, json!({"content": "192.0.2.2"})).await.unwrap();
    let shown = &patched.body["result"];
    assert_eq!((&shown["content"], &shown["comment"]), (&json!("192.0.2.2"), &json!("mine")));
    assert_eq!(shown["created_on"], record["created_on"]);
    assert_ne!(shown["modified_on"], record["modified_on"]);
    let put = send(&cloud, "PUT", &one, a("www.example.com", "192.0.2.3")).await.unwrap();
    assert_eq!(
        (&put.body["result"]["comment"], &put.body["result"]["id"]),
        (&Value::Null, &record["id"])
    );
    assert_eq!(delete(&cloud, &one).await.body["result"], json!({"id": record["id"]}));
    for method in ["GET", "PATCH", "PUT", "DELETE"] {
        let answer = send(&cloud, method, &one, a("www", "192.0.2.1")).await.unwrap();
        assert_eq!(code(&answer), (404, 81_044, None), "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn names_may_be_relative_full_or_the_apex() {
    let cloud = cloud();
    for (given, full) in [
        ("one", "one.example.com"),
        ("Two.Example.com", "two.example.com"),
        ("@", "example.com"),
        ("a.b", "a.b.example.com"),
        ("notexample.com", "notexample.com.example.com"),
    ] {
        assert_eq!(made(&cloud, a(given, "192.0.2.1")).await["name"], full);
    }
    assert_eq!(cloud.values("example.com", "@", "A"), ["192.0.2.1"]);
}

#[tokio::test(start_paused = true)]
async fn a_proxied_record_has_the_automatic_time_to_live() {
    let cloud = cloud();
    let mut body = a("www", "192.0.2.1");
    body["proxied"] = json!(true);
    body["ttl"] = json!(300);
    let record = made(&cloud, body).await;
    assert_eq!((&record["ttl"], &record["proxied"]), (&json!(1), &json!(true)));
    let one = format!("{}/{}", records(&cloud), record["id"].as_str().unwrap());
    let patched =
        send(&cloud, "PATCH", &one, json!({"proxied": false, "ttl": 60.0})).await.unwrap();
    assert_eq!((&patched.body["result"]["ttl"], patched.status), (&json!(60), 200));
}

#[tokio::test(start_paused = true)]
async fn records_that_cannot_be_are_refused_with_the_vendor_s_codes() {
    let cloud = cloud();
    made(&cloud, a("www", "192.0.2.1")).await;
    made(&cloud, json!({"type": "CNAME", "name": "alias", "content": "example.org.", "ttl": 1}))
        .await;
    let with = |key: &str, value: Value| {
        let mut body = a("new", "192.0.2.9");
        body[key] = value;
        body
    };
    for (body, expected) in [
        (a("www", "192.0.2.1"), (400, 81_058, None)),
        (a("alias", "192.0.2.1"), (400, 81_054, None)),
        (
            json!({"type": "CNAME", "name": "www", "content": "x.org", "ttl": 1}),
            (400, 81_053, None),
        ),
        (with("content", json!("2001:db8::1")), (400, 9005, None)),
        (with("type", json!("AAAA")), (400, 9006, None)),
        (with("name", json!("")), (400, 9000, None)),
        (with("ttl", json!(59)), (400, 1004, Some(9021))),
        (with("ttl", json!(86_401)), (400, 1004, Some(9021))),
        (with("ttl", json!("soon")), (400, 1004, Some(9021))),
        (with("tags", json!(["owner:us"])), (400, 1004, Some(9300))),
        (with("comment", json!("x".repeat(101))), (400, 1004, Some(9301))),
        (with("type", json!("XYZ")), (400, 1004, Some(9004))),
        (json!([]), (400, 9207, None)),
    ] {
        let answer = post(&cloud, &records(&cloud), body.clone()).await;
        assert_eq!(code(&answer), expected, "{body}");
    }
    assert_eq!(cloud.records("example.com").len(), 2);
    cloud.set(|k| k.zone_plan = ZonePlan::Enterprise);
    made(&cloud, with("ttl", json!(30))).await;
}

#[tokio::test(start_paused = true)]
async fn a_full_zone_takes_no_more_records() {
    let cloud = cloud();
    for n in 0..200 {
        cloud.record("example.com", "A", "www", &format!("192.0.2.{n}"), 60);
    }
    let answer = post(&cloud, &records(&cloud), a("one-more", "192.0.2.1")).await;
    assert_eq!(code(&answer), (400, 81_045, None));
}

#[tokio::test(start_paused = true)]
async fn listings_are_filtered_ordered_and_paged() {
    let cloud = cloud();
    for n in [3, 1, 2] {
        cloud.record("example.com", "A", "www", &format!("192.0.2.{n}"), 60);
    }
    cloud.record("example.com", "AAAA", "www", "2001:db8::1", 60);
    let id = cloud.record("example.com", "A", "www.deep", "192.0.2.4", 60);
    cloud.human_edits_record("example.com", id, |r| r.comment = Some("Mine".into()));
    for (query, expected) in [
        ("name.exact=www.example.com&type=A&order=content", "192.0.2.1 192.0.2.2 192.0.2.3"),
        (
            "name=WWW.example.com&type=A&order=content&direction=desc",
            "192.0.2.3 192.0.2.2 192.0.2.1",
        ),
        ("name.exact=www", ""),
        ("name.contains=deep", "192.0.2.4"),
        ("content=192.0.2.2", "192.0.2.2"),
        ("type=AAAA", "2001:db8::1"),
        ("comment.present=true", "192.0.2.4"),
        ("comment=mine", "192.0.2.4"),
        ("type=AAAA&content=192.0.2.2&match=any", "192.0.2.2 2001:db8::1"),
        ("proxied=true", ""),
        ("order=content&per_page=2&page=2&type=A", "192.0.2.3 192.0.2.4"),
    ] {
        assert_eq!(contents(&cloud, query).await.join(" "), expected, "{query}");
    }
    let page = get(&cloud, &format!("{}?per_page=2&page=3", records(&cloud))).await;
    let info = json!({"page": 3, "per_page": 2, "count": 1, "total_count": 5, "total_pages": 3});
    assert_eq!(page.body["result_info"], info);
    for unknown in ["search=www", "name.matches=x", "tag.contains=x"] {
        let answer = get(&cloud, &format!("{}?{unknown}", records(&cloud))).await;
        assert_eq!(answer.status, 501, "{unknown}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_runs_deletes_then_patches_then_puts_then_posts() {
    let cloud = cloud();
    let mut ids = Vec::new();
    for n in 1..=3 {
        let record = made(&cloud, a("www", &format!("192.0.2.{n}"))).await;
        ids.push(record["id"].clone());
    }
    // Each step depends on the step before.
    let mut put = a("www", "192.0.2.2");
    put["id"] = ids[2].clone();
    let body = json!({
        "posts": [a("www", "192.0.2.3")],
        "puts": [put],
        "patches": [{"id": ids[1], "content": "192.0.2.1"}],
        "deletes": [{"id": ids[0]}],
    });
    let answer = post(&cloud, &format!("{}/batch", records(&cloud)), body).await;
    assert_eq!(answer.status, 200, "{:?}", answer.body);
    for step in ["deletes", "patches", "puts", "posts"] {
        assert_eq!(answer.body["result"][step].as_array().unwrap().len(), 1, "{step}");
    }
    let new = &answer.body["result"]["posts"][0]["id"];
    assert!(!ids.contains(new));
    assert_eq!(cloud.values("example.com", "www", "A"), ["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    assert_ne!(made(&cloud, a("www", "192.0.2.9")).await["id"], *new);
}

#[tokio::test(start_paused = true)]
async fn a_batch_with_one_bad_change_changes_nothing() {
    let cloud = cloud();
    let record = made(&cloud, a("www", "192.0.2.1")).await;
    let (id, batch) = (&record["id"], format!("{}/batch", records(&cloud)));
    let mark = cloud.mark();
    for (body, expected) in [
        (json!({"deletes": [{"id": id}], "posts": [a("www", "x")]}), (400, 9005, None)),
        (json!({"deletes": [{"id": id}, {"id": id}]}), (404, 81_044, None)),
        (json!({"posts": [a("new", "192.0.2.2"), a("new", "192.0.2.2")]}), (400, 81_058, None)),
        (json!({"deletes": [{"id": id}], "patches": [{"id": id}]}), (404, 81_044, None)),
        (json!({"deletes": "all"}), (400, 9207, None)),
        (json!({}), (400, 9207, None)),
        (json!({"deletes": vec![json!({"id": id}); 201]}), (400, 9207, None)),
    ] {
        assert_eq!(code(&post(&cloud, &batch, body.clone()).await), expected, "{body}");
    }
    assert!(cloud.mutations_since(mark).iter().all(|e| !e.changed));
    assert_eq!(cloud.values("example.com", "www", "A"), ["192.0.2.1"]);
}

#[tokio::test(start_paused = true)]
async fn credentials_are_told_apart_as_the_vendor_does() {
    let cloud = cloud();
    cloud.token("good");
    for (authorization, expected) in [
        (None, (400, 9106, None)),
        (Some("Bearer "), (400, 9106, None)),
        (Some("Basic x"), (400, 6003, Some(6111))),
        (Some("Bearer bad"), (403, 9109, None)),
    ] {
        let answer = send_as(&cloud, "GET", ZONES, Value::Null, authorization).await.unwrap();
        assert_eq!(code(&answer), expected, "{authorization:?}");
    }
    let good = send_as(&cloud, "GET", ZONES, Value::Null, Some("Bearer good")).await.unwrap();
    assert_eq!(good.status, 200);
}

#[tokio::test(start_paused = true)]
async fn the_budget_is_shown_and_kept_apart_from_another_vendor_s() {
    let cloud = cloud();
    let first = get(&cloud, ZONES).await;
    assert_eq!(first.header("ratelimit"), "\"default\";r=1199;t=300");
    assert_eq!(first.header("ratelimit-policy"), "\"default\";q=1200;w=300");
    cloud.set(|k| k.rate = Some(RateLimit { limit: 2, ..RateLimit::cloudflare() }));
    assert_eq!(get(&cloud, "/v2/domains").await.header("ratelimit-remaining"), "1");
    assert_eq!(get(&cloud, ZONES).await.header("ratelimit"), "\"default\";r=1;t=300");
    tokio::time::advance(Duration::from_secs(100)).await;
    get(&cloud, ZONES).await;
    let limited = get(&cloud, ZONES).await;
    assert_eq!((code(&limited), limited.header("retry-after")), ((429, 10_429, None), "200"));
    assert_eq!(limited.header("ratelimit"), "\"default\";r=0;t=200");
    cloud.throttle_for(Duration::from_secs(7));
    assert_eq!(get(&cloud, ZONES).await.header("retry-after"), "7");
}

#[tokio::test(start_paused = true)]
async fn both_vendors_look_at_one_store() {
    let cloud = cloud();
    made(&cloud, a("www", "192.0.2.1")).await;
    let listed = get(&cloud, "/v2/domains/example.com/records?name=www.example.com&type=A").await;
    assert_eq!(listed.body["domain_records"][0]["data"], "192.0.2.1");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_emulated_is_501_and_not_a_guess() {
    let cloud = cloud();
    for path in ["/client/v4/user/tokens/verify", "/client/v4/zones?order=name"] {
        assert_eq!(get(&cloud, path).await.status, 501, "{path}");
    }
    assert_eq!(delete(&cloud, &records(&cloud)).await.status, 501);
}
