//! A token without `droplet:read`.

use super::*;

fn assert_names_the_scope(error: &Error) {
    assert_eq!(error.kind, ErrorKind::Forbidden);
    assert!(error.message.contains("droplet:read"), "{error}");
}

#[tokio::test]
async fn an_ipv4_address_without_the_key_is_not_a_free_one() {
    let listing = json!({ "reserved_ips": [{ "ip": IP }] });
    let script = Script::default()
        .then(200, listing)
        .then(200, json!({ "reserved_ip": { "ip": IP, "locked": false } }));
    let provider = script.open();
    let families = Families { v4: true, v6: false };
    assert_names_the_scope(&provider.list(&ListRequest::of(families)).await.unwrap_err());
    assert_names_the_scope(&provider.read(ip()).await.unwrap_err());
}

fn free_v6() -> Value {
    json!({ "reserved_ipv6": { "ip": IP6, "region_slug": "nyc3" } })
}

#[tokio::test]
async fn an_ipv6_address_without_the_key_is_free_if_the_token_sees_droplets_which_is_asked_once() {
    let script = Script::default()
        .then(200, free_v6())
        .then(200, json!({ "droplets": [] }))
        .then(200, free_v6());
    let provider = script.open();
    for _ in 0..2 {
        assert_eq!(provider.read(ip6()).await.unwrap().unwrap().holder, None);
    }
    let read = format!("GET /v2/reserved_ipv6/{IP6}");
    assert_eq!(script.sent(), [&read, "GET /v2/droplets?per_page=1", &read]);
}

#[tokio::test]
async fn an_ipv6_address_without_the_key_is_not_free_if_the_token_does_not() {
    let script = Script::default()
        .then(200, free_v6())
        .then(403, problem("forbidden", "You are not authorized"));
    assert_names_the_scope(&script.open().read(ip6()).await.unwrap_err());
}

fn held_v6() -> Value {
    json!({ "reserved_ipv6": { "ip": IP6, "region_slug": "nyc3", "droplet": { "id": 7 } } })
}

#[tokio::test]
async fn an_ipv6_address_that_was_on_a_droplet_is_free_only_if_the_token_still_sees_droplets() {
    let script = Script::default()
        .then(200, held_v6())
        .then(200, free_v6())
        .then(403, problem("forbidden", "You are not authorized"));
    let provider = script.open();
    assert!(provider.read(ip6()).await.unwrap().unwrap().holder.is_some());
    assert_names_the_scope(&provider.read(ip6()).await.unwrap_err());
}

#[tokio::test]
async fn an_ipv6_address_that_was_on_a_droplet_is_read_again_once_the_token_sees_droplets() {
    for (again, held) in [(held_v6(), true), (free_v6(), false)] {
        let script = Script::default()
            .then(200, held_v6())
            .then(200, free_v6())
            .then(200, json!({ "droplets": [] }))
            .then(200, again);
        let provider = script.open();
        provider.read(ip6()).await.unwrap();
        assert_eq!(provider.read(ip6()).await.unwrap().unwrap().holder.is_some(), held);
        assert_eq!(script.sent().len(), 4);
    }
}
