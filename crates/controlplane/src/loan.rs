//! Planes that serve one test after the other: a start costs seconds of processor time, and
//! there are more than a hundred tests.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::store::{self, Content};
use crate::wipe::wipe;
use crate::{ControlPlane, Error};

/// Those that nobody uses, the one that came back first to be lent first. They end with the
/// process.
static RETURNED: Mutex<VecDeque<(ControlPlane, Content)>> = Mutex::new(VecDeque::new());

fn returned() -> MutexGuard<'static, VecDeque<(ControlPlane, Content)>> {
    // A test that panicked does not make the list wrong.
    RETURNED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A plane that records, for one test at a time; another test may have had it before, and of that
/// one nothing can be seen: neither objects and definitions, nor requests in
/// [`audit_log`](ControlPlane::audit_log). Resource versions are higher than on a fresh one.
///
/// Dropping it makes it free for the next test, which has it wiped. In a test that panics it ends
/// the plane, and so it does where somebody has changed more in it than can be wiped.
pub struct Loan {
    /// Always there, until it is dropped.
    plane: Option<ControlPlane>,
    /// What the plane held when it was fresh.
    fresh: Content,
}

impl ControlPlane {
    /// As [`start_recording`](Self::start_recording), with a plane that another test of this
    /// process has used if there is one.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start).
    pub async fn borrow_recording() -> Result<Option<Loan>, Error> {
        loop {
            // In a statement of its own: the lock is not held while the plane is wiped.
            let next = returned().pop_front();
            let Some((mut plane, fresh)) = next else { break };
            if is_wiped(&mut plane, &fresh).await {
                plane.forget_requests()?;
                return Ok(Some(Loan { plane: Some(plane), fresh }));
            }
        }
        let Some(plane) = Self::start_recording().await? else { return Ok(None) };
        let fresh = store::content(plane.folder()).await?;
        Ok(Some(Loan { plane: Some(plane), fresh }))
    }
}

/// Whatever is wrong with a plane, another can be started.
async fn is_wiped(plane: &mut ControlPlane, fresh: &Content) -> bool {
    let Ok(client) = plane.client() else { return false };
    plane.is_whole() && wipe(plane.folder(), &client, fresh).await.unwrap_or(false)
}

impl Deref for Loan {
    type Target = ControlPlane;

    #[allow(clippy::expect_used)] // Only `drop` takes it.
    fn deref(&self) -> &ControlPlane {
        self.plane.as_ref().expect("a plane until it is dropped")
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(plane) = self.plane.take().filter(|_| !std::thread::panicking()) {
            returned().push_back((plane, std::mem::take(&mut self.fresh)));
        }
    }
}
