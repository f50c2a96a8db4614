//! The contract of every DNS host, as one suite over the emulated cloud.
//!
//! A provider's tests says `records::suite!(a_name, A_BENCH)`. Each clause below then runs
//! as a separate test under a paused clock. Clauses check behaviour only, never URLs or bodies.

mod changing;
mod failing;
mod reading;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use fakecloud::{FakeCloud, Fault, Mark, On, Rule};

use super::{Bench, ZONE, transport};
use crate::error::Result;
use crate::record::{Record, RecordChange, RecordKind, RecordName, RecordProvider, WantedRecord};
use crate::transport::Transport;

/// Runs every clause for one provider.
macro_rules! suite {
    ($name:ident, $bench:expr) => {
        $crate::contract::records::suite! { @clauses $name, $bench =>
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
            a_record_that_is_refused_keeps_no_other_from_being_written,
            a_host_that_refuses_every_record_is_not_asked_for_all_of_them,
            after_a_429_nothing_is_sent_until_the_vendor_said_so,
            with_a_budget_nearly_used_up_listings_wait,
            a_shut_gate_lets_nothing_change,
            nothing_shows_the_secret,
        }
    };
    (@clauses $name:ident, $bench:expr => $($clause:ident),* $(,)?) => {
        mod $name {
            use super::*;
            $(
                #[tokio::test(start_paused = true)]
                async fn $clause() {
                    let rig = $crate::contract::records::Rig::new(&$bench).await;
                    $crate::contract::records::$clause(rig).await;
                }
            )*
        }
    };
}
pub(crate) use suite;

pub(crate) use changing::*;
pub(crate) use failing::*;
pub(crate) use reading::*;

const NAME: &str = "hello";
const TTL: u32 = 60;
const A: RecordKind = RecordKind::A;

/// An account at an emulated cloud, with foreign records in the zone, and the place of an empty
/// set.
pub(crate) struct Rig {
    bench: &'static dyn Bench,
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

fn open(bench: &dyn Bench, cloud: &FakeCloud, transport: Transport) -> Arc<dyn RecordProvider> {
    super::open(bench, cloud, transport).records.unwrap()
}

impl Rig {
    pub async fn new(bench: &'static dyn Bench) -> Self {
        let cloud = super::cloud(bench);
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
        let provider = open(bench, &cloud, transport(&cloud));
        let place = provider.locate(&bench.zone(&cloud), NAME).await.unwrap();
        Self { bench, cloud, provider, place }
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
