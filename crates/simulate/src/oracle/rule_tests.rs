//! Single rules: what is well by any view, what is idle for too long, ledgers, deletions, reservations.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fakecloud::FakeCloud;
use fakekube::Write;
use pontoon::api::ADDRESSES_ANNOTATION;
use pontoon::leadership::LEASE;
use serde_json::{Value, json};
use tokio::time::{Instant, advance};

use super::{Oracle, Sent, Stuck};
use crate::vendor::Vendor;
use crate::wire::CloudAction;

const IP: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// The machines of two nodes that a pool may use.
const FIT: [u64; 2] = [1001, 1002];

/// The machine of a node that no pool may use.
const UNFIT: u64 = 1003;

/// Three nodes, an address on a machine, and a leader.
struct Scene {
    oracle: Arc<Mutex<Oracle>>,
    cloud: FakeCloud,
}

impl Scene {
    fn with_address_on(machine: u64) -> Self {
        let oracle = Arc::new(Mutex::new(Oracle::new(Instant::now())));
        let cloud = FakeCloud::new();
        cloud.dump_on_drop(None);
        let this = Self { oracle: Arc::clone(&oracle), cloud };
        for (machine, role) in [(FIT[0], "edge"), (FIT[1], "edge"), (UNFIT, "core")] {
            let name = format!("node-{machine}");
            this.wrote("nodes", &name, &node(machine, role));
            this.cloud.machine(machine, &name, Vendor::default().region());
        }
        let lease = json!({"spec": {"holderIdentity": "a1_pod"}});
        this.wrote("leases", &format!("default/{LEASE}"), &lease);
        this.cloud.observe(move |what, state| locked(&oracle).happened(what, state));
        this.cloud.reserve_on(IP, machine);
        this
    }

    fn oracle(&self) -> MutexGuard<'_, Oracle> {
        locked(&self.oracle)
    }

    fn wrote(&self, plural: &str, key: &str, object: &Value) {
        let after = Some(object);
        self.oracle().wrote(&Write { group: "", plural, key, before: None, after });
    }

    fn pool(&self, object: &Value) {
        self.wrote("floatingippools", "ingress/p", object);
    }

    fn moved_by_hand(&self, machine: u64) {
        self.oracle().by_hand(true);
        self.cloud.human_moves(IP, Some(machine));
        self.oracle().by_hand(false);
    }

    fn sends(&self, agent: &str, action: CloudAction, machine: Option<u64>) {
        let ip = (action == CloudAction::Assign).then_some(IP.into());
        let (agent, process) = (agent.to_owned(), "a1".to_owned());
        let path = String::new();
        self.oracle().sent(Sent { agent, process, action, ip, machine, records: None, path });
    }

    fn found(&self) -> Option<&'static str> {
        self.oracle().violation().map(|violation| violation.invariant)
    }
}

fn locked(oracle: &Mutex<Oracle>) -> MutexGuard<'_, Oracle> {
    oracle.lock().unwrap_or_else(PoisonError::into_inner)
}

fn node(machine: u64, role: &str) -> Value {
    json!({
        "metadata": {"labels": {"role": role}},
        "spec": {"providerID": format!("digitalocean://{machine}")},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// A pool with these listed addresses and this ledger.
fn pool(listed: &[Ipv4Addr], ledger: &Value) -> Value {
    json!({
        "metadata": {"uid": "u", "annotations": {ADDRESSES_ANNOTATION: ledger.to_string()}},
        "spec": {"ips": listed, "match": {"nodeLabel": "role=edge"}},
    })
}

async fn seconds(number: u64) {
    advance(Duration::from_secs(number)).await;
}

#[tokio::test(start_paused = true)]
async fn what_somebody_moved_from_one_good_node_to_another_is_not_moved_back() {
    let scene = Scene::with_address_on(FIT[0]);
    scene.pool(&pool(&[IP], &json!({})));
    seconds(200).await;
    scene.moved_by_hand(FIT[1]);
    seconds(5).await;
    scene.sends("a1-1", CloudAction::Assign, Some(FIT[0]));
    assert_eq!(scene.found(), Some("S4"));
}

#[tokio::test(start_paused = true)]
async fn what_somebody_moved_from_a_node_where_nobody_saw_it_yet_may_be_moved() {
    let scene = Scene::with_address_on(FIT[0]);
    scene.pool(&pool(&[IP], &json!({})));
    seconds(30).await;
    scene.moved_by_hand(FIT[1]);
    seconds(5).await;
    scene.sends("a1-1", CloudAction::Assign, Some(FIT[0]));
    assert_eq!(scene.found(), None);
}

#[tokio::test(start_paused = true)]
async fn an_address_that_is_idle_for_long_beside_a_free_node_is_found() {
    let scene = Scene::with_address_on(UNFIT);
    scene.pool(&pool(&[IP], &json!({})));
    scene.oracle().check_idle();
    seconds(134).await;
    scene.oracle().check_idle();
    assert_eq!(scene.found(), None);
    seconds(2).await;
    scene.oracle().check_idle();
    assert_eq!(scene.found(), Some("L1"));
}

#[tokio::test(start_paused = true)]
async fn a_pool_keeps_only_what_it_had() {
    let keeps = json!({"kept": [IP]});
    let scene = Scene::with_address_on(UNFIT);
    scene.pool(&pool(&[IP], &json!({})));
    scene.pool(&pool(&[], &json!({})));
    scene.pool(&pool(&[], &keeps));
    assert_eq!(scene.found(), None);
    let scene = Scene::with_address_on(UNFIT);
    scene.pool(&pool(&[], &keeps));
    assert_eq!(scene.found(), Some("S6"));
}

#[tokio::test(start_paused = true)]
async fn the_grace_period_of_a_node_goes_on_while_the_pool_s_selector_changes() {
    for (rest, found) in [(10, Some("grace")), (17, None)] {
        let scene = Scene::with_address_on(FIT[0]);
        let mut pool = pool(&[IP], &json!({}));
        pool["spec"]["gracePeriodSeconds"] = json!(40);
        scene.pool(&pool);
        seconds(60).await;
        scene.wrote("nodes", "node-1001", &node(FIT[0], "core"));
        seconds(24).await;
        pool["spec"]["match"]["nodeLabel"] = json!("role notin (core)");
        scene.pool(&pool);
        seconds(rest).await;
        scene.sends("a1-1", CloudAction::Assign, Some(FIT[1]));
        assert_eq!(scene.found(), found, "{rest}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_names_no_address_as_reserved_that_is_somebody_else_s() {
    let scene = Scene::with_address_on(UNFIT);
    let mut pool = pool(&[], &json!({}));
    pool["status"] = json!({"createdIPs": [IP]});
    scene.pool(&pool);
    assert_eq!(scene.found(), Some("S6"));
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pool_that_has_nothing_to_release_goes_while_releases_are_refused() {
    for (created, stays) in [(vec![], true), (vec![IP], false)] {
        let scene = Scene::with_address_on(UNFIT);
        let mut pool = pool(&[], &json!({"created": created}));
        pool["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        pool["spec"]["deletionPolicy"] = json!("Release");
        scene.pool(&pool);
        let mut oracle = scene.oracle();
        oracle.sticks(0, Stuck::GivingBack);
        let told = oracle.unplaced().iter().any(|text| text.contains("still being deleted"));
        assert_eq!(told, stays);
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_reservation_for_one_missing_address_is_found_while_the_first_is_under_way() {
    let scene = Scene::with_address_on(UNFIT);
    let mut pool = pool(&[], &json!({"intents": [{"id": "1"}, {"id": "2"}]}));
    pool["spec"]["desiredIPs"] = json!(1);
    scene.pool(&pool);
    seconds(10).await;
    scene.sends("a1-1", CloudAction::CreateIn, None);
    assert_eq!(scene.found(), None);
    scene.sends("a1-2", CloudAction::CreateIn, None);
    assert_eq!(scene.found(), Some("S1"));
}

#[tokio::test(start_paused = true)]
async fn a_pool_is_ready_exactly_if_its_address_is_in_place() {
    for (machine, ready, wrong) in [
        (FIT[0], "True", false),
        (UNFIT, "False", false),
        (UNFIT, "True", true),
        (FIT[0], "False", true),
    ] {
        let scene = Scene::with_address_on(machine);
        let mut pool = pool(&[IP], &json!({}));
        pool["status"] = json!({"conditions": [{"type": "Ready", "status": ready}]});
        scene.pool(&pool);
        let told = scene.oracle().unplaced().iter().any(|text| text.contains("said to be ready"));
        assert_eq!(told, wrong, "{machine} {ready}");
    }
}
