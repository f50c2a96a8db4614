//! Stops a replica as SIGSTOP stops a process: none of its tasks gets to run.

use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::env::Pace;

/// The brake of one replica.
#[derive(Default)]
pub struct Brake(Mutex<State>);

#[derive(Default)]
struct State {
    /// How many hold it.
    holds: usize,
    waiting: Vec<Waker>,
}

impl Brake {
    /// No task of the replica runs until this hold is released.
    pub fn hold(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).holds += 1;
    }

    /// All tasks run again, unless somebody else holds them, too.
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
