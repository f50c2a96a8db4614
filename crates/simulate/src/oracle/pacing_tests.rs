//! The cool-off, the hold-down after a move by hand, and moves without a reason.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fakecloud::FakeCloud;
use fakekube::Write;
use pontoon::api::PAUSED_ANNOTATION;
use serde_json::{Value, json};
use tokio::time::{Instant, advance};

use super::pacing::MOVES;
use super::{Oracle, Sent};
use crate::vendor::Vendor;
use crate::wire::CloudAction;

const IP: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// The machine of the node that the pool may use.
const FIT: u64 = 1001;

/// The machine of the node that it may not use.
const UNFIT: u64 = 1002;

/// A pool with an address in place for a while.
struct Scene {
    oracle: Arc<Mutex<Oracle>>,
    cloud: FakeCloud,
}

impl Scene {
    async fn new() -> Self {
        let this = Self::at_the_start();
        advance(Duration::from_secs(60)).await;
        this
    }

    /// The same at Google Cloud, where a call names a machine, and a change begins with a read.
    async fn at_google() -> Self {
        let this = Self::new().await;
        this.oracle().set_vendor(Vendor::Google);
        this
    }

    /// The same before anybody has seen the address in place.
    fn at_the_start() -> Self {
        let oracle = Arc::new(Mutex::new(Oracle::new(Instant::now())));
        let cloud = FakeCloud::new();
        cloud.dump_on_drop(None);
        let this = Self { oracle: Arc::clone(&oracle), cloud };
        this.wrote("nodes", "fit", &node(FIT, "edge"));
        this.wrote("nodes", "unfit", &node(UNFIT, "core"));
        this.wrote("floatingippools", "ingress/p", &pool("u"));
        let region = Vendor::default().region();
        this.cloud.machine(FIT, "fit", region).machine(UNFIT, "unfit", region);
        this.cloud.observe(move |what, state| locked(&oracle).happened(what, state));
        this.cloud.reserve_on(IP, FIT);
        this
    }

    fn oracle(&self) -> MutexGuard<'_, Oracle> {
        locked(&self.oracle)
    }

    fn wrote(&self, plural: &str, key: &str, object: &Value) {
        let after = Some(object);
        self.oracle().wrote(&Write { group: "", plural, key, before: None, after });
    }

    fn moved_by_hand(&self, machine: u64) {
        self.oracle().by_hand(true);
        self.cloud.human_moves(IP, Some(machine));
        self.oracle().by_hand(false);
    }

    /// Moves the address back and forth so many times, as if by calls of ours.
    fn moved_by_us(&self, times: u32) {
        for number in 0..times {
            self.cloud.human_moves(IP, Some(if number % 2 == 0 { UNFIT } else { FIT }));
        }
    }

    /// Takes the address off its machine, as if by a call of ours.
    fn taken_off_by_us(&self) {
        self.cloud.human_moves(IP, None);
    }

    /// Sends the read that begins a change of the address at Google Cloud.
    fn read(&self) {
        let read = Sent { action: CloudAction::ReadAddress, ..assignment("a1-0") };
        self.oracle().note_step(&read);
    }

    /// Sends an unassignment of the address.
    fn take_off(&self) {
        let action = CloudAction::Unassign;
        self.oracle().check_drift(&Sent { action, machine: None, ..assignment("a1-1") });
    }

    fn put_back(&self) {
        self.oracle().check_drift(&assignment("a1-1"));
    }

    /// Sends an assignment of the address.
    fn sent(&self, agent: &str) {
        self.oracle().check_cool_off(&assignment(agent));
    }

    fn answered(&self, agent: &str) {
        self.oracle().note_assigned(&assignment(agent));
    }

    fn found(&self) -> Option<&'static str> {
        self.oracle().violation().map(|violation| violation.invariant)
    }
}

fn locked(oracle: &Mutex<Oracle>) -> MutexGuard<'_, Oracle> {
    oracle.lock().unwrap_or_else(PoisonError::into_inner)
}

fn assignment(agent: &str) -> Sent {
    Sent {
        agent: agent.to_owned(),
        process: "a1".to_owned(),
        action: CloudAction::Assign,
        ip: Some(IP.into()),
        machine: Some(FIT),
        records: None,
        path: String::new(),
    }
}

/// A pool that lists the address, with a cool-off.
fn pool(uid: &str) -> Value {
    let nodes = json!({"nodeLabel": "role=edge"});
    let spec = json!({"ips": [IP], "match": nodes, "assignmentCoolOffSeconds": 5});
    json!({"metadata": {"uid": uid}, "spec": spec})
}

fn paused_pool(uid: &str) -> Value {
    let mut pool = pool(uid);
    pool["metadata"]["annotations"] = json!({PAUSED_ANNOTATION: "by hand"});
    pool
}

fn node(machine: u64, role: &str) -> Value {
    json!({
        "metadata": {"labels": {"role": role}},
        "spec": {"providerID": format!("digitalocean://{machine}")},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

#[tokio::test(start_paused = true)]
async fn a_second_assignment_of_a_pool_within_its_cool_off_is_found() {
    let scene = Scene::new().await;
    scene.sent("a1-1");
    scene.answered("a1-1");
    advance(Duration::from_secs(4)).await;
    scene.sent("a1-2");
    assert_eq!(scene.found(), Some("cool-off"));
}

#[tokio::test(start_paused = true)]
async fn the_cool_off_counts_for_the_pool_that_sent_the_call_and_no_later_owner() {
    let scene = Scene::new().await;
    scene.sent("a1-1");
    // Another pool has the address when the answer comes.
    scene.wrote("floatingippools", "ingress/p", &pool("another"));
    scene.answered("a1-1");
    // Long enough for the replica to know the other pool, and within the cool-off.
    advance(Duration::from_secs(4)).await;
    scene.sent("a1-2");
    assert_eq!(scene.found(), None);
    scene.answered("a1-2");
    scene.sent("a1-3");
    assert_eq!(scene.found(), Some("cool-off"));
}

#[tokio::test(start_paused = true)]
async fn what_somebody_moved_a_moment_ago_is_left_alone() {
    let scene = Scene::new().await;
    scene.moved_by_hand(UNFIT);
    advance(Duration::from_secs(9)).await;
    scene.put_back();
    assert_eq!(scene.found(), Some("drift"));
}

#[tokio::test(start_paused = true)]
async fn what_somebody_moved_is_put_back_after_ten_seconds() {
    let scene = Scene::new().await;
    scene.moved_by_hand(UNFIT);
    advance(Duration::from_secs(10)).await;
    scene.put_back();
    assert_eq!(scene.found(), None);
}

#[tokio::test(start_paused = true)]
async fn what_somebody_moved_during_a_pause_may_be_put_back_at_its_end() {
    let scene = Scene::new().await;
    scene.wrote("floatingippools", "ingress/p", &paused_pool("u"));
    scene.moved_by_hand(UNFIT);
    scene.wrote("floatingippools", "ingress/p", &pool("u"));
    advance(Duration::from_secs(5)).await;
    scene.put_back();
    assert_eq!(scene.found(), None);
}

#[tokio::test(start_paused = true)]
async fn what_somebody_moved_after_a_pause_is_left_alone() {
    let scene = Scene::new().await;
    scene.wrote("floatingippools", "ingress/p", &paused_pool("u"));
    scene.wrote("floatingippools", "ingress/p", &pool("u"));
    advance(Duration::from_secs(60)).await;
    scene.moved_by_hand(UNFIT);
    advance(Duration::from_secs(5)).await;
    scene.put_back();
    assert_eq!(scene.found(), Some("drift"));
}

#[tokio::test(start_paused = true)]
async fn what_somebody_moved_may_be_put_elsewhere_at_once_if_its_node_fails() {
    let scene = Scene::new().await;
    scene.moved_by_hand(UNFIT);
    scene.wrote("nodes", "fit", &node(FIT, "core"));
    scene.put_back();
    assert_eq!(scene.found(), None);
}

#[tokio::test(start_paused = true)]
async fn an_address_that_moves_again_and_again_for_no_reason_is_found() {
    let scene = Scene::new().await;
    scene.moved_by_us(MOVES);
    assert_eq!(scene.found(), None);
    scene.moved_by_us(1 + MOVES % 2);
    assert_eq!(scene.found(), Some("L3"));
}

#[tokio::test(start_paused = true)]
async fn an_address_moves_as_often_as_there_is_a_reason() {
    let scene = Scene::new().await;
    for _ in 0..4 {
        scene.moved_by_us(MOVES);
        scene.wrote("pods", "ingress/a", &json!({}));
    }
    assert_eq!(scene.found(), None);
}

#[tokio::test(start_paused = true)]
async fn what_somebody_moved_before_anybody_saw_it_in_place_may_be_put_back_at_once() {
    let scene = Scene::at_the_start();
    scene.moved_by_hand(UNFIT);
    advance(Duration::from_millis(300)).await;
    scene.put_back();
    assert_eq!(scene.found(), None);
}

#[tokio::test(start_paused = true)]
async fn what_somebody_moved_is_left_alone_once_it_was_in_place_for_a_while() {
    let scene = Scene::at_the_start();
    advance(Duration::from_secs(20)).await;
    scene.moved_by_hand(UNFIT);
    advance(Duration::from_secs(5)).await;
    scene.put_back();
    assert_eq!(scene.found(), Some("drift"));
}

#[tokio::test(start_paused = true)]
async fn what_a_call_about_its_machine_took_off_may_be_put_back_at_once() {
    let scene = Scene::at_google().await;
    scene.moved_by_hand(UNFIT);
    scene.taken_off_by_us();
    scene.read();
    scene.put_back();
    assert_eq!(scene.found(), None);
}

#[tokio::test(start_paused = true)]
async fn what_somebody_moved_a_moment_ago_is_not_taken_off_to_be_put_back() {
    let scene = Scene::at_google().await;
    scene.moved_by_hand(UNFIT);
    scene.read();
    scene.take_off();
    assert_eq!(scene.found(), Some("drift"));
}

#[tokio::test(start_paused = true)]
async fn what_a_call_about_the_address_took_off_is_not_put_back_at_once() {
    let scene = Scene::new().await;
    scene.moved_by_hand(UNFIT);
    scene.taken_off_by_us();
    scene.put_back();
    assert_eq!(scene.found(), Some("drift"));
}
