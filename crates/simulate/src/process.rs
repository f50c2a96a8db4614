//! The process of one replica, as its surroundings treat it: stopped, cut off, killed at a
//! chosen moment of a chosen call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use pontoon::env::Pace;
use tokio::sync::{mpsc, watch};

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
    inner: Arc<Mutex<Inner>>,
    links: Arc<[watch::Sender<bool>; 2]>,
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
    /// The call with which it stops.
    pauses_at: Option<u64>,
}

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
            inner: Arc::default(),
            links: Arc::new([watch::Sender::new(true), watch::Sender::new(true)]),
            deaths,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the two are the same process.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Stops it, as SIGSTOP does.
    pub fn pause(&self) {
        self.lock().paused = true;
    }

    /// Stops it once it has sent the so many-th call from now on.
    pub fn pause_at(&self, calls: u64) {
        let mut inner = self.lock();
        inner.pauses_at = Some(inner.calls + calls);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        let mut inner = self.lock();
        (inner.paused, inner.pauses_at) = (false, None);
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

    /// It makes a call.
    pub fn call(&self) -> Call {
        let mut inner = self.lock();
        inner.calls += 1;
        let number = inner.calls;
        let dies = inner.dies_at.filter(|(at, _)| *at == number).map(|(_, phase)| phase);
        let pauses = inner.pauses_at == Some(number);
        inner.paused |= pauses;
        Call { number, dies, pauses }
    }

    /// How many calls it has made.
    pub fn calls(&self) -> u64 {
        self.lock().calls
    }

    /// Cuts or mends its way to somewhere.
    pub fn link(&self, seam: Seam, open: bool) {
        self.links[seam as usize].send_replace(open);
    }

    /// Its way to somewhere.
    pub fn way(&self, seam: Seam) -> Way {
        Way(self.links[seam as usize].subscribe())
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
        if inner.paused {
            inner.wakers.push(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// A way from a process to somewhere.
#[derive(Clone, Debug)]
pub struct Way(watch::Receiver<bool>);

impl Way {
    /// Whether anything passes now.
    pub fn is_open(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until something passes.
    pub async fn open(mut self) {
        if self.0.wait_for(|open| *open).await.is_err() {
            std::future::pending().await
        }
    }
}
