//! Whole courses over the emulator: what becomes of the machines' own addresses.

use std::time::Duration;

use fakecloud::{Answer, CloudFault, FakeCloud, Fault, On, Rule};

use super::*;
use crate::contract::transport;

const A: u64 = 11;
const B: u64 = 22;
const REGION: &str = "us-central1";

/// A cloud with two machines and a free address, and its account.
fn account() -> (FakeCloud, Arc<dyn AddressProvider>) {
    let cloud = FakeCloud::new();
    cloud.token(TOKEN).machine(A, "a", REGION).machine(B, "b", REGION).reserve(ip(), REGION);
    let variables = [("GCP_ACCESS_TOKEN", TOKEN), ("GOOGLE_CLOUD_PROJECT", "test-project")];
    let account = open_with(&variables, transport(&cloud)).unwrap();
    (cloud, account.addresses.unwrap())
}

fn on(number: u64) -> MachineId {
    named(&fakecloud::provider_id("gcp", number)).unwrap()
}

fn both() -> ListRequest {
    ListRequest { families: V4, machines: vec![on(A), on(B)], addresses: vec![ip()] }
}

/// Reads an operation until it is over.
async fn settled(provider: &dyn AddressProvider, accepted: Accepted) -> OperationState {
    let Accepted::Pending(id) = accepted else { return OperationState::Done };
    for _ in 0..60 {
        match provider.operation(ip(), &id).await.unwrap() {
            OperationState::Running => tokio::time::sleep(Duration::from_secs(1)).await,
            over => return over,
        }
    }
    panic!("{id:?} does not end");
}

#[tokio::test(start_paused = true)]
async fn a_move_takes_the_own_address_of_one_machine_and_gives_the_other_one_back() {
    let (cloud, provider) = account();
    cloud.set(|knobs| knobs.action_time = Duration::from_secs(3));
    let accepted = provider.assign(ip(), &on(A)).await.unwrap();
    assert_eq!(settled(&*provider, accepted).await, OperationState::Done);
    assert_eq!((cloud.egress(A), cloud.own_address(A)), (Some(ip()), None));

    assert_eq!(provider.unassign(ip()).await.unwrap(), Accepted::Done);
    assert_eq!(provider.read(ip()).await.unwrap().unwrap().holder, None);
    let accepted = provider.assign(ip(), &on(B)).await.unwrap();
    assert_eq!(settled(&*provider, accepted).await, OperationState::Done);
    assert_eq!((cloud.egress(B), cloud.own_address(B)), (Some(ip()), None));
    assert!(cloud.own_address(A).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_refused_assignment_leaves_the_machine_with_an_own_address() {
    let (cloud, provider) = account();
    let refused = Fault::Answer(Answer::status(409).message("IP_IN_USE_BY_ANOTHER_RESOURCE"));
    let add = On::call("POST", "/compute/v1/projects/*/zones/*/instances/*/addAccessConfig");
    cloud.inject(Rule::new(add.with_body("natIP"), refused).once());
    let error = provider.assign(ip(), &on(A)).await.unwrap_err();
    assert_eq!((error.kind, error.seen.unwrap().holder), (ErrorKind::Rejected, None));
    assert!(cloud.own_address(A).is_some());
    let accepted = provider.assign(ip(), &on(A)).await.unwrap();
    assert_eq!(settled(&*provider, accepted).await, OperationState::Done);
    assert_eq!(cloud.egress(A), Some(ip()));
}

#[tokio::test(start_paused = true)]
async fn an_assignment_that_fails_later_leaves_a_debt_that_is_paid_once() {
    let (cloud, provider) = account();
    let add = On::call("POST", "/compute/v1/projects/*/zones/*/instances/*/addAccessConfig");
    let fails = Fault::Own(CloudFault::ActionErrors);
    cloud.inject(Rule::new(add.with_body("natIP"), fails).once());
    let accepted = provider.assign(ip(), &on(A)).await.unwrap();
    assert_eq!(settled(&*provider, accepted).await, OperationState::Failed);
    assert_eq!(cloud.egress(A), None);
    let accepted = provider.restore_egress(&on(A)).await.unwrap();
    assert_eq!(settled(&*provider, accepted).await, OperationState::Done);
    let own = cloud.own_address(A);
    assert!(own.is_some());
    assert_eq!(provider.restore_egress(&on(A)).await.unwrap(), Accepted::Done);
    assert_eq!(cloud.own_address(A), own);
}

#[tokio::test(start_paused = true)]
async fn the_predecessors_permissions_suffice_for_moves() {
    let (cloud, provider) = account();
    cloud.set(|knobs| {
        knobs.action_time = Duration::from_secs(3);
        for permission in ["addresses.list", "addresses.get", "zoneOperations.get"] {
            knobs.denied.insert(format!("compute.{permission}"));
        }
    });
    let holder = async || {
        let listing = provider.confirm(&both()).await.unwrap();
        assert!(listing.limited.unwrap().contains("compute.addresses.list"));
        listing.addresses[0].holder.clone()
    };
    assert_eq!(holder().await, None);
    for number in [A, B] {
        provider.unassign(ip()).await.unwrap();
        let accepted = provider.assign(ip(), &on(number)).await.unwrap();
        assert_eq!(settled(&*provider, accepted).await, OperationState::Unheard);
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(holder().await, Some(on(number)));
        assert_eq!(provider.read(ip()).await.unwrap().unwrap().holder, Some(on(number)));
    }
    assert_eq!((cloud.holder(ip()), cloud.own_address(B)), (Some(B), None));
    assert!(cloud.own_address(A).is_some());
}

#[tokio::test(start_paused = true)]
async fn granted_permissions_are_used_after_some_minutes() {
    let (cloud, provider) = account();
    cloud.set(|knobs| knobs.denied = ["compute.addresses.list".into()].into());
    assert!(provider.list(&both()).await.unwrap().limited.is_some());
    cloud.set(|knobs| knobs.denied.clear());
    tokio::time::sleep(Duration::from_secs(300)).await;
    let listing = provider.list(&both()).await.unwrap();
    assert_eq!((listing.limited, listing.addresses.len()), (None, 1));
}

#[tokio::test(start_paused = true)]
async fn the_first_of_several_interfaces_receives_the_address() {
    let (cloud, provider) = account();
    cloud.nics(A, 3);
    let accepted = provider.assign(ip(), &on(A)).await.unwrap();
    assert_eq!(settled(&*provider, accepted).await, OperationState::Done);
    assert_eq!(cloud.egress(A), Some(ip()));
    assert_eq!(provider.unassign(ip()).await.unwrap(), Accepted::Done);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(cloud.own_address(A).is_some());
}

#[tokio::test(start_paused = true)]
async fn an_address_that_is_reserved_twice_by_one_mark_is_one_address() {
    let (cloud, provider) = account();
    cloud.set(|knobs| knobs.action_time = Duration::from_secs(3));
    let mark = Some("0f8fad5b-d9cb-469f-a165-70867728950e-1".to_owned());
    let request = CreateRequest { family: Family::V4, region: REGION.into(), machine: None, mark };
    let first = provider.create(&request).await.unwrap();
    assert_eq!(provider.create(&request).await.unwrap(), first);
    let listing = provider.list(&ListRequest::of(V4)).await.unwrap();
    let marks: Vec<_> = listing.addresses.iter().filter(|one| one.mark == request.mark).collect();
    assert_eq!((listing.addresses.len(), marks.len()), (2, 1));
    provider.release(first.ip).await.unwrap();
    assert_eq!(cloud.addresses().len(), 1);
}
