//! All endpoints of Cloudflare, through success and every error.

use std::time::Duration;

use fakecloud::{Answer, FakeCloud, Fault, On, RateLimit, Rule};
use serde_json::{Value, json};

use crate::client::{delete, get, post, send, send_as};

const ZONES: &str = "/client/v4/zones";

/// Drives every endpoint through success and every error.
pub async fn drive(cloud: &FakeCloud) {
    cloud.domain("example.com").domain("example.org");
    drive_zones(cloud).await;
    drive_records(cloud).await;
    drive_listings(cloud).await;
    drive_batches(cloud).await;
    drive_faults(cloud).await;
}

fn records(cloud: &FakeCloud) -> String {
    format!("{ZONES}/{}/dns_records", cloud.zone_id("example.com"))
}

async fn drive_zones(cloud: &FakeCloud) {
    for query in
        ["", "?name=example.com", "?name=example.net", "?per_page=5&page=2", "?status=active"]
    {
        assert_eq!(get(cloud, &format!("{ZONES}{query}")).await.status, 200);
    }
    let id = cloud.zone_id("example.org");
    assert_eq!(get(cloud, &format!("{ZONES}/{id}")).await.status, 200);
    for unknown in ["0123456789abcdef0123456789abcdef", "example.org"] {
        assert_eq!(get(cloud, &format!("{ZONES}/{unknown}")).await.status, 404);
        let path = format!("{ZONES}/{unknown}/dns_records");
        assert_eq!(get(cloud, &path).await.status, 404);
    }
    for authorization in [None, Some("Basic x")] {
        let answer = send_as(cloud, "GET", ZONES, Value::Null, authorization).await;
        assert_eq!(answer.unwrap().status, 400);
    }
}

fn a(name: &str, content: &str) -> Value {
    json!({"type": "A", "name": name, "content": content, "ttl": 60, "proxied": false})
}

async fn drive_records(cloud: &FakeCloud) {
    let all = records(cloud);
    let mut id = String::new();
    for body in [
        json!({"type": "AAAA", "name": "www", "content": "2001:db8::1", "ttl": 1}),
        json!({"type": "CNAME", "name": "alias", "content": "example.org", "ttl": 300}),
        json!({"type": "TXT", "name": "note", "content": "\"v=1\"", "ttl": 86_400, "comment": null}),
        json!({"type": "A", "name": "@", "content": "192.0.2.1", "ttl": 1, "proxied": true}),
        json!({"type": "A", "name": "www", "content": "192.0.2.1", "ttl": 60, "comment": "ours", "tags": []}),
    ] {
        let made = post(cloud, &all, body).await;
        assert_eq!(made.status, 200, "{:?}", made.body);
        id = made.body["result"]["id"].as_str().unwrap().to_owned();
    }
    for body in [
        a("www", "192.0.2.1"),
        a("alias", "192.0.2.1"),
        a("new", "2001:db8::1"),
        json!({"type": "A", "name": "new", "content": "192.0.2.1", "ttl": 20}),
        json!({"type": "A", "name": "new", "content": "192.0.2.1", "ttl": "60"}),
        json!({"type": "A", "name": 7, "content": "192.0.2.1", "ttl": 60}),
        json!({"type": "AAAA", "name": "new", "content": "192.0.2.1", "ttl": 60}),
        json!({"type": "A", "name": "new", "ttl": 60}),
        json!({"name": "new", "content": "192.0.2.1", "ttl": 60}),
        json!({"type": "A", "name": "new", "content": "192.0.2.1", "ttl": 60, "comment": 7}),
        json!({"type": "A", "name": "new", "content": "192.0.2.1", "ttl": 60, "tags": ["a:b"]}),
        json!([]),
    ] {
        assert_eq!(post(cloud, &all, body.clone()).await.status, 400, "{body}");
    }
    let one = format!("{all}/{id}");
    assert_eq!(get(cloud, &one).await.status, 200);
    for (method, body) in [
        ("PATCH", json!({"content": "192.0.2.3", "comment": "still ours"})),
        ("PATCH", json!({"proxied": true})),
        ("PUT", a("www", "192.0.2.4")),
    ] {
        assert_eq!(send(cloud, method, &one, body).await.unwrap().status, 200);
    }
    assert_eq!(delete(cloud, &one).await.status, 200);
    for method in ["GET", "PUT", "PATCH", "DELETE"] {
        let body = if method.starts_with('P') { a("www", "192.0.2.4") } else { Value::Null };
        assert_eq!(send(cloud, method, &one, body).await.unwrap().status, 404);
    }
}

async fn drive_listings(cloud: &FakeCloud) {
    let all = records(cloud);
    for query in [
        "",
        "?name.exact=www.example.com&type=AAAA&per_page=1000&page=1",
        "?name=www.example.com",
        "?content=192.0.2.1&match=any&proxied=true&order=name&direction=desc",
        "?comment.present=true&comment.contains=ours",
        "?per_page=2&page=2",
        "?page=9",
    ] {
        assert_eq!(get(cloud, &format!("{all}{query}")).await.status, 200, "{query}");
    }
}

async fn drive_batches(cloud: &FakeCloud) {
    let all = records(cloud);
    let batch = format!("{all}/batch");
    let made =
        post(cloud, &batch, json!({"posts": [a("b", "192.0.2.1"), a("b", "192.0.2.2")]})).await;
    assert_eq!(made.status, 200);
    let id = |n: usize| made.body["result"]["posts"][n]["id"].clone();
    let put = json!({
        "id": id(1), "type": "A", "name": "b", "content": "192.0.2.4", "ttl": 120,
    });
    let body = json!({
        "patches": [{"id": id(0), "content": "192.0.2.3", "comment": "ours"}],
        "puts": [put],
        "posts": [{"type": "AAAA", "name": "b", "content": "2001:db8::1", "ttl": 60}],
    });
    assert_eq!(post(cloud, &batch, body).await.status, 200);
    for body in [
        json!({"deletes": [{"id": id(0)}], "posts": [a("b", "x")]}),
        json!({"deletes": [{}]}),
        json!({"deletes": {"id": id(0)}}),
        json!({"posts": [7]}),
        json!({}),
    ] {
        let status = post(cloud, &batch, body.clone()).await.status;
        assert!(matches!(status, 400 | 404), "{body}");
    }
    assert_eq!(
        post(cloud, &batch, json!({"deletes": [{"id": id(0)}, {"id": id(1)}]})).await.status,
        200
    );
}

async fn drive_faults(cloud: &FakeCloud) {
    for status in [400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 504] {
        cloud.inject(Rule::new(On::any(), Fault::Answer(Answer::status(status))).once());
        assert_eq!(get(cloud, ZONES).await.status, status);
    }
    let page = Answer::status(502).raw("text/html", "<html>");
    cloud.inject(Rule::new(On::any(), Fault::Answer(page)).once());
    get(cloud, ZONES).await;
    for fault in [Fault::LostBefore, Fault::LostAfter] {
        cloud.inject(Rule::new(On::any(), fault).once());
        assert!(send(cloud, "GET", ZONES, Value::Null).await.is_err());
    }
    cloud.throttle_for(Duration::from_secs(3));
    assert_eq!(get(cloud, ZONES).await.status, 429);
    cloud.clear_faults();
    cloud.set(|k| k.token_expired = true);
    assert_eq!(get(cloud, ZONES).await.status, 403);
    cloud.set(|k| k.token_expired = false);
    cloud.set(|k| k.rate = Some(RateLimit { limit: 1, ..RateLimit::cloudflare() }));
    tokio::time::advance(Duration::from_secs(300)).await;
    assert_eq!(get(cloud, ZONES).await.status, 200);
    assert_eq!(get(cloud, ZONES).await.status, 429);
}
