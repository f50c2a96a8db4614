//! The contract of every provider of addresses, as one suite over the emulated cloud.
//!
//! A provider's tests say `contract::suite!(Fixture { ... })`. Each clause below then runs as a
//! separate test under a paused clock. Clauses check behaviour only, never URLs or bodies.

mod changing;
mod failing;
mod reading;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use fakecloud::{FakeCloud, Fault, On, Rule};

use super::{Bench, transport};
use crate::address::{
    Accepted, Address, AddressProvider, CreateRequest, Families, Family, ListRequest, MachineId,
    OperationState,
};
use crate::error::Result;
use crate::transport::Transport;

/// Runs every clause for one provider.
macro_rules! suite {
    ($bench:expr) => {
        $crate::contract::addresses::suite! { @clauses $bench =>
            an_empty_account_has_nothing,
            a_listing_shows_each_address_once_whatever_the_pages,
            a_listing_asks_only_for_the_families_wanted,
            a_listing_survives_pages_that_shift,
            a_read_shows_one_address_or_that_there_is_none,
            a_free_address_is_assigned_by_one_call,
            a_held_address_is_moved,
            assigning_what_is_there_already_is_success,
            an_address_is_unassigned_and_stays_in_the_account,
            unassigning_a_free_address_is_success,
            a_machine_without_an_address_of_its_own_gets_one_again,
            a_new_address_is_reserved_in_its_region,
            a_new_address_is_reserved_on_its_machine,
            a_released_address_is_gone,
            releasing_what_is_gone_is_success,
            ipv6_addresses_live_beside_ipv4_ones,
            an_operation_is_running_then_done,
            an_operation_that_fails_leaves_the_address_where_it_was,
            an_operation_may_be_unheard_of_at_first,
            an_address_under_way_is_busy_and_refuses,
            a_busy_machine_refuses_as_busy,
            a_machine_that_is_full_rejects_with_where_the_address_is,
            an_unknown_address_is_not_found,
            a_machine_that_no_node_names_is_shown_and_read_back,
            an_answer_lost_after_the_effect_is_no_answer_and_doing_it_again_is_success,
            a_request_lost_before_its_effect_is_no_answer,
            a_late_answer_is_no_answer_at_the_deadline_and_the_effect_stays,
            every_failure_has_its_kind_and_nothing_is_tried_again,
            nonsense_instead_of_an_answer_is_no_answer,
            a_full_account_says_so,
            refused_credentials_are_told_from_missing_rights,
            after_a_429_nothing_is_sent_until_the_vendor_said_so,
            with_a_budget_nearly_used_up_listings_wait_and_failover_goes,
            a_shut_gate_lets_nothing_change,
            nothing_shows_the_secret,
        }
    };
    (@clauses $bench:expr => $($clause:ident),* $(,)?) => {
        mod contract_suite {
            use super::*;
            $(
                #[tokio::test(start_paused = true)]
                async fn $clause() {
                    $crate::contract::addresses::$clause($crate::contract::addresses::Rig::new(&$bench).await).await;
                }
            )*
        }
    };
}
pub(crate) use suite;

pub(crate) use changing::*;
pub(crate) use failing::*;
pub(crate) use reading::*;

/// An account at an emulated cloud with two machines, [`A`] and [`B`].
pub(crate) struct Rig {
    bench: &'static dyn Bench,
    cloud: FakeCloud,
    provider: Arc<dyn AddressProvider>,
}

const A: u64 = 11;
const B: u64 = 22;
const BOTH: Families = Families { v4: true, v6: true };
const V4: Families = Families { v4: true, v6: false };

fn ip(last: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, last).into()
}

fn ip6() -> IpAddr {
    "2001:db8::1".parse().unwrap()
}

impl Rig {
    /// A provider that has made its first call, so that a credential that is fetched is there, and
    /// every call in the log is one of the clause's.
    pub async fn new(bench: &'static dyn Bench) -> Self {
        let cloud = super::cloud(bench);
        cloud.machine(A, "a", bench.region()).machine(B, "b", bench.region());
        let provider = open(bench, &cloud, transport(&cloud));
        provider.read(ip(0)).await.unwrap();
        cloud.forget_log();
        Self { bench, cloud, provider }
    }

    fn region(&self) -> &'static str {
        self.bench.region()
    }

    fn machine(&self, number: u64) -> MachineId {
        let vendor = self.bench.vendor();
        let provider_id = fakecloud::provider_id(vendor.name, number);
        (vendor.addresses.as_ref().unwrap().named)(&provider_id).unwrap()
    }

    /// Every address of the account.
    async fn list(&self, families: Families) -> Result<Vec<Address>> {
        let listing = self.provider.list(&ListRequest::of(families)).await?;
        assert_eq!(listing.limited, None);
        Ok(listing.addresses)
    }

    async fn assign(&self, ip: IpAddr, machine: u64) -> Result<Accepted> {
        self.provider.assign(ip, &self.machine(machine)).await
    }

    async fn read(&self, ip: IpAddr) -> Option<Address> {
        self.provider.read(ip).await.unwrap()
    }

    async fn create(&self, family: Family, machine: Option<u64>) -> Result<crate::Created> {
        let machine = machine.map(|number| self.machine(number));
        let request = CreateRequest { family, region: self.region().into(), machine, mark: None };
        self.provider.create(&request).await
    }

    /// Polls until the operation is no longer running, and returns its final state.
    async fn outcome(&self, ip: IpAddr, accepted: Accepted) -> OperationState {
        let Accepted::Pending(id) = accepted else { return OperationState::Done };
        for _ in 0..60 {
            match self.provider.operation(ip, &id).await.unwrap() {
                OperationState::Running => tokio::time::sleep(Duration::from_secs(1)).await,
                over => return over,
            }
        }
        panic!("{id:?} does not end");
    }

    fn once(&self, fault: Fault) {
        self.cloud.inject(Rule::new(On::mutations(), fault).once());
    }

    fn mutations(&self) -> usize {
        self.cloud.mutations().len()
    }

    /// The mutating requests of one assignment or unassignment: one, and where a reserved address
    /// displaces the machine's own, one more for that.
    fn one_change(&self) -> usize {
        1 + usize::from(self.provider.capabilities().displaces_own)
    }

    /// Takes a machine's own address away, where a reserved one would displace it: an assignment is
    /// then one mutating request at every vendor.
    fn bare(&self, machine: u64) {
        if self.provider.capabilities().displaces_own {
            self.cloud.without_own_address(machine);
        }
    }

    /// Delays operations. By default the emulator completes them at once.
    fn operations_take(&self, seconds: u64) {
        self.cloud.set(|knobs| knobs.action_time = Duration::from_secs(seconds));
    }
}

fn open(bench: &dyn Bench, cloud: &FakeCloud, transport: Transport) -> Arc<dyn AddressProvider> {
    super::open(bench, cloud, transport).addresses.unwrap()
}
