//! The contract of every provider of addresses, as one suite over the emulated cloud.
//!
//! A provider's tests say `contract::suite!(Fixture { ... })`. Each clause below then runs as a
//! separate test under a paused clock. Clauses check behaviour only, never URLs or bodies.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use fakecloud::{Answer, FakeCloud, Fault, On, Rule};
use tokio::time::Instant;
use tower::ServiceExt;

use crate::address::{
    Accepted, Address, AddressProvider, CreateRequest, Families, Family, MachineId, OperationId,
    OperationState,
};
use crate::error::{Error, ErrorKind, Result};
use crate::layers::{Gate, Hold};
use crate::transport::{Transport, TransportError};
use crate::vendor::{Settings, Vendor};

/// The provider under test and its settings.
pub(crate) struct Fixture {
    pub vendor: &'static Vendor,
    pub variables: &'static [(&'static str, &'static str)],
    /// The secret among the variables. No output may contain the secret.
    pub secret: &'static str,
    pub region: &'static str,
}

/// Runs every clause for one provider.
macro_rules! suite {
    ($fixture:expr) => {
        $crate::contract::suite! { @clauses $fixture =>
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
    (@clauses $fixture:expr => $($clause:ident),* $(,)?) => {
        mod contract_suite {
            use super::*;
            $(
                #[tokio::test(start_paused = true)]
                async fn $clause() {
                    $crate::contract::$clause($crate::contract::Rig::new($fixture)).await;
                }
            )*
        }
    };
}
pub(crate) use suite;

/// An account at an emulated cloud with two machines, [`A`] and [`B`].
pub(crate) struct Rig {
    fixture: Fixture,
    cloud: FakeCloud,
    provider: Arc<dyn AddressProvider>,
}

const A: u64 = 11;
const B: u64 = 22;
const TIMEOUT: Duration = Duration::from_secs(5);
const BOTH: Families = Families { v4: true, v6: true };
const V4: Families = Families { v4: true, v6: false };

fn ip(last: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, last).into()
}

fn ip6() -> IpAddr {
    "2001:db8::1".parse().unwrap()
}

impl Rig {
    pub fn new(fixture: Fixture) -> Self {
        let cloud = FakeCloud::new();
        cloud.droplet(A, "a", fixture.region).droplet(B, "b", fixture.region);
        let provider = open(&fixture, transport(&cloud));
        Self { fixture, cloud, provider }
    }

    fn machine(&self, number: u64) -> MachineId {
        let named = format!("{}{number}", (self.fixture.vendor.provider_id)(&MachineId("".into())));
        (self.fixture.vendor.machine)(&named).unwrap()
    }

    async fn assign(&self, ip: IpAddr, machine: u64) -> Result<Accepted> {
        self.provider.assign(ip, &self.machine(machine)).await
    }

    async fn read(&self, ip: IpAddr) -> Option<Address> {
        self.provider.read(ip).await.unwrap()
    }

    async fn create(&self, family: Family, machine: Option<u64>) -> Result<crate::Created> {
        let machine = machine.map(|number| self.machine(number));
        let request =
            CreateRequest { family, region: self.fixture.region.into(), machine, mark: None };
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

    /// Delays operations. By default the emulator completes them at once.
    fn operations_take(&self, seconds: u64) {
        self.cloud.set(|knobs| knobs.action_time = Duration::from_secs(seconds));
    }
}

fn open(fixture: &Fixture, transport: Transport) -> Arc<dyn AddressProvider> {
    let variable = |name: &str| {
        let found = fixture.variables.iter().find(|(n, _)| *n == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    (fixture.vendor.open)(&Settings { variable: &variable, timeout: TIMEOUT }, transport).unwrap()
}

/// The emulator as a transport. A lost request or answer becomes `NoAnswer`.
pub(crate) fn transport(cloud: &FakeCloud) -> Transport {
    let service = cloud.service();
    Transport::new(service.map_err(|lost| TransportError::NoAnswer(lost.to_string())))
}

pub(crate) fn kind<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind
}

pub(crate) async fn an_empty_account_has_nothing(rig: Rig) {
    assert_eq!(rig.provider.list(BOTH).await.unwrap(), []);
    assert_eq!(rig.provider.list(Families::default()).await.unwrap(), []);
}

pub(crate) async fn a_listing_shows_each_address_once_whatever_the_pages(rig: Rig) {
    for n in 0..450_u16 {
        let [high, low] = n.to_be_bytes();
        rig.cloud.reserve(Ipv4Addr::new(198, 18, high, low), rig.fixture.region);
    }
    rig.cloud.reserve_on(ip(1), A);
    let found = rig.provider.list(V4).await.unwrap();
    assert_eq!(found.len(), 451);
    assert!(found.is_sorted_by(|a, b| a.ip < b.ip));
    let held: Vec<_> = found.into_iter().filter(|address| address.holder.is_some()).collect();
    let Address { ip: held_ip, holder, region, project: _, mark: _, busy } = held[0].clone();
    assert_eq!((held.len(), held_ip, holder, busy), (1, ip(1), Some(rig.machine(A)), false));
    assert_eq!(region.as_deref(), Some(rig.fixture.region));
}

pub(crate) async fn a_listing_asks_only_for_the_families_wanted(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.fixture.region);
    rig.provider.list(Families::default()).await.unwrap();
    assert_eq!(rig.cloud.log().len(), 0);
    rig.provider.list(V4).await.unwrap();
    assert_eq!(rig.cloud.log().len(), 1);
}

pub(crate) async fn a_listing_survives_pages_that_shift(rig: Rig) {
    for n in 0..=250 {
        rig.cloud.reserve(
            Ipv4Addr::new(198, 18, 0, 0).to_bits().wrapping_add(n).to_be_bytes(),
            rig.fixture.region,
        );
    }
    rig.cloud.inject(Rule::new(On::reads(), Fault::PageGap));
    assert_eq!(rig.provider.list(V4).await.unwrap().len(), 250);
}

pub(crate) async fn a_read_shows_one_address_or_that_there_is_none(rig: Rig) {
    rig.cloud.reserve_on(ip(1), A).reserve(ip(2), rig.fixture.region);
    assert_eq!(rig.read(ip(1)).await.unwrap().holder, Some(rig.machine(A)));
    assert_eq!(rig.read(ip(2)).await.unwrap().holder, None);
    assert_eq!(rig.read(ip(3)).await, None);
}

pub(crate) async fn a_free_address_is_assigned_by_one_call(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.fixture.region);
    let accepted = rig.assign(ip(1), A).await.unwrap();
    assert_eq!(rig.outcome(ip(1), accepted).await, OperationState::Done);
    assert_eq!(rig.cloud.holder(ip(1)), Some(A));
    assert_eq!(rig.read(ip(1)).await.unwrap().holder, Some(rig.machine(A)));
    assert_eq!(rig.mutations(), 1);
}

pub(crate) async fn a_held_address_is_moved(rig: Rig) {
    rig.cloud.reserve_on(ip(1), A);
    if !rig.provider.capabilities().atomic_move {
        let accepted = rig.provider.unassign(ip(1)).await.unwrap();
        assert_eq!(rig.outcome(ip(1), accepted).await, OperationState::Done);
    }
    let before = rig.mutations();
    let accepted = rig.assign(ip(1), B).await.unwrap();
    assert_eq!(rig.outcome(ip(1), accepted).await, OperationState::Done);
    assert_eq!((rig.cloud.holder(ip(1)), rig.mutations() - before), (Some(B), 1));
}

pub(crate) async fn assigning_what_is_there_already_is_success(rig: Rig) {
    rig.cloud.reserve_on(ip(1), A);
    assert_eq!(rig.assign(ip(1), A).await.unwrap(), Accepted::Done);
    assert_eq!(rig.cloud.holder(ip(1)), Some(A));
}

pub(crate) async fn an_address_is_unassigned_and_stays_in_the_account(rig: Rig) {
    rig.cloud.reserve_on(ip(1), A);
    let accepted = rig.provider.unassign(ip(1)).await.unwrap();
    assert_eq!(rig.outcome(ip(1), accepted).await, OperationState::Done);
    assert_eq!(rig.read(ip(1)).await.unwrap().holder, None);
    assert_eq!(rig.mutations(), 1);
}

pub(crate) async fn unassigning_a_free_address_is_success(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.fixture.region);
    assert_eq!(rig.provider.unassign(ip(1)).await.unwrap(), Accepted::Done);
}

pub(crate) async fn a_new_address_is_reserved_in_its_region(rig: Rig) {
    let created = rig.create(Family::V4, None).await.unwrap();
    assert_eq!(created.placement, None);
    let seen = rig.read(created.ip).await.unwrap();
    assert_eq!((seen.holder, seen.region.as_deref()), (None, Some(rig.fixture.region)));
    assert_eq!(rig.mutations(), 1);
}

pub(crate) async fn a_new_address_is_reserved_on_its_machine(rig: Rig) {
    rig.operations_take(3);
    let created = rig.create(Family::V4, Some(A)).await.unwrap();
    if !rig.provider.capabilities().places_created.v4 {
        assert_eq!(created.placement, None);
        return;
    }
    let placement = created.placement.unwrap();
    assert_eq!(rig.outcome(created.ip, placement).await, OperationState::Done);
    assert_eq!(rig.read(created.ip).await.unwrap().holder, Some(rig.machine(A)));
    assert_eq!(rig.mutations(), 1);
}

pub(crate) async fn a_released_address_is_gone(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.fixture.region);
    rig.provider.release(ip(1)).await.unwrap();
    assert_eq!(rig.read(ip(1)).await, None);
    assert!(rig.cloud.addresses().is_empty());
}

pub(crate) async fn releasing_what_is_gone_is_success(rig: Rig) {
    rig.provider.release(ip(1)).await.unwrap();
}

pub(crate) async fn ipv6_addresses_live_beside_ipv4_ones(rig: Rig) {
    if !rig.provider.capabilities().ipv6 {
        return;
    }
    rig.cloud.reserve_on(ip(1), A).reserve(ip6(), rig.fixture.region);
    let accepted = rig.assign(ip6(), A).await.unwrap();
    assert_eq!(rig.outcome(ip6(), accepted).await, OperationState::Done);
    let holders: Vec<_> =
        rig.provider.list(BOTH).await.unwrap().into_iter().map(|a| (a.ip, a.holder)).collect();
    assert_eq!(holders, [(ip(1), Some(rig.machine(A))), (ip6(), Some(rig.machine(A)))]);
    let accepted = rig.provider.unassign(ip6()).await.unwrap();
    assert_eq!(rig.outcome(ip6(), accepted).await, OperationState::Done);
    assert_eq!(rig.read(ip6()).await.unwrap().holder, None);
    rig.provider.release(ip6()).await.unwrap();
    assert_eq!(rig.read(ip6()).await, None);
    let created = rig.create(Family::V6, None).await.unwrap();
    assert!(rig.read(created.ip).await.unwrap().ip.is_ipv6());
}

pub(crate) async fn an_operation_is_running_then_done(rig: Rig) {
    rig.operations_take(10);
    rig.cloud.reserve(ip(1), rig.fixture.region);
    let Accepted::Pending(id) = rig.assign(ip(1), A).await.unwrap() else { return };
    let state = async || rig.provider.operation(ip(1), &id).await.unwrap();
    assert_eq!(state().await, OperationState::Running);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(state().await, OperationState::Done);
    assert_eq!(rig.cloud.holder(ip(1)), Some(A));
}

pub(crate) async fn an_operation_that_fails_leaves_the_address_where_it_was(rig: Rig) {
    rig.cloud.reserve_on(ip(1), A);
    rig.once(Fault::ActionErrors);
    let Ok(accepted) = rig.assign(ip(1), B).await else { return };
    assert_eq!(rig.outcome(ip(1), accepted).await, OperationState::Failed);
    assert_eq!(rig.cloud.holder(ip(1)), Some(A));
}

pub(crate) async fn an_operation_may_be_unheard_of_at_first(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.fixture.region);
    rig.once(Fault::ActionHidden(Duration::from_secs(4)));
    let Accepted::Pending(id) = rig.assign(ip(1), A).await.unwrap() else { return };
    assert_eq!(rig.provider.operation(ip(1), &id).await.unwrap(), OperationState::Unheard);
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(rig.provider.operation(ip(1), &id).await.unwrap(), OperationState::Done);
    let unknown = OperationId("1".into());
    assert_eq!(rig.provider.operation(ip(1), &unknown).await.unwrap(), OperationState::Unheard);
}

pub(crate) async fn an_address_under_way_is_busy_and_refuses(rig: Rig) {
    rig.cloud.reserve_on(ip(1), A);
    rig.cloud.busy_address(ip(1), Duration::from_secs(30));
    for result in [rig.assign(ip(1), B).await, rig.assign(ip(1), A).await] {
        let Error { kind, seen, .. } = result.unwrap_err();
        let seen = seen.unwrap();
        assert_eq!((kind, seen.holder), (ErrorKind::Busy, Some(rig.machine(A))));
        assert!(seen.busy);
    }
    assert_eq!(kind(rig.provider.unassign(ip(1)).await), ErrorKind::Busy);
    assert_eq!(rig.cloud.holder(ip(1)), Some(A));
    tokio::time::sleep(Duration::from_secs(30)).await;
    rig.assign(ip(1), B).await.unwrap();
}

pub(crate) async fn a_busy_machine_refuses_as_busy(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.fixture.region);
    rig.cloud.busy_droplet(A, "resize", Duration::from_secs(30));
    assert_eq!(kind(rig.assign(ip(1), A).await), ErrorKind::Busy);
    assert_eq!(rig.mutations(), 1);
}

pub(crate) async fn a_machine_that_is_full_rejects_with_where_the_address_is(rig: Rig) {
    if rig.provider.capabilities().addresses_per_machine > 1 {
        return;
    }
    rig.cloud.reserve_on(ip(1), A).reserve_on(ip(2), B);
    let error = rig.assign(ip(1), B).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
    assert_eq!(error.seen.unwrap().holder, Some(rig.machine(A)));
    assert!(!error.message.is_empty());
}

pub(crate) async fn an_unknown_address_is_not_found(rig: Rig) {
    assert_eq!(kind(rig.assign(ip(1), A).await), ErrorKind::NotFound);
    assert_eq!(kind(rig.provider.unassign(ip(1)).await), ErrorKind::NotFound);
}

pub(crate) async fn an_answer_lost_after_the_effect_is_no_answer_and_doing_it_again_is_success(
    rig: Rig,
) {
    rig.cloud.reserve(ip(1), rig.fixture.region);
    rig.once(Fault::LostAfter);
    assert_eq!(kind(rig.assign(ip(1), A).await), ErrorKind::NoAnswer);
    assert_eq!((rig.cloud.holder(ip(1)), rig.mutations()), (Some(A), 1));
    assert_eq!(rig.assign(ip(1), A).await.unwrap(), Accepted::Done);

    rig.once(Fault::LostAfter);
    assert_eq!(kind(rig.provider.unassign(ip(1)).await), ErrorKind::NoAnswer);
    assert_eq!(rig.provider.unassign(ip(1)).await.unwrap(), Accepted::Done);

    rig.once(Fault::LostAfter);
    assert_eq!(kind(rig.provider.release(ip(1)).await), ErrorKind::NoAnswer);
    rig.provider.release(ip(1)).await.unwrap();

    rig.once(Fault::LostAfter);
    assert_eq!(kind(rig.create(Family::V4, Some(A)).await), ErrorKind::NoAnswer);
    assert_eq!(rig.provider.list(V4).await.unwrap().len(), 1);
}

pub(crate) async fn a_request_lost_before_its_effect_is_no_answer(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.fixture.region);
    rig.once(Fault::LostBefore);
    assert_eq!(kind(rig.assign(ip(1), A).await), ErrorKind::NoAnswer);
    assert_eq!((rig.cloud.holder(ip(1)), rig.mutations()), (None, 1));
}

pub(crate) async fn a_late_answer_is_no_answer_at_the_deadline_and_the_effect_stays(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.fixture.region);
    rig.once(Fault::DelayAfter(Duration::from_secs(9)));
    let start = Instant::now();
    assert_eq!(kind(rig.assign(ip(1), A).await), ErrorKind::NoAnswer);
    assert_eq!(start.elapsed(), TIMEOUT);
    assert_eq!(rig.cloud.holder(ip(1)), Some(A));
}

pub(crate) async fn every_failure_has_its_kind_and_nothing_is_tried_again(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.fixture.region);
    for (status, expected) in [
        (500, ErrorKind::Unavailable),
        (503, ErrorKind::Unavailable),
        (502, ErrorKind::NoAnswer),
        (504, ErrorKind::NoAnswer),
    ] {
        let rule = rig.cloud.inject(Rule::new(On::any(), Fault::Answer(Answer::status(status))));
        let mark = rig.cloud.mark();
        assert_eq!(kind(rig.provider.list(V4).await), expected, "{status}");
        assert_eq!(kind(rig.provider.read(ip(1)).await), expected, "{status}");
        assert_eq!(kind(rig.assign(ip(1), A).await), expected, "{status}");
        assert_eq!(kind(rig.provider.unassign(ip(1)).await), expected, "{status}");
        assert_eq!(kind(rig.create(Family::V4, Some(A)).await), expected, "{status}");
        assert_eq!(kind(rig.provider.release(ip(1)).await), expected, "{status}");
        assert_eq!(rig.cloud.log_since(mark).len(), 6, "{status}");
        rig.cloud.clear(rule);
    }
}

pub(crate) async fn nonsense_instead_of_an_answer_is_no_answer(rig: Rig) {
    let page = Answer::status(200).raw("text/html", "<html>Please sign in</html>");
    rig.cloud.inject(Rule::new(On::any(), Fault::AnswerAfterEffect(page)));
    assert_eq!(kind(rig.provider.list(V4).await), ErrorKind::NoAnswer);
    assert_eq!(kind(rig.provider.read(ip(1)).await), ErrorKind::NoAnswer);
    assert_eq!(kind(rig.assign(ip(1), A).await), ErrorKind::NoAnswer);
    assert_eq!(kind(rig.create(Family::V4, None).await), ErrorKind::NoAnswer);
}

pub(crate) async fn a_full_account_says_so(rig: Rig) {
    rig.cloud.set(|knobs| knobs.address_limit = 1);
    rig.create(Family::V4, None).await.unwrap();
    assert_eq!(kind(rig.create(Family::V4, None).await), ErrorKind::QuotaExceeded);
    assert_eq!(kind(rig.create(Family::V4, Some(A)).await), ErrorKind::QuotaExceeded);
}

pub(crate) async fn refused_credentials_are_told_from_missing_rights(rig: Rig) {
    rig.cloud.set(|knobs| knobs.token_expired = true);
    assert_eq!(kind(rig.provider.list(V4).await), ErrorKind::Unauthorized);
    assert_eq!(kind(rig.assign(ip(1), A).await), ErrorKind::Unauthorized);
    rig.cloud.set(|knobs| knobs.token_expired = false);
    rig.cloud.inject(Rule::new(On::any(), Fault::Answer(Answer::status(403))));
    assert_eq!(kind(rig.assign(ip(1), A).await), ErrorKind::Forbidden);
}

pub(crate) async fn after_a_429_nothing_is_sent_until_the_vendor_said_so(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.fixture.region);
    rig.cloud.throttle_for(Duration::from_secs(20));
    let said = ErrorKind::RateLimited { retry_after: Duration::from_secs(20) };
    assert_eq!(kind(rig.assign(ip(1), A).await), said);
    let wait = |seconds| {
        let retry_after = Duration::from_secs(seconds);
        ErrorKind::HeldBack(Hold { retry_after, pacing: false })
    };
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(kind(rig.assign(ip(1), A).await), wait(15));
    assert_eq!(kind(rig.provider.list(V4).await), wait(15));
    assert_eq!(rig.cloud.log().len(), 1);
    tokio::time::sleep(Duration::from_secs(15)).await;
    rig.assign(ip(1), A).await.unwrap();
    rig.provider.list(V4).await.unwrap();
}

pub(crate) async fn with_a_budget_nearly_used_up_listings_wait_and_failover_goes(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.fixture.region);
    rig.cloud.set(|knobs| {
        knobs.rate = Some(fakecloud::RateLimit { limit: 30, ..Default::default() });
    });
    let mut listings = 0;
    while rig.provider.list(V4).await.is_ok() {
        listings += 1;
        assert!(listings < 30, "listings used up the budget");
    }
    let arrived = rig.cloud.log().len();
    let ErrorKind::HeldBack(Hold { retry_after, .. }) = kind(rig.provider.list(V4).await) else {
        panic!("a listing failed for another reason")
    };
    assert!(!retry_after.is_zero());
    assert_eq!(rig.cloud.log().len(), arrived);
    rig.assign(ip(1), A).await.unwrap();
    assert_eq!(rig.cloud.holder(ip(1)), Some(A));
}

pub(crate) async fn a_shut_gate_lets_nothing_change(rig: Rig) {
    rig.cloud.reserve_on(ip(1), A);
    let gate = Gate::new(|| Err("another replica leads".into()));
    let provider = open(&rig.fixture, gate.around(transport(&rig.cloud)));
    let shut = Rig { provider, ..rig };
    assert_eq!(shut.provider.list(V4).await.unwrap().len(), 1);
    let error = shut.assign(ip(1), B).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotSent);
    assert_eq!(error.message, "not sent: another replica leads");
    assert_eq!(kind(shut.provider.unassign(ip(1)).await), ErrorKind::NotSent);
    assert_eq!(kind(shut.provider.release(ip(1)).await), ErrorKind::NotSent);
    assert_eq!(kind(shut.create(Family::V4, Some(B)).await), ErrorKind::NotSent);
    assert_eq!((shut.mutations(), shut.cloud.holder(ip(1))), (0, Some(A)));
}

pub(crate) async fn nothing_shows_the_secret(rig: Rig) {
    let secret = rig.fixture.secret;
    let echo = Answer::status(400).message(&format!("your token {secret} is no good"));
    rig.cloud.inject(Rule::new(On::any(), Fault::Answer(echo)));
    let mut shown = format!("{:?}", rig.provider);
    for error in [
        rig.provider.list(V4).await.unwrap_err(),
        rig.assign(ip(1), A).await.unwrap_err(),
        rig.create(Family::V4, None).await.unwrap_err(),
    ] {
        shown += &format!("{error} {error:?}");
    }
    assert!(!shown.contains(secret), "{shown}");
}
