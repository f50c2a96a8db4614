//! What was seen becomes what is known.

use pontoon_core::model::PoolKey;
use pontoon_core::world::Source;

use super::replica::Replica;
use crate::observe::{Observation, record_set};

impl Replica {
    pub(super) fn take_in(&mut self, observation: Observation) {
        match observation {
            Observation::Node(node) => self.world.set_node(*node),
            Observation::NodeGone(name) => self.world.remove_node(&name),
            Observation::NodesListed(names) => {
                self.world.retain_nodes(&names);
                self.world.source_read(Source::Nodes);
            }
            Observation::Pod(pod) => self.world.set_pod(&pod),
            Observation::PodGone(id) => self.world.remove_pod(&id),
            Observation::PodsListed(range, ids) => {
                self.world.retain_pods(&ids);
                self.world.pods_read(range);
            }
            Observation::Pool(observed) => {
                self.narrator.see_pool(&observed);
                self.world.set_pool(observed.pool.clone());
                match &observed.records {
                    Some(records) => self.world.set_record_set(records.clone()),
                    None => self.world.remove_record_set(&observed.pool.key),
                }
                self.statuses.see_pool(*observed);
            }
            Observation::PoolGone(key) => self.forget_pool(&key),
            Observation::PoolsListed(kind, keys) => {
                let gone = |key: &&_| !keys.contains(*key);
                let gone: Vec<_> =
                    self.world.pools().map(|(key, _)| key).filter(gone).cloned().collect();
                for key in gone.into_iter().filter(|key| key.kind == kind) {
                    self.forget_pool(&key);
                }
                self.world.source_read(Source::Pools);
            }
            Observation::RecordSet(observed) => {
                self.narrator.see_record_set(&observed);
                self.world.set_record_set(observed.set.clone());
                self.statuses.see_record_set(*observed);
            }
            Observation::RecordSetGone(key) => self.forget_record_set(&key),
            Observation::RecordSetsListed(keys) => {
                let ours = |key: &&PoolKey| key.kind == record_set::KIND && !keys.contains(*key);
                let gone = self.world.record_sets().map(|(key, _)| key).filter(ours);
                for key in gone.cloned().collect::<Vec<_>>() {
                    self.forget_record_set(&key);
                }
                self.world.source_read(Source::RecordSets);
            }
            Observation::Schema(kind, schema) => {
                self.statuses.redefined(kind);
                self.watches.schema(kind, schema);
            }
        }
    }

    fn forget_record_set(&mut self, key: &PoolKey) {
        self.world.remove_record_set(key);
        self.narrator.forget_record_set(key);
        self.statuses.forget(key);
    }

    fn forget_pool(&mut self, key: &PoolKey) {
        self.world.remove_pool(key);
        self.world.remove_record_set(key);
        self.narrator.forget_pool(key);
        self.statuses.forget(key);
    }
}
