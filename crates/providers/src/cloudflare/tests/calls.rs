//! The requests sent, and their number.

use super::*;

#[tokio::test]
async fn a_set_is_read_by_one_call_and_changed_by_one_more() {
    let done = json!({ "deletes": [record(3)], "patches": [record(1)], "posts": [record(2)] });
    let script =
        Script::default().then(200, listing(&[record(3), record(9)])).then(200, success(done));
    let provider = open_on(script.transport());
    assert_eq!(provider.list(&place(), A).await.unwrap().len(), 2);
    let change = RecordChange {
        create: vec![WantedRecord { mark: Some("ours".into()), ..to(2) }],
        update: vec![(id(9), to(1))],
        delete: vec![id(3)],
    };
    provider.change(&place(), A, &change).await.unwrap();
    let path = format!("/client/v4/zones/{ZONE_ID}/dns_records");
    let body = concat!(
        r#"{"deletes":[{"id":"00000000000000000000000000000003"}],"#,
        r#""patches":[{"content":"192.0.2.1","id":"00000000000000000000000000000009","#,
        r#""name":"hello.example.com","proxied":false,"ttl":60,"type":"A"}],"#,
        r#""posts":[{"comment":"ours","content":"192.0.2.2","name":"hello.example.com","#,
        r#""proxied":false,"ttl":60,"type":"A"}]}"#,
    );
    assert_eq!(
        script.sent(),
        [
            format!("GET {path}?name.exact=hello.example.com&type=A&page=1&per_page=1000"),
            format!("POST {path}/batch {body}"),
        ]
    );
}

#[tokio::test]
async fn a_change_beyond_one_batch_deletes_last() {
    let cloud = FakeCloud::new();
    cloud.set(|knobs| knobs.zone_plan = fakecloud::ZonePlan::Enterprise);
    for last in 0..=250_u8 {
        cloud.record(ZONE, "A", "hello", &ip(last).to_string(), 60);
    }
    let provider = open_on(transport(&cloud));
    let place = provider.locate(ZONE, "hello").await.unwrap();
    let listed = provider.list(&place, A).await.unwrap();
    let fresh = |last: u8| WantedRecord { value: [198, 51, 100, last].into(), ..to(0) };
    let change = RecordChange {
        create: (0..=200).map(fresh).collect(),
        update: vec![(listed[0].id.clone(), fresh(255))],
        delete: listed[1..].iter().map(|record| record.id.clone()).collect(),
    };
    let done = provider.change(&place, A, &change).await.unwrap();
    assert_eq!((done.written.len(), cloud.values(ZONE, "hello", "A").len()), (202, 202));
    let steps: Vec<String> = cloud
        .mutations()
        .iter()
        .map(|call| call.json().as_object().unwrap().keys().cloned().collect())
        .collect();
    assert_eq!(steps, ["patches", "posts", "posts", "deletes", "deletes"]);
}

#[tokio::test(start_paused = true)]
async fn a_change_goes_when_the_budget_is_nearly_used_up() {
    let cloud = FakeCloud::new();
    cloud.domain(ZONE).set(|knobs| {
        knobs.rate = Some(fakecloud::RateLimit { limit: 30, ..Default::default() });
    });
    let provider = open_on(transport(&cloud));
    let place = provider.locate(ZONE, "hello").await.unwrap();
    while provider.list(&place, A).await.is_ok() {}
    provider.change(&place, A, &creating(1)).await.unwrap();
}
