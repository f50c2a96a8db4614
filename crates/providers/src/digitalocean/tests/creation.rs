//! Reserving addresses.

use super::*;

async fn create(
    script: &Script,
    family: Family,
    machine: Option<u64>,
    more: &[(&str, &str)],
) -> Result<Created> {
    let machine = machine.map(droplet);
    let request = CreateRequest { family, region: "nyc3".into(), machine, mark: None };
    script.open_with(more).create(&request).await
}

fn assigning() -> Value {
    let mut body = v4(Value::Null, true);
    body["links"] = json!({
        "droplets": [{ "id": 7, "rel": "droplet", "href": "" }],
        "actions": [{ "id": 1088924622, "rel": "assign_ip", "href": "" }],
    });
    body
}

#[tokio::test]
async fn on_a_machine_the_request_names_the_machine_alone() {
    let script = Script::default().then(202, assigning());
    let project = [("DIGITALOCEAN_PROJECT_ID", "p-1")];
    let created = create(&script, Family::V4, Some(7), &project).await.unwrap();
    let pending = Accepted::Pending(OperationId("1088924622".into()));
    assert_eq!(created, Created { ip: ip(), placement: Some(pending) });
    assert_eq!(script.sent(), [r#"POST /v2/reserved_ips {"droplet_id":7}"#]);
}

#[tokio::test]
async fn an_address_that_is_shown_on_its_machine_is_placed() {
    let script = Script::default().then(202, v4(json!({ "id": 7 }), false));
    let created = create(&script, Family::V4, Some(7), &[]).await.unwrap();
    assert_eq!(created.placement, Some(Accepted::Done));
}

#[tokio::test]
async fn in_a_region_the_request_names_the_region_and_the_project() {
    let project = [("DIGITALOCEAN_PROJECT_ID", " p-1 ")];
    for (more, body) in [
        (&[][..], r#"{"region":"nyc3"}"#),
        (&project[..], r#"{"project_id":"p-1","region":"nyc3"}"#),
    ] {
        let script = Script::default().then(202, v4(Value::Null, false));
        let created = create(&script, Family::V4, None, more).await.unwrap();
        assert_eq!(created, Created { ip: ip(), placement: None });
        assert_eq!(script.sent(), [format!("POST /v2/reserved_ips {body}")]);
    }
}

#[tokio::test]
async fn ipv6_is_reserved_in_the_region_and_left_free_in_both_shapes_of_answer() {
    let bare = json!({ "ip": IP6, "region_slug": "nyc3", "reserved_at": "2024-11-29T15:31:30Z" });
    for body in [json!({ "reserved_ipv6": bare.clone() }), bare] {
        let script = Script::default().then(201, body);
        let project = [("DIGITALOCEAN_PROJECT_ID", "p-1")];
        let created = create(&script, Family::V6, Some(7), &project).await.unwrap();
        assert_eq!(created, Created { ip: ip6(), placement: None });
        assert_eq!(script.sent(), [r#"POST /v2/reserved_ipv6 {"region_slug":"nyc3"}"#]);
    }
}

#[tokio::test]
async fn an_address_is_reported_even_if_the_token_may_not_see_its_droplet() {
    let script = Script::default().then(202, json!({ "reserved_ip": { "ip": IP } }));
    assert_eq!(create(&script, Family::V4, Some(7), &[]).await.unwrap().ip, ip());
}

#[tokio::test]
async fn a_refusal_is_about_the_quota_if_its_words_are() {
    for (words, kind) in [
        ("You have reached your reserved IP limit.", ErrorKind::QuotaExceeded),
        ("quota exceeded", ErrorKind::QuotaExceeded),
        ("Droplet already has a reserved IP.", ErrorKind::Rejected),
        ("Droplet already has a pending event.", ErrorKind::Busy),
    ] {
        let script = Script::default().then(422, unprocessable(words));
        let error = create(&script, Family::V4, Some(7), &[]).await.unwrap_err();
        assert_eq!((error.kind, &error.message[..]), (kind, words));
    }
}
