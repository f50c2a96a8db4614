//! A replica's process from outside: paused, cut off, killed at a chosen point of a chosen call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use pontoon::env::Pace;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use crate::schedule::Phase;

/// The destination of a process's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seam {
    /// The API server.
    Api,
    /// The provider.
    Cloud,
}

/// The effect of a call on its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The destination stays as it is.
    Read,
    /// A Lease stays with its holder for longer.
    Renewal,
    /// The destination may change.
    Change,
}

impl Effect {
    /// The effect of a call that may change its destination, or may not.
    pub fn of(changes: bool) -> Self {
        if changes { Self::Change } else { Self::Read }
    }
}

/// A process, from start to death. Clones are handles of the same process.
#[derive(Clone, Debug)]
pub struct Process {
    /// The index of the replica.
    pub replica: usize,
    /// The process's name: `a1`, `b3`.
    pub name: String,
    /// The process's pod. Every third process gets a new pod; the others follow a dead process in
    /// the same pod.
    pub pod: String,
    inner: Arc<Mutex<Inner>>,
    links: [Way; 2],
    deaths: mpsc::UnboundedSender<Process>,
}

#[derive(Debug, Default)]
struct Inner {
    paused: bool,
    dead: bool,
    /// The process dies when its next task is polled.
    doomed: bool,
    wakers: Vec<Waker>,
    /// The effect of each call so far.
    calls: Vec<Effect>,
    /// The number and phase of the call at which to die.
    dies_at: Option<(u64, Phase)>,
    /// The kind and phase of the call at which to die.
    dies_on: Option<(&'static str, Phase)>,
    /// The kind of call at which to pause.
    pauses_on: Option<&'static str>,
    /// The number of polls so far, and the poll at which to pause.
    ran: u64,
    pauses_at_run: Option<u64>,
    /// The number of polls in the present period, and its start.
    runs: (u64, Option<Instant>),
    spins: bool,
}

/// More polls than this within [`SPIN_PERIOD`] count as spinning.
const MOST_POLLS: u64 = 10_000;
const SPIN_PERIOD: Duration = Duration::from_millis(200);

/// An external call of a process.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The number of the call, from 1.
    pub number: u64,
    /// The phase at which the process dies, if any.
    pub dies: Option<Phase>,
    /// Whether the process pauses after the send.
    pub pauses: bool,
}

impl Process {
    /// A live process. Its death is sent to `deaths`.
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

    /// Whether the process was polled too often while no time passed.
    pub fn spins(&self) -> bool {
        self.lock().spins
    }

    /// Whether both are handles of the same process.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Pauses the process, like SIGSTOP.
    pub fn pause(&self) {
        self.lock().paused = true;
    }

    /// Pauses the process after the send of its next call of a kind.
    pub fn pause_on(&self, action: &'static str) {
        self.lock().pauses_on = Some(action);
    }

    /// Pauses the process after so many more polls.
    pub fn pause_at_run(&self, runs: u64) {
        let mut inner = self.lock();
        inner.pauses_at_run = Some(inner.ran + runs);
    }

    /// Resumes the process.
    pub fn resume(&self) {
        let mut inner = self.lock();
        (inner.paused, inner.pauses_on, inner.pauses_at_run) = (false, None, None);
        let wakers = std::mem::take(&mut inner.wakers);
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Kills the process: none of its tasks is polled again.
    pub fn die(&self) {
        let first = {
            let mut inner = self.lock();
            !std::mem::replace(&mut inner.dead, true)
        };
        if first {
            // After the end of the run, the receiver is gone.
            drop(self.deaths.send(self.clone()));
        }
    }

    /// Kills the process as soon as the running task yields.
    pub fn doom(&self) {
        self.lock().doomed = true;
    }

    /// Kills the process at its `calls`-th call from now.
    pub fn die_at(&self, calls: u64, phase: Phase) {
        let mut inner = self.lock();
        inner.dies_at = Some((inner.made() + calls, phase));
    }

    /// Kills the process at its next call of a kind.
    pub fn die_on(&self, action: &'static str, phase: Phase) {
        self.lock().dies_on = Some((action, phase));
    }

    /// Cancels planned deaths.
    pub fn spare(&self) {
        let mut inner = self.lock();
        (inner.dies_at, inner.dies_on) = (None, None);
    }

    /// Notes a call of a kind.
    pub fn call(&self, action: &'static str, effect: Effect) -> Call {
        let mut inner = self.lock();
        inner.calls.push(effect);
        let number = inner.made();
        let now = inner.dies_at.filter(|(at, _)| *at == number).map(|(_, phase)| phase);
        let on = inner.dies_on.filter(|(on, _)| *on == action).map(|(_, phase)| phase);
        let dies = now.or(on);
        let pauses = inner.pauses_on == Some(action);
        inner.paused |= pauses;
        Call { number, dies, pauses }
    }

    /// The effect of each call so far.
    pub fn calls(&self) -> Vec<Effect> {
        self.lock().calls.clone()
    }

    /// Cuts or restores a link.
    pub fn link(&self, seam: Seam, open: bool) {
        self.links[seam as usize].set(open);
    }

    /// The link to a destination.
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
    /// The number of calls so far.
    fn made(&self) -> u64 {
        self.calls.len() as u64
    }

    /// Whether the process was polled too often while no time passed.
    fn spins(&mut self) -> bool {
        let now = Instant::now();
        match self.runs {
            (count, Some(since)) if now < since + SPIN_PERIOD => {
                self.runs = (count + 1, Some(since))
            }
            _ => self.runs = (1, Some(now)),
        }
        self.spins = self.runs.0 > MOST_POLLS;
        self.spins
    }
}

/// A link from a process to a destination. Waiting calls resume in their order of arrival, in every
/// run.
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

    /// Whether the link is up.
    pub fn is_open(&self) -> bool {
        self.0.0.load(Ordering::SeqCst)
    }

    /// Waits until the link is up.
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
