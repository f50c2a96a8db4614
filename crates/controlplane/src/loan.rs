//! Planes that serve several tests in turn: a start costs seconds of processor time, and there are
//! more than a hundred tests.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::store::{self, Content};
use crate::wipe::wipe;
use crate::{ControlPlane, Error};

/// Free planes with their fresh content, lent in the order of their return. Their processes are
/// suspended meanwhile. All end with the process.
type Shelf = Mutex<VecDeque<(ControlPlane, Content)>>;

static PLAIN: Shelf = Mutex::new(VecDeque::new());
static RECORDING: Shelf = Mutex::new(VecDeque::new());

fn on(shelf: &'static Shelf) -> MutexGuard<'static, VecDeque<(ControlPlane, Content)>> {
    // A panicking test leaves the list valid.
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A plane, lent to a single test at a time. Objects, definitions and requests in
/// [`audit_log`](ControlPlane::audit_log) of earlier tests are gone, but resource versions are
/// higher than on a fresh plane.
///
/// `Drop` returns the plane, and the next loan wipes it. A plane ends instead if its test panics,
/// or if a test changed more than `wipe` can undo.
pub struct Loan {
    /// `Some` until `drop`.
    plane: Option<ControlPlane>,
    /// The content of the fresh plane.
    fresh: Content,
    shelf: &'static Shelf,
}

impl ControlPlane {
    /// As [`start`](Self::start), but reuses a returned plane of this process if possible.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start).
    pub async fn borrow() -> Result<Option<Loan>, Error> {
        match returned(&PLAIN).await? {
            Some(loan) => Ok(Some(loan)),
            None => Loan::new(Self::start().await?, &PLAIN).await,
        }
    }

    /// As [`start_recording`](Self::start_recording), but reuses a returned plane of this process
    /// if possible.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start).
    pub async fn borrow_recording() -> Result<Option<Loan>, Error> {
        match returned(&RECORDING).await? {
            Some(loan) => Ok(Some(loan)),
            None => Loan::new(Self::start_recording().await?, &RECORDING).await,
        }
    }
}

impl Loan {
    async fn new(
        plane: Option<ControlPlane>,
        shelf: &'static Shelf,
    ) -> Result<Option<Self>, Error> {
        let Some(plane) = plane else { return Ok(None) };
        let fresh = store::content(plane.folder()).await?;
        Ok(Some(Self { plane: Some(plane), fresh, shelf }))
    }
}

/// A wiped plane of an earlier test.
async fn returned(shelf: &'static Shelf) -> Result<Option<Loan>, Error> {
    loop {
        // A separate statement, so that the lock is free while the plane is wiped.
        let next = on(shelf).pop_front();
        let Some((mut plane, fresh)) = next else { return Ok(None) };
        plane.thaw();
        if is_wiped(&mut plane, &fresh).await {
            plane.forget_requests()?;
            return Ok(Some(Loan { plane: Some(plane), fresh, shelf }));
        }
    }
}

/// Whether the plane is as fresh. Errors count as "no": a new plane can always be started.
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
        if let Some(mut plane) = self.plane.take().filter(|_| !std::thread::panicking()) {
            plane.freeze();
            on(self.shelf).push_back((plane, std::mem::take(&mut self.fresh)));
        }
    }
}
