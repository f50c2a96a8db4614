//! The identifiers of changes.

use std::collections::BTreeSet;

use super::*;

/// One change of each sort.
async fn changes() -> Vec<(String, String)> {
    let script = Script::default()
        .then(200, page(&[address(IP, None)]))
        .then(200, with_own("a"))
        .then(200, page(&[]))
        .then(200, operation("DONE"))
        .then(200, operation("DONE"))
        .then(200, operation("DONE"))
        .then(200, address(IP, None))
        .then(200, page(&[address(IP, None)]))
        .then(200, operation("DONE"));
    let provider = script.open();
    provider.assign(ip(), &machine("a")).await.unwrap();
    let region = "us-central1".to_owned();
    let mark = Some("203-0-113-7".to_owned());
    let request = CreateRequest { family: Family::V4, region, machine: None, mark };
    provider.create(&request).await.unwrap();
    provider.release(ip()).await.unwrap();
    let requests = script.requests.lock().unwrap();
    let identifier = |uri: &http::Uri| {
        let query = uri.query().unwrap_or_default();
        query
            .split('&')
            .find_map(|one| one.strip_prefix("requestId="))
            .unwrap_or_default()
            .to_owned()
    };
    requests.iter().map(|one| (one.method().to_string(), identifier(one.uri()))).collect()
}

#[tokio::test]
async fn every_change_has_one_of_its_own_and_no_read_has_any() {
    let made = changes().await;
    let mut seen = BTreeSet::new();
    for (method, id) in &made {
        if method == "GET" {
            assert_eq!(id, "");
            continue;
        }
        let groups: Vec<_> = id.split('-').map(str::len).collect();
        assert_eq!(groups, [8, 4, 4, 4, 12], "{id}");
        assert!(id.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit()), "{id}");
        assert_eq!(&id[14..15], "4");
        assert!(seen.insert(id), "{id} is there twice");
    }
    assert_eq!(seen.len(), 4);
}

#[tokio::test]
async fn the_same_calls_at_the_same_time_have_the_same() {
    assert_eq!(changes().await, changes().await);
}
