//! Listings, reads and operations.

use std::net::Ipv4Addr;
use std::time::Duration;

use fakecloud::{CloudFault, Fault, On, Rule};

use super::{A, B, BOTH, Rig, V4, ip};
use crate::address::{Accepted, Address, Families, OperationId, OperationState};

pub(crate) async fn an_empty_account_has_nothing(rig: Rig) {
    assert_eq!(rig.list(BOTH).await.unwrap(), []);
    assert_eq!(rig.list(Families::default()).await.unwrap(), []);
}

pub(crate) async fn a_listing_shows_each_address_once_whatever_the_pages(rig: Rig) {
    for n in 0..450_u16 {
        let [high, low] = n.to_be_bytes();
        rig.cloud.reserve(Ipv4Addr::new(198, 18, high, low), rig.region());
    }
    rig.cloud.reserve_on(ip(1), A);
    let found = rig.list(V4).await.unwrap();
    assert_eq!(found.len(), 451);
    assert!(found.is_sorted_by(|a, b| a.ip < b.ip));
    let held: Vec<_> = found.into_iter().filter(|address| address.holder.is_some()).collect();
    let Address { ip: held_ip, holder, region, project: _, mark: _, busy } = held[0].clone();
    assert_eq!((held.len(), held_ip, holder, busy), (1, ip(1), Some(rig.machine(A)), false));
    assert_eq!(region.as_deref(), Some(rig.region()));
}

pub(crate) async fn a_listing_asks_only_for_the_families_wanted(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.region());
    rig.list(Families::default()).await.unwrap();
    assert_eq!(rig.cloud.log().len(), 0);
    rig.list(V4).await.unwrap();
    assert_eq!(rig.cloud.log().len(), 1);
}

pub(crate) async fn a_listing_survives_pages_that_shift(rig: Rig) {
    for n in 0..=250 {
        rig.cloud.reserve(
            Ipv4Addr::new(198, 18, 0, 0).to_bits().wrapping_add(n).to_be_bytes(),
            rig.region(),
        );
    }
    rig.cloud.inject(Rule::new(On::reads(), Fault::Own(CloudFault::PageGap)));
    // A vendor without pages has no gap.
    let found = rig.list(V4).await.unwrap().len();
    assert!((250..=251).contains(&found), "{found}");
}

pub(crate) async fn a_read_shows_one_address_or_that_there_is_none(rig: Rig) {
    rig.cloud.reserve_on(ip(1), A).reserve(ip(2), rig.region());
    assert_eq!(rig.read(ip(1)).await.unwrap().holder, Some(rig.machine(A)));
    assert_eq!(rig.read(ip(2)).await.unwrap().holder, None);
    assert_eq!(rig.read(ip(3)).await, None);
}

pub(crate) async fn an_operation_is_running_then_done(rig: Rig) {
    rig.operations_take(10);
    rig.cloud.reserve(ip(1), rig.region());
    let Accepted::Pending(id) = rig.assign(ip(1), A).await.unwrap() else { return };
    let state = async || rig.provider.operation(ip(1), &id).await.unwrap();
    assert_eq!(state().await, OperationState::Running);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(state().await, OperationState::Done);
    assert_eq!(rig.cloud.holder(ip(1)), Some(A));
}

pub(crate) async fn an_operation_that_fails_leaves_the_address_where_it_was(rig: Rig) {
    rig.cloud.reserve_on(ip(1), A);
    rig.once(Fault::Own(CloudFault::ActionErrors));
    // A vendor whose answers are final has no operation that could fail.
    let Ok(Accepted::Pending(id)) = rig.assign(ip(1), B).await else { return };
    let outcome = rig.outcome(ip(1), Accepted::Pending(id)).await;
    assert_eq!(outcome, OperationState::Failed);
    assert_eq!(rig.cloud.holder(ip(1)), Some(A));
}

pub(crate) async fn an_operation_may_be_unheard_of_at_first(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.region());
    rig.bare(A);
    rig.once(Fault::Own(CloudFault::ActionHidden(Duration::from_secs(4))));
    let Accepted::Pending(id) = rig.assign(ip(1), A).await.unwrap() else { return };
    assert_eq!(rig.provider.operation(ip(1), &id).await.unwrap(), OperationState::Unheard);
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(rig.provider.operation(ip(1), &id).await.unwrap(), OperationState::Done);
    let unknown = OperationId("1".into());
    assert_eq!(rig.provider.operation(ip(1), &unknown).await.unwrap(), OperationState::Unheard);
}
