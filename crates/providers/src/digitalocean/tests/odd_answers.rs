//! Malformed and contradictory answers.

use super::*;

const ODD: [&str; 17] = [
    "",
    "null",
    "[]",
    "[[],[],null]",
    "{}",
    "7",
    "\"text\"",
    "{",
    "\u{0}",
    r#"{"reserved_ip":null,"reserved_ips":null,"action":null}"#,
    r#"{"reserved_ip":{},"reserved_ips":[{}],"action":{}}"#,
    r#"{"reserved_ip":{"ip":7},"reserved_ips":[7],"action":{"id":"x","status":1}}"#,
    r#"{"reserved_ip":{"ip":"1.2.3"},"reserved_ips":[{"ip":"1.2.3"}],"action":{"id":-1}}"#,
    r#"{"reserved_ip":{"ip":"45.55.96.47","droplet":{}},
        "reserved_ips":[{"ip":"45.55.96.47","droplet":{}}]}"#,
    r#"{"reserved_ip":{"ip":"45.55.96.47","droplet":{"id":"7"}},
        "reserved_ips":[{"ip":"45.55.96.47","droplet":7}]}"#,
    r#"{"reserved_ips":{"ip":"45.55.96.47"},"action":[]}"#,
    r#"{"reserved_ips":[],"links":{"pages":{"next":7}},"action":{"id":1e300,"status":""}}"#,
];

#[tokio::test]
async fn success_that_cannot_be_read_is_no_answer_whatever_was_asked() {
    let families = Families { v4: true, v6: false };
    let request =
        CreateRequest { family: Family::V4, region: "nyc3".into(), machine: None, mark: None };
    for odd in ODD {
        let open = || Script::default().then(200, odd).open();
        let id = OperationId("1".into());
        let kinds = [
            open().list(&ListRequest::of(families)).await.map(drop).unwrap_err().kind,
            open().read(ip()).await.map(drop).unwrap_err().kind,
            open().assign(ip(), &droplet(7)).await.map(drop).unwrap_err().kind,
            open().unassign(ip()).await.map(drop).unwrap_err().kind,
            open().create(&request).await.map(drop).unwrap_err().kind,
            open().operation(ip(), &id).await.map(drop).unwrap_err().kind,
        ];
        assert_eq!(kinds, [ErrorKind::NoAnswer; 6], "{odd}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_not_quoted() {
    let script = Script::default().then(200, r#"{"reserved_ip":"canary"}"#);
    let error = script.open().read(ip()).await.unwrap_err();
    assert!(!format!("{error:?}").contains("canary"), "{error:?}");
}

#[tokio::test]
async fn an_answer_about_another_address_is_no_answer() {
    let other = json!({ "reserved_ip": { "ip": "10.0.0.1", "droplet": null } });
    let error = Script::default().then(200, other).open().read(ip()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoAnswer);
}

#[tokio::test]
async fn an_answer_about_another_action_is_no_answer() {
    let script = Script::default().then(200, action("completed"));
    let id = OperationId("1".into());
    let error = script.open().operation(ip(), &id).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoAnswer);
}

#[tokio::test]
async fn an_address_of_the_other_family_is_no_answer() {
    let held = json!({ "ip": IP6, "droplet": { "id": 7 } });
    let script = Script::default().then(200, json!({ "reserved_ips": [held] }));
    let error =
        script.open().list(&ListRequest::of(Families { v4: true, v6: false })).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoAnswer);
    let script = Script::default().then(202, json!({ "reserved_ip": held }));
    let request =
        CreateRequest { family: Family::V4, region: "nyc3".into(), machine: None, mark: None };
    assert_eq!(script.open().create(&request).await.unwrap_err().kind, ErrorKind::NoAnswer);
}

#[tokio::test]
async fn an_address_is_not_gone_because_droplets_are_not_found() {
    let free = json!({ "reserved_ipv6": { "ip": IP6 } });
    let script = Script::default().then(200, free).then(404, not_found());
    assert_eq!(script.open().read(ip6()).await.unwrap_err().kind, ErrorKind::NoAnswer);
}
