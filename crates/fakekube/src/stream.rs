//! The task that serves a watch.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fakehttp::RuleId;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};

use crate::body::Broken;
use crate::call::Call;
use crate::faults::Arrival;
use crate::news::Listener;
use crate::refusal::Refusal;
use crate::state::{OpenWatch, Shared};
use crate::store::Compacted;
use crate::verbs::watch::{Watching, line};

/// Interval of bookmarks for a watch with bookmarks.
const BOOKMARKS: Duration = Duration::from_secs(60);

/// Time between the last bookmark and the end of a watch.
const FAREWELL: Duration = Duration::from_secs(2);

type Events = mpsc::Sender<Result<Bytes, Broken>>;

/// A watch in progress. Ends on timeout, when the caller goes away, when the connection is cut,
/// when its history is compacted, or when its kind is no longer served.
pub(crate) struct Task {
    shared: Arc<Shared>,
    sequence: u64,
    watching: Watching,
    events: Events,
    news: Listener,
    cut: Arc<Notify>,
    stale: Option<RuleId>,
    end: Instant,
    breaks: Option<Instant>,
    bookmark: Instant,
}

/// The next event of a watch's loop.
enum Next {
    News,
    Bookmark,
    End,
    Break,
}

impl Task {
    /// Registers a watch. Its history begins with this call.
    pub(crate) fn new(
        shared: Arc<Shared>,
        call: Call,
        arrival: &Arrival,
        watching: Watching,
        events: Events,
    ) -> Self {
        let Arrival { sequence, weather } = arrival;
        let now = Instant::now();
        let cut = Arc::new(Notify::new());
        let mut state = shared.lock();
        let news = state.store.news_of(&watching.kind.storage);
        state.watches.insert(*sequence, OpenWatch { call, cut: Arc::clone(&cut) });
        drop(state);
        let end = now + watching.longest;
        Self {
            sequence: *sequence,
            news,
            cut,
            stale: weather.own.stale,
            end,
            breaks: weather.own.breaks_after.map(|after| now + after),
            bookmark: next_bookmark(now, end),
            shared,
            watching,
            events,
        }
    }

    pub(crate) async fn run(mut self) {
        if self.begin().await.is_some() {
            while self.step().await.is_some() {}
        }
        self.shared.lock().watches.remove(&self.sequence);
    }

    /// Sends the initial objects.
    async fn begin(&mut self) -> Option<()> {
        if let Some(refusal) = self.watching.refusal.take() {
            return self.fail(&refusal).await;
        }
        let (reaches, now) = {
            let mut state = self.shared.lock();
            let place = &self.watching.kind.storage;
            (state.store.reaches(place, self.watching.after)?, state.clock.now())
        };
        if let Err(Compacted(oldest)) = reaches {
            return self.fail(&Refusal::too_old(self.watching.after, oldest)).await;
        }
        for stored in std::mem::take(&mut self.watching.initial) {
            let event = self.watching.line("ADDED", &stored, now);
            self.send(event).await?;
        }
        if self.watching.announce {
            let event = self.watching.bookmark(self.watching.after, true, now);
            self.send(event).await?;
        }
        Some(())
    }

    /// Sends all new changes, then waits. `None` at the end.
    async fn step(&mut self) -> Option<()> {
        self.catch_up().await?;
        match self.wait().await? {
            Next::News => Some(()),
            Next::Bookmark => {
                self.bookmark = next_bookmark(Instant::now(), self.end);
                self.catch_up().await?;
                let now = self.shared.lock().clock.now();
                let event = self.watching.bookmark(self.watching.after, false, now);
                self.send(event).await
            }
            Next::End => None,
            Next::Break => {
                let _ = self.events.send(Err(Broken)).await;
                None
            }
        }
    }

    async fn catch_up(&mut self) -> Option<()> {
        let (changes, visible, now) = {
            let mut state = self.shared.lock();
            self.news.mark_heard();
            let visible = state.visible(self.stale, false);
            let place = &self.watching.kind.storage;
            let changes = state.store.changes(place, self.watching.after, visible)?;
            (changes, visible, state.clock.now())
        };
        let changes = match changes {
            Ok(changes) => changes,
            Err(Compacted(oldest)) => {
                return self.fail(&Refusal::too_old(self.watching.after, oldest)).await;
            }
        };
        for change in changes {
            if let Some(event) = self.watching.event(&change, now) {
                self.send(event).await?;
            }
        }
        self.watching.after = self.watching.after.max(visible);
        Some(())
    }

    /// Waits for the next event; `None` when the caller is gone.
    async fn wait(&mut self) -> Option<Next> {
        let breaks = self.breaks;
        let broken = async move {
            match breaks {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.events.closed() => None,
            () = self.cut.notified() => Some(Next::Break),
            () = broken => Some(Next::Break),
            () = self.news.heard() => Some(Next::News),
            () = sleep_until(self.end) => Some(Next::End),
            () = sleep_until(self.bookmark), if self.watching.bookmarks => Some(Next::Bookmark),
        }
    }

    /// Ends with an ERROR event.
    async fn fail(&self, refusal: &Refusal) -> Option<()> {
        self.send(line("ERROR", &refusal.status())).await?;
        None
    }

    async fn send(&self, event: Vec<u8>) -> Option<()> {
        if let Some(exchange) = self.shared.lock().record.entry(self.sequence) {
            exchange.response.extend_from_slice(&event);
        }
        tokio::select! {
            biased;
            () = self.cut.notified() => {
                let _ = self.events.try_send(Err(Broken));
                None
            }
            sent = self.events.send(Ok(Bytes::from(event))) => sent.ok(),
        }
    }
}

/// Time of the next bookmark: a minute from now, or [`FAREWELL`] before the end if earlier. After
/// the last bookmark: not before the end.
fn next_bookmark(now: Instant, end: Instant) -> Instant {
    let usual = now + BOOKMARKS;
    match end.checked_sub(FAREWELL) {
        Some(last) if last > now => usual.min(last),
        _ => usual.max(end),
    }
}
