//! The watches that are begun, ended and shared.

use fakekube::FakeKube;
use pontoon_core::addresses::{Abilities, AccountSetup};
use pontoon_core::model::Families;
use pontoon_core::nodes::MOST_NAMESPACES;
use pontoon_core::world::Settings;
use serde_json::json;
use tokio::sync::mpsc::{Receiver, channel};

use super::*;
use crate::fronts::kinds;
use crate::fronts::net_ip_allocation::NET_IP_ALLOCATION;

struct Stage {
    world: World,
    watches: Watches,
    /// Kept, because a watch ends without a receiver.
    _inbox: Receiver<Observation>,
}

fn stage() -> Stage {
    let (to, inbox) = channel(1);
    let station = Station { env: Env::real(), hearing: Default::default(), to };
    let client = Client::new(FakeKube::new(1).service(), "default");
    let served = (Controllers::default(), VipOptions::default());
    let watches = Watches::new(client, station, JoinSet::new(), served);
    let mut world = World::new(Settings::default(), &kinds().collect::<Vec<_>>());
    world.set_account("digitalocean".into(), Ok(setup()));
    Stage { world, watches, _inbox: inbox }
}

fn setup() -> AccountSetup {
    let abilities = Abilities {
        moves_at_once: true,
        families: Families::BOTH,
        per_machine: 1,
        places_new: Families::V4,
        marks_new: false,
        region_required: true,
        lists_by_machine: false,
        displaces_own: false,
    };
    AccountSetup { cloud: "digitalocean".into(), project: None, abilities }
}

impl Stage {
    /// Allocations whose Deployments are in this many namespaces.
    fn ask(&mut self, namespaces: usize) {
        let front = front(&NET_IP_ALLOCATION).unwrap();
        for key in self.world.objects_of(&NET_IP_ALLOCATION) {
            self.world.remove_pool(&key);
        }
        for n in 0..namespaces {
            let workload = json!({"kind": "Deployment", "name": "web", "namespace": space(n)});
            let object = json!({
                "apiVersion": NET_IP_ALLOCATION.api_version(), "kind": NET_IP_ALLOCATION.name,
                "metadata": {"name": space(n), "uid": space(n), "resourceVersion": "1"},
                "spec": {
                    "reservedIPs": [format!("192.0.2.{n}")],
                    "cloud": {"provider": "digitalocean"}, "workloadRef": workload,
                },
            });
            let object = serde_json::from_value(object).unwrap();
            let observed = front.decode(object, Schema::Current).unwrap();
            self.world.set_pool(observed.addresses.unwrap());
        }
        self.watches.follow_pods(&mut self.world);
    }

    /// The watched namespaces, and whether all their controllers have been listed.
    fn watched(&self) -> Vec<(Option<&str>, bool)> {
        let all = self.watches.parents.iter();
        all.map(|(namespace, one)| (namespace.as_deref(), one.listed)).collect()
    }
}

fn space(n: usize) -> String {
    format!("n{n}")
}

#[tokio::test]
async fn replica_sets_of_many_namespaces_share_a_watch_until_no_object_asks() {
    let mut stage = stage();
    stage.ask(2);
    assert_eq!(stage.watched(), [(Some("n0"), false), (Some("n1"), false)]);
    stage.ask(MOST_NAMESPACES + 1);
    assert_eq!(stage.watched(), [(None, false)]);
    stage.watches.parents_listed(Some("n0".into()), &mut stage.world);
    assert_eq!(stage.watched(), [(None, false)], "the list of a watch that ended");
    stage.watches.parents_listed(None, &mut stage.world);
    assert_eq!(stage.watched(), [(None, true)]);
    stage.ask(2);
    assert_eq!(stage.watched(), [(None, true)], "a watch that covers more than needed goes on");
    stage.ask(0);
    assert_eq!(stage.watched(), []);
    stage.ask(2);
    assert_eq!(stage.watched(), [(Some("n0"), false), (Some("n1"), false)]);
}
