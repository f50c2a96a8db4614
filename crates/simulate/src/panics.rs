//! Panics of a run. A panicking task must be noticed even if no other task awaits the result.

use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Records every panic of every thread from now on, without printing.
pub fn keep() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            LAST.with_borrow_mut(|last| *last = Some(panic.to_string()));
            // Failing tests still print their panic.
            if std::thread::current().name().is_some_and(|name| name != "simulate") {
                print(panic);
            }
        }));
    });
}

/// The last panic of this thread.
pub fn take() -> Option<String> {
    LAST.take()
}
