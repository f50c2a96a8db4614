//! Zones as users write them: by name or by ID.

use super::*;

fn zone(id: &str, status: &str) -> Value {
    json!({ "id": id, "name": "example.com", "status": status })
}

async fn locate(script: &Script, zone: &str, name: &str) -> Result<RecordName> {
    open_on(script.transport()).locate(zone, name).await
}

#[tokio::test]
async fn of_several_zones_of_one_name_the_active_one_is_meant() {
    let other = "f".repeat(32);
    let script = Script::default()
        .then(200, success(json!([zone(&other, "moved"), zone(ZONE_ID, "active")])));
    assert_eq!(locate(&script, "Example.com", "hello").await.unwrap(), place());
    assert_eq!(script.sent(), ["GET /client/v4/zones?name=example.com"]);
    let script = Script::default()
        .then(200, success(json!([zone(&other, "active"), zone(ZONE_ID, "active")])));
    let error = locate(&script, "example.com", "hello").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
    assert_eq!(error.message, "several zones are called example.com: name the one by its ID");
}

#[tokio::test]
async fn a_zone_that_the_token_is_not_shown_is_not_found_and_asked_for_again() {
    let script = Script::default()
        .then(200, success(json!([])))
        .then(200, success(json!([zone(ZONE_ID, "active")])));
    let provider = open_on(script.transport());
    let error = provider.locate("example.com", "hello").await.unwrap_err();
    assert_eq!(
        (error.kind, &error.message[..]),
        (ErrorKind::NotFound, "Cloudflare shows this token no zone example.com")
    );
    assert_eq!(provider.locate("example.com", "hello").await.unwrap(), place());
}

/// The usual FLIPOP setup: the zone's ID, the record's full name, and a token without Zone Read.
#[tokio::test]
async fn without_leave_to_read_zones_an_id_and_a_full_name_will_do() {
    let forbidden = failure(9109, "Unauthorized to access requested resource");
    let script = Script::default().then(403, forbidden);
    let provider = open_on(script.transport());
    let found = provider.locate(ZONE_ID, "Hello.example.com").await.unwrap();
    assert_eq!(found, place());
    let error = provider.locate(ZONE_ID, "hello").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
    assert!(error.message.contains("in full"), "{error}");
    assert_eq!(script.sent(), [format!("GET /client/v4/zones/{ZONE_ID}")]);
}

#[tokio::test]
async fn leave_to_read_zones_that_is_granted_later_is_noticed() {
    let forbidden = || failure(9109, "Unauthorized to access requested resource");
    let script = Script::default()
        .then(403, forbidden())
        .then(403, forbidden())
        .then(200, success(zone(ZONE_ID, "active")));
    let provider = open_on(script.transport());
    for _ in 0..2 {
        let error = provider.locate(ZONE_ID, "hello").await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Rejected);
    }
    assert_eq!(provider.locate(ZONE_ID, "hello").await.unwrap(), place());
}

/// Cloudflare documents only a maximum of 32 characters for an identifier.
#[tokio::test]
async fn an_identifier_of_any_shape_will_do() {
    for id in ["023e105f", "Zone_7-b"] {
        let script = Script::default()
            .then(200, success(json!([zone(id, "active")])))
            .then(200, success(zone(id, "active")))
            .then(200, listing(&[record(1)]));
        let provider = open_on(script.transport());
        let by_name = provider.locate("example.com", "hello").await.unwrap();
        assert_eq!((&by_name.zone[..], &by_name.name[..]), (id, "hello.example.com"));
        assert_eq!(provider.locate(id, "hello").await.unwrap(), by_name);
        assert_eq!(provider.list(&by_name, A).await.unwrap().len(), 1);
        assert_eq!(script.sent()[1], format!("GET /client/v4/zones/{id}"));
    }
}

#[tokio::test]
async fn by_its_id_a_zone_is_asked_for_its_name_once() {
    let script = Script::default().then(200, success(zone(ZONE_ID, "active")));
    let provider = open_on(script.transport());
    let upper = ZONE_ID.to_ascii_uppercase();
    for (zone, name) in [(ZONE_ID, "hello"), (ZONE_ID, "hello.example.com"), (&upper, "hello")] {
        assert_eq!(provider.locate(zone, name).await.unwrap(), place());
    }
    assert_eq!(script.sent().len(), 1);
}

#[tokio::test]
async fn a_zone_in_another_script_is_used_by_id_and_full_name() {
    let foreign = json!({ "id": ZONE_ID, "name": "bücher.example", "status": "active" });
    let script = Script::default().then(200, success(foreign));
    let provider = open_on(script.transport());
    let name = "hello.xn--bcher-kva.example";
    assert_eq!(provider.locate(ZONE_ID, name).await.unwrap().name, name);
}

#[tokio::test]
async fn a_zone_that_is_gone_is_forgotten() {
    let gone = failure(7003, "Could not route to /client/v4/zones/023e");
    let new = "f".repeat(32);
    let script = Script::default()
        .then(200, success(json!([zone(ZONE_ID, "active")])))
        .then(404, gone)
        .then(200, success(json!([zone(&new, "active")])));
    let provider = open_on(script.transport());
    let place = provider.locate("example.com", "hello").await.unwrap();
    assert_eq!(provider.list(&place, A).await.unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(provider.locate("example.com", "hello").await.unwrap().zone, new);
}

#[tokio::test]
async fn answers_that_name_another_zone_or_none_are_no_answers() {
    for odd in [json!([{ "id": "../x", "name": "example.com" }]), json!({}), Value::Null] {
        let script = Script::default().then(200, success(odd));
        let error = locate(&script, "example.com", "a").await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NoAnswer);
    }
    let script = Script::default().then(200, success(zone(&"f".repeat(32), "active")));
    assert_eq!(locate(&script, ZONE_ID, "a").await.unwrap_err().kind, ErrorKind::NoAnswer);
}
