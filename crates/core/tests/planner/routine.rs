//! The names are read again in turn, one at a time.

use pontoon_core::action::{Action, FailureKind, RecordAction};
use pontoon_core::model::NodeAddress;
use pontoon_core::records::verdict::RecordReason;

use super::cloud::Fault;
use super::dns::host;
use super::fixture::*;
use super::recording::*;
use super::scene::scene;

/// An account whose DNS host stops answering.
const SILENT: &str = "silent";

fn is_of_silent(action: &Action) -> bool {
    let Action::Record(RecordAction::Read { request, .. }) = action else { return false };
    request.account == SILENT.into()
}

fn is_of_healthy(action: &Action) -> bool {
    is_read_of_records(action) && !is_of_silent(action)
}

#[test]
fn names_whose_host_does_not_answer_do_not_keep_the_others_from_their_turn() {
    let of_edge = |name: &str| of_nodes(name, NodeAddress::External);
    let mut scene = scene().node(edge("a", ip(1))).records(of_edge("s"));
    scene.world.set_record_account(SILENT.into(), Ok(host()));
    for name in (0..20).map(|number| format!("silent-{number}")) {
        scene.set_records(ask(of_edge(&name), |request| {
            (request.account, request.name) = (SILENT.into(), name.as_str().into());
        }));
    }
    scene.settle();
    scene.cloud.refuses.push((is_of_silent, FailureKind::NoAnswer));
    let before = scene.history.len();
    scene.run(seconds(8000));
    let read = |such| count(&scene.history[before..], such);
    assert_eq!(read(is_of_healthy), 4, "one of 21 names, every two minutes");
    assert!(read(is_of_silent) <= 64, "{} calls in vain", read(is_of_silent));
}

#[test]
fn records_that_somebody_deleted_leave_the_status_also_with_nothing_to_list() {
    let mut scene = served();
    scene.change_node("a", NodeFixture::not_ready);
    scene.settle();
    scene.fault(is_change_of_records, Fault::Answer(FailureKind::Conflict));
    scene.change_node("b", NodeFixture::not_ready);
    scene.change_node("a", NodeFixture::ready);
    scene.run(seconds(1));
    scene.change_node("a", NodeFixture::not_ready);
    scene.settle();
    scene.dns.clear(NAME);
    scene.run(seconds(300));
    assert_eq!(scene.record_verdict(&key("p")).reason, RecordReason::NothingToList);
    let held = scene.record_verdict(&key("p")).held.clone().expect("a name");
    assert!(held.families.is_empty(), "{held:?}");
}

#[test]
fn after_a_restart_records_that_somebody_deleted_leave_the_status_also_with_nothing_to_list() {
    let set = of_nodes("s", NodeAddress::External);
    let mut scene = scene().node(edge("a", ip6(1))).records(set).settled();
    scene.remove_node("a");
    scene.settle();
    assert_eq!(scene.dns.listed(NAME), [ip6(1)]);
    scene.restart(seconds(3));
    scene.dns.clear(NAME);
    scene.run(seconds(300));
    let held = scene.record_verdict(&nodes_key("s")).held.clone().expect("a name");
    assert!(held.families.is_empty(), "{held:?}");
}
