//! Writing records.

use std::net::IpAddr;
use std::time::Duration;

use fakecloud::ZonePlan;

use super::{A, NAME, Rig, TTL, creating, deleting, ip, to, values};
use crate::contract::{ZONE, kind};
use crate::error::ErrorKind;
use crate::record::{RecordChange, RecordId, RecordKind, WantedRecord};

pub(crate) async fn a_set_is_created(rig: Rig) {
    let before = rig.bystanders();
    let made = rig.change(&creating([ip(1), ip(2)])).await.unwrap();
    assert_eq!((values(&made), rig.truth()), (vec![ip(1), ip(2)], vec![ip(1), ip(2)]));
    assert_eq!(rig.list().await.unwrap(), made);
    assert!(
        rig.cloud.records(ZONE).iter().all(|r| r.name != NAME || r.kind != "A" || r.ttl == TTL)
    );
    assert_eq!(rig.bystanders(), before);
}

pub(crate) async fn a_change_takes_the_vendors_fewest_calls_and_touches_nothing_else(rig: Rig) {
    let listed = rig.seeded([1, 2, 3, 4]).await;
    let kept = rig.cloud.records(ZONE).into_iter().find(|r| r.data == "192.0.2.1");
    let (bystanders, mark) = (rig.bystanders(), rig.cloud.mark());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let change = RecordChange {
        create: vec![to(ip(11)), to(ip(12))],
        update: vec![(listed[1].id.clone(), to(ip(13)))],
        delete: vec![listed[2].id.clone(), listed[3].id.clone()],
    };
    let mut done = rig.change(&change).await.unwrap();
    done.sort_by_key(|record| record.value);
    assert_eq!(values(&done), [ip(11), ip(12), ip(13)]);
    assert_eq!(rig.truth(), [ip(1), ip(11), ip(12), ip(13)]);
    let per_call = rig.provider.capabilities().changes_per_call;
    assert_eq!(rig.calls_since(mark), change.len().div_ceil(per_call));
    assert_eq!(rig.bystanders(), bystanders);
    let still = rig.cloud.records(ZONE).into_iter().find(|r| r.data == "192.0.2.1");
    assert_eq!(still, kept);
}

pub(crate) async fn an_update_keeps_its_record(rig: Rig) {
    let id = rig.seeded([1]).await[0].id.clone();
    let wanted = WantedRecord { ttl: 120, ..to(ip(2)) };
    let update = RecordChange { update: vec![(id.clone(), wanted)], ..RecordChange::default() };
    let done = rig.change(&update).await.unwrap();
    assert_eq!((&done[0].id, done[0].value, done[0].ttl), (&id, ip(2), 120));
    assert_eq!(rig.list().await.unwrap(), done);
    assert_eq!(rig.cloud.mutations().len(), 1);
}

pub(crate) async fn both_families_live_under_one_name(rig: Rig) {
    let six: IpAddr = "2001:db8::1".parse().unwrap();
    rig.change(&creating([ip(1)])).await.unwrap();
    let made = rig.provider.change(&rig.place, RecordKind::Aaaa, &creating([six])).await.unwrap();
    assert_eq!(values(&rig.list().await.unwrap()), [ip(1)]);
    let listed = rig.provider.list(&rig.place, RecordKind::Aaaa).await.unwrap();
    assert_eq!((values(&listed), &listed), (vec![six], &made.written));
    rig.change(&deleting(&rig.list().await.unwrap())).await.unwrap();
    assert_eq!(rig.cloud.values(ZONE, NAME, "AAAA"), ["2001:db8::1"]);
}

pub(crate) async fn an_empty_change_sends_nothing(rig: Rig) {
    let mark = rig.cloud.mark();
    assert_eq!(rig.change(&RecordChange::default()).await.unwrap(), []);
    assert_eq!(rig.calls_since(mark), 0);
}

pub(crate) async fn a_value_of_the_other_family_is_rejected_without_a_request(rig: Rig) {
    let mark = rig.cloud.mark();
    let six = creating(["2001:db8::1".parse().unwrap()]);
    assert_eq!(kind(rig.change(&six).await), ErrorKind::Rejected);
    let four = creating([ip(1)]);
    let result = rig.provider.change(&rig.place, RecordKind::Aaaa, &four).await;
    assert_eq!((kind(result), rig.calls_since(mark)), (ErrorKind::Rejected, 0));
}

/// Foreign TTLs and comments are shown and left unchanged.
pub(crate) async fn what_another_controller_wrote_is_shown_as_it_is(rig: Rig) {
    let id = rig.cloud.record(ZONE, "A", NAME, "192.0.2.1", 45);
    rig.cloud.record(ZONE, "A", NAME, "192.0.2.1", 30);
    rig.cloud.human_edits_record(ZONE, id, |record| record.comment = Some("theirs".into()));
    let before = rig.cloud.records(ZONE);
    let listed = rig.list().await.unwrap();
    assert_eq!(values(&listed), [ip(1), ip(1)]);
    assert_eq!(listed.iter().map(|record| record.ttl).max(), Some(45));
    assert_eq!(rig.cloud.records(ZONE), before);
}

pub(crate) async fn marks_ride_on_writes_where_the_vendor_has_them(rig: Rig) {
    let Some(longest) = rig.provider.capabilities().longest_mark else { return };
    let ours = "x".repeat(longest);
    let marked = |value| WantedRecord { mark: Some(ours.clone()), ..to(value) };
    let other = rig.seeded([9]).await;
    let create = RecordChange { create: vec![marked(ip(1))], ..RecordChange::default() };
    let made = rig.change(&create).await.unwrap();
    assert_eq!(made[0].mark.as_ref(), Some(&ours));
    let update = |id: &RecordId, wanted| RecordChange {
        update: vec![(id.clone(), wanted)],
        ..RecordChange::default()
    };
    let done = rig.change(&update(&made[0].id, to(ip(2)))).await.unwrap();
    assert_eq!(done[0].mark.as_ref(), Some(&ours));
    let theirs = WantedRecord { mark: Some("another".into()), ..to(ip(2)) };
    let done = rig.change(&update(&made[0].id, theirs)).await.unwrap();
    assert_eq!(done[0].mark.as_deref(), Some("another"));
    let listed = rig.list().await.unwrap();
    assert_eq!(listed, [done[0].clone(), other[0].clone()]);
    let (mark, long) = (rig.cloud.mark(), Some("x".repeat(longest + 1)));
    let long = WantedRecord { mark: long, ..to(ip(3)) };
    let long = RecordChange { create: vec![long], ..RecordChange::default() };
    assert_eq!(kind(rig.change(&long).await), ErrorKind::Rejected);
    assert_eq!(rig.calls_since(mark), 0);
}

pub(crate) async fn deleting_what_is_gone_is_success(rig: Rig) {
    let listed = rig.seeded([1, 2]).await;
    let change = deleting(&listed);
    rig.change(&change).await.unwrap();
    rig.change(&change).await.unwrap();
    assert!(rig.truth().is_empty());
}

pub(crate) async fn updating_what_is_gone_says_that_the_set_changed(rig: Rig) {
    let listed = rig.seeded([1, 2]).await;
    rig.change(&deleting(&listed[..1])).await.unwrap();
    let update = vec![(listed[0].id.clone(), to(ip(3)))];
    let change = RecordChange { update, ..deleting(&listed[1..]) };
    assert_eq!(kind(rig.change(&change).await), ErrorKind::Busy);
    assert_eq!(rig.truth(), [ip(2)]);
}

pub(crate) async fn a_name_that_is_an_alias_is_rejected(rig: Rig) {
    let zone = rig.bench.zone(&rig.cloud);
    let place = rig.provider.locate(&zone, "alias").await.unwrap();
    assert_eq!(rig.provider.list(&place, A).await.unwrap(), []);
    let error = rig.provider.change(&place, A, &creating([ip(1)])).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
    assert!(error.message.contains("CNAME"), "{error}");
}

pub(crate) async fn a_time_to_live_out_of_range_is_rejected_without_a_request(rig: Rig) {
    let (shortest, longest) = rig.provider.capabilities().ttls.into_inner();
    rig.cloud.set(|knobs| knobs.zone_plan = ZonePlan::Enterprise);
    let create = |ttl, last| RecordChange {
        create: vec![WantedRecord { ttl, ..to(ip(last)) }],
        ..RecordChange::default()
    };
    rig.change(&create(shortest, 1)).await.unwrap();
    rig.change(&create(longest, 2)).await.unwrap();
    let mark = rig.cloud.mark();
    for ttl in [0, shortest - 1, longest + 1] {
        let error = rig.change(&create(ttl, 3)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Rejected);
        assert!(error.message.contains(&format!("TTL of {ttl} s")), "{error}");
    }
    assert_eq!(rig.calls_since(mark), 0);
}
