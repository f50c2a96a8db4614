//! Changes planned from an outdated listing.

use super::*;

fn refused(code: u64) -> Script {
    Script::default().then(400, failure(code, "An identical record already exists."))
}

async fn change(script: &Script, change: &RecordChange) -> Result<Vec<Record>> {
    let done = open_on(script.transport()).change(&place(), A, change).await;
    done.map(|changed| changed.written)
}

#[tokio::test]
async fn what_is_so_already_is_success() {
    for code in [81_057, 81_058] {
        let script = refused(code).then(200, listing(&[record(1), record(2)]));
        let done = change(&script, &creating(1)).await.unwrap();
        assert_eq!((done.len(), done[0].value), (1, ip(1)));
    }
    let delete = RecordChange { delete: vec![id(7)], ..RecordChange::default() };
    let script = refused(81_044).then(200, listing(&[record(1)]));
    assert_eq!(change(&script, &delete).await.unwrap(), []);
    assert_eq!(script.sent().len(), 2);
}

#[tokio::test]
async fn what_is_not_so_was_changed_by_somebody_else() {
    let mut slower = record(1);
    slower["ttl"] = json!(300);
    let mut proxied = record(1);
    proxied["proxied"] = json!(true);
    for there in [record(2), slower, proxied] {
        let script = refused(81_058).then(200, listing(&[there]));
        assert_eq!(change(&script, &creating(1)).await.unwrap_err().kind, ErrorKind::Busy);
    }
    let both = RecordChange { delete: vec![id(2)], ..creating(1) };
    let script = refused(81_058).then(200, listing(&[record(1), record(2)]));
    let error = change(&script, &both).await.unwrap_err();
    assert_eq!(
        error.message,
        "the records of hello.example.com are not as they were: An identical record already \
         exists. (81058)"
    );
}

#[tokio::test]
async fn what_cannot_be_read_back_is_not_called_so() {
    for (status, kind) in [
        (500, ErrorKind::Busy),
        (502, ErrorKind::Busy),
        (401, ErrorKind::Unauthorized),
        (403, ErrorKind::Forbidden),
    ] {
        let script = refused(81_058).then(status, "");
        assert_eq!(change(&script, &creating(1)).await.unwrap_err().kind, kind);
    }
}
