//! What the watches have seen of Clusters, for the hooks. The main loop writes, the server reads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pontoon_core::model::{ObjectKey, Text};

use crate::fronts::Observed;

/// What the watches have seen of Clusters. Clones share the state. Nothing is kept on the default board,
/// which nobody reads.
#[derive(Clone, Debug, Default)]
pub struct Board(Option<Arc<Mutex<Entries>>>);

type Entries = BTreeMap<ObjectKey, Seen>;

/// A Cluster, as last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The UID.
    pub uid: Text,
    /// The endpoint's host.
    pub host: Option<Text>,
    /// Our condition on the Cluster: reason and message. Every replica sees the same one.
    pub said: Option<(String, String)>,
}

impl Board {
    /// A board that is read.
    pub fn open() -> Self {
        Self(Some(Arc::default()))
    }

    /// Takes an object that appeared or changed.
    pub fn see(&self, observed: &Observed) {
        let (Some(mut entries), Some(cluster)) = (self.entries(), &observed.vips) else { return };
        let condition = observed.face.conditions().first();
        let said = condition.map(|one| (one.reason.clone(), one.message.clone()));
        let seen = Seen { uid: cluster.uid.clone(), host: cluster.host.clone(), said };
        entries.insert(observed.key.clone(), seen);
    }

    /// Forgets an object that is gone.
    pub fn forget(&self, key: &ObjectKey) {
        if let Some(mut entries) = self.entries() {
            entries.remove(key);
        }
    }

    /// A Cluster, as last seen.
    pub(super) fn seen(&self, key: &ObjectKey) -> Option<Seen> {
        self.entries()?.get(key).cloned()
    }

    fn entries(&self) -> Option<MutexGuard<'_, Entries>> {
        let entries = self.0.as_ref()?;
        Some(entries.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
