//! Stops a replica as SIGSTOP stops a process: its tasks are not polled.

use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::env::Pace;

/// The brake of a replica.
#[derive(Default)]
pub struct Brake(Mutex<State>);

#[derive(Default)]
struct State {
    /// Number of holds.
    holds: usize,
    waiting: Vec<Waker>,
}

impl Brake {
    /// Stops all tasks of the replica until this hold is released.
    pub fn hold(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).holds += 1;
    }

    /// Releases a hold. All tasks run again after the last hold is released.
    pub fn release(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.holds = state.holds.saturating_sub(1);
        if state.holds == 0 {
            let waiting = std::mem::take(&mut state.waiting);
            drop(state);
            waiting.into_iter().for_each(Waker::wake);
        }
    }

    /// Releases every hold.
    pub fn release_all(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).holds = 1;
        self.release();
    }
}

impl Pace for Brake {
    fn poll_run(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.holds == 0 {
            return Poll::Ready(());
        }
        if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            state.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}
