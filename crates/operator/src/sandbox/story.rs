//! Tells in plain lines what happens.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use fakekube::FakeKube;
use futures::TryStreamExt;
use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::runtime::watcher;
use kube::{Api, Client};

use super::cluster::Load;
use super::command::KEYS;
use crate::report::events::CONTROLLER;

/// How often the API server is asked what it did not know.
const LOOK: std::time::Duration = std::time::Duration::from_millis(500);

/// Writes lines to standard output. Clones share it.
#[derive(Clone, Default)]
pub struct Story {
    told: Arc<Mutex<BTreeSet<String>>>,
}

impl Story {
    /// Nothing told yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One line.
    pub fn tell(&self, line: &str) {
        let mut out = std::io::stdout().lock();
        // Nobody listens any more: the sandbox goes on until it is told to quit.
        drop(writeln!(out, "{line}").and_then(|()| out.flush()));
    }

    /// One line with the time.
    pub fn tell_now(&self, line: &str) {
        self.tell(&format!("{} {line}", Timestamp::now().strftime("%H:%M:%S%.3f")));
    }

    /// What there is, and what to do with it.
    pub fn begin(&self, kubeconfig: &Path, load: &Load, keys: bool) {
        self.tell(&format!(
            "✔ Kubernetes API in memory  ✔ emulated cloud ({} nodes, {} addresses)  ✔ operator",
            load.nodes,
            load.pools * load.ips
        ));
        self.tell(&format!("→ export KUBECONFIG={}", kubeconfig.display()));
        self.tell("→ kubectl get floatingippools -A");
        if keys {
            self.tell(KEYS);
        }
    }

    /// Follows what the operator says, for as long as the API server lives.
    pub async fn follow(self, client: Client) {
        let events: Api<Event> = Api::all(client);
        let mut stream = Box::pin(watcher::watcher(events, watcher::Config::default()));
        loop {
            match stream.try_next().await {
                Ok(Some(watcher::Event::Apply(event) | watcher::Event::InitApply(event))) => {
                    self.event(&event);
                }
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(100)).await,
            }
        }
    }

    /// Tells of requests that the API server in memory does not know.
    pub async fn tell_unknown(self, kube: FakeKube) {
        let mut told = 0;
        loop {
            tokio::time::sleep(LOOK).await;
            for request in kube.unknown_requests().iter().skip(told) {
                told += 1;
                self.tell_now(&format!("not known to the sandbox (501): {request}"));
            }
        }
    }

    fn event(&self, event: &Event) {
        let Some(about) = event.regarding.as_ref() else { return };
        let ours = event.reporting_controller.as_deref() == Some(CONTROLLER);
        // Each move is told of the pool and of the node: once is enough here.
        if !ours || about.kind.as_deref() == Some("Node") {
            return;
        }
        let name = event.metadata.name.clone().unwrap_or_default();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if !told.insert(name) {
            return;
        }
        let note = event.note.as_deref().unwrap_or_default();
        match event.reason.as_deref() {
            Some("Assigned") => self.tell_now(note),
            reason => self.tell_now(&format!(
                "{}/{} {}: {note}",
                about.namespace.as_deref().unwrap_or_default(),
                about.name.as_deref().unwrap_or_default(),
                reason.unwrap_or_default()
            )),
        }
    }
}
