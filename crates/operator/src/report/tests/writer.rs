//! Statuses are written once, even if the API server does not store all fields.

use std::time::Duration;

use fakekube::{Answer, FakeKube, Fault, On, Rule};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use pontoon_core::Time;
use pontoon_core::addresses::verdict::{Reason, Verdict};
use pontoon_core::model::ObjectKey;
use pontoon_core::plan::Plan;
use pontoon_core::world::{Settings, World};

use crate::env::Env;
use crate::fronts::floating_ip_pool::FloatingIPPools;
use crate::fronts::floating_ip_pool::{FLOATING_IP_POOL, FloatingIPPool, FloatingIPPoolSpec};
use crate::fronts::ledger::POOL_NAMES;
use crate::fronts::{Front, crds, kinds};
use crate::observe::schema::Schema;
use crate::report::objects::Objects;
use crate::report::writer::{StatusWriter, Wrote};

struct Stage {
    kube: FakeKube,
    client: Client,
    writer: StatusWriter,
    objects: Objects,
    world: World,
    now: Time,
}

/// A pool on an API server whose definition lacks a field of the status.
async fn stage() -> Stage {
    let kube = FakeKube::new(1);
    let client = Client::new(kube.service(), "default");
    let started = Time::from_micros(1_800_000_000_000_000);
    let env = Env::new(|| Duration::ZERO, started, fastrand::Rng::with_seed(1));
    let writer = StatusWriter::new(client.clone(), env);
    let world = World::new(Settings::default(), &kinds().collect::<Vec<_>>());
    let mut stage =
        Stage { kube, client, writer, objects: Objects::default(), world, now: started };
    stage.define(older()).await;
    stage.create("p").await;
    stage
}

/// Our definition of pools without `status.observedGeneration`.
fn older() -> CustomResourceDefinition {
    let mut crd = crds().remove(0);
    let schema = crd.spec.versions[0].schema.as_mut().unwrap();
    let root = schema.open_api_v3_schema.as_mut().unwrap();
    let status = root.properties.as_mut().unwrap().get_mut("status").unwrap();
    status.properties.as_mut().unwrap().remove("observedGeneration").unwrap();
    crd
}

fn key(name: &str) -> ObjectKey {
    ObjectKey { kind: &FLOATING_IP_POOL, namespace: "default".into(), name: name.into() }
}

impl Stage {
    fn pools(&self) -> Api<FloatingIPPool> {
        Api::namespaced(self.client.clone(), "default")
    }

    async fn define(&self, mut crd: CustomResourceDefinition) {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let name = crd.metadata.name.clone().unwrap();
        match api.get_opt(&name).await.unwrap() {
            None => drop(api.create(&PostParams::default(), &crd).await.unwrap()),
            Some(there) => {
                crd.metadata.resource_version = there.metadata.resource_version;
                api.replace(&name, &PostParams::default(), &crd).await.unwrap();
            }
        }
    }

    async fn create(&mut self, name: &str) {
        let ips = vec!["192.0.2.1".to_owned()];
        let spec =
            FloatingIPPoolSpec { provider: "digitalocean".into(), ips, ..Default::default() };
        let pool = FloatingIPPool::new(name, spec);
        self.pools().create(&PostParams::default(), &pool).await.unwrap();
        self.observe(name).await;
    }

    /// Delivers a stored pool, as the watch would.
    async fn observe(&mut self, name: &str) {
        let pool = self.pools().get(name).await.unwrap();
        let object = serde_json::from_value(serde_json::to_value(pool).unwrap()).unwrap();
        let observed = FloatingIPPools.decode(object, Schema::Current).unwrap();
        self.writer.seen(observed.key.clone());
        self.objects.see(observed);
    }

    fn say(&mut self, reason: Reason) {
        self.say_of(key("p"), reason);
    }

    fn say_of(&mut self, key: ObjectKey, reason: Reason) {
        let verdict = Verdict {
            reason,
            addresses: vec![],
            wanted: 1,
            available: vec![],
            available_count: 0,
            eligible: 0,
            census: None,
            unusable: vec![],
            last_assignment: None,
            created: vec![],
            kept: vec![],
            creation_error: None,
            evicting: Vec::new(),
            limited: None,
            withheld: None,
            names: &POOL_NAMES,
        };
        let mut plan = Plan::default();
        plan.verdicts.insert(key, verdict);
        self.writer.take(&mut self.objects, &plan);
    }

    /// Lets a minute pass, second by second, and carries out the writes.
    async fn minute(&mut self) -> Vec<Wrote> {
        let mut all = Vec::new();
        for _ in 0..60 {
            self.now = self.now + Duration::from_secs(1);
            self.writer.flush(&mut self.objects, &self.world, self.now);
            if self.objects.is_being_written(&key("p")) {
                let written = self.writer.next().await;
                all.extend(self.writer.written(&mut self.objects, written, self.now));
                self.observe("p").await;
            }
        }
        all
    }
}

#[tokio::test]
async fn what_an_older_definition_drops_is_told_once_and_not_sent_again() {
    let mut stage = stage().await;
    stage.say(Reason::NoMatchingNode);
    let wrote = stage.minute().await;
    assert_eq!(wrote.len(), 1, "{wrote:#?}");
    assert_eq!(wrote[0].dropped, ["status.observedGeneration"]);
    // A different status is written; the dropped field was already reported.
    stage.say(Reason::Assigning);
    let wrote = stage.minute().await;
    assert_eq!((wrote.len(), wrote[0].dropped.len()), (1, 0), "{wrote:#?}");
    // The upgraded definition causes another write.
    stage.define(crds().remove(0)).await;
    stage.writer.redefined(&mut stage.objects, &FLOATING_IP_POOL);
    let wrote = stage.minute().await;
    assert_eq!((wrote.len(), wrote[0].dropped.len()), (1, 0), "{wrote:#?}");
    let status = stage.pools().get("p").await.unwrap().status.unwrap();
    assert!(status.observed_generation.is_some());
    assert!(stage.minute().await.is_empty());
}

#[tokio::test]
async fn a_status_that_somebody_else_wrote_over_is_written_again() {
    let mut stage = stage().await;
    stage.say(Reason::NoMatchingNode);
    stage.minute().await;
    let mut pool = stage.pools().get("p").await.unwrap();
    pool.status.as_mut().unwrap().error = "mine".to_owned();
    stage.pools().replace_status("p", &PostParams::default(), &pool).await.unwrap();
    stage.observe("p").await;
    assert_eq!(stage.minute().await.len(), 1);
    assert_eq!(stage.pools().get("p").await.unwrap().status.unwrap().error, "");
}

#[tokio::test]
async fn another_object_of_the_same_name_gets_a_status_of_its_own() {
    let mut stage = stage().await;
    stage.say(Reason::NoMatchingNode);
    stage.minute().await;
    let pool = stage.pools().get("p").await.unwrap();
    stage.pools().delete("p", &DeleteParams::default()).await.unwrap();
    let again = FloatingIPPool::new("p", pool.spec);
    stage.pools().create(&PostParams::default(), &again).await.unwrap();
    stage.observe("p").await;
    stage.say(Reason::NoMatchingNode);
    assert_eq!(stage.minute().await.len(), 1);
}

#[tokio::test]
async fn a_status_that_is_refused_is_told_with_the_servers_words_and_tried_ever_more_rarely() {
    let mut stage = stage().await;
    let path = "/apis/flipop.digitalocean.com/v1alpha1/namespaces/*/floatingippools/*/status";
    let answer = Answer::status(403).message("no right to do that");
    let rule = stage.kube.inject(Rule::new(On::call("PUT", path), Fault::Answer(answer)));
    stage.say(Reason::NoMatchingNode);
    let wrote = stage.minute().await;
    assert!((4..=8).contains(&wrote.len()), "{}", wrote.len());
    let failure = wrote[0].result.as_ref().unwrap_err();
    assert!(failure.kind.is_refusal(), "{failure:?}");
    assert_eq!(&*failure.message, "no right to do that");
    stage.kube.clear(rule);
    assert_eq!(stage.minute().await.len(), 1, "once it may");
}

#[tokio::test]
async fn eight_statuses_are_written_at_a_time_and_all_in_the_end() {
    let mut stage = stage().await;
    let mut names: Vec<_> = (0..120).map(|number| format!("pool-{number}")).collect();
    for name in &names {
        stage.create(name).await;
        stage.say_of(key(name), Reason::NoMatchingNode);
    }
    names.push("p".to_owned());
    stage.say(Reason::NoMatchingNode);
    let mut most = 0;
    for _ in &names {
        stage.writer.flush(&mut stage.objects, &stage.world, stage.now);
        let under_way = names.iter().filter(|name| stage.objects.is_being_written(&key(name)));
        most = under_way.count().max(most);
        let written = stage.writer.next().await;
        stage.writer.written(&mut stage.objects, written, stage.now).unwrap().result.unwrap();
    }
    assert_eq!(most, 8);
    for name in names {
        assert!(stage.pools().get(&name).await.unwrap().status.is_some(), "{name}");
    }
}
