//! The operator's clock and randomness, in one value that a simulation replaces.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pontoon_core::Time;
use rustix::time::{ClockId, clock_gettime};

/// Everything that the operator may ask its surroundings for, other than I/O.
///
/// Time runs on a clock that neither stops in suspend nor jumps when somebody sets the
/// wall clock: the wall clock is read once, at the start.
#[derive(Clone)]
pub struct Env {
    elapsed: Arc<dyn Fn() -> Duration + Send + Sync>,
    started: Time,
    random: Arc<Mutex<fastrand::Rng>>,
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

    /// Any clock and any source of randomness.
    pub fn new(
        elapsed: impl Fn() -> Duration + Send + Sync + 'static,
        started: Time,
        random: fastrand::Rng,
    ) -> Self {
        Self { elapsed: Arc::new(elapsed), started, random: Arc::new(Mutex::new(random)) }
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

/// `CLOCK_BOOTTIME`: unlike `Instant`, it goes on while the machine sleeps.
fn boot_time() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}
