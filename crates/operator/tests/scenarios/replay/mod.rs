//! Replays the traffic of a scenario on the real API server on the in-memory server.
//!
//! Every request of the operator and of the test's own client is sent to a fresh fakekube, in the
//! order of their effects; code, reason, message and body of the answers must be the same. UIDs,
//! resource versions and generated names are translated as they are learned. Watches are left out,
//! because their events depend on timing.
//!
//! The log has the bodies of creates and updates as decoded by the real server, with defaults:
//! fakekube's own suite compares defaulting.

mod difference;
mod names;
mod order;
mod request;
mod unanswered;

use control_plane::AuditEntry;
use fakekube::FakeKube;
use kube::Client;
use serde_json::Value;

use crate::arena::Recording;
use names::Names;
use order::{Answer, Step};

/// The most differences that are shown: a single wrong write causes more.
const SHOWN: usize = 12;

/// Replays a recording on fakekube, and fails if the answers differ. A recording is empty without a
/// control plane.
pub async fn replay(recording: Recording) {
    let log = recording.taken();
    if log.is_empty() {
        return;
    }
    let Replay { compared, raced, differences, .. } = Replay::of(log).await;
    eprintln!("replayed on fakekube: {compared} answers compared, {raced} raced with a write");
    let count = differences.len();
    let shown = differences[..count.min(SHOWN)].join("\n");
    assert!(count == 0, "fakekube answers {count} requests otherwise:\n{shown}");
    assert!(compared > 0, "nothing was compared");
}

struct Replay {
    client: Client,
    names: Names,
    compared: usize,
    raced: usize,
    differences: Vec<String>,
}

impl Replay {
    /// Replays a log on a fresh fakekube.
    async fn of(log: Vec<AuditEntry>) -> Self {
        let began = log.first().map_or(fakekube::DEFAULT_BASE, |first| first.received);
        let client = Client::new(FakeKube::starting_at(1, began).service(), "default");
        let (names, differences) = (Names::default(), Vec::new());
        let mut replay = Self { client, names, compared: 0, raced: 0, differences };
        for step in order::steps(log) {
            replay.take(&step).await;
        }
        replay
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
            // The log contains JSON bodies only.
            let fake = serde_json::from_slice(&body).unwrap_or(Value::Null);
            self.compared += 1;
            self.compare(entry, parts.status.as_u16(), &fake);
        }
    }

    fn compare(&mut self, entry: &AuditEntry, code: u16, fake: &Value) {
        let mut found = difference::between(&entry.code.into(), &code.into(), "code");
        // The log has no bodies of answers other than objects, such as discovery.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::arena::{Arena, On};
    use kube::api::{DeleteParams, Patch, PatchParams};
    use serde_json::json;

    #[tokio::test]
    async fn an_answer_that_is_not_the_recorded_one_is_told_with_its_place() {
        let recording = Recording::default();
        let Some(arena) = Arena::open(On::Recorded(recording.clone())).await else { return };
        arena.node("a", 1).await;
        drop(arena);
        let mut log = recording.taken();
        let nodes = |entry: &&mut AuditEntry| entry.verb == "create" && entry.resource == "nodes";
        let created = log.iter_mut().find(nodes).unwrap();
        created.code = 418;
        created.response_object["spec"]["providerID"] = "another".into();

        let told = Replay::of(log).await.differences;

        assert_eq!(told.len(), 1, "{told:#?}");
        let places =
            "  code\n    real: 418\n    fake: 201\n  .spec.providerID\n    real: \"another\"";
        assert!(told[0].contains(places), "{}", told[0]);
    }

    #[tokio::test]
    async fn a_write_whose_answer_came_after_the_deletion_of_its_object_went_before_it() {
        let recording = Recording::default();
        let Some(arena) = Arena::open(On::Recorded(recording.clone())).await else { return };
        arena.node("a", 1).await;
        arena.nodes().delete("a", &DeleteParams::default()).await.unwrap();
        drop(arena);
        let mut log = recording.taken();
        let of_the_node = |verb: &'static str| {
            move |entry: &AuditEntry| entry.verb == verb && entry.resource == "nodes"
        };
        let deleted = log.iter().find(|one| of_the_node("delete")(one)).unwrap().completed;
        let written = log.iter_mut().rfind(|one| of_the_node("patch")(one)).unwrap();
        written.completed = deleted + Duration::from_millis(1);

        let told = Replay::of(log).await.differences;

        assert_eq!(told, [""; 0]);
    }

    /// The storage may carry out a write after the server gave up on it.
    #[tokio::test]
    async fn a_write_without_an_answer_is_repeated_also_if_a_read_after_it_does_not_show_it_yet() {
        let recording = Recording::default();
        let Some(arena) = Arena::open(On::Recorded(recording.clone())).await else { return };
        arena.node("a", 1).await;
        arena.nodes().get("a").await.unwrap();
        let patch = Patch::Merge(json!({"metadata": {"labels": {"late": "yes"}}}));
        arena.nodes().patch("a", &PatchParams::default(), &patch).await.unwrap();
        arena.nodes().get("a").await.unwrap();
        drop(arena);
        let mut log = recording.taken();
        let is_get = |entry: &&AuditEntry| entry.verb == "get" && entry.name == "a";
        let early = log.iter().find(is_get).unwrap().received - Duration::from_micros(2);
        let late =
            |entry: &&mut AuditEntry| entry.request_object["metadata"]["labels"]["late"] == "yes";
        let unanswered = log.iter_mut().find(late).unwrap();
        (unanswered.received, unanswered.completed) = (early, early + Duration::from_micros(1));
        (unanswered.code, unanswered.response_object) = (504, Value::Null);

        let told = Replay::of(log).await.differences;

        assert_eq!(told, [""; 0]);
    }
}
