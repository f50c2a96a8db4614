//! Wakes waiting tasks in the order in which they began to wait.
//!
//! tokio's `watch` wakes waiting tasks in random order, so a run would not be repeatable.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
struct Shared {
    count: AtomicU64,
    notify: Notify,
}

/// The sending half: wakes all listeners.
#[derive(Debug, Default)]
pub(crate) struct Teller(Arc<Shared>);

impl Teller {
    /// Wakes all listeners.
    pub(crate) fn tell(&self) {
        self.0.count.fetch_add(1, Ordering::SeqCst);
        self.0.notify.notify_waiters();
    }

    /// A listener that waits for the next call of `tell`.
    pub(crate) fn listener(&self) -> Listener {
        Listener { seen: self.0.count.load(Ordering::SeqCst), shared: Arc::clone(&self.0) }
    }
}

/// The receiving half.
#[derive(Debug)]
pub(crate) struct Listener {
    shared: Arc<Shared>,
    seen: u64,
}

impl Listener {
    /// Marks all calls of `tell` so far as heard.
    pub(crate) fn mark_heard(&mut self) {
        self.seen = self.shared.count.load(Ordering::SeqCst);
    }

    /// Waits until `tell` is called. Cancel-safe: a dropped call misses no wake-up.
    pub(crate) async fn heard(&mut self) {
        let shared = Arc::clone(&self.shared);
        loop {
            let mut told = std::pin::pin!(shared.notify.notified());
            told.as_mut().enable();
            let count = shared.count.load(Ordering::SeqCst);
            if count != self.seen {
                self.seen = count;
                return;
            }
            told.await;
        }
    }
}
