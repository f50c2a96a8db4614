//! Credentials that appear or are replaced while the operator runs.

use pontoon_core::action::{Action, FailureKind, RecordAction};
use pontoon_core::addresses::Unusable;
use pontoon_core::addresses::verdict::Reason;
use pontoon_core::model::Finding;
use pontoon_core::records::verdict::RecordReason;

use super::cloud::Fault;
use super::dns::{DNS, host};
use super::fixture::*;
use super::recording::{NAME, of_pool};
use super::scene::{scene, setup};

#[test]
fn a_token_that_appears_opens_the_account_for_the_pools_that_wait() {
    let mut scene = scene().nodes(["a"]).address(ip(1), None);
    let setup = setup();
    scene.world.set_account(ACCOUNT.into(), Err(unusable(CLOUD)));
    let missing = Finding { reason: "CredentialsMissing", message: "no token".into() };
    scene.world.set_record_account(DNS.into(), Err(missing));
    scene.set_pool(pool("p").ips([1]));
    scene.set_records(of_pool("p"));
    assert_eq!(scene.run(seconds(60)).len(), 0);
    assert!(matches!(scene.reason("p"), Reason::NoAccount(_)));
    let empty = Finding { reason: "CredentialsMissing", message: "an empty file".into() };
    let other = Unusable { finding: empty.clone(), ..unusable(CLOUD) };
    scene.world.open_account(&ACCOUNT.into(), Err(other));
    assert_eq!(scene.run(seconds(60)).len(), 0);
    assert_eq!(scene.reason("p"), &Reason::NoAccount(empty), "the latest reason is told");
    scene.world.open_account(&ACCOUNT.into(), Ok(setup));
    scene.run(seconds(60));
    assert_eq!((scene.home(ip(1)), scene.reason("p")), (Some("a"), &Reason::AllAssigned));
    assert!(scene.dns.listed(NAME).is_empty());
    scene.world.open_record_account(&DNS.into(), Ok(host()));
    scene.run(seconds(60));
    assert_eq!(scene.dns.listed(NAME), [ip(1)]);
    scene.change_node("a", |node| node);
    assert_eq!(count(&scene.run(seconds(60)), is_change), 0);
}

#[test]
fn another_token_ends_the_waits_that_refusals_of_the_last_one_caused() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1])).address(ip(1), Some("a"));
    scene.set_records(of_pool("p"));
    for _ in 0..60 {
        scene.fault(is_list, Fault::Answer(FailureKind::Refused));
    }
    let reads_dns = |action: &Action| matches!(action, Action::Record(RecordAction::Read { .. }));
    scene.fault(reads_dns, Fault::Answer(FailureKind::Refused));
    scene.run(seconds(100));
    assert!(matches!(scene.reason("p"), Reason::CredentialsRefused(_)));
    scene.cloud.faults.clear();
    let quiet = scene.settle();
    assert_eq!(quiet, [], "the wait is not over");
    scene.world.renew_account(&ACCOUNT.into(), scene.now);
    assert_eq!(count(&scene.settle(), is_list), 1);
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn another_token_of_a_dns_host_ends_the_wait_for_its_zone() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), Some("a"));
    let reads_dns = |action: &Action| matches!(action, Action::Record(RecordAction::Read { .. }));
    for _ in 0..20 {
        scene.fault(reads_dns, Fault::Answer(FailureKind::Refused));
    }
    scene.set_records(of_pool("p"));
    while !scene.cloud.faults.is_empty() {
        scene.run(seconds(10));
    }
    let reason = |scene: &super::scene::Scene| scene.record_verdict(&key("p")).reason.clone();
    assert!(matches!(reason(&scene), RecordReason::CredentialsRefused(..)), "{:?}", reason(&scene));
    scene.world.renew_account(&DNS.into(), scene.now);
    scene.settle();
    assert_eq!((reason(&scene), scene.dns.listed(NAME)), (RecordReason::Current, vec![ip(1)]));
}
