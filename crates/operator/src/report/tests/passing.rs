//! States on the way to a VIP are written only if they last, and never beside a write of the Cluster.

use std::time::Duration;

use fakekube::FakeKube;
use kube::Client;
use pontoon_core::Time;
use pontoon_core::action::{Action, EndpointWrite, Version, VipAction};
use pontoon_core::plan::Plan;
use pontoon_core::vips::model::ObjectName;
use pontoon_core::vips::verdict::{VipReason, VipVerdict};
use pontoon_core::world::{Settings, World};
use serde_json::json;

use crate::env::Env;
use crate::fronts::cluster_vips::names::NAMES;
use crate::fronts::cluster_vips::{CLUSTER, ClusterVips};
use crate::fronts::{Front, kinds};
use crate::observe::schema::Schema;
use crate::report::objects::Objects;
use crate::report::writer::StatusWriter;

struct Stage {
    writer: StatusWriter,
    objects: Objects,
    world: World,
    now: Time,
}

/// A Cluster without a condition.
fn stage() -> Stage {
    let now = Time::from_micros(1_800_000_000_000_000);
    let env = Env::new(|| Duration::ZERO, now, fastrand::Rng::with_seed(1));
    let client = Client::new(FakeKube::new(1).service(), "default");
    let world = World::new(Settings::default(), &kinds().collect::<Vec<_>>());
    let (writer, objects) = (StatusWriter::new(client, env), Objects::default());
    let mut stage = Stage { writer, objects, world, now };
    stage.observe("7");
    stage
}

impl Stage {
    fn observe(&mut self, version: &str) {
        let object = serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": {"name": "x", "namespace": "n", "uid": "u", "resourceVersion": version},
            "spec": {"topology": {"classRef": {"name": "c"}}},
        }));
        let schema = Schema::Theirs(&ClusterVips.generations()[0]);
        let mut observed = ClusterVips.decode(object.unwrap(), schema).unwrap();
        self.writer.seen(observed.key.clone());
        self.world.set_cluster(observed.vips.take().unwrap());
        self.objects.see(observed);
    }

    fn key(&self) -> pontoon_core::model::ObjectKey {
        let (namespace, name) = ("n".into(), "x".into());
        pontoon_core::model::ObjectKey { kind: &CLUSTER, namespace, name }
    }

    fn say(&mut self, reason: VipReason) {
        let names = &NAMES;
        let verdict = VipVerdict { reason, job: None, parts: [].into(), names, withheld: None };
        let mut plan = Plan::default();
        plan.vips.insert(self.key(), verdict);
        self.writer.take(&mut self.objects, &plan);
    }

    /// Lets time pass. Returns whether a write is under way, and the time until the next look.
    fn after(&mut self, millis: u64) -> (bool, Option<Duration>) {
        self.now = self.now + Duration::from_millis(millis);
        let next = self.writer.flush(&mut self.objects, &self.world, self.now);
        let writes = self.objects.is_being_written(&self.key());
        (writes, next.map(|next| next.since(self.now)))
    }

    fn write_endpoint(&mut self) {
        let object = Version { name: ObjectName::new("n", "x"), uid: "u".into(), version: 7 };
        let (cluster, host) = (self.key(), std::net::IpAddr::from([192, 0, 2, 1]));
        let (port, variable, claimed_at) = (6443, true, self.now);
        let write = EndpointWrite { cluster, object, host, port, variable, claimed_at };
        self.world.begin(&Action::Vip(VipAction::SetEndpoint(write)));
    }
}

#[tokio::test]
async fn a_state_on_the_way_to_a_vip_is_written_if_it_lasts_a_second() {
    let mut stage = stage();
    stage.say(VipReason::Claiming);
    assert_eq!(stage.after(0), (false, Some(Duration::from_secs(1))));
    stage.say(VipReason::AwaitingAddress(None));
    assert_eq!(stage.after(900), (false, Some(Duration::from_millis(100))));
    assert_eq!(stage.after(100), (true, None));
}

#[tokio::test]
async fn a_vip_in_place_is_written_at_once() {
    let mut stage = stage();
    stage.say(VipReason::Claiming);
    assert!(!stage.after(0).0);
    stage.say(VipReason::Allocated);
    assert_eq!(stage.after(10), (true, None));
}

#[tokio::test]
async fn nothing_is_written_while_the_cluster_is_being_written() {
    let mut stage = stage();
    stage.say(VipReason::Allocated);
    stage.write_endpoint();
    assert_eq!(stage.after(5000), (false, None));
}
