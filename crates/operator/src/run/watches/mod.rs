//! The watches of a replica: the definitions of the served kinds, objects of the defined kinds and what they
//! depend on, nodes, and the pods that objects select. Nothing is watched that no defined kind needs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::NamespaceResourceScope;
use kube::{Api, Client};
use pontoon_core::model::{Kind, Subject, Text};
use pontoon_core::nodes::PodMatch;
use pontoon_core::world::World;
use pontoon_providers::MachineNames;
use tokio::task::{AbortHandle, JoinError, JoinSet};

use super::VipOptions;
use crate::api::objects_within;
use crate::env::Env;
use crate::fronts::{Controllers, Dependency, Front, dependency, front, own_kinds};
use crate::observe::node::Nodes;
use crate::observe::objects::Objects;
use crate::observe::pod::{PodView, Pods};
use crate::observe::replica_set::{ReplicaSetView, ReplicaSets};
use crate::observe::schema::{Definition, Schema, Schemas, UPGRADE};
use crate::observe::{self, Observation, Selection, Station, Watch};

/// The watches of a replica.
pub(super) struct Watches {
    client: Client,
    station: Station,
    tasks: JoinSet<()>,
    objects: BTreeMap<&'static Kind, AbortHandle>,
    schemas: Schemas,
    controllers: Controllers,
    vips: VipOptions,
    /// Tells the machines of nodes without a provider ID, for the watch of nodes to come.
    machine_names: Option<Arc<MachineNames>>,
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
    pub fn new(
        client: Client,
        station: Station,
        tasks: JoinSet<()>,
        (controllers, vips): (Controllers, VipOptions),
    ) -> Self {
        Self {
            client,
            station,
            tasks,
            objects: BTreeMap::new(),
            schemas: Schemas::default(),
            controllers,
            vips,
            machine_names: None,
            pods: Vec::new(),
            parents: BTreeMap::new(),
        }
    }

    /// Watches definitions, which lead to all other watches. `names` tell the machines of nodes
    /// without a provider ID.
    pub fn start(&mut self, names: Arc<MachineNames>) {
        self.machine_names = Some(names);
        let fronts: Vec<_> = self.controllers.fronts().collect();
        for front in fronts {
            self.watch_definition(Definition::of(front.kind(), front.generations()));
        }
    }

    fn watch_definition(&mut self, definition: Definition) {
        let selection = definition.selection();
        self.watch(Api::all(self.client.clone()), selection, definition);
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
        let all_watched = self.parents.contains_key(&None) && !parents.is_empty();
        if !all_watched && !parents.iter().eq(self.parents.keys()) {
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
        self.tell_parents(world);
    }

    /// Notes that the controllers of a namespace, or of all, have been listed.
    pub fn parents_listed(&mut self, namespace: Option<Text>, world: &mut World) {
        if let Some(parents) = self.parents.get_mut(&namespace) {
            parents.listed = true;
        }
        self.tell_parents(world);
    }

    fn tell_parents(&self, world: &mut World) {
        let listed = self.parents.iter().filter(|(_, one)| one.listed);
        world.parents_read(listed.map(|(namespace, _)| namespace.clone()).collect());
    }

    /// Watches a kind while its definition exists. A changed definition restarts the watch, so that
    /// every object is evaluated again.
    pub fn schema(&mut self, kind: &'static Kind, schema: Schema) {
        if self.schemas.get(kind) == Some(schema) {
            return;
        }
        self.schemas.set(kind, schema);
        self.stop(kind);
        tell(kind, schema);
        if let Some(dependency) = dependency(kind) {
            return self.depend_on(dependency);
        }
        let handle = match front(kind).filter(|_| schema != Schema::Missing) {
            Some(front) => {
                self.watch_nodes_for(kind);
                let version = schema.generation().map_or(kind.version, |one| one.version);
                let within = front.within(&self.vips);
                let api = objects_within(self.client.clone(), kind, version, within);
                let handle = self.watch(api, Selection::default(), Objects::new(front, schema));
                self.watch_dependencies(front);
                handle
            }
            None => self.send(Observation::ObjectsListed(kind, BTreeSet::new())),
        };
        self.objects.insert(kind, handle);
    }

    /// Watches what objects of a kind depend on: the definitions first, which lead to the objects. The
    /// objects are evaluated again if the version of the front's kind has changed.
    fn watch_dependencies(&mut self, front: &'static dyn Front) {
        for dependency in front.dependencies().iter().copied() {
            let kind = dependency.kind();
            let built_in = dependency.generations().is_empty();
            match self.schemas.get(kind) {
                None if built_in => {
                    let wanted = dependency.is_wanted(&self.vips);
                    self.schema(kind, if wanted { Schema::Current } else { Schema::Missing });
                }
                None => self.watch_definition(Definition::of(kind, dependency.generations())),
                Some(_) => {
                    self.stop(kind);
                    self.depend_on(dependency);
                }
            }
        }
    }

    /// Watches a built-in kind from now on.
    pub fn need(&mut self, kind: &'static Kind) {
        if self.schemas.get(kind) == Some(Schema::Missing) {
            self.schema(kind, Schema::Current);
        }
    }

    fn depend_on(&mut self, dependency: &'static dyn Dependency) {
        let kind = dependency.kind();
        let handle = match self.schemas.get(kind) {
            None | Some(Schema::Missing) => self.send(Observation::Fact(dependency.none())),
            Some(_) => {
                let station = self.station.clone();
                let client = self.client.clone();
                let watching = dependency.watch(client, &self.vips, &self.schemas, station);
                self.env().spawn(&mut self.tasks, watching)
            }
        };
        self.objects.insert(kind, handle);
    }

    /// Watches nodes, once objects of a kind that needs nodes may exist.
    fn watch_nodes_for(&mut self, kind: &Kind) {
        let needs = [Subject::Addresses, Subject::Records].iter().any(|one| kind.may_ask_for(*one));
        if let Some(names) = self.machine_names.take_if(|_| needs) {
            self.watch(Api::all(self.client.clone()), Selection::default(), Nodes::new(names));
        }
    }

    fn stop(&mut self, kind: &'static Kind) {
        if let Some(before) = self.objects.remove(kind) {
            before.abort();
            self.station.hearing.ends(kind.name);
        }
    }

    /// Tells the replica something that no watch tells.
    fn send(&mut self, observation: Observation) -> AbortHandle {
        let to = self.station.to.clone();
        // The channel is closed only after the end of the replica.
        self.env().spawn(&mut self.tasks, async move { drop(to.send(observation).await) })
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

/// Logs the state of a kind's definition.
fn tell(kind: &Kind, schema: Schema) {
    let (name, theirs) = (kind.name, !own_kinds().any(|own| own == kind));
    let is_built_in = dependency(kind).is_some_and(|one| one.generations().is_empty());
    match schema {
        // A built-in kind, which no object needs.
        Schema::Missing if theirs && is_built_in => {}
        Schema::Missing if theirs => tracing::info!(kind = name, "not in this cluster"),
        // Not a warning: a cluster where another project's kinds alone are served needs none of ours.
        Schema::Missing => {
            tracing::info!(kind = name, "not defined in this cluster; define it with: {UPGRADE}");
        }
        Schema::Old => {
            tracing::warn!(
                kind = name,
                "a predecessor's definition: observing only; run: {UPGRADE}"
            );
        }
        Schema::Current => tracing::info!(kind = name, "watching"),
        Schema::Theirs(served) => {
            tracing::info!(kind = name, version = served.version, "watching");
        }
    }
}

#[cfg(test)]
mod tests;
