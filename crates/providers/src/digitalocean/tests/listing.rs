//! Listings of several pages.

use super::*;

fn page(ips: impl IntoIterator<Item = u8>, more: bool) -> Value {
    let object = |n: u8| json!({ "ip": format!("10.0.0.{n}"), "droplet": null });
    let ips: Vec<_> = ips.into_iter().map(object).collect();
    let next = "https://evil.example.com/v2/reserved_ips?page=2";
    let pages = if more { json!({ "next": next, "last": next }) } else { json!({}) };
    json!({ "reserved_ips": ips, "links": { "pages": pages }, "meta": { "total": 3 } })
}

const V4: Families = Families { v4: true, v6: false };

#[tokio::test]
async fn pages_are_followed_by_number_and_never_to_another_host() {
    let script = Script::default().then(200, page([2, 3], true)).then(200, page([1], false));
    let found = script.open().list(&ListRequest::of(V4)).await.unwrap().addresses;
    let ips: Vec<_> = found.iter().map(|address| address.ip.to_string()).collect();
    assert_eq!(ips, ["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    assert_eq!(
        script.sent(),
        ["GET /v2/reserved_ips?page=1&per_page=200", "GET /v2/reserved_ips?page=2&per_page=200"]
    );
    let requests = script.requests.lock().unwrap();
    assert_eq!(requests[1].uri().host(), Some("api.digitalocean.com"));
}

#[tokio::test]
async fn an_address_on_two_pages_is_listed_once() {
    let script = Script::default().then(200, page([1, 2], true)).then(200, page([2, 3], false));
    assert_eq!(script.open().list(&ListRequest::of(V4)).await.unwrap().addresses.len(), 3);
}

#[tokio::test]
async fn a_page_that_repeats_ends_the_listing_with_an_error() {
    let script = Script::default().then(200, page([1, 2], true)).then(200, page([1, 2], true));
    let error = script.open().list(&ListRequest::of(V4)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoAnswer);
    assert!(error.message.contains("repeats"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_listing_without_end_is_given_up() {
    let calls = Arc::new(Mutex::new(0_u32));
    let counted = calls.clone();
    let transport = Transport::new(service_fn(move |_: Request<Bytes>| {
        let counted = counted.clone();
        async move {
            // Slow enough to stay within the limit per minute.
            tokio::time::sleep(Duration::from_secs(1)).await;
            let mut calls = counted.lock().unwrap();
            *calls += 1;
            let ip = std::net::Ipv4Addr::from(*calls);
            let page = json!({ "reserved_ips": [{ "ip": ip, "droplet": null }],
                               "links": { "pages": { "next": "more" } } });
            Ok(Response::new(page.to_string().into()))
        }
    }));
    let account = open_with(&[("DIGITALOCEAN_ACCESS_TOKEN", TOKEN)], transport).unwrap();
    let error = account.addresses.unwrap().list(&ListRequest::of(V4)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoAnswer);
    assert_eq!(*calls.lock().unwrap() as usize, MOST_PAGES);
}

#[tokio::test]
async fn every_field_is_read_and_none_but_address_and_droplet_is_needed() {
    let listing = json!({ "reserved_ips": [
        { "ip": "10.0.0.1", "droplet": { "id": 5, "name": "a" }, "locked": true,
          "region": { "slug": "nyc3", "name": "New York 3" }, "project_id": "p" },
        { "ip": "10.0.0.2", "droplet": null, "region": null, "project_id": "", "new": [1] },
    ]});
    let script = Script::default().then(200, listing);
    let found = script.open().list(&ListRequest::of(V4)).await.unwrap().addresses;
    let first = Address {
        ip: "10.0.0.1".parse().unwrap(),
        holder: Some(droplet(5)),
        region: Some("nyc3".into()),
        project: Some("p".into()),
        mark: None,
        busy: true,
    };
    let second = Address {
        ip: "10.0.0.2".parse().unwrap(),
        holder: None,
        region: None,
        project: None,
        mark: None,
        busy: false,
    };
    assert_eq!(found, [first, second]);
}
