//! That something is new, told to whoever waits, in the order in which they began to wait.
//!
//! tokio's own `watch` wakes those who wait in a random order: a run would not be repeatable.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
struct Shared {
    count: AtomicU64,
    notify: Notify,
}

/// Tells that something is new.
#[derive(Debug, Default)]
pub(crate) struct Teller(Arc<Shared>);

impl Teller {
    /// Something is new.
    pub(crate) fn tell(&self) {
        self.0.count.fetch_add(1, Ordering::SeqCst);
        self.0.notify.notify_waiters();
    }

    /// One who has heard everything so far.
    pub(crate) fn listener(&self) -> Listener {
        Listener { seen: self.0.count.load(Ordering::SeqCst), shared: Arc::clone(&self.0) }
    }
}

/// Waits for what is new.
#[derive(Debug)]
pub(crate) struct Listener {
    shared: Arc<Shared>,
    seen: u64,
}

impl Listener {
    /// Everything so far has been heard.
    pub(crate) fn mark_heard(&mut self) {
        self.seen = self.shared.count.load(Ordering::SeqCst);
    }

    /// Waits until something is new. May be dropped and called again without missing any.
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
