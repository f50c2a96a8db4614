//! Panics of a run: a task that panics must not go unnoticed because nobody waits for it.

use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps every panic from now on, of every thread, instead of printing it.
pub fn keep() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            LAST.with_borrow_mut(|last| *last = Some(panic.to_string()));
            // A test that fails must still say why.
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
