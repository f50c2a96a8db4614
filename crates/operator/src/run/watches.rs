//! The watches of a replica: nodes, the definitions of our kinds, objects of the defined kinds, and
//! the pods that objects select.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::NamespaceResourceScope;
use kube::{Api, Client};
use pontoon_core::model::{Kind, Text};
use pontoon_core::nodes::PodMatch;
use pontoon_core::world::World;
use pontoon_providers::MachineNames;
use tokio::task::{AbortHandle, JoinError, JoinSet};

use crate::api::all_objects;
use crate::env::Env;
use crate::fronts::front;
use crate::observe::node::Nodes;
use crate::observe::objects::Objects;
use crate::observe::pod::{PodView, Pods};
use crate::observe::replica_set::{ReplicaSetView, ReplicaSets};
use crate::observe::schema::{Definition, Schema, UPGRADE};
use crate::observe::{self, Observation, Selection, Station, Watch};

/// The watches of a replica.
pub(super) struct Watches {
    client: Client,
    station: Station,
    tasks: JoinSet<()>,
    objects: BTreeMap<&'static Kind, (Schema, AbortHandle)>,
    pods: Vec<(PodMatch, AbortHandle)>,
    /// The watches of the controllers of pods, by namespace.
    parents: BTreeMap<Option<Text>, Parents>,
}

/// A watch of controllers of pods.
struct Parents {
    handle: AbortHandle,
    listed: bool,
}

impl Watches {
    /// Watches that have not started, among the other tasks of the replica.
    pub fn new(client: Client, station: Station, tasks: JoinSet<()>) -> Self {
        Self {
            client,
            station,
            tasks,
            objects: BTreeMap::new(),
            pods: Vec::new(),
            parents: BTreeMap::new(),
        }
    }

    /// Watches nodes and definitions; the latter lead to all other watches. `names` tell the
    /// machines of nodes without a provider ID.
    pub fn start(&mut self, names: Arc<MachineNames>) {
        self.watch(Api::all(self.client.clone()), Selection::default(), Nodes::new(names));
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

    /// Watches the pods that objects select, and the owners of their controllers. Without a
    /// selection, no pods are watched.
    ///
    /// A watch that covers more than needed goes on, because each change of a range reads a whole
    /// list. Known pods stay known while a wider watch reads its list.
    pub fn follow_pods(&mut self, world: &mut World) {
        let wanted = world.pods_wanted();
        let covered = |one: &PodMatch| self.pods.iter().any(|(range, _)| range.covers(one));
        let needed = |range: &PodMatch| wanted.iter().any(|one| range.covers(one));
        let enough = wanted.iter().all(covered) && self.pods.iter().all(|(one, _)| needed(one));
        if !enough {
            let wanted = wanted.to_vec();
            self.watch_pods(wanted, world);
        }
        let parents = world.parents_wanted();
        if !parents.iter().eq(self.parents.keys()) {
            self.watch_parents(&parents, world);
        }
    }

    fn watch_pods(&mut self, wanted: Vec<PodMatch>, world: &mut World) {
        let (kept, ended): (Vec<_>, _) =
            std::mem::take(&mut self.pods).into_iter().partition(|(one, _)| wanted.contains(one));
        for (range, before) in ended {
            before.abort();
            self.station.hearing.ends(Pods::of(range).name());
        }
        self.pods = kept;
        world.pods_watched(&wanted);
        if wanted.is_empty() {
            tracing::info!("no object asks for pods: watching none");
        }
        for range in wanted {
            if self.pods.iter().any(|(one, _)| *one == range) {
                continue;
            }
            let PodMatch { namespace, labels, .. } = &range;
            tracing::info!(namespace = namespace.as_deref(), %labels, "watching pods");
            let api: Api<PodView> = within(&self.client, namespace.as_deref());
            let pods = Pods::of(range.clone());
            let handle = self.watch(api, pods.selection(), pods);
            self.pods.push((range, handle));
        }
    }

    fn watch_parents(&mut self, wanted: &BTreeSet<Option<Text>>, world: &mut World) {
        let kept = |namespace: &Option<Text>| wanted.contains(namespace);
        for (namespace, before) in self.parents.extract_if(.., |namespace, _| !kept(namespace)) {
            before.handle.abort();
            self.station.hearing.ends(ReplicaSets::of(namespace).name());
        }
        for namespace in wanted {
            if self.parents.contains_key(namespace) {
                continue;
            }
            tracing::info!(namespace = namespace.as_deref(), "watching ReplicaSets");
            let api: Api<ReplicaSetView> = within(&self.client, namespace.as_deref());
            let sets = ReplicaSets::of(namespace.clone());
            let handle = self.watch(api, Selection::default(), sets);
            self.parents.insert(namespace.clone(), Parents { handle, listed: false });
        }
        world.parents_read(self.parents.values().all(|one| one.listed));
    }

    /// Notes that the controllers of a namespace, or of all, have been listed.
    pub fn parents_listed(&mut self, namespace: Option<Text>, world: &mut World) {
        if let Some(parents) = self.parents.get_mut(&namespace) {
            parents.listed = true;
        }
        world.parents_read(self.parents.values().all(|one| one.listed));
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

/// The objects of a namespace, or of all namespaces.
fn within<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}
