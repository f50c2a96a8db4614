//! The watches of a replica: nodes, the definitions of our kinds, objects of the defined kinds, and
//! the pods that objects select.

use std::collections::{BTreeMap, BTreeSet};

use kube::{Api, Client};
use pontoon_core::model::Kind;
use pontoon_core::nodes::PodMatch;
use pontoon_core::world::World;
use tokio::task::{AbortHandle, JoinError, JoinSet};

use crate::api::all_objects;
use crate::env::Env;
use crate::fronts::front;
use crate::observe::node::Nodes;
use crate::observe::objects::Objects;
use crate::observe::pod::{self, PodView, Pods};
use crate::observe::schema::{Definition, Schema, UPGRADE};
use crate::observe::{self, Observation, Selection, Station};

/// The watches of a replica.
pub(super) struct Watches {
    client: Client,
    station: Station,
    tasks: JoinSet<()>,
    objects: BTreeMap<&'static Kind, (Schema, AbortHandle)>,
    pods: Option<(PodMatch, AbortHandle)>,
}

impl Watches {
    /// Watches that have not started, among the other tasks of the replica.
    pub fn new(client: Client, station: Station, tasks: JoinSet<()>) -> Self {
        Self { client, station, tasks, objects: BTreeMap::new(), pods: None }
    }

    pub fn start(&mut self) {
        self.watch(Api::all(self.client.clone()), Selection::default(), Nodes::default());
        for definition in Definition::all() {
            let selection = definition.selection();
            self.watch(Api::all(self.client.clone()), selection, definition);
        }
    }

    /// Waits for a task of the replica to panic, because no task may disappear silently.
    pub async fn failed(&mut self) -> JoinError {
        loop {
            match self.tasks.join_next().await {
                Some(Err(error)) if error.is_panic() => return error,
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Watches the pods that objects select. Without a selection, no pods are watched.
    ///
    /// A watch that covers more than needed goes on, because each change of the range reads a whole
    /// list. Known pods stay known while a wider watch reads its list.
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
        let PodMatch { namespace, labels, .. } = &range;
        tracing::info!(namespace = namespace.as_deref(), %labels, "watching pods");
        let api = pods_of(&self.client, namespace.as_deref());
        let pods = Pods::of(range.clone());
        let handle = self.watch(api, pods.selection(), pods);
        self.pods = Some((range, handle));
    }

    /// Watches a kind while its definition exists. A changed definition restarts the watch, so that
    /// every object is evaluated again.
    pub fn schema(&mut self, kind: &'static Kind, schema: Schema) {
        if self.objects.get(kind).is_some_and(|(before, _)| *before == schema) {
            return;
        }
        if let Some((_, before)) = self.objects.remove(kind) {
            before.abort();
            self.station.hearing.ends(kind.name);
        }
        let name = kind.name;
        match schema {
            Schema::Missing => {
                tracing::warn!(
                    kind = name,
                    "not defined in this cluster; define it with: {UPGRADE}"
                );
            }
            Schema::Old => {
                tracing::warn!(
                    kind = name,
                    "a predecessor's definition: observing only; run: {UPGRADE}"
                );
            }
            Schema::Current => tracing::info!(kind = name, "watching"),
        }
        let handle = match front(kind).filter(|_| schema != Schema::Missing) {
            Some(front) => {
                let api = all_objects(self.client.clone(), kind);
                self.watch(api, Selection::default(), Objects::new(front, schema))
            }
            None => self.tell_none(kind),
        };
        self.objects.insert(kind, (schema, handle));
    }

    /// Reports an empty list for a kind without a definition.
    fn tell_none(&mut self, kind: &'static Kind) -> AbortHandle {
        let to = self.station.to.clone();
        let none = Observation::ObjectsListed(kind, BTreeSet::new());
        // The channel is closed only after the end of the replica.
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

/// The pods of a namespace, or of all namespaces.
fn pods_of(client: &Client, namespace: Option<&str>) -> Api<PodView> {
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}
