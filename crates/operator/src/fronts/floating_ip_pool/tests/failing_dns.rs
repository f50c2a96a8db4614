//! What a failing DNS record means for a pool whose addresses are in place.

use pontoon_core::Time;
use pontoon_core::addresses::verdict::{Reason, Verdict};
use pontoon_core::records::verdict::{RecordReason, RecordVerdict};
use serde_json::json;

use crate::api::{CONDITION_DNS, CONDITION_READY, CONDITION_STALLED};
use crate::fronts::floating_ip_pool::FloatingIPPoolStatus;
use crate::fronts::floating_ip_pool::decode::decode;
use crate::fronts::floating_ip_pool::status::PoolFace;
use crate::fronts::ledger::POOL_NAMES;
use crate::fronts::observed::StatusOf;
use crate::fronts::{Verdicts, dns_record};
use crate::observe::schema::Schema;

pub(super) fn at(seconds: i64) -> Time {
    Time::from_micros((1_800_000_000 + seconds) * 1_000_000)
}

/// A pool with a DNS record and this stored status.
fn with_record(status: &FloatingIPPoolStatus) -> PoolFace {
    let record = json!({"zone": "example.com", "recordName": "hello"});
    let object = json!({
        "apiVersion": "flipop.digitalocean.com/v1alpha1", "kind": "FloatingIPPool",
        "metadata": {"name": "p", "namespace": "default", "uid": "u"},
        "spec": {"provider": "digitalocean", "ips": ["192.0.2.1"], "dnsRecordSet": record},
        "status": status,
    });
    decode(serde_json::from_value(object).unwrap(), Schema::Current).unwrap().face
}

pub(super) fn in_place() -> Verdict {
    Verdict {
        reason: Reason::AllAssigned,
        addresses: vec![],
        wanted: 0,
        available: vec![],
        available_count: 0,
        eligible: 1,
        census: None,
        unusable: vec![],
        last_assignment: None,
        created: vec![],
        kept: vec![],
        creation_error: None,
        evicting: Vec::new(),
        limited: None,
        withheld: None,
        names: &POOL_NAMES,
    }
}

pub(super) fn record(reason: RecordReason) -> RecordVerdict {
    RecordVerdict {
        reason,
        site: None,
        listed: Some(0),
        wanted: Some(1),
        held: None,
        withheld: None,
        names: &dns_record::NAMES,
    }
}

/// A pool's status over time.
#[derive(Default)]
struct Story(FloatingIPPoolStatus);

impl Story {
    /// The record is found to be so, that many seconds after the start.
    fn goes_on(&mut self, seconds: i64, reason: RecordReason) {
        let (in_place, record) = (in_place(), record(reason));
        let verdicts = Verdicts { addresses: Some(&in_place), records: Some(&record), vips: None };
        self.0 = StatusOf::wanted(&with_record(&self.0), verdicts, at(seconds)).unwrap();
    }

    fn fails(&mut self, seconds: i64) {
        self.goes_on(seconds, RecordReason::Failed("answered 503".into(), at(seconds + 60)));
    }

    /// Status and reason of a condition.
    fn says(&self, type_: &str) -> (&str, &str) {
        let one = self.0.conditions.iter().find(|one| one.type_ == type_).unwrap();
        (&one.status, &one.reason)
    }
}

#[test]
fn a_pool_in_place_is_not_ready_after_five_minutes_of_failing_dns_and_not_before() {
    let mut story = Story::default();
    for seconds in [0, 1, 60, 299] {
        story.fails(seconds);
        assert_eq!(story.says(CONDITION_DNS), ("False", "RecordFailed"), "after {seconds} s");
        assert_eq!(story.says(CONDITION_READY), ("True", "AllAssigned"), "after {seconds} s");
    }
    for seconds in [300, 3600] {
        story.fails(seconds);
        assert_eq!(story.says(CONDITION_READY), ("False", "DNSNotReady"), "after {seconds} s");
        assert_eq!(story.says(CONDITION_STALLED).0, "False", "it is tried again");
    }
    story.goes_on(3601, RecordReason::Current);
    assert_eq!(story.says(CONDITION_READY), ("True", "AllAssigned"));
}

#[test]
fn the_five_minutes_of_failing_dns_begin_anew_after_each_success() {
    let mut story = Story::default();
    story.fails(0);
    story.goes_on(200, RecordReason::Current);
    story.fails(250);
    story.fails(549);
    assert_eq!(story.says(CONDITION_READY), ("True", "AllAssigned"));
    story.fails(550);
    assert_eq!(story.says(CONDITION_READY), ("False", "DNSNotReady"));
}

#[test]
fn a_restart_in_a_long_failure_of_dns_changes_nothing_before_the_name_was_read() {
    let mut story = Story::default();
    story.fails(0);
    story.fails(400);
    story.goes_on(500, RecordReason::Reading);
    assert_eq!(story.says(CONDITION_READY), ("False", "DNSNotReady"));
}
