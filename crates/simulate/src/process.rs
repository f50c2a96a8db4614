//! The process of one replica, as its surroundings treat it: stopped, cut off, killed at a
//! chosen moment of a chosen call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use pontoon::env::Pace;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use crate::schedule::Phase;

/// Where the calls of a process go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seam {
    /// The API server.
    Api,
    /// The cloud.
    Cloud,
}

/// A process, from its start to its death. Clones are handles of the same one.
#[derive(Clone, Debug)]
pub struct Process {
    /// Which replica it is an incarnation of.
    pub replica: usize,
    /// What it is called: `a1`, `b3`.
    pub name: String,
    /// The pod that it runs in, after others that died there: every third process has a new
    /// one.
    pub pod: String,
    inner: Arc<Mutex<Inner>>,
    links: [Way; 2],
    deaths: mpsc::UnboundedSender<Process>,
}

#[derive(Debug, Default)]
struct Inner {
    paused: bool,
    dead: bool,
    /// Dies when its next task wants to run.
    doomed: bool,
    wakers: Vec<Waker>,
    calls: u64,
    /// The call at which it dies, and when in it.
    dies_at: Option<(u64, Phase)>,
    /// The kind of call at which it dies, and when in it.
    dies_on: Option<(&'static str, Phase)>,
    /// The kind of call with which it stops.
    pauses_on: Option<&'static str>,
    /// How often its tasks ran, and when it stops.
    ran: u64,
    pauses_at_run: Option<u64>,
    /// How often its tasks ran in a stretch of time, and when that began.
    runs: (u64, Option<Instant>),
    spins: bool,
}

/// More often than this nobody with something to do runs within [`STRETCH`].
const RUNS: u64 = 10_000;
const STRETCH: Duration = Duration::from_millis(200);

/// One call of a process to the outside.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Counts the calls of the process, from 1.
    pub number: u64,
    /// When in it the process dies, if it does.
    pub dies: Option<Phase>,
    /// Whether the process stops once it is sent.
    pub pauses: bool,
}

impl Process {
    /// A process that lives; its death is told to `deaths`.
    pub fn new(replica: usize, incarnation: u32, deaths: mpsc::UnboundedSender<Self>) -> Self {
        let letter = if replica == 0 { 'a' } else { 'b' };
        Self {
            replica,
            name: format!("{letter}{incarnation}"),
            pod: format!("pod-{letter}{}", incarnation / 3),
            inner: Arc::default(),
            links: [Way::new(), Way::new()],
            deaths,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it ran and ran while no time passed.
    pub fn spins(&self) -> bool {
        self.lock().spins
    }

    /// Whether the two are the same process.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Stops it, as SIGSTOP does.
    pub fn pause(&self) {
        self.lock().paused = true;
    }

    /// Stops it once it has sent its next call of a kind.
    pub fn pause_on(&self, action: &'static str) {
        self.lock().pauses_on = Some(action);
    }

    /// Stops it when its tasks have run so often from now on.
    pub fn pause_at_run(&self, runs: u64) {
        let mut inner = self.lock();
        inner.pauses_at_run = Some(inner.ran + runs);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        let mut inner = self.lock();
        (inner.paused, inner.pauses_on, inner.pauses_at_run) = (false, None, None);
        let wakers = std::mem::take(&mut inner.wakers);
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Nothing of it runs any more from now on, not even what is being polled next.
    pub fn die(&self) {
        let first = {
            let mut inner = self.lock();
            !std::mem::replace(&mut inner.dead, true)
        };
        if first {
            // Nobody is told of a death after the end of the run.
            drop(self.deaths.send(self.clone()));
        }
    }

    /// It dies as soon as the task that runs now gives way.
    pub fn doom(&self) {
        self.lock().doomed = true;
    }

    /// It dies at the so many-th call from now on.
    pub fn die_at(&self, calls: u64, phase: Phase) {
        let mut inner = self.lock();
        inner.dies_at = Some((inner.calls + calls, phase));
    }

    /// It dies at its next call of a kind.
    pub fn die_on(&self, action: &'static str, phase: Phase) {
        self.lock().dies_on = Some((action, phase));
    }

    /// Nothing happens to it at a later call any more.
    pub fn spare(&self) {
        let mut inner = self.lock();
        (inner.dies_at, inner.dies_on) = (None, None);
    }

    /// It makes a call of a kind.
    pub fn call(&self, action: &'static str) -> Call {
        let mut inner = self.lock();
        inner.calls += 1;
        let number = inner.calls;
        let now = inner.dies_at.filter(|(at, _)| *at == number).map(|(_, phase)| phase);
        let on = inner.dies_on.filter(|(on, _)| *on == action).map(|(_, phase)| phase);
        let dies = now.or(on);
        let pauses = inner.pauses_on == Some(action);
        inner.paused |= pauses;
        Call { number, dies, pauses }
    }

    /// How many calls it has made.
    pub fn calls(&self) -> u64 {
        self.lock().calls
    }

    /// Cuts or mends its way to somewhere.
    pub fn link(&self, seam: Seam, open: bool) {
        self.links[seam as usize].set(open);
    }

    /// Its way to somewhere.
    pub fn way(&self, seam: Seam) -> Way {
        self.links[seam as usize].clone()
    }
}

impl Pace for Process {
    fn poll_run(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.lock();
        if inner.doomed && !inner.dead {
            drop(inner);
            self.die();
            return Poll::Pending;
        }
        if inner.dead {
            return Poll::Pending;
        }
        inner.ran += 1;
        inner.paused |= inner.pauses_at_run == Some(inner.ran);
        if inner.paused {
            inner.wakers.push(context.waker().clone());
            return Poll::Pending;
        }
        if inner.spins() {
            drop(inner);
            self.die();
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

impl Inner {
    /// Whether it runs and runs while no time passes.
    fn spins(&mut self) -> bool {
        let now = Instant::now();
        match self.runs {
            (count, Some(since)) if now < since + STRETCH => self.runs = (count + 1, Some(since)),
            _ => self.runs = (1, Some(now)),
        }
        self.spins = self.runs.0 > RUNS;
        self.spins
    }
}

/// A way from a process to somewhere. Those who wait for it go on in the order in which they
/// came, in every run.
#[derive(Clone, Debug)]
pub struct Way(Arc<(AtomicBool, Notify)>);

impl Way {
    fn new() -> Self {
        Self(Arc::new((AtomicBool::new(true), Notify::new())))
    }

    fn set(&self, open: bool) {
        self.0.0.store(open, Ordering::SeqCst);
        self.0.1.notify_waiters();
    }

    /// Whether anything passes now.
    pub fn is_open(&self) -> bool {
        self.0.0.load(Ordering::SeqCst)
    }

    /// Waits until something passes.
    pub async fn open(self) {
        loop {
            let changed = self.0.1.notified();
            if self.is_open() {
                return;
            }
            changed.await;
        }
    }
}
