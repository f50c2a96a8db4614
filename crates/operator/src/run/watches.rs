//! The watches of a replica: nodes, the definitions of our kinds, the kinds that are defined, and
//! the pods that some object asks for.

use kube::{Api, Client};
use pontoon_core::matching::PodMatch;
use pontoon_core::world::World;
use tokio::task::{AbortHandle, JoinError, JoinSet};

use crate::env::Env;
use crate::observe::node::Nodes;
use crate::observe::pod::{self, PodView, Pods};
use crate::observe::pool::{self, Pools};
use crate::observe::record_set::{self, RecordSets};
use crate::observe::schema::{Definition, Schema, UPGRADE};
use crate::observe::{self, Observation, Selection, Station};

/// The watches of a replica.
pub(super) struct Watches {
    client: Client,
    station: Station,
    tasks: JoinSet<()>,
    pools: Option<(Schema, AbortHandle)>,
    record_sets: Option<(Schema, AbortHandle)>,
    pods: Option<(PodMatch, AbortHandle)>,
}

impl Watches {
    /// Watches that do not watch yet, among the other tasks of the replica.
    pub fn new(client: Client, station: Station, tasks: JoinSet<()>) -> Self {
        Self { client, station, tasks, pools: None, record_sets: None, pods: None }
    }

    pub fn start(&mut self) {
        self.watch(Api::all(self.client.clone()), Selection::default(), Nodes::default());
        for definition in Definition::all() {
            let selection = definition.selection();
            self.watch(Api::all(self.client.clone()), selection, definition);
        }
    }

    /// Waits for a task of the replica that panicked: none of them may be missing without a word.
    pub async fn failed(&mut self) -> JoinError {
        loop {
            match self.tasks.join_next().await {
                Some(Err(error)) if error.is_panic() => return error,
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Watches the pods that objects ask for, and none if no object asks for pods.
    ///
    /// A watch that covers more than is asked for goes on: each change of the range reads a whole
    /// list. While a wider one reads its list, what was known stays known.
    pub fn follow_pods(&mut self, world: &mut World) {
        let (wanted, watched) = (world.pods_wanted(), self.pods.as_ref());
        let enough = match (wanted, watched) {
            (None, None) => true,
            (Some(wanted), Some((range, _))) => range.covers(wanted),
            _ => false,
        };
        if enough {
            return;
        }
        let wanted = wanted.cloned();
        if let Some((_, before)) = self.pods.take() {
            before.abort();
            self.station.hearing.ends(pod::KIND);
        }
        world.pods_watched(wanted.as_ref());
        let Some(range) = wanted else {
            tracing::info!("no object asks for pods: watching none");
            return;
        };
        let PodMatch { namespace, labels } = &range;
        tracing::info!(namespace = namespace.as_deref(), %labels, "watching pods");
        let api = pods_of(&self.client, namespace.as_deref());
        let pods = Pods::of(range.clone());
        let handle = self.watch(api, pods.selection(), pods);
        self.pods = Some((range, handle));
    }

    /// Watches a kind while it is defined. A definition that changes starts its watch anew,
    /// so that every object is looked at again in its light.
    pub fn schema(&mut self, kind: &'static str, schema: Schema) {
        let slot = if kind == pool::KIND { &mut self.pools } else { &mut self.record_sets };
        if slot.as_ref().is_some_and(|(before, _)| *before == schema) {
            return;
        }
        if let Some((_, before)) = slot.take() {
            before.abort();
            self.station.hearing.ends(kind);
        }
        match schema {
            Schema::Missing => {
                tracing::warn!(kind, "not defined in this cluster; define it with: {UPGRADE}");
            }
            Schema::Old => {
                tracing::warn!(kind, "a predecessor's definition: observing only; run: {UPGRADE}");
            }
            Schema::Current => tracing::info!(kind, "watching"),
        }
        let handle = match (kind, schema) {
            (_, Schema::Missing) => self.tell_none(kind),
            (pool::KIND, schema) => {
                let api = Api::all(self.client.clone());
                self.watch(api, Selection::default(), Pools::new(schema))
            }
            (_, schema) => {
                let api = Api::all(self.client.clone());
                self.watch(api, Selection::default(), RecordSets::new(schema))
            }
        };
        let slot = if kind == pool::KIND { &mut self.pools } else { &mut self.record_sets };
        *slot = Some((schema, handle));
    }

    /// A kind that is not defined has no objects.
    fn tell_none(&mut self, kind: &'static str) -> AbortHandle {
        let to = self.station.to.clone();
        let none = match kind {
            record_set::KIND => Observation::RecordSetsListed(Default::default()),
            _ => Observation::PoolsListed(kind, Default::default()),
        };
        // Nobody listens any more only when the replica is gone.
        self.env().spawn(&mut self.tasks, async move { drop(to.send(none).await) })
    }

    fn watch<W: observe::Watch>(
        &mut self,
        api: Api<W::Object>,
        selection: Selection,
        watch: W,
    ) -> AbortHandle {
        let watching = observe::watch(api, selection, watch, self.station.clone());
        self.env().spawn(&mut self.tasks, watching)
    }

    fn env(&self) -> Env {
        self.station.env.clone()
    }
}

/// The pods of a namespace, or of all.
fn pods_of(client: &Client, namespace: Option<&str>) -> Api<PodView> {
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}
