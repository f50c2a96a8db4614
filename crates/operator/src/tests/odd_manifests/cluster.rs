//! Feeds objects from the API server into the world, as the main loop does.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{ObjectList, WatchEvent};
use pontoon_core::Time;
use pontoon_core::action::{Action, AddressAction, Done, LedgerWrite, Outcome};
use pontoon_core::addresses::{Abilities, AccountSetup};
use pontoon_core::model::{Families, Family, ObjectKey, Pool, Sighting, Taint};
use pontoon_core::plan::{Planner, plan_all};
use pontoon_core::records::RecordAbilities;
use pontoon_core::vips::VipSource;
use pontoon_core::world::{Settings, Source, World};
use serde_json::Value;

use crate::fronts::floating_ip_pool::{FLOATING_IP_POOL, FloatingIPPool};
use crate::fronts::{FRONTS, Observed, Verdicts, kinds, ledger};
use crate::observe::node::Nodes;
use crate::observe::objects::Objects;
use crate::observe::pod::Pods;
use crate::observe::schema::{Definition, Schema};
use crate::observe::{Observation, Watch};

const NOW: Time = Time::from_micros(1_794_713_757_000_000);

/// The world, built from the objects seen so far.
pub(super) struct Cluster {
    world: World,
    nodes: Nodes,
    pods: Pods,
    objects: BTreeMap<ObjectKey, Observed>,
}

impl Cluster {
    pub fn new() -> Self {
        let mut world = World::new(Settings::default(), &kinds().collect::<Vec<_>>());
        let setup = AccountSetup {
            cloud: "digitalocean".into(),
            project: None,
            abilities: Abilities {
                moves_at_once: true,
                families: Families::BOTH,
                per_machine: 1,
                places_new: Families::V4,
                marks_new: false,
                region_required: true,
                lists_by_machine: false,
                displaces_own: false,
            },
        };
        world.set_account("digitalocean".into(), Ok(setup));
        let host = RecordAbilities { ttls: 30..=i32::MAX as u32, automatic_ttl: None };
        world.set_record_account("digitalocean".into(), Ok(host));
        let objects = kinds().map(Source::Objects);
        let vips = VipSource::ALL.into_iter().map(Source::Vips);
        for source in objects.chain([Source::Nodes, Source::Pods]).chain(vips) {
            world.source_read(source);
        }
        Self { world, nodes: Nodes::default(), pods: Pods::default(), objects: BTreeMap::new() }
    }

    /// Passes the object to every watch, whatever the object's kind.
    pub fn take(&mut self, text: &str) {
        let mut seen = decode(&mut self.nodes, text);
        seen.extend(decode(&mut self.pods, text));
        for schema in [Schema::Old, Schema::Current] {
            for front in FRONTS.iter().copied() {
                seen.extend(decode(&mut Objects::new(front, schema), text));
            }
        }
        for front in FRONTS.iter() {
            let mut definition = Definition::of(front.kind(), front.generations());
            seen.extend(decode(&mut definition, text));
        }
        assert_told(text, &seen);
        seen.into_iter().for_each(|observation| self.observe(observation));
    }

    fn observe(&mut self, observation: Observation) {
        match observation {
            Observation::Node(node) => self.world.set_node(*node),
            Observation::NodeGone(name) => self.world.remove_node(&name),
            Observation::NodesListed(names) => self.world.retain_nodes(&names),
            Observation::Pod(pod) => self.world.set_pod(&pod),
            Observation::PodGone(id) => self.world.remove_pod(&id),
            Observation::PodsListed(range, ids) => self.world.retain_pods(&range, &ids),
            Observation::Parent(..) | Observation::ParentsListed(..) => {}
            Observation::Object(observed) => self.observe_object(*observed),
            // Objects are never removed, so that all are planned.
            Observation::ObjectGone(_)
            | Observation::ObjectsListed(..)
            | Observation::Fact(_)
            | Observation::Schema(..) => {}
        }
    }

    fn observe_object(&mut self, observed: Observed) {
        if let Some(pool) = &observed.addresses {
            self.world.set_pool(pool.clone());
        }
        if let Some(records) = &observed.records {
            self.world.set_record_set(records.clone());
        }
        if let Some(cluster) = &observed.vips {
            self.world.set_cluster(cluster.clone());
        }
        self.objects.insert(observed.key.clone(), observed);
    }

    /// Plans everything, in part and as a whole, before and after a listing, and builds every
    /// status.
    pub fn plan(&mut self) {
        let mut planner = Planner::default();
        for turn in 0..3 {
            let plan = plan_all(&self.world, NOW);
            for (key, observed) in &self.objects {
                let verdicts = Verdicts {
                    addresses: plan.verdicts.get(key),
                    records: plan.records.get(key),
                    vips: plan.vips.get(key),
                };
                observed.face.wanted(verdicts, NOW);
            }
            for action in planner.next(&mut self.world, NOW).actions {
                self.world.begin(&action);
                if let Action::Ledger(LedgerWrite { ledger, .. }) = &action {
                    let stored = ledger::write(ledger);
                    // The guard is not part of the annotation.
                    let read = ledger::read(Some(&stored)).map(|mut read| {
                        read.guarded = ledger.guarded;
                        read
                    });
                    assert_eq!(read.as_ref(), Ok(ledger));
                }
            }
            if turn == 0 {
                self.hear();
            }
        }
    }

    /// Handles a listing with two addresses.
    fn hear(&mut self) {
        let held = Sighting { holder: Some("12".into()), ..Sighting::default() };
        let listed = [("192.0.2.1", held), ("198.51.100.7", Sighting::default())];
        let listed = listed.map(|(ip, seen)| (ip.parse().unwrap(), seen));
        let families = Family::ALL.to_vec();
        let action = Action::Address(AddressAction::List {
            account: "digitalocean".into(),
            families,
            confirms: false,
            scope: Default::default(),
        });
        let result = Ok(Done::Listed(listed.into()));
        self.world.finish(Outcome { action, sent_at: NOW, result, jitter: 0 }, NOW);
    }

    /// The only pool.
    fn pool(&self) -> Option<&Pool> {
        self.objects.values().find_map(|observed| observed.addresses.as_ref())
    }

    /// The finding on the only pool.
    pub fn finding(&self) -> Option<&'static str> {
        let request = &self.pool()?.request;
        let finding = request.as_ref().map_or_else(Some, |request| request.unreadable.as_ref());
        finding.map(|finding| finding.reason)
    }

    /// Whether the only pool tolerates a taint; `None` without a valid request.
    pub fn tolerates(&self, taint: &Taint) -> Option<bool> {
        let request = self.pool()?.request.as_ref().ok()?;
        Some(request.matching.tolerations.iter().any(|one| one.tolerates(taint)))
    }
}

/// Decodes an object from a list and from an event, as the client does.
fn decode<W: Watch>(watch: &mut W, text: &str) -> Vec<Observation> {
    let list = format!(
        r#"{{"apiVersion":"v1","kind":"List","metadata":{{"resourceVersion":"1"}},"items":[{text}]}}"#
    );
    let mut seen = vec![];
    watch.restart();
    if let Ok(list) = serde_json::from_str::<ObjectList<W::Object>>(&list) {
        for object in list.items {
            seen.extend(watch.gone(object.clone()));
            seen.extend(watch.seen(object));
        }
    }
    seen.extend(watch.listed());
    let event = format!(r#"{{"type":"MODIFIED","object":{text}}}"#);
    if let Ok(WatchEvent::Modified(object)) = serde_json::from_str(&event) {
        seen.extend(watch.gone(W::Object::clone(&object)));
        seen.extend(watch.seen(object));
    }
    seen
}

/// Objects of ours with valid metadata are always observed, and carry a finding if they could not
/// be decoded.
fn assert_told(text: &str, seen: &[Observation]) {
    let Ok(object) = serde_json::from_str::<Value>(text) else { return };
    let metadata = serde_json::from_value::<ObjectMeta>(object["metadata"].clone());
    if !metadata.is_ok_and(|metadata| metadata.name.is_some()) {
        return;
    }
    let objects = seen.iter().filter_map(|one| match one {
        Observation::Object(observed) => Some(&**observed),
        _ => None,
    });
    for kind in kinds().filter(|kind| object["kind"] == kind.name) {
        let of_kind = objects.clone().filter(|one| one.key.kind == kind).count();
        assert_eq!(of_kind, 4, "in a list and an event, for both schemas: {text}");
    }
    if serde_json::from_value::<FloatingIPPool>(object.clone()).is_err() {
        let told = |observed: &Observed| {
            let finding = observed.addresses.as_ref().and_then(|pool| pool.request.as_ref().err());
            !observed.decoded && finding.is_some_and(|finding| finding.reason == "Undecodable")
        };
        let mut pools = objects.filter(|one| *one.key.kind == FLOATING_IP_POOL);
        assert!(pools.all(told), "{text}");
    }
}
