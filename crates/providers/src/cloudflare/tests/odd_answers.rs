//! Malformed and contradictory answers.

use super::*;

#[tokio::test]
async fn a_listing_that_is_shorter_than_it_says_is_no_listing() {
    let mut short = listing(&[record(1)]);
    short["result_info"]["total_count"] = json!(2);
    let mut empty = listing(&[]);
    empty["result_info"]["total_count"] = json!(1);
    let mut endless = listing(&[record(1)]);
    endless["result_info"]["total_pages"] = json!(3);
    for body in [short, empty, endless] {
        let script = Script::default().then(200, &body).then(200, &body);
        let error = open_on(script.transport()).list(&place(), A).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NoAnswer, "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_that_was_lost_between_pages_makes_the_listing_none() {
    let cloud = FakeCloud::new();
    for n in 0..1_050_u16 {
        let [high, low] = n.to_be_bytes();
        cloud.record(ZONE, "A", "hello", &format!("198.18.{high}.{low}"), 60);
    }
    let provider = open_on(transport(&cloud));
    let place = provider.locate(ZONE, "hello").await.unwrap();
    cloud.inject(Rule::new(On::reads(), Fault::Own(CloudFault::PageGap)));
    let error = provider.list(&place, A).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoAnswer);
}

#[tokio::test]
async fn what_the_filter_should_have_kept_out_is_kept_out() {
    let mut other = record(2);
    other["name"] = json!("other.example.com");
    let mut text = record(3);
    text["type"] = json!("TXT");
    let script = Script::default().then(200, listing(&[other, record(1), text]));
    let listed = open_on(script.transport()).list(&place(), A).await.unwrap();
    assert_eq!((listed.len(), listed[0].value), (1, ip(1)));
}

#[tokio::test]
async fn success_that_cannot_be_read_is_no_answer_whatever_was_asked() {
    let mut other = record(1);
    other["content"] = json!("192.0.2.77");
    for odd in [
        String::new(),
        "null".into(),
        "[]".into(),
        "[true,[],null]".into(),
        "{}".into(),
        r#"{"success":true}"#.into(),
        r#"{"success":"yes","result":[]}"#.into(),
        success(Value::Null).to_string(),
        success(json!({})).to_string(),
        success(json!([{}])).to_string(),
        success(json!({ "posts": null })).to_string(),
        success(json!({ "posts": [] })).to_string(),
        success(json!({ "posts": [other] })).to_string(),
        success(json!({ "posts": [record(1), record(2)] })).to_string(),
    ] {
        let script = Script::default().then(200, &odd).then(200, &odd);
        let provider = open_on(script.transport());
        let error = provider.change(&place(), A, &creating(1)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NoAnswer, "{odd}");
        let error = provider.list(&place(), A).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NoAnswer, "{odd}");
    }
}

#[tokio::test]
async fn a_record_without_an_address_or_a_time_is_no_answer() {
    for (key, value) in [
        ("content", json!("hello")),
        ("content", json!("2001:db8::1")),
        ("content", Value::Null),
        ("ttl", Value::Null),
        ("ttl", json!(-1)),
    ] {
        let mut odd = record(1);
        odd[key] = value;
        let script = Script::default().then(200, listing(&[odd]));
        let error = open_on(script.transport()).list(&place(), A).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NoAnswer, "{key}");
    }
}
