//! Ends the process on a panic, because the state after a panic cannot be trusted.

/// The exit code after a panic, the same as Rust's own.
const CODE: i32 = 101;

/// Logs every panic in any thread or task and ends the process. Otherwise a panicking task would
/// silently be missing.
pub fn end_the_process_on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let message = panic.payload_as_str().unwrap_or("no message");
        tracing::error!(place, message, "panic: the process ends, and should be started again");
        std::process::exit(CODE);
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::Duration;

    const CHILD: &str = "PONTOON_TEST_OF_A_PANIC";

    /// Runs the test binary again as a child process.
    #[test]
    fn a_panic_in_a_task_that_nobody_waits_for_ends_the_process_with_a_word() {
        if std::env::var_os(CHILD).is_some() {
            return panics_in_a_task();
        }
        let name = "panicking::tests::a_panic_in_a_task_that_nobody_waits_for";
        let child = Command::new(std::env::current_exe().unwrap())
            .args([name, "--nocapture", "--test-threads=1"])
            .env(CHILD, "yes")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stderr);
        assert_eq!(child.status.code(), Some(CODE), "{said}");
        assert!(said.contains("panic: the process ends") && said.contains("on purpose"), "{said}");
    }

    fn panics_in_a_task() {
        tracing_subscriber::fmt().with_writer(std::io::stderr).init();
        end_the_process_on_panic();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            drop(tokio::spawn(async { panic!("on purpose") }));
            tokio::time::sleep(Duration::from_secs(60)).await;
        });
    }
}
