//! A callback for the events in an emulator.

use std::fmt;

/// The callback, if set: a `dyn FnMut` of the events of an emulator.
pub struct Observer<F: ?Sized>(Option<Box<F>>);

impl<F: ?Sized> Observer<F> {
    /// Sets the callback.
    pub fn set(&mut self, told: Box<F>) {
        self.0 = Some(told);
    }

    /// The callback.
    pub fn told(&mut self) -> Option<&mut F> {
        self.0.as_deref_mut()
    }
}

impl<F: ?Sized> Default for Observer<F> {
    fn default() -> Self {
        Self(None)
    }
}

impl<F: ?Sized> fmt::Debug for Observer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.0.is_some()).finish()
    }
}
