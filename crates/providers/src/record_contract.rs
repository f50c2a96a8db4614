//! The contract of every DNS host, as one suite over the emulated cloud.
//!
//! A provider's tests say `record_contract::suite!(Fixture { ... })`. Each clause below then runs
//! as a separate test under a paused clock. Clauses check behaviour only, never URLs or bodies.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use fakecloud::{Answer, FakeCloud, Fault, Mark, On, Rule, ZonePlan};
use tokio::time::Instant;

use crate::contract::{kind, transport};
use crate::error::{ErrorKind, Result};
use crate::layers::{Gate, Hold};
use crate::record::{
    Record, RecordChange, RecordId, RecordKind, RecordName, RecordProvider, WantedRecord,
};
use crate::script::with_variables;
use crate::transport::Transport;
use crate::vendor::Settings;

/// The provider under test and its settings.
pub(crate) struct Fixture {
    pub open: fn(&Settings<'_>, Transport) -> Arc<dyn RecordProvider>,
    pub variables: &'static [(&'static str, &'static str)],
    /// The secret among the variables. No output may contain the secret.
    pub secret: &'static str,
    /// The user's way to write the zone [`ZONE`].
    pub zone: fn(&FakeCloud) -> String,
    /// The user's way to write a missing zone.
    pub no_zone: &'static str,
}

/// Runs every clause for one provider.
macro_rules! suite {
    ($name:ident, $fixture:expr) => {
        $crate::record_contract::suite! { @clauses $name, $fixture =>
            a_set_that_is_not_there_is_an_empty_listing,
            a_listing_shows_the_set_and_nothing_beside_it,
            a_listing_shows_each_record_once_whatever_the_pages,
            a_listing_is_one_call_however_many_records_the_zone_has,
            a_failed_listing_is_never_an_empty_one,
            one_name_written_in_many_ways_is_one_place,
            the_zone_itself_and_wildcards_have_records_too,
            a_zone_is_asked_for_at_most_once,
            what_cannot_be_a_name_is_rejected_without_a_change,
            an_unknown_zone_is_not_found_and_named,
            a_set_is_created,
            a_change_takes_the_vendors_fewest_calls_and_touches_nothing_else,
            an_update_keeps_its_record,
            both_families_live_under_one_name,
            an_empty_change_sends_nothing,
            a_value_of_the_other_family_is_rejected_without_a_request,
            what_another_controller_wrote_is_shown_as_it_is,
            marks_ride_on_writes_where_the_vendor_has_them,
            deleting_what_is_gone_is_success,
            updating_what_is_gone_says_that_the_set_changed,
            an_answer_lost_after_the_effect_is_no_answer_and_a_listing_shows_the_effect,
            a_request_lost_before_its_effect_is_no_answer,
            a_late_answer_is_no_answer_at_the_deadline_and_the_effect_stays,
            every_failure_has_its_kind_and_nothing_is_tried_again,
            nonsense_instead_of_an_answer_is_no_answer,
            a_name_that_is_an_alias_is_rejected,
            a_time_to_live_out_of_range_is_rejected_without_a_request,
            refused_credentials_are_told_from_missing_rights,
            after_a_429_nothing_is_sent_until_the_vendor_said_so,
            with_a_budget_nearly_used_up_listings_wait,
            a_shut_gate_lets_nothing_change,
            nothing_shows_the_secret,
        }
    };
    (@clauses $name:ident, $fixture:expr => $($clause:ident),* $(,)?) => {
        mod $name {
            use super::*;
            $(
                #[tokio::test(start_paused = true)]
                async fn $clause() {
                    let rig = $crate::record_contract::Rig::new($fixture).await;
                    $crate::record_contract::$clause(rig).await;
                }
            )*
        }
    };
}
pub(crate) use suite;

/// The zone of the suite.
pub(crate) const ZONE: &str = "example.com";
const NAME: &str = "hello";
const TTL: u32 = 60;
const A: RecordKind = RecordKind::A;

/// An account at an emulated cloud, with foreign records in the zone, and the place of an empty
/// set.
pub(crate) struct Rig {
    fixture: Fixture,
    cloud: FakeCloud,
    provider: Arc<dyn RecordProvider>,
    place: RecordName,
}

fn ip(last: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, last).into()
}

fn to(value: IpAddr) -> WantedRecord {
    WantedRecord { value, ttl: TTL, mark: None }
}

fn creating(values: impl IntoIterator<Item = IpAddr>) -> RecordChange {
    RecordChange { create: values.into_iter().map(to).collect(), ..RecordChange::default() }
}

fn deleting(records: &[Record]) -> RecordChange {
    let delete = records.iter().map(|record| record.id.clone()).collect();
    RecordChange { delete, ..RecordChange::default() }
}

fn values(records: &[Record]) -> Vec<IpAddr> {
    records.iter().map(|record| record.value).collect()
}

fn open(fixture: &Fixture, transport: Transport) -> Arc<dyn RecordProvider> {
    with_variables(fixture.variables, |settings| (fixture.open)(settings, transport))
}

impl Rig {
    pub async fn new(fixture: Fixture) -> Self {
        let cloud = FakeCloud::new();
        for (kind, name, data) in [
            ("A", "@", "198.51.100.1"),
            ("TXT", NAME, "a note"),
            ("A", "deep.hello", "198.51.100.2"),
            ("A", "xhello", "198.51.100.3"),
            ("CNAME", "alias", "hello.example.com"),
        ] {
            cloud.record(ZONE, kind, name, data, 300);
        }
        cloud.record("example.org", "A", NAME, "198.51.100.4", 300);
        let provider = open(&fixture, transport(&cloud));
        let place = provider.locate(&(fixture.zone)(&cloud), NAME).await.unwrap();
        Self { fixture, cloud, provider, place }
    }

    /// Adds records behind the provider's back, and returns the listing.
    async fn seeded(&self, last: impl IntoIterator<Item = u8>) -> Vec<Record> {
        for last in last {
            self.cloud.record(ZONE, "A", NAME, &ip(last).to_string(), TTL);
        }
        self.list().await.unwrap()
    }

    async fn list(&self) -> Result<Vec<Record>> {
        self.provider.list(&self.place, A).await
    }

    async fn change(&self, change: &RecordChange) -> Result<Vec<Record>> {
        self.provider.change(&self.place, A, change).await.map(|changed| changed.written)
    }

    /// The values held by the emulator.
    fn truth(&self) -> Vec<IpAddr> {
        let mut values: Vec<IpAddr> =
            self.cloud.values(ZONE, NAME, "A").iter().map(|value| value.parse().unwrap()).collect();
        values.sort();
        values
    }

    /// All records of the zone outside the set.
    fn bystanders(&self) -> Vec<fakecloud::Record> {
        let mut records = self.cloud.records(ZONE);
        records.retain(|record| (record.name.as_str(), record.kind.as_str()) != (NAME, "A"));
        records
    }

    fn calls_since(&self, mark: Mark) -> usize {
        self.cloud.log_since(mark).len()
    }

    fn once(&self, fault: Fault) {
        self.cloud.inject(Rule::new(On::mutations(), fault).once());
    }
}

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
        let provider = open(&rig.fixture, transport(&rig.cloud));
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
    let zone = (rig.fixture.zone)(&rig.cloud);
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
    let zone = (rig.fixture.zone)(&rig.cloud);
    let mark = rig.cloud.mark();
    for name in ["hello", "other", "@"] {
        rig.provider.locate(&zone, name).await.unwrap();
    }
    assert_eq!(rig.calls_since(mark), 0);
    let provider = open(&rig.fixture, transport(&rig.cloud));
    let (one, two) = tokio::join!(provider.locate(&zone, "a"), provider.locate(&zone, "b"));
    assert_ne!(one.unwrap(), two.unwrap());
    assert!(rig.calls_since(mark) <= 1);
}

pub(crate) async fn what_cannot_be_a_name_is_rejected_without_a_change(rig: Rig) {
    let zone = (rig.fixture.zone)(&rig.cloud);
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
    let zone = rig.fixture.no_zone;
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

pub(crate) async fn an_answer_lost_after_the_effect_is_no_answer_and_a_listing_shows_the_effect(
    rig: Rig,
) {
    rig.once(Fault::LostAfter);
    assert_eq!(kind(rig.change(&creating([ip(1)])).await), ErrorKind::NoAnswer);
    let listed = rig.list().await.unwrap();
    assert_eq!(values(&listed), [ip(1)]);
    rig.once(Fault::LostAfter);
    assert_eq!(kind(rig.change(&deleting(&listed)).await), ErrorKind::NoAnswer);
    assert_eq!(rig.list().await.unwrap(), []);
    rig.change(&deleting(&listed)).await.unwrap();
}

pub(crate) async fn a_request_lost_before_its_effect_is_no_answer(rig: Rig) {
    rig.once(Fault::LostBefore);
    assert_eq!(kind(rig.change(&creating([ip(1)])).await), ErrorKind::NoAnswer);
    assert_eq!(rig.list().await.unwrap(), []);
}

pub(crate) async fn a_late_answer_is_no_answer_at_the_deadline_and_the_effect_stays(rig: Rig) {
    rig.once(Fault::DelayAfter(Duration::from_secs(9)));
    let start = Instant::now();
    assert_eq!(kind(rig.change(&creating([ip(1)])).await), ErrorKind::NoAnswer);
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    assert_eq!(rig.truth(), [ip(1)]);
}

pub(crate) async fn every_failure_has_its_kind_and_nothing_is_tried_again(rig: Rig) {
    let listed = rig.seeded([1]).await;
    let update =
        RecordChange { update: vec![(listed[0].id.clone(), to(ip(2)))], ..RecordChange::default() };
    for (status, expected) in [
        (500, ErrorKind::Unavailable),
        (503, ErrorKind::Unavailable),
        (502, ErrorKind::NoAnswer),
        (504, ErrorKind::NoAnswer),
        (520, ErrorKind::NoAnswer),
    ] {
        let rule = rig.cloud.inject(Rule::new(On::any(), Fault::Answer(Answer::status(status))));
        let mark = rig.cloud.mark();
        assert_eq!(kind(rig.list().await), expected, "{status}");
        assert_eq!(kind(rig.change(&creating([ip(3)])).await), expected, "{status}");
        assert_eq!(kind(rig.change(&update).await), expected, "{status}");
        assert_eq!(kind(rig.change(&deleting(&listed)).await), expected, "{status}");
        assert_eq!(rig.calls_since(mark), 4, "{status}");
        rig.cloud.clear(rule);
    }
    assert_eq!(rig.list().await.unwrap(), listed);
}

pub(crate) async fn nonsense_instead_of_an_answer_is_no_answer(rig: Rig) {
    let listed = rig.seeded([1]).await;
    let page = Answer::status(200).raw("text/html", "<html>Please sign in</html>");
    rig.cloud.inject(Rule::new(On::any(), Fault::Answer(page)));
    assert_eq!(kind(rig.list().await), ErrorKind::NoAnswer);
    assert_eq!(kind(rig.change(&creating([ip(2)])).await), ErrorKind::NoAnswer);
    assert_eq!(kind(rig.change(&deleting(&listed)).await), ErrorKind::NoAnswer);
    rig.cloud.clear_faults();
    assert_eq!(rig.list().await.unwrap(), listed);
}

pub(crate) async fn a_name_that_is_an_alias_is_rejected(rig: Rig) {
    let zone = (rig.fixture.zone)(&rig.cloud);
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

pub(crate) async fn refused_credentials_are_told_from_missing_rights(rig: Rig) {
    rig.cloud.set(|knobs| knobs.token_expired = true);
    assert_eq!(kind(rig.list().await), ErrorKind::Unauthorized);
    assert_eq!(kind(rig.change(&creating([ip(1)])).await), ErrorKind::Unauthorized);
    rig.cloud.set(|knobs| knobs.token_expired = false);
    rig.cloud.inject(Rule::new(On::any(), Fault::Answer(Answer::status(403))));
    assert_eq!(kind(rig.list().await), ErrorKind::Forbidden);
    assert_eq!(kind(rig.change(&creating([ip(1)])).await), ErrorKind::Forbidden);
}

pub(crate) async fn after_a_429_nothing_is_sent_until_the_vendor_said_so(rig: Rig) {
    let mark = rig.cloud.mark();
    rig.cloud.throttle_for(Duration::from_secs(20));
    let said = ErrorKind::RateLimited { retry_after: Duration::from_secs(20) };
    assert_eq!(kind(rig.change(&creating([ip(1)])).await), said);
    let wait = |seconds| {
        let retry_after = Duration::from_secs(seconds);
        ErrorKind::HeldBack(Hold { retry_after, pacing: false })
    };
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(kind(rig.change(&creating([ip(1)])).await), wait(15));
    assert_eq!(kind(rig.list().await), wait(15));
    assert_eq!(rig.calls_since(mark), 1);
    tokio::time::sleep(Duration::from_secs(15)).await;
    rig.change(&creating([ip(1)])).await.unwrap();
    assert_eq!(values(&rig.list().await.unwrap()), [ip(1)]);
}

pub(crate) async fn with_a_budget_nearly_used_up_listings_wait(rig: Rig) {
    rig.cloud.set(|knobs| {
        knobs.rate = Some(fakecloud::RateLimit { limit: 30, ..Default::default() });
    });
    let mut listings = 0;
    while rig.list().await.is_ok() {
        listings += 1;
        assert!(listings < 30, "listings used up the budget");
    }
    let arrived = rig.cloud.log().len();
    let ErrorKind::HeldBack(Hold { retry_after, .. }) = kind(rig.list().await) else {
        panic!("a listing failed for another reason")
    };
    assert!(!retry_after.is_zero());
    assert_eq!(rig.cloud.log().len(), arrived);
}

pub(crate) async fn a_shut_gate_lets_nothing_change(rig: Rig) {
    let listed = rig.seeded([1]).await;
    let gate = Gate::new(|| Err("another replica leads".into()));
    let provider = open(&rig.fixture, gate.around(transport(&rig.cloud)));
    let shut = Rig { provider, ..rig };
    assert_eq!(shut.list().await.unwrap(), listed);
    let error = shut.change(&creating([ip(2)])).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotSent);
    assert_eq!(error.message, "not sent: another replica leads");
    assert_eq!(kind(shut.change(&deleting(&listed)).await), ErrorKind::NotSent);
    assert_eq!((shut.cloud.mutations().len(), shut.truth()), (0, vec![ip(1)]));
}

pub(crate) async fn nothing_shows_the_secret(rig: Rig) {
    let secret = rig.fixture.secret;
    let echo = Answer::status(400).message(&format!("your token {secret} is no good"));
    rig.cloud.inject(Rule::new(On::any(), Fault::Answer(echo)));
    let mut shown = format!("{:?}", rig.provider);
    for error in [rig.list().await.unwrap_err(), rig.change(&creating([ip(1)])).await.unwrap_err()]
    {
        shown += &format!("{error} {error:?}");
    }
    assert!(shown.contains("[token]"), "{shown}");
    assert!(!shown.contains(secret), "{shown}");
}
