//! Malformed and contradictory answers.

use super::*;

const ODD: [&str; 15] = [
    "",
    "null",
    "[]",
    "[[],[],null]",
    "{}",
    "7",
    "\"text\"",
    "{",
    "\u{0}",
    r#"{"items":7,"name":7,"status":7,"networkInterfaces":7}"#,
    r#"{"items":{"regions/r":7},"name":null,"status":null}"#,
    r#"{"items":{"regions/r":{"addresses":[7]}},"name":"","status":""}"#,
    r#"{"items":{"regions/r":{"addresses":[{"name":"x","address":"1.2.3","region":"r"}]}}}"#,
    r#"{"items":{"regions/r":{"addresses":[{"name":"../x","address":"1.2.3.4","region":"r"}]}}}"#,
    r#"{"kind":"compute#addressList","name":"operation-1","status":"A NEW WORD"}"#,
];

#[tokio::test]
async fn success_that_cannot_be_read_is_no_answer_whatever_was_asked() {
    let request = CreateRequest {
        family: Family::V4,
        region: "us-central1".into(),
        machine: None,
        mark: None,
    };
    let id = OperationId("projects/p/zones/z/operations/operation-1".into());
    for odd in ODD {
        let open = || Script::default().then(200, odd).open();
        let free = Script::default().then(200, page(&[address(IP, None)]));
        let bare = Script::default().then(200, instance("a", &[None]));
        let kinds = [
            open().list(&ListRequest::of(V4)).await.map(drop).unwrap_err().kind,
            open().read(ip()).await.map(drop).unwrap_err().kind,
            open().assign(ip(), &machine("a")).await.map(drop).unwrap_err().kind,
            free.then(200, odd).open().assign(ip(), &machine("a")).await.unwrap_err().kind,
            open().unassign(ip()).await.map(drop).unwrap_err().kind,
            open().create(&request).await.map(drop).unwrap_err().kind,
            open().release(ip()).await.unwrap_err().kind,
            open().operation(ip(), &id).await.map(drop).unwrap_err().kind,
            open().restore_egress(&machine("a")).await.map(drop).unwrap_err().kind,
            bare.then(200, odd).open().restore_egress(&machine("a")).await.unwrap_err().kind,
        ];
        assert_eq!(kinds, [ErrorKind::NoAnswer; 10], "{odd}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_not_quoted() {
    let script = Script::default().then(200, r#"{"items":"canary"}"#);
    let error = script.open().read(ip()).await.unwrap_err();
    assert!(!format!("{error:?}").contains("canary"), "{error:?}");
}

#[tokio::test]
async fn an_answer_about_another_address_or_machine_shows_nothing_of_the_one_asked_about() {
    let script = Script::default().then(200, page(&[address("203.0.113.8", Some("a"))]));
    assert_eq!(script.open().read(ip()).await.unwrap(), None);
    let script = Script::default().then(200, with_own("b"));
    let error = script.open().restore_egress(&machine("a")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoAnswer);
}

#[tokio::test]
async fn an_instance_without_an_interface_is_no_answer() {
    let script = Script::default().then(200, instance("a", &[]));
    let error = script.open().restore_egress(&machine("a")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoAnswer);
}
