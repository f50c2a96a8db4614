//! The traffic of a scenario on the real API server, asked again of the in-memory one.
//!
//! Every request of the operator and of the test's own client is sent to a fresh fakekube,
//! one after the other, in the order in which they took effect; code, reason, message and
//! body of the answers must be the same. UIDs, resource versions and generated names are
//! translated as they are learned. Watches are left out: what they send depends on when they
//! are asked.
//!
//! The log has the bodies of creates and updates as the real server has read them, with
//! defaults: defaulting is compared by fakekube's own suite, not here.

mod difference;
mod names;
mod order;
mod request;

use std::sync::{Arc, Mutex, PoisonError};

use control_plane::AuditEntry;
use fakekube::FakeKube;
use kube::Client;
use serde_json::Value;

use names::Names;
use order::{Answer, Step};

/// So many are shown: the first wrong write makes others wrong.
const SHOWN: usize = 12;

/// What the real API server was asked, once the arena has closed.
#[derive(Clone, Debug, Default)]
pub struct Recording(Arc<Mutex<Vec<AuditEntry>>>);

impl Recording {
    pub fn keep(&self, log: Vec<AuditEntry>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = log;
    }

    /// Asks fakekube the same and fails if it answers otherwise. Nothing is recorded, and
    /// nothing asked, where there is no control plane.
    pub async fn replay(self) {
        let log = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(first) = log.first() else { return };
        let kube = FakeKube::starting_at(1, first.received);
        let mut replay = Replay::new(&kube);
        for step in order::steps(log) {
            replay.take(&step).await;
        }
        let Replay { compared, raced, differences, .. } = replay;
        eprintln!("replayed on fakekube: {compared} answers compared, {raced} raced with a write");
        let count = differences.len();
        let shown = differences[..count.min(SHOWN)].join("\n");
        assert!(count == 0, "fakekube answers {count} requests otherwise:\n{shown}");
        assert!(compared > 0, "nothing was compared");
    }
}

struct Replay {
    client: Client,
    names: Names,
    compared: usize,
    raced: usize,
    differences: Vec<String>,
}

impl Replay {
    fn new(kube: &FakeKube) -> Self {
        let client = Client::new(kube.service(), "default");
        let (names, differences) = (Names::default(), Vec::new());
        Self { client, names, compared: 0, raced: 0, differences }
    }

    async fn take(&mut self, step: &Step) {
        let Step { entry, answer } = step;
        if *answer == Answer::Raced {
            self.raced += 1;
            return;
        }
        let request = request::of(entry, &self.names);
        let (parts, body) = self.client.send(request).await.unwrap().into_parts();
        let body = body.collect_bytes().await.unwrap();
        if *answer == Answer::Certain {
            // What is not JSON is not in the log either.
            let fake = serde_json::from_slice(&body).unwrap_or(Value::Null);
            self.compared += 1;
            self.compare(entry, parts.status.as_u16(), &fake);
        }
    }

    fn compare(&mut self, entry: &AuditEntry, code: u16, fake: &Value) {
        let mut found = difference::between(&entry.code.into(), &code.into(), "code");
        // The log has no bodies of answers that are no objects, such as discovery.
        let real = &entry.response_object;
        if !real.is_null() {
            let versions = difference::versions_of(entry);
            self.names.learn(real, fake, versions);
            let real = difference::comparable(self.names.translated(real), versions);
            let fake = difference::comparable(fake.clone(), versions);
            found.extend(difference::between(&real, &fake, ""));
        }
        if !found.is_empty() {
            self.differences.push(difference::told(entry, &found));
        }
    }
}
