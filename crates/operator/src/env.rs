//! The operator's clock, randomness and tasks, in a value that a simulation replaces.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pontoon_core::Time;
use rustix::time::{ClockId, clock_gettime};
use tokio::task::{AbortHandle, JoinSet};

/// Everything that the operator needs from its surroundings, other than I/O.
///
/// The clock neither stops in suspend nor jumps when the wall clock is set: the wall clock is read
/// only at the start.
#[derive(Clone)]
pub struct Env {
    elapsed: Arc<dyn Fn() -> Duration + Send + Sync>,
    started: Time,
    random: Arc<Mutex<fastrand::Rng>>,
    pace: Option<Arc<dyn Pace>>,
}

/// Decides when the tasks of a process run. A simulation uses a pace to stop a process, as SIGSTOP
/// or a starved machine would.
pub trait Pace: Send + Sync {
    /// Ready when a task may be polled now; otherwise wakes the task later.
    fn poll_run(&self, context: &mut Context<'_>) -> Poll<()>;
}

impl Env {
    /// The machine's own clock and a random seed.
    pub fn real() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let origin = boot_time();
        Self::new(
            move || boot_time().saturating_sub(origin),
            Time::from_micros(i64::try_from(wall.as_micros()).unwrap_or(i64::MAX)),
            fastrand::Rng::new(),
        )
    }

    /// An environment with the given clock and source of randomness.
    pub fn new(
        elapsed: impl Fn() -> Duration + Send + Sync + 'static,
        started: Time,
        random: fastrand::Rng,
    ) -> Self {
        let random = Arc::new(Mutex::new(random));
        Self { elapsed: Arc::new(elapsed), started, random, pace: None }
    }

    /// The same environment, with tasks that run at the given pace.
    #[must_use]
    pub fn paced(self, pace: Arc<dyn Pace>) -> Self {
        Self { pace: Some(pace), ..self }
    }

    /// Starts a task of this process. The operator starts tasks in no other way.
    pub fn spawn<T: Send + 'static>(
        &self,
        tasks: &mut JoinSet<T>,
        task: impl Future<Output = T> + Send + 'static,
    ) -> AbortHandle {
        tasks.spawn(self.run(task))
    }

    /// `task`, polled only when the pace lets this process run.
    pub fn run<F: Future + Send>(
        &self,
        task: F,
    ) -> impl Future<Output = F::Output> + Send + use<F> {
        let pace = self.pace.clone();
        async move {
            let Some(pace) = pace else { return task.await };
            let mut task = pin!(task);
            poll_fn(|context| {
                ready!(pace.poll_run(context));
                task.as_mut().poll(context)
            })
            .await
        }
    }

    /// The time now.
    pub fn now(&self) -> Time {
        self.started + self.elapsed()
    }

    /// Time since this process started, on the clock that does not stop in suspend.
    pub fn elapsed(&self) -> Duration {
        (self.elapsed)()
    }

    /// A random number in `0.0..1.0`.
    pub fn random(&self) -> f64 {
        self.random.lock().unwrap_or_else(PoisonError::into_inner).f64()
    }

    /// 16 random hexadecimal digits, for names that must not collide.
    pub fn token(&self) -> String {
        format!("{:016x}", self.random.lock().unwrap_or_else(PoisonError::into_inner).u64(..))
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env").field("now", &self.now()).finish_non_exhaustive()
    }
}

/// `CLOCK_BOOTTIME`: unlike `Instant`, includes the time in suspend.
fn boot_time() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}
