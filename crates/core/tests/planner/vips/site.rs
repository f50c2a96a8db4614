//! A management cluster with a planner beside.

use std::collections::BTreeMap;

use pontoon_core::Time;
use pontoon_core::action::{Action, Failure, FailureKind, Outcome, VipAction};
use pontoon_core::model::ObjectKey;
use pontoon_core::plan::Planner;
use pontoon_core::vips::VipSource;
use pontoon_core::vips::model::{Cluster, ClusterClass, PoolId, VipClaim, VipSettings};
use pontoon_core::vips::verdict::{VipReason, VipVerdict};
use pontoon_core::world::{Settings, Source, World};

use super::fixture::*;
use super::management::Management;

/// An unowned claim of the VIP pool `a` without an address.
pub fn claim(name: &str) -> VipClaim {
    VipClaim {
        name: named(name),
        uid: format!("uid-{name}").as_str().into(),
        version: 0,
        created_at: at(0),
        owner: None,
        holder: None,
        foreign: false,
        label: None,
        cluster: None,
        pool: Some(PoolId::global("a")),
        bound: None,
        exhausted: false,
        deleting: false,
        moved_away: false,
    }
}

type Fault = (fn(&VipAction) -> bool, FailureKind);

pub struct Site {
    pub now: Time,
    pub api: Management,
    pub world: World,
    pub planner: Planner,
    pub settings: Settings,
    pub wake: Option<Time>,
    pub verdicts: BTreeMap<ObjectKey, VipVerdict>,
    /// Failures of the next matching writes.
    pub faults: Vec<Fault>,
}

/// A management cluster with the class `c`, of which everything is known.
pub fn site() -> Site {
    site_with(VipSettings::default())
}

pub fn site_with(vips: VipSettings) -> Site {
    let settings = Settings { vips, ..Settings::default() };
    let site = Site {
        now: at(0),
        api: Management::default(),
        world: World::new(settings, &[&CLUSTER]),
        planner: Planner::default(),
        settings,
        wake: None,
        verdicts: BTreeMap::new(),
        faults: vec![],
    };
    let mut site = site.class(class("c"));
    site.read();
    site
}

pub fn sources() -> impl Iterator<Item = Source> {
    [Source::Objects(&CLUSTER)].into_iter().chain(VipSource::ALL.map(Source::Vips))
}

impl Site {
    pub fn read(&mut self) {
        sources().for_each(|source| self.world.source_read(source));
    }

    pub fn class(mut self, class: ClusterClass) -> Self {
        self.api.classes.insert(class.name.clone(), class);
        self
    }

    pub fn pool(mut self, pool: PoolOf) -> Self {
        self.api.set_pool(pool);
        self
    }

    pub fn cluster(mut self, cluster: Cluster) -> Self {
        self.api.set_cluster(cluster);
        self
    }

    pub fn claim(mut self, claim: VipClaim) -> Self {
        self.api.set_claim(claim);
        self
    }

    /// Has the next write that matches fail.
    pub fn fault(&mut self, such: fn(&VipAction) -> bool, kind: FailureKind) {
        self.faults.push((such, kind));
    }

    /// Changes a stored Cluster.
    pub fn change(&mut self, name: &str, change: impl FnOnce(&mut Cluster)) {
        let mut cluster = self.api.clusters[&key(name)].clone();
        change(&mut cluster);
        self.api.set_cluster(cluster);
    }

    /// Changes a stored claim.
    pub fn change_claim(&mut self, name: &str, change: impl FnOnce(&mut VipClaim)) {
        let mut claim = self.api.claims[&named(name)].clone();
        change(&mut claim);
        self.api.set_claim(claim);
    }

    /// Deletes a stored Cluster.
    pub fn delete(&mut self, name: &str) {
        self.api.clusters.remove(&key(name));
    }

    /// Plans once, after all watches have delivered, without carrying anything out.
    pub fn plan(&mut self) -> Vec<VipAction> {
        self.api.show(&mut self.world);
        let plan = self.planner.next(&mut self.world, self.now);
        self.wake = plan.wake;
        self.verdicts.extend(plan.vips);
        let vip = |action| match action {
            Action::Vip(action) => action,
            other => panic!("not about a VIP: {other}"),
        };
        plan.actions.into_iter().map(vip).collect()
    }

    /// Plans once, before the watch has delivered a stored Cluster.
    pub fn plan_without_seeing(&mut self, name: &str) -> Vec<VipAction> {
        let unseen = self.api.clusters.remove(&key(name));
        let planned = self.plan();
        self.api.clusters.extend(unseen.map(|one| (key(name), one)));
        planned
    }

    /// Carries out an action, with scripted faults.
    pub fn carry_out(&mut self, action: VipAction) {
        let fault = self.faults.iter().position(|(such, _)| such(&action));
        let result = match fault.map(|index| self.faults.remove(index).1) {
            None => self.api.carry_out(&action, self.now),
            Some(FailureKind::NoAnswer) => {
                drop(self.api.carry_out(&action, self.now));
                Err(Failure::plain(FailureKind::NoAnswer, "no answer"))
            }
            Some(kind) => Err(Failure::plain(kind, "scripted")),
        };
        let outcome = Outcome { action: Action::Vip(action), sent_at: self.now, result, jitter: 0 };
        self.world.finish(outcome, self.now);
    }

    /// Plans once and carries out the actions.
    pub fn step(&mut self) -> Vec<VipAction> {
        let actions = self.plan();
        for action in &actions {
            self.world.begin(&Action::Vip(action.clone()));
        }
        for action in actions.iter().cloned() {
            self.carry_out(action);
        }
        actions
    }

    /// Lets everybody work until nothing more happens. Returns our actions.
    pub fn settle(&mut self) -> Vec<VipAction> {
        let mut done = vec![];
        for _ in 0..100 {
            let before = self.api.version;
            let actions = self.step();
            self.api.collect();
            self.api.provide();
            if actions.is_empty() && self.api.version == before {
                return done;
            }
            done.extend(actions);
        }
        panic!("never quiet: {done:#?}");
    }

    /// Lets everybody work for a while.
    pub fn run(&mut self, time: u64) -> Vec<VipAction> {
        let end = self.now + seconds(time);
        let mut done = self.settle();
        while let Some(wake) = self.wake.filter(|wake| *wake <= end) {
            self.now = wake;
            done.extend(self.settle());
        }
        self.now = end;
        done.extend(self.settle());
        done
    }

    /// Restarts the operator: only what is stored is known.
    pub fn restart(&mut self) {
        self.world = World::new(self.settings, &[&CLUSTER]);
        self.planner = Planner::default();
        self.read();
    }

    pub fn stored(&self, name: &str) -> &Cluster {
        &self.api.clusters[&key(name)]
    }

    pub fn host(&self, name: &str) -> Option<&str> {
        self.stored(name).host.as_deref()
    }

    pub fn reason(&self, name: &str) -> &VipReason {
        &self.verdicts[&key(name)].reason
    }

    pub fn word(&self, name: &str) -> &'static str {
        self.reason(name).word()
    }

    pub fn message(&self, name: &str) -> String {
        self.verdicts[&key(name)].to_string()
    }

    /// The VIP pool of a stored claim.
    pub fn pool_of(&self, claim: &str) -> String {
        self.api.claims[&named(claim)].pool.as_ref().expect("a VIP pool").to_string()
    }
}
