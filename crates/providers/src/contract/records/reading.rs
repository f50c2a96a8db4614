//! Names, zones and listings.

use std::net::Ipv4Addr;
use std::time::Duration;

use fakecloud::{Answer, Fault, On, Rule};

use super::{A, NAME, Rig, TTL, creating, ip, open, values};
use crate::contract::{ZONE, kind, transport};
use crate::error::ErrorKind;
use crate::record::{Record, RecordKind, RecordName};

pub(crate) async fn a_set_that_is_not_there_is_an_empty_listing(rig: Rig) {
    assert_eq!(rig.list().await.unwrap(), []);
    assert_eq!(rig.provider.list(&rig.place, RecordKind::Aaaa).await.unwrap(), []);
}

pub(crate) async fn a_listing_shows_the_set_and_nothing_beside_it(rig: Rig) {
    let listed = rig.seeded([2, 1]).await;
    assert_eq!(values(&listed), [ip(1), ip(2)]);
    assert_ne!(listed[0].id, listed[1].id);
    let Record { ttl, mark, proxied, .. } = &listed[0];
    assert_eq!((*ttl, mark, *proxied), (TTL, &None, false));
    assert_eq!(rig.provider.list(&rig.place, RecordKind::Aaaa).await.unwrap(), []);
}

pub(crate) async fn a_listing_shows_each_record_once_whatever_the_pages(rig: Rig) {
    for n in 0..1_050_u16 {
        let [high, low] = n.to_be_bytes();
        let value = Ipv4Addr::new(198, 18, high, low).to_string();
        rig.cloud.record(ZONE, "A", NAME, &value, TTL);
    }
    let listed = rig.list().await.unwrap();
    assert_eq!(listed.len(), 1_050);
    assert!(listed.is_sorted_by(|a, b| a.value < b.value));
}

pub(crate) async fn a_listing_is_one_call_however_many_records_the_zone_has(rig: Rig) {
    for n in 0..500 {
        rig.cloud.record(ZONE, "A", &format!("other-{n}"), "198.51.100.9", TTL);
    }
    let mark = rig.cloud.mark();
    assert_eq!(values(&rig.seeded([1]).await), [ip(1)]);
    assert_eq!(rig.calls_since(mark), 1);
}

pub(crate) async fn a_failed_listing_is_never_an_empty_one(rig: Rig) {
    rig.seeded([1]).await;
    let html = Answer::status(200).raw("text/html", "<html>");
    let listless = Answer::status(200).raw("application/json", r#"{"success":true}"#);
    let null = r#"{"success":true,"errors":[],"messages":[],"result":null,"domain_records":null}"#;
    let null = Answer::status(200).raw("application/json", null);
    let empty = Answer::status(200).raw("application/json", "");
    let proxy = |status| Answer::status(status).raw("text/plain", "");
    let odd = [html, listless, null, empty, proxy(204), proxy(301)];
    let statuses = [400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504, 521];
    for answer in statuses.map(Answer::status).into_iter().chain(odd) {
        // A separate provider, not stopped by an earlier 429.
        let provider = open(rig.bench, &rig.cloud, transport(&rig.cloud));
        rig.cloud.inject(Rule::new(On::reads(), Fault::Answer(answer.clone())).once());
        assert!(provider.list(&rig.place, A).await.is_err(), "{answer:?}");
    }
    for fault in [Fault::LostBefore, Fault::LostAfter, Fault::DelayAfter(Duration::from_secs(9))] {
        rig.cloud.inject(Rule::new(On::reads(), fault).once());
        assert_eq!(kind(rig.list().await), ErrorKind::NoAnswer);
    }
    assert_eq!(values(&rig.list().await.unwrap()), [ip(1)]);
}

pub(crate) async fn one_name_written_in_many_ways_is_one_place(rig: Rig) {
    let by_id = rig.provider.capabilities().zones_by_id;
    let mut zones = vec![ZONE.to_owned(), " Example.COM. ".to_owned()];
    zones.extend(by_id.then(|| rig.cloud.zone_id(ZONE)));
    for zone in zones {
        for name in ["hello", "HELLO", "hello.example.com", "Hello.Example.com."] {
            let place = rig.provider.locate(&zone, name).await.unwrap();
            assert_eq!(place, rig.place, "{name} in {zone}");
        }
    }
    let other = rig.provider.locate("example.org", "hello.example.com").await.unwrap();
    assert_eq!(other.name, "hello.example.com.example.org");
}

pub(crate) async fn the_zone_itself_and_wildcards_have_records_too(rig: Rig) {
    let zone = rig.bench.zone(&rig.cloud);
    for name in ["", "@", "example.com"] {
        let place = rig.provider.locate(&zone, name).await.unwrap();
        let listed = rig.provider.list(&place, A).await.unwrap();
        assert_eq!((place.name.as_str(), listed.len()), (ZONE, 1));
    }
    for (name, kept) in [("@", "@"), ("*", "*"), ("*.deep", "*.deep")] {
        let place = rig.provider.locate(&zone, name).await.unwrap();
        let made = rig.provider.change(&place, A, &creating([ip(7)])).await.unwrap().written;
        assert!(rig.cloud.values(ZONE, kept, "A").contains(&ip(7).to_string()), "{name}");
        let listed = rig.provider.list(&place, A).await.unwrap();
        assert!(listed.contains(&made[0]), "{name}");
    }
}

pub(crate) async fn a_zone_is_asked_for_at_most_once(rig: Rig) {
    let zone = rig.bench.zone(&rig.cloud);
    let mark = rig.cloud.mark();
    for name in ["hello", "other", "@"] {
        rig.provider.locate(&zone, name).await.unwrap();
    }
    assert_eq!(rig.calls_since(mark), 0);
    let provider = open(rig.bench, &rig.cloud, transport(&rig.cloud));
    let (one, two) = tokio::join!(provider.locate(&zone, "a"), provider.locate(&zone, "b"));
    assert_ne!(one.unwrap(), two.unwrap());
    assert!(rig.calls_since(mark) <= 1);
}

pub(crate) async fn what_cannot_be_a_name_is_rejected_without_a_change(rig: Rig) {
    let zone = rig.bench.zone(&rig.cloud);
    for name in ["a b", "a/../b", "hello.example.org.", "a..b", "ü", "a&type=MX"] {
        assert_eq!(kind(rig.provider.locate(&zone, name).await), ErrorKind::Rejected, "{name}");
    }
    for zone in ["", "example.com/records", "exa mple.com", "*.example.com"] {
        assert_eq!(kind(rig.provider.locate(zone, "a").await), ErrorKind::Rejected, "{zone}");
    }
    let astray = RecordName { zone: "../../account".into(), name: "a?b".into() };
    let mark = rig.cloud.mark();
    assert_eq!(kind(rig.provider.list(&astray, A).await), ErrorKind::Rejected);
    let change = creating([ip(1)]);
    assert_eq!(kind(rig.provider.change(&astray, A, &change).await), ErrorKind::Rejected);
    assert_eq!(rig.calls_since(mark), 0);
}

pub(crate) async fn an_unknown_zone_is_not_found_and_named(rig: Rig) {
    let zone = rig.bench.no_zone();
    let error = match rig.provider.locate(zone, "hello.example.net").await {
        Err(error) => error,
        Ok(place) => {
            let change = creating([ip(1)]);
            let error = rig.provider.change(&place, A, &change).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::NotFound);
            rig.provider.list(&place, A).await.unwrap_err()
        }
    };
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.message.contains(zone), "{error}");
}
