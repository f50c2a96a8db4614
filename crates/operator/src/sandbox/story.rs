//! Reports events in plain lines.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use fakekube::FakeKube;
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::{Api, Client};

use super::objects::watched;
use crate::report::events::CONTROLLER;

/// Interval of checks for unsupported requests.
const CHECK_INTERVAL: std::time::Duration = std::time::Duration::from_millis(500);

/// Requests of `kubectl describe node` that may fail without harm.
const INCIDENTAL: &str = "/apis/resource.k8s.io/";

/// Writes lines to standard output. Clones share the set of reported events.
#[derive(Clone, Default)]
pub struct Story {
    told: Arc<Mutex<BTreeSet<String>>>,
}

impl Story {
    /// A story without reported events.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes a line.
    pub fn tell(&self, line: &str) {
        let mut out = std::io::stdout().lock();
        // Standard output is closed: the sandbox goes on until `quit`.
        drop(writeln!(out, "{line}").and_then(|()| out.flush()));
    }

    /// Writes a line with the time.
    pub fn tell_now(&self, line: &str) {
        self.tell(&format!("{} {line}", Timestamp::now().strftime("%H:%M:%S%.3f")));
    }

    /// Introduces the sandbox and the first commands to try.
    pub fn begin(
        &self,
        kubeconfig: &Path,
        inventory: &str,
        commands: &[String],
        pages: &[SocketAddr],
    ) {
        self.tell(&format!("✔ Kubernetes API in memory  ✔ {inventory}  ✔ operator"));
        self.tell(&format!("→ export KUBECONFIG={}", kubeconfig.display()));
        for command in commands {
            self.tell(&format!("→ {command}"));
        }
        for pages in pages {
            self.tell(&format!("→ curl http://{pages}/metrics"));
        }
    }

    /// Reports the operator's events until the API server ends.
    pub async fn follow(self, client: Client) {
        let mut events = Box::pin(watched(Api::<Event>::all(client)));
        while let Some(event) = events.next().await {
            if let Ok(event) = event {
                self.event(&event);
            }
        }
    }

    /// Reports requests that the in-memory API server does not support.
    pub async fn tell_unknown(self, kube: FakeKube) {
        let mut told = 0;
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            let all = kube.unknown_requests();
            for request in all.iter().skip(told).filter(|request| !request.contains(INCIDENTAL)) {
                self.tell_now(&lacking(request));
            }
            told = all.len();
        }
    }

    fn event(&self, event: &Event) {
        let Some(about) = event.regarding.as_ref() else { return };
        let ours = event.reporting_controller.as_deref() == Some(CONTROLLER);
        // Each move has an event on the pool and on the node; the pool's is enough here.
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
            reason => {
                let namespace = about.namespace.as_deref().filter(|text| !text.is_empty());
                let namespace = namespace.map(|text| format!("{text}/")).unwrap_or_default();
                let name = about.name.as_deref().unwrap_or_default();
                self.tell_now(&format!("{namespace}{name} {}: {note}", reason.unwrap_or_default()));
            }
        }
    }
}

/// Describes a request that was answered with 501: `METHOD path: fakekube does not support X`.
fn lacking(request: &str) -> String {
    let (call, why) = request.split_once(": ").unwrap_or((request, ""));
    let what = why.rsplit_once("support ").map_or("that", |(_, what)| what);
    format!("the sandbox's API server does not have {what} ({call})")
}
