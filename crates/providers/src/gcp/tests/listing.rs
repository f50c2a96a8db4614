//! Listings with all permissions.

use super::*;

fn of_machines(names: &[&str]) -> ListRequest {
    let machines = names.iter().map(|name| MachineId((*name).into())).collect();
    ListRequest { families: V4, machines, addresses: vec![] }
}

#[tokio::test]
async fn every_field_is_read() {
    let mut reserving = address("203.0.113.9", None);
    reserving["status"] = json!("RESERVING");
    reserving["name"] = json!("by-hand");
    let found = [address(IP, Some("a")), address("203.0.113.8", None), reserving];
    let script = Script::default().then(200, page(&found));
    let listing = script.open().list(&ListRequest::of(V4)).await.unwrap();
    assert_eq!(listing.limited, None);
    let [first, second, third] = &listing.addresses[..] else { panic!("{listing:?}") };
    let expected = Address {
        ip: ip(),
        holder: Some(machine("a")),
        region: Some("us-central1".into()),
        project: Some("p".into()),
        mark: Some("203-0-113-7".into()),
        busy: false,
    };
    assert_eq!(*first, expected);
    assert_eq!((&second.holder, second.busy), (&None, false));
    assert_eq!((&third.mark, third.busy), (&None, true));
}

#[tokio::test]
async fn what_no_machine_can_have_is_not_listed() {
    let mut internal = address("10.0.0.7", None);
    internal["addressType"] = json!("INTERNAL");
    let mut global = address("203.0.113.8", None);
    global.as_object_mut().unwrap().remove("region");
    let mut unborn = address("203.0.113.9", None);
    unborn.as_object_mut().unwrap().remove("address");
    let six = address("2600:1900::1", None);
    let mut range = address("2600:1900::/96", None);
    range["ipVersion"] = json!("IPV6");
    let script = Script::default().then(200, page(&[internal, global, unborn, six, range]));
    let listing = script.open().list(&ListRequest::of(V4)).await.unwrap();
    assert_eq!(listing, Listing::default());
}

#[tokio::test]
async fn an_address_of_a_load_balancer_is_not_free() {
    let mut used = address(IP, Some("a"));
    used["users"] = json!([format!("{BASE}/regions/us-central1/forwardingRules/web")]);
    let found = page(&[used]);
    let script = Script::default().then(200, &found).then(200, &found).then(200, &found);
    let provider = script.open();
    let listing = provider.list(&ListRequest::of(V4)).await.unwrap();
    let holder = listing.addresses[0].holder.clone().unwrap();
    assert_eq!(holder.0, "p/regions/us-central1/forwardingRules/web");
    for error in [
        provider.assign(ip(), &machine("a")).await.unwrap_err(),
        provider.unassign(ip()).await.unwrap_err(),
    ] {
        assert_eq!(error.kind, ErrorKind::Rejected);
        assert!(error.message.contains("forwardingRules/web"), "{error}");
        assert_eq!(error.seen.unwrap().holder.as_ref(), Some(&holder));
    }
}

#[tokio::test]
async fn an_address_whose_user_is_hidden_is_not_free() {
    let mut used = address(IP, None);
    used["status"] = json!("IN_USE");
    let found = page(&[used]);
    let script = Script::default().then(200, &found).then(200, &found);
    let provider = script.open();
    assert!(provider.read(ip()).await.unwrap().unwrap().holder.is_some());
    let error = provider.assign(ip(), &machine("a")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
}

#[tokio::test]
async fn pages_are_followed_by_their_tokens() {
    let script = Script::default()
        .then(200, more(page(&[address("203.0.113.8", None)]), "a/b=="))
        .then(200, more(page(&[]), "c"))
        .then(200, page(&[address(IP, None), address("203.0.113.8", Some("a"))]));
    let found = script.open().list(&ListRequest::of(V4)).await.unwrap().addresses;
    let found: Vec<_> = found.into_iter().map(|one| (one.ip.to_string(), one.holder)).collect();
    assert_eq!(found, [(IP.into(), None), ("203.0.113.8".into(), Some(machine("a")))]);
    let tokens: Vec<_> =
        script.sent().iter().map(|line| line.split('?').nth(1).unwrap().to_owned()).collect();
    assert_eq!(
        tokens,
        ["maxResults=500", "maxResults=500&pageToken=a%2Fb%3D%3D", "maxResults=500&pageToken=c"]
    );
}

#[tokio::test]
async fn a_listing_that_repeats_or_does_not_end_is_given_up() {
    let script = Script::default()
        .then(200, more(page(&[address(IP, None)]), "a"))
        .then(200, more(page(&[address(IP, None)]), "a"));
    let error = script.open().list(&ListRequest::of(V4)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoAnswer);
    assert!(error.message.contains("repeats"), "{error}");
    let endless = (0..200).fold(Script::default(), |script, number| {
        script.then(200, more(page(&[]), &format!("t{number}")))
    });
    let error = endless.open().list(&ListRequest::of(V4)).await.unwrap_err();
    assert!(error.message.contains("does not end"), "{error}");
}

#[tokio::test]
async fn a_region_that_could_not_be_reached_is_unknown_and_not_empty() {
    let mut partly = page(&[address(IP, None)]);
    partly["items"]["regions/europe-west1"] = json!({ "warning": { "code": "UNREACHABLE" } });
    let script = Script::default().then(200, &partly).then(200, &partly);
    let provider = script.open();
    let error = provider.list(&ListRequest::of(V4)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert_eq!(provider.read(ip()).await.unwrap_err().kind, ErrorKind::Unavailable);
}

#[tokio::test]
async fn without_a_configured_project_the_machines_projects_are_listed() {
    let script = Script::default()
        .then(200, page(&[address(IP, None)]))
        .then(200, page(&[address("203.0.113.8", None)]))
        .then(200, page(&[]))
        .then(200, page(&[]));
    let provider = script.open_with(&[]);
    let request = of_machines(&["q/us-central1-b/x", "p/us-central1-b/a", "p/us-central1-b/b"]);
    let listing = provider.list(&request).await.unwrap();
    assert_eq!(listing.addresses.len(), 2);
    assert_eq!(provider.read("203.0.113.9".parse().unwrap()).await.unwrap(), None);
    let asked: Vec<_> =
        script.sent().iter().map(|line| line.split('/').nth(4).unwrap().to_owned()).collect();
    assert_eq!(asked, ["p", "q", "p", "q"]);
}

#[tokio::test]
async fn without_any_project_the_listing_says_what_to_do() {
    let error = Script::default().open_with(&[]).list(&ListRequest::of(V4)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotSent);
    assert!(error.message.contains("GOOGLE_CLOUD_PROJECT"), "{error}");
}

#[tokio::test]
async fn ipv6_is_not_asked_about() {
    let provider = Script::default().open();
    let six = ListRequest::of(Families { v4: false, v6: true });
    assert_eq!(provider.list(&six).await.unwrap(), Listing::default());
    assert_eq!(provider.read("2600:1900::1".parse().unwrap()).await.unwrap(), None);
}
