//! Assigning, unassigning, reserving and releasing.

use std::time::Duration;

use super::{A, B, BOTH, Rig, ip, ip6};
use crate::address::{Accepted, Family, OperationState};
use crate::contract::kind;
use crate::error::{Error, ErrorKind};

pub(crate) async fn a_free_address_is_assigned_by_one_call(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.region());
    let accepted = rig.assign(ip(1), A).await.unwrap();
    assert_eq!(rig.outcome(ip(1), accepted).await, OperationState::Done);
    assert_eq!(rig.cloud.holder(ip(1)), Some(A));
    assert_eq!(rig.read(ip(1)).await.unwrap().holder, Some(rig.machine(A)));
    assert_eq!(rig.mutations(), rig.one_change());
}

pub(crate) async fn a_held_address_is_moved(rig: Rig) {
    rig.cloud.reserve_on(ip(1), A);
    if !rig.provider.capabilities().atomic_move {
        let Error { kind, seen, .. } = rig.assign(ip(1), B).await.unwrap_err();
        assert_eq!((kind, seen.unwrap().holder), (ErrorKind::Rejected, Some(rig.machine(A))));
        let accepted = rig.provider.unassign(ip(1)).await.unwrap();
        assert_eq!(rig.outcome(ip(1), accepted).await, OperationState::Done);
    }
    let before = rig.mutations();
    let accepted = rig.assign(ip(1), B).await.unwrap();
    assert_eq!(rig.outcome(ip(1), accepted).await, OperationState::Done);
    assert_eq!((rig.cloud.holder(ip(1)), rig.mutations() - before), (Some(B), rig.one_change()));
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
    assert_eq!(rig.mutations(), rig.one_change());
}

pub(crate) async fn unassigning_a_free_address_is_success(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.region());
    assert_eq!(rig.provider.unassign(ip(1)).await.unwrap(), Accepted::Done);
}

pub(crate) async fn a_machine_without_an_address_of_its_own_gets_one_again(rig: Rig) {
    let restore = async |number| rig.provider.restore_egress(&rig.machine(number)).await.unwrap();
    if !rig.provider.capabilities().displaces_own {
        assert_eq!((restore(A).await, rig.cloud.log().len()), (Accepted::Done, 0));
        return;
    }
    rig.cloud.reserve_on(ip(1), A);
    assert_eq!((restore(A).await, rig.mutations()), (Accepted::Done, 0));
    rig.bare(B);
    for _ in 0..2 {
        let accepted = restore(B).await;
        assert_eq!(rig.outcome(ip(1), accepted).await, OperationState::Done);
        assert!(rig.cloud.own_address(B).is_some());
    }
    assert_eq!((rig.mutations(), rig.cloud.holder(ip(1))), (1, Some(A)));
}

pub(crate) async fn a_new_address_is_reserved_in_its_region(rig: Rig) {
    let created = rig.create(Family::V4, None).await.unwrap();
    assert_eq!(created.placement, None);
    let seen = rig.read(created.ip).await.unwrap();
    assert_eq!((seen.holder, seen.region.as_deref()), (None, Some(rig.region())));
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
    rig.cloud.reserve(ip(1), rig.region());
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
    rig.cloud.reserve_on(ip(1), A).reserve(ip6(), rig.region());
    let accepted = rig.assign(ip6(), A).await.unwrap();
    assert_eq!(rig.outcome(ip6(), accepted).await, OperationState::Done);
    let holders: Vec<_> =
        rig.list(BOTH).await.unwrap().into_iter().map(|a| (a.ip, a.holder)).collect();
    assert_eq!(holders, [(ip(1), Some(rig.machine(A))), (ip6(), Some(rig.machine(A)))]);
    let accepted = rig.provider.unassign(ip6()).await.unwrap();
    assert_eq!(rig.outcome(ip6(), accepted).await, OperationState::Done);
    assert_eq!(rig.read(ip6()).await.unwrap().holder, None);
    rig.provider.release(ip6()).await.unwrap();
    assert_eq!(rig.read(ip6()).await, None);
    let created = rig.create(Family::V6, None).await.unwrap();
    assert!(rig.read(created.ip).await.unwrap().ip.is_ipv6());
}

pub(crate) async fn an_address_under_way_is_busy_and_refuses(rig: Rig) {
    rig.cloud.reserve_on(ip(1), A).reserve(ip(2), rig.region());
    rig.cloud.busy_address(ip(1), Duration::from_secs(30));
    rig.cloud.busy_address(ip(2), Duration::from_secs(30));
    if rig.bench.shows_busy() {
        for result in [rig.assign(ip(1), B).await, rig.assign(ip(1), A).await] {
            let Error { kind, seen, .. } = result.unwrap_err();
            let seen = seen.unwrap();
            assert_eq!((kind, seen.holder), (ErrorKind::Busy, Some(rig.machine(A))));
            assert!(seen.busy);
        }
    }
    let Error { kind: refused, seen, .. } = rig.assign(ip(2), B).await.unwrap_err();
    assert_eq!((refused, seen.unwrap().holder), (ErrorKind::Busy, None));
    assert_eq!(kind(rig.provider.unassign(ip(1)).await), ErrorKind::Busy);
    assert_eq!(rig.cloud.holder(ip(1)), Some(A));
    tokio::time::sleep(Duration::from_secs(30)).await;
    rig.provider.unassign(ip(1)).await.unwrap();
}

pub(crate) async fn a_busy_machine_refuses_as_busy(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.region());
    rig.bare(A);
    rig.cloud.busy_machine(A, "resize", Duration::from_secs(30));
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

pub(crate) async fn a_machine_that_no_node_names_is_shown_and_read_back(rig: Rig) {
    let machines = rig.bench.vendor().addresses.as_ref().unwrap();
    for machine in [rig.machine(A), rig.machine(B)] {
        assert_eq!((machines.named)(&(machines.shown)(&machine)), Some(machine));
    }
    assert_eq!((machines.named)(""), None);
    assert_eq!((machines.named)("anothers://1"), None);
}
