//! The rights of the chart are enough for everything that the operator does, and no more.
//!
//! Each test runs on a cluster with objects of every kind: a controller that is not chosen would be refused,
//! or would have no right in the roles.

use std::collections::BTreeSet;

use super::chart::{Chart, USER};
use super::rights::{Right, are_used, assert_granted};
use super::{allocations, clusters, pools, record_sets};
use crate::arena::{Arena, On};
use crate::bad_input::lax_definitions;
use crate::predecessor::{ALLOCATIONS_LEASE, Predecessor, VIPS_LEASE, VIPS_NAMESPACE};
use crate::vip_readme::stage::{Generation, Management};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Controller {
    Pools,
    RecordSets,
    Allocations,
    Clusters,
}

use Controller::{Allocations, Clusters, Pools, RecordSets};

impl Controller {
    fn name(self) -> &'static str {
        match self {
            Pools => "floatingippools",
            RecordSets => "nodednsrecordsets",
            Allocations => "netipallocations",
            Clusters => "clusters",
        }
    }

    async fn during(self, management: &Management) {
        match self {
            Pools => pools::during(management).await,
            RecordSets => record_sets::during(management).await,
            Allocations => allocations::during(management).await,
            Clusters => clusters::during(management).await,
        }
    }
}

const ALL: [Controller; 4] = [Pools, RecordSets, Allocations, Clusters];

/// A cluster with definitions and objects of every kind.
async fn furnished(holds: bool) -> Option<Management> {
    let management = Management::furnished(On::RealServer, Generation::V1Beta2).await?;
    management.define(lax_definitions()).await;
    pools::before(&management).await;
    record_sets::before(&management).await;
    allocations::before(&management).await;
    clusters::before(&management, holds).await;
    Some(management)
}

/// The predecessors of all kinds, at work.
async fn predecessors(arena: &Arena) -> [Predecessor; 3] {
    [
        Predecessor::start(arena).await,
        Predecessor::ip_address_controller(arena, "kube-system").await,
        Predecessor::capi_vip_allocator(arena).await,
    ]
}

/// Waits until the Lease of the predecessor of each controller is held.
async fn leases_are_held(arena: &Arena, chosen: &[Controller]) {
    let held = |holder: &str, _: &_| holder.starts_with("pontoon/");
    for one in chosen {
        match one {
            Pools | RecordSets => arena.flipop_lease("held", held).await,
            Allocations => arena.lease_of("kube-system", ALLOCATIONS_LEASE, "held", held).await,
            Clusters => arena.lease_of(VIPS_NAMESPACE, VIPS_LEASE, "held", held).await,
        };
    }
}

/// Rights that no request of these scenarios uses: older Clusters have a test of their own, and the right on
/// finalizers is asked for by an admission plugin, which makes no request.
fn can_be_seen(right: &&Right) -> bool {
    let (resource, verb) = (&*right.resource, &*right.verb);
    (resource, verb) != ("clusters", "get") && resource != "clusters/finalizers"
}

/// Runs everything that controllers do under the chart's account, and compares the requests with the roles.
async fn are_enough_and_no_more(chosen: &[Controller], values: &[&str]) {
    let names: Vec<_> = chosen.iter().map(|one| one.name()).collect();
    let listed = if chosen == ALL { &[][..] } else { &names };
    let Some(chart) = Chart::of(listed, values) else { return };
    let holds = values.contains(&"clusters.holdVips=true");
    let Some(management) = furnished(holds).await else { return };
    chart.apply(&management);
    let at_work = predecessors(&management).await;
    let replica = chart.start(&management, "least", &[]).await;
    replica.metric("pontoon_standing_aside{reason=\"CompetingController\"}", "1").await;
    drop(at_work);
    leases_are_held(&management, chosen).await;
    for one in chosen {
        one.during(&management).await;
    }
    let observer = chart.start(&management, "watcher", &["--mode=observe"]).await;
    observer.leads().await;

    let seen: BTreeSet<_> = chart.rights().into_iter().filter(|one| can_be_seen(&one)).collect();
    let quick = seen.iter().filter(|right| right.verb != "watch").cloned().collect();
    are_used(&management, USER, &quick).await;
    let log = format!("{}{}", replica.log(), observer.log());
    assert!(!log.to_lowercase().contains("forbidden"), "{log}");
    // A watch appears in the log after its end.
    replica.terminate().await;
    observer.terminate().await;
    are_used(&management, USER, &seen).await;
    assert_granted(&management, USER, &chart.rights());
}

#[tokio::test]
async fn the_rights_of_all_controllers_are_enough_and_no_more() {
    are_enough_and_no_more(&ALL, &["clusters.holdVips=true"]).await;
}

#[tokio::test]
async fn the_rights_of_pools_alone_are_enough_and_no_more() {
    are_enough_and_no_more(&[Pools], &[]).await;
}

#[tokio::test]
async fn the_rights_of_record_sets_alone_are_enough_and_no_more() {
    are_enough_and_no_more(&[RecordSets], &[]).await;
}

#[tokio::test]
async fn the_rights_of_allocations_alone_are_enough_and_no_more() {
    are_enough_and_no_more(&[Allocations], &[]).await;
}

#[tokio::test]
async fn the_rights_of_clusters_alone_are_enough_and_no_more() {
    are_enough_and_no_more(&[Clusters], &[]).await;
}
