//! The controllers of a management cluster at work: Cluster API and its IPAM provider, as the
//! stand-ins of the operator's own tests, at random intervals. Also the user who creates objects
//! again that are wanted and gone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fakekube::FakeKube;
use fastrand::Rng;
use jiff::Timestamp;
use kube::Client;
use kube::api::{DynamicObject, PostParams};
use pontoon::api::objects;
use pontoon::management::{KINDS, Steps, Stored, step};
use pontoon_core::model::Kind;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use crate::clusters::ManagementSetting;
use crate::schedule::Millis;

/// The shortest time between two steps.
const SHORTEST: Millis = 5;

/// Objects that their users want, by kind and name, with their namespace and manifest.
type Wanted = BTreeMap<(&'static Kind, String), (String, Value)>;

#[derive(Default)]
struct Orders {
    down: bool,
    wanted: Wanted,
}

/// The controllers at work.
pub struct Management {
    orders: Arc<Mutex<Orders>>,
    changed: Arc<Notify>,
    _task: JoinHandle<()>,
}

impl Management {
    /// Starts the controllers. `changed` tells of every write of an object of theirs.
    pub fn start(
        kube: FakeKube,
        user: Client,
        (begins, seed): (Timestamp, u64),
        setting: &ManagementSetting,
        changed: Arc<Notify>,
    ) -> Self {
        let orders: Arc<Mutex<Orders>> = Arc::default();
        let mut work = Work {
            kube,
            user,
            born: (begins, Instant::now()),
            dice: Rng::with_seed(seed ^ 0x6d61_6e61),
            pace: setting.pace.max(SHORTEST + 1),
            machines: Duration::from_millis(setting.machines),
            orders: Arc::clone(&orders),
        };
        let wakes = Arc::clone(&changed);
        let task = tokio::spawn(async move {
            let mut wake = None;
            loop {
                tokio::select! {
                    biased;
                    () = wakes.notified() => {}
                    () = until(wake) => {}
                }
                loop {
                    let pause = work.dice.u64(SHORTEST..work.pace);
                    sleep(Duration::from_millis(pause)).await;
                    let (done, next) = work.step().await;
                    wake = next;
                    if !done {
                        break;
                    }
                }
            }
        });
        Self { orders, changed, _task: task }
    }

    /// Stops the controllers, or lets them go on.
    pub fn set_down(&self, down: bool) {
        lock(&self.orders).down = down;
        self.changed.notify_one();
    }

    /// Has the user create an object whenever it is gone.
    pub fn want(&self, kind: &'static Kind, name: String, namespace: &str, manifest: Value) {
        lock(&self.orders).wanted.insert((kind, name), (namespace.to_owned(), manifest));
        self.changed.notify_one();
    }

    /// Lets an object stay away.
    pub fn forget(&self, kind: &'static Kind, name: &str) {
        lock(&self.orders).wanted.remove(&(kind, name.to_owned()));
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn until(wake: Option<Instant>) {
    match wake {
        Some(wake) => sleep_until(wake).await,
        None => std::future::pending().await,
    }
}

struct Work {
    kube: FakeKube,
    user: Client,
    /// A time of the API server, and the same moment on tokio's clock.
    born: (Timestamp, Instant),
    dice: Rng,
    pace: Millis,
    machines: Duration,
    orders: Arc<Mutex<Orders>>,
}

impl Work {
    /// Makes a step of each controller. Returns whether anything was done, and the next look.
    async fn step(&mut self) -> (bool, Option<Instant>) {
        let created = self.restore().await;
        if lock(&self.orders).down {
            return (created, None);
        }
        let Steps { writes, wake } = step(&self.stored(), self.now(), self.machines);
        let done = created || !writes.is_empty();
        for write in writes {
            // Another writer may have been faster.
            drop(write.send(&self.user).await);
        }
        let after = |wake: Timestamp| Duration::try_from(wake.duration_since(self.now()));
        (done, wake.map(|wake| Instant::now() + after(wake).unwrap_or_default()))
    }

    fn now(&self) -> Timestamp {
        let (begins, born) = self.born;
        begins.checked_add(born.elapsed()).unwrap_or(begins)
    }

    fn stored(&self) -> Stored {
        let mut stored = Stored::default();
        for kind in KINDS {
            for object in self.kube.objects(kind.group, kind.plural) {
                stored.set(kind, (*object).clone());
            }
        }
        stored
    }

    /// Creates wanted objects that are gone.
    async fn restore(&self) -> bool {
        let wanted = lock(&self.orders).wanted.clone();
        let mut created = false;
        for ((kind, name), (namespace, manifest)) in wanted {
            let all = self.kube.objects(kind.group, kind.plural);
            if all.iter().any(|one| one["metadata"]["name"] == *name) {
                continue;
            }
            let Ok(object) = serde_json::from_value::<DynamicObject>(manifest) else { continue };
            let api = objects(self.user.clone(), kind, &namespace);
            created |= api.create(&PostParams::default(), &object).await.is_ok();
        }
        created
    }
}
