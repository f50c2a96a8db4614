//! Applies observations to the world.

use pontoon_core::model::ObjectKey;
use pontoon_core::world::Source;

use super::replica::Replica;
use crate::fronts::Observed;
use crate::observe::Observation;
use crate::observe::schema::Schema;

impl Replica {
    pub(super) fn apply(&mut self, observation: Observation) {
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
                self.world.retain_pods(&range, &ids);
                self.world.pods_read(range);
            }
            Observation::Parent((namespace, child), parent) => {
                self.world.set_parent(namespace, child, parent);
            }
            Observation::ParentsListed(namespace, children) => {
                self.world.retain_parents(namespace.as_ref(), &children);
                self.watches.parents_listed(namespace, &mut self.world);
            }
            Observation::Object(observed) => self.take_object(*observed),
            Observation::ObjectGone(key) => self.forget(&key),
            Observation::ObjectsListed(kind, keys) => {
                for key in self.world.objects_of(kind).difference(&keys) {
                    self.forget(key);
                }
                self.world.source_read(Source::Objects(kind));
            }
            Observation::Fact(fact) => {
                if let Some(kind) = fact.tell(&mut self.world) {
                    self.watches.need(kind);
                }
            }
            Observation::Schema(kind, schema) => {
                self.statuses.redefined(&mut self.objects, kind);
                self.executor.defines(kind, schema);
                self.facing.defines(kind, schema != Schema::Missing);
                self.watches.schema(kind, schema);
            }
        }
    }

    fn take_object(&mut self, observed: Observed) {
        if let Some(pool) = &observed.addresses {
            self.world.set_pool(pool.clone());
        }
        match &observed.records {
            Some(records) => self.world.set_record_set(records.clone()),
            None => self.world.remove_record_set(&observed.key),
        }
        if let Some(cluster) = &observed.vips {
            self.world.set_cluster(cluster.clone());
        }
        self.board.see(&observed);
        self.statuses.seen(observed.key.clone());
        self.announcer.see(&mut self.objects, observed);
    }

    fn forget(&mut self, key: &ObjectKey) {
        self.world.remove_pool(key);
        self.world.remove_record_set(key);
        self.world.remove_cluster(key);
        self.board.forget(key);
        self.announcer.forget(key);
        self.objects.forget(key);
    }
}
