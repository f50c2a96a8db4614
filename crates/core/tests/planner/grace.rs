//! Nodes that may recover within their grace period.

use pontoon_core::addresses::verdict::{Note, Reason, State};
use pontoon_core::nodes::Unfit;

use super::fixture::*;
use super::scene::{Scene, scene};

/// An address on node `a`, with `b` free beside it.
fn on_the_first_of_two(grace: u64) -> Scene {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1]).with_grace(grace));
    scene.address(ip(1), Some("a")).settled()
}

#[test]
fn without_a_grace_period_an_address_moves_at_once() {
    let mut scene = on_the_first_of_two(0);
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn an_address_stays_for_the_grace_period_then_moves() {
    let mut scene = on_the_first_of_two(30);
    let lost = scene.now;
    scene.change_node("a", NodeFixture::not_ready);
    scene.run(seconds(29));
    assert_eq!(scene.home(ip(1)), Some("a"));
    let until = lost + seconds(30);
    assert_eq!(scene.reason("p"), &Reason::InGrace(ip(1), until));
    let address = &scene.verdict("p").addresses[0];
    assert_eq!(address.state, State::NoMatch);
    assert_eq!(address.note, Some(Note::Grace(Unfit::NotReady, until)));
    assert_eq!(scene.mark("a"), None, "it does not serve meanwhile");
    scene.run(seconds(2));
    assert_eq!(scene.home(ip(1)), Some("b"));
}

#[test]
fn a_node_that_recovers_in_time_keeps_its_address() {
    let mut scene = on_the_first_of_two(30);
    scene.change_node("a", NodeFixture::not_ready);
    scene.run(seconds(20));
    scene.change_node("a", NodeFixture::ready);
    let done = scene.run(seconds(100));
    assert_eq!((moves(&done), scene.home(ip(1))), (vec![], Some("a")));
    scene.change_node("a", NodeFixture::not_ready);
    scene.run(seconds(20));
    assert_eq!(scene.home(ip(1)), Some("a"), "the next time it begins anew");
}

#[test]
fn after_a_time_with_an_invalid_spec_it_begins_anew() {
    let mut scene = on_the_first_of_two(30);
    let valid = pool("p").ips([1]).with_grace(30);
    scene.change_node("a", NodeFixture::not_ready);
    scene.run(seconds(20));
    scene.set_pool(valid.clone().invalid());
    scene.run(seconds(10));
    scene.change_node("a", NodeFixture::ready);
    scene.run(seconds(600));
    scene.change_node("a", NodeFixture::not_ready);
    scene.set_pool(valid);
    let done = scene.run(seconds(29));
    assert_eq!((moves(&done), scene.home(ip(1))), (vec![], Some("a")), "it was well in between");
    assert_eq!(moves(&scene.run(seconds(2))), [(ip(1), "b")]);
}

#[test]
fn a_restart_in_the_middle_does_not_begin_it_anew() {
    let mut scene = on_the_first_of_two(60);
    let lost = scene.now;
    scene.change_node("a", NodeFixture::not_ready);
    scene.run(seconds(30));
    scene.restart(seconds(13));
    scene.run(seconds(29));
    assert_eq!(scene.home(ip(1)), Some("a"));
    assert_eq!(scene.reason("p"), &Reason::InGrace(ip(1), lost + seconds(60)));
    scene.run(seconds(2));
    assert_eq!(scene.home(ip(1)), Some("b"));
}

#[test]
fn a_time_that_lies_ahead_counts_as_now() {
    let scene = scene().node(node("a").not_ready()).node(node("b"));
    let pool = pool("p").ips([1]).with_grace(30).without_node_since(ip(1), at(10_000));
    let mut scene = scene.pool(pool).address(ip(1), Some("a"));
    scene.run(seconds(29));
    assert_eq!(scene.home(ip(1)), Some("a"));
    scene.run(seconds(2));
    assert_eq!(scene.home(ip(1)), Some("b"));
}

#[test]
fn a_node_that_is_deleted_or_gone_does_not_recover() {
    let mut scene = on_the_first_of_two(300);
    scene.change_node("a", |mut node| {
        node.deleting = true;
        node
    });
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);

    let mut scene = on_the_first_of_two(300);
    scene.remove_node("a");
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn another_pool_does_not_get_the_node_before_the_grace_period_is_over() {
    let scene = scene().node(node("a").labelled("role", "edge"));
    let scene = scene.pool(pool("p").ips([1]).on("role=edge").with_grace(30));
    let mut scene = scene.pool(pool("q").ips([2]).on("role=core"));
    scene = scene.address(ip(1), Some("a")).address(ip(2), None).settled();
    scene.change_node("a", |node| node.labelled("role", "core"));
    scene.run(seconds(29));
    assert_eq!((scene.home(ip(1)), scene.home(ip(2))), (Some("a"), None));
    scene.run(seconds(2));
    assert_eq!((scene.home(ip(1)), scene.home(ip(2))), (None, Some("a")));
}
