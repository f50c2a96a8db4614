//! The watches of a replica: nodes, pods, definitions, and the kinds that are defined.

use std::future::Future;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::mpsc::Sender;
use tokio::task::{AbortHandle, JoinSet};

use crate::env::Env;
use crate::observe::node::Nodes;
use crate::observe::pod::Pods;
use crate::observe::pool::{self, Pools};
use crate::observe::record_set::{self, RecordSets};
use crate::observe::schema::{Definitions, Schema, UPGRADE};
use crate::observe::{self, Observation};

/// The watches of a replica.
pub(super) struct Watches {
    client: Client,
    env: Env,
    to: Sender<Observation>,
    tasks: JoinSet<()>,
    pools: Option<(Schema, AbortHandle)>,
    record_sets: Option<(Schema, AbortHandle)>,
}

impl Watches {
    /// Watches that do not watch yet, among the other tasks of the replica.
    pub fn new(client: Client, env: Env, to: Sender<Observation>, tasks: JoinSet<()>) -> Self {
        Self { client, env, to, tasks, pools: None, record_sets: None }
    }

    pub fn start(&mut self) {
        let nodes = self.watch(Api::all(self.client.clone()), Nodes::default());
        self.env.spawn(&mut self.tasks, nodes);
        let pods = self.watch(Api::all(self.client.clone()), Pods::default());
        self.env.spawn(&mut self.tasks, pods);
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let definitions = self.watch(crds, Definitions::default());
        self.env.spawn(&mut self.tasks, definitions);
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
            (_, Schema::Missing) => {
                let to = self.to.clone();
                self.env.spawn(&mut self.tasks, async move {
                    // Nobody listens any more only when the replica is gone.
                    let none = match kind {
                        record_set::KIND => Observation::RecordSetsListed(Default::default()),
                        _ => Observation::PoolsListed(kind, Default::default()),
                    };
                    drop(to.send(none).await);
                })
            }
            (pool::KIND, schema) => {
                let pools = self.watch(Api::all(self.client.clone()), Pools::new(schema));
                self.env.spawn(&mut self.tasks, pools)
            }
            (_, schema) => {
                let sets = self.watch(Api::all(self.client.clone()), RecordSets::new(schema));
                self.env.spawn(&mut self.tasks, sets)
            }
        };
        let slot = if kind == pool::KIND { &mut self.pools } else { &mut self.record_sets };
        *slot = Some((schema, handle));
    }

    fn watch<W: observe::Watch>(
        &self,
        api: Api<W::Object>,
        watch: W,
    ) -> impl Future<Output = ()> + Send + use<W> {
        observe::watch(api, watcher::Config::default(), watch, self.env.clone(), self.to.clone())
    }
}
